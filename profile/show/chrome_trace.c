/* A profile as a Chrome trace: JSON that Perfetto and chrome://tracing open. The host's threads are
 * rows of one process, each device is a process with a row for each stream, and arrows lead from an
 * op to what it queued. Viewers need nested slices, so events that overlap without nesting get rows
 * of their own. With a limit of bytes, short events are merged (merge.c): a bisection finds the
 * least merging that fits. Waits and regions are never merged. */
#include "profile/show/chrome_trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/show/gzip_file.h"
#include "profile/record/kind.h"
#include "profile/show/merge.h"
#include "profile/show/rows.h"
#include "tensor/base/safe_text.h"

/* Process ids: the host, DEVICES + slot, and the hosts of other ranks. */
enum { HOST = 1, DEVICES = 10, RANKS = 100000, DEPTH = 256 };
enum { LUA = 1, HELD = 2, OTHERS = 3, SAMPLED = 1000000 }; /* the host's rows; of their samples */

typedef struct writer {
    const gp_prof *p;
    gzFile out; /* NULL: only the bytes are counted */
    uint64_t bytes, items;
    gp_merged merged;
    bool ok, more;    /* more: the next item needs a comma */
    int64_t pid, tid; /* of the host's thread that is written */
    bool held;        /* whether the host's second row is used */
    uint64_t *ids;    /* of what devices ran, sorted, while arrows are written */
    size_t nids;
} writer;

__attribute__((format(printf, 2, 3))) static void append(writer *w, const char *fmt, ...) {
    char text[1024];
    va_list ap;
    if (!w->ok) return;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n >= (int)sizeof text) n = (int)sizeof text - 1;
    w->bytes += n > 0 ? (uint64_t)n : 0;
    if (n > 0 && w->out && gzwrite(w->out, text, (unsigned)n) <= 0) w->ok = false;
}

/* Whether UTF-8 writes the code point in that number of bytes. */
static bool is_utf8(unsigned c, size_t bytes) {
    size_t least = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    return bytes == least && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
}

/* Writes "\u202e"; a code point above U+FFFF as two halves. Returns the bytes written. */
static size_t escape(unsigned c, char *to, size_t n) {
    if (c < 0x10000) return (size_t)snprintf(to, n, "\\u%04x", c);
    c -= 0x10000;
    return (size_t)snprintf(to, n, "\\u%04x\\u%04x", 0xd800 + (c >> 10), 0xdc00 + (c & 0x3ff));
}

/* s as the content of a JSON string: what a terminal would obey or not show is escaped, bytes that
 * are not UTF-8 become U+FFFD. As much of it as fits. */
static char *quoted(const char *s, char *buf, size_t n) {
    enum { LONGEST = 12 }; /* bytes of a character */
    size_t at = 0;
    unsigned c;
    for (const char *end = s + strlen(s); s < end && at + LONGEST < n;) {
        size_t len = gp_text_code(s, (size_t)(end - s), &c);
        if (!len || !is_utf8(c, len)) c = 0xfffd, len = 1;
        if (c == '"' || c == '\\') at += (size_t)snprintf(buf + at, n - at, "\\%c", (int)c);
        else if (c < 32 || (c >= 127 && c < 160) || c == 0xfffd || gp_hides_text(c))
            at += escape(c, buf + at, n - at);
        else memcpy(buf + at, s, len), at += len;
        s += len;
    }
    buf[at] = 0;
    return buf;
}

static double us(const writer *w, uint64_t ns) { return ((double)ns - (double)w->p->t0) / 1e3; }

/* Between two items; looks for Ctrl-C. */
static void comma(writer *w) {
    if (gp_prof_stops(++w->items)) w->ok = gp_prof_fail("profile.trace");
    append(w, w->more ? ",\n" : "\n");
    w->more = true;
}

/* ",\"pid\":1,\"tid\":2": the row of an event. */
static void append_row(writer *w, int64_t pid, int64_t tid) {
    append(w, ",\"pid\":%lld,\"tid\":%lld", (long long)pid, (long long)tid);
}

