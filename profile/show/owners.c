/* Whose memory it was: blocks on the record, from what allocated them to what freed them. */
#include "profile/show/owners.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/base/error.h"

/* An allocation, or the end of one, with the op around it. */
typedef struct change {
    const gp_rec *rec, *op;
    int order; /* in which they were found, where times are equal */
} change;

/* A block that is alive: an entry of a hash table, linear probing, at most half full. Freed ones
 * stay with bytes 0. */
typedef struct block {
    const void *key;
    const gp_device *dev;
    int owner;
    int64_t bytes;
} block;

typedef struct finder {
    gp_owners *o;
    change *list;
    int n;
    bool unknown; /* whether a change does not say its block */
    block *blocks;
    size_t slots;
    int *slot; /* 1 + owner, by op, line and device; as many slots */
} finder;

/* ---- the changes, by time ---- */

static bool is_change(const gp_rec *r) { return r->kind == GP_REC_ALLOC; }

/* Adds a thread's changes. Ops of one thread are nested. */
static void gather(finder *f, const gp_prof *p, const gp_track *t) {
    enum { DEPTH = 64 };
    const gp_rec *open[DEPTH];
    int depth = 0;
    gp_cursor at = gp_first(t);
    for (gp_rec *r; (r = gp_next(&at));) {
        while (depth && gp_rec_end(p, open[depth - 1]) < r->t0) depth--;
        if (r->kind == GP_REC_OP && depth < DEPTH) open[depth++] = r;
        if (r->kind != GP_REC_ALLOC) continue;
        f->unknown = f->unknown || !r->block;
        f->list[f->n] = (change){r, depth ? open[depth - 1] : NULL, f->n};
        f->n++;
    }
}

static int by_time(const void *a, const void *b) {
    const change *x = a, *y = b;
    if (x->rec->t0 != y->rec->t0) return x->rec->t0 < y->rec->t0 ? -1 : 1;
    return x->order - y->order;
}

/* ---- owners and blocks ---- */

static size_t slot_of(const finder *f, const void *a, const void *b, uint64_t c) {
    uint64_t h = ((uint64_t)(uintptr_t)a * 31 + (uint64_t)(uintptr_t)b) * 31 + c;
    return (size_t)(h * 0x9e3779b97f4a7c15u >> 20) & (f->slots - 1);
}

static bool same(const gp_owner *o, const gp_rec *op, const gp_device *dev) {
    if (o->dev != dev || !o->op || !op) return o->dev == dev && o->op == op;
    return o->op->name == op->name && o->op->file == op->file && o->op->line == op->line &&
           o->op->inplace == op->inplace;
}

/* The number of the owner; each change makes at most one, so that there is room. */
static int owner_of(finder *f, const change *c) {
    const gp_rec *op = c->op;
    const gp_device *dev = c->rec->where;
    size_t at =
        op ? slot_of(f, op->name, op->file, (uint64_t)(uint32_t)op->line) : slot_of(f, dev, 0, 0);
    while (f->slot[at] && !same(&f->o->owner[f->slot[at] - 1], op, dev))
        at = (at + 1) & (f->slots - 1);
    if (!f->slot[at]) {
        f->o->owner[f->o->n] = (gp_owner){.op = op, .dev = dev};
        f->slot[at] = ++f->o->n;
    }
    return f->slot[at] - 1;
}

static block *block_of(const finder *f, const gp_rec *r) {
    size_t at = slot_of(f, r->block, r->where, 0);
    while (f->blocks[at].key && (f->blocks[at].key != r->block || f->blocks[at].dev != r->where))
        at = (at + 1) & (f->slots - 1);
    return &f->blocks[at];
}

static gp_owned_device *device_of(gp_owners *o, const gp_rec *r) {
    for (int i = 0; i < o->ndevices; i++)
        if (o->device[i].dev == r->where) return &o->device[i];
    if (o->ndevices == GP_MAX_DEVICES) return NULL;
    gp_owned_device *d = &o->device[o->ndevices++];
    d->dev = r->where;
    d->before = d->peak = d->after = (int64_t)r->id - r->bytes;
    return d;
}

