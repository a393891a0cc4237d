/* The CUDA device: its functions, and every call of the CUDA runtime that blocks or may block,
 * timed. */
#include <cuda_runtime.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tensor/device/alloc.h"
#include "tensor/device/plugin_api.h"
#include "kernels/cuda/runtime/device.h"
#include "tensor/op.h"

#define EXPORT __attribute__((visibility("default")))

enum {
    QUEUE = 950,         /* items: CUDA blocks a launch at about 1024, and an op may be several */
    OWN_PAGES = 2 << 20, /* host blocks from here on are mapped on their own (hostmem.c) and can be
                            page-locked; */
                         /* smaller copies are staged in pinned memory */
    STAGED = 64 << 20,   /* bytes of staging memory that a stream may have in its queue */
    SPIN_NS = 100000,    /* a wait polls as fast as it can, */
    NAP_NS = 50000       /* then sleeps between looks */
};

/* ---- errors ---- */

void gp_cuda_enter(const gp_device *dev) {
    int now;
    if (cudaGetDevice(&now) || now != dev->index) cudaSetDevice(dev->index);
}

bool gp_cuda_alive(const gp_device *dev, const char *what) {
    const cuda_device *d = gp_cuda_of(dev);
    if (!atomic_load_explicit(&d->dead, memory_order_acquire)) return true;
    return gp_fail("%s: %s is dead since an earlier error (%s); start gpush again to use it", what,
                   dev->name, d->why);
}

/* An error that stays makes every later call fail with it. */
static bool stays(gp_device *dev, cudaError_t err) {
    gp_cuda_enter(dev);
    cudaGetLastError();
    cudaError_t again = cudaStreamQuery((cudaStream_t)gp_cuda_of(dev)->clock);
    cudaGetLastError();
    return again == err;
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
    if (atomic_load(&d->dead)) return gp_cuda_alive(dev, what);
    if (!stays(dev, err))
        return gp_fail("%s: %s (%s) on %s%s", what, cudaGetErrorString(err), cudaGetErrorName(err),
                       dev->name, last);
    snprintf(d->why, sizeof d->why, "%s, %s", cudaGetErrorName(err), cudaGetErrorString(err));
    atomic_store_explicit(&d->dead, true, memory_order_release);
    return gp_fail(
        "%s: %s (%s)%s. %s is dead: its tensors are lost, cpu tensors and the shell go on", what,
        cudaGetErrorString(err), cudaGetErrorName(err), last, dev->name);
}

