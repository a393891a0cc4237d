/* The CUDA device: opening it, its memory and streams, and the host's waits for it. It makes every
 * call of the CUDA runtime that blocks or may block, and times it; copies' calls are in copy.c,
 * those for pinned memory in pinned.c. */
#include <cuda_runtime.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "tensor/memory/alloc.h"
#include "tensor/device/plugin_api.h"
#ifndef GP_WITHOUT_DIST
#include "kernels/cuda/dist/watch.h"
#endif
#include "kernels/cuda/runtime/device.h"
#include "kernels/cuda/runtime/timed.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    MAX_QUEUED = 950,      /* items: CUDA blocks launches at about 1024; an op may be several */
    MAX_STAGED = 64 << 20, /* bytes of staging memory that a stream may have in its queue */
    MAX_NOTED = CUDA_NOTES - 64, /* slots for faults; an op takes up to 64 */
    PINNED_PART = 64, /* of a card's memory: large pinned blocks that stay without a use */
    SPIN_NS = 100000, /* a wait polls without a pause for this long, */
    PAUSE_PART = 16,  /* then sleeps between polls for this part of the time that it has waited, */
    PAUSE_LEAST_NS = 5000,
    PAUSE_MOST_NS = 50000
};
_Static_assert(CUDA_MARKS *CUDA_MARK_EVERY > MAX_QUEUED, "the marks of a full queue have room");

/* ---- errors ---- */

/* cudaGetDevice says 0 on a thread that has no context, too: cudaSetDevice makes one current, which
 * calls of the driver need. */
void gp_cuda_enter(const gp_device *dev) {
    static _Thread_local bool entered;
    int now;
    if (entered && !cudaGetDevice(&now) && now == dev->index) return;
    entered = cudaSetDevice(dev->index) == cudaSuccess;
}

/* A sticky error makes every later call fail with it. */
static bool stays(gp_device *dev, cudaError_t err) {
    gp_cuda_enter(dev);
    cudaGetLastError();
    cudaError_t again = cudaStreamQuery((cudaStream_t)gp_cuda_of(dev)->clock);
    cudaGetLastError();
    return again == err;
}

/* The plug-in has no code for the card, or PTX that is too new for the driver. */
static const char *hint(cudaError_t err) {
    bool no_code = err == cudaErrorUnsupportedPtxVersion || err == cudaErrorNoKernelImageForDevice;
    return no_code ? "; gpush doctor says what to do" : "";
}

bool gp_cuda_failed(gp_stream *s, int error, const char *what) {
    cudaError_t err = (cudaError_t)error;
    gp_device *dev = s->dev;
    cuda_device *d = gp_cuda_of(dev);
    char last[200] = "";
    const char *op = atomic_load(&s->last_op);
    const char *file = atomic_load(&s->last_file);
    if (op && file)
        snprintf(last, sizeof last, "; last queued: %s (%.100s:%d)", op, file,
                 atomic_load(&s->last_line));
    if (!what) what = dev->name;
    if (!gp_device_alive(dev, what)) return false;
    if (!stays(dev, err))
        return gp_fail("%s: %s (%s) on %s%s%s", what, cudaGetErrorString(err),
                       cudaGetErrorName(err), dev->name, last, hint(err));
    pthread_mutex_lock(&d->lock); /* others may find the same, and read the text once it is set */
    if (!atomic_load(&dev->dead))
        snprintf(d->why, sizeof d->why, "%s, %s", cudaGetErrorName(err), cudaGetErrorString(err));
    atomic_store_explicit(&dev->dead, d->why, memory_order_release);
    pthread_mutex_unlock(&d->lock);
    return gp_fail(
        "%s: %s (%s)%s. %s is dead: its tensors are lost, cpu tensors and the shell still work",
        what, cudaGetErrorString(err), cudaGetErrorName(err), last, dev->name);
}

bool gp_cuda_call_ok(gp_device *dev, int error, const char *what) {
    cudaError_t err = (cudaError_t)error;
    if (err == cudaSuccess) return true;
    gp_stream *s = dev->nstreams ? dev->streams[0] : NULL;
    if (s) return gp_cuda_failed(s, (int)err, what);
    cudaGetLastError();
    return gp_fail("%s: %s: %s (%s)", dev->name, what, cudaGetErrorString(err),
                   cudaGetErrorName(err));
}

void gp_cuda_called(gp_device *dev, const char *what, bool first, uint64_t t0) {
    void (*hook)(gp_device *, const char *, bool, uint64_t, uint64_t) = GP_HOOK(call);
    if (hook) hook(dev, what, first, t0, gp_now_ns());
}

/* ---- opening ---- */

