/* The calls of CUB that the kernels use, as plain loops in stream order (tests/fake_cuda). As in CUB a call with no
 * temporary storage only says how much it wants, and what it gets is overwritten. */
#ifndef FAKE_CUB_CUH
#define FAKE_CUB_CUH

#include <algorithm>
#include <iterator>
#include <limits>
#include <vector>

#include "../cuda_bf16.h"
#include "../cuda_fp16.h"
#include "../fake_cuda.h"
#include "block.cuh"
#include "key.cuh"

#define CUB_VERSION 300000
#define FAKE_CUB static inline cudaError_t

namespace cub {
/* Two buffers of which the selector names the one with the data; a sort may leave it in the other. */
template <class T> struct DoubleBuffer {
    T *d_buffers[2];
    int selector;
    DoubleBuffer() : d_buffers{NULL, NULL}, selector(0) {}
    DoubleBuffer(T *current, T *alternate) : d_buffers{current, alternate}, selector(0) {}
    T *Current() { return d_buffers[selector]; }
    T *Alternate() { return d_buffers[selector ^ 1]; }
};

namespace fake_detail {
/* The two phases; work runs when its turn comes. n: what the storage grows with. */
template <class F>
cudaError_t call(void *temp, size_t &bytes, int64_t n, cudaStream_t s, const char *name, F work) {
    size_t want = 512 + (size_t)(n > 0 ? n : 0) / 8;
    if (!temp) return bytes = want, cudaSuccess;
    if (bytes < want || n < 0) return cudaErrorInvalidValue;
    return fake::enqueue(s, name, [=] {
        memset(temp, 0xfc, want);
        work();
    });
}

/* Sorts n keys from in to out, with values if there are some (V void: none). Stable, as in CUB. */
template <class K, class V>
void sort(const K *in, K *out, const V *vin, V *vout, int64_t n, int lo, int hi, bool down) {
    typedef typename radix<K>::bits bits;
    struct item {
        bits b;
        K k;
        V v;
    };
    std::vector<item> all((size_t)n);
    int width = hi - lo;
    bits mask = width >= (int)sizeof(bits) * 8 ? ~(bits)0 : (bits)((((bits)1) << width) - 1);
    for (int64_t i = 0; i < n; i++)
        all[(size_t)i] = item{(bits)(radix<K>::of(in[i]) >> lo & mask), in[i], vin ? vin[i] : V()};
    std::stable_sort(all.begin(), all.end(),
                     [down](const item &a, const item &b) { return down ? b.b < a.b : a.b < b.b; });
    for (int64_t i = 0; i < n; i++) {
        out[i] = all[(size_t)i].k;
        if (vout) vout[i] = all[(size_t)i].v;
    }
}

/* One sort, or one for each of `segments` (begin < 0: one of all). */
template <class K, class V, class B, class E> struct job {
    const K *in;
    K *out;
    const V *vin;
    V *vout;
    int64_t n, segments;
    B begin;
    E end;
    int lo, hi;
    bool down;
    void operator()() const {
        for (int64_t s = 0; s < segments; s++) {
            int64_t from = (int64_t)begin[s], to = (int64_t)end[s];
            if (to > from)
                sort<K, V>(in + from, out + from, vin ? vin + from : NULL, vout ? vout + from : NULL, to - from, lo, hi, down);
        }
    }
};
struct whole { /* the offsets of one segment */
    int64_t at;
    int64_t operator[](int64_t) const { return at; }
};
template <class K, class V, class B, class E>
cudaError_t sorted(void *temp, size_t &bytes, const K *in, K *out, const V *vin, V *vout, int64_t n, int64_t segments,
                   B begin, E end, int lo, int hi, bool down, cudaStream_t s) {
    if (temp && n && (in == out || (vin && vin == vout))) return cudaErrorInvalidValue; /* not in place */
    return call(temp, bytes, n, s, "cub::sort", job<K, V, B, E>{in, out, vin, vout, n, segments, begin, end, lo, hi, down});
}
template <class K, class V, class B, class E>
cudaError_t sorted(void *temp, size_t &bytes, DoubleBuffer<K> &k, DoubleBuffer<V> *v, int64_t n, int64_t segments, B begin,
                   E end, int lo, int hi, bool down, cudaStream_t s) {
    V *vin = v ? v->Current() : NULL, *vout = v ? v->Alternate() : NULL;
    cudaError_t err = sorted(temp, bytes, (const K *)k.Current(), k.Alternate(), (const V *)vin, vout, n, segments, begin,
                             end, lo, hi, down, s);
    if (temp && !err) {
        k.selector ^= 1;
        if (v) v->selector ^= 1;
    }
    return err;
}
typedef char none;
} // namespace fake_detail

struct DeviceRadixSort {
#define FAKE_SORT(Suffix, down) \
    template <class K, class N> \
    FAKE_CUB SortKeys##Suffix(void *temp, size_t &bytes, const K *in, K *out, N n, int lo = 0, int hi = sizeof(K) * 8, \
                              cudaStream_t s = 0) { \
        typedef fake_detail::none V; \
        return fake_detail::sorted(temp, bytes, in, out, (const V *)NULL, (V *)NULL, (int64_t)n, 1, fake_detail::whole{0}, \
                                   fake_detail::whole{(int64_t)n}, lo, hi, down, s); \
    } \
    template <class K, class N> \
    FAKE_CUB SortKeys##Suffix(void *temp, size_t &bytes, DoubleBuffer<K> &k, N n, int lo = 0, int hi = sizeof(K) * 8, \
                              cudaStream_t s = 0) { \
        return fake_detail::sorted(temp, bytes, k, (DoubleBuffer<fake_detail::none> *)NULL, (int64_t)n, 1, \
                                   fake_detail::whole{0}, fake_detail::whole{(int64_t)n}, lo, hi, down, s); \
    } \
    template <class K, class V, class N> \
    FAKE_CUB SortPairs##Suffix(void *temp, size_t &bytes, const K *in, K *out, const V *vin, V *vout, N n, int lo = 0, \
                               int hi = sizeof(K) * 8, cudaStream_t s = 0) { \
        return fake_detail::sorted(temp, bytes, in, out, vin, vout, (int64_t)n, 1, fake_detail::whole{0}, \
                                   fake_detail::whole{(int64_t)n}, lo, hi, down, s); \
    } \
    template <class K, class V, class N> \
    FAKE_CUB SortPairs##Suffix(void *temp, size_t &bytes, DoubleBuffer<K> &k, DoubleBuffer<V> &v, N n, int lo = 0, \
                               int hi = sizeof(K) * 8, cudaStream_t s = 0) { \
        return fake_detail::sorted(temp, bytes, k, &v, (int64_t)n, 1, fake_detail::whole{0}, \
                                   fake_detail::whole{(int64_t)n}, lo, hi, down, s); \
    }
    FAKE_SORT(, false)
    FAKE_SORT(Descending, true)