/* err of a call that belongs to no stream. */
static bool call_ok(gp_device *dev, cudaError_t err, const char *what) {
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

/* Makes a call that may block, and tells of it. */
#define TIMED(dev, err, first, function, args)                                                     \
    do {                                                                                           \
        uint64_t t0_ = gp_now_ns();                                                                \
        gp_cuda_own_calls++;                                                                       \
        err = function args;                                                                       \
        gp_cuda_own_calls--;                                                                       \
        gp_cuda_called(dev, #function, first, t0_);                                                \
    } while (0)

/* ---- pools ---- */

cuda_block *gp_cuda_block_take(gp_device *dev, size_t bytes) {
    cuda_device *d = gp_cuda_of(dev);
    int size_class = 12;
    while (size_class < CUDA_CLASSES - 1 && (size_t)1 << size_class < bytes) size_class++;
    pthread_mutex_lock(&d->lock);
    cuda_block *b = d->blocks[size_class];
    if (b) d->blocks[size_class] = b->next;
    pthread_mutex_unlock(&d->lock);
    if (b || !(b = calloc(1, sizeof *b))) return b ? b : gp_fail_null("out of memory");
    cudaError_t err;
    b->size_class = size_class;
    TIMED(dev, err, false, cudaHostAlloc,
          ((void **)&b->data, (size_t)1 << size_class, cudaHostAllocPortable));
    if (err == cudaSuccess) return b;
    free(b);
    call_ok(dev, err, "pinned host memory");
    return NULL;
}

void gp_cuda_block_give(gp_device *dev, cuda_block *b) {
    cuda_device *d = gp_cuda_of(dev);
    pthread_mutex_lock(&d->lock);
    b->next = d->blocks[b->size_class];
    d->blocks[b->size_class] = b;
    pthread_mutex_unlock(&d->lock);
}

/* ---- opening ---- */

static int count_devices(char *why, size_t size) {
    int n = 0;
    cudaError_t err = cudaGetDeviceCount(&n);
    cudaGetLastError();
    if (err == cudaSuccess && n > 0) return n;
    snprintf(why, size, "cuda: %s",
             err == cudaSuccess ? "there is no CUDA device" : cudaGetErrorString(err));
    return 0;
}

static bool describe(gp_device *dev) {
    cuda_device *d = gp_cuda_of(dev);
    struct cudaDeviceProp p;
    cudaError_t err = cudaGetDeviceProperties(&p, dev->index);
    if (err != cudaSuccess) return call_ok(dev, err, "cudaGetDeviceProperties");
    snprintf(d->model, sizeof d->model, "%.63s", p.name);
    d->sms = p.multiProcessorCount;
    d->arch = p.major * 10 + p.minor;
    d->bytes = p.totalGlobalMem;
    if (d->arch >= 75) return true;
    return gp_fail("%s: %s has compute capability %d.%d; 7.5 or more is needed", dev->name,
                   d->model, p.major, p.minor);
}

/* Makes the device's context, which takes a good part of a second. */
static bool set_up(gp_device *dev) {
    cuda_device *d = gp_cuda_of(dev);
    size_t left;
    cudaError_t err;
    cudaSetDevice(dev->index);
    TIMED(dev, err, true, cudaMemGetInfo, (&left, &d->bytes));
    if (err != cudaSuccess) return call_ok(dev, err, "cudaMemGetInfo");
    cudaStream_t clock = NULL;
    err = cudaStreamCreateWithFlags(&clock, cudaStreamNonBlocking);
    if (err != cudaSuccess) return call_ok(dev, err, "cudaStreamCreate");
    d->clock = clock;
    gp_cuda_keep_time(dev);
    return d->base || gp_fail("%s: its clock cannot be read", dev->name);
}

/* Said once: with this setting nothing overlaps, and no time means anything. */
static void tell_of_settings(void) {
    static atomic_bool told;
    const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
    if (blocking && *blocking && strcmp(blocking, "0") && !atomic_exchange(&told, true))
        fprintf(stderr, "gpush: CUDA_LAUNCH_BLOCKING=%s: every launch waits until it is done\n",
                blocking);
}

static bool open_device(gp_device *dev) {
    char why[200];
    int n = count_devices(why, sizeof why);
    if (!n) return gp_fail("%s", why);
    if (dev->index >= n)
        return gp_fail("device '%s': there is only cuda:0 … cuda:%d", dev->name, n - 1);
    cuda_device *d = calloc(1, sizeof *d);
    if (!d) return gp_fail("out of memory");
    pthread_mutex_init(&d->lock, NULL);
    dev->impl = d;
    if (describe(dev) && set_up(dev)) return tell_of_settings(), true;
    dev->impl = NULL;
    free(d);
    return false;
}

static size_t capacity(gp_device *dev) { return gp_cuda_of(dev)->bytes; }

/* ---- memory ---- */

static void *mem_alloc(gp_device *dev, size_t bytes) {
    if (!gp_cuda_alive(dev, "allocation")) return NULL;
    gp_cuda_enter(dev);
    void *p = NULL;
    cudaError_t err;
    TIMED(dev, err, false, cudaMalloc, (&p, bytes));
    if (err == cudaSuccess) return p;
    cudaGetLastError();
    if (err != cudaErrorMemoryAllocation) call_ok(dev, err, "allocation");
    return NULL; /* no message: out of memory, and the allocator has a ladder for that */
}

static void mem_free(gp_device *dev, void *p, size_t bytes) {
    if (atomic_load(&gp_cuda_of(dev)->dead)) return;
    gp_cuda_enter(dev);
    cudaError_t err;
    TIMED(dev, err, false, cudaFree, (p));
    if (err != cudaSuccess) cudaGetLastError();
}

/* ---- streams ---- */

static bool stream_open(gp_stream *s) {
    cuda_stream *q = calloc(1, sizeof *q);
    if (!q) return gp_fail("out of memory");
    cudaStream_t stream = NULL;
    gp_cuda_enter(s->dev);
    cudaError_t err = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (err != cudaSuccess) return free(q), call_ok(s->dev, err, "cudaStreamCreate");
    pthread_mutex_init(&q->lock, NULL);
    q->stream = stream;
    q->last = &q->later;
    s->impl = q;
    return true;
}

/* At the end of the program, after all queues were drained. */
static void stream_close(gp_stream *s) {
    cuda_stream *q = gp_cuda_queue(s);
    if (!q) return;
    gp_cuda_reached(s, atomic_load(&s->issued));
    gp_cuda_enter(s->dev);
    cudaStreamDestroy((cudaStream_t)q->stream);
    s->impl = NULL;
    if (q->fault_block) gp_cuda_block_give(s->dev, q->fault_block);
    free(q->notes);
    free(q);
}

static bool busy(gp_stream *s) { return !gp_cuda_reached(s, atomic_load(&s->issued)); }

static bool crowded(gp_stream *s, uint64_t items, size_t staged) {
    cuda_stream *q = gp_cuda_queue(s);
    return atomic_load(&q->items) - atomic_load(&q->items_done) >= items ||
           atomic_load(&q->staged) >= staged;
}

static bool full(gp_stream *s) {
    return crowded(s, QUEUE, STAGED) && busy(s) && crowded(s, QUEUE, STAGED);
}

static void nap(uint64_t since) {
    if (gp_now_ns() - since < SPIN_NS) return;
    nanosleep(&(struct timespec){0, NAP_NS}, NULL);
}

/* Polls until s has come to ticket; false with a message when interrupted. */
static bool wait_for(gp_stream *s, uint64_t ticket) {
    for (uint64_t t0 = gp_now_ns(); !gp_cuda_reached(s, ticket); nap(t0))
        if (gp_interrupted) return gp_fail("interrupted while waiting for %s", s->dev->name);
    return true;
}

static bool drain_room(gp_stream *s) {
    for (uint64_t t0 = gp_now_ns(); crowded(s, QUEUE / 2, STAGED / 2) && busy(s); nap(t0))
        if (gp_interrupted) return gp_fail("interrupted while waiting for %s", s->dev->name);
    return true;
}

/* ---- copies ---- */

static const char *const copy_names[] = {"copy D2D", "copy H2D", "copy D2H"}; /* by gp_copy_kind */

static enum cudaMemcpyKind direction(gp_copy_kind kind) {
    return kind == GP_COPY_H2D   ? cudaMemcpyHostToDevice
           : kind == GP_COPY_D2H ? cudaMemcpyDeviceToHost
                                 : cudaMemcpyDeviceToDevice;
}

static bool queue_copy(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind) {
    cudaError_t err =
        cudaMemcpyAsync(dst, src, bytes, direction(kind), (cudaStream_t)gp_cuda_queue(s)->stream);
    return err == cudaSuccess || gp_cuda_failed(s, (int)err, "copy");
}

/* Through a block of pinned memory, so that neither the call nor the host's memory waits for the
 * device. */
static bool copy_staged(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind,
                        gp_storage *host) {
    cuda_later *l = calloc(1, sizeof *l);
    cuda_block *b = l ? gp_cuda_block_take(s->dev, bytes) : NULL;
    if (!b) return free(l), gp_fail("copy: no pinned host memory: %s", gp_error());
    bool down = kind == GP_COPY_D2H;
    if (!down) memcpy(b->data, src, bytes);
    if (!queue_copy(s, down ? b->data : dst, down ? src : b->data, bytes, kind))
        return gp_cuda_block_give(s->dev, b), free(l), false;
    *l = (cuda_later){.block = b,
                      .to = down ? dst : NULL,
                      .bytes = bytes,
                      .host = down ? gp_storage_ref(host) : NULL};
    gp_cuda_queued_then(s, l);
    return true;
}

/* Host memory goes back to the system: it is page-locked no longer. */
static gp_device *locker; /* that locked memory last, for the books */

static void unlock(void *data) {
    cudaError_t err;
    TIMED(locker, err, false, cudaHostUnregister, (data));
    if (err != cudaSuccess) cudaGetLastError();
}

/* Is this host memory page-locked? Locks it, at the first copy from it. It stays so in the cpu's
 * cache. */
static bool locked(gp_device *dev, gp_storage *host) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!host->unlock && host->size_class >= 0) {
        cudaError_t err;
        TIMED(dev, err, false, cudaHostRegister,
              (host->data, host->bytes, cudaHostRegisterPortable));
        if (err == cudaSuccess) locker = dev, host->unlock = unlock;
        else cudaGetLastError();
    }
    bool is = host->unlock != NULL;
    pthread_mutex_unlock(&lock);
    return is;
}

