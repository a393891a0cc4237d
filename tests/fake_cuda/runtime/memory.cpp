/* Memory: device, pinned and registered, pools, and the kind of an address. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "hooks.h"
#include "state.h"

namespace fake {
static const size_t FILL = 64 << 20; /* larger blocks get garbage at both ends only */

static void garbage(char *p, size_t n, int byte) {
    if (n <= FILL) memset(p, byte, n);
    else memset(p, byte, FILL / 2), memset(p + n - FILL / 2, byte, FILL / 2);
}

block *find(const void *p) {
    auto &all = rt().blocks;
    auto it = all.upper_bound((uintptr_t)p);
    if (it == all.begin()) return NULL;
    block *b = &(--it)->second;
    return (uintptr_t)p < (uintptr_t)b->base + std::max<size_t>(b->bytes, 1) ? b : NULL;
}

/* Memory of a device is mapped by itself, and hidden while no device works: a host that reads it
 * then crashes. Sanitizers check malloc's blocks instead. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool HIDDEN = false;
#else
static const bool HIDDEN = true;
#endif
static const size_t PAGE = 4096, HUGE_PAGE = 2 << 20;

static bool hidden(const block &b) { return HIDDEN && b.type == cudaMemoryTypeDevice; }
static size_t pages(size_t bytes) {
    size_t page = bytes < HUGE_PAGE ? PAGE : HUGE_PAGE;
    return (bytes + page - 1) / page * page;
}

static void protect(const block &b, bool on) {
    mprotect(b.base, pages(b.bytes), on ? PROT_READ | PROT_WRITE : PROT_NONE);
}

static void set_revealed(bool on) {
    rt().revealed = on;
    for (auto &entry : rt().blocks)
        if (hidden(entry.second)) protect(entry.second, on);
}

void reveal() {
    if (!rt().revealed) set_revealed(true);
}

/* Each time would take half as long again as the tests themselves: the first times, then some. */
void hide() {
    uint64_t n = rt().rests++;
    if (n < 50 || n % 64 == 0) set_revealed(false);
}

/* Large blocks are in huge pages, of which fewer change their protection. */
static char *map(size_t bytes) {
    size_t n = pages(bytes), more = bytes < HUGE_PAGE ? 0 : HUGE_PAGE;
    void *at = mmap(NULL, n + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED || !more) return at == MAP_FAILED ? NULL : (char *)at;
    char *from = (char *)at, *p = (char *)(((uintptr_t)from + more - 1) / more * more);
    if (p > from) munmap(from, (size_t)(p - from));
    if (p < from + more) munmap(p + n, (size_t)(from + more - p));
    madvise(p, n, MADV_HUGEPAGE);
    return p;
}

static void *add(size_t bytes, size_t align, cudaMemoryType type, int d, unsigned flags,
                 CUmemPoolHandle_st *pool) {
    block b = {NULL, bytes, type, d, flags, pool, false};
    b.base =
        hidden(b) ? map(bytes) : (char *)aligned_alloc(align, (bytes + align - 1) / align * align);
    if (!b.base) return NULL;
    if (type == cudaMemoryTypeDevice) garbage(b.base, bytes, 0xff);
    if (hidden(b) && !rt().revealed) protect(b, false);
    rt().blocks[(uintptr_t)b.base] = b;
    return b.base;
}

static void drop(block *b) {
    char *p = b->base;
    size_t bytes = b->bytes;
    bool mapped = hidden(*b);
    if (b->type == cudaMemoryTypeDevice && !mapped) garbage(p, bytes, 0xfb);
    rt().blocks.erase((uintptr_t)p);
    if (mapped) munmap(p, pages(bytes));
    else free(p);
}

/* All that is taken on device d. */
static size_t taken(int d) {
    device &v = *rt().devices[(size_t)d];
    return v.used + v.pool.reserved + (v.current_pool == &v.pool ? 0 : v.current_pool->reserved);
}

/* What other programs have of each device: the number in the file that GPUSH_FAKE_OTHERS names. */
static size_t others() {
    const char *name = getenv("GPUSH_FAKE_OTHERS");
    FILE *f = name ? fopen(name, "r") : NULL;
    size_t bytes = 0;
    if (f && fscanf(f, "%zu", &bytes) != 1) bytes = 0;
    if (f) fclose(f);
    return bytes;
}

static cudaError_t device_alloc(void **p, size_t bytes, CUmemPoolHandle_st *pool) {
    *p = NULL;
    rt().counts["malloc"]++;
    if (faulty(F_OOM, NULL)) return cudaErrorMemoryAllocation;
    if (bytes == 0) return cudaSuccess;
    device &d = dev();
    size_t cached = pool ? pool->reserved - pool->used : 0,
           more = bytes > cached ? bytes - cached : 0;
    size_t memory = rt().memory - others();
    if (more > memory || taken(current_device) > memory - more) return cudaErrorMemoryAllocation;
    *p = add(bytes, 512, cudaMemoryTypeDevice, pool ? pool->dev : current_device, 0, pool);
    if (!*p) return cudaErrorMemoryAllocation;
    if (!pool) d.used += bytes;
    else {
        pool->used += bytes, pool->reserved += more;
        pool->used_high = std::max(pool->used_high, pool->used);
        pool->reserved_high = std::max(pool->reserved_high, pool->reserved);
    }
    return cudaSuccess;
}