/* Before the first call of CUDA, unless the user decided: streams share 8 hardware queues by
 * default, where one's work waits for another's; 32 is the most. And cuDNN's recurrent layers use
 * cuBLAS on streams of their own, which is deterministic only with a workspace of a given size,
 * here 8 of 4 MiB. Sources: NVIDIA's CUDA C++ Programming Guide, "CUDA Environment Variables"; its
 * documentation of cuBLAS, "Results reproducibility". */
static void set_environment(void) {
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
}

/* The number of devices; 0 with the reason where there is none, below 0 where there is a driver
 * that cannot be used. */
static int count_devices(char *why, size_t size) {
    int n = 0;
    set_environment();
    cudaError_t err = cudaGetDeviceCount(&n);
    cudaGetLastError();
    if (err == cudaSuccess && n > 0) return n;
    int driver = 0;
    cudaDriverGetVersion(&driver);
    cudaGetLastError();
    if (err == cudaErrorInsufficientDriver && driver)
        snprintf(why, size,
                 "cuda: the driver is for CUDA %d.%d, and this build of gpush needs %d.%d: update "
                 "the driver, or build gpush with a toolkit of CUDA %d",
                 driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000,
                 CUDART_VERSION % 1000 / 10, driver / 1000);
    else if (err == cudaErrorInsufficientDriver)
        snprintf(why, size, "cuda: there is no NVIDIA driver");
    else
        snprintf(why, size, "cuda: %s",
                 err == cudaSuccess ? "there is no CUDA device" : cudaGetErrorString(err));
    return driver && err != cudaSuccess && err != cudaErrorNoDevice ? -1 : 0;
}

static bool describe(gp_device *dev) {
    cuda_device *d = gp_cuda_of(dev);
    struct cudaDeviceProp p;
    cudaError_t err = cudaGetDeviceProperties(&p, dev->index);
    if (err != cudaSuccess) return gp_cuda_call_ok(dev, (int)err, "cudaGetDeviceProperties");
    snprintf(d->model, sizeof d->model, "%.63s", p.name);
    d->sms = p.multiProcessorCount;
    d->arch = p.major * 10 + p.minor;
    d->bytes = p.totalGlobalMem;
    if (d->arch >= 75) return true;
    return gp_fail("%s: %s has compute capability %d.%d; 7.5 or more is needed", dev->name,
                   d->model, p.major, p.minor);
}

/* Makes the marks of faults that kernels have met, all 0. */
static bool make_seen(gp_device *dev) {
    cuda_device *d = gp_cuda_of(dev);
    size_t bytes = (size_t)GP_MAX_STREAMS * CUDA_NOTES * sizeof *d->seen;
    cudaError_t err;
    GP_CUDA_TIMED(dev, err, true, cudaMalloc, ((void **)&d->seen, bytes));
    if (err == cudaSuccess) err = cudaMemsetAsync(d->seen, 0, bytes, (cudaStream_t)d->clock);
    return err == cudaSuccess || gp_cuda_call_ok(dev, (int)err, "cudaMalloc");
}

/* Makes the device's context, which takes almost a second. */
static bool set_up(gp_device *dev) {
    cuda_device *d = gp_cuda_of(dev);
    size_t left;
    cudaError_t err;
    cudaSetDevice(dev->index);
    GP_CUDA_TIMED(dev, err, true, cudaMemGetInfo, (&left, &d->bytes));
    if (err != cudaSuccess) return gp_cuda_call_ok(dev, (int)err, "cudaMemGetInfo");
    cudaStream_t clock = NULL;
    err = cudaStreamCreateWithFlags(&clock, cudaStreamNonBlocking);
    if (err != cudaSuccess) return gp_cuda_call_ok(dev, (int)err, "cudaStreamCreate");
    d->clock = clock;
    if (!make_seen(dev)) return false;
    gp_cuda_sync_clock(dev); /* that stream has then cleared the marks */
    return d->base || gp_fail("%s: its clock cannot be read", dev->name);
}

/* Warns once: with this setting nothing overlaps, and times mean nothing. */
static void warn_of_blocking(void) {
    static atomic_bool reported;
    const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
    if (blocking && *blocking && strcmp(blocking, "0") && !atomic_exchange(&reported, true))
        fprintf(stderr, "gpush: CUDA_LAUNCH_BLOCKING=%s: every launch waits until it is done\n",
                blocking);
}

