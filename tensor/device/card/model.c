/* sim with a card: books the time that the card would take for an op when it is queued, and
 * computes what is queued once the host asks how far the card is, while the host's clock stands
 * still. Computed earlier, between two launches, it would take the processor's caches and cores
 * from the script, whose time is measured. */
#include "tensor/device/card/model.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/device/backends.h"
#include "tensor/device/card/clock.h"
#include "tensor/device/stream/failure.h"
#include "tensor/device/stream/queue.h"
#include "tensor/device/card/schedule.h"
#include "tensor/device/stream/thread.h"
#include "tensor/memory/alloc.h"
#include "tensor/memory/hostmem.h"

static gp_card card;
static char label[48];
static uintptr_t host_bits; /* of a device's address */
static atomic_bool on;
static uint64_t host_ns;       /* an op's, of gp_model_set_host */
static uint64_t loader_ns;     /* a batch's, of gp_model_set_loader */
static int64_t script_ns = -1; /* an instruction's, of gp_model_set_script */

/* Of the player and the schedule; taken before a failure's locks, after an allocator's. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void report(void *unused, const gp_activity *ran) {
    void (*hook)(const gp_activity *) = GP_HOOK(device);
    (void)unused;
    if (hook) hook(ran);
}

static gp_schedule schedule = {.done = report};

/* Computes what all streams queue, in that order: an op comes after all that it can depend on. */
static gp_stream *player;
static int nplayed;          /* streams that are open */
static uint64_t deferred_ns; /* ns that the processor takes for what the player holds, about */
static double most;          /* bytes of the op with the most of them there */

const gp_card *gp_model_card(void) {
    return atomic_load_explicit(&on, memory_order_acquire) ? &card : NULL;
}
const char *gp_model_label(void) { return gp_model_card() ? label : NULL; }

char *gp_model_text(char *buf, size_t n) {
    double host = (double)gp_clock_op_ns() * 1e-3;
    if (n) *buf = 0;
    if (!gp_model_card()) return buf;
    if (host > 0) snprintf(buf, n, "%s, host %g us an op", label, host);
    else snprintf(buf, n, "%s, host as measured", label);
    return buf;
}

/* Its memory is the card's, or again a part of the host's. */
static void new_limit(gp_device *dev, void *unused) {
    (void)unused;
    if (!strcmp(dev->vt->kind, "sim")) gp_alloc_renew_limit(dev);
}

bool gp_model_set(const gp_card *to) {
    if (to && gp_cuda_opened())
        return gp_fail("sim.card: a cuda device is open, whose times are measured (expected a "
                       "program that uses sim alone)");
    if (!gp_device_change(gp_sim_table(), to ? &gp_sim_card_vt : &gp_sim_vt)) return false;
    if (to) {
        card = *to;
        snprintf(label, sizeof label, "modelled %s", to->name);
    }
    gp_clock_count_ops(to ? host_ns : 0);
    atomic_store_explicit(&on, to != NULL, memory_order_release);
    gp_device_each(new_limit, NULL);
    return true;
}

void gp_model_set_memory(double bytes) {
    card.figure[GP_FIGURE_memory] = bytes;
    gp_device_each(new_limit, NULL);
}

void gp_model_set_host(uint64_t ns) {
    host_ns = ns;
    if (gp_model_card()) gp_clock_count_ops(ns);
}

uint64_t gp_model_host(void) { return host_ns; }

void gp_model_set_script(int64_t ns) { script_ns = ns; }

uint64_t gp_model_script(void) {
    return script_ns < 0 ? gp_host_times(GP_HOST_script, 1) : (uint64_t)script_ns;
}

void gp_model_set_loader(uint64_t ns) { loader_ns = ns; }

uint64_t gp_model_loader(void) { return loader_ns; }

/* ---- times that are bounds ---- */

/* When each op was last launched whose time was a bound, and a copy, by a count of these. */
static _Atomic uint64_t bounds, last_bound[GP_OPS + 1];

static void note_bound(int id) { atomic_store(&last_bound[id], atomic_fetch_add(&bounds, 1) + 1); }

uint64_t gp_model_mark(void) { return atomic_load(&bounds); }