#undef FAKE_SORT
};

/* Segments from begin[i] up to end[i]. */
struct DeviceSegmentedRadixSort {
#define FAKE_SORT(Suffix, down) \
    template <class K, class N, class M, class B, class E> \
    FAKE_CUB SortKeys##Suffix(void *temp, size_t &bytes, const K *in, K *out, N n, M segments, B begin, E end, int lo = 0, \
                              int hi = sizeof(K) * 8, cudaStream_t s = 0) { \
        typedef fake_detail::none V; \
        return fake_detail::sorted(temp, bytes, in, out, (const V *)NULL, (V *)NULL, (int64_t)n, (int64_t)segments, begin, \
                                   end, lo, hi, down, s); \
    } \
    template <class K, class V, class N, class M, class B, class E> \
    FAKE_CUB SortPairs##Suffix(void *temp, size_t &bytes, const K *in, K *out, const V *vin, V *vout, N n, M segments, \
                               B begin, E end, int lo = 0, int hi = sizeof(K) * 8, cudaStream_t s = 0) { \
        return fake_detail::sorted(temp, bytes, in, out, vin, vout, (int64_t)n, (int64_t)segments, begin, end, lo, hi, down, \
                                   s); \
    } \
    template <class K, class V, class N, class M, class B, class E> \
    FAKE_CUB SortPairs##Suffix(void *temp, size_t &bytes, DoubleBuffer<K> &k, DoubleBuffer<V> &v, N n, M segments, B begin, \
                               E end, int lo = 0, int hi = sizeof(K) * 8, cudaStream_t s = 0) { \
        return fake_detail::sorted(temp, bytes, k, &v, (int64_t)n, (int64_t)segments, begin, end, lo, hi, down, s); \
    }
    FAKE_SORT(, false)
    FAKE_SORT(Descending, true)
