/* The record in a compact form: classes of events, and numbers in base64. */
#include "profile/show/columns.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/device/stream/thread.h"

/* ---- classes ---- */

typedef struct encoder {
    gp_page_columns *c;
    int *slot; /* 1 + class; a power of two of them, at most half full */
    size_t slots, capacity;
} encoder;

/* What HELD and KERNEL call themselves, or an op's shapes: interned, as all texts are. */
static const void *details(const gp_rec *r) {
    return r->kind == GP_REC_ALLOC || r->kind == GP_REC_REGION ? NULL : r->shapes;
}

/* A region's `where` is the region around it, which is in the events' times; a switch's is found by
 * its number. */
static const void *source_of(const gp_rec *r) {
    return r->kind == GP_REC_REGION || r->kind == GP_REC_SWITCH ? NULL : r->where;
}

static bool same(const gp_rec *a, const gp_rec *b) {
    return a->name == b->name && a->kind == b->kind && a->why == b->why &&
           a->inplace == b->inplace && a->failed == b->failed && a->replayed == b->replayed &&
           a->file == b->file && a->line == b->line && a->stack == b->stack &&
           source_of(a) == source_of(b) && details(a) == details(b);
}

static uint64_t hash(const gp_rec *r) {
    const uint64_t part[] = {
        (uintptr_t)r->name,    (uintptr_t)r->file + (uint64_t)(uint32_t)r->line,
        (uintptr_t)r->stack,   (uintptr_t)source_of(r),
        (uintptr_t)details(r), r->kind | (uint64_t)r->why << 8};
    uint64_t h = 0;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        h = (h ^ part[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h;
}

/* The slot of r's class, or the free one for it. */
static int *find(const encoder *e, const gp_rec *r) {
    size_t mask = e->slots - 1, at = hash(r) & mask;
    while (e->slot[at] && !same(e->c->class[e->slot[at] - 1], r)) at = (at + 1) & mask;
    return &e->slot[at];
}

static bool grow(encoder *e) {
    size_t slots = e->slots ? e->slots * 2 : 512;
    const gp_rec **class = realloc(e->c->class, slots / 2 * sizeof *class);
    if (class) e->c->class = class;
    int *slot = calloc(slots, sizeof *slot);
    if (!class || !slot) return free(slot), false;
    free(e->slot);
    e->slot = slot;
    e->slots = slots;
    e->capacity = slots / 2;
    for (int i = 0; i < e->c->nclasses; i++) *find(e, class[i]) = i + 1;
    return true;
}

/* The number of r's class; -1: no memory. */
static int class_of(encoder *e, const gp_rec *r) {
    if ((size_t)e->c->nclasses >= e->capacity && !grow(e)) return -1;
    int *slot = find(e, r);
    if (!*slot) {
        e->c->class[e->c->nclasses] = r;
        *slot = ++e->c->nclasses;
    }
    return *slot - 1;
}

/* ---- numbers ---- */

typedef struct bytes {
    unsigned char *at;
    size_t n, capacity;
} bytes;

enum { NUMBER = 10, NUMBERS = 7 }; /* bytes of a number at most, numbers of an event at most */

static bool reserve(bytes *b) {
    if (b->capacity - b->n >= NUMBER * NUMBERS) return true;
    size_t capacity = b->capacity ? b->capacity + b->capacity / 2 : 1 << 16;
    unsigned char *at = realloc(b->at, capacity);
    if (!at) return false;
    b->at = at;
    b->capacity = capacity;
    return true;
}

static void append(bytes *b, uint64_t v) {
    for (; v >= 0x80; v >>= 7) b->at[b->n++] = (unsigned char)(v | 0x80);
    b->at[b->n++] = (unsigned char)v;
}

static void append_signed(bytes *b, int64_t v) {
    append(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

/* The base64 of b, *len bytes, which the caller frees; NULL when out of memory. */
static char *base64(const bytes *b, size_t *len) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((b->n + 2) / 3 * 4 + 1), *to = text;
    for (size_t i = 0; text && i < b->n; i += 3) {
        unsigned left = b->n - i < 3 ? (unsigned)(b->n - i) : 3;
        uint32_t v = (uint32_t)b->at[i] << 16 | (left > 1 ? (uint32_t)b->at[i + 1] << 8 : 0) |
                     (left > 2 ? b->at[i + 2] : 0);
        *to++ = digit[v >> 18];
        *to++ = digit[v >> 12 & 63];
        *to++ = left > 1 ? digit[v >> 6 & 63] : '=';
        *to++ = left > 2 ? digit[v & 63] : '=';
    }
    *len = text ? (size_t)(to - text) : 0;
    return text;
}

/* ---- events ---- */

/* The values before an event that its own are told from. */
typedef struct before {
    uint64_t t0, id;
    int64_t level;
} before;

static bool has_id(const gp_rec *r) {
    return r->kind != GP_REC_ALLOC && r->kind != GP_REC_SAMPLE && r->kind != GP_REC_SWITCH &&
           r->kind != GP_REC_REGION && r->kind != GP_REC_WAIT && r->kind != GP_REC_READ;
}
static bool has_bytes(const gp_rec *r) {
    return r->kind == GP_REC_ALLOC || r->kind == GP_REC_SAMPLE || r->kind == GP_REC_WAIT ||
           r->kind == GP_REC_COPY || r->kind == GP_REC_MOVED;
}

static void append_event(bytes *b, const gp_track *t, const gp_rec *r, int class, before *last) {
    append(b, (uint64_t) class);
    append_signed(b, (int64_t)(r->t0 - last->t0));
    append(b, gp_rec_end(t->prof, r) - r->t0);
    last->t0 = r->t0;
    if (has_id(r)) {
        append_signed(b, (int64_t)(r->id - last->id));
        last->id = r->id;
    }
    if (has_bytes(r)) append_signed(b, r->bytes);
    if (r->kind == GP_REC_SWITCH) append_signed(b, r->where ? gp_track_number(t, r->where) : 0);
    if (r->kind != GP_REC_ALLOC) return;
    append(b, (uint64_t)(uintptr_t)r->block);
    append_signed(b, (int64_t)r->id - r->bytes - last->level);
    last->level = (int64_t)r->id;
}

static bool encode(encoder *e, const gp_prof *p, const gp_track *t, gp_column_track *to) {
    enum { STRIDE = 1 << 16 }; /* events between two looks for Ctrl-C */
    bytes b = {0};
    before last = {.t0 = p->t0};
    gp_cursor at = gp_first(t);
    bool ok = true;
    *to = (gp_column_track){.track = t};
    for (gp_rec *r; ok && (r = gp_next(&at));) {
        int class = reserve(&b) ? class_of(e, r) : -1;
        ok = class >= 0 || gp_fail("profile.report: out of memory");
        if (ok) append_event(&b, t, r, class, &last);
        if (++to->events % STRIDE == 0 && gp_thread_stopped())
            ok = gp_fail("profile.report: interrupted");
    }
    if (ok && b.n && !(to->text = base64(&b, &to->len)))
        ok = gp_fail("profile.report: out of memory");
    free(b.at);
    return ok;
}

gp_page_columns *gp_page_columns_new(const gp_prof *p) {
    gp_page_columns *c = calloc(1, sizeof *c);
    encoder e = {.c = c};
    int tracks = 0;
    const gp_track *const lists[] = {p->host, p->workers};
    for (int i = 0; i < 2; i++)
        for (const gp_track *t = lists[i]; t; t = t->next) tracks++;
    if (c) c->track = calloc((size_t)tracks, sizeof *c->track);
    if (!c || !c->track)
        return gp_page_columns_free(c), gp_fail_null("profile.report: out of memory");
    bool ok = true;
    for (int i = 0; i < 2; i++)
        for (const gp_track *t = lists[i]; ok && t; t = t->next)
            ok = encode(&e, p, t, &c->track[c->ntracks++]);
    free(e.slot);
    if (!ok) gp_page_columns_free(c), c = NULL;
    return c;
}

void gp_page_columns_free(gp_page_columns *c) {
    if (!c) return;
    for (int i = 0; i < c->ntracks; i++) free(c->track[i].text);
    free(c->track);
    free(c->class);
    free(c);
}
