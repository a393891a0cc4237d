/* Aggregates the record: events into a tree by time, the tree into rows. */
#include "profile/show/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/show/usage.h"

/* A host event in the tree. Children have larger indices than their parents. */
typedef struct node {
    const gp_rec *rec;
    int parent; /* -1: none */
    int row, rank;
    uint64_t t1;
    bool over;
    int64_t self[2], total[2], self_mem[2], mem[2];
} node;

enum { DEPTH = 256, SPECIAL = 8 }; /* SPECIAL: rows of no event, at most */

/* Walks the host's events in the order in which they began. The time between two boundaries (a
 * begin, an end, a switch of coroutines) belongs to the current event; recording's own cost, at
 * boundaries outside the events, to the profiler. */
typedef struct sweep {
    const gp_prof *p;
    node *node;
    int n, open[DEPTH], depth; /* open: begun and not ended, of every coroutine */
    int now;                   /* the current event, -1: none */
    uint64_t last, cost;       /* the last boundary; recording's cost after it */
    node loose;                /* time outside all events */
    int64_t profiler, elsewhere, before, copies, beside;
    int rank, mains, others;
    const char *kind;
    uint64_t seen; /* events */
    bool stopped;  /* by Ctrl-C */
} sweep;

static node *top(sweep *s) { return s->now >= 0 ? &s->node[s->now] : &s->loose; }

/* Charges the time since the last boundary to the current event; recording's cost on either side of
 * it, at most all of it, to the profiler. */
static void boundary(sweep *s, uint64_t t, uint64_t cost_before, uint64_t cost_after) {
    uint64_t dt = t > s->last ? t - s->last : 0, own = s->cost + cost_before;
    if (own > dt) own = dt;
    s->profiler += (int64_t)own;
    top(s)->self[GP_CPU] += (int64_t)(dt - own);
    if (t > s->last) s->last = t;
    s->cost = cost_after;
}

/* Ends the open events that are over at time t, the earliest first. Regions of coroutines need not
 * be nested, hence the search. The nearest enclosing open event then becomes current. */
static void close_until(sweep *s, uint64_t t) {
    while (s->depth) {
        int first = s->depth - 1;
        for (int i = first - 1; i >= 0; i--)
            if (s->node[s->open[i]].t1 < s->node[s->open[first]].t1) first = i;
        node *nd = &s->node[s->open[first]];
        if (nd->t1 > t) return;
        boundary(s, nd->t1, 0, s->p->cost_end);
        nd->over = true;
        memmove(&s->open[first], &s->open[first + 1],
                (size_t)(s->depth - first - 1) * sizeof *s->open);
        s->depth--;
        while (s->now >= 0 && s->node[s->now].over) s->now = s->node[s->now].parent;
    }
}

/* Switches to a coroutine whose events are in region `in`; within an open op, to the op. */
static void switch_to(sweep *s, const gp_rec *r) {
    int i = s->depth - 1;
    boundary(s, r->t0, 0, 0);
    while (i >= 0 && s->node[s->open[i]].rec->kind == GP_REC_REGION &&
           s->node[s->open[i]].rec != r->where)
        i--;
    s->now = i >= 0 ? s->open[i] : -1;
}

/* Opens r at its beginning. Deeper than DEPTH, time counts for the enclosing event. */
static void enter(sweep *s, const gp_rec *r) {
    uint64_t before = r->kind == GP_REC_WAIT ? 0 : s->p->cost_begin;
    boundary(s, r->t0, before, 0);
    uint64_t t1 = gp_rec_end(s->p, r);
    s->node[s->n] = (node){
        .rec = r, .parent = s->now, .rank = s->rank, .t1 = t1 < s->p->done ? t1 : s->p->done};
    if (s->depth < DEPTH) s->now = s->open[s->depth++] = s->n;
    s->n++;
}

/* A sample is a node that divide() gives time to; what taking it cost comes after it. */
static void note_sample(sweep *s, const gp_rec *r) {
    boundary(s, r->t0, 0, gp_rec_end(s->p, r) - r->t0);
    s->node[s->n++] = (node){.rec = r, .parent = s->now, .rank = s->rank};
}

static void note_memory(sweep *s, const gp_rec *r) {
    const gp_device *dev = r->where;
    top(s)->self_mem[dev->vt->on_host ? GP_CPU : GP_DEV] += r->bytes;
}

