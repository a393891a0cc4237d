/* Nsight Systems' databases, read by SQLite's library, which is loaded when it is first needed.
 * SQLite itself writes each row as an event of torch.profiler's form, which the reader of those
 * traces then takes: kernels, copies, calls of CUDA, synchronizations, NVTX ranges, graphs. The
 * tables and columns are those of NVIDIA's "SQLite Export Schema Reference"; a table is in the file
 * only where the program had such events, and columns differ by version. */
#include "profile/load/nsys.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tensor/base/error.h"
#include "tensor/io/file.h"
#include "tensor/io/library.h"

bool gp_load_is_database(const char *file) {
    static const char magic[] = "SQLite format 3";
    char first[sizeof magic];
    struct stat st;
    if (stat(file, &st) || !S_ISREG(st.st_mode)) return false; /* of a pipe nothing may be read */
    FILE *f = fopen(file, "rbe");
    size_t n = f ? fread(first, 1, sizeof first, f) : 0;
    if (f) fclose(f);
    return n == sizeof magic && !memcmp(first, magic, sizeof magic);
}

/* ---- SQLite's library ---- */

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

enum { SQLITE_OK = 0, SQLITE_ROW = 100, SQLITE_DONE = 101, SQLITE_OPEN_READONLY = 1 };

static struct {
    int (*open_v2)(const char *, sqlite3 **, int, const char *);
    int (*close)(sqlite3 *);
    int (*prepare_v2)(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
    int (*bind_int64)(sqlite3_stmt *, int, int64_t);
    int (*step)(sqlite3_stmt *);
    int64_t (*column_int64)(sqlite3_stmt *, int);
    const unsigned char *(*column_text)(sqlite3_stmt *, int);
    int (*column_bytes)(sqlite3_stmt *, int);
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
                     {"sqlite3_step", &sql.step},
                     {"sqlite3_column_int64", &sql.column_int64},
                     {"sqlite3_column_text", &sql.column_text},
                     {"sqlite3_column_bytes", &sql.column_bytes},
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
    return is_here || gp_fail("profile.load: %s is a database, for which SQLite's library is "
                              "needed: %s (Debian: apt install libsqlite3-0)",
                              file, why_not);
}

/* ---- queries ---- */

#define NAME_OF(id) "(SELECT value FROM StringIds WHERE id = " id ")"
#define PROCESS(column) "((" column " >> 24) & 16777215)"
/* Microseconds with all their digits. */
#define TIMES "\"ts\":%d.%03d,\"dur\":%d.%03d"
#define TIMES_OF(t)                                                                                \
    t ".start / 1000, " t ".start % 1000, (" t ".end - " t ".start) / 1000, (" t ".end - " t       \
      ".start) % 1000"
#define ON_DEVICE                                                                                  \
    ",\"pid\":%d,\"tid\":%d," TIMES ",\"args\":{\"device\":%d,\"stream\":%d,"                      \
    "\"correlation\":%d"
#define ON_DEVICE_OF(t)                                                                            \
    t ".deviceId, " t ".streamId, " TIMES_OF(t) ", " t ".deviceId, " t ".streamId, " t             \
                                                ".correlationId"
#define OF_PROCESS(t) " WHERE " PROCESS(t ".globalPid") " = ?1"

/* A call's name without the version of its interface: cudaLaunchKernel_v7000. */
#define CALL                                                                                       \
    "(SELECT CASE WHEN value GLOB '*_v[0-9]*' THEN"                                                \
    " substr(rtrim(value, '0123456789'), 1, length(rtrim(value, '0123456789')) - 2)"               \
    " ELSE value END FROM StringIds WHERE id = r.nameId)"
#define ON_HOST(t) PROCESS(t ".globalTid") ", " t ".globalTid & 16777215, " TIMES_OF(t)

/* An NVTX range: an op of PyTorch's emit_nvtx is "aten::add, seq = 5". */
#define RANGE(name)                                                                                \
    "SELECT printf('{\"ph\":\"X\",\"cat\":\"%s\",\"name\":%s,\"pid\":%d,\"tid\":%d," TIMES "}',"   \
    " CASE WHEN " name " GLOB '*::*' THEN 'cpu_op' ELSE 'user_annotation' END,"                    \
    " json_quote(CASE WHEN " name " GLOB '*::*, *' THEN"                                           \
    " substr(" name ", 1, instr(" name ", ', ') - 1) ELSE " name " END), " ON_HOST(                \
        "n") ") FROM NVTX_EVENTS n WHERE n.end IS NOT NULL AND n.eventType IN (59, 60) AND " name  \
             " IS NOT NULL AND " PROCESS("n.globalTid") " = ?1"

typedef struct part {
    const char *table;
    const char *query; /* rows of one text, an event; ?1: the process */
    const char *older; /* where a column of that is missing; NULL */
} part;

static const part parts[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "SELECT printf('{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":%s" ON_DEVICE "}}', json_quote("
     "coalesce(" NAME_OF("k.demangledName") ", " NAME_OF(
         "k.shortName") ", 'kernel')), " ON_DEVICE_OF("k") ") FROM CUPTI_ACTIVITY_KIND_KERNEL "
                                                           "k" OF_PROCESS("k"),
     NULL},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
     "SELECT printf('{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"CUDA graph %d\"" ON_DEVICE "}}',"
     " g.graphId, " ON_DEVICE_OF("g") ") FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE g" OF_PROCESS("g"),
     NULL},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "SELECT printf('{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy %s (%s -> "
     "%s)\"" ON_DEVICE ",\"bytes\":%d}}',"
     " CASE m.copyKind WHEN 1 THEN 'HtoD' WHEN 2 THEN 'DtoH' WHEN 8 THEN 'DtoD' WHEN 9 THEN 'HtoH'"
     " WHEN 10 THEN 'PtoP' WHEN 11 THEN 'HtoD' WHEN 12 THEN 'DtoH' ELSE 'other' END,"
     " CASE m.srcKind WHEN 0 THEN 'Pageable' WHEN 1 THEN 'Pinned' WHEN 2 THEN 'Device'"
     " WHEN 4 THEN 'Managed' ELSE 'Unknown' END,"
     " CASE m.dstKind WHEN 0 THEN 'Pageable' WHEN 1 THEN 'Pinned' WHEN 2 THEN 'Device'"
     " WHEN 4 THEN 'Managed' ELSE 'Unknown' END, " ON_DEVICE_OF(
         "m") ", m.bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY m" OF_PROCESS("m"),
     NULL},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     "SELECT printf('{\"ph\":\"X\",\"cat\":\"gpu_memset\",\"name\":\"Memset\"" ON_DEVICE
     ",\"bytes\":%d}}', " ON_DEVICE_OF(
         "m") ", m.bytes) FROM CUPTI_ACTIVITY_KIND_MEMSET m" OF_PROCESS("m"),
     NULL},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
     "SELECT printf('{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"%s\"" ON_DEVICE "}}',"
     " CASE s.syncType WHEN 1 THEN 'Event Sync' WHEN 3 THEN 'Stream Sync' ELSE 'Context Sync' "
     "END, " ON_DEVICE_OF("s") ") FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION s" OF_PROCESS(
         "s") " AND s.syncType IN (1, 3, 4)",
     NULL},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     "SELECT printf('{\"ph\":\"X\",\"cat\":\"%s\",\"name\":%s,\"pid\":%d,\"tid\":%d," TIMES
     ",\"args\":{\"correlation\":%d}}',"
     " CASE WHEN " CALL " GLOB 'cu[A-Z]*' THEN 'cuda_driver' ELSE 'cuda_runtime' END,"
     " json_quote(coalesce(" CALL ", 'call')), " ON_HOST(
         "r") ", r.correlationId)"
              " FROM CUPTI_ACTIVITY_KIND_RUNTIME r WHERE " PROCESS("r.globalTid") " = ?1",
     NULL},
    {"NVTX_EVENTS", RANGE("coalesce(n.text, " NAME_OF("n.textId") ")"), RANGE("n.text")},
    {"ThreadNames",
     "SELECT printf('{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"ts\":0,"
     "\"args\":{\"name\":%s}}', " PROCESS(
         "t.globalTid") ", t.globalTid & 16777215,"
                        " json_quote(coalesce(" NAME_OF("t.nameId") ", 'thread'))) FROM "
                                                                    "ThreadNames t WHERE " PROCESS(
                                                                        "t.globalTid") " = ?1",
     NULL},
};

