/* Computes a replay's times in one pass: whatever a command or a wait depends on was queued before
 * it, so it comes earlier in the host's order. */
#include "profile/replay/on_card.h"

#include <stdlib.h>
#include <string.h>

#include "profile/sync/sync.h"
#include "profile/show/usage.h"
#include "tensor/base/sort.h"

enum { SMALL_KERNEL_NS = 1000 };

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* ---- what is other ---- */

bool gp_whatif_line_is(const gp_whatif_line *line, const gp_rec *r) {
    if (line->what) return !strcmp(r->name, line->what) && (line->line >= 0 || !r->file);
    if (!r->file || (line->line && r->line != line->line)) return false;
    size_t have = strlen(r->file), want = strlen(line->file);
    if (want > have || strcmp(r->file + have - want, line->file) != 0) return false;
    return want == have || r->file[have - want - 1] == '/' || *line->file == '/';
}

const char *gp_cause_name(gp_cause cause) {
    static const char *const names[] = {
#define CAUSE(name, ...) #name,
#include "profile/replay/cause.def"
    };
    return names[cause];
}

gp_cause gp_work_cause(const gp_rec *work) {
    if (gp_rec_is_collective(work)) return GP_CAUSE_collectives;
    return work->kind == GP_REC_MOVED ? GP_CAUSE_copies : GP_CAUSE_kernels;
}

static bool begins(const char *text, const char *with) {
    return !strncmp(text, with, strlen(with));
}

/* The last two names are those of profile/load/kineto/build.c. */
gp_cause gp_wait_cause(const gp_rec *wait) {
    if (wait->why == GP_WHY_collective) return GP_CAUSE_collectives;
    if (wait->why != GP_WHY_explicit)
        return gp_sync_watched((gp_why)wait->why) ? GP_CAUSE_waits : GP_CAUSES;
    if (begins(wait->name, "profiler: ")) return GP_CAUSES;
    return begins(wait->name, "first use: ") ? GP_CAUSE_setup : GP_CAUSE_synchronize;
}

gp_cause gp_host_activity_cause(gp_host_activity part) {
    static const gp_cause causes[GP_HOST_ACTIVITIES] = {
        [GP_HOST_SCRIPT] = GP_CAUSE_script,
        [GP_HOST_LAUNCH] = GP_CAUSE_launches,
        [GP_HOST_CPU] = GP_CAUSE_cpu,
        [GP_HOST_MEMORY] = GP_CAUSE_memory,
        [GP_HOST_SETUP] = GP_CAUSE_setup,
        [GP_HOST_PROFILER] = GP_CAUSES,
        [GP_HOST_BETWEEN] = GP_CAUSE_between,
        [GP_HOST_LOADER] = GP_CAUSE_loader,
        [GP_HOST_COLLECTIVE] = GP_CAUSE_collectives,
    };
    return causes[part];
}

static bool is_free(const gp_whatif *w, gp_cause cause) { return w->without_causes >> cause & 1; }

bool gp_whatif_drops(const gp_whatif *w, const gp_rec *r) {
    if (w->without_whys >> r->why & 1) return true;
    if (is_free(w, gp_wait_cause(r))) return true;
    for (int i = 0; i < w->nwithout; i++)
        if (gp_whatif_line_is(&w->without[i], r)) return true;
    return false;
}

double gp_whatif_factor(const gp_whatif *w, const gp_rec *r) {
    if (w->without_causes && gp_rec_is_work(r) && is_free(w, gp_work_cause(r))) return 0;
    for (int i = 0; i < w->nscale; i++)
        if (!strcmp(w->scale[i].op, r->name)) return w->scale[i].by;
    return 1;
}

double gp_whatif_growth(const gp_whatif *w, const gp_rec *r) {
    bool grows = w->batch && r && r->kind == GP_REC_OP && gp_rec_has_dim(r->shapes, w->batch);
    return grows ? (double)w->into / (double)w->batch : 1;
}

