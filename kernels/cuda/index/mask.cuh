/* A walk over an array in row-major order, in blocks that are counted first, so that each true
 * element knows how many come before it. */
#ifndef GP_CUDA_MASK_CUH
#define GP_CUDA_MASK_CUH

#include "kernels/cuda/sort/cub.h"
#include "kernels/cuda/runtime/rows.cuh"

/* Rounds of a warp, each of 32 adjacent elements; elements of a block. */
enum { GP_COMPACTION_ROUNDS = 16, GP_COMPACTION = GP_THREADS * GP_COMPACTION_ROUNDS };

/* A walk: array 0 is tested, array 1 is moved along. before: true elements before each block, and
 * in the end all of them; bits: what each thread has read, so that the array is read once (scratch
 * memory); bytes: array 0 has elements of one byte, each tested alone. */
typedef struct gp_compaction {
    gp_nest<2> nest;
    bool bytes;
    int64_t blocks, *before;
    uint16_t *bits;
} gp_compaction;
static_assert(GP_COMPACTION_ROUNDS <= 16, "a thread's bits fit 16");

/* True elements of this block's threads that come before this one's (of this round); *all: of the
 * block. Called by all threads. */
__device__ static inline int gp_rank(bool truth, int *all) {
    __shared__ int shared[GP_THREADS / 32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, before = 0;
    unsigned votes = __ballot_sync(0xffffffffu, truth);
    __syncthreads();
    if (lane == 0) shared[warp] = __popc(votes);
    __syncthreads();
    *all = 0;
    for (int k = 0; k < GP_THREADS / 32; k++) {
        if (k == warp) before = *all;
        *all += shared[k];
    }
    return before + __popc(votes & ((1u << lane) - 1));
}

/* The address in array 1 of element i. LINE: see gp_is_line. */
template <bool LINE>
__device__ static inline char *gp_compaction_at(const gp_loop<2> &l, uint32_t i,
                                                int64_t (&off)[2]) {
    off[0] = i, off[1] = (int64_t)i * l.stride[0][1];
    if (!LINE) gp_offsets(l, i, off);
    return l.data[1] + off[1];
}

/* One bit for each of 16 bytes at p, of which the first n count. */
__device__ static inline unsigned gp_bytes_true(const char *p, uint32_t n) {
    gp_vector<uint32_t, 4> v = {};
    unsigned bits = 0;
    if (n >= 16) v = *(const gp_vector<uint32_t, 4> *)p;
    else
        for (uint32_t k = 0; k < n; k++) bits |= (unsigned)(p[k] != 0) << k;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        uint32_t high = (((v.v[k] & 0x7f7f7f7fu) + 0x7f7f7f7fu) | v.v[k]) & 0x80808080u;
        bits |= ((high >> 7) * 0x10204080u >> 28) << 4 * k; /* byte j's bit becomes bit j */
    }
    return bits;
}

/* The bits of a thread's elements of a warp's, which begin with `first`: one of each round.
 * test(bits, p): of the element at p. Several are read before the first is tested. */
template <class T>
__device__ static inline unsigned gp_compaction_rounds(const gp_loop<2> &l, int size,
                                                       uint32_t first, T test) {
    enum { AHEAD = 8 };
    unsigned bits = 0;
#pragma unroll
    for (int from = 0; from < GP_COMPACTION_ROUNDS; from += AHEAD) {
        uint64_t v[AHEAD];
        const char *p[AHEAD];
        uint32_t mine = first + from * 32 + threadIdx.x % 32;
        int64_t off[2];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            gp_compaction_at<false>(l, mine + k * 32 < l.numel ? mine + k * 32 : 0, off);
            v[k] = gp_bits_at(p[k] = l.data[0] + off[0], size);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            bits |= (unsigned)(mine + k * 32 < l.numel && test(v[k], p[k])) << (from + k);
    }
    return bits;
}

/* Tests whether elements are not zero; NaN is not. rounds(): all of a thread. */
struct gp_nonzero_test {
    gp_dtype dt;
    __device__ unsigned rounds(const gp_loop<2> &l, uint32_t first) const {
        const int size = gp_bytes_of(dt);
        const bool has_sign = dt == GP_f64 || dt == GP_f32 || dt == GP_f16 || dt == GP_bf16;
        const uint64_t mask = has_sign ? ((uint64_t)1 << (8 * size - 1)) - 1 : UINT64_MAX;
        return gp_compaction_rounds(l, size, first,
                                    [=](uint64_t v, const char *) { return (v & mask) != 0; });
    }
};

/* What this thread tests of the elements of its warp, which begin with `first`: of a line those
 * from 16 * lane on, otherwise that of each round. */
template <bool LINE, class T>
__device__ static inline unsigned gp_compaction_bits(const gp_loop<2> &l, const T &test,
                                                     uint32_t first) {
    uint32_t i = first + threadIdx.x % 32 * GP_COMPACTION_ROUNDS;
    if constexpr (LINE) return i < l.numel ? gp_bytes_true(l.data[0] + i, l.numel - i) : 0;
    else return test.rounds(l, first);
}

/* The first element of this thread's warp. */
__device__ static inline uint32_t gp_compaction_first() {
    return blockIdx.x * GP_COMPACTION + threadIdx.x / 32 * (32 * GP_COMPACTION_ROUNDS);
}

template <bool LINE, class T>
static __global__ void __launch_bounds__(GP_THREADS)
    gp_compaction_count(gp_loop<2> l, T test, int64_t *counts, uint16_t *kept) {
    unsigned bits = gp_compaction_bits<LINE>(l, test, gp_compaction_first());
    kept[blockIdx.x * GP_THREADS + threadIdx.x] = (uint16_t)bits;
    int n = gp_group_reduce(__popc(bits), GP_THREADS, gp_add());
    if (threadIdx.x > 0) return;
    counts[blockIdx.x] = n;
    if (blockIdx.x == gridDim.x - 1) counts[gridDim.x] = 0; /* or the next part's first count */
}

