/* The registry of devices, streams, and gp_wait, the only place where the host blocks on a
 * device. */
#include "tensor/device/device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tensor/base/env.h"
#include "tensor/intercept.h"
#include "tensor/memory/alloc.h"
#include "tensor/device/backends.h"
#include "tensor/device/card/clock.h"
#include "tensor/device/stream/failure.h"
#include "tensor/device/stream/hazard.h"
#include "tensor/device/card/model.h"
#include "tensor/device/stream/queue.h"
#include "tensor/base/error.h"
#include "tensor/device/stream/thread.h"

enum { MOST_DEVICES = GP_MAX_DEVICES, MOST_STREAMS = GP_MAX_STREAMS };

gp_hooks gp_hook;
gp_srcloc (*gp_srcloc_script)(void);

static _Thread_local gp_srcloc forward, known;

void gp_srcloc_set_forward(gp_srcloc at) { forward = at; }

bool gp_srcloc_of_backward(void) { return forward.file != NULL; }

void gp_srcloc_set_known(gp_srcloc at) { known = at; }

gp_srcloc gp_srcloc_here(void) {
    if (forward.file || !gp_srcloc_script) return forward;
    return known.file ? known : gp_srcloc_script();
}

static gp_device *devices[MOST_DEVICES];
static atomic_int ndevices; /* read on any thread: a device is stored before it is counted */
static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local gp_stream *current[MOST_DEVICES]; /* by slot in devices[] */
static _Thread_local bool worker, loader, single;
static _Thread_local gp_flag stopped;
static atomic_int threads;
static atomic_bool deterministic;

static const char *const why_names[] = {
#define WHY(name) #name,
#include "tensor/device/why.def"
};
_Static_assert(sizeof why_names / sizeof *why_names == GP_WHYS, "a name for each gp_why");

const char *gp_why_name(gp_why why) { return why_names[why]; }

const char *gp_copy_name(gp_copy_kind kind) {
    static const char *const names[] = {"copy D2D", "copy H2D", "copy D2H"};
    _Static_assert(GP_COPY_D2D == 0 && GP_COPY_H2D == 1 && GP_COPY_D2H == 2, "names by number");
    return names[kind];
}

uint64_t gp_next_id(void) {
    static _Atomic uint64_t ids;
    return atomic_fetch_add_explicit(&ids, 1, memory_order_relaxed) + 1;
}

int gp_processors(void) {
    static atomic_int known; /* the system reads a file to tell */
    int n = atomic_load_explicit(&known, memory_order_relaxed);
    if (n) return n;
    n = (int)sysconf(_SC_NPROCESSORS_ONLN);
    atomic_store_explicit(&known, n < 1 ? 1 : n, memory_order_relaxed);
    return n < 1 ? 1 : n;
}

/* OMP_NUM_THREADS decides, as for every library in the process; without it, the number of
 * processors this process may run on. */
int gp_threads(void) {
    int n = atomic_load_explicit(&threads, memory_order_relaxed);
    if (!n) {
        int64_t asked = gp_env_number(GP_ENV_OMP_NUM_THREADS, gp_processors());
        gp_set_threads(asked < 256 ? (int)asked : 256);
        n = atomic_load_explicit(&threads, memory_order_relaxed);
    }
    return worker || loader || single ? 1 : n;
}

int gp_threads_free(void) {
    int n = gp_threads();
    gp_device *cpu = n > 1 ? gp_device_cpu() : NULL;
    if (!cpu || atomic_load_explicit(&cpu->streams[0]->alone, memory_order_relaxed)) return n;
    int left = gp_processors();
    for (int i = 1; i < cpu->nstreams; i++)
        left -= !cpu->streams[i]->deferred && gp_queue_busy(cpu->streams[i]);
    return left < 1 ? 1 : left < n ? left : n;
}