/* One pass over the events of a host's thread, in the order of their beginning. */
static void sweep_thread(sweep *s, const gp_track *t) {
    gp_cursor at = gp_first(t);
    s->last = s->p->t0;
    s->now = -1;
    s->rank = t->rank;
    for (gp_rec *r; (r = gp_next(&at));) {
        if (s->stopped || (s->stopped = gp_prof_stops(++s->seen))) return;
        if (r->t0 > s->p->done || r->kind == GP_REC_READ) continue;
        close_until(s, r->t0);
        if (r->kind == GP_REC_ALLOC) note_memory(s, r);
        else if (r->kind == GP_REC_SWITCH) switch_to(s, r);
        else if (r->kind == GP_REC_SAMPLE) note_sample(s, r);
        else enter(s, r);
    }
    close_until(s, s->p->done);
    boundary(s, s->p->done, 0, 0);
}

/* Threads of the host: the first of each rank has the wall time, and others only the time of their
 * events, which ran beside it. */
static void sweep_host(sweep *s) {
    for (const gp_track *t = s->p->host, *first; t; t = t->next) {
        int64_t before = s->loose.self[GP_CPU];
        sweep_thread(s, t);
        for (first = s->p->host; first->rank != t->rank;) first = first->next;
        s->mains += first == t;
        if (first == t) continue;
        s->others++;
        s->beside += (int64_t)(s->p->done - s->p->t0) - (s->loose.self[GP_CPU] - before);
        s->loose.self[GP_CPU] = before;
    }
}

/* The node with that id, or NULL; ids increase. *from: where to search
 * first. */
static node *by_id(sweep *s, const int *ids, int n, uint64_t id, int *from) {
    int lo = 0, hi = n;
    if (*from < n && s->node[ids[*from]].rec->id == id) lo = *from, hi = lo + 1;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        uint64_t at = s->node[ids[mid]].rec->id;
        if (at == id) return *from = mid + 1, &s->node[ids[mid]];
        if (at < id) lo = mid + 1;
        else hi = mid;
    }
    return NULL;
}

/* Ids of one thread's events increase, those of several are mixed. */
static int by_own_id(const void *a, const void *b, void *s) {
    const node *nodes = ((sweep *)s)->node;
    uint64_t x = nodes[*(const int *)a].rec->id, y = nodes[*(const int *)b].rec->id;
    return x < y ? -1 : x > y;
}

/* Whether the event is a call of the runtime, which works for the op around it. */
static bool is_call(const gp_rec *r) {
    return r->kind == GP_REC_CALL || (r->kind == GP_REC_WAIT && r->id);
}

/* The op or region that queued the work of nd, a call; nd itself where none is around it. */
static node *op_of(sweep *s, node *nd) {
    while (nd && is_call(nd->rec) && nd->parent >= 0) nd = &s->node[nd->parent];
    return nd;
}

/* nd: the host's event that queued it, or NULL if none was recorded. */
static void add_device(sweep *s, const gp_rec *r, node *nd) {
    int64_t ns = (int64_t)(r->t1 - r->t0);
    const gp_device *dev = ((gp_stream *)r->where)->dev;
    const char *kind = dev->vt->kind; /* the cpu's own are the host's */
    if (dev->vt->on_host) kind = gp_rec_runs_on_host(r) && s->p->foreign ? "comm" : "fork";
    s->kind = !s->kind || !strcmp(s->kind, kind) ? kind : "device";
    if (r->kind == GP_REC_MOVED) s->copies += ns;
    if (nd) nd->self[GP_DEV] += ns;
    else s->elsewhere += ns;
}

/* Of another program's work that nothing queued, what was queued before the record. */
static bool find_before(sweep *s) {
    if (!s->p->foreign || !s->elsewhere) return true;
    gp_usage *u = gp_usage_new(s->p);
    if (!u) return false;
    s->before = (int64_t)gp_usage_before(u);
    s->elsewhere -= s->before;
    gp_usage_free(u);
    return true;
}

/* Joins the devices' activity with the events that queued it. */
static bool join(sweep *s) {
    int *ids = malloc(((size_t)s->n + 1) * sizeof *ids), n = 0;
    if (!ids) return false;
    for (int i = 0; i < s->n; i++)
        if (s->node[i].rec->id) ids[n++] = i;
    if (s->p->host->next && !s->p->foreign) qsort_r(ids, (size_t)n, sizeof *ids, by_own_id, s);
    for (const gp_track *t = s->p->workers; t; t = t->next) {
        gp_cursor at = gp_first(t);
        int from = 0;
        for (gp_rec *r; (r = gp_next(&at));) {
            if (gp_prof_stops(++s->seen)) return free(ids), false;
            if (gp_rec_is_work(r)) add_device(s, r, op_of(s, by_id(s, ids, n, r->id, &from)));
            if (r->kind == GP_REC_ALLOC)
                s->loose.self_mem[((gp_device *)r->where)->vt->on_host ? GP_CPU : GP_DEV] +=
                    r->bytes;
        }
    }
    free(ids);
    return find_before(s);
}

