/* Divides the host's time among its ops: those that queue work for a device, those that it computes
 * itself, a loader's batches, and the script around them. A first pass over each thread finds out
 * which ops enclose one that queues work, a second one notes the changes. */
#include "profile/replay/host.h"

#include <stdlib.h>
#include <string.h>

#include "profile/replay/timeline.h"

/* An event of a thread that can be open. */
typedef struct entry {
    const gp_rec *rec;
    uint64_t end;
    int up;                /* the one around it; -1: none */
    bool queues, encloses; /* it queued work; or one within it did */
    bool loader;           /* it is a loader's, or within one of those */
} entry;

/* At t a thread went from one part to another. */
typedef struct change {
    uint64_t t;
    const gp_rec *rec;
    gp_part from, to;
    bool computes;
    int order; /* of changes at one time */
} change;

typedef struct builder {
    const gp_timeline *t;
    const gp_queueing *by;
    entry *entry; /* of one thread at a time */
    change *change;
    int n, nchanges;
    bool has_ops;
} builder;

static bool opens(const gp_rec *r) {
    if (r->kind == GP_REC_REGION) return gp_is_take(r) || !strcmp(r->name, GP_LOADER_MAKE);
    bool queues = r->kind == GP_REC_COPY && r->t1 > r->t0; /* the host's time is counted */
    return r->kind == GP_REC_OP || r->kind == GP_REC_CALL || queues;
}

static int by_time(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->rec->t0 != y->rec->t0) return x->rec->t0 < y->rec->t0 ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    return x->rec < y->rec ? -1 : x->rec > y->rec;
}

static bool queued(const gp_queueing *by, const gp_rec *r) {
    int i = r->id ? gp_event_by_id(by->event, by->n, r->id) : -1;
    return i >= 0 && by->queues[i];
}

static void gather(builder *b, const gp_track *track) {
    gp_at at = gp_first(track);
    b->n = 0;
    for (gp_rec *r; (r = gp_next(&at));)
        if (opens(r))
            b->entry[b->n++] = (entry){.rec = r,
                                       .end = gp_rec_end(b->t->p, r),
                                       .up = -1,
                                       .queues = queued(b->by, r),
                                       .loader = r->kind == GP_REC_REGION};
    qsort(b->entry, (size_t)b->n, sizeof *b->entry, by_time);
}

/* How long the host was in `part` from `from` to `to`, after step i, up to which it was in now. */
static uint64_t time_in(const gp_timeline *t, gp_part part, gp_part now, int i, uint64_t from,
                        uint64_t to) {
    uint64_t at = from, ns = 0;
    while (at < to) {
        const gp_step_at *s = ++i < t->nsteps ? &t->step[i] : NULL;
        uint64_t until = s && s->t < to ? s->t : to;
        if (until > at && now == part) ns += until - at;
        if (until > at) at = until;
        if (s && s->kind == GP_STEP_OWNER) now = s->part;
        if (s && s->t1 > at) at = s->t1;
    }
    return ns;
}

void gp_timeline_read_calls(gp_timeline *t) {
    gp_part now = GP_PART_SCRIPT;
    for (int i = 0; i < t->nsteps; i++) {
        const gp_step_at *s = &t->step[i];
        if (s->kind == GP_STEP_OWNER) now = s->part;
        if (s->kind != GP_STEP_LAUNCH) continue;
        gp_command *c = &t->command[s->command];
        if (!c->host) continue;
        c->sets_up = gp_sets_up(t, c->host);
        uint64_t to = gp_rec_end(t->p, c->host);
        if (to > c->rec->t0) to = c->rec->t0;
        c->calling = time_in(t, c->sets_up ? GP_PART_SETUP : GP_PART_LAUNCH, now, i, c->launch, to);
    }
}

/* The innermost event that is open at t, from `last`, which was so before. */
static int open_at(const builder *b, int last, uint64_t t) {
    while (last >= 0 && b->entry[last].end <= t) last = b->entry[last].up;
    return last;
}

static void find_enclosing(builder *b) {
    int last = -1;
    for (int i = 0; i < b->n; i++) {
        entry *e = &b->entry[i];
        e->up = last = open_at(b, last, e->rec->t0);
        if (last >= 0) e->loader |= b->entry[last].loader;
        last = i;
        if (!e->queues) continue;
        for (int up = i; up >= 0 && !b->entry[up].encloses; up = b->entry[up].up)
            b->entry[up].encloses = true;
    }
}

bool gp_sets_up(const gp_timeline *t, const gp_rec *call) {
    uint64_t end = gp_rec_end(t->p, call), ns = end - call->t0;
    return call->kind == GP_REC_CALL && ns >= GP_SETUP_NS &&
           2 * gp_timeline_idle(t, call->t0, end) > ns;
}