char *gp_model_bounds(uint64_t since, char buf[GP_BOUNDS_TEXT]) {
    *buf = 0;
    for (int i = 0; i <= GP_OPS && gp_model_mark() > since; i++)
        if (atomic_load(&last_bound[i]) > since)
            gp_card_list(buf, GP_BOUNDS_TEXT, i < GP_OPS ? gp_ops[i].name : "copy");
    return buf;
}

/* ---- the clock ---- */

static void enter(void) {
    gp_clock_pause();
    gp_lock(&lock);
}

/* Computes what is queued, with the lock held. That leaves other data in the processor's caches
 * than the script's: what reading it again takes is not the script's time either. */
static void compute(void) {
    if (player) gp_queue_finish(player);
    double cold = fmin(1e9 * gp_host_figure[GP_HOST_cold], (double)gp_host_work(most, 0));
    gp_clock_rest((uint64_t)cold);
    deferred_ns = 0, most = 0;
}

static void leave(gp_released *released) {
    gp_unlock(&lock);
    for (int i = 0; i < released->n; i++) {
        atomic_fetch_sub(&released->storage[i]->readers, 1);
        gp_storage_unref(released->storage[i]);
    }
    released->n = 0;
    gp_clock_resume();
}

/* Runs the card up to what the clock shows. What it has run was computed: the host may look. */
static void catch_up(void) {
    gp_released released = {.n = 0};
    bool done;
    do {
        enter();
        compute();
        done = gp_schedule_run(&schedule, gp_now_ns(), NULL, 0, &released);
        leave(&released);
    } while (!done);
}

static uint64_t ns(gp_figure figure) { return (uint64_t)(card.figure[figure] * 1e9 + 0.5); }

static bool reached(gp_stream *s, uint64_t ticket) {
    return atomic_load_explicit(&s->completed, memory_order_acquire) >= ticket;
}

/* The host waits until s has completed `ticket` items: its clock jumps to their end, and on by what
 * a wait takes. */
static void wait_ticket(gp_stream *s, uint64_t ticket) {
    gp_released released = {.n = 0};
    catch_up();
    if (reached(s, ticket)) return;
    bool done;
    do {
        enter();
        compute();
        done = gp_schedule_run(&schedule, UINT64_MAX, s, ticket, &released);
        if (done) gp_clock_jump(schedule.now + ns(GP_FIGURE_wait));
        leave(&released);
    } while (!done);
}

/* ---- entries of the device's table ---- */

/* With the lock held. */
static bool open_player(gp_stream *s, uintptr_t bits) {
    if (!player) player = gp_queue_player(s, bits);
    nplayed += player != NULL;
    return player != NULL;
}

static void close_player(void) {
    if (--nplayed) return;
    compute();
    gp_queue_close(player);
    free(player);
    player = NULL;
}

bool gp_model_open(gp_stream *s, uintptr_t bits) {
    host_bits = bits;
    gp_released none = {.n = 0};
    enter();
    gp_lane *lane = gp_lane_open(&schedule, s);
    bool ok = lane || gp_fail("out of memory");
    if (ok && !(ok = open_player(s, bits))) gp_lane_close(&schedule, lane);
    if (ok) s->impl = lane;
    leave(&none);
    return ok;
}

void gp_model_close(gp_stream *s) {
    gp_released none = {.n = 0};
    if (!s->impl) return;
    enter();
    gp_lane_close(&schedule, s->impl);
    close_player();
    s->impl = NULL;
    leave(&none);
}

/* Makes room for an item that launchers did not foresee. */
static void wait_not_full(gp_stream *s) {
    if (gp_stream_queued(s) >= GP_LANE_CAPACITY - 1)
        wait_ticket(s, atomic_load(&s->issued) - GP_LANE_CAPACITY / 2);
}

static void add(gp_stream *s, const gp_lane_item *item) { gp_lane_add(s->impl, item); }

/* ---- the host's memory ---- */

static _Atomic int64_t left; /* bytes that ops may write before the host is asked again */

