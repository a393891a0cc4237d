/* Sorting within a block: numbers in groups of a power of two, EACH of them in a thread's
 * registers, so that memory is read and written once. Source: Batcher, "Sorting networks and their
 * applications", 1968; the bitonic sorter with its first comparisons mirrored. */
#ifndef GP_CUDA_NETWORK_CUH
#define GP_CUDA_NETWORK_CUH

#include "kernels/cuda/runtime/loop.cuh"

/* Numbers of a thread and of a block; bits of a number's place in a group; numbers that a block's
 * shared memory needs space for, with gaps that spread a group over the banks. */
enum {
    GP_NET_EACH = 8,
    GP_NET_ALL = GP_THREADS * GP_NET_EACH,
    GP_NET_BITS = 11,
    GP_NET_STEP = GP_THREADS + 4,
    GP_NET_SHARED = GP_NET_EACH * GP_NET_STEP
};
static_assert(GP_NET_ALL == 1 << GP_NET_BITS, "a place fits its bits");

/* The size of the groups that hold n numbers, 1 <= n <= GP_NET_ALL. */
static inline uint32_t gp_net_slots(uint32_t n) {
    uint32_t slots = GP_NET_EACH;
    while (slots < n) slots *= 2;
    return slots;
}

template <class C> __device__ static inline void gp_net_order(C *a, C *b) {
    const C low = *a < *b ? *a : *b, high = *a < *b ? *b : *a;
    *a = low, *b = high;
}

/* Orders numbers of one thread: MASK relates the places that are compared. */
template <int MASK, class C> __device__ static inline void gp_net_own(C (&v)[GP_NET_EACH]) {
#pragma unroll
    for (int e = 0; e < GP_NET_EACH; e++)
        if ((e ^ MASK) > e) gp_net_order(&v[e], &v[e ^ MASK]);
}

/* Orders numbers of different threads, those whose numbers differ in `mask`; where MIRROR, the
 * first of one is compared with the last of the other. */
template <bool MIRROR, class C>
__device__ static inline void gp_net_other(C (&v)[GP_NET_EACH], C *shared, uint32_t mask) {
    const uint32_t me = threadIdx.x, other = me ^ mask;
    C o[GP_NET_EACH];
    if (mask < 32) {
#pragma unroll
        for (int e = 0; e < GP_NET_EACH; e++)
            o[e] = __shfl_xor_sync(0xffffffffu, v[MIRROR ? GP_NET_EACH - 1 - e : e], (int)mask);
    } else {
        __syncthreads();
#pragma unroll
        for (int e = 0; e < GP_NET_EACH; e++) shared[e * GP_NET_STEP + me] = v[e];
        __syncthreads();
#pragma unroll
        for (int e = 0; e < GP_NET_EACH; e++)
            o[e] = shared[(MIRROR ? GP_NET_EACH - 1 - e : e) * GP_NET_STEP + other];
    }
#pragma unroll
    for (int e = 0; e < GP_NET_EACH; e++) v[e] = (o[e] < v[e]) == (me < other) ? o[e] : v[e];
}

/* Sorts each group of `slots` numbers (gp_net_slots) and leaves them in room: see gp_net_at. All
 * threads call it. Numbers must differ, for the order of equal ones is not kept. */
template <class C>
__device__ static inline void gp_net_sort(C (&v)[GP_NET_EACH], C *shared, uint32_t slots) {
    gp_net_own<1>(v);
    gp_net_own<3>(v), gp_net_own<1>(v);
    gp_net_own<7>(v), gp_net_own<2>(v), gp_net_own<1>(v);
    for (uint32_t threads = 2; threads * GP_NET_EACH <= slots; threads *= 2) {
        gp_net_other<true>(v, shared, threads - 1);
        for (uint32_t mask = threads / 4; mask > 0; mask /= 2) gp_net_other<false>(v, shared, mask);
        gp_net_own<4>(v), gp_net_own<2>(v), gp_net_own<1>(v);
    }
    __syncthreads();
#pragma unroll
    for (int e = 0; e < GP_NET_EACH; e++) shared[e * GP_NET_STEP + threadIdx.x] = v[e];
    __syncthreads();
}

/* Number i of the block's sorted ones. */
template <class C> __device__ static inline C gp_net_at(const C *shared, uint32_t i) {
    return shared[i % GP_NET_EACH * GP_NET_STEP + i / GP_NET_EACH];
}

#endif