void gp_set_threads(int n) {
    atomic_store_explicit(&threads, n < 1 ? 1 : n > 256 ? 256 : n, memory_order_relaxed);
}
bool gp_deterministic(void) { return atomic_load_explicit(&deterministic, memory_order_relaxed); }
void gp_set_deterministic(bool on) {
    atomic_store_explicit(&deterministic, on, memory_order_relaxed);
}
void gp_thread_is_worker(void) { worker = true; }
bool gp_thread_worker(void) { return worker; }
void gp_thread_single(bool on) { single = on; }
void gp_thread_stop(void) { stopped = 1; }
bool gp_thread_stopped(void) { return !worker && (gp_interrupted || stopped); }
void gp_thread_is_loader(void) { loader = true; }
bool gp_thread_loader(void) { return loader; }

static gp_stream *stream_new(gp_device *dev, bool deferred);

/* With the registry's lock held. An open device stays until the program ends. */
static gp_device *device_open(const gp_device_vt *vt, int index) {
    if (ndevices == MOST_DEVICES)
        return gp_fail_null("no more than %d devices can be open", MOST_DEVICES);
    gp_device *dev = calloc(1, sizeof *dev);
    if (!dev) return gp_fail_null("out of memory");
    dev->vt = vt;
    dev->index = index;
    dev->slot = ndevices;
    if (!strcmp(vt->kind, "cpu")) snprintf(dev->name, sizeof dev->name, "cpu");
    else snprintf(dev->name, sizeof dev->name, "%s:%d", vt->kind, index);
    if ((vt->open && !vt->open(dev)) || !gp_alloc_open(dev) || !stream_new(dev, false))
        return free(dev->alloc), free(dev), NULL;
    if (vt->observe && atomic_load(&gp_hook.calls)) vt->observe(dev, GP_TRACE_CALLS, NULL);
    if (vt->observe && atomic_load(&gp_hook.device)) vt->observe(dev, GP_TRACE_BEGIN, NULL);
    devices[dev->slot] = dev;
    atomic_store(&ndevices, dev->slot + 1);
    return dev;
}

/* With the registry's lock held. Streams are reused, and never closed before the program ends. */
static gp_stream *stream_new(gp_device *dev, bool deferred) {
    if (dev->nstreams == MOST_STREAMS)
        return gp_fail_null("%s: no more than %d streams", dev->name, MOST_STREAMS);
    gp_stream *s = calloc(1, sizeof *s);
    if (!s) return gp_fail_null("out of memory");
    s->dev = dev;
    s->index = dev->nstreams;
    s->async = !dev->vt->on_host || s->index;
    s->deferred = deferred;
    atomic_init(&s->alone, !s->async);
    if (!dev->vt->stream_open(s)) return free(s), NULL;
    dev->streams[s->index] = s;
    if (s->index) atomic_store_explicit(&dev->streams[0]->alone, false, memory_order_relaxed);
    atomic_store(&dev->nstreams, s->index + 1);
    return s;
}

static gp_stream *acquire(gp_device *dev, bool deferred) {
    gp_lock(&registry);
    gp_stream *s = NULL;
    for (int i = 1; !s && i < dev->nstreams; i++) {
        gp_stream *one = dev->streams[i];
        if (one->deferred != deferred || atomic_load(&one->refs)) continue;
        if (!deferred || !gp_queue_busy(one)) s = one; /* it may have been handed over */
    }
    if (!s) s = stream_new(dev, deferred);
    if (s) atomic_fetch_add(&s->refs, 1);
    gp_unlock(&registry);
    return s;
}

gp_stream *gp_stream_acquire(gp_device *dev) { return acquire(dev, false); }

gp_stream *gp_stream_retain(gp_stream *s) {
    atomic_fetch_add(&s->refs, 1);
    return s;
}

void gp_stream_release(gp_stream *s) { atomic_fetch_sub(&s->refs, 1); }

gp_stream *gp_stream_current(gp_device *dev) {
    gp_stream *s = current[dev->slot];
    return s ? s : dev->streams[0];
}

void gp_stream_set_current(gp_stream *s) {
    if (s->deferred && s != gp_queue_own()) s = s->dev->streams[0];
    current[s->dev->slot] = s;
}