/* Bytes of a tensor that an op makes whose pages are new. */
static size_t untouched(const gp_array *a, uintptr_t bits) {
    const char *lo, *hi;
    gp_array_extent(a, &lo, &hi);
    const void *p = (const void *)((uintptr_t)lo & bits);
    return hi > lo ? gp_host_untouched(p, (size_t)(hi - lo)) : 0;
}

static void give_back(void *data, size_t bytes) { /* of sim's: what was queued is computed */
    gp_host_empty((void *)((uintptr_t)data & host_bits), bytes);
}

/* Whether the host has the pages for what is about to be written: results are real, and lie in its
 * memory, which may be less than the card's. False with a message. */
static bool host_has(gp_stream *s, const char *what, const gp_array *const *a, int n) {
    enum { ASK_EACH = 256 << 20 };
    int64_t wanted = 0;
    for (int i = 0; i < n; i++) wanted += (int64_t)gp_cost_bytes(a[i]);
    if (atomic_fetch_sub(&left, wanted) >= wanted) return true;
    gp_released none = {.n = 0};
    enter();
    compute();
    leave(&none);
    size_t free_bytes = gp_host_free_bytes(), need = 0;
    for (int i = 0; i < n && free_bytes < (size_t)wanted; i++) need += untouched(a[i], host_bits);
    if (need > free_bytes) {
        gp_alloc_each_cached(s->dev, give_back);
        free_bytes = gp_host_free_bytes();
    }
    atomic_store(&left, free_bytes < ASK_EACH ? 0 : ASK_EACH);
    if (need <= free_bytes) return true;
    return gp_fail("%s: the host's memory is full, not the card's: results are computed here, and "
                   "%.1f MiB are to be written where %.1f MiB are left; %s holds %.1f MiB",
                   what, (double)need / 1048576, (double)free_bytes / 1048576, label,
                   (double)gp_alloc_in_use(s->dev) / 1048576);
}

/* Ctrl-C does not interrupt the player: it holds little at a time. */
static void defer_by(const gp_cost *cost) {
    enum { LONG = 1000000000 };
    deferred_ns += gp_host_work(cost->bytes, cost->ops);
    most = fmax(most, cost->bytes);
    if (deferred_ns > LONG) compute();
}

/* ---- kernels that are counted ---- */

/* Written by the player's thread, before its queue is finished. Calls have numbers in a record. */
static bool counted;
static uint64_t counted_id;
static gp_cost counted_cost;
static double counted_least;

void gp_model_counted(uint64_t id, const gp_cost *cost, double least) {
    counted = true, counted_id = id, counted_cost = *cost, counted_least = least;
}

double gp_model_least(uint64_t id) { return id && counted_id == id ? counted_least : 0; }

/* The time of a kernel of the user's, which is queued: it runs now, as what it costs is known only
 * once it has. With the lock held. */
static gp_card_time time_once_run(const gp_call *c, gp_card_time otherwise) {
    if (c->op->cost.fn != gp_cost_launched) return otherwise;
    counted = false;
    compute();
    return counted && counted_id == c->id ? gp_card_kernel(&card, &counted_cost) : otherwise;
}

/* Queues c's kernel, while the clock stands still. What fails is found by a later wait, as on a
 * card. False with a message when out of memory. */
static bool launch(gp_stream *s, gp_call *c) {
    gp_released none = {.n = 0};
    gp_cost cost = gp_call_cost(c);
    gp_card_time time = gp_card_kernel(&card, &cost);
    if (cost.passes && !host_has(s, c->name, c->outa, c->nout)) return false;
    wait_not_full(s);
    enter();
    gp_queue_play(player, s);
    bool ok = gp_queue_launch(player, c);
    defer_by(&cost);
    if (ok) time = time_once_run(c, time);
    if (time.at_least) note_bound(gp_op_id(c->op));
    if (ok)
        add(s, &(gp_lane_item){.kind = GP_LANE_KERNEL,
                               .ready = gp_now_ns() + (cost.passes ? ns(GP_FIGURE_launch) : 0),
                               .fixed = time.fixed,
                               .work = time.work,
                               .ran = {.s = s, .op = c->op, .id = c->id}});
    leave(&none);
    return ok;
}

