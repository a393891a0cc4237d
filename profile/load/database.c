/* SQLite as a writer of traces. Its library is loaded when it is first needed. A query gives rows
 * of one text each, events of torch.profiler's form, which the reader of those traces then takes.
 */
#include "profile/load/database.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/base/error.h"
#include "tensor/io/file.h"
#include "tensor/io/library.h"

/* ---- SQLite's library ---- */

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

enum {
    SQLITE_OK = 0,
    SQLITE_INTEGER = 1,
    SQLITE_FLOAT = 2,
    SQLITE_NULL = 5,
    SQLITE_ROW = 100,
    SQLITE_DONE = 101,
    SQLITE_OPEN_READONLY = 1,
    SQLITE_OPEN_READWRITE = 2
};

static struct {
    int (*open_v2)(const char *, sqlite3 **, int, const char *);
    int (*close)(sqlite3 *);
    int (*prepare_v2)(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
    int (*bind_int64)(sqlite3_stmt *, int, int64_t);
    int (*bind_text)(sqlite3_stmt *, int, const char *, int, void (*)(void *));
    int (*step)(sqlite3_stmt *);
    int64_t (*column_int64)(sqlite3_stmt *, int);
    const unsigned char *(*column_text)(sqlite3_stmt *, int);
    int (*column_type)(sqlite3_stmt *, int);
    int (*finalize)(sqlite3_stmt *);
    const char *(*errmsg)(sqlite3 *);
    void (*progress_handler)(sqlite3 *, int, int (*)(void *), void *);
} sql;

static bool is_here;
static char why_not[600];

static void load_library(void) {
    static const struct {
        const char *name;
        void *to;
    } functions[] = {{"sqlite3_open_v2", &sql.open_v2},
                     {"sqlite3_close", &sql.close},
                     {"sqlite3_prepare_v2", &sql.prepare_v2},
                     {"sqlite3_bind_int64", &sql.bind_int64},
                     {"sqlite3_bind_text", &sql.bind_text},
                     {"sqlite3_step", &sql.step},
                     {"sqlite3_column_int64", &sql.column_int64},
                     {"sqlite3_column_text", &sql.column_text},
                     {"sqlite3_column_type", &sql.column_type},
                     {"sqlite3_finalize", &sql.finalize},
                     {"sqlite3_errmsg", &sql.errmsg},
                     {"sqlite3_progress_handler", &sql.progress_handler}};
    const char *why;
    void *so = gp_library_open("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL, &why);
    is_here = so != NULL;
    if (!so) snprintf(why_not, sizeof why_not, "%s", why);
    for (size_t i = 0; so && i < sizeof functions / sizeof *functions; i++) {
        void *f = dlsym(so, functions[i].name);
        memcpy(functions[i].to, &f, sizeof f);
        is_here &= f != NULL;
        if (!f) snprintf(why_not, sizeof why_not, "it has no %s", functions[i].name);
    }
}

static bool have_library(const char *file) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_library);
    return is_here || gp_fail("profile.load: %s: SQLite's library is needed to read it: %s "
                              "(Debian: apt install libsqlite3-0)",
                              file, why_not);
}

/* ---- a trace ---- */

struct gp_database {
    sqlite3 *db;
    const char *file;
    const char *text; /* NULL: none */
    size_t size;
    char *out; /* what was written, and how much */
    size_t n;
    FILE *to;
    uint64_t max;
};

static int stopped(void *unused) {
    (void)unused;
    return gp_file_stopped("profile.load");
}

static bool damaged(const gp_database *d) {
    if (gp_file_stopped("profile.load")) return false;
    return gp_fail("profile.load: %s cannot be read: %s", d->file, sql.errmsg(d->db));
}

gp_database *gp_database_open(const char *file, const char *text, size_t n, uint64_t max) {
    if (!have_library(file)) return NULL;
    gp_database *d = calloc(1, sizeof *d);
    if (!d) return gp_fail_null("profile.load: out of memory");
    *d = (gp_database){.file = file, .text = text, .size = n, .max = max};
    d->to = open_memstream(&d->out, &d->n);
    bool ok = d->to || gp_fail("profile.load: out of memory");
    int code = sql.open_v2(text ? ":memory:" : file, &d->db,
                           text ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY, NULL);
    ok = ok && (code == SQLITE_OK || damaged(d));
    if (ok) sql.progress_handler(d->db, 1 << 16, stopped, NULL);
    if (ok) return d;
    return gp_database_close(d, NULL), NULL;
}