bool gp_defer_begin(gp_device *dev) {
    if (gp_queue_own() || worker || loader) return false;
    gp_stream *s = acquire(dev, true);
    if (!s) return gp_error_clear(), false;
    gp_queue_set_own(s);
    return true;
}

void gp_defer_end(void) {
    gp_stream *s = gp_queue_own();
    gp_queue_run_own();
    if (gp_thread_stopped()) gp_failure_collect(s, UINT64_MAX); /* the caller raises it */
    gp_queue_hand_over();
    gp_queue_set_own(NULL);
    gp_stream_release(s);
}

void gp_defer_run(void) { gp_queue_run_own(); }

void gp_defer_relieve(void) {
    enum { MUCH = 256 };
    gp_stream *s = gp_queue_own();
    if (s && gp_stream_queued(s) > MUCH) gp_queue_run_own();
}

gp_stream *gp_defer_stream(gp_stream *s) {
    gp_stream *own = gp_queue_own();
    if (s->deferred && s != own) s = s->dev->streams[0];
    return own && s == own->dev->streams[0] ? own : s;
}

/* With the registry's lock held. */
static gp_device *find_or_open(const gp_device_vt *vt, int index) {
    for (int i = 0; i < ndevices; i++)
        if (devices[i]->vt == vt && devices[i]->index == index) return devices[i];
    return device_open(vt, index);
}

gp_device *gp_device_cpu(void) {
    static _Atomic(gp_device *) known;
    gp_device *cpu = atomic_load_explicit(&known, memory_order_acquire);
    if (!cpu) {
        gp_lock(&registry);
        cpu = find_or_open(&gp_cpu_vt, 0);
        atomic_store_explicit(&known, cpu, memory_order_release);
        gp_unlock(&registry);
    }
    return cpu;
}

/* Splits "sim:1" into its kind and index; a missing index is -1. */
static bool split_name(const char *name, char *kind, size_t size, int *index) {
    size_t n = strcspn(name, ":");
    if (n == 0 || n >= size) return false;
    memcpy(kind, name, n);
    kind[n] = 0;
    *index = -1;
    if (!name[n]) return true;
    char *end;
    long i = strtol(name + n + 1, &end, 10);
    if (end == name + n + 1 || *end || i < 0 || i > 99) return false;
    return *index = (int)i, true;
}

/* With the registry's lock held. name: the whole name, for messages; index -1: it has none. "gpu"
 * falls back to sim, "cuda" does not. */
static gp_device *lookup(const char *kind, int index, const char *name) {
    if (!strcmp(kind, "gpu")) {
        const gp_device_vt *vt = gp_model_card() ? NULL : gp_cuda_vt();
        if (!vt && !gp_model_card()) gp_cuda_warn_unusable();
        return vt ? lookup("cuda", index, name) : lookup("sim", index, name);
    }
    if (!strcmp(kind, "cpu") && index <= 0) return find_or_open(&gp_cpu_vt, 0);
    if (!strcmp(kind, "sim")) {
        if (index < 0) index = 0;
        if (index >= gp_sim_count())
            return gp_fail_null(
                "device '%s': sim has %d device%s from sim:0 on (GPUSH_SIM_DEVICES sets how many)",
                name, gp_sim_count(), gp_sim_count() == 1 ? "" : "s");
        if (gp_model_card()) gp_clock_pause(); /* opening the stand-in is not the card's time */
        gp_device *dev = find_or_open(gp_sim_table(), index);
        if (gp_model_card()) gp_clock_resume();
        return dev;
    }
    if (!strcmp(kind, "cuda") && gp_model_card())
        return gp_fail_null(
            "device '%s': sim stands in for a card, on a clock that real ones do not "
            "keep (sim.card = nil ends that)",
            name);
    if (!strcmp(kind, "cuda")) {
        const gp_device_vt *vt = gp_cuda_vt();
        if (vt && index < 0) index = gp_cuda_take_card();
        return vt ? find_or_open(vt, index) : NULL;
    }
    return gp_fail_null(
        "unknown device '%.40s' (expected cpu, sim, cuda or gpu, with :N for one of several)",
        name);
}