static _Thread_local bool in_graph;

/* Where the host is measured, a launch takes it what the stand-in's does not. */
static void end_launch(void) {
    if (!gp_clock_op_ns() && !in_graph)
        gp_clock_jump(gp_now_ns() + (uint64_t)(1e9 * gp_host_figure[GP_HOST_launch]));
    gp_clock_resume();
}

bool gp_model_launch(gp_stream *s, gp_call *c) {
    gp_clock_pause();
    bool ok = launch(s, c);
    end_launch();
    return ok;
}

void gp_model_graph_begin(void) {
    if (!gp_model_card()) return;
    gp_clock_pause();
    in_graph = true;
}

void gp_model_graph_end(void) {
    if (!in_graph) return;
    in_graph = false;
    end_launch();
}

static bool copy(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind,
                 gp_storage *host, uint64_t id) {
    gp_released none = {.n = 0};
    gp_card_time time = gp_card_copy(&card, (double)bytes, !host || host->pinned, kind);
    gp_array to = {.data = dst, .ndim = 1, .dim = {(int64_t)bytes}, .stride = {1}};
    to.numel = to.dim[0], to.dtype = GP_u8;
    if (kind != GP_COPY_D2H && !host_has(s, "copy", &(const gp_array *){&to}, 1)) return false;
    if (time.at_least) note_bound(GP_OPS);
    wait_not_full(s);
    enter();
    gp_queue_play(player, s);
    gp_queue_copy(player, dst, src, bytes, kind, NULL, 0);
    defer_by(&(gp_cost){.bytes = 2 * (double)bytes});
    if (host) gp_storage_ref(host), atomic_fetch_add(&host->readers, 1);
    add(s, &(gp_lane_item){.kind = GP_LANE_COPY,
                           .direction = kind,
                           .ready = gp_now_ns() + ns(GP_FIGURE_launch),
                           .fixed = time.fixed,
                           .work = time.work,
                           .pinned = host,
                           .ran = {.s = s, .kind = gp_copy_name(kind), .id = id, .bytes = bytes}});
    leave(&none);
    return true;
}

bool gp_model_copy(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind,
                   gp_storage *host, uint64_t id) {
    gp_clock_pause();
    bool ok = copy(s, dst, src, bytes, kind, host, id);
    end_launch();
    return ok;
}

bool gp_model_busy(gp_stream *s) {
    catch_up();
    return gp_stream_queued(s) > 0;
}

bool gp_model_full(gp_stream *s) {
    if (gp_stream_queued(s) < GP_LANE_CAPACITY - 8) return false;
    catch_up();
    return gp_stream_queued(s) >= GP_LANE_CAPACITY - 8;
}

bool gp_model_drain(gp_stream *s) {
    wait_ticket(s, atomic_load(&s->issued));
    return true;
}

bool gp_model_drain_half(gp_stream *s) {
    wait_ticket(s, atomic_load(&s->issued) - GP_LANE_CAPACITY / 2);
    return true;
}

gp_event *gp_model_event_record(gp_stream *s, bool timed) {
    gp_released none = {.n = 0};
    gp_event *e = gp_queue_event_new(s, 2);
    if (!e) return NULL;
    wait_not_full(s);
    enter();
    add(s, &(gp_lane_item){.kind = GP_LANE_RECORD, .ready = gp_now_ns(), .stamp = e->impl});
    e->ticket = atomic_load(&s->issued);
    leave(&none);
    return e;
}

bool gp_model_event_done(gp_event *e) {
    if (reached(e->stream, e->ticket)) return true;
    catch_up();
    return reached(e->stream, e->ticket);
}

bool gp_model_event_drain(gp_event *e) {
    wait_ticket(e->stream, e->ticket);
    return true;
}

bool gp_model_event_wait(gp_stream *s, gp_event *e) {
    gp_released none = {.n = 0};
    if (reached(e->stream, e->ticket)) return true;
    wait_not_full(s);
    enter();
    add(s, &(gp_lane_item){
               .kind = GP_LANE_WAIT, .ready = gp_now_ns(), .on = e->stream, .ticket = e->ticket});
    leave(&none);
    return true;
}