static bool copy_pinned(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind,
                        gp_storage *host) {
    cuda_later *l = calloc(1, sizeof *l);
    if (!l) return gp_fail("out of memory");
    if (!queue_copy(s, dst, src, bytes, kind)) return free(l), false;
    *l = (cuda_later){.host = gp_storage_ref(host), .reads = true};
    atomic_fetch_add(&host->readers, 1);
    gp_cuda_queued_then(s, l);
    return true;
}

/* From another device: past the host where the two can. */
static bool copy_across(gp_stream *s, void *dst, const void *src, size_t bytes) {
    struct cudaPointerAttributes at;
    cudaError_t err = cudaPointerGetAttributes(&at, src);
    if (err != cudaSuccess) return gp_cuda_failed(s, (int)err, "copy");
    cuda_device *d = gp_cuda_of(s->dev);
    int can = 0;
    if (at.device != s->dev->index && at.device < 64 && !d->peer[at.device]) {
        d->peer[at.device] = true;
        if (cudaDeviceCanAccessPeer(&can, s->dev->index, at.device) == cudaSuccess && can)
            TIMED(s->dev, err, true, cudaDeviceEnablePeerAccess, (at.device, 0));
        cudaGetLastError();
    }
    err = cudaMemcpyPeerAsync(dst, s->dev->index, src, at.device, bytes,
                              (cudaStream_t)gp_cuda_queue(s)->stream);
    if (err != cudaSuccess) return gp_cuda_failed(s, (int)err, "copy");
    gp_cuda_queued(s, false);
    return true;
}

