/* Tests of the stand-in for CUB: sorts, scans, selections and a block's collectives against plain
 * loops written here. */
#include <cub/cub.cuh>
#include <stdio.h>
#include <stdlib.h>

#include <vector>

#include "tap.h"

static unsigned random_state = 1;
static unsigned random_next(void) {
    return (random_state = random_state * 1664525u + 1013904223u) >> 8;
}

/* The two phases of a call, on the default stream: the second one's result. */
template <class F> static cudaError_t both(F call) {
    size_t bytes = 0;
    cudaError_t err = call((void *)NULL, bytes);
    if (err || bytes == 0) return cudaErrorUnknown;
    void *temp;
    if ((err = cudaMalloc(&temp, bytes))) return err;
    err = call(temp, bytes);
    cudaError_t late = cudaDeviceSynchronize();
    cudaFree(temp);
    return err ? err : late;
}

template <class T> struct array { /* device memory, host values */
    T *d;
    size_t n;
    explicit array(size_t n_) : n(n_) { cudaMalloc(&d, n * sizeof(T) + 1); }
    explicit array(const std::vector<T> &v) : array(v.size()) {
        cudaMemcpy(d, v.data(), n * sizeof(T), cudaMemcpyHostToDevice);
    }
    ~array() { cudaFree(d); }
    std::vector<T> host() const {
        std::vector<T> v(n);
        cudaMemcpy(v.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost);
        return v;
    }
};

/* An insertion sort, stable: equal elements keep their order. */
template <class T, class L>
static std::vector<int> order(const std::vector<T> &v, size_t from, size_t to, L before) {
    std::vector<int> o;
    for (size_t i = from; i < to; i++) {
        size_t at = o.size();
        while (at && before(v[i], v[(size_t)o[at - 1]])) at--;
        o.insert(o.begin() + (long)at, (int)i);
    }
    return o;
}

static void sorts(void) {
    size_t n = 300;
    std::vector<float> k(n);
    std::vector<int> at(n);
    for (size_t i = 0; i < n; i++)
        k[i] = (float)((int)(random_next() % 41) - 20) / 4, at[i] = (int)i;
    k[7] = -0.0f, k[9] = 0.0f, k[11] = INFINITY, k[12] = -INFINITY;
    array<float> in(k), out(n);
    array<int> vin(at), vout(n);
    auto up = [&](void *t, size_t &b) {
        return cub::DeviceRadixSort::SortPairs(t, b, in.d, out.d, vin.d, vout.d, (int)n);
    };
    tap_is_int(both(up), cudaSuccess, "SortPairs");
    tap_ok(vout.host() == order(k, 0, n, [](float a, float b) { return a < b; }),
           "floats ascend, equal ones in their order, -0 as 0");
    cub::DoubleBuffer<float> dk(in.d, out.d);
    cub::DoubleBuffer<int> dv(vin.d, vout.d);
    auto down = [&](void *t, size_t &b) {
        return cub::DeviceRadixSort::SortPairsDescending(t, b, dk, dv, (int)n);
    };
    tap_is_int(both(down), cudaSuccess, "SortPairsDescending with two buffers");
    std::vector<int> got(n);
    cudaMemcpy(got.data(), dv.Current(), n * 4, cudaMemcpyDeviceToHost);
    tap_ok(got == order(k, 0, n, [](float a, float b) { return a > b; }),
           "floats descend, equal ones in their order");

    std::vector<int64_t> i64 = {5, -3, INT64_MAX, INT64_MIN, 0, -3};
    array<int64_t> ki(i64), ko(6);
    both([&](void *t, size_t &b) { return cub::DeviceRadixSort::SortKeys(t, b, ki.d, ko.d, 6); });
    tap_ok(ko.host() == std::vector<int64_t>({INT64_MIN, -3, -3, 0, 5, INT64_MAX}), "signed keys");
    std::vector<unsigned> bits = {0x21, 0x12, 0x33, 0x10};
    array<unsigned> bi(bits), bo(4);
    both([&](void *t, size_t &b) {
        return cub::DeviceRadixSort::SortKeys(t, b, bi.d, bo.d, 4, 4, 8);
    });
    tap_ok(bo.host() == std::vector<unsigned>({0x12, 0x10, 0x21, 0x33}), "some bits of a key only");

    std::vector<int> offset = {0, 10, 10, 150, 300};
    array<int> off(offset);
    array<float> in2(k), out2(n);
    array<int> vin2(at), vout2(n);
    both([&](void *t, size_t &b) {
        return cub::DeviceSegmentedSort::StableSortPairs(t, b, in2.d, out2.d, vin2.d, vout2.d,
                                                         (int)n, 4, off.d, off.d + 1);
    });
    std::vector<int> want;
    for (size_t s = 0; s < 4; s++) {
        auto part = order(k, (size_t)offset[s], (size_t)offset[s + 1],
                          [](float a, float b) { return a < b; });
        want.insert(want.end(), part.begin(), part.end());
    }
    tap_ok(vout2.host() == want, "segments, an empty one among them");
    size_t few = 1;
    tap_ok(cub::DeviceRadixSort::SortKeys(off.d, few, ki.d, ko.d, 6) != cudaSuccess,
           "too little storage is refused");
}

struct even {
    __device__ bool operator()(int x) const { return x % 2 == 0; }
};