static uint64_t scaled(uint64_t ns, double by) {
    return by == 1 ? ns : (uint64_t)((double)ns * by + 0.5);
}

gp_copy_kind gp_rec_direction(const gp_rec *r) {
    return r->kind == GP_REC_MOVED ? gp_copy_direction(r->name) : GP_COPY_D2D;
}

bool gp_copies_are_modelled(const gp_prof *p) { return p->modelled && p->card; }

bool gp_wait_is_pageable(const gp_rec *wait) {
    if (wait->why != GP_WHY_copy) return false;
    if (wait->form) return strstr(wait->form, "pageable") != NULL;
    return gp_copy_direction(wait->name) == GP_COPY_H2D && !strstr(wait->name, "pinned");
}

/* ---- the pass ---- */

struct gp_rank_replay {
    const gp_timeline *t;
    const gp_whatif *w;
    gp_replay_timings *r;
    uint64_t at, now;      /* the host's time on the record, and what it has become */
    const gp_rec *owner;   /* the op whose own time it is; NULL */
    gp_host_activity part; /* what it does */
    uint64_t *ready;       /* by stream: when its kernels so far have ended, */
    uint64_t *copied[3];   /* and by gp_copy_kind its copies, where they run beside kernels */
    uint64_t ended;        /* all commands so far */
    uint64_t least;        /* what a pass of a kernel takes besides its work */
    gp_on_card *card;      /* which runs them instead; NULL */
    bool scales;           /* their times to w->card's, */
    gp_torch_costs *costs; /* of another program's ops by these; NULL */
    const gp_rec *pool;    /* the first batch that was awaited from worker processes; NULL */
    uint64_t pool_at;      /* and what the time of that has become */
    int step;              /* the next one */
    int met;               /* the command that has begun, and whose end is not known yet; -1 */
};
typedef gp_rank_replay pass;

static bool add_point(gp_replay_timings *r, uint64_t from, uint64_t to) {
    if (r->npoints == r->capacity) {
        int capacity = r->capacity ? 2 * r->capacity : 256;
        uint64_t *more = realloc(r->from, (size_t)capacity * sizeof *more);
        if (!more) return false;
        r->from = more;
        if (!(more = realloc(r->to, (size_t)capacity * sizeof *more))) return false;
        r->to = more;
        r->capacity = capacity;
    }
    r->from[r->npoints] = from, r->to[r->npoints++] = to;
    return true;
}

/* The factor on the time of what the host does now. */
static double host_factor(const pass *p) {
    if (is_free(p->w, gp_host_activity_cause(p->part))) return 0;
    const gp_rec *op = p->owner;
    return p->w->host * (op ? gp_whatif_factor(p->w, op) * gp_whatif_growth(p->w, op) : 1);
}

/* The host goes on to time t of the record. */
static bool advance(pass *p, uint64_t t) {
    if (t <= p->at) return true;
    double by = host_factor(p);
    if (by != 1 && !add_point(p->r, p->at, p->now)) return false;
    p->now += scaled(t - p->at, by);
    p->at = t;
    return by == 1 || add_point(p->r, t, p->now);
}

/* ns later, which may be negative. */
static uint64_t later(uint64_t from, int64_t ns) {
    return ns < 0 && (uint64_t)-ns > from ? 0 : from + (uint64_t)ns;
}

/* Whether command i, which is launched now, is a copy of pageable memory whose wait is left out, on
 * a card whose rates are known: then it is of pinned memory. */
static bool is_pinned(const pass *p, int i) {
    const gp_timeline *t = p->t;
    if (!gp_copies_are_modelled(t->p) || t->command[i].rec->kind != GP_REC_MOVED) return false;
    for (int k = p->step + 1; k < t->nsteps && t->step[k].kind != GP_STEP_LAUNCH; k++) {
        const gp_step_at *s = &t->step[k];
        if (s->kind == GP_STEP_WAIT && s->command == i)
            return gp_wait_is_pageable(s->rec) && gp_whatif_drops(p->w, s->rec);
    }
    return false;
}

