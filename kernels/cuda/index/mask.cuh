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

static __global__ void gp_walk_count(gp_loop<2> l, gp_dtype dt, int64_t *counts) {
    int64_t n = 0;
    int all;
    for (int k = 0; k < GP_WALK_ROUNDS; k++) {
        uint32_t i = blockIdx.x * GP_WALK + k * GP_THREADS + threadIdx.x;
        int64_t off[2];
        bool truth = false;
        if (i < l.numel) {
            gp_offsets(l, i, off);
            truth = gp_truth_at(l.data[0] + off[0], dt);
        }
        gp_rank(truth, &all);
        n += all;
    }
    if (threadIdx.x == 0) counts[blockIdx.x] = n;
}

/* f(rank, number, address in array 1) for each true element. */
template <class F>
static __global__ void gp_walk_true(gp_loop<2> l, gp_dtype dt, const int64_t *before, int64_t first,
                                    F f) {
    int64_t rank = before[blockIdx.x];
    for (int k = 0; k < GP_WALK_ROUNDS; k++) {
        uint32_t i = blockIdx.x * GP_WALK + k * GP_THREADS + threadIdx.x;
        int64_t off[2];
        bool truth = false;
        int all;
        if (i < l.numel) {
            gp_offsets(l, i, off);
            truth = gp_truth_at(l.data[0] + off[0], dt);
        }
        int mine = gp_rank(truth, &all);
        if (truth) f(rank + mine, first + i, l.data[1] + off[1]);
        rank += all;
    }
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
                           int64_t *to = w->before + at;
                           at += gp_blocks(l.numel, GP_WALK);
                           return GP_LAUNCH(c, gp_walk_count, gp_blocks(l.numel, GP_WALK),
                                            GP_THREADS, 0, l, w->dtype, to);
                       }) &&
           gp_cuda_scan(c, w->before, w->blocks + 1);
}

template <class F> static bool gp_walk_run(const gp_call *c, const gp_walk *w, F f) {
    int64_t at = 0;
    auto kernel = gp_walk_true<F>;
    return gp_nest_run(w->nest, [&](gp_loop<2> l, int64_t first) {
        const int64_t *from = w->before + at;
        at += gp_blocks(l.numel, GP_WALK);
        return GP_LAUNCH(c, kernel, gp_blocks(l.numel, GP_WALK), GP_THREADS, 0, l, w->dtype, from,
                         first, f);
    });
}

#endif
