/* Writes a profile to a file. It is a JSON object: "gpush": "profile", "version", the fields of
 * gp_prof, and then, each referring to those before it by numbers from 1 (0: none),
 *   "card"     [key, name, whether tf32, figures … (as the bits of their doubles)], which sim
 *              stood in for; only where it did
 *   "texts"    names and files
 *   "devices"  [kind, name, index, whether on the host]
 *   "streams"  [device, index]
 *   "stacks"   [module, file, line, function, file …], innermost first
 *   "shapes"   [dtype, dim, dim …, dtype …] of an op's tensors
 *   "costs"    [bytes, operations, passes, unit, dtype, family] of an op, rounded to whole ones
 *   "orders"   [stream, stream that it waits for, id, id, start, whether of what is done], which
 *              gp_stream_order describes; only where there are any
 *   "waves"    [kernel's name, ns whose blocks are known, those times blocks, ns with few, ns whose
 *              occupancy is known, those times it (as the bits of their doubles), ns of the longest
 *              run, grid, block (three each), registers, shared memory of that], of a trace that
 *              has these; -1 instead of what begins with the longest run: not known
 *   "threads"  {"host", "name", "rank", "dropped", "events"}: the host's come first
 * An event is [kind, start after the one before it, duration or -1, name, id, file, line, where,
 * bytes or cost, stack, shapes, kernel or form, why, inplace + 2 failed + 4 replayed + 8
 * collective]; zeros at its end are left out. Of memory, line is the number of its block. where: a
 * stream, a device (memory), or an event of the thread (region, switch). Times in ns. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/show/gzip_file.h"
#include "profile/load/load.h"
#include "profile/show/waves.h"

/* Numbers pointers from 1 in the order in which they come. */
typedef struct numbers {
    const void **key, **slot_key;
    int *slot;
    int n, slots;
} numbers;

typedef struct writer {
    const gp_prof *p;
    gzFile out;
    bool ok, more; /* more: the next element needs a comma */
    numbers texts, devices, streams, stacks, shapes, costs, blocks;
    char buf[1 << 16];
    size_t n;
} writer;

/* ---- numbers ---- */

static int *find(const numbers *s, const void *key) {
    uint64_t h = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
    size_t mask = (size_t)s->slots - 1, at = (size_t)(h >> 32) & mask;
    while (s->slot[at] && s->slot_key[at] != key) at = (at + 1) & mask;
    return &s->slot[at];
}

static bool grow(numbers *s) {
    int slots = s->slots ? s->slots * 2 : 256;
    numbers to = {.n = s->n, .slots = slots};
    to.key = malloc((size_t)slots / 2 * sizeof *to.key);
    to.slot_key = malloc((size_t)slots * sizeof *to.slot_key);
    to.slot = calloc((size_t)slots, sizeof *to.slot);
    bool ok = to.key && to.slot_key && to.slot;
    for (int i = 0; ok && i < s->n; i++) {
        int *slot = find(&to, s->key[i]);
        to.key[i] = to.slot_key[slot - to.slot] = s->key[i];
        *slot = i + 1;
    }
    numbers *gone = ok ? s : &to;
    free(gone->key);
    free(gone->slot_key);
    free(gone->slot);
    if (ok) *s = to;
    return ok;
}

/* The number of key, given on demand; 0 for NULL, and without memory, which clears w->ok. */
static int number(writer *w, numbers *s, const void *key) {
    if (!key) return 0;
    if (s->n >= s->slots / 2 && !grow(s)) return w->ok = gp_fail("profile.save: out of memory"), 0;
    int *slot = find(s, key);
    if (!*slot) {
        s->slot_key[slot - s->slot] = s->key[s->n] = key;
        *slot = ++s->n;
    }
    return *slot;
}

static void free_numbers(numbers *s) {
    free(s->key);
    free(s->slot_key);
    free(s->slot);
}

/* ---- text ---- */

static void flush(writer *w) {
    if (gp_thread_stopped()) w->ok = gp_prof_fail("profile.save");
    if (w->ok && w->n && gzwrite(w->out, w->buf, (unsigned)w->n) <= 0) w->ok = false;
    w->n = 0;
}

static void write_bytes(writer *w, const char *p, size_t n) {
    if (w->n + n > sizeof w->buf) flush(w);
    if (n > sizeof w->buf) {
        if (gzwrite(w->out, p, (unsigned)n) <= 0) w->ok = false;
        return;
    }
    memcpy(w->buf + w->n, p, n);
    w->n += n;
}

__attribute__((format(printf, 2, 3))) static void append(writer *w, const char *fmt, ...) {
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    write_bytes(w, text, (size_t)n);
}