/* What of c's time does not grow with its work: a modelled card knows, others show it by the
 * shortest kernels. */
static uint64_t fixed_time(const pass *p, const gp_command *c) {
    const gp_prof *prof = p->t->p;
    const gp_cost *cost = c->op ? c->op->cost : NULL;
    if (cost && prof->modelled && prof->card) return gp_card_kernel(prof->card, cost).fixed;
    return p->least * (cost ? cost->passes : 1);
}

static uint64_t duration(const pass *p, int i) {
    const gp_command *c = &p->t->command[i];
    uint64_t ns = c->end - c->rec->t0;
    if (is_pinned(p, i)) {
        gp_card_time of =
            gp_card_copy(p->t->p->card, (double)c->rec->bytes, true, gp_rec_direction(c->rec));
        ns = of.fixed + of.work;
    }
    if (p->scales) ns = scaled(ns, gp_on_card_scale(p->t->p, p->costs, c, p->w->card));
    if (p->w->network) gp_network_time(p->w->network, p->t->p, c, &ns);
    double growth = gp_whatif_growth(p->w, c->op);
    uint64_t fixed = fixed_time(p, c);
    if (growth != 1 && ns > fixed) ns = fixed + scaled(ns - fixed, growth);
    uint64_t first = p->w->without_causes && c->first_use < ns ? c->first_use : 0;
    ns = scaled(ns - first, gp_whatif_factor(p->w, c->rec));
    return is_free(p->w, GP_CAUSE_setup) ? ns : ns + first;
}

/* The time that passes from what c waited for to its start. */
static int64_t lag(const pass *p, const gp_command *c, gp_gate gate) {
    int64_t ns = c->lag[gate], less = 0;
    gp_cause calls = c->sets_up ? GP_CAUSE_setup : GP_CAUSE_launches;
    if (gate == GP_GATE_LAUNCH && is_free(p->w, calls)) less += (int64_t)c->calling;
    if (is_free(p->w, GP_CAUSE_delays)) less += (int64_t)c->delay;
    return ns > less ? ns - less : ns < 0 ? ns : 0;
}

/* When command i may begin after what its gates say. */
static uint64_t begin(const pass *p, int i, uint64_t stream) {
    const gp_command *c = &p->t->command[i];
    uint64_t first = c->rec->t0 < p->t->p->t0 ? c->rec->t0 : p->t->p->t0;
    uint64_t from = most(first, later(p->r->launch[i], lag(p, c, GP_GATE_LAUNCH)));
    if (stream) from = most(from, later(stream, lag(p, c, GP_GATE_STREAM)));
    for (int k = c->orders; k >= 0; k = p->t->order[k].next)
        from = most(from, later(p->r->end[p->t->order[k].command], lag(p, c, GP_GATE_ORDER)));
    return from;
}

/* A copy beside kernels: one to the host follows the kernels before it and holds up none, one to
 * the device follows only such copies and holds up the kernels that follow. */
static void run_beside(pass *p, int i, gp_copy_kind kind, uint64_t ns) {
    int s = p->t->command[i].stream;
    uint64_t *copied = &p->copied[kind][s], *ready = &p->ready[s];
    p->r->start[i] = begin(p, i, kind == GP_COPY_D2H ? most(*copied, *ready) : *copied);
    *copied = p->r->end[i] = p->r->start[i] + ns;
    if (kind == GP_COPY_H2D) *ready = most(*ready, *copied);
}

static void run_in_order(pass *p, int i, uint64_t ns) {
    uint64_t *ready = &p->ready[p->t->command[i].stream];
    p->r->start[i] = begin(p, i, *ready);
    *ready = p->r->end[i] = p->r->start[i] + ns;
}

