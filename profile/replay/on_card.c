/* Runs a replay's commands on a modelled card, by the engine of tensor/device/card/schedule.c. An
 * op's work comes from its cost, on the record or by torch_cost.c, at the card's measured shares
 * where there are any; what has no known cost takes the time that it took. Each stream has a lane
 * for what runs in order and one for copies that run beside kernels. */
#include "profile/replay/on_card.h"

#include <stdlib.h>
#include <string.h>

#include "profile/sync/sync.h"
#include "tensor/device/card/schedule.h"
#include "tensor/base/error.h"

/* A stream's lanes: in order, and for copies that run beside it. */
enum { IN_ORDER, TO_HOST, TO_DEVICE, SIDES };

typedef struct side {
    gp_stream stream; /* counts what is queued and done */
    gp_lane *lane;
} side;

struct gp_on_card {
    const gp_timeline *t;
    const gp_whatif *w;
    const gp_card *card; /* w's, else the record's own */
    gp_replay_timings *r;
    gp_torch_costs *costs; /* of a loaded trace; NULL: costs are on the record */
    gp_schedule schedule;
    side *side; /* SIDES for each stream */
    int nsides;
    struct queued {
        side *on;
        uint64_t ticket; /* its number there, from 1 */
        bool pageable;
    } * queued; /* by command */
};

/* ---- what is known ---- */

static bool has_cost(const gp_prof *p) {
    gp_cursor at = gp_first(p->host);
    for (const gp_rec *r; (r = gp_next(&at));)
        if (r->kind == GP_REC_OP && r->cost) return true;
    return false;
}

bool gp_on_card_scales(const gp_prof *p) { return p->card && (p->foreign || !p->modelled); }

bool gp_on_card_ran(const gp_timeline *t) {
    const gp_prof *p = t->p;
    if (!p->modelled || !p->card || p->foreign || t->nstreams < 2 || !has_cost(p)) return false;
    for (int i = 0; i < t->ncommands; i++)
        if (t->command[i].meeting >= 0) return false;
    return true;
}

/* Whether a product of f32 rounded its operands to tf32, as the names of cuBLAS's and CUTLASS's
 * kernels say: "tf32", or "s1688" where no 16 bits are named. */
static bool is_tf32(const gp_rec *work, const gp_cost *cost) {
    const char *name = work->kernel ? work->kernel : work->name;
    if (cost->unit != GP_UNIT_MATRIX || cost->dtype != GP_f32) return false;
    bool short_ones = strstr(name, "f16") || strstr(name, "fp16");
    return strstr(name, "tf32") || (strstr(name, "s1688") && !short_ones);
}

static double scale(const gp_card *from, const gp_card *to, const gp_rec *work,
                    const gp_cost *cost) {
    if (!is_tf32(work, cost)) return gp_card_scale(from, to, cost);
    gp_card was = *from, is = *to;
    was.tf32 = is.tf32 = true; /* a card without it has f32's rate there */
    return gp_card_scale(&was, &is, cost);
}

double gp_on_card_scale(const gp_prof *p, const gp_torch_costs *costs, const gp_command *c,
                        const gp_card *to) {
    const gp_rec *work = c->rec;
    gp_cost moved = {.bytes = 2.0 * (double)work->bytes, .passes = 1};
    const gp_cost *cost = &moved;
    if (gp_is_collective(c)) return 1;
    if (work->kind == GP_REC_MOVED && gp_rec_direction(work) != GP_COPY_D2D)
        return gp_card_copy_scale(p->card, to, (double)work->bytes, strstr(work->name, "Pinned"));
    if (work->kind != GP_REC_MOVED) {
        cost = NULL;
        if (costs) gp_torch_costs_of(costs, work, &cost);
        else if (c->host && c->host->kind == GP_REC_OP) cost = c->host->cost;
    }
    return cost ? scale(p->card, to, work, cost) : gp_card_least_scale(p->card, to);
}

bool gp_on_card_knows(const gp_prof *p, const gp_card *card, const char *what, double *share) {
    *share = 1;
    if (gp_on_card_scales(p) && gp_card_same(p->card, card)) return true;
    if (!p->foreign)
        return has_cost(p) || gp_fail("%s: no op's cost is on the record (expected a profile of "
                                      "profile.run{flops = true} or gpush profile --flops)",
                                      what);
    if (!gp_count_recs(p->workers, gp_rec_is_work))
        return gp_fail("%s: the trace has no kernel and no copy, whose times a card would change: "
                       "the program ran on the CPU, or the profiler did not record its device",
                       what);
    gp_torch_costs *c = gp_torch_costs_new(p);
    if (!c) return false;
    *share = gp_torch_costs_share(c);
    gp_torch_costs_free(c);
    if (*share > 0) return true;
    if (p->writer) return gp_prof_fail_lacking(p, what, "shapes", "", "record_shapes=True");
    return gp_fail("%s: no op that launched a kernel has a known cost (expected shapes in the "
                   "trace, of profile(record_shapes=True))",
                   what);
}