gp_device *gp_device_get(const char *name) {
    char kind[16];
    int index;
    if (!split_name(name, kind, sizeof kind, &index))
        return gp_fail_null(
            "unknown device '%.40s' (expected cpu, sim, cuda or gpu, with :N for one of several)",
            name);
    gp_lock(&registry);
    gp_device *dev = lookup(kind, index, name);
    gp_unlock(&registry);
    return dev;
}

bool gp_device_alive(const gp_device *dev, const char *what) {
    const char *why = atomic_load_explicit(&dev->dead, memory_order_acquire);
    return !why ||
           gp_fail("%s: %s has been dead since an earlier error (%s); restart gpush to use it",
                   what, dev->name, why);
}

/* While the registry's lock is held by gp_device_change: streams as the other table has them. */
static void *others[MOST_DEVICES][MOST_STREAMS];

static void swap_impl(gp_device *dev, int i) {
    void **other = &others[dev->slot][i], *impl = dev->streams[i]->impl;
    dev->streams[i]->impl = *other;
    *other = impl;
}

/* Opens dev's streams as `to` has them, beside what they are now. */
static bool open_others(gp_device *dev, const gp_device_vt *to) {
    bool ok = true;
    for (int i = 0; ok && i < dev->nstreams; i++) {
        swap_impl(dev, i);
        ok = to->stream_open(dev->streams[i]);
        swap_impl(dev, i);
    }
    return ok;
}

/* Closes what open_others opened by `of`, as far as it came. */
static void close_others(gp_device *dev, const gp_device_vt *of) {
    for (int i = 0; i < dev->nstreams; i++) {
        swap_impl(dev, i);
        of->stream_close(dev->streams[i]);
        swap_impl(dev, i);
    }
}

/* All streams are drained, and all new ones open, before the first one changes. */
bool gp_device_change(const gp_device_vt *from, const gp_device_vt *to) {
    bool ok = true;
    for (int i = 0; ok && i < ndevices; i++)
        if (devices[i]->vt == from) ok = gp_wait_device(devices[i], GP_WHY_explicit, "card");
    if (!ok || from == to) return ok;
    gp_lock(&registry);
    for (int i = 0; ok && i < ndevices; i++)
        if (devices[i]->vt == from) ok = open_others(devices[i], to);
    for (int i = 0; i < ndevices; i++) {
        gp_device *dev = devices[i];
        if (dev->vt != from) continue;
        for (int k = 0; ok && k < dev->nstreams; k++) swap_impl(dev, k);
        close_others(dev, ok ? from : to);
        if (ok) dev->vt = to;
    }
    gp_unlock(&registry);
    return ok;
}

void gp_device_each(void (*fn)(gp_device *, void *), void *ctx) {
    for (int i = 0; i < ndevices; i++) fn(devices[i], ctx);
}

void gp_device_drain(void) {
    sig_atomic_t interrupted = gp_interrupted;
    for (int i = 0; i < ndevices; i++)
        for (int s = 0; s < devices[i]->nstreams; s++)
            while (devices[i]->vt->busy(devices[i]->streams[s])) {
                gp_interrupted = 0;
                if (!devices[i]->vt->drain(devices[i]->streams[s]) && !gp_interrupted) break;
            }
    gp_interrupted = interrupted;
}

/* Streams may wait for one another, so all are drained before the first is closed. */
void gp_device_shutdown(void) {
    gp_device_drain();
    for (int i = 0; i < ndevices; i++)
        for (int s = 0; s < devices[i]->nstreams; s++)
            devices[i]->vt->stream_close(devices[i]->streams[s]);
}

bool gp_wait_allowed(gp_stream *s, gp_why why, const char *what) {
    bool (*begin)(gp_stream *, gp_why, const char *) = GP_HOOK(wait_begin);
    return !begin || begin(s, why, what);
}