static void name_row(writer *w, const char *what, int64_t pid, int64_t tid, const char *name) {
    char esc[400];
    comma(w);
    append(w, "{\"ph\":\"M\",\"name\":\"%s\"", what);
    append_row(w, pid, tid);
    append(w, ",\"args\":{\"name\":\"%s\"}}", quoted(name, esc, sizeof esc));
}

/* ---- the host ---- */

/* Writes everything that a viewer shows of a selected slice; ends the event. */
static void write_args(writer *w, const gp_rec *r) {
    char text[300], esc[400], line[13];
    append(w, ",\"args\":{");
    if (r->file)
        append(w, "\"line\":\"%s:%s\"", quoted(r->file, esc, sizeof esc),
               gp_line_text(r->line, line));
    else append(w, "\"line\":\"?\"");
    if (r->kind == GP_REC_WAIT)
        append(w, ",\"why\":\"%s\",\"queued\":%lld,\"device\":\"%s\"", gp_why_name((gp_why)r->why),
               (long long)r->bytes, quoted(((gp_stream *)r->where)->dev->name, esc, sizeof esc));
    if (r->kind == GP_REC_COPY) append(w, ",\"bytes\":%lld", (long long)r->bytes);
    if (r->kind == GP_REC_SAMPLE) append(w, ",\"samples\":%lld", (long long)r->bytes);
    if (gp_rec_op_shapes(r))
        append(w, ",\"shapes\":\"%s\"",
               quoted(gp_rec_shapes(r->shapes, text, sizeof text), esc, sizeof esc));
    if (r->stack)
        append(w, ",\"stack\":\"%s\"",
               quoted(gp_stack_text(r->stack, GP_STACK_DEPTH, text, sizeof text), esc, sizeof esc));
    if (r->failed) append(w, ",\"failed\":true");
    append(w, "}}");
}

/* "X" is a complete event. Times in microseconds since the profile's start. */
static void write_slice(writer *w, const gp_rec *r, uint64_t t1) {
    static const char *const cats[] = {
        [GP_REC_OP] = "op",     [GP_REC_REGION] = "region", [GP_REC_WAIT] = "wait",
        [GP_REC_COPY] = "copy", [GP_REC_CALL] = "call",     [GP_REC_SAMPLE] = "sample"};
    char name[200], esc[400];
    comma(w);
    append(w, "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\"", cats[r->kind],
           quoted(gp_rec_name(r, name, sizeof name), esc, sizeof esc));
    append_row(w, w->pid, w->tid);
    append(w, ",\"ts\":%.3f,\"dur\":%.3f", us(w, r->t0), (double)(t1 - r->t0) / 1e3);
    write_args(w, r);
}

/* Writes a region that is not nested in its neighbours (in a coroutine) to a row of its own: it
 * would break the host's row. */
static void write_async(writer *w, const gp_rec *r, uint64_t t1) {
    char esc[400];
    quoted(r->name, esc, sizeof esc);
    for (int end = 0; end < 2; end++) {
        comma(w);
        append(w, "{\"ph\":\"%c\",\"cat\":\"region\",\"id\":\"%p\",\"name\":\"%s\"",
               end ? 'e' : 'b', (const void *)r, esc);
        append_row(w, w->pid, w->tid);
        append(w, ",\"ts\":%.3f", us(w, end ? t1 : r->t0));
        if (end) append(w, "}");
        else write_args(w, r);
    }
}

/* Writes a counter's new value. */
static void write_memory(writer *w, const gp_rec *r) {
    const gp_device *dev = r->where;
    char esc[100];
    comma(w);
    append(w, "{\"ph\":\"C\",\"name\":\"memory %s\",\"pid\":%lld",
           quoted(dev->name, esc, sizeof esc), (long long)(w->pid ? w->pid : HOST));
    append(w, ",\"ts\":%.3f,\"args\":{\"bytes\":%lld}}", us(w, r->t0), (long long)r->id);
}