/* ---- the card ---- */

static uint64_t figure(const gp_on_card *c, gp_figure i) {
    return (uint64_t)(c->card->figure[i] * 1e9 + 0.5);
}

uint64_t gp_on_card_latency(const gp_on_card *c) { return figure(c, GP_FIGURE_wait); }

static void done(void *ctx, const gp_activity *ran) {
    gp_on_card *c = ctx;
    c->r->start[ran->id] = ran->t0;
    c->r->end[ran->id] = ran->t1;
}

/* Copies that a read of the host waits for are of memory that is not pinned. */
static void note_pageable(gp_on_card *c) {
    for (int i = 0; i < c->t->nsteps; i++) {
        const gp_step_at *s = &c->t->step[i];
        if (s->kind == GP_STEP_WAIT && s->command >= 0)
            c->queued[s->command].pageable =
                gp_sync_watched((gp_why)s->rec->why) && !gp_whatif_drops(c->w, s->rec);
    }
}

static bool open_sides(gp_on_card *c) {
    for (; c->nsides < c->t->nstreams * SIDES; c->nsides++) {
        side *s = &c->side[c->nsides];
        if (c->nsides % SIDES != IN_ORDER && !c->w->overlap) continue;
        s->stream.dev = c->t->stream[c->nsides / SIDES]->dev;
        if (!(s->lane = gp_lane_open(&c->schedule, &s->stream))) return false;
    }
    return true;
}

gp_on_card *gp_on_card_new(const gp_timeline *t, const gp_whatif *w, gp_replay_timings *r) {
    gp_on_card *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    *c = (gp_on_card){.t = t,
                      .w = w,
                      .r = r,
                      .card = w->card ? w->card : t->p->card,
                      .schedule = {.done = done, .ctx = c}};
    c->schedule.now = t->p->t0;
    c->side = calloc((size_t)t->nstreams * SIDES + 1, sizeof *c->side);
    c->queued = calloc((size_t)t->ncommands + 1, sizeof *c->queued);
    if (t->p->foreign) c->costs = gp_torch_costs_new(t->p);
    if (!c->side || !c->queued || (t->p->foreign && !c->costs) || !open_sides(c))
        return gp_on_card_free(c), NULL;
    note_pageable(c);
    return c;
}

void gp_on_card_free(gp_on_card *c) {
    if (!c) return;
    for (int i = 0; i < c->nsides; i++)
        if (c->side[i].lane) gp_lane_close(&c->schedule, c->side[i].lane);
    gp_torch_costs_free(c->costs);
    free(c->side);
    free(c->queued);
    free(c);
}

/* ---- what a command takes ---- */

/* The op that queued command i, and its cost, NULL: not known. Of a loaded trace only ops whose
 * cost is known. */
static const gp_rec *op_of(const gp_on_card *c, int i, const gp_cost **cost) {
    const gp_command *command = &c->t->command[i];
    *cost = NULL;
    if (c->costs) return gp_torch_costs_of(c->costs, command->rec, cost);
    if (command->host && command->host->kind == GP_REC_OP) *cost = command->host->cost;
    return command->host;
}

/* The first kernel of an op stands for all of them. What has no cost takes as long as it did. */
static gp_card_time modelled(const gp_on_card *c, int i) {
    const gp_command *command = &c->t->command[i];
    const gp_cost *cost, *before;
    const gp_rec *op = op_of(c, i, &cost);
    if (command->rec->kind == GP_REC_MOVED && gp_rec_direction(command->rec) == GP_COPY_D2D)
        return gp_card_kernel(c->card,
                              &(gp_cost){.bytes = 2.0 * (double)command->rec->bytes, .passes = 1});
    if (command->rec->kind == GP_REC_MOVED)
        return gp_card_copy(c->card, (double)command->rec->bytes, !c->queued[i].pageable,
                            gp_rec_direction(command->rec));
    if (i > 0 && op && op_of(c, i - 1, &before) == op) return (gp_card_time){0};
    uint64_t took = command->end - command->rec->t0;
    if (gp_is_collective(command)) {
        if (c->w->network) gp_network_time(c->w->network, c->t->p, command, &took);
        return (gp_card_time){.fixed = took};
    }
    if (cost) return gp_card_kernel(c->card, cost);
    return (gp_card_time){.fixed = took};
}

static uint64_t launching(const gp_on_card *c) {
    bool is_free = c->w->without_causes >> GP_CAUSE_launches & 1;
    return is_free ? 0 : figure(c, GP_FIGURE_launch);
}

static uint64_t scaled(uint64_t ns, double by) { return (uint64_t)((double)ns * by + 0.5); }