/* Adds up totals: children come after their parents, so one pass from the end suffices. */
static void add_totals(sweep *s) {
    for (int i = s->n - 1; i >= 0; i--) {
        node *nd = &s->node[i];
        node *up = nd->parent >= 0 ? &s->node[nd->parent] : &(node){0};
        for (int d = 0; d < 2; d++) {
            nd->total[d] += nd->self[d];
            nd->mem[d] += nd->self_mem[d];
            up->total[d] += nd->total[d];
            up->mem[d] += nd->mem[d];
        }
    }
}

/* ---- rows ---- */

typedef struct key {
    const void *a, *b;
    uint64_t c;
} key;

/* The innermost region around node i, itself included; -1: none. */
static int region_of(const sweep *s, int i) {
    while (i >= 0 && s->node[i].rec->kind != GP_REC_REGION) i = s->node[i].parent;
    return i;
}

/* The key of an event's row: events with equal keys share one. Texts are interned: equal ones have
 * equal addresses. */
static key key_of(const gp_rec *r, int rank, gp_group_by group) {
    uint64_t kind = r->kind | (uint64_t)r->inplace << 8;
    switch (group) {
    case GP_BY_LINE: return (key){r->file, NULL, r->file ? (uint64_t)r->line : 0};
    case GP_BY_SHAPE: return (key){r->name, gp_rec_op_shapes(r), kind};
    case GP_BY_RANK: return (key){NULL, NULL, (uint64_t)rank};
    case GP_BY_MODULE: return (key){r->stack ? r->stack->module : NULL, NULL, 0};
    case GP_BY_STACK: return (key){r->name, r->stack, kind};
    default: return (key){r->name, NULL, kind};
    }
}

typedef struct table {
    int *slot; /* 1 + row; a power of two of them */
    int slots, capacity;
    key *keys;
    gp_rows *rows;
} table;