static void pool_trim(CUmemPoolHandle_st *pool, uint64_t keep) {
    pool->reserved = std::max(pool->used, std::min(pool->reserved, keep));
}

static cudaError_t host_alloc(void **p, size_t bytes, unsigned flags) {
    *p = NULL;
    locked l(rt().lock);
    rt().counts["pinned"]++;
    if (faulty(F_PINNED_OOM, NULL)) return cudaErrorMemoryAllocation;
    if (bytes == 0) return cudaSuccess;
    *p = add(bytes, 4096, cudaMemoryTypeHost, current_device, flags, NULL);
    if (*p) rt().counts["pinned bytes"] += bytes;
    return *p ? cudaSuccess : cudaErrorMemoryAllocation;
}

/* cudaFree and similar calls wait for the device before anything else; p must be the start of such
 * a block. */
template <class Ok> static cudaError_t release(void *p, Ok ok) {
    cudaError_t err = forbidden();
    if (err || !p) return err;
    locked l(rt().lock);
    block *b = find(p);
    if (!b || b->base != p || !ok(b)) return cudaErrorInvalidValue;
    drain(l, b->dev);
    b = find(p);
    if (!b) return cudaErrorInvalidValue;
    rt().counts["free"]++;
    if (b->type == cudaMemoryTypeDevice && !b->pool) rt().devices[(size_t)b->dev]->used -= b->bytes;
    if (b->pool) b->pool->used -= b->bytes, pool_trim(b->pool, b->pool->threshold);
    if (b->type == cudaMemoryTypeHost && !b->registered) rt().counts["pinned bytes"] -= b->bytes;
    if (b->registered) rt().blocks.erase((uintptr_t)b->base);
    else drop(b);
    return cudaSuccess;
}
} // namespace fake

using namespace fake;
extern "C" {

int fakeLibraryMemory(size_t bytes, int keep) {
    if (forbidden()) return 0;
    locked l(rt().lock);
    if (faulty(F_LIB_OOM, NULL) || bytes > rt().memory ||
        taken(current_device) > rt().memory - bytes)
        return 0;
    if (keep) dev().used += bytes;
    return 1;
}

cudaError_t cudaMalloc(void **p, size_t bytes) {
    API(cudaMalloc);
    cudaError_t err = forbidden();
    if (err) return api_(err);
    locked l(rt().lock);
    return api_(device_alloc(p, bytes, NULL));
}

cudaError_t cudaFree(void *p) {
    API(cudaFree);
    return api_(release(p, [](block *b) {
        return b->type == cudaMemoryTypeDevice || b->type == cudaMemoryTypeManaged;
    }));
}

cudaError_t cudaMallocFromPoolAsync(void **p, size_t bytes, cudaMemPool_t pool, cudaStream_t h) {
    API(cudaMallocAsync, h);
    cudaError_t err = forbidden();
    if (err) return api_(err);
    locked l(rt().lock);
    if (!stream_of(h)) return api_(cudaErrorInvalidResourceHandle);
    return api_(device_alloc(p, bytes, pool));
}

cudaError_t cudaMallocAsync(void **p, size_t bytes, cudaStream_t h) {
    if (rt().broken) return done(rt().broken);
    return cudaMallocFromPoolAsync(p, bytes, dev().current_pool, h);
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t h) {
    API(cudaFreeAsync, h);
    cudaError_t err = forbidden();
    if (err || !p) return api_(err);
    locked l(rt().lock);
    CUstream_st *s = stream_of(h);
    block *b = find(p);
    if (!s || !b || b->base != p || b->type != cudaMemoryTypeDevice)
        return api_(cudaErrorInvalidValue);
    task t;
    t.what = activity(0, NULL, s);
    t.run = [p] {
        locked inner(rt().lock);
        block *gone = find(p);
        if (!gone) return;
        if (gone->pool)
            gone->pool->used -= gone->bytes; /* reserved goes down when the pool is trimmed */
        else rt().devices[(size_t)gone->dev]->used -= gone->bytes;
        drop(gone);
    };
    rt().counts["free"]++;
    submit(l, s, std::move(t));
    return api_(cudaSuccess);
}

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags) {
    API(cudaHostAlloc);
    cudaError_t err = forbidden();
    return api_(err ? err : host_alloc(p, bytes, flags));
}
cudaError_t cudaMallocHost(void **p, size_t bytes) {
    API(cudaMallocHost);
    cudaError_t err = forbidden();
    return api_(err ? err : host_alloc(p, bytes, 0));
}
cudaError_t cudaFreeHost(void *p) {
    API(cudaFreeHost);
    return api_(
        release(p, [](block *b) { return b->type == cudaMemoryTypeHost && !b->registered; }));
}