static void launch(pass *p, int i) {
    const gp_rec *rec = p->t->command[i].rec;
    uint64_t ns = duration(p, i);
    gp_copy_kind kind = gp_rec_direction(rec);
    p->r->launch[i] = p->now;
    if (p->card) {
        p->now = gp_on_card_launch(p->card, i, p->now, gp_whatif_factor(p->w, rec));
        return;
    }
    if (p->w->overlap && kind != GP_COPY_D2D) run_beside(p, i, kind, ns);
    else run_in_order(p, i, ns);
    if (p->t->command[i].meeting >= 0) p->met = i;
    else p->ended = most(p->ended, p->r->end[i]);
}

void gp_rank_replay_meet(gp_rank_replay *p, uint64_t end) {
    p->ready[p->t->command[p->met].stream] = p->r->end[p->met] = end;
    p->ended = most(p->ended, end);
    p->met = -1;
}

/* What a launch takes which has waited for room in the queue, and finds it. */
static uint64_t launching(const pass *p, const gp_step_at *s) {
    bool waited = s->rec->why == GP_WHY_queue && !s->own;
    return waited && !is_free(p->w, GP_CAUSE_launches) ? s->calling : 0;
}

static bool wait(pass *p, const gp_step_at *s) {
    if (!add_point(p->r, s->t, p->now)) return false;
    p->at = s->t1;
    if (gp_whatif_drops(p->w, s->rec)) {
        p->now += s->calling;
    } else if (p->card && s->command >= 0) {
        p->now = gp_on_card_wait(p->card, s->command, p->now);
    } else {
        uint64_t after = s->command < 0 ? 0 : later(p->r->end[s->command], s->after);
        p->now = most(later(p->now, s->own) + launching(p, s), after);
    }
    return add_point(p->r, s->t1, p->now);
}

/* With workers the host does not make the batch. */
static bool make(pass *p, const gp_step_at *s) {
    if (!p->w->workers) return true;
    if (!add_point(p->r, s->t, p->now)) return false;
    p->at = most(p->at, later(s->t, s->own));
    return add_point(p->r, p->at, p->now);
}

static bool serve(pass *p, const gp_step_at *s) {
    if (!add_point(p->r, s->t, p->now)) return false;
    p->at = s->t1;
    if (is_free(p->w, GP_CAUSE_loader)) return add_point(p->r, s->t1, p->now);
    uint64_t ready = gp_loader_replay(p->t, p->w, p->r, s->command, s->t);
    p->now = later(p->now, s->own);
    if (ready) p->now = most(p->now, later(ready, s->after));
    return add_point(p->r, s->t1, p->now);
}

/* The host waits for a batch of worker processes, of which the record has only when it came: they
 * are taken to have worked all the time since they were started, so that it comes no earlier if the
 * host does. Where they had time left it may: a replay with w->prompt says the most of that. */
static bool await_workers(pass *p, const gp_rec *batch) {
    if (!p->pool) p->pool = batch, p->pool_at = p->now;
    double by = p->w->batch ? (double)p->w->into / (double)p->w->batch : 1;
    uint64_t came = p->pool_at + scaled(batch->t1 - p->pool->t0, by);
    if (!add_point(p->r, batch->t0, p->now)) return false;
    p->at = batch->t1;
    if (!is_free(p->w, GP_CAUSE_loader)) p->now = most(p->now, came);
    return add_point(p->r, batch->t1, p->now);
}

/* The host does something else from here on. */
static bool change(pass *p, const gp_step_at *s) {
    p->owner = s->computes ? s->rec : NULL, p->part = s->part;
    bool awaits = s->rec && s->t == s->rec->t0 && s->t >= p->at && gp_awaits_workers(s->rec);
    return !awaits || p->w->prompt || await_workers(p, s->rec);
}

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Sets *after to the median time from the end of a command to that of a wait for it, 0 where the
 * host waited for none. False when out of memory. */
