/* Copies between host and CUDA device and between CUDA devices: staged in pinned memory, direct
 * from page-locked memory, or deferred to the wait for them. */
#include <cuda_runtime.h>

#include <stdlib.h>
#include <string.h>

#include "tensor/memory/alloc.h"
#include "kernels/cuda/runtime/device.h"
#include "kernels/cuda/runtime/timed.h"

/* Host blocks from this size on are mapped separately (hostmem.c) and can be page-locked; smaller
 * copies are staged in pinned memory. */
enum { PINNABLE = 2 << 20 };
/* Bytes of a part of a large copy, and how many of them are on their way at a time. */
enum { PART = 4 << 20, PARTS = 3 };

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

/* Copies through b, which it takes over. */
static bool copy_by_block(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind,
                          gp_storage *host, cuda_block *b) {
    cuda_later *l = calloc(1, sizeof *l);
    bool down = kind == GP_COPY_D2H;
    if (!l) return gp_cuda_block_release(s->dev, b), gp_fail("out of memory");
    if (!down) memcpy(b->data, src, bytes);
    if (!queue_copy(s, down ? b->data : dst, down ? src : b->data, bytes, kind))
        return gp_cuda_block_release(s->dev, b), free(l), false;
    *l = (cuda_later){.block = b,
                      .to = down ? dst : NULL,
                      .bytes = bytes,
                      .host = down ? gp_storage_ref(host) : NULL,
                      .reads = down};
    if (down) atomic_fetch_add(&host->readers, 1); /* the host writes it after the copy */
    gp_cuda_queued_then(s, l);
    return true;
}

static bool copy_now(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind) {
    cudaStream_t stream = (cudaStream_t)gp_cuda_queue(s)->stream;
    cudaError_t err;
    GP_CUDA_TIMED(s->dev, err, false, cudaMemcpyAsync, (dst, src, bytes, direction(kind), stream));
    gp_cuda_queued(s, false);
    return err == cudaSuccess || gp_cuda_failed(s, (int)err, "copy");
}

/* Stages the copy in a block of pinned memory: then neither the call nor the host's memory waits
 * for the device. Where there is none, CUDA copies within its call. */
static bool copy_staged(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind,
                        gp_storage *host) {
    cuda_block *b = gp_cuda_block_acquire(s->dev, bytes);
    if (!b) return gp_error_clear(), copy_now(s, dst, src, bytes, kind);
    return copy_by_block(s, dst, src, bytes, kind, host, b);
}

/* The device that locked memory last: unlocking is reported as its call. */
static gp_device *locker;

/* gp_storage.unlock: ends page-locking before the memory goes back to the system. */
static void unlock(void *data) {
    cudaError_t err;
    gp_cuda_enter(locker);
    GP_CUDA_TIMED(locker, err, false, cudaHostUnregister, (data));
    if (err != cudaSuccess) cudaGetLastError();
}

/* Page-locks host's memory at the first copy from it; it stays locked in the cpu's cache. False if
 * it cannot be locked. */
static bool page_lock(gp_device *dev, gp_storage *host) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!host->unlock && host->size_class >= 0) {
        cudaError_t err;
        GP_CUDA_TIMED(dev, err, false, cudaHostRegister,
                      (host->data, host->bytes, cudaHostRegisterPortable));
        if (err == cudaSuccess) locker = dev, host->unlock = unlock;
        else cudaGetLastError();
    }
    bool locked = host->unlock != NULL;
    pthread_mutex_unlock(&lock);
    return locked;
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

static void ask_peer(gp_device *dev, int from) {
    int can = 0;
    cudaError_t err = cudaDeviceCanAccessPeer(&can, dev->index, from);
    if (err == cudaSuccess && can)
        GP_CUDA_TIMED(dev, err, true, cudaDeviceEnablePeerAccess, (from, 0));
    cudaGetLastError();
}

/* At the first copy from that device: it is then direct, where the two support that. Other threads'
 * copies wait meanwhile, as they would go through the host. */
static void enable_peer(gp_device *dev, int from) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    bool *asked = gp_cuda_of(dev)->peer;
    if (from == dev->index || from >= CUDA_PEERS) return;
    pthread_mutex_lock(&lock);
    if (!asked[from]) ask_peer(dev, from);
    asked[from] = true;
    pthread_mutex_unlock(&lock);
}

/* From another device; where that cannot be direct, CUDA goes through the host, and may wait. */
static bool copy_across(gp_stream *s, void *dst, const void *src, size_t bytes) {
    struct cudaPointerAttributes at;
    cudaError_t err = cudaPointerGetAttributes(&at, src);
    if (err != cudaSuccess) return gp_cuda_failed(s, (int)err, "copy");
    enable_peer(s->dev, at.device);
    cudaStream_t stream = (cudaStream_t)gp_cuda_queue(s)->stream;
    GP_CUDA_TIMED(s->dev, err, false, cudaMemcpyPeerAsync,
                  (dst, s->dev->index, src, at.device, bytes, stream));
    if (err != cudaSuccess) return gp_cuda_failed(s, (int)err, "copy");
    gp_cuda_queued(s, false);
    return true;
}