cudaError_t cudaMallocManaged(void **p, size_t bytes, unsigned flags) {
    API(cudaMallocManaged);
    cudaError_t err = forbidden();
    if (err) return api_(err);
    locked l(rt().lock);
    *p = add(bytes, 512, cudaMemoryTypeManaged, current_device, flags, NULL);
    return api_(*p ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags) {
    API(cudaHostRegister);
    cudaError_t err = forbidden();
    if (err || !p || !bytes) return api_(err ? err : cudaErrorInvalidValue);
    locked l(rt().lock);
    auto next = rt().blocks.upper_bound((uintptr_t)p);
    if (find(p) || (next != rt().blocks.end() && next->first < (uintptr_t)p + bytes))
        return api_(cudaErrorHostMemoryAlreadyRegistered);
    if (faulty(F_PINNED_OOM, NULL)) return api_(cudaErrorMemoryAllocation);
    rt().blocks[(uintptr_t)p] =
        block{(char *)p, bytes, cudaMemoryTypeHost, current_device, flags, NULL, true};
    return api_(cudaSuccess);
}

void fakeDeviceMemory(void *p, size_t bytes) {
    locked l(rt().lock);
    rt().blocks[(uintptr_t)p] =
        block{(char *)p, bytes, cudaMemoryTypeDevice, current_device, 0, NULL, true};
}

cudaError_t cudaHostUnregister(void *p) {
    API(cudaHostUnregister);
    cudaError_t err = release(p, [](block *b) { return b->registered; });
    return api_(err == cudaErrorInvalidValue ? cudaErrorHostMemoryNotRegistered : err);
}

cudaError_t cudaHostGetDevicePointer(void **d, void *host, unsigned) {
    locked l(rt().lock);
    block *b = find(host);
    *d = host;
    return done(b && b->type == cudaMemoryTypeHost ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaHostGetFlags(unsigned *flags, void *host) {
    locked l(rt().lock);
    block *b = find(host);
    if (!b || b->type != cudaMemoryTypeHost) return done(cudaErrorInvalidValue);
    *flags = b->flags;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a, const void *p) {
    if (rt().broken) return done(rt().broken);
    locked l(rt().lock);
    block *b = find(p);
    a->type = b ? b->type : cudaMemoryTypeUnregistered;
    a->device = b ? b->dev : -2;
    a->devicePointer = b ? (void *)p : NULL;
    a->hostPointer = b && b->type == cudaMemoryTypeDevice ? NULL : (void *)p;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_, size_t *total) {
    cudaError_t err = forbidden();
    if (err) return done(err);
    locked l(rt().lock);
    *total = rt().memory;
    *free_ = rt().memory - others() - taken(current_device);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int d) {
    if (rt().broken || d < 0 || (size_t)d >= rt().devices.size())
        return done(cudaErrorInvalidDevice);
    *pool = &rt().devices[(size_t)d]->pool;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int d) {
    cudaError_t err = cudaDeviceGetDefaultMemPool(pool, d);
    if (!err) *pool = rt().devices[(size_t)d]->current_pool;
    return err;
}
cudaError_t cudaDeviceSetMemPool(int d, cudaMemPool_t pool) {
    if (rt().broken || d < 0 || (size_t)d >= rt().devices.size())
        return done(cudaErrorInvalidDevice);
    rt().devices[(size_t)d]->current_pool = pool;
    return cudaSuccess;
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props) {
    cudaError_t err = forbidden();
    if (err) return done(err);
    *pool = new CUmemPoolHandle_st();
    (*pool)->dev = props->location.id;
    return cudaSuccess;
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    locked l(rt().lock);
    device &d = *rt().devices[(size_t)pool->dev];
    if (pool == &d.pool) return done(cudaErrorInvalidValue);
    if (d.current_pool == pool) d.current_pool = &d.pool;
    if (pool->used == 0) delete pool; /* else it lives until the process ends */
    return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
    API(cudaMemPoolTrimTo);
    locked l(rt().lock);
    pool_trim(pool, keep);
    return api_(cudaSuccess);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value) {
    locked l(rt().lock);
    if (attr == cudaMemPoolAttrReleaseThreshold) pool->threshold = *(uint64_t *)value;
    else if (attr == cudaMemPoolAttrUsedMemHigh) pool->used_high = pool->used;
    else if (attr == cudaMemPoolAttrReservedMemHigh) pool->reserved_high = pool->reserved;
    return cudaSuccess;
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attr, void *value) {
    locked l(rt().lock);
    switch (attr) {
    case cudaMemPoolAttrReleaseThreshold: *(uint64_t *)value = pool->threshold; break;
    case cudaMemPoolAttrReservedMemCurrent: *(uint64_t *)value = pool->reserved; break;
    case cudaMemPoolAttrReservedMemHigh: *(uint64_t *)value = pool->reserved_high; break;
    case cudaMemPoolAttrUsedMemCurrent: *(uint64_t *)value = pool->used; break;
    case cudaMemPoolAttrUsedMemHigh: *(uint64_t *)value = pool->used_high; break;
    default: *(int *)value = 1; break;
    }
    return cudaSuccess;
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const struct cudaMemAccessDesc *, size_t) {
    return done(forbidden());
}
}