/* The slot of k, or a free one: linear probing, the table is at most half full. */
static size_t find(const table *t, key k) {
    uint64_t h = ((uint64_t)(uintptr_t)k.a * 31 + (uint64_t)(uintptr_t)k.b) * 31 + k.c;
    size_t mask = (size_t)t->slots - 1, at = (size_t)(h * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (t->slot[at]) {
        const key *have = &t->keys[t->slot[at] - 1];
        if (have->a == k.a && have->b == k.b && have->c == k.c) break;
        at = (at + 1) & mask;
    }
    return at;
}

/* Grows the rows for another one and the special ones. */
static bool grow(table *t) {
    int capacity = t->capacity ? t->capacity * 2 : 64;
    gp_row *row = realloc(t->rows->row, ((size_t)capacity + SPECIAL) * sizeof *row);
    if (row) t->rows->row = row;
    key *keys = realloc(t->keys, (size_t)capacity * sizeof *keys);
    if (keys) t->keys = keys;
    int *slot = calloc((size_t)capacity * 2, sizeof *slot);
    if (!row || !keys || !slot) return free(slot), false;
    free(t->slot);
    t->slot = slot;
    t->capacity = capacity;
    t->slots = capacity * 2;
    for (int i = 0; i < t->rows->n; i++) t->slot[find(t, t->keys[i])] = i + 1;
    return true;
}

/* The row of key k, made on demand; -1: no memory. */
static int row_for(table *t, key k, const gp_rec *rec) {
    if (t->rows->n >= t->capacity && !grow(t)) return -1;
    size_t at = find(t, k);
    if (!t->slot[at]) {
        t->keys[t->rows->n] = k;
        t->rows->row[t->rows->n] =
            (gp_row){.special = rec ? GP_ROW_EVENTS : GP_ROW_NO_REGION, .rec = rec};
        t->slot[at] = ++t->rows->n;
    }
    return t->slot[at] - 1;
}

/* Whether an event is inside another of its row (recursion), and must not count twice in the
 * total. */
static bool inside_itself(const sweep *s, const node *nd) {
    for (int i = nd->parent; i >= 0; i = s->node[i].parent)
        if (s->node[i].row == nd->row) return true;
    return false;
}

static void add_cost(const sweep *s, const gp_rec *r, gp_row *row) {
    if (!s->p->opts.flops) return;
    bool costs = r->kind == GP_REC_OP && r->cost;
    if (costs) row->ops += r->cost->ops, row->moved += r->cost->bytes;
    if (costs && s->p->card) row->bound += gp_card_bound(s->p->card, r->cost);
    if (r->kind == GP_REC_COPY) row->moved += (double)r->bytes;
}

double gp_row_rate(const gp_row *row, double amount) {
    int64_t ns = row->self[GP_DEV] > 0 ? row->self[GP_DEV] : row->self[GP_CPU];
    return ns > 0 ? amount * 1e9 / (double)ns : 0;
}

double gp_row_roofline(const gp_row *row) { return gp_row_rate(row, row->bound) * 1e-9; }

/* counts: whether nd is what the row counts, not only a part of it (of a region's). */
static void add_node(const sweep *s, const node *nd, gp_row *row, bool counts) {
    add_cost(s, nd->rec, row);
    for (int d = 0; d < 2; d++) row->self[d] += nd->self[d], row->self_mem[d] += nd->self_mem[d];
    if (!counts) return;
    row->calls++;
    if (inside_itself(s, nd)) return;
    for (int d = 0; d < 2; d++) row->total[d] += nd->total[d], row->mem[d] += nd->mem[d];
}

/* Makes rows in the order in which they first occur; the special ones follow. */
static bool make_rows(sweep *s, table *t) {
    gp_group_by group = t->rows->group;
    for (int i = 0; i < s->n; i++) {
        node *nd = &s->node[i];
        if (gp_prof_stops((uint64_t)i)) return false;
        if (nd->rec->kind == GP_REC_SAMPLE) continue;
        int from = group == GP_BY_REGION ? region_of(s, i) : i;
        const gp_rec *rec = from < 0 ? NULL : s->node[from].rec;
        nd->row = row_for(t, rec ? key_of(rec, nd->rank, group) : (key){NULL, NULL, 0}, rec);
        if (nd->row < 0) return false;
        t->rows->row[nd->row].rank = nd->rank;
        add_node(s, nd, &t->rows->row[nd->row], from == i || from < 0);
    }
    return true;
}

/* Rows of what devices did, by kernel; all of the host's time is unattributed. */
static bool make_kernel_rows(sweep *s, gp_rows *rows) {
    for (int i = 0; i < s->n; i++) s->loose.self[GP_CPU] += s->node[i].self[GP_CPU];
    s->elsewhere = s->before = 0;
    return gp_kernel_rows(s->p, rows, SPECIAL);
}

/* ---- the script's own time ---- */

/* The host time outside of ops and waits that one row of regions has, or no region, and the periods
 * that its samples stand for. */
typedef struct pool {
    int64_t ns, periods;
} pool;

/* The pool that a sample divides, 0: outside of all regions; -1: it was taken within an op. */
static int pool_of(const sweep *s, const node *nd) {
    if (nd->parent < 0) return 0;
    const node *up = &s->node[nd->parent];
    return up->rec->kind == GP_REC_REGION ? up->row + 1 : -1;
}

/* Gives a sample its part of the pool: its periods, and less where the samples stand for more than
 * there is. */
static bool give(sweep *s, table *t, node *nd, int at, pool *from) {
    int64_t periods = nd->rec->bytes, most = periods * (int64_t)s->p->period;
    int64_t ns = (int64_t)((double)from->ns * (double)periods / (double)from->periods);
    if (ns > most) ns = most;
    nd->row = row_for(t, key_of(nd->rec, nd->rank, t->rows->group), nd->rec);
    if (nd->row < 0) return false;
    from->ns -= ns, from->periods -= periods;
    gp_row *row = &t->rows->row[nd->row];
    row->samples += (uint64_t)periods;
    row->self[GP_CPU] += ns;
    if (!inside_itself(s, nd)) row->total[GP_CPU] += ns;
    if (at) t->rows->row[at - 1].self[GP_CPU] -= ns;
    else s->loose.self[GP_CPU] -= ns;
    return true;
}

/* Divides the script's own time, of regions and outside of them, by the samples of it. What they do
 * not cover stays there. */
static bool divide(sweep *s, table *t) {
    gp_group_by group = t->rows->group;
    int n = t->rows->n + 1;
    pool *pools = calloc((size_t)n, sizeof *pools);
    bool ok = pools != NULL;
    for (int i = 0; ok && i < s->n; i++) {
        const node *nd = &s->node[i];
        int at = nd->rec->kind == GP_REC_SAMPLE ? pool_of(s, nd) : -1;
        if (nd->rec->kind == GP_REC_REGION) pools[nd->row + 1].ns += nd->self[GP_CPU];
        if (at >= 0) pools[at].periods += nd->rec->bytes;
        if (at >= 0) t->rows->samples += (uint64_t)nd->rec->bytes;
    }
    if (ok) pools[0].ns = s->loose.self[GP_CPU];
    for (int i = 0; ok && i < s->n && group != GP_BY_REGION && group != GP_BY_RANK; i++) {
        node *nd = &s->node[i];
        int at = nd->rec->kind == GP_REC_SAMPLE ? pool_of(s, nd) : -1;
        if (at >= 0) ok = give(s, t, nd, at, &pools[at]);
    }
    free(pools);
    return ok;
}

/* Adds a row that no event belongs to, so that rows add up to the wall time. */
static void special(gp_rows *r, gp_special which, const node *nd) {
    gp_row *row = &r->row[r->n++];
    *row = (gp_row){.special = which};
    for (int d = 0; d < 2; d++) {
        row->self[d] = row->total[d] = nd->self[d];
        row->self_mem[d] = row->mem[d] = nd->self_mem[d];
    }
}

/* Adds the special rows and the sums for a table's footer. */
static void finish(sweep *s, gp_rows *r) {
    int64_t drained = s->mains * (int64_t)(s->p->t1 - s->p->done);
    if (drained) special(r, GP_ROW_DRAINED, &(node){.self = {drained, 0}});
    gp_special lost = s->p->foreign ? GP_ROW_UNKNOWN : GP_ROW_ELSEWHERE;
    if (s->before) special(r, GP_ROW_BEFORE, &(node){.self = {0, s->before}});
    if (s->elsewhere) special(r, lost, &(node){.self = {0, s->elsewhere}});
    if (s->profiler || !s->p->foreign)
        special(r, GP_ROW_PROFILER, &(node){.self = {s->profiler, 0}});
    special(r, GP_ROW_UNATTRIBUTED, &s->loose);
    r->wall = s->mains * (int64_t)(s->p->t1 - s->p->t0) + s->beside;
    r->beside = s->beside;
    r->mains = s->mains;
    r->others = s->others;
    r->copies = s->copies;
    r->kind = s->kind;
    r->memory = s->p->opts.memory;
    r->flops = s->p->opts.flops;
    r->roofline = r->flops && s->p->card && s->kind;
    for (int i = 0; i < r->n; i++) r->busy += r->row[i].self[GP_DEV];
}

static int count(const gp_track *t) {
    int n = 0;
    for (; t; t = t->next)
        for (const gp_chunk *c = t->first; c; c = c->next) n += c->n;
    return n;
}

gp_rows *gp_rows_new(const gp_prof *p, gp_group_by group) {
    if (group == GP_BY_SHAPE && !p->opts.shapes)
        return gp_prof_fail_lacking(p, "group = \"shape\"", "shapes", "shapes = true",
                                    "record_shapes=True");
    bool by_stack = group == GP_BY_STACK || group == GP_BY_MODULE;
    if (by_stack && !p->opts.stack)
        return gp_prof_fail_lacking(
            p, group == GP_BY_STACK ? "group = \"stack\"" : "group = \"module\"", "stacks",
            "stack = true", "with_stack=True");
    sweep *s = calloc(1, sizeof *s);
    gp_rows *r = calloc(1, sizeof *r);
    table t = {.rows = r};
    bool ok = s && r;
    if (ok) {
        s->p = p;
        r->group = group;
        ok = (s->node = malloc(((size_t)count(p->host) + 1) * sizeof *s->node)) && grow(&t);
    }
    if (ok) {
        sweep_host(s);
        ok = !s->stopped && join(s);
    }
    if (ok) {
        add_totals(s);
        if (group == GP_BY_KERNEL) ok = make_kernel_rows(s, r);
        else ok = make_rows(s, &t) && (!p->period || divide(s, &t));
    }
    if (ok) finish(s, r);
    free(t.keys);
    free(t.slot);
    if (s) free(s->node);
    free(s);
    if (!ok) return gp_rows_free(r), gp_prof_fail("profile"), NULL;
    return r;
}

void gp_rows_free(gp_rows *r) {
    if (r) free(r->row);
    free(r);
}