/* For a large copy of pageable memory: CUDA would wait for the stream within its call, unseen by
 * the profiler and deaf to Ctrl-C. So the wait for this copy, which follows at once, makes the copy
 * when the stream is idle, in parts. */
static bool defer(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind,
                  gp_storage *host, uint64_t id) {
    cuda_deferred_copy *p = calloc(1, sizeof *p);
    if (!p) return gp_fail("out of memory");
    *p =
        (cuda_deferred_copy){NULL, pthread_self(), dst, src, bytes, kind, gp_storage_ref(host), id};
    cuda_stream *q = gp_cuda_queue(s);
    pthread_mutex_lock(&q->lock);
    p->next = q->deferred;
    q->deferred = p;
    pthread_mutex_unlock(&q->lock);
    return true;
}

/* Pinned memory that could not be locked is copied at once, which may block: its copy cannot be
 * deferred because no wait need follow it. */
static bool copy_by_kind(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind,
                         gp_storage *host, uint64_t id) {
    if (!host) return copy_across(s, dst, src, bytes);
    bool own_pages = host->bytes >= PINNABLE;
    if (own_pages && host->pinned && page_lock(s->dev, host))
        return copy_pinned(s, dst, src, bytes, kind, host);
    if (bytes < PINNABLE) return copy_staged(s, dst, src, bytes, kind, host);
    if (!host->pinned) return defer(s, dst, src, bytes, kind, host, id);
    return copy_now(s, dst, src, bytes, kind);
}

bool gp_cuda_copy(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind,
                  gp_storage *host, uint64_t id) {
    if (!gp_device_alive(s->dev, "copy")) return false;
    gp_cuda_enter(s->dev);
    cuda_span span = {0};
    bool watched = atomic_load_explicit(&gp_cuda_watch, memory_order_relaxed);
    if (watched) gp_cuda_span_begin(&span, s, NULL, gp_copy_name(kind), id, bytes);
    bool ok = copy_by_kind(s, dst, src, bytes, kind, host, id);
    if (watched) gp_cuda_span_end(&span);
    return ok;
}

/* Takes one of this thread's deferred copies from the list; NULL: there is none. */
static cuda_deferred_copy *pop_deferred(gp_stream *s) {
    cuda_stream *q = gp_cuda_queue(s);
    pthread_mutex_lock(&q->lock);
    cuda_deferred_copy **p = &q->deferred, *mine;
    while (*p && !pthread_equal((*p)->thread, pthread_self())) p = &(*p)->next;
    if ((mine = *p)) *p = mine->next;
    pthread_mutex_unlock(&q->lock);
    return mine;
}

/* Queues the part of p from `at` on; without pinned memory it is copied within the call. */
static bool copy_part(gp_stream *s, const cuda_deferred_copy *p, size_t at) {
    size_t bytes = p->bytes - at < PART ? p->bytes - at : PART;
    char *dst = (char *)p->dst + at;
    const char *src = (const char *)p->src + at;
    cuda_span span = {0};
    bool watched = atomic_load_explicit(&gp_cuda_watch, memory_order_relaxed);
    if (watched) gp_cuda_span_begin(&span, s, NULL, gp_copy_name(p->kind), p->id, bytes);
    cuda_block *b = gp_cuda_block_acquire(s->dev, bytes);
    if (!b) gp_error_clear();
    bool ok = b ? copy_by_block(s, dst, src, bytes, p->kind, p->host, b)
                : copy_now(s, dst, src, bytes, p->kind);
    if (watched) gp_cuda_span_end(&span);
    return ok;
}

/* In parts through pinned memory: the host copies one while the device copies others, and Ctrl-C
 * ends it between two. */
static bool copy_deferred(gp_stream *s, const cuda_deferred_copy *p) {
    uint64_t ticket[PARTS];
    if (!gp_device_alive(s->dev, "copy")) return false;
    gp_cuda_enter(s->dev);
    for (size_t at = 0, i = 0; at < p->bytes; at += PART, i++) {
        if (i >= PARTS && !gp_cuda_wait_for(s, ticket[i % PARTS])) return false;
        if (gp_interrupted) return gp_fail("interrupted while waiting for %s", s->dev->name);
        if (!copy_part(s, p, at)) return false;
        ticket[i % PARTS] = atomic_load(&s->issued);
    }
    return gp_cuda_wait_for(s, atomic_load(&s->issued));
}

bool gp_cuda_deferred_copies(gp_stream *s, bool make) {
    for (cuda_deferred_copy *p; (p = pop_deferred(s)); free(p)) {
        if (make) make = copy_deferred(s, p);
        gp_storage_unref(p->host);
    }
    return make;
}
