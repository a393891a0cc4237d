/* A profile as a Chrome trace: JSON that Perfetto and chrome://tracing open. */
#include "profile/chrome_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "profile/rows.h"
#include "tensor/io/file.h"

enum { HOST = 1, DEVICES = 10, DEPTH = 256 }; /* process ids: the host, and DEVICES + slot */
enum { LUA = 1, HELD = 2 };                   /* the host's rows */
_Static_assert(HOST < DEVICES, "process ids differ");

typedef struct writer {
    const gp_prof *p;
    gzFile out;
    bool ok, more;                 /* more: the next item needs a comma */
    uint64_t seen[GP_MAX_DEVICES]; /* by slot of the device: streams that have a row */
    const gp_device *device[GP_MAX_DEVICES];
    bool held; /* whether the host's second row is used */
} writer;

__attribute__((format(printf, 2, 3))) static void put(writer *w, const char *fmt, ...) {
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n > 0 &&
        gzwrite(w->out, text, (unsigned)(n < (int)sizeof text ? n : (int)sizeof text - 1)) <= 0)
        w->ok = false;
}

/* The length of the UTF-8 character at p in bytes, 0 if it is not valid. */
static int utf8(const unsigned char *p) {
    int n = *p < 0x80                 ? 1
            : *p >= 0xc2 && *p < 0xe0 ? 2
            : *p >= 0xe0 && *p < 0xf0 ? 3
            : *p >= 0xf0 && *p < 0xf5 ? 4
                                      : 0;
    for (int i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if ((n == 3 && *p == 0xe0 && p[1] < 0xa0) || (n == 3 && *p == 0xed && p[1] > 0x9f)) return 0;
    if ((n == 4 && *p == 0xf0 && p[1] < 0x90) || (n == 4 && *p == 0xf4 && p[1] > 0x8f)) return 0;
    return n;
}

/* s as the content of a JSON string; bytes that are not UTF-8 become U+FFFD. At most 300 bytes of
 * it. */
static char *quoted(const char *s, char *buf, size_t n) {
    size_t at = 0;
    for (const unsigned char *p = (const unsigned char *)s; *p && at + 8 < n;) {
        int len = utf8(p);
        if (len == 0) at += (size_t)snprintf(buf + at, n - at, "\\ufffd"), len = 1;
        else if (*p == '"' || *p == '\\') at += (size_t)snprintf(buf + at, n - at, "\\%c", *p);
        else if (*p < 32 || *p == 127) at += (size_t)snprintf(buf + at, n - at, "\\u%04x", *p);
        else memcpy(buf + at, p, (size_t)len), at += (size_t)len;
        p += len;
    }
    buf[at] = 0;
    return buf;
}

static double us(const writer *w, uint64_t ns) { return ((double)ns - (double)w->p->t0) / 1e3; }

static void comma(writer *w) {
    put(w, w->more ? ",\n" : "\n");
    w->more = true;
}

static void name_row(writer *w, const char *what, int pid, int tid, const char *name) {
    comma(w);
    put(w, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"%s\"}}", what,
        pid, tid, name);
}

/* ---- the host ---- */

/* Writes everything that a viewer shows of a selected slice; ends the event. */
static void write_args(writer *w, const gp_rec *r) {
    char text[300], esc[400];
    put(w, ",\"args\":{");
    if (r->file) put(w, "\"line\":\"%s:%d\"", quoted(r->file, esc, sizeof esc), r->line);
    else put(w, "\"line\":\"?\"");
    if (r->kind == GP_REC_WAIT)
        put(w, ",\"why\":\"%s\",\"queued\":%lld,\"device\":\"%s\"", gp_why_name((gp_why)r->why),
            (long long)r->bytes, ((gp_stream *)r->where)->dev->name);
    if (r->kind == GP_REC_COPY) put(w, ",\"bytes\":%lld", (long long)r->bytes);
    if (r->shapes)
        put(w, ",\"shapes\":\"%s\"",
            quoted(gp_rec_shapes(r->shapes, text, sizeof text), esc, sizeof esc));
    if (r->stack)
        put(w, ",\"stack\":\"%s\"",
            quoted(gp_stack_text(r->stack, GP_STACK_DEPTH, text, sizeof text), esc, sizeof esc));
    if (r->failed) put(w, ",\"failed\":true");
    put(w, "}}");
}

/* "X" is a complete event. Times in microseconds since the profile's start. */
static void write_slice(writer *w, const gp_rec *r, uint64_t t1) {
    static const char *const cats[] = {"op", "region", "wait", "copy"};
    _Static_assert(GP_REC_OP == 0 && GP_REC_REGION == 1 && GP_REC_WAIT == 2 && GP_REC_COPY == 3,
                   "categories by kind");
    char name[200], esc[400];
    comma(w);
    put(w,
        "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":1,\"ts\":%.3f,\"dur\":%."
        "3f",
        cats[r->kind], quoted(gp_rec_name(r, name, sizeof name), esc, sizeof esc), HOST,
        us(w, r->t0), (double)(t1 - r->t0) / 1e3);
    write_args(w, r);
}

/* Writes a region that is not nested in its neighbours (in a coroutine) to a row of its own: it
 * would break the host's row. */
static void write_async(writer *w, const gp_rec *r, uint64_t t1) {
    char esc[400];
    quoted(r->name, esc, sizeof esc);
    comma(w);
    put(w,
        "{\"ph\":\"b\",\"cat\":\"region\",\"id\":\"%p\",\"name\":\"%s\",\"pid\":%d,\"tid\":1,"
        "\"ts\":%.3f",
        (const void *)r, esc, HOST, us(w, r->t0));
    write_args(w, r);
    comma(w);
    put(w,
        "{\"ph\":\"e\",\"cat\":\"region\",\"id\":\"%p\",\"name\":\"%s\",\"pid\":%d,\"tid\":1,"
        "\"ts\":%.3f}",
        (const void *)r, esc, HOST, us(w, t1));
}

/* Writes a counter's new value. */
static void write_memory(writer *w, const gp_rec *r) {
    const gp_device *dev = r->where;
    comma(w);
    put(w, "{\"ph\":\"C\",\"name\":\"memory %s\",\"pid\":%d,\"ts\":%.3f,\"args\":{\"bytes\":%lld}}",
        dev->name, HOST, us(w, r->t0), (long long)r->id);
}

/* Viewers need nested slices: other events get rows of their own. */
static void write_host(writer *w) {
    uint64_t open[DEPTH]; /* ends of the slices that are open */
    int depth = 0;
    gp_at at = gp_first(w->p->host);
    for (gp_rec *r; (r = gp_next(&at));) {
        if (r->kind == GP_REC_ALLOC) {
            write_memory(w, r);
            continue;
        }
        if (r->kind == GP_REC_SWITCH) continue;
        uint64_t t1 = gp_rec_end(w->p, r);
        while (depth && open[depth - 1] <= r->t0) depth--;
        if (depth == DEPTH || (depth && open[depth - 1] < t1)) {
            write_async(w, r, t1);
            continue;
        }
        open[depth++] = t1;
        write_slice(w, r, t1);
    }
}

/* ---- devices ---- */

static void note_stream(writer *w, const gp_stream *s) {
    w->seen[s->dev->slot] |= (uint64_t)1 << s->index;
    w->device[s->dev->slot] = s->dev;
}

/* A kernel is shown by its own name, if known: the op's is in its arguments. */
static void write_device(writer *w, const gp_rec *r) {
    const gp_stream *s = r->where;
    bool held = r->kind == GP_REC_HELD, named = r->kind != GP_REC_MOVED && r->kernel;
    int pid = held ? HOST : DEVICES + s->dev->slot, tid = held ? HELD : s->index + 1;
    char esc[400];
    if (held) w->held = true;
    else note_stream(w, s);
    comma(w);
    put(w,
        "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%."
        "3f,\"args\":{\"id\":%llu",
        held                       ? "held"
        : r->kind == GP_REC_KERNEL ? "kernel"
                                   : "copy",
        quoted(named ? r->kernel : r->name, esc, sizeof esc), pid, tid, us(w, r->t0),
        (double)(r->t1 - r->t0) / 1e3, (unsigned long long)r->id);
    if (named) put(w, ",\"op\":\"%s\"", r->name);
    if (r->bytes) put(w, ",\"bytes\":%lld", (long long)r->bytes);
    put(w, "}}");
    if (!r->id || held) return;
    comma(w);
    put(w,
        "{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"launch\",\"name\":\"launch\",\"id\":%llu,\"pid\":%d,"
        "\"tid\":%d,\"ts\":%.3f}",
        (unsigned long long)r->id, pid, tid, us(w, r->t0));
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The ids of what devices ran, sorted; *n of them. NULL when out of memory. */
static uint64_t *sorted_ids(const gp_prof *p, size_t *n) {
    size_t room = 1;
    for (const gp_track *t = p->workers; t; t = t->next)
        for (const gp_chunk *c = t->first; c; c = c->next) room += (size_t)c->n;
    uint64_t *ids = malloc(room * sizeof *ids);
    *n = 0;
    for (const gp_track *t = ids ? p->workers : NULL; t; t = t->next) {
        gp_at at = gp_first(t);
        for (gp_rec *r; (r = gp_next(&at));)
            if (r->id && r->kind != GP_REC_HELD) ids[(*n)++] = r->id;
    }
    if (ids) qsort(ids, *n, sizeof *ids, by_number);
    return ids;
}

/* Arrows start only where something was queued that a device ran: one without an end would not be
 * drawn, but costs space. */
static void write_arrows(writer *w) {
    size_t n;
    uint64_t *ids = sorted_ids(w->p, &n);
    if (!ids) {
        w->ok = gp_fail("trace: out of memory");
        return;
    }
    gp_at at = gp_first(w->p->host);
    for (gp_rec *r; (r = gp_next(&at));) {
        if (!r->id || !bsearch(&r->id, ids, n, sizeof *ids, by_number)) continue;
        comma(w);
        put(w,
            "{\"ph\":\"s\",\"cat\":\"launch\",\"name\":\"launch\",\"id\":%llu,\"pid\":%d,\"tid\":1,"
            "\"ts\":%.3f}",
            (unsigned long long)r->id, HOST, us(w, r->t0));
    }
    free(ids);
}

static void write_devices(writer *w) {
    for (const gp_track *t = w->p->workers; t; t = t->next) {
        gp_at at = gp_first(t);
        for (gp_rec *r; (r = gp_next(&at));)
            if (r->kind != GP_REC_ALLOC) write_device(w, r);
    }
}

/* Metadata: names of processes and threads. */
static void write_names(writer *w) {
    name_row(w, "process_name", HOST, 0, "host");
    name_row(w, "thread_name", HOST, LUA, "Lua");
    if (w->held) name_row(w, "thread_name", HOST, HELD, "held up by the device's runtime");
    for (int d = 0; d < GP_MAX_DEVICES; d++) {
        if (!w->device[d]) continue;
        char name[64];
        bool sim = !strcmp(w->device[d]->vt->kind, "sim");
        snprintf(name, sizeof name, "%s%s", w->device[d]->name, sim ? " (CPU-backed)" : "");
        name_row(w, "process_name", DEVICES + d, 0, name);
        for (int s = 0; s < 64; s++) {
            if (!(w->seen[d] >> s & 1)) continue;
            snprintf(name, sizeof name, "stream %d", s);
            name_row(w, "thread_name", DEVICES + d, s + 1, name);
        }
    }
}

/* ---- the file ---- */

/* False where writing failed, with the reason in errno or gp_error(). */
static bool write_all(writer *w) {
    char esc[700];
    put(w,
        "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"producer\":\"gpush\",\"dropped\":%llu,"
        "\"lost\":%llu,\"wall_us\":%.3f",
        (unsigned long long)w->p->dropped, (unsigned long long)w->p->lost, us(w, w->p->t1));
    if (w->p->predicted) put(w, ",\"predicted\":\"%s\"", quoted(w->p->predicted, esc, sizeof esc));
    put(w, "},\"traceEvents\":[");
    write_host(w);
    write_arrows(w);
    write_devices(w);
    write_names(w);
    put(w, "\n]}\n");
    return w->ok;
}

static bool ends_in_gz(const char *path) {
    size_t n = strlen(path);
    return n > 3 && !strcmp(path + n - 3, ".gz");
}

/* Through zlib, which closes its own copy of the file. */
static bool write_gzip(const gp_prof *p, gp_outfile *o) {
    writer *w = calloc(1, sizeof *w);
    int fd = w ? fcntl(fileno(o->f), F_DUPFD_CLOEXEC, 0) : -1;
    gzFile out = fd >= 0 ? gzdopen(fd, ends_in_gz(o->file) ? "wb6" : "wbT") : NULL;
    if (!out) {
        if (fd >= 0) close(fd);
        free(w);
        return gp_fail("trace: out of memory");
    }
    gzbuffer(out, 1 << 17);
    w->p = p;
    w->out = out;
    w->ok = true;
    gp_error_clear();
    errno = 0;
    bool ok = write_all(w);
    if (gzclose(out) != Z_OK) ok = false;
    free(w);
    if (!ok && !*gp_error())
        gp_fail("trace: cannot write %s: %s", o->file,
                errno ? strerror(errno) : "the disk is full");
    return ok;
}

bool gp_trace_write(const gp_prof *p, const char *path) {
    gp_outfile o;
    if (!gp_outfile_begin(&o, "trace", path)) return false;
    if (write_gzip(p, &o)) return gp_outfile_commit(&o, false);
    gp_outfile_cancel(&o);
    return false;
}