char *gp_database_close(gp_database *d, size_t *n) {
    sql.close(d->db);
    bool ok = d->to && !fclose(d->to);
    char *out = d->out;
    if (n) *n = d->n;
    free(d);
    if (n && ok) return out;
    free(out);
    return n ? gp_fail_null("profile.load: out of memory") : NULL;
}

static bool write_bytes(gp_database *d, const char *text, size_t n) {
    if (n > d->max)
        return gp_fail(
            "profile.load: %s has too many bytes as a trace for the limit; max_bytes = n "
            "sets another",
            d->file);
    d->max -= n;
    return fwrite(text, 1, n, d->to) == n || gp_fail("profile.load: out of memory");
}

/* The statement, with its parameters; NULL: sql.errmsg says why. */
static sqlite3_stmt *prepare(const gp_database *d, const char *query, int64_t number) {
    sqlite3_stmt *s = NULL;
    if (sql.prepare_v2(d->db, query, -1, &s, NULL) != SQLITE_OK) return NULL;
    sql.bind_int64(s, 1, number);
    if (d->text) sql.bind_text(s, 2, d->text, (int)d->size, NULL);
    return s;
}

int gp_database_has(const gp_database *d, const char *table) {
    char query[200];
    snprintf(query, sizeof query,
             "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '%s'", table);
    sqlite3_stmt *s = prepare(d, query, 0);
    if (!s) return damaged(d), -1;
    int code = sql.step(s);
    sql.finalize(s);
    if (code != SQLITE_ROW && code != SQLITE_DONE) return damaged(d), -1;
    return code == SQLITE_ROW;
}

int gp_database_numbers(const gp_database *d, const char *query, int which, int64_t *number) {
    int n = 0, code;
    sqlite3_stmt *s = prepare(d, query, 0);
    if (!s) return damaged(d), -1;
    while ((code = sql.step(s)) == SQLITE_ROW)
        if (n++ == which) *number = sql.column_int64(s, 0);
    sql.finalize(s);
    return code == SQLITE_DONE ? n : (damaged(d), -1);
}

bool gp_database_run(gp_database *d, const char *query, int64_t number) {
    sqlite3_stmt *s = prepare(d, query, number);
    if (!s) return damaged(d);
    int code = sql.step(s);
    sql.finalize(s);
    return code == SQLITE_DONE || damaged(d);
}

/* Writes s as a text of JSON. */
static bool write_text(gp_database *d, const char *s) {
    char code[8];
    bool ok = write_bytes(d, "\"", 1);
    for (; ok && *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c >= ' ' && c != '"' && c != '\\') ok = write_bytes(d, s, 1);
        else ok = write_bytes(d, code, (size_t)sprintf(code, "\\u%04x", c));
    }
    return ok && write_bytes(d, "\"", 1);
}

__attribute__((format(printf, 2, 3))) static bool write_format(gp_database *d, const char *fmt,
                                                               ...) {
    char text[300];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return write_bytes(d, text, (size_t)n);
}

static const char *text_of(sqlite3_stmt *s, int column) {
    const unsigned char *text = sql.column_text(s, column);
    return text ? (const char *)text : "";
}

/* An integer of the row as a field; nothing where it is NULL. */
static bool write_field(gp_database *d, sqlite3_stmt *s, int column, const char *name) {
    if (sql.column_type(s, column) == SQLITE_NULL) return true;
    return write_format(d, ",\"%s\":%" PRId64, name, sql.column_int64(s, column));
}

