/* Reads a record's dependencies: which event queued a command, what each command and each wait
 * waited for, and how long after that it went on. */
#include "profile/replay/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "profile/show/usage.h"
#include "tensor/base/sort.h"

/* A wait may end this long before a command's own report says so: clocks are a few us apart. */
enum { CLOCK_ERROR = 5000, AROUND = 256 };

/* A wait, and when it held up the host. */
typedef struct span {
    const gp_rec *rec;
    uint64_t t0, t1;
} span;

/* The host's events while the timeline is made. */
typedef struct builder {
    gp_timeline *t;
    const gp_rec **event; /* with ids, which increase */
    span *wait;           /* in the order of their ends */
    uint8_t *queues;      /* by event: what it queued, as gp_queueing, */
    bool *sets_up;        /* and is of GP_HOST_SETUP; */
    bool *fresh;          /* whether it queued something for the first time */
    int *last;            /* by stream: the last command that was queued so far; -1: none */
    gp_host_part *parts;  /* what the host did beside its waits */
    int nevents, nwaits, nparts, capacity;
    int launched, part; /* how many of the commands and parts are steps already */
    uint64_t at;        /* the host's time at the end of the last step */
} builder;

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }
static bool is_wait(const gp_rec *r) { return r->kind == GP_REC_WAIT; }
static bool has_id(const gp_rec *r) {
    return r->id && (r->kind == GP_REC_OP || r->kind == GP_REC_COPY || r->kind == GP_REC_CALL ||
                     r->kind == GP_REC_WAIT);
}
static bool is_any(const gp_rec *r) { return r; }

/* ---- events and waits of the host ---- */

static int by_time(const void *a, const void *b) {
    const gp_rec *x = *(const gp_rec *const *)a, *y = *(const gp_rec *const *)b;
    if (x->t0 != y->t0) return x->t0 < y->t0 ? -1 : 1;
    return x->t1 > y->t1 ? -1 : x->t1 < y->t1;
}

static int by_end(const void *a, const void *b) {
    const span *x = a, *y = b;
    if (x->t1 != y->t1) return x->t1 < y->t1 ? -1 : 1;
    return x->t0 < y->t0 ? -1 : x->t0 > y->t0;
}

/* Ids increase from thread to thread. */
static void gather_host(builder *b) {
    gp_timeline *t = b->t;
    for (const gp_track *track = t->p->host; track; track = track->next) {
        if (!gp_timeline_has(t, track)) continue;
        gp_cursor at = gp_first(track);
        for (gp_rec *r; (r = gp_next(&at));) {
            t->host[t->nhost++] = r;
            if (has_id(r)) b->event[b->nevents++] = r;
            if (is_wait(r)) b->wait[b->nwaits++] = (span){r, r->t0, gp_rec_end(t->p, r)};
        }
        if (!t->p->foreign) return;
    }
    gp_sort(t->host, (size_t)t->nhost, sizeof *t->host, by_time);
    gp_sort(b->wait, (size_t)b->nwaits, sizeof *b->wait, by_end);
}

/* The wait within which the host was at time t; NULL: none. */
static const gp_rec *wait_at(const builder *b, uint64_t t) {
    int lo = 0, hi = b->nwaits;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (b->wait[mid].t1 < t) lo = mid + 1;
        else hi = mid;
    }
    return lo < b->nwaits && b->wait[lo].t0 < t ? b->wait[lo].rec : NULL;
}

/* When the host had queued the last command before time t; 0: none. */
static uint64_t launch_before(const gp_timeline *t, uint64_t when) {
    int lo = 0, hi = t->ncommands;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (t->command[mid].launch < when) lo = mid + 1;
        else hi = mid;
    }
    return lo ? t->command[lo - 1].launch : 0;
}

/* While another thread went on, a wait did not hold up the program: it begins after what that
 * thread queued, or waited for. */
static void trim_waits(builder *b) {
    uint64_t before = 0;
    for (int i = 0; i < b->nwaits; i++) {
        span *w = &b->wait[i];
        w->t0 = most(w->t0, most(before, launch_before(b->t, w->t1)));
        before = w->t1;
    }
}

/* ---- commands ---- */

static int stream_of(gp_timeline *t, gp_stream *s) {
    for (int i = t->nstreams - 1; i >= 0; i--)
        if (t->stream[i] == s) return i;
    gp_stream **more = realloc(t->stream, ((size_t)t->nstreams + 1) * sizeof *more);
    if (!more) return -1;
    t->stream = more;
    t->stream[t->nstreams] = s;
    return t->nstreams++;
}