static bool open_device(gp_device *dev) {
    char why[200];
    int n = count_devices(why, sizeof why);
    if (n < 1) return gp_fail("%s", why);
    if (dev->index >= n)
        return gp_fail("device '%s': there is only cuda:0 … cuda:%d", dev->name, n - 1);
    cuda_device *d = calloc(1, sizeof *d);
    if (!d) return gp_fail("out of memory");
    pthread_mutex_init(&d->lock, NULL);
    dev->impl = d;
    if (describe(dev) && set_up(dev)) return warn_of_blocking(), true;
    if (d->seen) cudaFree(d->seen);
    if (d->clock) cudaStreamDestroy((cudaStream_t)d->clock);
    cudaGetLastError();
    dev->impl = NULL;
    free(d);
    return false;
}

/* ---- memory ---- */

static void shed(gp_device *dev) {
    gp_cuda_shed(dev);
    gp_cuda_pinned_trim(dev, 0);
}

enum { INDICES = 64 };
static _Atomic size_t held[INDICES]; /* bytes, by the device's index */

/* What is free, and what is held of it: other programs, and the driver, have the rest. Under WSL2
 * CUDA does not refuse more than that, and is ten times slower. */
static size_t capacity(gp_device *dev) {
    size_t left = 0, all;
    gp_cuda_enter(dev);
    if (cudaMemGetInfo(&left, &all) != cudaSuccess) return cudaGetLastError(), 0;
    return left + atomic_load(&held[dev->index % INDICES]);
}

static void *mem_alloc(gp_device *dev, size_t bytes) {
    if (!gp_device_alive(dev, "allocation")) return NULL;
    gp_cuda_enter(dev);
    void *p = NULL;
    cudaError_t err;
    GP_CUDA_TIMED(dev, err, false, cudaMalloc, (&p, bytes));
    if (err == cudaSuccess) return atomic_fetch_add(&held[dev->index % INDICES], bytes), p;
    cudaGetLastError();
    if (err != cudaErrorMemoryAllocation) gp_cuda_call_ok(dev, (int)err, "allocation");
    return NULL; /* no message: out of memory, which the allocator's ladder handles */
}

static void mem_free(gp_device *dev, void *p, size_t bytes) {
    if (atomic_load(&dev->dead)) return;
    gp_cuda_enter(dev);
    cudaError_t err;
    GP_CUDA_TIMED(dev, err, false, cudaFree, (p));
    atomic_fetch_sub(&held[dev->index % INDICES], bytes);
    if (err != cudaSuccess) cudaGetLastError();
}

/* ---- streams ---- */

static bool stream_open(gp_stream *s) {
    cuda_stream *q = calloc(1, sizeof *q);
    if (!q) return gp_fail("out of memory");
    cudaStream_t stream = NULL;
    gp_cuda_enter(s->dev);
    cudaError_t err = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (err != cudaSuccess) return free(q), gp_cuda_call_ok(s->dev, (int)err, "cudaStreamCreate");
    pthread_mutex_init(&q->lock, NULL);
    q->stream = stream;
    q->last = &q->later;
    s->impl = q;
    return true;
}

/* Called at the end of the program, after all queues were drained. */
static void stream_close(gp_stream *s) {
    cuda_stream *q = gp_cuda_queue(s);
    if (!q) return;
    gp_cuda_reached(s, atomic_load(&s->issued));
    gp_cuda_enter(s->dev);
    cudaStreamDestroy((cudaStream_t)q->stream);
    for (int l = 1; l < CUDA_LANES; l++)
        if (q->lane[l]) cudaStreamDestroy((cudaStream_t)q->lane[l]);
    if (q->side) cudaStreamDestroy((cudaStream_t)q->side);
    if (q->staging) gp_storage_unref(q->staging);
    s->impl = NULL;
    if (q->fault_block) gp_cuda_block_release(s->dev, q->fault_block);
    free(q->notes);
    free(q);
}

static bool busy(gp_stream *s) { return !gp_cuda_reached(s, atomic_load(&s->issued)); }

/* Whether s has a part-th of what it may have in its queue. */
static bool crowded(gp_stream *s, unsigned part) {
    cuda_stream *q = gp_cuda_queue(s);
    return atomic_load(&q->items) - atomic_load(&q->items_done) >= MAX_QUEUED / part ||
           atomic_load(&q->staged) >= MAX_STAGED / part ||
           atomic_load(&q->noted) - atomic_load(&q->settled) >= MAX_NOTED / part;
}

static bool full(gp_stream *s) { return crowded(s, 1) && busy(s) && crowded(s, 1); }

/* ---- waiting ---- */

/* Between polls of a wait that began at `since`: looks at other ranks, and ends late by about a
 * sixteenth of the wait. The system's timers are 50 us late unless the thread asks for less. */
