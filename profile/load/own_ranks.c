/* Joins saved profiles of a job's ranks into one, on one clock. The ranks' collectives are the
 * exchange that compares clocks. In each, ranks first wait until all have begun it, and then data
 * go from each rank to each other one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/load/reader.h"
#include "tensor/base/safe_text.h"

enum { START = 1000000000 };                     /* where a joined profile begins, in ns */
static const int64_t LONGEST = (int64_t)1 << 60; /* ns of a profile */

/* A collective as one rank saw it. */
typedef struct meeting {
    const char *name;    /* interned */
    bool on_host;        /* of the cpu's stream, which is not in step with other devices' */
    int64_t t0, met, t1; /* when it began, all had begun, and it ended; met is t1 if unknown */
    bool all_to_all;     /* every rank's result needs every other one's data; met is known */
} meeting;

/* One rank's part of the profile; offset is added to its times. */
typedef struct part {
    int rank;
    int64_t t0, done, t1, offset;
    int orders, last_order; /* of p->orders: the first, and the one after its last */
    const gp_rec **call;    /* the host's ops of dist, by id */
    meeting *met;           /* the collectives of all ranks, by name and start */
    int ncalls, nmet;
} part;

/* ---- collectives ---- */

static int by_id(const void *a, const void *b) {
    const gp_rec *x = *(const gp_rec *const *)a, *y = *(const gp_rec *const *)b;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Ranks have the same order of those of one name and stream. */
static int by_name(const void *a, const void *b) {
    const meeting *x = a, *y = b;
    if (x->on_host != y->on_host) return x->on_host - y->on_host;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    return x->t0 < y->t0 ? -1 : x->t0 > y->t0;
}

/* Whether all ranks of the job take part: groups have theirs after the name, and a message has two
 * ends. */
static bool of_all(const char *name) {
    return !strchr(name, '(') && strcmp(name, "dist.send") && strcmp(name, "dist.recv");
}

/* The ops without a root, by their rows' names. */
static bool needs_all(const char *row) {
    return !strcmp(row, "dist_all_reduce") || !strcmp(row, "dist_all_gather") ||
           !strcmp(row, "dist_reduce_scatter") || !strcmp(row, "dist_all_to_all");
}

static bool is_call(const gp_rec *r) {
    return r->kind == GP_REC_OP && r->id && !strncmp(r->name, "dist.", 5);
}
static bool is_run(const gp_rec *r) {
    return r->kind == GP_REC_KERNEL && r->id && !strncmp(r->name, "dist_", 5);
}

/* Calls see(x, r) for each event of a rank in that list of tracks that `counts` takes; returns how
 * many. */
static int each(const gp_track *t, int rank, bool (*counts)(const gp_rec *),
                void (*see)(part *x, const gp_rec *r), part *x) {
    int n = 0;
    for (; t; t = t->next) {
        gp_cursor at = gp_first(t);
        for (gp_rec *r; t->rank == rank && (r = gp_next(&at));)
            if (counts(r) && ++n && see) see(x, r);
    }
    return n;
}

static void add_call(part *x, const gp_rec *r) { x->call[x->ncalls++] = r; }

static void add_meeting(part *x, const gp_rec *r) {
    const gp_rec **call = bsearch(&r, x->call, (size_t)x->ncalls, sizeof(const gp_rec *), by_id);
    bool on_host = ((const gp_stream *)r->where)->dev->vt->on_host;
    if (!call || !of_all((*call)->name)) return;
    meeting *m = &x->met[x->nmet++];
    *m = (meeting){(*call)->name, on_host, (int64_t)r->t0, (int64_t)r->t1, (int64_t)r->t1, false};
    if (r->bytes <= 0 || r->bytes > m->t1 - m->t0) return;
    m->met = m->t0 + r->bytes;
    m->all_to_all = needs_all(r->name) && m->met < m->t1; /* else data went out before */
}

static bool find_meetings(const gp_prof *p, part *x) {
    size_t calls = (size_t)each(p->host, x->rank, is_call, NULL, NULL) + 1;
    size_t runs = (size_t)each(p->workers, x->rank, is_run, NULL, NULL) + 1;
    x->call = malloc(calls * sizeof *x->call);
    x->met = malloc(runs * sizeof *x->met);
    if (!x->call || !x->met) return gp_fail("profile.load: out of memory");
    each(p->host, x->rank, is_call, add_call, x);
    qsort(x->call, (size_t)x->ncalls, sizeof(const gp_rec *), by_id);
    each(p->workers, x->rank, is_run, add_meeting, x);
    qsort(x->met, (size_t)x->nmet, sizeof *x->met, by_name);
    return true;
}

/* ---- clocks ---- */

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t earlier(int64_t a, int64_t b) { return a < b ? a : b; }

/* The offsets of x that contradict none of the collectives of both: neither rank knows that all
 * have begun it before the other one has, nor ends it before the other one's data go out. False
 * where there is none, or they have had different ones. */
static bool bounds(const part *first, const part *x, int64_t *lo, int64_t *hi) {
    *lo = -LONGEST, *hi = LONGEST;
    if (!x->nmet || x->nmet != first->nmet) return false;
    for (int i = 0; i < x->nmet; i++) {
        const meeting *a = &first->met[i], *b = &x->met[i];
        if (a->name != b->name || a->on_host != b->on_host) return false;
        *lo = later(*lo, a->t0 - b->met);
        *hi = earlier(*hi, a->met - b->t0);
        if (!a->all_to_all || !b->all_to_all) continue;
        *lo = later(*lo, a->met - b->t1);
        *hi = earlier(*hi, a->t1 - b->met);
    }
    return *lo <= *hi;
}

/* Sets the offsets, and says how. Clocks that may agree do: those of one machine. */
static void align(part *x, int n, char *text, size_t size) {
    int64_t error = 0;
    bool found = true;
    for (int i = 1; i < n && found; i++) {
        int64_t lo, hi;
        found = bounds(&x[0], &x[i], &lo, &hi);
        if (!found) break;
        bool agree = lo <= 0 && hi >= 0;
        x[i].offset = agree ? 0 : lo + (hi - lo) / 2;
        int64_t most = hi - x[i].offset > x[i].offset - lo ? hi - x[i].offset : x[i].offset - lo;
        if (most > error) error = most;
    }
    if (found) {
        snprintf(text, size, "the ranks' clocks agree within %.1f us, by %d collectives",
                 (double)error * 1e-3, x[0].nmet);
        return;
    }
    for (int i = 0; i < n; i++) x[i].offset = x[0].t0 - x[i].t0;
    snprintf(text, size,
             "each rank begins with the first, since they have no collectives, or other ones, by "
             "which clocks could be compared");
}

/* ---- joining ---- */

static uint64_t moved(uint64_t t, int64_t by) { return (uint64_t)((int64_t)t + by); }

/* Moves the events of a rank in time, and its ids behind *ids, which becomes the largest. */
static bool move(gp_track *t, int rank, int64_t by, uint64_t *ids) {
    uint64_t before = *ids;
    for (; t; t = t->next) {
        gp_cursor at = gp_first(t);
        for (gp_rec *r; t->rank == rank && (r = gp_next(&at));) {
            if ((int64_t)r->t0 + by <= 0)
                return gp_fail("profile.load: times that are too far apart");
            r->t0 = moved(r->t0, by);
            if (r->t1) r->t1 = moved(r->t1, by);
            if (!r->id || r->kind == GP_REC_ALLOC) continue;
            r->id = r->id < (uint64_t)LONGEST ? r->id + before : 0;
            if (r->id > *ids) *ids = r->id;
        }
    }
    return true;
}

/* Moves what the rank's streams wait for likewise. */
static void move_orders(gp_prof *p, const part *x, int64_t by, uint64_t before) {
    for (int i = x->orders; i < x->last_order; i++) {
        gp_stream_order *o = &p->orders[i];
        o->t = moved(o->t, by);
        if (o->after) o->after += before;
        if (o->id) o->id += before;
    }
}

static bool merge_all(gp_prof *p, part *x, int n) {
    int64_t first = INT64_MAX, done = INT64_MIN, last = INT64_MIN;
    for (int i = 0; i < n; i++) {
        if (x[i].t0 + x[i].offset < first) first = x[i].t0 + x[i].offset;
        if (x[i].done + x[i].offset > done) done = x[i].done + x[i].offset;
        if (x[i].t1 + x[i].offset > last) last = x[i].t1 + x[i].offset;
    }
    if (last - first > LONGEST) return gp_fail("profile.load: times that are too far apart");
    uint64_t ids = 0;
    for (int i = 0; i < n; i++) {
        int64_t by = x[i].offset - first + START;
        uint64_t host = ids, device = ids;
        if (!move(p->host, x[i].rank, by, &host) || !move(p->workers, x[i].rank, by, &device))
            return false;
        move_orders(p, &x[i], by, ids);
        ids = host > device ? host : device;
    }
    p->t0 = START;
    p->done = moved(START, done - first);
    p->t1 = moved(START, last - first);
    return true;
}

/* Reads one rank's file into p, to which the sums of those before it are given back. */
static bool read_part(gp_json *j, gp_prof *p, part *x, const part *before, int n) {
    gp_prof sum = *p;
    p->rank = -1;
    p->how = p->predicted = p->accuracy = p->modelled = p->at_least = NULL;
    if (!gp_load_own(j, p, true) || !gp_json_done(j)) return false;
    *x = (part){p->rank, (int64_t)p->t0, (int64_t)p->done, (int64_t)p->t1, .call = NULL};
    x->orders = sum.norders, x->last_order = p->norders;
    for (int i = 0; i < n; i++)
        if (before[i].rank == x->rank) return gp_json_fail(j, "rank %d for a second time", x->rank);
    if (x->t1 > LONGEST) return gp_json_fail(j, "times that are too far apart");
    p->dropped += sum.dropped, p->lost += sum.lost, p->others += sum.others;
    if (p->starved < sum.starved) p->starved = sum.starved;
    if (p->usual < sum.usual) p->usual = sum.usual;
    if (p->beside < sum.beside) p->beside = sum.beside;
    if (p->frames < sum.frames) p->frames = sum.frames;
    p->opts.stack |= sum.opts.stack; /* both 0 or GP_STACK_DEPTH */
    p->opts.memory |= sum.opts.memory;
    p->opts.shapes |= sum.opts.shapes, p->opts.flops |= sum.opts.flops;
    if (n) p->started = sum.started, p->cost_begin = sum.cost_begin, p->cost_end = sum.cost_end;
    if (!p->modelled) p->modelled = sum.modelled;
    if (!p->at_least) p->at_least = sum.at_least;
    if (!p->predicted) p->predicted = sum.predicted, p->accuracy = sum.accuracy;
    return true;
}

static bool describe(gp_prof *p, const gp_json *j, int n, const char *clocks) {
    char text[700], file[300];
    snprintf(text, sizeof text, "%d of %d ranks, from %s and %d more; %s", n, p->size,
             gp_safe_text(j[0].file, file, sizeof file), n - 1, clocks);
    p->how = gp_intern_add(p->names, text, strlen(text));
    p->ranks = n;
    p->rank = 0;
    return p->how || gp_fail("profile.load: out of memory");
}

static int by_rank(const void *a, const void *b) {
    return ((const part *)a)->rank - ((const part *)b)->rank;
}

bool gp_load_own_ranks(gp_json *j, int n, gp_prof *p) {
    part *x = calloc((size_t)n, sizeof *x);
    char clocks[200];
    bool ok = true;
    if (!x) return gp_fail("profile.load: out of memory");
    for (int i = 0; ok && i < n; i++) ok = read_part(&j[i], p, &x[i], x, i);
    if (ok) qsort(x, (size_t)n, sizeof *x, by_rank);
    for (int i = 0; ok && i < n; i++) ok = find_meetings(p, &x[i]);
    if (ok) align(x, n, clocks, sizeof clocks);
    ok = ok && merge_all(p, x, n) && describe(p, j, n, clocks);
    for (int i = 0; i < n; i++) free(x[i].call), free(x[i].met);
    free(x);
    return ok;
}