static void scans(void) {
    size_t n = 100;
    std::vector<int> x(n), key(n), flag(n);
    for (size_t i = 0; i < n; i++)
        x[i] = (int)(random_next() % 9), key[i] = (int)(i / 7), flag[i] = i % 3 == 1;
    array<int> in(x), out(n), k(key), f(flag), len(n), m(1);
    std::vector<int> want(n);
    int a = 0, c = 0;
    for (size_t i = 0; i < n; i++) want[i] = a, a += x[i];
    both([&](void *t, size_t &b) {
        return cub::DeviceScan::ExclusiveSum(t, b, in.d, out.d, (int)n);
    });
    tap_ok(out.host() == want, "ExclusiveSum");
    both([&](void *t, size_t &b) {
        return cub::DeviceScan::ExclusiveSum(t, b, out.d, out.d, (int)n);
    });
    for (size_t i = 0, s = 0, v; i < n; i++) v = (size_t)want[i], want[i] = (int)s, s += v;
    tap_ok(out.host() == want, "ExclusiveSum in place");
    for (size_t i = 0; i < n; i++) want[i] = a = i % 7 ? a + x[i] : x[i];
    both([&](void *t, size_t &b) {
        return cub::DeviceScan::InclusiveSumByKey(t, b, k.d, in.d, out.d, (int)n);
    });
    tap_ok(out.host() == want, "InclusiveSumByKey");
    want.clear();
    for (size_t i = 0; i < n; i++)
        if (flag[i]) want.push_back(x[i]);
    both([&](void *t, size_t &b) {
        return cub::DeviceSelect::Flagged(t, b, in.d, f.d, out.d, m.d, (int)n);
    });
    std::vector<int> got = out.host();
    tap_ok(m.host()[0] == (int)want.size() &&
               std::vector<int>(got.begin(), got.begin() + (long)want.size()) == want,
           "Flagged");
    both([&](void *t, size_t &b) {
        return cub::DeviceSelect::If(t, b, in.d, out.d, m.d, (int)n, even());
    });
    for (size_t i = 0; i < n; i++) c += x[i] % 2 == 0;
    tap_is_int(m.host()[0], c, "If");
    both([&](void *t, size_t &b) {
        return cub::DeviceRunLengthEncode::Encode(t, b, k.d, out.d, len.d, m.d, (int)n);
    });
    tap_ok(m.host()[0] == 15 && len.host()[3] == 7 && len.host()[14] == 2 && out.host()[14] == 14,
           "runs");
    both([&](void *t, size_t &b) { return cub::DeviceReduce::Max(t, b, in.d, m.d, (int)n); });
    for (size_t i = c = 0; i < n; i++) c = x[i] > c ? x[i] : c;
    tap_is_int(m.host()[0], c, "Max");
    both([&](void *t, size_t &b) { return cub::DeviceScan::InclusiveSum(t, b, in.d, out.d, 0); });
    tap_is_int(cudaDeviceSynchronize(), cudaSuccess, "a scan of nothing");
}

struct call {
    cudaError_t err;
};
static cudaStream_t gp_cuda_stream(call *) { return NULL; }
static bool gp_cuda_ok(call *c, cudaError_t err) { return (c->err = err) == cudaSuccess; }

__global__ void collectives(const int *x, int *out) {
    typedef cub::BlockReduce<int, 128> reduce;
    typedef cub::BlockScan<int, 128> scan;
    typedef cub::BlockRadixSort<int, 128, 2, int> sort;
    __shared__ union {
        reduce::TempStorage r;
        scan::TempStorage s;
        sort::TempStorage q;
    } temp;
    __shared__ cub::WarpReduce<int>::TempStorage w[4];
    int t = (int)threadIdx.x, v = x[t], sum = reduce(temp.r).Sum(v), before, all;
    __syncthreads();
    scan(temp.s).ExclusiveSum(v, before, all);
    __syncthreads();
    int keys[2] = {x[2 * t], x[2 * t + 1]}, at[2] = {2 * t, 2 * t + 1};
    sort(temp.q).Sort(keys, at);
    int warp =
        cub::WarpReduce<int>(w[t / 32]).Reduce(v, [](int a, int b) { return a > b ? a : b; });
    out[t] = before, out[128 + 2 * t] = at[0], out[128 + 2 * t + 1] = at[1];
    if (t == 0) out[384] = sum;
    if (t == 77) out[385] = all;
    if (t % 32 == 0) out[386 + t / 32] = warp;
}

static void blocks(void) {
    std::vector<int> x(256);
    for (int &v : x) v = (int)(random_next() % 50) - 25;
    array<int> in(x), out(390);
    call c = {cudaSuccess};
    GP_LAUNCH(&c, collectives, 1, 128, 0, in.d, out.d);
    tap_is_int(cudaDeviceSynchronize(), cudaSuccess, "a block's collectives");
    std::vector<int> got = out.host(), want = order(x, 0, 256, [](int a, int b) { return a < b; });
    int wrong = 0, sum = 0, most[4] = {-99, -99, -99, -99};
    for (int i = 0; i < 128; i++) {
        wrong += got[(size_t)i] != sum;
        sum += x[(size_t)i];
        most[i / 32] = max(most[i / 32], x[(size_t)i]);
    }
    tap_is_int(wrong, 0, "BlockScan");
    tap_ok(got[384] == sum && got[385] == sum, "BlockReduce, and the sum that BlockScan gives");
    tap_ok(std::vector<int>(got.begin() + 128, got.begin() + 384) == want, "BlockRadixSort");
    tap_ok(std::equal(most, most + 4, got.begin() + 386), "WarpReduce");
}

int main(void) {
    sorts();
    scans();
    blocks();
    return tap_done();
}
