/* CUDA's events: a pool of them, positions in a queue, and their times on the host's clock. An
 * event's time is known to the device's clock only as a difference to another event; a reference,
 * recorded on an idle stream between two readings of the host's clock, ties both together. Clocks
 * drift, so the reference is renewed, if possible where the host has waited anyway. */
#include <cuda_runtime.h>

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "kernels/cuda/runtime/device.h"
#include "tensor/base/error.h"

/* ns: after this the clocks are compared again where the host has waited anyway, as they drift
 * apart; and, at the latest, before an event is recorded; and how long that may take, as the stream
 * for it may share a hardware queue with others' work. */
static const uint64_t clock_ns = 2000000000, clock_late_ns = 60000000000, clock_wait_ns = 1000000;

static cuda_pool *pool_of(gp_device *dev, bool timed) {
    cuda_device *d = gp_cuda_of(dev);
    return timed ? &d->timed : &d->marks;
}

/* An event, or NULL with *err. */
static void *acquire_event(gp_device *dev, bool timed, cudaError_t *err) {
    cuda_device *d = gp_cuda_of(dev);
    cuda_pool *from = pool_of(dev, timed);
    pthread_mutex_lock(&d->lock);
    void *event = from->n ? from->event[--from->n] : NULL;
    pthread_mutex_unlock(&d->lock);
    cudaEvent_t fresh = NULL;
    if (event) return event;
    *err = cudaEventCreateWithFlags(&fresh, timed ? cudaEventDefault : cudaEventDisableTiming);
    return *err == cudaSuccess ? fresh : NULL;
}

static void release_event(gp_device *dev, bool timed, void *event) {
    cuda_device *d = gp_cuda_of(dev);
    cuda_pool *to = pool_of(dev, timed);
    pthread_mutex_lock(&d->lock);
    bool keep = to->n < CUDA_EVENTS;
    if (keep) to->event[to->n++] = event;
    pthread_mutex_unlock(&d->lock);
    if (keep) return;
    gp_cuda_enter(dev);
    cudaEventDestroy((cudaEvent_t)event);
}

static void *need_event(gp_device *dev, bool timed) {
    cudaError_t err;
    void *event = acquire_event(dev, timed, &err);
    if (!event) gp_cuda_call_ok(dev, (int)err, "cudaEventCreate");
    return event;
}

void *gp_cuda_event_acquire(gp_device *dev) { return need_event(dev, true); }
void gp_cuda_event_release(gp_device *dev, void *event) { release_event(dev, true, event); }

void *gp_cuda_mark_try(gp_device *dev) {
    cudaError_t err;
    void *event = acquire_event(dev, false, &err);
    if (!event) cudaGetLastError();
    return event;
}
void gp_cuda_mark_release(gp_device *dev, void *event) { release_event(dev, false, event); }

/* ---- one clock ---- */

static void base_unref(gp_device *dev, cuda_base *b) {
    if (!b || atomic_fetch_sub(&b->refs, 1) != 1) return;
    gp_cuda_event_release(dev, b->event);
    free(b);
}

/* A time on both clocks: that of an event on a stream without work. Of several attempts, the one
 * with the shortest host interval counts; NULL where none ended within wait_ns. */
static cuda_base *read_clocks(gp_device *dev, uint64_t wait_ns) {
    cuda_device *d = gp_cuda_of(dev);
    cuda_base *best = NULL;
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 3; i++) {
        cuda_base *b = calloc(1, sizeof *b);
        if (!b || !(b->event = gp_cuda_event_acquire(dev))) return free(b), best;
        atomic_store(&b->refs, 1);
        uint64_t t0 = gp_now_ns();
        cudaError_t err = cudaEventRecord((cudaEvent_t)b->event, (cudaStream_t)d->clock);
        uint64_t t1 = t0;
        if (err == cudaSuccess) do {
                err = cudaEventQuery((cudaEvent_t)b->event);
                t1 = gp_now_ns();
            } while (err == cudaErrorNotReady && t1 - t0 < wait_ns && !gp_interrupted);
        b->ns = t0 + (t1 - t0) / 2;
        bool better = err == cudaSuccess && t1 - t0 < least;
        if (better) least = t1 - t0;
        cuda_base *worse = better ? best : b;
        if (better) best = b;
        base_unref(dev, worse);
    }
    cudaGetLastError();
    return best;
}

/* Compares the clocks again where the host has waited anyway. */
void gp_cuda_sync_clock(gp_device *dev) {
    cuda_device *d = gp_cuda_of(dev);
    pthread_mutex_lock(&d->lock);
    bool first = !d->base;
    bool due = first || gp_now_ns() - d->base->ns >= clock_ns;
    pthread_mutex_unlock(&d->lock);
    if (!due) return;
    gp_cuda_enter(dev); /* a wait that found all work done has not */
    cuda_base *fresh = read_clocks(dev, first ? clock_ns : clock_wait_ns);
    if (!fresh) return;
    pthread_mutex_lock(&d->lock);
    cuda_base *old = d->base;
    d->base = fresh;
    pthread_mutex_unlock(&d->lock);
    base_unref(dev, old);
}

/* ---- measuring ---- */