static void poll_pause(uint64_t since) {
#ifndef GP_WITHOUT_DIST
    gp_cuda_dist_watch();
#endif
    static _Thread_local bool precise;
    uint64_t waited = gp_now_ns() - since, ns = waited / PAUSE_PART;
    if (waited < SPIN_NS) return;
    if (!precise) precise = true, prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    ns = ns < PAUSE_LEAST_NS ? PAUSE_LEAST_NS : ns > PAUSE_MOST_NS ? PAUSE_MOST_NS : ns;
    nanosleep(&(struct timespec){0, (long)ns}, NULL);
}

/* While a graph is made, its stream can neither be asked nor waited for. */
static bool may_wait(const gp_stream *s) {
    return !gp_cuda_building() || gp_fail("%s: a graph needs more memory", s->dev->name);
}

/* After a wait: what is freed may wait for the device. */
static void give_back(gp_stream *s) {
    gp_cuda_give_back(s);
    gp_cuda_pinned_trim(s->dev, gp_cuda_of(s->dev)->bytes / PINNED_PART);
}

bool gp_cuda_wait_for(gp_stream *s, uint64_t ticket) {
    if (!may_wait(s)) return false;
    for (uint64_t t0 = gp_now_ns(); !gp_cuda_reached(s, ticket); poll_pause(t0))
        if (gp_interrupted) return gp_fail("interrupted while waiting for %s", s->dev->name);
    give_back(s);
    return true;
}

static bool drain_half(gp_stream *s) {
    if (!may_wait(s)) return false;
    for (uint64_t t0 = gp_now_ns(); crowded(s, 2) && busy(s); poll_pause(t0))
        if (gp_interrupted) return gp_fail("interrupted while waiting for %s", s->dev->name);
    return true;
}

static bool drain(gp_stream *s) {
    bool ok = gp_cuda_wait_for(s, atomic_load(&s->issued));
    ok = gp_cuda_deferred_copies(s, ok) && ok;
    if (ok && !atomic_load(&s->dev->dead)) gp_cuda_sync_clock(s->dev);
    return ok;
}

static bool event_drain(gp_event *e) {
    if (!may_wait(e->stream)) return false;
    for (uint64_t t0 = gp_now_ns(); !gp_cuda_event_done(e); poll_pause(t0))
        if (gp_interrupted)
            return gp_fail("interrupted while waiting for %s", e->stream->dev->name);
    gp_cuda_reached(e->stream, e->ticket); /* does what was due, and finds a fault */
    give_back(e->stream);
    return true;
}

/* ---- exported to the program ---- */

static const gp_device_vt vt = {
    .kind = "cuda",
    .open = open_device,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .segments = true,
    .shed = shed,
    .stream_open = stream_open,
    .stream_close = stream_close,
    .launch = gp_cuda_launch,
#ifndef GP_WITHOUT_CAPTURE
    .fuses = gp_cuda_fuses,
#endif
    .graph_begin = gp_cuda_graph_begin,
    .graph_part = gp_cuda_graph_part,
    .graph_end = gp_cuda_graph_end,
    .graph_launch = gp_cuda_graph_launch,
    .graph_free = gp_cuda_graph_free,
    .copy = gp_cuda_copy,
    .saves = gp_cuda_saves,
    .capacity = capacity,
    .busy = busy,
    .full = full,
    .drain = drain,
    .drain_half = drain_half,
    .event_record = gp_cuda_event_record,
    .event_done = gp_cuda_event_done,
    .event_drain = event_drain,
    .event_wait = gp_cuda_event_wait,
    .order_outside = gp_cuda_order_outside,
    .event_time = gp_cuda_event_time,
    .event_free = gp_cuda_event_free,
    .observe = gp_cuda_observe,
};

EXPORT int gp_cuda_probe(char *text, size_t size) {
    int n = count_devices(text, size);
    size_t at = 0;
    for (int i = 0; i < n && at < size; i++) {
        struct cudaDeviceProp p;
        if (cudaGetDeviceProperties(&p, i) != cudaSuccess) continue;
        at += (size_t)snprintf(text + at, size - at,
                               "%scuda:%d, %s, compute capability %d.%d, %.1f GiB", i ? "\n" : "",
                               i, p.name, p.major, p.minor, (double)p.totalGlobalMem / 1073741824);
    }
    return n;
}

EXPORT const gp_device_vt *gp_cuda_open(const gp_core *core, char *why, size_t size) {
    if (!gp_core_import(core)) {
        snprintf(why, size, "cuda: the plug-in was built with another version of gpush");
        return NULL;
    }
    gp_cuda_watch_open();
    gp_cuda_launch_open();
    return count_devices(why, size) > 0 ? &vt : NULL;
}