/* When the host had queued r: before the op ended, before r began, and not while the host waited;
 * by a call, when that began. UINT64_MAX: before the stream's next command, as far as is known. */
static uint64_t launched(const builder *b, const gp_rec *r, const gp_rec *host) {
    if (!host) return b->t->p->foreign ? UINT64_MAX : r->t0;
    if (host->kind == GP_REC_CALL || host->kind == GP_REC_WAIT) return host->t0;
    uint64_t at = most(host->t0, least(gp_rec_end(b->t->p, host), r->t0));
    const gp_rec *wait = b->t->p->foreign ? NULL : wait_at(b, at);
    return wait ? most(host->t0, wait->t0) : at;
}

/* The op that event e is, or within which it queued a copy: of the last AROUND events. */
static const gp_rec *op_of(const builder *b, int e) {
    const gp_rec *r = b->event[e];
    for (int i = e; i >= 0 && i > e - AROUND; i--)
        if (b->event[i]->kind == GP_REC_OP && gp_rec_end(b->t->p, b->event[i]) >= r->t0)
            return b->event[i];
    return NULL;
}

static bool gather_commands(builder *b) {
    gp_timeline *t = b->t;
    for (const gp_track *w = t->p->workers; w; w = w->next) {
        gp_cursor at = gp_first(w);
        for (gp_rec *r; gp_timeline_has(t, w) && (r = gp_next(&at));) {
            if (gp_prof_stops((uint64_t)t->ncommands)) return false;
            if (!gp_rec_is_work(r)) continue;
            gp_command *c = &t->command[t->ncommands++];
            int e = gp_event_by_id(b->event, b->nevents, r->id);
            *c = (gp_command){.rec = r, .previous = -1, .orders = -1, .after = -1, .meeting = -1};
            if (e >= 0) c->host = b->event[e], b->queues[e] |= gp_queued_where(r);
            if (e >= 0 && !t->p->foreign) c->op = op_of(b, e);
            c->launch = launched(b, r, c->host);
            if ((c->stream = stream_of(t, r->where)) < 0) return false;
            t->ended = most(t->ended, c->end = gp_rec_end(t->p, r));
        }
    }
    return true;
}

static int by_start(const void *a, const void *b) {
    const gp_command *x = a, *y = b;
    if (x->stream != y->stream) return x->stream < y->stream ? -1 : 1;
    return x->rec->t0 < y->rec->t0 ? -1 : x->rec->t0 > y->rec->t0;
}

static int by_launch(const void *a, const void *b) {
    const gp_command *x = a, *y = b;
    if (x->launch != y->launch) return x->launch < y->launch ? -1 : 1;
    return by_start(a, b);
}

/* A stream runs its commands in the order in which they were queued. */
static void order_launches(gp_timeline *t) {
    gp_command *c = t->command;
    gp_sort(c, (size_t)t->ncommands, sizeof *c, by_start);
    for (int i = 0; i < t->ncommands; i++)
        if (c[i].launch == UINT64_MAX)
            c[i].launch = i && c[i - 1].stream == c[i].stream ? c[i - 1].launch : t->p->t0;
    for (int i = t->ncommands - 2; i >= 0; i--)
        if (c[i].stream == c[i + 1].stream) c[i].launch = least(c[i].launch, c[i + 1].launch);
    gp_sort(c, (size_t)t->ncommands, sizeof *c, by_launch);
}

/* ---- gates ---- */

/* When c could have begun as far as each gate says; 0: it does not. */
static void gate_times(const gp_timeline *t, const gp_command *c, uint64_t at[GP_GATES]) {
    at[GP_GATE_LAUNCH] = c->launch;
    at[GP_GATE_STREAM] = c->previous < 0 ? 0 : t->command[c->previous].end;
    at[GP_GATE_ORDER] = c->after < 0 ? 0 : t->command[c->after].end;
}

/* Whether c was queued by a call that ended after what it followed had, and began after that: then
 * it waited for the call alone. */
static bool waited_for_call(const gp_timeline *t, const gp_command *c, uint64_t followed) {
    uint64_t end = c->host && c->host->kind == GP_REC_CALL ? gp_rec_end(t->p, c->host) : 0;
    return followed < end && end <= c->rec->t0;
}

static void set_gate(const gp_timeline *t, gp_command *c) {
    uint64_t at[GP_GATES];
    gate_times(t, c, at);
    c->gate = at[GP_GATE_STREAM] >= at[GP_GATE_LAUNCH] ? GP_GATE_STREAM : GP_GATE_LAUNCH;
    if (at[GP_GATE_ORDER] >= at[c->gate]) c->gate = GP_GATE_ORDER;
    if (waited_for_call(t, c, at[c->gate])) c->gate = GP_GATE_LAUNCH;
    for (int gate = 0; gate < GP_GATES; gate++) c->lag[gate] = (int64_t)(c->rec->t0 - at[gate]);
}