static const part devices = {
    "TARGET_INFO_GPU",
    "SELECT printf('{\"id\":%d,\"name\":%s}', id, json_quote(coalesce(name, 'GPU')))"
    " FROM TARGET_INFO_GPU WHERE ?1 IS NOT NULL ORDER BY id",
    NULL};

/* Processes with work on a device, or with calls, by number. */
static const char *const processes_by[][2] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "SELECT DISTINCT " PROCESS("globalPid") " FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY 1"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "SELECT DISTINCT " PROCESS("globalPid") " FROM CUPTI_ACTIVITY_KIND_MEMCPY ORDER BY 1"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     "SELECT DISTINCT " PROCESS("globalTid") " FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY 1"},
    {"NVTX_EVENTS", "SELECT DISTINCT " PROCESS("globalTid") " FROM NVTX_EVENTS ORDER BY 1"},
};

/* ---- reading ---- */

typedef struct reading {
    sqlite3 *db;
    const char *file;
    FILE *out;
    uint64_t max, written;
} reading;

static int stopped(void *unused) {
    (void)unused;
    return gp_file_stopped("profile.load");
}

static bool damaged(const reading *r) {
    if (gp_file_stopped("profile.load")) return false;
    return gp_fail("profile.load: %s: a database that cannot be read: %s", r->file,
                   sql.errmsg(r->db));
}