static bool is_number(sqlite3_stmt *s, int column) {
    int type = sql.column_type(s, column);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

/* A field of ns as one of us, as far as it is known. */
static bool write_time(gp_database *d, const char *name, int64_t ns, bool known) {
    if (!known) return write_format(d, ",\"%s\":null", name);
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    return write_format(d, ",\"%s\":%s%" PRIu64 ".%03d", name, ns < 0 ? "-" : "", size / 1000,
                        (int)(size % 1000));
}

/* A row as gp_database_part has it, as an event; a thread's name is no event of its own. */
static bool write_event(gp_database *d, sqlite3_stmt *s) {
    enum { CAT, NAME, PID, TID, START, END, DEVICE, STREAM, CORRELATION, BYTES };
    int64_t pid = sql.column_int64(s, PID), tid = sql.column_int64(s, TID);
    int64_t start = sql.column_int64(s, START), ns;
    bool begins = is_number(s, START), ends = is_number(s, END);
    if (__builtin_sub_overflow(sql.column_int64(s, END), start, &ns)) ends = false;
    if (!strcmp(text_of(s, CAT), "thread_name"))
        return write_format(d,
                            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%" PRId64
                            ",\"tid\":%" PRId64 ",\"args\":{\"name\":",
                            pid, tid) &&
               write_text(d, text_of(s, NAME)) && write_format(d, "}}");
    return write_format(d, "{\"ph\":\"X\",\"cat\":\"%.40s\",\"name\":", text_of(s, CAT)) &&
           write_text(d, text_of(s, NAME)) &&
           write_format(d, ",\"pid\":%" PRId64 ",\"tid\":%" PRId64, pid, tid) &&
           write_time(d, "ts", start, begins) && (!begins || write_time(d, "dur", ns, ends)) &&
           write_format(d, ",\"args\":{\"x\":0") && write_field(d, s, DEVICE, "device") &&
           write_field(d, s, STREAM, "stream") && write_field(d, s, CORRELATION, "correlation") &&
           write_field(d, s, BYTES, "bytes") && write_format(d, "}}");
}

static bool write_device(gp_database *d, sqlite3_stmt *s) {
    return write_format(d, "{\"id\":%" PRId64 ",\"name\":", sql.column_int64(s, 0)) &&
           write_text(d, text_of(s, 1)) && write_format(d, "}");
}

typedef bool (*write_row)(gp_database *d, sqlite3_stmt *s);

/* Writes the statement's rows, with a comma before each but the first. */
static bool write_rows(gp_database *d, sqlite3_stmt *s, write_row write, bool *first) {
    bool ok = true;
    int code = SQLITE_DONE;
    while (ok && (code = sql.step(s)) == SQLITE_ROW) {
        ok = (*first || write_bytes(d, ",\n", 2)) && write(d, s);
        *first = false;
    }
    return ok && (code == SQLITE_DONE || damaged(d));
}

/* Writes what a part has, where it is in the file. */
static bool write_part(gp_database *d, const gp_database_part *p, int64_t number, write_row write,
                       bool *first) {
    int there = p->table ? gp_database_has(d, p->table) : 1;
    if (there <= 0) return there == 0;
    sqlite3_stmt *s = prepare(d, p->query, number);
    if (!s && p->older) s = prepare(d, p->older, number);
    if (!s)
        return gp_fail("profile.load: %s: %s is not as this version of gpush knows it: %s", d->file,
                       p->table ? p->table : "a part", sql.errmsg(d->db));
    bool ok = write_rows(d, s, write, first);
    sql.finalize(s);
    return ok;
}

bool gp_database_trace(gp_database *d, const char *writer, int rank, int64_t number,
                       const gp_database_part *devices, const gp_database_part *parts, int nparts) {
    char head[200];
    bool first = true;
    int n = snprintf(head, sizeof head,
                     "{\"writer\":\"%s\",\"distributedInfo\":{\"rank\":%d},"
                     "\"deviceProperties\":[",
                     writer, rank);
    bool ok = write_bytes(d, head, (size_t)n) &&
              write_part(d, devices, number, write_device, &first) &&
              write_bytes(d, "],\n\"traceEvents\":[\n", 19);
    first = true;
    for (int i = 0; ok && i < nparts; i++)
        ok = write_part(d, &parts[i], number, write_event, &first);
    return ok && write_bytes(d, "]}\n", 3);
}