static gp_lane_item item_of(const gp_on_card *c, int i, uint64_t now, double by) {
    const gp_command *command = &c->t->command[i];
    const gp_cost *cost;
    op_of(c, i, &cost);
    gp_card_time time = modelled(c, i);
    double growth = gp_whatif_growth(c->w, command->op);
    if (time.work) time.work = scaled(time.work, growth);
    else if (!cost) time.fixed = scaled(time.fixed, growth);
    if (by != 1) time.fixed = scaled(time.fixed, by), time.work = scaled(time.work, by);
    return (gp_lane_item){.kind =
                              command->rec->kind == GP_REC_MOVED ? GP_LANE_COPY : GP_LANE_KERNEL,
                          .direction = gp_rec_direction(command->rec),
                          .ready = now + (!cost || cost->passes ? launching(c) : 0),
                          .fixed = time.fixed,
                          .work = time.work,
                          .ran = {.id = (uint64_t)i}};
}

/* ---- the streams ---- */

static uint64_t issued(const side *s) {
    return atomic_load_explicit(&s->stream.issued, memory_order_relaxed);
}

static uint64_t run_until(gp_on_card *c, uint64_t until, side *on, uint64_t ticket) {
    gp_released none = {.n = 0};
    gp_schedule_run(&c->schedule, until, on ? &on->stream : NULL, ticket, &none);
    return c->schedule.now;
}

/* Adds an item at the host's time `now`; returns that, or when there was room. */
static uint64_t add(gp_on_card *c, side *s, gp_lane_item item, uint64_t now) {
    if (gp_stream_queued(&s->stream) >= GP_LANE_CAPACITY - 1) {
        uint64_t free_at = run_until(c, UINT64_MAX, s, issued(s) - GP_LANE_CAPACITY / 2);
        if (free_at > now) item.ready += free_at - now, now = free_at;
    }
    gp_lane_add(s->lane, &item);
    return now;
}

static uint64_t follow(gp_on_card *c, side *s, side *first, uint64_t ticket, uint64_t now) {
    if (s == first || !ticket) return now;
    return add(
        c, s,
        (gp_lane_item){.kind = GP_LANE_WAIT, .ready = now, .on = &first->stream, .ticket = ticket},
        now);
}

/* What held up the command for long is not on the record, and would do so on the card, too; a short
 * delay is the launch's own, of which the card has a figure. sim's is its thread's, which waited
 * for a processor. */
static uint64_t delay(gp_on_card *c, int i, side *s, uint64_t now) {
    uint64_t ns = c->t->command[i].delay;
    if (!strcmp(s->stream.dev->vt->kind, "sim")) return now;
    if (ns < GP_SETUP_NS || c->w->without_causes >> GP_CAUSE_delays & 1) return now;
    uint64_t nothing = (uint64_t)c->t->ncommands; /* no command's place */
    return add(
        c, s,
        (gp_lane_item){.kind = GP_LANE_KERNEL, .ready = now, .fixed = ns, .ran = {.id = nothing}},
        now);
}

/* Copies beside kernels: one to the host follows the kernels before it and holds up none, one to
 * the device follows only such copies and holds up the kernels that follow. */
uint64_t gp_on_card_launch(gp_on_card *c, int i, uint64_t now, double by) {
    const gp_command *command = &c->t->command[i];
    side *all = &c->side[command->stream * SIDES];
    gp_copy_kind kind = gp_rec_direction(command->rec);
    int which = !c->w->overlap || kind == GP_COPY_D2D ? IN_ORDER
                : kind == GP_COPY_D2H                 ? TO_HOST
                                                      : TO_DEVICE;
    side *s = &all[which];
    run_until(c, now, NULL, 0);
    for (int k = command->orders; k >= 0; k = c->t->order[k].next) {
        const struct queued *first = &c->queued[c->t->order[k].command];
        now = follow(c, s, first->on, first->ticket, now);
    }
    if (which == TO_HOST) now = follow(c, s, &all[IN_ORDER], issued(&all[IN_ORDER]), now);
    now = delay(c, i, s, now);
    now = add(c, s, item_of(c, i, now, by), now);
    c->queued[i].on = s;
    c->queued[i].ticket = issued(s);
    if (which == TO_DEVICE) now = follow(c, &all[IN_ORDER], s, issued(s), now);
    return now;
}

uint64_t gp_on_card_wait(gp_on_card *c, int i, uint64_t now) {
    const struct queued *queued = &c->queued[i];
    run_until(c, now, NULL, 0);
    if (atomic_load_explicit(&queued->on->stream.completed, memory_order_relaxed) >= queued->ticket)
        return now;
    return run_until(c, UINT64_MAX, queued->on, queued->ticket) + gp_on_card_latency(c);
}

uint64_t gp_on_card_finish(gp_on_card *c) {
    uint64_t last = 0;
    run_until(c, UINT64_MAX, NULL, 0);
    for (int i = 0; i < c->t->ncommands; i++)
        if (c->r->end[i] > last) last = c->r->end[i];
    return last;
}