static int compare_lags(const void *a, const void *b) {
    return (*(const int64_t *)a > *(const int64_t *)b) -
           (*(const int64_t *)a < *(const int64_t *)b);
}

static uint64_t previous_end(const gp_timeline *t, const gp_command *c) {
    return c->previous < 0 ? 0 : t->command[c->previous].end;
}

/* The median lag of the commands that waited for `gate`, which are put in list; 0: there are none.
 * ahead: of those alone that were queued at least so long before the stream came to them. */
static int64_t median_lag(const gp_timeline *t, gp_gate gate, int64_t ahead, int64_t *list) {
    int n = 0;
    for (int i = 0; i < t->ncommands; i++) {
        const gp_command *c = &t->command[i];
        if (c->gate != gate || !c->host) continue;
        if (ahead && (int64_t)(previous_end(t, c) - c->launch) < ahead) continue;
        list[n++] = c->lag[gate];
    }
    gp_sort(list, (size_t)n, sizeof *list, compare_lags);
    return n ? list[n / 2] : 0;
}

/* A command that was queued shortly before its stream came to it waited for its own launch, where
 * that takes longer than what then was left: not for the stream, though that ended later. */
static void find_late_launches(gp_timeline *t, int64_t *list) {
    int64_t launch = median_lag(t, GP_GATE_LAUNCH, 0, list);
    if (launch <= 0) return;
    int64_t stream = median_lag(t, GP_GATE_STREAM, launch, list);
    for (int i = 0; i < t->ncommands; i++) {
        gp_command *c = &t->command[i];
        if (c->gate != GP_GATE_STREAM || !c->host) continue;
        if ((int64_t)(previous_end(t, c) - c->launch) + stream < launch) c->gate = GP_GATE_LAUNCH;
    }
}

/* Commands that would wait for another reason than they did take the median lag of that one, unless
 * their own start shows that they need less: so no replay with less to wait for is slower. */
static bool limit_lags(gp_timeline *t) {
    int64_t *list = malloc(((size_t)t->ncommands + 1) * sizeof *list);
    if (!list) return false;
    find_late_launches(t, list);
    for (int gate = 0; gate < GP_GATES; gate++) {
        int64_t median = median_lag(t, (gp_gate)gate, 0, list);
        for (int i = 0; i < t->ncommands; i++) {
            int64_t *own = &t->command[i].lag[gate];
            if (t->command[i].gate != (gp_gate)gate && *own > median) *own = median;
        }
    }
    free(list);
    return true;
}

static void set_setup(const builder *b, gp_command *c) {
    int event = c->host ? gp_event_by_id(b->event, b->nevents, c->rec->id) : -1;
    c->sets_up = event >= 0 && b->sets_up[event];
}

/* Once its lags are known: what of them, after the call, was nobody's. */
static void set_delay(const gp_timeline *t, gp_command *c) {
    if (gp_rec_runs_on_host(c->rec)) return; /* a thread begins it when it wakes */
    uint64_t t0 = c->rec->t0, from = c->lag[c->gate] > 0 ? t0 - (uint64_t)c->lag[c->gate] : t0;
    uint64_t called = c->host ? least(gp_rec_end(t->p, c->host), t0) : c->launch;
    c->delay = gp_timeline_idle(t, most(from, called), t0);
}

static bool find_previous(gp_timeline *t) {
    int *last = malloc(((size_t)t->nstreams + 1) * sizeof *last);
    if (!last) return false;
    for (int i = 0; i < t->nstreams; i++) last[i] = -1;
    for (int i = 0; i < t->ncommands; i++) {
        gp_command *c = &t->command[i];
        c->previous = last[c->stream];
        last[c->stream] = i;
    }
    free(last);
    return true;
}

/* Once launches are where the host's steps have them. */
static bool set_gates(builder *b) {
    gp_timeline *t = b->t;
    if (!gp_timeline_read_orders(t, b->event, b->nevents)) return false;
    for (int i = 0; i < t->ncommands; i++) set_gate(t, &t->command[i]);
    if (!limit_lags(t)) return false;
    for (int i = 0; i < t->ncommands; i++) set_setup(b, &t->command[i]);
    if (!gp_timeline_read_calls(t) || !gp_timeline_read_first_runs(t)) return false;
    for (int i = 0; i < t->ncommands; i++) set_delay(t, &t->command[i]);
    return true;
}

