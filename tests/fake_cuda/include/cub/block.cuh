/* CUB's collectives of a block and of a warp, by way of barriers and an array (tests/fake_cuda). */
#ifndef FAKE_CUB_BLOCK_CUH
#define FAKE_CUB_BLOCK_CUH

#include "../cuda_runtime.h"

namespace cub {
enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
struct NullType {};

static inline int fake_thread() {
    return (int)(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}

/* The result is thread 0's; what the others get is their own value. */
template <class T, int X, BlockReduceAlgorithm A = BLOCK_REDUCE_WARP_REDUCTIONS, int Y = 1, int Z = 1> struct BlockReduce {
    struct TempStorage {
        T v[X * Y * Z];
    };
    TempStorage &t;
    explicit BlockReduce(TempStorage &storage) : t(storage) {}
    template <class F> T Reduce(T x, F op, int valid = X * Y * Z) {
        t.v[fake_thread()] = x;
        __syncthreads();
        if (fake_thread() == 0)
            for (int i = 1; i < valid; i++) x = op(x, t.v[i]);
        return x;
    }
    T Sum(T x, int valid = X * Y * Z) {
        return Reduce(x, [](T a, T b) -> T { return (T)(a + b); }, valid);
    }
};

template <class T, int W = 32> struct WarpReduce {
    struct TempStorage {
        T v[1];
    };
    explicit WarpReduce(TempStorage &) {}
    template <class F> T Reduce(T x, F op, int valid = W) {
        unsigned long long all[32];
        fake_calls.exchange(0xffffffffu, fake::lanes::gp_bits(x), all, NULL);
        int lane = fake_calls.lane(), base = lane & ~(W - 1);
        if (lane == base)
            for (int i = 1; i < valid; i++) x = op(x, fake::lanes::gp_value<T>(all[base + i]));
        return x;
    }
    T Sum(T x, int valid = W) {
        return Reduce(x, [](T a, T b) -> T { return (T)(a + b); }, valid);
    }
};

template <class T, int X, BlockScanAlgorithm A = BLOCK_SCAN_RAKING, int Y = 1, int Z = 1> struct BlockScan {
    struct TempStorage {
        T v[X * Y * Z];
    };
    TempStorage &t;
    explicit BlockScan(TempStorage &storage) : t(storage) {}
    template <class F> void InclusiveScan(T x, T &out, F op, T &all) {
        int me = fake_thread();
        t.v[me] = x;
        __syncthreads();
        T a = t.v[0];
        for (int i = 1; i < X * Y * Z; i++) {
            if (i == me + 1) out = a;
            a = op(a, t.v[i]);
        }
        if (me == X * Y * Z - 1) out = a;
        all = a;
    }
    template <class F> void InclusiveScan(T x, T &out, F op) {
        T all;
        InclusiveScan(x, out, op, all);
    }
    template <class F> void ExclusiveScan(T x, T &out, T init, F op, T &all) {
        int me = fake_thread();
        t.v[me] = x;
        __syncthreads();
        T a = init;
        for (int i = 0; i < me; i++) a = op(a, t.v[i]);
        out = a;
        for (all = t.v[0], me = 1; me < X * Y * Z; me++) all = op(all, t.v[me]); /* without init, as in CUB */
    }
    template <class F> void ExclusiveScan(T x, T &out, T init, F op) {
        T all;
        ExclusiveScan(x, out, init, op, all);
    }
    static T plus(T a, T b) { return (T)(a + b); }
    void InclusiveSum(T x, T &out) { InclusiveScan(x, out, plus); }
    void InclusiveSum(T x, T &out, T &all) { InclusiveScan(x, out, plus, all); }
    void ExclusiveSum(T x, T &out) { ExclusiveScan(x, out, T(), plus); }
    void ExclusiveSum(T x, T &out, T &all) { ExclusiveScan(x, out, T(), plus, all); }
};

/* Items in blocked order: thread i holds N of them from i * N on. */
template <class K, int X, int N, class V = NullType> struct BlockRadixSort;
} // namespace cub

#include "block_sort.cuh"

#endif