/* Memory that is not pinned, and much of it: the runtime would wait for the stream within its call,
 * where nobody sees it and Ctrl-C does not reach. So the wait for this copy, which follows at once,
 * makes it when the stream is idle. */
static bool put_off(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind,
                    gp_storage *host, uint64_t id) {
    cuda_put_off *p = calloc(1, sizeof *p);
    if (!p) return gp_fail("out of memory");
    *p = (cuda_put_off){NULL, pthread_self(), dst, src, bytes, kind, gp_storage_ref(host), id};
    cuda_stream *q = gp_cuda_queue(s);
    pthread_mutex_lock(&q->lock);
    p->next = q->put_off;
    q->put_off = p;
    pthread_mutex_unlock(&q->lock);
    return true;
}

static bool copy_now(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind) {
    cudaStream_t stream = (cudaStream_t)gp_cuda_queue(s)->stream;
    cudaError_t err;
    TIMED(s->dev, err, false, cudaMemcpyAsync, (dst, src, bytes, direction(kind), stream));
    gp_cuda_queued(s, false);
    return err == cudaSuccess || gp_cuda_failed(s, (int)err, "copy");
}

/* Pinned memory that could not be locked is copied at once, which may block: nobody need wait for
 * such a copy, so it cannot be put off. */
