/* A walk over an array in row-major order, in blocks that are counted first, so that each true
 * element knows how many come before it. */
#ifndef GP_CUDA_MASK_CUH
#define GP_CUDA_MASK_CUH

#include "kernels/cuda/sort/cub.h"
#include "kernels/cuda/runtime/rows.cuh"

enum { GP_WALK_ROUNDS = 8, GP_WALK = GP_THREADS * GP_WALK_ROUNDS };

/* A walk: array 0 is tested, array 1 is moved along. before: true elements before each block, and
 * in the end all of them (scratch memory). */
typedef struct gp_walk {
    gp_nest<2> nest;
    gp_dtype dtype;
    int64_t blocks, *before;
} gp_walk;

/* True elements of this block's threads that come before this one's (of this round); *all: of the
 * block. Called by all threads. */
__device__ static inline int gp_rank(bool truth, int *all) {
    __shared__ int room[GP_THREADS / 32];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, before = 0;
    unsigned votes = __ballot_sync(0xffffffffu, truth);
    __syncthreads();
    if (lane == 0) room[warp] = __popc(votes);
    __syncthreads();
    *all = 0;
    for (int k = 0; k < GP_THREADS / 32; k++) {
        if (k == warp) before = *all;
        *all += room[k];
    }
    return before + __popc(votes & ((1u << lane) - 1));
}

/* Reads this thread's elements of the walk: bit k of the result is that of round k; at[k]: its
 * address in array 1. LINE: of one dim and a dtype of one byte, whose loads are on their way
 * together. */
template <bool LINE>
__device__ static inline unsigned gp_walk_read(const gp_loop<2> &l, gp_dtype dt,
                                               char *at[GP_WALK_ROUNDS]) {
    uint32_t first = blockIdx.x * GP_WALK + threadIdx.x;
    unsigned truth = 0;
#pragma unroll
    for (int k = 0; k < GP_WALK_ROUNDS; k++) {
        uint32_t i = first + k * GP_THREADS;
        int64_t off[2] = {(int64_t)i * l.stride[0][0], (int64_t)i * l.stride[0][1]};
        bool in = i < l.numel, is = false;
        if (!LINE && in) gp_offsets(l, i, off);
        if (in) is = LINE ? l.data[0][off[0]] != 0 : gp_truth_at(l.data[0] + off[0], dt);
        at[k] = l.data[1] + off[1];
        truth |= (unsigned)is << k;
    }
    return truth;
}

template <bool LINE>
static __global__ void gp_walk_count(gp_loop<2> l, gp_dtype dt, int64_t *counts) {
    __shared__ int room[GP_THREADS / 32];
    char *at[GP_WALK_ROUNDS];
    int n = __popc(gp_walk_read<LINE>(l, dt, at));
    for (int d = 16; d > 0; d /= 2) n += __shfl_xor_sync(0xffffffffu, n, d);
    if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = n;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int k = 1; k < GP_THREADS / 32; k++) n += room[k];
    counts[blockIdx.x] = n;
}

/* Makes room, the counts of 64 groups, the counts of all groups before each. Called by the first
 * warp. */
__device__ static inline void gp_sums_before(int *room, int lane) {
    int a = room[2 * lane], b = room[2 * lane + 1], sum = a + b;
    for (int d = 1; d < 32; d *= 2) {
        int left = __shfl_up_sync(0xffffffffu, sum, d);
        if (lane >= d) sum += left;
    }
    room[2 * lane] = sum - a - b;
    room[2 * lane + 1] = sum - b;
}

/* f(rank, number, address in array 1) for each true element. */
template <bool LINE, class F>
static __global__ void gp_walk_true(gp_loop<2> l, gp_dtype dt, const int64_t *before, int64_t first,
                                    F f) {
    enum { WARPS = GP_THREADS / 32 };
    static_assert(GP_WALK_ROUNDS * WARPS == 64, "two counts a lane of a warp");
    __shared__ int room[GP_WALK_ROUNDS * WARPS]; /* of each round and warp */
    char *at[GP_WALK_ROUNDS];
    unsigned truth = gp_walk_read<LINE>(l, dt, at), votes[GP_WALK_ROUNDS];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < GP_WALK_ROUNDS; k++) {
        votes[k] = __ballot_sync(0xffffffffu, truth >> k & 1);
        if (lane == 0) room[k * WARPS + warp] = __popc(votes[k]);
    }
    __syncthreads();
    if (warp == 0) gp_sums_before(room, lane);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < GP_WALK_ROUNDS; k++) {
        uint32_t i = blockIdx.x * GP_WALK + k * GP_THREADS + threadIdx.x;
        int mine = room[k * WARPS + warp] + __popc(votes[k] & ((1u << lane) - 1));
        if (truth >> k & 1) f(before[blockIdx.x] + mine, first + i, at[k]);
    }
}

static inline bool gp_is_line(const gp_loop<2> &l, const gp_walk *w) {
    return l.ndim == 1 && gp_dtype_sizes[w->dtype] == 1;
}

/* Sets up a walk over `tested`, which has the walk's shape, and `moved`, broadcast to it;
 * counts. */
static inline bool gp_walk_begin(const gp_call *c, gp_walk *w, const gp_array *tested,
                                 const gp_array *moved) {
    const gp_array *const arrays[2] = {tested, moved};
    w->nest = gp_nest_of<2>(arrays, true);
    w->dtype = (gp_dtype)tested->dtype;
    w->blocks = 0;
    gp_nest_run(w->nest, [&](gp_loop<2> l, int64_t) {
        return w->blocks += gp_blocks(l.numel, GP_WALK), true;
    });
    size_t bytes = (size_t)(w->blocks + 1) * 8;
    if (!(w->before = (int64_t *)gp_cuda_scratch(c, bytes)) ||
        !gp_cuda_ok(c, cudaMemsetAsync(w->before + w->blocks, 0, 8, gp_cuda_stream(c))))
        return false;
    int64_t at = 0;
    return gp_nest_run(w->nest,
                       [&](gp_loop<2> l, int64_t) {
                           auto count =
                               gp_is_line(l, w) ? gp_walk_count<true> : gp_walk_count<false>;
                           int64_t *to = w->before + at;
                           at += gp_blocks(l.numel, GP_WALK);
                           return GP_LAUNCH(c, count, gp_blocks(l.numel, GP_WALK), GP_THREADS, 0, l,
                                            w->dtype, to);
                       }) &&
           gp_cuda_scan(c, w->before, w->blocks + 1);
}

template <class F> static bool gp_walk_run(const gp_call *c, const gp_walk *w, F f) {
    int64_t at = 0;
    return gp_nest_run(w->nest, [&](gp_loop<2> l, int64_t first) {
        auto kernel = gp_is_line(l, w) ? gp_walk_true<true, F> : gp_walk_true<false, F>;
        const int64_t *from = w->before + at;
        at += gp_blocks(l.numel, GP_WALK);
        return GP_LAUNCH(c, kernel, gp_blocks(l.numel, GP_WALK), GP_THREADS, 0, l, w->dtype, from,
                         first, f);
    });
}

#endif