/* ---- steps ---- */

/* A step that lasts from t to t1, as far as that is after the steps before it and within the
 * profiled code's time. So a replay passes through the same times as the record, whatever that
 * says. NULL when out of memory. */
static gp_step_at *add_step(builder *b, uint64_t t, uint64_t t1, gp_step_kind kind) {
    gp_timeline *tl = b->t;
    if (tl->nsteps == b->capacity) {
        int capacity = b->capacity ? 2 * b->capacity : 256;
        gp_step_at *more = realloc(tl->step, (size_t)capacity * sizeof *more);
        if (!more) return NULL;
        tl->step = more, b->capacity = capacity;
    }
    gp_step_at *s = &tl->step[tl->nsteps++];
    t = most(b->at, least(t, tl->done));
    b->at = most(t, least(t1, tl->done));
    *s = (gp_step_at){.t = t, .t1 = b->at, .kind = kind, .command = -1};
    return s;
}

/* Whether a wait for `where` waits for stream s: it is that, or stands for all of the device. */
static bool waits_for(const gp_stream *where, const gp_stream *s) {
    return where == s || (where && where->index < 0 && where->dev == s->dev);
}

/* The command that a wait which comes now waited for: of the last ones of its streams that had
 * ended when it did, the one that ended last; or its own, unless that waited for room. */
static int awaited(const builder *b, const span *wait) {
    const gp_timeline *t = b->t;
    int found = -1;
    for (int s = 0; s < t->nstreams; s++) {
        if (!waits_for(wait->rec->where, t->stream[s])) continue;
        int i = b->last[s];
        while (i >= 0 && t->command[i].end > wait->t1 + CLOCK_ERROR &&
               (t->command[i].host != wait->rec || wait->rec->why == GP_WHY_queue))
            i = t->command[i].previous;
        bool later = i >= 0 && found >= 0 && t->command[i].end > t->command[found].end;
        if (found < 0 || later) found = i;
    }
    return found;
}

/* What a step that waited for what was ready then takes. */
static void set_end(gp_step_at *s, uint64_t ready) {
    s->own = ready > s->t ? 0 : (int64_t)(s->t1 - s->t);
    s->after = ready > s->t ? (int64_t)(s->t1 - ready) : 0;
}

static bool add_wait(builder *b, const span *wait) {
    gp_step_at *s = add_step(b, wait->t0, wait->t1, GP_STEP_WAIT);
    if (!s) return false;
    s->rec = wait->rec;
    s->command = awaited(b, wait);
    set_end(s, s->command < 0 ? 0 : b->t->command[s->command].end);
    return true;
}

/* Adds what came by `until`: launches, and changes of what the host did. */
static bool add_until(builder *b, uint64_t until) {
    gp_timeline *t = b->t;
    for (;;) {
        uint64_t launch = b->launched < t->ncommands ? t->command[b->launched].launch : UINT64_MAX;
        uint64_t change = b->part < b->nparts ? b->parts[b->part].t : UINT64_MAX;
        uint64_t at = least(launch, change);
        bool launches = b->launched < t->ncommands && launch <= change;
        if (at > until || (!launches && b->part == b->nparts)) return true;
        gp_step_at *s = add_step(b, at, at, launches ? GP_STEP_LAUNCH : GP_STEP_OWNER);
        if (!s) return false;
        if (launches) {
            t->command[b->launched].launch = s->t;
            b->last[t->command[b->launched].stream] = b->launched;
            s->command = b->launched++;
        } else {
            const gp_host_part *now = &b->parts[b->part++];
            s->rec = now->rec, s->part = now->part, s->computes = now->computes;
        }
    }
}

/* What the host does meanwhile has steps of its own. */
static bool add_make(builder *b, const gp_rec *r) {
    gp_step_at *s = add_step(b, r->t0, r->t0, GP_STEP_MAKE);
    if (s) s->own = (int64_t)(most(s->t, least(gp_rec_end(b->t->p, r), b->t->done)) - s->t);
    return s != NULL;
}

static bool add_request(builder *b, const gp_rec *r) {
    gp_step_at *s = add_step(b, r->t0, gp_rec_end(b->t->p, r), GP_STEP_TAKE);
    if (!s) return false;
    s->rec = r;
    s->command = gp_loader_batch_of(b->t, r);
    set_end(s, gp_loader_ready(b->t, s->command));
    return true;
}