static bool copy_some_way(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind,
                          gp_storage *host, uint64_t id) {
    if (!host) return copy_across(s, dst, src, bytes);
    bool own_pages = host->bytes >= OWN_PAGES;
    if (own_pages && host->pinned && locked(s->dev, host))
        return copy_pinned(s, dst, src, bytes, kind, host);
    if (bytes < OWN_PAGES) return copy_staged(s, dst, src, bytes, kind, host);
    if (!host->pinned) return put_off(s, dst, src, bytes, kind, host, id);
    return copy_now(s, dst, src, bytes, kind);
}

static bool copy(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind,
                 gp_storage *host, uint64_t id) {
    if (!gp_cuda_alive(s->dev, "copy")) return false;
    gp_cuda_enter(s->dev);
    cuda_span span = {0};
    bool watched = atomic_load_explicit(&gp_cuda_watch, memory_order_relaxed);
    if (watched) gp_cuda_span_begin(&span, s, NULL, copy_names[kind], id, bytes);
    bool ok = copy_some_way(s, dst, src, bytes, kind, host, id);
    if (watched) gp_cuda_span_end(&span);
    return ok;
}

/* This thread's copy that was put off, taken from the list; NULL: none. */
static cuda_put_off *take_put_off(gp_stream *s) {
    cuda_stream *q = gp_cuda_queue(s);
    pthread_mutex_lock(&q->lock);
    cuda_put_off **p = &q->put_off, *mine;
    while (*p && !pthread_equal((*p)->thread, pthread_self())) p = &(*p)->next;
    if ((mine = *p)) *p = mine->next;
    pthread_mutex_unlock(&q->lock);
    return mine;
}

static bool make_put_off(gp_stream *s, const cuda_put_off *p) {
    if (!gp_cuda_alive(s->dev, "copy")) return false;
    gp_cuda_enter(s->dev);
    cuda_span span = {0};
    bool watched = atomic_load_explicit(&gp_cuda_watch, memory_order_relaxed);
    if (watched) gp_cuda_span_begin(&span, s, NULL, copy_names[p->kind], p->id, p->bytes);
    bool ok = copy_now(s, p->dst, p->src, p->bytes, p->kind);
    if (watched) gp_cuda_span_end(&span);
    return ok && wait_for(s, atomic_load(&s->issued));
}

/* Interrupted: what was put off is not done at all, and who asked for it fails. */
static bool drain(gp_stream *s) {
    bool ok = wait_for(s, atomic_load(&s->issued));
    for (cuda_put_off *p; (p = take_put_off(s)); free(p)) {
        if (ok) ok = make_put_off(s, p);
        gp_storage_unref(p->host);
    }
    if (ok && !atomic_load(&gp_cuda_of(s->dev)->dead)) gp_cuda_keep_time(s->dev);
    return ok;
}

static bool event_drain(gp_event *e) {
    for (uint64_t t0 = gp_now_ns(); !gp_cuda_event_done(e); nap(t0))
        if (gp_interrupted)
            return gp_fail("interrupted while waiting for %s", e->stream->dev->name);
    gp_cuda_reached(e->stream, e->ticket); /* what was due, and a fault */
    return true;
}

/* ---- what the program opens ---- */

static const gp_device_vt vt = {
    .kind = "cuda",
    .async = true,
    .open = open_device,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .stream_open = stream_open,
    .stream_close = stream_close,
    .launch = gp_cuda_launch,
    .copy = copy,
    .saves = gp_cuda_saves,
    .capacity = capacity,
    .busy = busy,
    .full = full,
    .drain = drain,
    .drain_room = drain_room,
    .event_record = gp_cuda_event_record,
    .event_done = gp_cuda_event_done,
    .event_drain = event_drain,
    .event_wait = gp_cuda_event_wait,
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
    if (!gp_core_take(core)) {
        snprintf(why, size, "cuda: the plug-in was built with another version of gpush");
        return NULL;
    }
    gp_cuda_watch_open();
    gp_cuda_launch_open();
    return count_devices(why, size) ? &vt : NULL;
}
