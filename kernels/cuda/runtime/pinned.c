/* Pinned host memory, by which copies are staged, messages sent and tables given to kernels.
 * Making and freeing it takes milliseconds, and freeing may wait for the device. So blocks of up to
 * 4 MiB, of a power of two of bytes, stay. Larger ones have the bytes that were asked for; unused
 * ones serve again where that wastes less than half, and are freed when one that is needed does not
 * fit any, when they are many at a wait's end, and with the device's cache. */
#include <cuda_runtime.h>

#include <stdlib.h>

#include "kernels/cuda/runtime/device.h"
#include "kernels/cuda/runtime/timed.h"

enum { LEAST_BITS = 12, PAGES = 64 << 10 };
static const size_t largest_kept = (size_t)1 << (LEAST_BITS + CUDA_CLASSES - 1);

static cuda_block **list_of(cuda_device *d, size_t bytes) {
    int size_class = 0;
    if (bytes > largest_kept) return &d->large;
    while ((size_t)1 << (LEAST_BITS + size_class) < bytes) size_class++;
    return &d->blocks[size_class];
}

static size_t rounded(size_t bytes) {
    size_t size = (size_t)1 << LEAST_BITS;
    if (bytes > largest_kept) return (bytes + PAGES - 1) / PAGES * PAGES;
    while (size < bytes) size *= 2;
    return size;
}

/* Takes an unused block out of its list; NULL: none fits. */
static cuda_block *find(cuda_device *d, size_t bytes) {
    pthread_mutex_lock(&d->lock);
    cuda_block **at = list_of(d, bytes), *b;
    while (*at && ((*at)->bytes < bytes || (*at)->bytes / 2 > rounded(bytes))) at = &(*at)->next;
    if ((b = *at)) *at = b->next;
    if (b && bytes > largest_kept) d->unused -= b->bytes;
    pthread_mutex_unlock(&d->lock);
    return b;
}

/* The large blocks released first go first. */
static cuda_block *pop_large(cuda_device *d, size_t most) {
    pthread_mutex_lock(&d->lock);
    cuda_block *b = d->unused > most ? d->large : NULL;
    if (b) d->large = b->next, d->unused -= b->bytes;
    pthread_mutex_unlock(&d->lock);
    return b;
}

void gp_cuda_pinned_trim(gp_device *dev, size_t most) {
    cuda_device *d = gp_cuda_of(dev);
    if (atomic_load_explicit(&d->unused, memory_order_relaxed) <= most) return;
    if (atomic_load(&dev->dead)) return;
    gp_cuda_enter(dev);
    for (cuda_block *b; (b = pop_large(d, most)); free(b)) {
        cudaError_t err;
        GP_CUDA_TIMED(dev, err, false, cudaFreeHost, (b->data));
        if (err != cudaSuccess) cudaGetLastError();
    }
}

cuda_block *gp_cuda_block_acquire(gp_device *dev, size_t bytes) {
    cuda_block *b = find(gp_cuda_of(dev), bytes);
    cudaError_t err = cudaSuccess;
    if (b || !(b = calloc(1, sizeof *b))) return b ? b : gp_fail_null("out of memory");
    b->bytes = rounded(bytes);
    if (bytes > largest_kept) gp_cuda_pinned_trim(dev, 0);
    GP_CUDA_TIMED(dev, err, false, cudaHostAlloc,
                  ((void **)&b->data, b->bytes, cudaHostAllocPortable));
    if (err == cudaSuccess) return b;
    free(b);
    gp_cuda_call_ok(dev, (int)err, "pinned host memory");
    return NULL;
}

void gp_cuda_block_release(gp_device *dev, cuda_block *b) {
    cuda_device *d = gp_cuda_of(dev);
    pthread_mutex_lock(&d->lock);
    cuda_block **at = list_of(d, b->bytes);
    bool large = at == &d->large;
    while (large && *at) at = &(*at)->next;
    b->next = *at;
    *at = b;
    if (large) d->unused += b->bytes;
    pthread_mutex_unlock(&d->lock);
}