/* Bytes that are not UTF-8 stay as they are. */
static void write_text(writer *w, const char *s) {
    append(w, "\"");
    for (; *s; s++) {
        size_t plain = strcspn(s, "\"\\\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f\x10"
                                  "\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f");
        write_bytes(w, s, plain);
        if (!*(s += plain)) break;
        if (*s == '"' || *s == '\\') append(w, "\\%c", *s);
        else append(w, "\\u%04x", (unsigned)*s);
    }
    append(w, "\"");
}

static void comma(writer *w) {
    if (w->more) write_bytes(w, ",\n", 2);
    w->more = true;
}

static void list(writer *w, const char *name) {
    append(w, ",\n\"%s\":[", name);
    w->more = false;
}

/* ---- what events refer to ---- */

static const void *extra(const gp_rec *r, bool *text) {
    bool wait = gp_rec_has_why(r);
    *text = wait || r->kind == GP_REC_KERNEL || r->kind == GP_REC_HELD || r->kind == GP_REC_CALL;
    return wait                   ? (const void *)r->form
           : *text                ? (const void *)r->kernel
           : r->kind == GP_REC_OP ? r->shapes
                                  : NULL;
}

static bool on_stream(const gp_rec *r) {
    return r->kind == GP_REC_WAIT || r->kind == GP_REC_COPY || r->kind == GP_REC_KERNEL ||
           r->kind == GP_REC_MOVED || r->kind == GP_REC_HELD;
}

static void number_device(writer *w, const gp_device *dev) {
    number(w, &w->devices, dev);
    number(w, &w->texts, dev->vt->kind);
}

static void meet_stack(writer *w, const gp_stack *s) {
    number(w, &w->texts, s->module);
    for (int i = 0; i < s->n; i++) {
        number(w, &w->texts, s->frame[i].file);
        number(w, &w->texts, s->frame[i].function);
    }
}

/* Numbers everything that r refers to. */
static void meet(writer *w, const gp_rec *r) {
    bool text;
    const void *more = extra(r, &text);
    number(w, &w->texts, r->name);
    number(w, &w->texts, r->file);
    number(w, text ? &w->texts : &w->shapes, more);
    if (r->kind == GP_REC_OP) number(w, &w->costs, r->cost);
    if (r->stack && !*(w->stacks.slots ? find(&w->stacks, r->stack) : &(int){0}))
        meet_stack(w, r->stack);
    number(w, &w->stacks, r->stack);
    if (r->kind == GP_REC_ALLOC) number_device(w, r->where);
    if (!on_stream(r)) return;
    number(w, &w->streams, r->where);
    number_device(w, ((const gp_stream *)r->where)->dev);
}

static void meet_track(writer *w, const gp_track *t) {
    gp_cursor at = gp_first(t);
    number(w, &w->texts, t->name);
    for (gp_rec *r; (r = gp_next(&at));) meet(w, r);
}

static void meet_order(writer *w, const gp_stream_order *o) {
    number(w, &w->streams, o->s);
    number_device(w, o->s->dev);
    number(w, &w->streams, o->first);
    number_device(w, o->first->dev);
}

static void write_devices(writer *w) {
    list(w, "devices");
    for (int i = 0; i < w->devices.n; i++) {
        const gp_device *dev = w->devices.key[i];
        comma(w);
        append(w, "[%d,\"%s\",%d,%s]", number(w, &w->texts, dev->vt->kind), dev->name, dev->index,
               dev->vt->on_host ? "true" : "false");
    }
    append(w, "]");
    list(w, "streams");
    for (int i = 0; i < w->streams.n; i++) {
        const gp_stream *s = w->streams.key[i];
        comma(w);
        append(w, "[%d,%d]", number(w, &w->devices, s->dev), s->index);
    }
    append(w, "]");
}

static void write_shape(writer *w, const char *shapes) {
    const char *p = shapes, *end = p + gp_intern_size(p);
    comma(w);
    append(w, "[");
    for (bool first = true; p < end; first = false) {
        append(w, "%s\"%s\"", first ? "" : ",", gp_dtype_name((gp_dtype)p[0]));
        int ndim = p[1];
        for (p += 2; ndim--; p += sizeof(int64_t)) {
            int64_t dim;
            memcpy(&dim, p, sizeof dim);
            append(w, ",%lld", (long long)dim);
        }
    }
    append(w, "]");
}

static void write_cost(writer *w, const gp_cost *cost) {
    comma(w);
    append(w, "[%.0f,%.0f,%u,%d,\"%s\",\"%s\"]", cost->bytes, cost->ops, cost->passes, cost->unit,
           gp_dtype_name((gp_dtype)cost->dtype), gp_family_names[cost->family]);
}