/* Of one thread, in whose order waits follow each other. */
static bool add_own_steps(builder *b) {
    const gp_timeline *t = b->t;
    for (int i = 0; i < t->nhost; i++) {
        const gp_rec *r = t->host[i];
        if (gp_prof_stops((uint64_t)i)) return false;
        if (r->t0 > t->done || !(is_wait(r) || gp_is_batch_request(r) || gp_is_made(r))) continue;
        span s = {r, r->t0, gp_rec_end(t->p, r)};
        if (!add_until(b, r->t0)) return false;
        if (!(gp_is_batch_request(r) ? add_request(b, r)
              : gp_is_made(r)        ? add_make(b, r)
                                     : add_wait(b, &s)))
            return false;
    }
    return true;
}

/* Of a loaded trace, whose threads' waits were put in order by their ends. */
static bool add_foreign_steps(builder *b) {
    for (int i = 0; i < b->nwaits; i++)
        if (gp_prof_stops((uint64_t)i) || !add_until(b, b->wait[i].t0) || !add_wait(b, &b->wait[i]))
            return false;
    return true;
}

static bool add_steps(builder *b) {
    gp_queueing by = {b->event, b->queues, b->fresh, b->sets_up, b->nevents};
    b->last = malloc(((size_t)b->t->nstreams + 1) * sizeof *b->last);
    b->parts = gp_host_parts(b->t, &by, &b->nparts);
    if (!b->last || !b->parts) return false;
    for (int i = 0; i < b->t->nstreams; i++) b->last[i] = -1;
    if (b->t->p->foreign) trim_waits(b);
    b->at = b->t->p->t0;
    return (b->t->p->foreign ? add_foreign_steps(b) : add_own_steps(b)) && add_until(b, UINT64_MAX);
}

/* ---- the timeline ---- */

/* Where a joined profile does not say when each rank's code was done, it was with its last event;
 * the rank that ended last went on to the profile's end. */
static void set_ends(gp_timeline *t, uint64_t others) {
    const gp_prof *p = t->p;
    uint64_t host = gp_last_end(p, p->host, t->rank), device = gp_last_end(p, p->workers, t->rank);
    bool last = t->rank < 0 || most(host, device) >= others;
    t->done = last ? p->done : host;
    t->t1 = last ? p->t1 : most(host, device);
}

/* Room for as many of those of t's rank as there are. */
static size_t count(const gp_timeline *t, const gp_track *track, bool (*is)(const gp_rec *)) {
    return (size_t)gp_count_rank_recs(track, t->rank, is) + 1;
}

static bool build(builder *b, uint64_t others) {
    gp_timeline *t = b->t;
    size_t commands = count(t, t->p->workers, gp_rec_is_work),
           events = count(t, t->p->host, has_id);
    t->host = malloc(count(t, t->p->host, is_any) * sizeof *t->host);
    t->command = malloc(commands * sizeof *t->command);
    b->event = malloc(events * sizeof *b->event);
    b->queues = calloc(events, sizeof *b->queues);
    b->sets_up = calloc(events, sizeof *b->sets_up);
    b->fresh = calloc(events, sizeof *b->fresh);
    b->wait = malloc(count(t, t->p->host, is_wait) * sizeof *b->wait);
    if (!t->host || !t->command || !b->event || !b->wait) return false;
    if (!b->queues || !b->sets_up || !b->fresh) return false;
    gather_host(b);
    set_ends(t, others);
    if (!t->p->foreign && !gp_loader_read(t)) return false;
    if (!gather_commands(b)) return false;
    if (!gp_timeline_read_busy(t)) return false;
    order_launches(t);
    if (!find_previous(t) || !gp_timeline_read_fresh(t, b->event, b->nevents, b->fresh) ||
        !add_steps(b) || !set_gates(b))
        return false;
    t->drain = (int64_t)(t->t1 - most(t->done, t->ended));
    return true;
}

gp_timeline *gp_timeline_of_rank(const gp_prof *p, int rank, uint64_t others) {
    builder b = {.t = calloc(1, sizeof *b.t)};
    bool ok = false;
    if (b.t) b.t->p = p, b.t->rank = rank, ok = build(&b, others);
    free(b.event);
    free(b.queues);
    free(b.sets_up);
    free(b.fresh);
    free(b.wait);
    free(b.last);
    free(b.parts);
    if (!ok) return gp_timeline_free(b.t), gp_prof_fail("profile"), NULL;
    return b.t;
}

void gp_timeline_free(gp_timeline *t) {
    if (!t) return;
    free(t->host);
    free(t->command);
    free(t->step);
    free(t->stream);
    free(t->order);
    free(t->busy);
    free(t->made);
    free(t->batch);
    free(t->request);
    free(t);
}
