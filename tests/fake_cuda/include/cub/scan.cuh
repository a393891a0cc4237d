/* CUB's scans, selections, reductions and runs, part of cub.cuh (tests/fake_cuda). */
#ifndef FAKE_CUB_SCAN_CUH
#define FAKE_CUB_SCAN_CUH

namespace cub {
template <class It> using fake_value = typename std::iterator_traits<It>::value_type;

struct DeviceScan {
    /* What is scanned has the type of init, sums that of the input. */
    template <class I, class O, class F, class T, class N>
    FAKE_CUB ExclusiveScan(void *temp, size_t &bytes, I in, O out, F op, T init, N n, cudaStream_t s = 0) {
        return fake_detail::call(temp, bytes, (int64_t)n, s, "cub::scan", [=] {
            T a = init;
            for (int64_t i = 0; i < (int64_t)n; i++) {
                T next = op(a, in[i]); /* before out[i], which may be in[i] */
                out[i] = a;
                a = next;
            }
        });
    }
    template <class I, class O, class F, class N>
    FAKE_CUB InclusiveScan(void *temp, size_t &bytes, I in, O out, F op, N n, cudaStream_t s = 0) {
        return fake_detail::call(temp, bytes, (int64_t)n, s, "cub::scan", [=] {
            if (n <= 0) return;
            fake_value<I> a = in[0];
            out[0] = a;
            for (int64_t i = 1; i < (int64_t)n; i++) out[i] = a = op(a, in[i]);
        });
    }
    template <class I, class O, class N>
    FAKE_CUB ExclusiveSum(void *temp, size_t &bytes, I in, O out, N n, cudaStream_t s = 0) {
        typedef fake_value<I> T;
        return ExclusiveScan(temp, bytes, in, out, [](T a, T b) -> T { return (T)(a + b); }, T(), n, s);
    }
    template <class I, class N>
    FAKE_CUB ExclusiveSum(void *temp, size_t &bytes, I data, N n, cudaStream_t s = 0) {
        return ExclusiveSum(temp, bytes, data, data, n, s);
    }
    template <class I, class O, class N>
    FAKE_CUB InclusiveSum(void *temp, size_t &bytes, I in, O out, N n, cudaStream_t s = 0) {
        typedef fake_value<I> T;
        return InclusiveScan(temp, bytes, in, out, [](T a, T b) -> T { return (T)(a + b); }, n, s);
    }
    template <class I, class N>
    FAKE_CUB InclusiveSum(void *temp, size_t &bytes, I data, N n, cudaStream_t s = 0) {
        return InclusiveSum(temp, bytes, data, data, n, s);
    }
    struct fake_equal {
        template <class T> bool operator()(const T &a, const T &b) const { return a == b; }
    };
    template <class K, class I, class O, class F, class N, class Q = fake_equal>
    FAKE_CUB InclusiveScanByKey(void *temp, size_t &bytes, K key, I in, O out, F op, N n, Q same = Q(), cudaStream_t s = 0) {
        return fake_detail::call(temp, bytes, (int64_t)n, s, "cub::scan_by_key", [=] {
            fake_value<I> a = fake_value<I>();
            for (int64_t i = 0; i < (int64_t)n; i++) {
                a = i && same(key[i - 1], key[i]) ? (fake_value<I>)op(a, in[i]) : (fake_value<I>)in[i];
                out[i] = a;
            }
        });
    }
    template <class K, class I, class O, class F, class T, class N, class Q = fake_equal>
    FAKE_CUB ExclusiveScanByKey(void *temp, size_t &bytes, K key, I in, O out, F op, T init, N n, Q same = Q(),
                                cudaStream_t s = 0) {
        return fake_detail::call(temp, bytes, (int64_t)n, s, "cub::scan_by_key", [=] {
            T a = init;
            for (int64_t i = 0; i < (int64_t)n; i++) {
                if (i && !same(key[i - 1], key[i])) a = init;
                T next = op(a, in[i]);
                out[i] = a;
                a = next;
            }
        });
    }
    template <class K, class I, class O, class N, class Q = fake_equal>
    FAKE_CUB InclusiveSumByKey(void *temp, size_t &bytes, K key, I in, O out, N n, Q same = Q(), cudaStream_t s = 0) {
        typedef fake_value<I> T;
        return InclusiveScanByKey(temp, bytes, key, in, out, [](T a, T b) -> T { return (T)(a + b); }, n, same, s);
    }
    template <class K, class I, class O, class N, class Q = fake_equal>
    FAKE_CUB ExclusiveSumByKey(void *temp, size_t &bytes, K key, I in, O out, N n, Q same = Q(), cudaStream_t s = 0) {
        typedef fake_value<I> T;
        return ExclusiveScanByKey(temp, bytes, key, in, out, [](T a, T b) -> T { return (T)(a + b); }, T(), n, same, s);
    }
};

/* The chosen ones in their order, and how many. */
struct DeviceSelect {
    template <class I, class G, class O, class M, class N>
    FAKE_CUB Flagged(void *temp, size_t &bytes, I in, G flag, O out, M count, N n, cudaStream_t s = 0) {
        return fake_detail::call(temp, bytes, (int64_t)n, s, "cub::select", [=] {
            int64_t k = 0;
            for (int64_t i = 0; i < (int64_t)n; i++)
                if (flag[i]) out[k++] = in[i];
            *count = (fake_value<M>)k;
        });
    }
    template <class I, class O, class M, class N, class F>
    FAKE_CUB If(void *temp, size_t &bytes, I in, O out, M count, N n, F keep, cudaStream_t s = 0) {
        return fake_detail::call(temp, bytes, (int64_t)n, s, "cub::select", [=] {
            int64_t k = 0;
            for (int64_t i = 0; i < (int64_t)n; i++) {
                fake_value<I> v = in[i];
                if (keep(v)) out[k++] = v;
            }
            *count = (fake_value<M>)k;
        });
    }
    template <class I, class O, class M, class N>
    FAKE_CUB Unique(void *temp, size_t &bytes, I in, O out, M count, N n, cudaStream_t s = 0) {
        return fake_detail::call(temp, bytes, (int64_t)n, s, "cub::unique", [=] {
            int64_t k = 0;
            for (int64_t i = 0; i < (int64_t)n; i++)
                if (i == 0 || !(in[i - 1] == in[i])) out[k++] = in[i];
            *count = (fake_value<M>)k;
        });
    }
    template <class K, class V, class KO, class VO, class M, class N>
    FAKE_CUB UniqueByKey(void *temp, size_t &bytes, K key, V value, KO keys, VO values, M count, N n, cudaStream_t s = 0) {
        return fake_detail::call(temp, bytes, (int64_t)n, s, "cub::unique", [=] {
            int64_t k = 0;
            for (int64_t i = 0; i < (int64_t)n; i++)
                if (i == 0 || !(key[i - 1] == key[i])) keys[k] = key[i], values[k++] = value[i];
            *count = (fake_value<M>)k;
        });
    }
};

struct DeviceReduce {
    template <class I, class O, class N, class F, class T>
    FAKE_CUB Reduce(void *temp, size_t &bytes, I in, O out, N n, F op, T init, cudaStream_t s = 0) {
        return fake_detail::call(temp, bytes, (int64_t)n, s, "cub::reduce", [=] {
            T a = init;
            for (int64_t i = 0; i < (int64_t)n; i++) a = op(a, in[i]);
            *out = a;
        });
    }
    template <class I, class O, class N>
    FAKE_CUB Sum(void *temp, size_t &bytes, I in, O out, N n, cudaStream_t s = 0) {
        typedef fake_value<O> T;
        return Reduce(temp, bytes, in, out, n, [](T a, T b) -> T { return (T)(a + b); }, T(), s);
    }
    template <class I, class O, class N>
    FAKE_CUB Min(void *temp, size_t &bytes, I in, O out, N n, cudaStream_t s = 0) {
        typedef fake_value<I> T;
        return Reduce(temp, bytes, in, out, n, [](T a, T b) -> T { return b < a ? b : a; }, std::numeric_limits<T>::max(), s);
    }
    template <class I, class O, class N>
    FAKE_CUB Max(void *temp, size_t &bytes, I in, O out, N n, cudaStream_t s = 0) {
        typedef fake_value<I> T;
        return Reduce(temp, bytes, in, out, n, [](T a, T b) -> T { return a < b ? b : a; }, std::numeric_limits<T>::lowest(), s);
    }
    template <class K, class U, class I, class O, class M, class F, class N>
    FAKE_CUB ReduceByKey(void *temp, size_t &bytes, K key, U keys, I in, O out, M count, F op, N n, cudaStream_t s = 0) {
        return fake_detail::call(temp, bytes, (int64_t)n, s, "cub::reduce_by_key", [=] {
            int64_t k = 0;
            fake_value<I> a = fake_value<I>();
            for (int64_t i = 0; i < (int64_t)n; i++) {
                bool first = i == 0 || !(key[i - 1] == key[i]);
                a = first ? (fake_value<I>)in[i] : (fake_value<I>)op(a, in[i]);
                if (first) keys[k++] = key[i];
                out[k - 1] = a;
            }
            *count = (fake_value<M>)k;
        });
    }
};

struct DeviceSegmentedReduce {
    template <class I, class O, class M, class B, class E, class F, class T>
    FAKE_CUB Reduce(void *temp, size_t &bytes, I in, O out, M segments, B begin, E end, F op, T init, cudaStream_t s = 0) {
        return fake_detail::call(temp, bytes, (int64_t)segments, s, "cub::segmented_reduce", [=] {
            for (int64_t j = 0; j < (int64_t)segments; j++) {
                T a = init;
                for (int64_t i = (int64_t)begin[j]; i < (int64_t)end[j]; i++) a = op(a, in[i]);
                out[j] = a;
            }
        });
    }
    template <class I, class O, class M, class B, class E>
    FAKE_CUB Sum(void *temp, size_t &bytes, I in, O out, M segments, B begin, E end, cudaStream_t s = 0) {
        typedef fake_value<O> T;
        return Reduce(temp, bytes, in, out, segments, begin, end, [](T a, T b) -> T { return (T)(a + b); }, T(), s);
    }
};

struct DeviceRunLengthEncode {
    template <class I, class U, class L, class M, class N>
    FAKE_CUB Encode(void *temp, size_t &bytes, I in, U values, L lengths, M count, N n, cudaStream_t s = 0) {
        return fake_detail::call(temp, bytes, (int64_t)n, s, "cub::runs", [=] {
            int64_t k = 0;
            for (int64_t i = 0; i < (int64_t)n; i++) {
                if (i == 0 || !(in[i - 1] == in[i])) values[k] = in[i], lengths[k++] = 0;
                lengths[k - 1]++;
            }
            *count = (fake_value<M>)k;
        });
    }
};
} // namespace cub

#endif