static void report(gp_stream *s, gp_why why, const char *what, uint64_t t0, uint64_t t1,
                   uint64_t queued) {
    void (*end)(gp_stream *, gp_why, const char *, uint64_t, uint64_t, uint64_t) =
        GP_HOOK(wait_end);
    if (end) end(s, why, what, t0, t1, queued);
}

void gp_wait_over(gp_stream *s, gp_why why, const char *what, uint64_t t0, uint64_t t1) {
    report(s, why, what, t0, t1, 1);
}

/* Waits, measures, reports: the body of every gp_wait. */
static bool wait_now(gp_stream *s, gp_event *e, gp_why why, const char *what) {
    const gp_device_vt *vt = s->dev->vt;
    uint64_t queued = gp_stream_queued(s), t0 = gp_now_ns();
    bool ok = e ? vt->event_drain(e) : vt->drain(s);
    report(s, why, what, t0, gp_now_ns(), queued);
    return ok;
}

/* After a wait for the first `upto` commands of s: raises what failed among them, and on a dead
 * device always, as nothing then shows what was done. */
static bool succeeded(gp_stream *s, uint64_t upto, const char *what) {
    return !gp_failure_collect(s, upto) && gp_device_alive(s->dev, what);
}

bool gp_wait_granted(gp_stream *s, gp_why why, const char *what) {
    gp_queue_run_own();
    return wait_now(s, NULL, why, what) && succeeded(s, UINT64_MAX, what);
}

/* What this thread has deferred runs first, here and below: that is its work, not a wait. */
static bool wait_idle(gp_stream *s, gp_why why, const char *what) {
    gp_queue_run_own();
    return !s->dev->vt->busy(s) || (gp_wait_allowed(s, why, what) && wait_now(s, NULL, why, what));
}

bool gp_wait(gp_stream *s, gp_why why, const char *what) {
    return gp_at(GP_AT_WAIT, what, &why) && wait_idle(s, why, what) &&
           succeeded(s, UINT64_MAX, what);
}

bool gp_wait_event(gp_event *e, gp_why why, const char *what) {
    gp_stream *s = e->stream;
    if (!gp_at(GP_AT_WAIT, what, &why)) return false;
    if (gp_queue_own() && !s->dev->vt->event_done(e)) gp_queue_run_own();
    bool ok =
        s->dev->vt->event_done(e) || (gp_wait_allowed(s, why, what) && wait_now(s, e, why, what));
    return ok && succeeded(s, e->ticket, what);
}

bool gp_wait_ticket(gp_stream *first, uint64_t upto, gp_why why, const char *what) {
    gp_event event = {.stream = first, .ticket = upto};
    if (first->collective && why == GP_WHY_join) why = GP_WHY_collective;
    return gp_wait_event(&event, why, what);
}

bool gp_wait_device(gp_device *dev, gp_why why, const char *what) {
    if (!gp_at(GP_AT_WAIT, what, &why)) return false;
    for (int d = 0; d < ndevices; d++)
        for (int i = 0; (!dev || dev == devices[d]) && i < devices[d]->nstreams; i++)
            if (!wait_idle(devices[d]->streams[i], why, what)) return false;
    return !gp_failure_collect_all(dev) && (!dev || gp_device_alive(dev, what));
}

bool gp_wait_not_full(gp_stream *s) {
    gp_queue_run_own();
    uint64_t queued = gp_stream_queued(s), t0 = gp_now_ns();
    bool ok = s->dev->vt->drain_half(s);
    report(s, GP_WHY_queue, "launch", t0, gp_now_ns(), queued);
    return ok;
}

bool gp_stream_wait_event(gp_stream *s, gp_event *e) {
    if (e->stream == s) return true;
    if (!s->async) return gp_wait_event(e, GP_WHY_join, "wait");
    if (e->stream->dev->vt == s->dev->vt) return gp_order_event(s, e);
    return gp_wait_event(e, GP_WHY_explicit, "wait_event");
}