static void write_orders(writer *w) {
    list(w, "orders");
    for (int i = 0; i < w->p->norders; i++) {
        const gp_stream_order *o = &w->p->orders[i];
        comma(w);
        append(w, "[%d,%d,%llu,%llu,%llu,%s]", number(w, &w->streams, o->s),
               number(w, &w->streams, o->first), (unsigned long long)o->after,
               (unsigned long long)o->id, (unsigned long long)(o->t - w->p->t0),
               o->done ? "true" : "false");
    }
    append(w, "]");
}

static void write_wave(writer *w, const gp_wave *of, int name) {
    const double sums[] = {of->ns, of->blocks, of->small, of->occupied, of->occupancy};
    const gp_geometry *g = of->geometry;
    comma(w);
    append(w, "[%d", name);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        int64_t bits;
        memcpy(&bits, &sums[i], sizeof bits);
        append(w, ",%lld", (long long)bits);
    }
    if (!g) append(w, ",-1]");
    else
        append(w, ",%llu,%d,%d,%d,%d,%d,%d,%d,%d]", (unsigned long long)of->longest, g->grid[0],
               g->grid[1], g->grid[2], g->block[0], g->block[1], g->block[2], g->registers,
               g->shared);
}

/* In the order of texts, so that a profile is written the same each time. */
static void write_waves(writer *w) {
    list(w, "waves");
    for (int i = 0; i < w->texts.n; i++) {
        const gp_wave *of = gp_waves_of(w->p, w->texts.key[i]);
        if (of) write_wave(w, of, i + 1);
    }
    append(w, "]");
}

static void write_references(writer *w) {
    list(w, "texts");
    for (int i = 0; i < w->texts.n; i++) comma(w), write_text(w, w->texts.key[i]);
    append(w, "]");
    write_devices(w);
    list(w, "stacks");
    for (int i = 0; i < w->stacks.n; i++) {
        const gp_stack *s = w->stacks.key[i];
        comma(w);
        append(w, "[%d", number(w, &w->texts, s->module));
        for (int k = 0; k < s->n; k++)
            append(w, ",%d,%d,%d", number(w, &w->texts, s->frame[k].file), s->frame[k].line,
                   number(w, &w->texts, s->frame[k].function));
        append(w, "]");
    }
    append(w, "]");
    list(w, "shapes");
    for (int i = 0; i < w->shapes.n; i++) write_shape(w, w->shapes.key[i]);
    append(w, "]");
    list(w, "costs");
    for (int i = 0; i < w->costs.n; i++) write_cost(w, w->costs.key[i]);
    append(w, "]");
    if (w->p->norders) write_orders(w);
    if (w->p->waves) write_waves(w);
}

/* ---- events ---- */

static int64_t source_of(writer *w, const gp_track *t, const gp_rec *r) {
    if (on_stream(r)) return number(w, &w->streams, r->where);
    if (r->kind == GP_REC_ALLOC) return number(w, &w->devices, r->where);
    bool in = r->kind == GP_REC_REGION || r->kind == GP_REC_SWITCH;
    return in && r->where ? gp_track_number(t, r->where) : 0;
}

static void write_event(writer *w, const gp_track *t, const gp_rec *r, uint64_t before) {
    bool text;
    const void *more = extra(r, &text);
    uint64_t t1 = r->t1 < r->t0 ? r->t0 : r->t1;
    int64_t v[] = {r->kind,
                   (int64_t)(r->t0 - before),
                   r->t1 ? (int64_t)(t1 - r->t0) : -1,
                   number(w, &w->texts, r->name),
                   (int64_t)(r->kind == GP_REC_REGION ? r->computed : r->id),
                   number(w, &w->texts, r->file),
                   r->kind == GP_REC_ALLOC ? number(w, &w->blocks, r->block) : r->line,
                   source_of(w, t, r),
                   r->kind == GP_REC_OP ? number(w, &w->costs, r->cost) : r->bytes,
                   number(w, &w->stacks, r->stack),
                   number(w, text ? &w->texts : &w->shapes, more),
                   gp_rec_has_why(r) ? r->why : 0,
                   r->inplace + 2 * r->failed + 4 * r->replayed + 8 * r->collective};
    int n = (int)(sizeof v / sizeof *v);
    while (n > 4 && !v[n - 1]) n--;
    comma(w);
    for (int i = 0; i < n; i++) append(w, "%s%lld", i ? "," : "[", (long long)v[i]);
    append(w, "]");
}

static void write_thread(writer *w, const gp_track *t, bool first) {
    uint64_t before = w->p->t0;
    append(w, "%s{\"host\":%s,\"name\":%d,\"rank\":%d,\"dropped\":%llu,\"events\":[",
           first ? "\n" : ",\n", t->worker ? "false" : "true", number(w, &w->texts, t->name),
           t->rank, (unsigned long long)t->dropped);
    w->more = false;
    gp_cursor at = gp_first(t);
    for (gp_rec *r; w->ok && (r = gp_next(&at)); before = r->t0) write_event(w, t, r, before);
    append(w, "]}");
}