static gp_part part_of(const builder *b, int i) {
    const entry *e = i < 0 ? NULL : &b->entry[i];
    if (!e) return GP_PART_SCRIPT;
    if (e->loader) return GP_PART_LOADER;
    if (e->rec->kind == GP_REC_COPY) return GP_PART_LAUNCH;
    if (e->rec->kind == GP_REC_CALL)
        return gp_sets_up(b->t, e->rec) ? GP_PART_SETUP : GP_PART_LAUNCH;
    bool quick = b->t->ncommands && e->end - e->rec->t0 < GP_CPU_OP_NS;
    return e->encloses || quick ? GP_PART_LAUNCH : GP_PART_CPU;
}

/* From t on the innermost open event of the thread is `to`, where it was `from`. */
static void go_on(builder *b, uint64_t t, int from, int to) {
    gp_part part = part_of(b, to);
    int named = to; /* a launch says less than the op that it is in */
    while (part == GP_PART_LAUNCH && b->entry[named].rec->kind != GP_REC_OP &&
           b->entry[named].up >= 0)
        named = b->entry[named].up;
    const entry *e = to < 0 ? NULL : &b->entry[named];
    b->change[b->nchanges] =
        (change){.t = t,
                 .rec = e ? e->rec : NULL,
                 .from = part_of(b, from),
                 .to = part,
                 .computes = e && e->rec->kind == GP_REC_OP && !e->queues && !b->t->p->foreign,
                 .order = b->nchanges};
    b->nchanges++;
}

/* Ends what is over at t; returns the innermost event that is still open. */
static int close_until(builder *b, int last, uint64_t t) {
    while (last >= 0 && b->entry[last].end <= t) {
        uint64_t end = b->entry[last].end;
        int to = open_at(b, last, end);
        go_on(b, end, last, to);
        last = to;
    }
    return last;
}

/* Each event opens once and closes at most once: two changes. */
static void add_thread(builder *b, const gp_track *track) {
    int last = -1;
    gather(b, track);
    find_enclosing(b);
    for (int i = 0; i < b->n; i++) {
        last = close_until(b, last, b->entry[i].rec->t0);
        go_on(b, b->entry[i].rec->t0, last, i);
        last = i;
    }
    close_until(b, last, UINT64_MAX);
}

static int compare_changes(const void *a, const void *b) {
    const change *x = a, *y = b;
    if (x->t != y->t) return x->t < y->t ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static gp_part first_of(const builder *b, const int *threads) {
    static const gp_part order[] = {GP_PART_LOADER, GP_PART_SETUP, GP_PART_LAUNCH, GP_PART_CPU};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (threads[order[i]] > 0) return order[i];
    return b->has_ops ? GP_PART_SCRIPT : GP_PART_LAUNCH;
}

/* Puts the threads' changes in the order of time; returns how many parts they make. */
static int merge(builder *b, gp_host_part *part) {
    int threads[GP_PARTS] = {0}, n = 0;
    qsort(b->change, (size_t)b->nchanges, sizeof *b->change, compare_changes);
    for (int i = 0; i < b->nchanges; i++) {
        const change *c = &b->change[i];
        threads[c->from]--, threads[c->to]++;
        gp_host_part now = {c->t, c->rec, first_of(b, threads), c->computes};
        const gp_host_part *last = n ? &part[n - 1] : NULL;
        if (now.part != c->to) /* another thread's */
            now.rec = last && last->part == now.part ? last->rec : NULL, now.computes = false;
        if (!last || last->part != now.part || last->rec != now.rec) part[n++] = now;
    }
    return n;
}

gp_host_part *gp_host_parts(const gp_timeline *t, const gp_queueing *by, int *n) {
    size_t most = 1;
    builder b = {.t = t, .by = by, .has_ops = !t->p->foreign};
    for (int i = 0; i < t->nhost; i++) b.has_ops |= t->host[i]->kind == GP_REC_OP;
    for (const gp_track *track = t->p->host; track; track = track->next)
        for (gp_at at = gp_first(track); gp_next(&at);) most++;
    b.entry = malloc(most * sizeof *b.entry);
    b.change = malloc(2 * most * sizeof *b.change);
    gp_host_part *part = b.entry && b.change ? malloc(2 * most * sizeof *part) : NULL;
    for (const gp_track *track = part ? t->p->host : NULL; track; track = track->next) {
        if (!gp_timeline_has(t, track)) continue;
        add_thread(&b, track);
        if (!t->p->foreign) break;
    }
    *n = part ? merge(&b, part) : 0;
    free(b.entry);
    free(b.change);
    return part;
}