/* Viewers need nested slices: other events get rows of their own. */
static void write_thread(writer *w, const gp_track *t) {
    uint64_t open[DEPTH]; /* ends of the slices that are open */
    int depth = 0;
    gp_cursor at = gp_first(t);
    for (gp_rec *r; (r = gp_next(&at));) {
        if (r->kind == GP_REC_ALLOC) {
            write_memory(w, r);
            continue;
        }
        if (r->kind == GP_REC_SWITCH || r->kind == GP_REC_SAMPLE || r->kind == GP_REC_READ)
            continue;
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

/* Writes the samples of a thread to a row of their own: a slice for those of one function and line
 * that follow one another. Each stands for the periods before it. */
static void write_samples(writer *w, const gp_track *t) {
    gp_rec run = {0}; /* bytes: the periods of its samples so far */
    gp_cursor at = gp_first(t);
    w->tid += SAMPLED;
    for (gp_rec *r; (r = gp_next(&at));) {
        if (r->kind != GP_REC_SAMPLE) continue;
        uint64_t covers = (uint64_t)r->bytes * w->p->period, since = r->t0 - w->p->t0;
        uint64_t from = r->t0 - (covers < since ? covers : since);
        bool joins = run.bytes && r->name == run.name && r->file == run.file &&
                     r->line == run.line && from < run.t1 + w->p->period / 2;
        if (joins) {
            run.t1 = r->t0, run.bytes += r->bytes;
            continue;
        }
        if (run.bytes) write_slice(w, &run, run.t1);
        uint64_t last = run.t1;
        run = *r;
        run.t0 = from > last ? from : last, run.t1 = r->t0;
    }
    if (run.bytes) {
        write_slice(w, &run, run.t1);
        name_row(w, "thread_name", w->pid, w->tid, "Lua, sampled");
    }
}

/* Writes fn(thread) for each thread of the host, whose row is w->pid and w->tid. */
static void each_thread(writer *w, void (*fn)(writer *w, const gp_track *t)) {
    int n = 0;
    for (const gp_track *t = w->p->host; t; t = t->next, n++) {
        w->pid = t->rank ? (int64_t)RANKS + t->rank : HOST;
        w->tid = n ? OTHERS + n : LUA;
        fn(w, t);
    }
}

/* ---- devices ---- */

static int64_t row_of(const gp_stream *s) { return (int64_t)s->index + 1; }
static int64_t process_of(const gp_stream *s) { return (int64_t)DEVICES + s->dev->slot; }

/* A kernel is shown by its own name, if known: the op's is in its arguments. */
static void write_device(writer *w, const gp_rec *r) {
    const gp_stream *s = r->where;
    bool held = r->kind == GP_REC_HELD, named = r->kind != GP_REC_MOVED && r->kernel;
    bool kernel = r->kind == GP_REC_KERNEL;
    int64_t pid = held ? HOST : process_of(s), tid = held ? HELD : row_of(s);
    char esc[400];
    if (held) w->held = true;
    comma(w);
    append(w, "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\"",
           held     ? "held"
           : kernel ? "kernel"
                    : "copy",
           quoted(named ? r->kernel : r->name, esc, sizeof esc));
    append_row(w, pid, tid);
    append(w, ",\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"id\":%llu", us(w, r->t0),
           (double)(r->t1 - r->t0) / 1e3, (unsigned long long)r->id);
    if (named) append(w, ",\"op\":\"%s\"", quoted(r->name, esc, sizeof esc));
    if (r->bytes) append(w, ",\"%s\":%lld", kernel ? "waited_ns" : "bytes", (long long)r->bytes);
    append(w, "}}");
    if (!r->id || held) return;
    comma(w);
    append(w, "{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"launch\",\"name\":\"launch\",\"id\":%llu",
           (unsigned long long)r->id);
    append_row(w, pid, tid);
    append(w, ",\"ts\":%.3f}", us(w, r->t0));
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The ids of what devices ran, sorted; *n of them. NULL when out of memory. */
static uint64_t *sorted_ids(const gp_prof *p, size_t *n) {
    size_t capacity = 1;
    for (const gp_track *t = p->workers; t; t = t->next)
        for (const gp_chunk *c = t->first; c; c = c->next) capacity += (size_t)c->n;
    uint64_t *ids = malloc(capacity * sizeof *ids);
    *n = 0;
    for (const gp_track *t = ids ? p->workers : NULL; t; t = t->next) {
        gp_cursor at = gp_first(t);
        for (gp_rec *r; (r = gp_next(&at));)
            if (r->id && r->kind != GP_REC_HELD) ids[(*n)++] = r->id;
    }
    if (ids) qsort(ids, *n, sizeof *ids, by_number);
    return ids;
}

static void write_arrows_of(writer *w, const gp_track *t) {
    gp_cursor at = gp_first(t);
    for (gp_rec *r; (r = gp_next(&at));) {
        if (r->kind == GP_REC_ALLOC || !r->id) continue;
        if (!bsearch(&r->id, w->ids, w->nids, sizeof *w->ids, by_number)) continue;
        comma(w);
        append(w, "{\"ph\":\"s\",\"cat\":\"launch\",\"name\":\"launch\",\"id\":%llu",
               (unsigned long long)r->id);
        append_row(w, w->pid, w->tid);
        append(w, ",\"ts\":%.3f}", us(w, r->t0));
    }
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
    w->ids = ids, w->nids = n;
    each_thread(w, write_arrows_of);
    free(ids);
}

static void write_devices(writer *w) {
    for (const gp_track *t = w->p->workers; t; t = t->next) {
        gp_cursor at = gp_first(t);
        for (gp_rec *r; (r = gp_next(&at));)
            if (r->kind != GP_REC_ALLOC) write_device(w, r);
    }
}

static int by_start(const void *a, const void *b) {
    const gp_stream *x = *(const gp_stream *const *)a, *y = *(const gp_stream *const *)b;
    return x->dev != y->dev ? x->dev->slot - y->dev->slot
                            : (x->index > y->index) - (x->index < y->index);
}

/* The streams of what devices ran, by device and index, perhaps several times; *n of them. NULL
 * when out of memory. */
static const gp_stream **streams_of(const gp_prof *p, size_t *n) {
    size_t capacity = 1;
    for (const gp_track *t = p->workers; t; t = t->next)
        for (const gp_chunk *c = t->first; c; c = c->next) capacity += (size_t)c->n;
    const gp_stream **s = malloc(capacity * sizeof *s);
    *n = 0;
    for (const gp_track *t = s ? p->workers : NULL; t; t = t->next) {
        gp_cursor at = gp_first(t);
        for (gp_rec *r; (r = gp_next(&at));) {
            if (gp_rec_is_work(r) && (!*n || s[*n - 1] != r->where)) s[(*n)++] = r->where;
        }
    }
    if (s) qsort(s, *n, sizeof *s, by_start);
    return s;
}

static void name_streams(writer *w) {
    char name[160];
    size_t n;
    const gp_stream **s = streams_of(w->p, &n);
    if (!s) {
        w->ok = gp_fail("trace: out of memory");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t pid = process_of(s[i]);
        if (i && s[i] == s[i - 1]) continue;
        if (!i || s[i]->dev != s[i - 1]->dev) {
            bool sim = !strcmp(s[i]->dev->vt->kind, "sim");
            snprintf(name, sizeof name, "%s%s%s%s", s[i]->dev->name, sim ? " (" : "",
                     !sim             ? ""
                     : w->p->modelled ? w->p->modelled
                                      : "CPU-backed",
                     sim ? ")" : "");
            name_row(w, "process_name", pid, 0, name);
        }
        snprintf(name, sizeof name, "stream %d", s[i]->index);
        name_row(w, "thread_name", pid, row_of(s[i]), name);
    }
    free(s);
}

static void name_thread(writer *w, const gp_track *t) {
    char name[200];
    snprintf(name, sizeof name, "rank %d", t->rank);
    name_row(w, "process_name", w->pid, 0, w->p->ranks > 1 ? name : "host");
    name_row(w, "thread_name", w->pid, w->tid, t->name ? t->name : "Lua");
}

/* Metadata: names of processes and threads. */
static void write_names(writer *w) {
    each_thread(w, name_thread);
    if (w->held) name_row(w, "thread_name", HOST, HELD, "held up by the device's runtime");
    name_streams(w);
}

/* ---- the file ---- */

/* False where writing failed, with the reason in errno or gp_error(). */
static bool write_all(gzFile out, void *context) {
    writer *w = context;
    w->out = out;
    char kind[GP_PROF_KIND_TEXT], esc[sizeof kind];
    append(w,
           "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"producer\":\"gpush\",\"dropped\":%llu,"
           "\"lost\":%llu,\"wall_us\":%.3f",
           (unsigned long long)w->p->dropped, (unsigned long long)w->p->lost, us(w, w->p->t1));
    append(w, ",\"times\":\"%s\"", quoted(gp_prof_kind(w->p, kind), esc, sizeof esc));
    if (w->p->predicted)
        append(w, ",\"predicted\":\"%s\"", quoted(w->p->predicted, esc, sizeof esc));
    if (w->p->at_least) append(w, ",\"at_least\":\"%s\"", quoted(w->p->at_least, esc, sizeof esc));
    if (w->p->accuracy) append(w, ",\"accuracy\":\"%s\"", quoted(w->p->accuracy, esc, sizeof esc));
    if (w->merged.events)
        append(w, ",\"merged\":%llu,\"merged_into\":%llu", (unsigned long long)w->merged.events,
               (unsigned long long)w->merged.slices);
    append(w, "},\"traceEvents\":[");
    each_thread(w, write_thread);
    each_thread(w, write_samples);
    write_arrows(w);
    write_devices(w);
    write_names(w);
    append(w, "\n]}\n");
    return w->ok;
}

/* Whether p's trace has at most max bytes. */
static bool fits(const gp_prof *p, gp_merged merged, uint64_t max, bool *ok) {
    writer w = {.p = p, .merged = merged, .ok = true};
    *ok = write_all(NULL, &w);
    return w.bytes <= max;
}

/* p with up to 1 << bits events merged into one, where its trace then has at most max bytes; NULL
 * otherwise, or after a failure, with ok false. */
static gp_prof *merge_to_fit(const gp_prof *p, int bits, uint64_t max, gp_merged *merged,
                             bool *ok) {
    gp_prof *to = gp_prof_merge(p, 1 << bits, merged);
    if (!to) return *ok = false, NULL;
    if (fits(to, *merged, max, ok) && *ok) return to;
    return gp_prof_free(to), NULL;
}

/* p with as much merged as its trace of at most max bytes needs; p itself where it fits, NULL with
 * a message. What is too long with all merged is refused first; then the bits are searched by
 * halves. */
static const gp_prof *merge(const gp_prof *p, uint64_t max, gp_merged *merged) {
    enum { LEAST = 2, MOST = 27 };
    bool ok = true;
    *merged = (gp_merged){0};
    if (!max || fits(p, *merged, max, &ok)) return ok ? p : NULL;
    gp_merged with;
    gp_prof *best = merge_to_fit(p, MOST, max, merged, &ok);
    for (int lo = LEAST, hi = MOST; best && ok && lo < hi;) {
        int mid = (lo + hi) / 2;
        gp_prof *to = merge_to_fit(p, mid, max, &with, &ok);
        if (to) gp_prof_free(best), best = to, *merged = with, hi = mid;
        else lo = mid + 1;
    }
    if (!ok && best) gp_prof_free(best), best = NULL;
    if (best || !ok) return best;
    return gp_fail_null("profile.trace: max: the waits and regions alone need more than %.2f MB",
                        (double)max * 1e-6);
}

bool gp_trace_write_most(const gp_prof *p, const char *path, uint64_t max, gp_merged *merged) {
    const gp_prof *shown = merge(p, max, merged);
    if (!shown) return false;
    writer w = {.p = shown, .merged = *merged, .ok = true};
    bool ok = gp_gzip_file("trace", path, write_all, &w);
    if (shown != p) gp_prof_free((gp_prof *)shown);
    return ok;
}

bool gp_trace_write(const gp_prof *p, const char *path) {
    gp_merged merged;
    return gp_trace_write_most(p, path, 0, &merged);
}