static void write_field(writer *w, const char *name, uint64_t v) {
    append(w, ",\"%s\":%llu", name, (unsigned long long)v);
}
static void write_field_text(writer *w, const char *name, const char *v) {
    if (!v) return;
    append(w, ",\"%s\":", name);
    write_text(w, v);
}

static void write_card(writer *w, const gp_card *card) {
    append(w, ",\n\"card\":[");
    write_text(w, card->key);
    append(w, ",");
    write_text(w, card->name);
    append(w, ",%s", card->tf32 ? "true" : "false");
    for (int i = 0; i < GP_FIGURES; i++) {
        int64_t bits;
        memcpy(&bits, &card->figure[i], sizeof bits);
        append(w, ",%lld", (long long)bits);
    }
    append(w, "]");
}

static void write_fields(writer *w) {
    const gp_prof *p = w->p;
    append(w, "{\"gpush\":\"profile\",\"version\":2");
    write_field(w, "t0", p->t0);
    write_field(w, "done", p->done - p->t0);
    write_field(w, "t1", p->t1 - p->t0);
    write_field(w, "has_stack", p->opts.stack > 0);
    write_field(w, "has_memory", p->opts.memory);
    write_field(w, "has_shapes", p->opts.shapes);
    write_field(w, "has_flops", p->opts.flops);
    write_field(w, "has_lua", p->opts.lua);
    write_field(w, "period", p->period);
    write_field(w, "blocked", p->blocked);
    if (p->processors > 0) write_field(w, "processors", (uint64_t)p->processors);
    if (p->starved) write_field(w, "starved", p->starved);
    if (p->usual) write_field(w, "usual_step", p->usual);
    if (p->beside) write_field(w, "beside", p->beside);
    if (p->frames) write_field(w, "frames", p->frames);
    write_field(w, "foreign", p->foreign);
    if (p->cut) write_field(w, "cut", 1);
    if (p->no_device) write_field(w, "no_device", 1);
    if (p->unpaired) write_field(w, "unpaired", 1);
    if (p->midway) write_field(w, "midway", 1);
    if (p->no_clock) write_field(w, "no_clock", 1);
    if (p->unknown_orders) write_field(w, "unknown_orders", (uint64_t)p->unknown_orders);
    if (p->guessed_orders) write_field(w, "guessed_orders", (uint64_t)p->guessed_orders);
    write_field(w, "ranks", (uint64_t)p->ranks);
    write_field(w, "dropped", p->dropped);
    write_field(w, "lost", p->lost);
    write_field(w, "others", p->others);
    write_field(w, "cost_begin", p->cost_begin);
    write_field(w, "cost_end", p->cost_end);
    write_field(w, "started_line", (uint64_t)(p->started.line > 0 ? p->started.line : 0));
    if (p->size || p->rank) write_field(w, "job_rank", (uint64_t)p->rank);
    if (p->size) write_field(w, "job_size", (uint64_t)p->size);
    write_field_text(w, "started_file", p->started.file);
    write_field_text(w, "how", p->how);
    write_field_text(w, "writer", p->writer);
    write_field_text(w, "predicted", p->predicted);
    write_field_text(w, "accuracy", p->accuracy);
    write_field_text(w, "modelled", p->modelled);
    write_field_text(w, "at_least", p->at_least);
    if (p->card) write_card(w, p->card);
}

static bool write_all(gzFile out, void *context) {
    writer *w = context;
    w->out = out;
    for (const gp_track *t = w->p->host; t; t = t->next) meet_track(w, t);
    for (const gp_track *t = w->p->workers; t; t = t->next) meet_track(w, t);
    for (int i = 0; i < w->p->norders; i++) meet_order(w, &w->p->orders[i]);
    write_fields(w);
    write_references(w);
    append(w, ",\n\"threads\":[");
    for (const gp_track *t = w->p->host; t; t = t->next) write_thread(w, t, t == w->p->host);
    for (const gp_track *t = w->p->workers; t; t = t->next) write_thread(w, t, false);
    append(w, "]}\n");
    flush(w);
    return w->ok;
}

static void free_writer(writer *w) {
    free_numbers(&w->texts);
    free_numbers(&w->devices);
    free_numbers(&w->streams);
    free_numbers(&w->stacks);
    free_numbers(&w->shapes);
    free_numbers(&w->costs);
    free_numbers(&w->blocks);
    free(w);
}

bool gp_prof_save(const gp_prof *p, const char *path) {
    writer *w = calloc(1, sizeof *w);
    if (!w) return gp_fail("profile.save: out of memory");
    w->p = p;
    w->ok = true;
    bool ok = gp_gzip_file("profile.save", path, write_all, w);
    free_writer(w);
    return ok;
}
