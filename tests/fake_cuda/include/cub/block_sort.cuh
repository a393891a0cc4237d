/* CUB's sort of a block's items, part of block.cuh (tests/fake_cuda). */
#ifndef FAKE_CUB_BLOCK_SORT_CUH
#define FAKE_CUB_BLOCK_SORT_CUH

#include <algorithm>
#include <type_traits>

#include "../cuda_bf16.h"
#include "../cuda_fp16.h"
#include "key.cuh"

namespace cub {
template <class K, int X, int N, class V> struct BlockRadixSort {
    struct item {
        K k;
        V v;
    };
    struct TempStorage {
        alignas(item) unsigned char bytes[X * N * sizeof(item)];
    };
    item *t;
    explicit BlockRadixSort(TempStorage &storage) : t((item *)storage.bytes) {}

    /* Sorts by bits lo to hi; striped: thread i gets items i, X + i … */
    void run(K (&key)[N], V *value, int lo, int hi, bool down, bool striped) {
        typedef typename radix<K>::bits bits;
        int me = fake_thread(), width = hi - lo;
        bits mask = width >= (int)sizeof(bits) * 8 ? ~(bits)0 : (bits)(((bits)1 << width) - 1);
        for (int i = 0; i < N; i++) t[me * N + i] = item{key[i], value ? value[i] : V()};
        __syncthreads();
        if (me == 0)
            std::stable_sort(t, t + X * N, [=](const item &a, const item &b) {
                bits x = (bits)(radix<K>::of(a.k) >> lo & mask), y = (bits)(radix<K>::of(b.k) >> lo & mask);
                return down ? y < x : x < y;
            });
        __syncthreads();
        for (int i = 0; i < N; i++) {
            const item &from = t[striped ? i * X + me : me * N + i];
            key[i] = from.k;
            if (value) value[i] = from.v;
        }
    }
    void Sort(K (&key)[N], int lo = 0, int hi = sizeof(K) * 8) { run(key, NULL, lo, hi, false, false); }
    void Sort(K (&key)[N], V (&v)[N], int lo = 0, int hi = sizeof(K) * 8) { run(key, v, lo, hi, false, false); }
    void SortDescending(K (&key)[N], int lo = 0, int hi = sizeof(K) * 8) { run(key, NULL, lo, hi, true, false); }
    void SortDescending(K (&key)[N], V (&v)[N], int lo = 0, int hi = sizeof(K) * 8) { run(key, v, lo, hi, true, false); }
    void SortBlockedToStriped(K (&key)[N], int lo = 0, int hi = sizeof(K) * 8) { run(key, NULL, lo, hi, false, true); }
    void SortBlockedToStriped(K (&key)[N], V (&v)[N], int lo = 0, int hi = sizeof(K) * 8) {
        run(key, v, lo, hi, false, true);
    }
};
} // namespace cub

#endif