static bool write_text(reading *r, const char *text, size_t n) {
    r->written += n;
    if (r->written > r->max)
        return gp_fail("profile.load: %s has more than %" PRIu64 " bytes as a trace, the limit; "
                       "max_bytes = n sets another",
                       r->file, r->max);
    return fwrite(text, 1, n, r->out) == n || gp_fail("profile.load: out of memory");
}

/* Whether the database has a table of that name: 1 or 0; below 0 with a message. */
static int has_table(const reading *r, const char *table) {
    char query[200];
    sqlite3_stmt *s = NULL;
    snprintf(query, sizeof query,
             "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '%s'", table);
    if (sql.prepare_v2(r->db, query, -1, &s, NULL) != SQLITE_OK) return damaged(r), -1;
    int code = sql.step(s);
    sql.finalize(s);
    if (code != SQLITE_ROW && code != SQLITE_DONE) return damaged(r), -1;
    return code == SQLITE_ROW;
}

/* Writes the rows of a part, which is in the file, with a comma before each but the first. */
static bool write_part(reading *r, const part *p, int64_t process, bool *first) {
    sqlite3_stmt *s = NULL;
    int code = sql.prepare_v2(r->db, p->query, -1, &s, NULL);
    if (code != SQLITE_OK && p->older) code = sql.prepare_v2(r->db, p->older, -1, &s, NULL);
    if (code != SQLITE_OK)
        return gp_fail("profile.load: %s: its table %s is not as this version of gpush knows it: "
                       "%s",
                       r->file, p->table, sql.errmsg(r->db));
    sql.bind_int64(s, 1, process);
    bool ok = true;
    while (ok && (code = sql.step(s)) == SQLITE_ROW) {
        const char *text = (const char *)sql.column_text(s, 0);
        ok = !text || ((*first || write_text(r, ",\n", 2)) &&
                       write_text(r, text, (size_t)sql.column_bytes(s, 0)));
        *first = *first && !text;
    }
    if (ok && code != SQLITE_DONE) ok = damaged(r);
    sql.finalize(s);
    return ok;
}

/* The processes by the first table that has any: how many, and number `which`; below 0 with a
 * message. */
static int find_process(const reading *r, int which, int64_t *process) {
    int n = 0;
    for (size_t i = 0; !n && i < sizeof processes_by / sizeof *processes_by; i++) {
        sqlite3_stmt *s = NULL;
        int code = has_table(r, processes_by[i][0]);
        if (code < 0) return -1;
        if (!code) continue;
        if (sql.prepare_v2(r->db, processes_by[i][1], -1, &s, NULL) != SQLITE_OK)
            return damaged(r), -1;
        while ((code = sql.step(s)) == SQLITE_ROW)
            if (n++ == which) *process = sql.column_int64(s, 0);
        sql.finalize(s);
        if (code != SQLITE_DONE) return damaged(r), -1;
    }
    return n;
}

static bool write_trace(reading *r, int which, int *processes) {
    char head[120];
    int64_t process = 0;
    *processes = find_process(r, which, &process);
    if (*processes < 0) return false;
    if (!*processes)
        return gp_fail("profile.load: %s is a database without CUDA's events or NVTX ranges of "
                       "Nsight Systems: record with nsys profile --trace cuda,nvtx",
                       r->file);
    int n = snprintf(head, sizeof head,
                     "{\"writer\":\"Nsight Systems' export\","
                     "\"distributedInfo\":{\"rank\":%d},\"deviceProperties\":[",
                     which);
    bool first = true;
    int there = has_table(r, devices.table);
    if (there < 0 || !write_text(r, head, (size_t)n) ||
        (there && !write_part(r, &devices, process, &first)) || !write_text(r, "],\n", 3) ||
        !write_text(r, "\"traceEvents\":[\n", 16))
        return false;
    first = true;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        there = has_table(r, parts[i].table);
        if (there < 0 || (there && !write_part(r, &parts[i], process, &first))) return false;
    }
    return write_text(r, "]}\n", 3);
}

char *gp_load_nsys(const char *file, uint64_t max, int which, size_t *n, int *processes) {
    reading r = {.file = file, .max = max};
    char *text = NULL;
    if (!have_library(file)) return NULL;
    r.out = open_memstream(&text, n);
    if (!r.out) return gp_fail_null("profile.load: out of memory");
    bool ok = sql.open_v2(file, &r.db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK || damaged(&r);
    if (ok) {
        sql.progress_handler(r.db, 1 << 16, stopped, NULL);
        ok = write_trace(&r, which, processes);
    }
    sql.close(r.db);
    if (fclose(r.out) && ok) ok = gp_fail("profile.load: out of memory");
    if (!ok) free(text), text = NULL;
    return text;
}