bool gp_cuda_event_synchronize(gp_device *dev, void *event) {
    uint64_t t0 = gp_now_ns();
    gp_cuda_enter(dev);
    cudaError_t err;
    while ((err = cudaEventQuery((cudaEvent_t)event)) == cudaErrorNotReady && !gp_interrupted)
        nanosleep(&(struct timespec){0, 20000}, NULL);
    cudaGetLastError();
    gp_cuda_called(dev, "cudaEventQuery", true, t0);
    if (err == cudaErrorNotReady) return gp_fail("interrupted while waiting for %s", dev->name);
    return err == cudaSuccess || gp_fail("%s: %s", dev->name, cudaGetErrorString(err));
}

/* ---- events ---- */

typedef struct cuda_event {
    gp_event e;      /* e.impl: cudaEvent_t */
    cuda_base *base; /* NULL: it has no time */
} cuda_event;

/* The device's clock as it is now, with a reference. A float of milliseconds is coarse after a
 * while: then the clocks are compared again. */
static cuda_base *acquire_base(gp_device *dev) {
    cuda_device *d = gp_cuda_of(dev);
    pthread_mutex_lock(&d->lock);
    bool late = gp_now_ns() - d->base->ns >= clock_late_ns;
    pthread_mutex_unlock(&d->lock);
    if (late) gp_cuda_sync_clock(dev);
    pthread_mutex_lock(&d->lock);
    cuda_base *base = d->base;
    atomic_fetch_add(&base->refs, 1);
    pthread_mutex_unlock(&d->lock);
    return base;
}

gp_event *gp_cuda_event_record(gp_stream *s, bool timed) {
    if (!gp_device_alive(s->dev, "event")) return NULL;
    gp_cuda_enter(s->dev);
    cuda_event *e = calloc(1, sizeof *e);
    void *event = e ? need_event(s->dev, timed) : NULL;
    if (!event) return free(e), e ? NULL : gp_fail_null("out of memory");
    cudaError_t err = cudaEventRecord((cudaEvent_t)event, (cudaStream_t)gp_cuda_queue(s)->stream);
    if (err != cudaSuccess) {
        free(e);
        release_event(s->dev, timed, event);
        return gp_cuda_failed(s, (int)err, "event"), NULL;
    }
    gp_cuda_queued(s, false);
    e->e = (gp_event){.stream = s, .ticket = atomic_load(&s->issued), .impl = event};
    if (timed) e->base = acquire_base(s->dev);
    return &e->e;
}

bool gp_cuda_event_done(gp_event *e) {
    gp_stream *s = e->stream;
    if (atomic_load_explicit(&s->completed, memory_order_acquire) >= e->ticket ||
        atomic_load(&s->dev->dead))
        return true;
    gp_cuda_enter(s->dev);
    cudaError_t err = cudaEventQuery((cudaEvent_t)e->impl);
    cudaGetLastError();
    return err == cudaSuccess || (err != cudaErrorNotReady && gp_cuda_reached(s, e->ticket));
}

bool gp_cuda_event_wait(gp_stream *s, gp_event *e) {
    bool done = gp_cuda_event_done(e); /* enters e's device */
    gp_cuda_enter(s->dev);
    if (done) return true;
    if (!gp_device_alive(s->dev, "wait")) return false;
    cudaError_t err =
        cudaStreamWaitEvent((cudaStream_t)gp_cuda_queue(s)->stream, (cudaEvent_t)e->impl, 0);
    if (err != cudaSuccess) return gp_cuda_failed(s, (int)err, "wait");
    gp_cuda_queued(s, false);
    return true;
}

bool gp_cuda_order_outside(gp_stream *s, uintptr_t queue, bool first) {
    if (!gp_device_alive(s->dev, "wait")) return false;
    gp_cuda_enter(s->dev);
    cudaStream_t own = (cudaStream_t)gp_cuda_queue(s)->stream, other = (cudaStream_t)queue;
    void *event = need_event(s->dev, false);
    if (!event) return false;
    cudaError_t err = cudaEventRecord((cudaEvent_t)event, first ? other : own);
    if (err == cudaSuccess) err = cudaStreamWaitEvent(first ? own : other, (cudaEvent_t)event, 0);
    release_event(s->dev, false, event);
    if (err != cudaSuccess) return gp_cuda_call_ok(s->dev, (int)err, "a stream of another library");
    if (first) gp_cuda_queued(s, false);
    return true;
}

double gp_cuda_event_time(gp_event *e) {
    cuda_base *base = ((cuda_event *)e)->base;
    float ms;
    if (!base) return NAN;
    gp_cuda_enter(e->stream->dev);
    cudaError_t err = cudaEventElapsedTime(&ms, (cudaEvent_t)base->event, (cudaEvent_t)e->impl);
    if (err != cudaSuccess) return cudaGetLastError(), NAN;
    return (double)base->ns * 1e-9 + (double)ms * 1e-3;
}

uint64_t gp_cuda_event_ns(gp_device *dev, void *event) {
    cuda_device *d = gp_cuda_of(dev);
    gp_cuda_enter(dev);
    pthread_mutex_lock(&d->lock);
    float ms;
    cudaError_t err = cudaEventElapsedTime(&ms, (cudaEvent_t)d->base->event, (cudaEvent_t)event);
    uint64_t ns = err == cudaSuccess ? d->base->ns + (uint64_t)(int64_t)((double)ms * 1e6) : 0;
    pthread_mutex_unlock(&d->lock);
    if (err != cudaSuccess) cudaGetLastError();
    return ns;
}

void gp_cuda_event_free(gp_event *e) {
    cuda_base *base = ((cuda_event *)e)->base;
    release_event(e->stream->dev, base != NULL, e->impl);
    base_unref(e->stream->dev, base);
    free(e);
}