static bool wait_latency(const gp_timeline *t, int64_t *after) {
    int64_t *list = malloc(((size_t)t->nsteps + 1) * sizeof *list);
    int n = 0;
    if (!list) return false;
    for (int i = 0; i < t->nsteps; i++) {
        const gp_step_at *s = &t->step[i];
        if (s->kind == GP_STEP_WAIT && s->command >= 0 && t->command[s->command].end > s->t)
            list[n++] = s->after;
    }
    gp_sort(list, (size_t)n, sizeof *list, compare);
    *after = n ? list[n / 2] : 0;
    free(list);
    return true;
}

/* Sets *ns to the time from the end of all work to that of the profile's wait for it, which the
 * record does not have where all had ended before. */
static bool drain(const pass *p, int64_t *ns) {
    *ns = p->t->drain;
    if (p->card) *ns = p->ended > p->now ? (int64_t)gp_on_card_latency(p->card) : 0;
    else if (p->ended > p->now && p->t->ended <= p->t->done) {
        int64_t most = (int64_t)(p->t->t1 - p->t->ended); /* with less to do it ends no later */
        if (!wait_latency(p->t, ns)) return false;
        if (*ns > most) *ns = most;
    }
    return true;
}

/* Whether a command takes what it took, and runs beside no other than it did. */
static bool keeps(const gp_command *c, const void *with) {
    const gp_whatif *w = with;
    bool beside = w->overlap && gp_rec_direction(c->rec) != GP_COPY_D2D;
    return !beside && gp_whatif_factor(w, c->rec) == 1;
}

/* Where a trace does not say what streams wait for, they are not taken to work beside each other
 * more than they did: then nothing ends before devices have run what is as it was. Sets *end to
 * that; 0: not known. */
static bool least_end(const pass *p, uint64_t *end) {
    const gp_whatif *w = p->w;
    *end = 0;
    if (!p->t->p->unknown_orders || w->beside || w->card || w->network || w->batch) return true;
    return gp_timeline_ran(p->t, keeps, w, end) && (*end += p->t->p->t0);
}

static bool finish(pass *p) {
    const gp_timeline *t = p->t;
    if (!advance(p, t->done) || !add_point(p->r, t->done, p->now)) return false;
    p->r->done = p->now;
    gp_loader_finish(t, p->w, p->r);
    if (p->card) p->ended = gp_on_card_finish(p->card);
    int64_t rest;
    uint64_t least;
    if (!drain(p, &rest) || !least_end(p, &least)) return false;
    uint64_t end = most(p->now, later(most(p->now, p->ended), rest));
    p->r->t1 = most(least, end), p->r->bound = p->r->t1 - end;
    return true;
}

/* Up to the next meeting, or the end. */
static bool run_steps(pass *p) {
    const gp_timeline *t = p->t;
    for (; p->step < t->nsteps && p->met < 0; p->step++) {
        if (gp_prof_stops((uint64_t)p->step)) return false;
        const gp_step_at *s = &t->step[p->step];
        if (!advance(p, s->t)) return false;
        if (s->kind == GP_STEP_LAUNCH) launch(p, s->command);
        else if (s->kind != GP_STEP_OWNER && s->t < p->at)
            continue; /* a wait within a batch that workers make */
        else if (!(s->kind == GP_STEP_OWNER  ? change(p, s)
                   : s->kind == GP_STEP_MAKE ? make(p, s)
                   : s->kind == GP_STEP_TAKE ? serve(p, s)
                                             : wait(p, s)))
            return false;
    }
    return p->met >= 0 || finish(p);
}

/* What a pass of a kernel takes besides its work: of a modelled card its figure; else a small
 * kernel's time on the cards of tests/gpu/REPORT.md, or that of the shortest one on the record. */
static uint64_t least_kernel(const gp_timeline *t) {
    uint64_t least =
        t->p->card ? (uint64_t)(t->p->card->figure[GP_FIGURE_kernel] * 1e9 + 0.5) : SMALL_KERNEL_NS;
    for (int i = 0; i < t->ncommands; i++) {
        const gp_command *c = &t->command[i];
        if (c->rec->kind == GP_REC_KERNEL && c->end - c->rec->t0 < least)
            least = c->end - c->rec->t0;
    }
    return least;
}