/* What is alive now is what was alive at the peak, so far. */
static void note_peak(gp_owners *o, gp_owned_device *d, int64_t level) {
    d->peak = level;
    d->old_at_peak = d->before - d->old;
    for (int i = 0; i < o->n; i++)
        if (o->owner[i].dev == d->dev) o->owner[i].peak = o->owner[i].alive;
}

static void apply(finder *f, const change *c, gp_owned_device *d) {
    const gp_rec *r = c->rec;
    block *b = block_of(f, r);
    if (r->bytes > 0) {
        int i = owner_of(f, c);
        gp_owner *o = &f->o->owner[i];
        o->blocks++;
        o->allocated += r->bytes, o->alive += r->bytes;
        *b = (block){r->block, r->where, i, r->bytes};
    } else if (b->bytes) {
        f->o->owner[b->owner].alive -= b->bytes;
        b->bytes = 0;
    } else {
        d->old -= r->bytes;
    }
    d->after = (int64_t)r->id;
}

/* Two passes: the first finds the peaks, so that the second notes owners once for each device. */
static void walk(finder *f) {
    int top[GP_MAX_DEVICES];
    for (int i = 0; i < f->n; i++) {
        gp_owned_device *d = device_of(f->o, f->list[i].rec);
        bool first =
            d && (f->list[i].rec->where == d->dev) && (int64_t)f->list[i].rec->id > d->peak;
        if (first) d->peak = (int64_t)f->list[i].rec->id, top[d - f->o->device] = i;
    }
    for (int i = 0; i < f->o->ndevices; i++)
        if (f->o->device[i].peak == f->o->device[i].before)
            f->o->device[i].old_at_peak = f->o->device[i].before, top[i] = -1;
    for (int i = 0; i < f->n; i++) {
        gp_owned_device *d = device_of(f->o, f->list[i].rec);
        if (!d) continue;
        apply(f, &f->list[i], d);
        if (top[d - f->o->device] == i) note_peak(f->o, d, d->peak);
    }
    for (int i = 0; i < f->o->n; i++) f->o->owner[i].kept = f->o->owner[i].alive;
}

static bool find(finder *f, const gp_prof *p) {
    size_t capacity = (size_t)gp_count_recs(p->host, is_change) +
                      (size_t)gp_count_recs(p->workers, is_change) + 1;
    for (f->slots = 64; f->slots < 2 * capacity;) f->slots *= 2;
    f->o = calloc(1, sizeof *f->o);
    f->list = malloc(capacity * sizeof *f->list);
    f->blocks = calloc(f->slots, sizeof *f->blocks);
    f->slot = calloc(f->slots, sizeof *f->slot);
    if (f->o) f->o->owner = malloc(capacity * sizeof *f->o->owner);
    if (!f->o || !f->list || !f->blocks || !f->slot || !f->o->owner)
        return gp_fail("profile.memory: out of memory");
    for (const gp_track *t = p->host; t; t = t->next) gather(f, p, t);
    for (const gp_track *t = p->workers; t; t = t->next) gather(f, p, t);
    if (f->unknown) return gp_fail("profile.memory: the trace does not say which block was freed");
    qsort(f->list, (size_t)f->n, sizeof *f->list, by_time);
    walk(f);
    return true;
}

gp_owners *gp_owners_new(const gp_prof *p) {
    finder f = {0};
    if (!p->opts.memory)
        return gp_prof_fail_lacking(p, "profile.memory", "memory", "memory = true",
                                    "profile_memory=True");
    bool ok = find(&f, p);
    free(f.list);
    free(f.blocks);
    free(f.slot);
    if (!ok) gp_owners_free(f.o), f.o = NULL;
    return f.o;
}

void gp_owners_free(gp_owners *o) {
    if (o) free(o->owner);
    free(o);
}
