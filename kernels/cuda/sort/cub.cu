/* Sorting and prefix sums through CUB, with counts of 32 bits, for which its kernels are faster,
 * where they fit.
 * Limits: a sort reads and writes keys and indices once per 8 bits; a scan reads and writes
 * once. */
#include "kernels/cuda/sort/cub.h"

#include <cub/cub.cuh>

template <class K>
static bool sort(const gp_call *c, K **keys, uint32_t **at, int64_t n, int bits) {
    cudaStream_t stream = gp_cuda_stream(c);
    size_t bytes = 0;
    if (n < 2 || bits == 0) return true;
    K *k2 = (K *)gp_cuda_scratch(c, (size_t)n * sizeof(K));
    uint32_t *a2 = k2 ? (uint32_t *)gp_cuda_scratch(c, (size_t)n * sizeof *a2) : NULL;
    if (!a2) return false;
    cub::DoubleBuffer<K> k(*keys, k2);
    cub::DoubleBuffer<uint32_t> a(*at, a2);
    if (!gp_cuda_ok(
            c, cub::DeviceRadixSort::SortPairs(NULL, bytes, k, a, (uint32_t)n, 0, bits, stream)))
        return false;
    void *workspace = gp_cuda_scratch(c, bytes);
    if (!workspace || !gp_cuda_ok(c, cub::DeviceRadixSort::SortPairs(workspace, bytes, k, a,
                                                                     (uint32_t)n, 0, bits, stream)))
        return false;
    *keys = k.Current(), *at = a.Current();
    return true;
}

bool gp_cuda_sort32(const gp_call *c, uint32_t **keys, uint32_t **at, int64_t n, int bits) {
    return sort<uint32_t>(c, keys, at, n, bits);
}
bool gp_cuda_sort64(const gp_call *c, uint64_t **keys, uint32_t **at, int64_t n, int bits) {
    return sort<uint64_t>(c, keys, at, n, bits);
}

/* N: the type of the count. */
template <class N> static bool scan(const gp_call *c, int64_t *p, N n) {
    size_t bytes = 0;
    cudaStream_t stream = gp_cuda_stream(c);
    if (!gp_cuda_ok(c, cub::DeviceScan::ExclusiveSum(NULL, bytes, p, p, n, stream))) return false;
    void *workspace = gp_cuda_scratch(c, bytes);
    return workspace &&
           gp_cuda_ok(c, cub::DeviceScan::ExclusiveSum(workspace, bytes, p, p, n, stream));
}

bool gp_cuda_scan(const gp_call *c, int64_t *p, int64_t n) {
    if (n == 0) return true;
    return n <= INT32_MAX ? scan<uint32_t>(c, p, (uint32_t)n) : scan<int64_t>(c, p, n);
}