static bool allocate(pass *p) {
    size_t n = (size_t)p->t->ncommands + 1, streams = (size_t)p->t->nstreams + 1;
    *p->r = (gp_replay_timings){.launch = malloc(n * sizeof *p->r->launch),
                                .start = malloc(n * sizeof *p->r->start),
                                .end = malloc(n * sizeof *p->r->end),
                                .made_start = calloc((size_t)p->t->nmade + 1, sizeof(uint64_t)),
                                .made_end = calloc((size_t)p->t->nmade + 1, sizeof(uint64_t)),
                                .made_by = calloc((size_t)p->t->nmade + 1, sizeof(int))};
    p->ready = calloc(4 * streams, sizeof *p->ready);
    if (!p->r->launch || !p->r->start || !p->r->end || !p->ready) return false;
    if (!p->r->made_start || !p->r->made_end || !p->r->made_by) return false;
    p->least = least_kernel(p->t);
    for (int kind = 0; kind < 3; kind++) p->copied[kind] = p->ready + (size_t)(kind + 1) * streams;
    p->scales = p->w->card && gp_on_card_scales(p->t->p);
    if (p->scales && p->t->p->foreign && !(p->costs = gp_torch_costs_new(p->t->p))) return false;
    bool engine = p->w->card ? !p->scales : gp_on_card_ran(p->t);
    if (engine && !(p->card = gp_on_card_new(p->t, p->w, p->r))) return false;
    return add_point(p->r, p->t->p->t0, p->t->p->t0);
}

gp_rank_replay *gp_rank_replay_new(const gp_timeline *t, const gp_whatif *w, gp_replay_timings *r) {
    pass *p = malloc(sizeof *p);
    if (p) *p = (pass){.t = t, .w = w, .r = r, .at = t->p->t0, .now = t->p->t0, .met = -1};
    if (p && allocate(p)) return p;
    gp_rank_replay_free(p);
    return gp_fail_null("profile: out of memory");
}

void gp_rank_replay_free(gp_rank_replay *p) {
    if (!p) return;
    gp_on_card_free(p->card);
    gp_torch_costs_free(p->costs);
    free(p->ready);
    free(p);
}

bool gp_rank_replay_run(gp_rank_replay *p, int *met) {
    bool ok = run_steps(p);
    *met = p->met;
    return ok || gp_prof_fail("profile");
}

bool gp_replay_times(const gp_timeline *t, const gp_whatif *w, gp_replay_timings *r) {
    int met;
    *r = (gp_replay_timings){0};
    gp_rank_replay *p = gp_rank_replay_new(t, w, r);
    bool ok = p && gp_rank_replay_run(p, &met);
    gp_rank_replay_free(p);
    return ok;
}

void gp_replay_timings_free(gp_replay_timings *r) {
    free(r->launch);
    free(r->start);
    free(r->end);
    free(r->made_start);
    free(r->made_end);
    free(r->made_by);
    free(r->from);
    free(r->to);
    *r = (gp_replay_timings){0};
}

uint64_t gp_replay_timings_host(const gp_replay_timings *r, uint64_t t) {
    int lo = 0, hi = r->npoints - 1; /* the last point at or before t */
    while (lo < hi) {
        int mid = hi - (hi - lo) / 2;
        if (r->from[mid] <= t) lo = mid;
        else hi = mid - 1;
    }
    if (t < r->from[lo]) return r->to[lo] - (r->from[lo] - t); /* before the profiled code */
    uint64_t past = t - r->from[lo];
    if (lo + 1 == r->npoints) return r->to[lo] + past;
    uint64_t span = r->from[lo + 1] - r->from[lo], moved = r->to[lo + 1] - r->to[lo];
    if (span == moved) return r->to[lo] + past;
    return r->to[lo] + (uint64_t)((double)past / (double)span * (double)moved + 0.5);
}