#undef FAKE_SORT
};

struct DeviceSegmentedSort {
#define FAKE_SORT(Name, Keys, Pairs) \
    template <class K, class N, class M, class B, class E> \
    FAKE_CUB Keys(void *temp, size_t &bytes, const K *in, K *out, N n, M segments, B begin, E end, cudaStream_t s = 0) { \
        return DeviceSegmentedRadixSort::SortKeys##Name(temp, bytes, in, out, n, segments, begin, end, 0, sizeof(K) * 8, s); \
    } \
    template <class K, class V, class N, class M, class B, class E> \
    FAKE_CUB Pairs(void *temp, size_t &bytes, const K *in, K *out, const V *vin, V *vout, N n, M segments, B begin, E end, \
                   cudaStream_t s = 0) { \
        return DeviceSegmentedRadixSort::SortPairs##Name(temp, bytes, in, out, vin, vout, n, segments, begin, end, 0, \
                                                         sizeof(K) * 8, s); \
    } \
    template <class K, class V, class N, class M, class B, class E> \
    FAKE_CUB Pairs(void *temp, size_t &bytes, DoubleBuffer<K> &k, DoubleBuffer<V> &v, N n, M segments, B begin, E end, \
                   cudaStream_t s = 0) { \
        return DeviceSegmentedRadixSort::SortPairs##Name(temp, bytes, k, v, n, segments, begin, end, 0, sizeof(K) * 8, s); \
    }
    FAKE_SORT(, SortKeys, SortPairs)
    FAKE_SORT(, StableSortKeys, StableSortPairs)
    FAKE_SORT(Descending, SortKeysDescending, SortPairsDescending)
    FAKE_SORT(Descending, StableSortKeysDescending, StableSortPairsDescending)
#undef FAKE_SORT
};

/* In place, by a comparison. */
struct DeviceMergeSort {
    template <class K, class N, class L>
    FAKE_CUB StableSortKeys(void *temp, size_t &bytes, K k, N n, L less, cudaStream_t s = 0) {
        return fake_detail::call(temp, bytes, (int64_t)n, s, "cub::merge_sort", [=] { std::stable_sort(k, k + n, less); });
    }
    template <class K, class N, class L>
    FAKE_CUB SortKeys(void *temp, size_t &bytes, K k, N n, L less, cudaStream_t s = 0) {
        return StableSortKeys(temp, bytes, k, n, less, s);
    }
    template <class K, class V, class N, class L>
    FAKE_CUB StableSortPairs(void *temp, size_t &bytes, K k, V v, N n, L less, cudaStream_t s = 0) {
        return fake_detail::call(temp, bytes, (int64_t)n, s, "cub::merge_sort", [=] {
            typedef typename std::iterator_traits<K>::value_type key;
            typedef typename std::iterator_traits<V>::value_type value;
            std::vector<std::pair<key, value>> all;
            for (int64_t i = 0; i < (int64_t)n; i++) all.emplace_back(k[i], v[i]);
            std::stable_sort(all.begin(), all.end(), [&](const auto &a, const auto &b) { return less(a.first, b.first); });
            for (int64_t i = 0; i < (int64_t)n; i++) k[i] = all[(size_t)i].first, v[i] = all[(size_t)i].second;
        });
    }
    template <class K, class V, class N, class L>
    FAKE_CUB SortPairs(void *temp, size_t &bytes, K k, V v, N n, L less, cudaStream_t s = 0) {
        return StableSortPairs(temp, bytes, k, v, n, less, s);
    }
};
} // namespace cub

#include "scan.cuh"

#undef FAKE_CUB
#endif