/* f(rank, number, address in array 1, value) for each true element, where value is f.read(rank,
 * address); several are read before the first is used. */
template <bool LINE, class F>
static __global__ void __launch_bounds__(GP_THREADS)
    gp_compaction_true(gp_loop<2> l, const uint16_t *kept, const int64_t *before, int64_t first,
                       F f) {
    enum { WARPS = GP_THREADS / 32, AHEAD = 8 };
    __shared__ int shared[WARPS];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, all = 0;
    uint32_t mine = gp_compaction_first();
    unsigned bits = kept[blockIdx.x * GP_THREADS + threadIdx.x], votes[GP_COMPACTION_ROUNDS];
    int64_t rank = before[blockIdx.x];
#pragma unroll
    for (int k = 0; k < GP_COMPACTION_ROUNDS; k++) {
        votes[k] = LINE ? __shfl_sync(0xffffffffu, bits, 2 * k) |
                              __shfl_sync(0xffffffffu, bits, 2 * k + 1) << 16
                        : __ballot_sync(0xffffffffu, bits >> k & 1);
        all += __popc(votes[k]);
    }
    if (lane == 0) shared[warp] = all;
    __syncthreads();
    for (int k = 0; k < warp; k++) rank += shared[k];
    const unsigned left = (1u << lane) - 1;
#pragma unroll
    for (int from = 0; from < GP_COMPACTION_ROUNDS; from += AHEAD) {
        typename F::value v[AHEAD];
        int64_t off[2], r = rank;
#pragma unroll
        for (int k = from; k < from + AHEAD; r += __popc(votes[k++])) {
            if (votes[k] >> lane & 1)
                v[k - from] = f.read(r + __popc(votes[k] & left),
                                     gp_compaction_at<LINE>(l, mine + k * 32 + lane, off));
        }
#pragma unroll
        for (int k = from; k < from + AHEAD; rank += __popc(votes[k++])) {
            uint32_t i = mine + k * 32 + lane;
            if (votes[k] >> lane & 1)
                f(rank + __popc(votes[k] & left), first + i, gp_compaction_at<LINE>(l, i, off),
                  v[k - from]);
        }
    }
}

/* One dim of elements of one byte, adjacent and aligned: they are read 16 at a time. */
static inline bool gp_is_line(const gp_loop<2> &l, const gp_compaction *w) {
    return w->bytes && l.ndim == 1 && l.stride[0][0] == 1 && gp_aligned(l.data[0], 16);
}

/* Sets up a walk over `tested`, which has the walk's shape, and `moved`, broadcast to it; counts
 * by `test`, in the way of gp_nonzero_test. */
template <class T>
static bool gp_compaction_begin_by(const gp_call *c, gp_compaction *w, const gp_array *tested,
                                   const gp_array *moved, T test) {
    const gp_array *const arrays[2] = {tested, moved};
    w->nest = gp_nest_of<2>(arrays, true);
    w->bytes = std::is_same<T, gp_nonzero_test>::value && gp_dtype_sizes[tested->dtype] == 1;
    w->blocks = 0;
    gp_nest_run(w->nest, [&](gp_loop<2> l, int64_t) {
        return w->blocks += gp_blocks(l.numel, GP_COMPACTION), true;
    });
    size_t bytes = (size_t)(w->blocks + 1) * 8, bits = (size_t)w->blocks * GP_THREADS * 2;
    if (!(w->before = (int64_t *)gp_cuda_scratch(c, bytes + bits))) return false;
    if (!w->blocks) return gp_cuda_ok(c, cudaMemsetAsync(w->before, 0, 8, gp_cuda_stream(c)));
    w->bits = (uint16_t *)(w->before + w->blocks + 1);
    int64_t at = 0;
    return gp_nest_run(w->nest,
                       [&](gp_loop<2> l, int64_t) {
                           auto count = gp_is_line(l, w) ? gp_compaction_count<true, T>
                                                         : gp_compaction_count<false, T>;
                           int64_t *to = w->before + at;
                           uint16_t *kept = w->bits + at * GP_THREADS;
                           at += gp_blocks(l.numel, GP_COMPACTION);
                           return GP_LAUNCH(c, count, gp_blocks(l.numel, GP_COMPACTION), GP_THREADS,
                                            0, l, test, to, kept);
                       }) &&
           gp_cuda_scan(c, w->before, w->blocks + 1);
}

static inline bool gp_compaction_begin(const gp_call *c, gp_compaction *w, const gp_array *tested,
                                       const gp_array *moved) {
    return gp_compaction_begin_by(c, w, tested, moved, gp_nonzero_test{(gp_dtype)tested->dtype});
}

template <class F> static bool gp_compaction_run(const gp_call *c, const gp_compaction *w, F f) {
    int64_t at = 0;
    return gp_nest_run(w->nest, [&](gp_loop<2> l, int64_t first) {
        auto kernel = gp_is_line(l, w) ? gp_compaction_true<true, F> : gp_compaction_true<false, F>;
        const int64_t *from = w->before + at;
        const uint16_t *kept = w->bits + at * GP_THREADS;
        at += gp_blocks(l.numel, GP_COMPACTION);
        return GP_LAUNCH(c, kernel, gp_blocks(l.numel, GP_COMPACTION), GP_THREADS, 0, l, kept, from,
                         first, f);
    });
}

#endif
