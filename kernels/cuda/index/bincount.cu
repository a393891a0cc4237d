/* Counting by value: bincount, histc, one_hot. Labels count from 1. Integers are counted by atomic
 * sums, weights added in a fixed order (scatter.cu). Limit: a read of each element; bins that fit
 * are counted in shared memory first. */
#include "kernels/cuda/layout/copy.h"
#include "kernels/cuda/index/scatter.cuh"
#include "kernels/cuda/runtime/rows.cuh"

/* SOME: elements of a vector; CHUNK: of a block at a time; RESIDENT: blocks that a multiprocessor
 * has registers for. */
enum {
    SHARED_BINS = 4096,
    BLOCKS = 1024,
    AHEAD = 4,
    SOME = 4,
    CHUNK = GP_THREADS * SOME * AHEAD,
    RESIDENT = 4
};

static const char *const texts_bincount[] = {
    "bincount: value %lld is out of range (values count from 1: expected at least 1; add 1 to "
    "values that count from 0)"};
static const char *const texts_one_hot[] = {
    "one_hot: value %lld is out of range (values count from 1: expected 1 to %lld; add 1 to values "
    "that count from 0)"};

typedef unsigned long long count;

static bool clear(const gp_call *c, void *p, int64_t bytes) {
    return bytes == 0 || gp_cuda_ok(c, cudaMemsetAsync(p, 0, (size_t)bytes, gp_cuda_stream(c)));
}

/* Adds the block's counts in shared memory, if any, to the totals. */
__device__ static void begin_bins(unsigned *mine, int64_t n) {
    for (int64_t k = threadIdx.x; mine && k < n; k += blockDim.x) mine[k] = 0;
    __syncthreads();
}
__device__ static void end_bins(const unsigned *mine, count *all, int64_t n) {
    __syncthreads();
    for (int64_t k = threadIdx.x; mine && k < n; k += blockDim.x)
        if (mine[k]) atomicAdd(&all[k], (count)mine[k]);
}
__device__ static void add_to_bin(unsigned *mine, count *all, int64_t k) {
    if (mine) atomicAdd(&mine[k], 1u);
    else atomicAdd(&all[k], (count)1);
}

/* f(element) for each that falls to this thread of the grid. */
template <class T, class F>
__device__ static void each_element(const gp_loop<1> &l, gp_dtype dt, F f) {
    uint64_t i = gp_element(), all = (uint64_t)gridDim.x * GP_THREADS;
    int64_t step = l.stride[0][0];
    for (; l.ndim == 1 && i + (AHEAD - 1) * all < l.numel; i += AHEAD * all) {
        T v[AHEAD];
        gp_load_apart<T, AHEAD>(l.data[0] + (int64_t)i * step, (int64_t)all * step, dt, v);
        for (int k = 0; k < AHEAD; k++) f(v[k]);
    }
    for (; i < l.numel; i += all) {
        int64_t off[1];
        gp_offsets(l, (uint32_t)i, off);
        f(gp_load_as<T>(l.data[0] + off[0], dt));
    }
}

static uint32_t some_blocks(const gp_call *c, int64_t n) {
    int64_t most = RESIDENT * gp_cuda_sms(c), need = gp_blocks(n);
    return (uint32_t)(need < most ? need : most);
}

/* ---- elements that are one line, aligned to their vectors ---- */

static bool is_line(const gp_loop<1> &l, gp_dtype dt) {
    int size = gp_dtype_sizes[dt];
    return l.ndim == 1 && l.stride[0][0] == size && gp_aligned(l.data[0], (size_t)(SOME * size));
}

/* The distance of a thread's j-th element of a chunk from its first: it is in vector j / SOME. */
__device__ static inline uint32_t in_chunk(int j) {
    return (uint32_t)(j / SOME * GP_THREADS * SOME + j % SOME);
}
template <class T>
__device__ static inline void load_chunk(const char *p, gp_dtype dt, T (&to)[SOME * AHEAD]) {
    switch (dt) {
#define LOAD_CHUNK(DT, M, load, store)                                                             \
    case DT: {                                                                                     \
        gp_vector<M, SOME> raw[AHEAD];                                                             \
        for (int k = 0; k < AHEAD; k++) raw[k] = ((const gp_vector<M, SOME> *)p)[k * GP_THREADS];  \
        for (int j = 0; j < AHEAD * SOME; j++) {                                                   \
            M m = raw[j / SOME].v[j % SOME];                                                       \
            to[j] = load;                                                                          \
        }                                                                                          \
        break;                                                                                     \
    }
        GP_MEMORY_CASES(LOAD_CHUNK)
    default: break;
    }
}

/* quick(v) for each element in compute type T; those for which it is false, and the last ones,
 * which fill no chunk, go to slow(address). */
template <class T, class Q, class S>
__device__ static inline void each_of_line(const gp_loop<1> &l, gp_dtype dt, Q quick, S slow) {
    const int size = gp_bytes_of(dt);
    const uint32_t whole = l.numel / CHUNK;
    for (uint32_t chunk = blockIdx.x; chunk < whole; chunk += gridDim.x) {
        const char *p = l.data[0] + ((int64_t)chunk * CHUNK + threadIdx.x * SOME) * size;
        T v[SOME * AHEAD];
        unsigned rest = 0;
        load_chunk(p, dt, v);
#pragma unroll
        for (int j = 0; j < SOME * AHEAD; j++) rest |= (unsigned)!quick(v[j]) << j;
        for (; rest; rest &= rest - 1) slow(p + in_chunk(__ffs((int)rest) - 1) * size);
    }
    uint32_t i = whole * CHUNK + gp_element();
    for (; i < l.numel; i += gridDim.x * GP_THREADS) slow(l.data[0] + (int64_t)i * size);
}

/* ---- bincount ---- */

template <bool LINE>
static __global__ void __launch_bounds__(GP_THREADS, RESIDENT)
    count_labels(gp_loop<1> l, gp_dim_index k, count *out) {
    __shared__ unsigned shared[SHARED_BINS];
    unsigned *mine = k.size <= SHARED_BINS ? shared : NULL;
    auto label = [&](int64_t v) {
        int64_t at;
        if (gp_offset_of_index(k, v, &at)) add_to_bin(mine, out, at);
    };
    begin_bins(mine, k.size);
    if (LINE && mine) {
        each_of_line<int64_t>(
            l, k.dtype,
            [&](int64_t v) {
                bool in = (uint64_t)v - 1 < (uint64_t)k.size;
                if (in) atomicAdd(&shared[(uint32_t)v - 1], 1u);
                return in;
            },
            [&](const char *p) { label(gp_load_as<int64_t>(p, k.dtype)); });
    } else {
        each_element<int64_t>(l, k.dtype, label);
    }
    end_bins(mine, out, k.size);
}

static gp_dim_index label_index(const gp_call *c, const gp_array *x, int64_t size, int64_t step,
                                const char *const *texts) {
    gp_dim_index k = {(gp_dtype)x->dtype,         false, true, 1, size, step, INT64_MIN,
                      gp_cuda_fault(c, texts, 1), NULL};
    return k;
}

static bool add_weights(const gp_call *c, const gp_array *x, const gp_array *weights) {
    const gp_array *out = gp_out(c, 0);
    gp_indexed p = {};
    gp_scatter_write w = {};
    p.l.ndim = 1, p.l.dim[0] = x->numel, p.l.position[0] = 0;
    p.index = *x, p.ndim = 1;
    p.over = label_index(c, x, out->numel, gp_dtype_sizes[out->dtype], texts_bincount);
    w.how = GP_ADD, w.include_self = true, w.target = *out, w.values = *weights;
    return gp_cuda_scatter(c, &p, &w);
}

/* Counts of the first out->numel labels, which infer has. */
static bool copy_counts(const gp_call *c, const gp_array *out) {
    gp_array counts = *c->tmpa[0];
    counts.numel = counts.dim[0] = out->numel;
    return gp_cuda_copy_array(c, out, &counts);
}

/* Adds what a block sees to the counts of labels and to the largest element, where one below 1 is
 * one above the labels. */
template <bool LINE>
static __global__ void __launch_bounds__(GP_THREADS, RESIDENT)
    count_all(gp_loop<1> l, gp_dtype dt, uint32_t labels, count *out, long long *largest) {
    __shared__ unsigned shared[SHARED_BINS];
    long long most = 0;
    auto label = [&](int64_t v) {
        if ((uint64_t)v - 1 < labels) atomicAdd(&shared[(uint32_t)v - 1], 1u);
        if (v < 1) v = (int64_t)labels + 1;
        most = v > most ? v : most;
        return true;
    };
    begin_bins(shared, labels);
    if (LINE)
        each_of_line<int64_t>(l, dt, label,
                              [&](const char *p) { label(gp_load_as<int64_t>(p, dt)); });
    else each_element<int64_t>(l, dt, label);
    end_bins(shared, out, labels);
    most = gp_lanes_reduce(most, GP_WARP, gp_max());
    if (threadIdx.x % GP_WARP == 0) atomicMax(largest, most);
}

GP_C bool CUDA(count_labels)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0), *largest = gp_out(c, 1);
    const gp_array *const arrays[1] = {x};
    static_assert(SHARED_BINS >= 4096, "all labels have a bin");
    if (!clear(c, out->data, out->numel * 8) || !clear(c, largest->data, 8)) return false;
    return gp_nest_run(gp_nest_of<1>(arrays), [&](gp_loop<1> l, int64_t) {
        gp_dtype dt = (gp_dtype)x->dtype;
        auto kernel = is_line(l, dt) ? count_all<true> : count_all<false>;
        return GP_LAUNCH(c, kernel, some_blocks(c, l.numel), GP_THREADS, 0, l, dt,
                         (uint32_t)out->numel, (count *)out->data, (long long *)largest->data);
    });
}

GP_C bool CUDA(bincount)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *weights = gp_in(c, 1), *out = gp_out(c, 0);
    if (c->ntmp) return copy_counts(c, out);
    if (!clear(c, out->data, out->numel * gp_dtype_sizes[out->dtype])) return false;
    if (x->numel == 0) return true;
    if (weights) return add_weights(c, x, weights);
    gp_dim_index k = label_index(c, x, out->numel, 1, texts_bincount);
    const gp_array *const arrays[1] = {x};
    return gp_nest_run(gp_nest_of<1>(arrays), [&](gp_loop<1> l, int64_t) {
        auto kernel = is_line(l, k.dtype) ? count_labels<true> : count_labels<false>;
        return GP_LAUNCH(c, kernel, some_blocks(c, l.numel), GP_THREADS, 0, l, k,
                         (count *)out->data);
    });
}

/* ---- histc ---- */

static const char *const texts_histc[] = {
    "histc: the elements' range is not finite; give min and max"};

struct least {
    __device__ double operator()(double a, double b) const { return b < a ? b : a; }
};

/* Every block's smallest and largest element; a NaN makes both infinite. */
static __global__ void find_range(gp_loop<1> l, gp_dtype dt, double *part) {
    double lo = INFINITY, hi = -INFINITY;
    each_element<double>(l, dt, [&](double v) {
        lo = v < lo ? v : lo, hi = v > hi ? v : hi;
        if (v != v) lo = -INFINITY, hi = INFINITY;
    });
    lo = gp_group_reduce(lo, GP_THREADS, least()), hi = gp_group_reduce(hi, GP_THREADS, gp_max());
    if (threadIdx.x == 0) part[2 * blockIdx.x] = lo, part[2 * blockIdx.x + 1] = hi;
}

/* One block: combines the range into part[0] and part[1]. */
static __global__ void settle_range(double *part, int64_t n, gp_fault_at fault) {
    double lo = INFINITY, hi = -INFINITY;
#pragma unroll 4
    for (int64_t k = threadIdx.x; k < n; k += GP_THREADS)
        lo = least()(lo, part[2 * k]), hi = gp_max()(hi, part[2 * k + 1]);
    lo = gp_group_reduce(lo, GP_THREADS, least()), hi = gp_group_reduce(hi, GP_THREADS, gp_max());
    if (threadIdx.x) return;
    if (lo - lo != 0 || hi - hi != 0) gp_fault_note(fault, 1);
    if (lo == hi) lo -= 1, hi += 1;
    part[0] = lo, part[1] = hi;
}

/* Bins of equal width; range: replaces lo and hi if given. */
struct bins {
    double lo, hi;
    const double *range;
    int64_t n;
};

/* Counts an element; those outside lo … hi, and NaN, are left out; hi belongs to the last bin. */
__device__ static void count_in(const bins &b, unsigned *mine, count *out, double v) {
    if (!(v >= b.lo && v <= b.hi)) return;
    int64_t k = (int64_t)((v - b.lo) * (double)b.n / (b.hi - b.lo));
    if (k >= 0) add_to_bin(mine, out, k < b.n ? k : b.n - 1);
}

static __global__ void __launch_bounds__(GP_THREADS, RESIDENT)
    count_range(gp_loop<1> l, gp_dtype dt, bins b, count *out) {
    __shared__ unsigned shared[SHARED_BINS];
    unsigned *mine = b.n <= SHARED_BINS ? shared : NULL;
    if (b.range) b.lo = b.range[0], b.hi = b.range[1];
    begin_bins(mine, b.n);
    each_element<double>(l, dt, [&](double v) { count_in(b, mine, out, v); });
    end_bins(mine, out, b.n);
}

/* The same for a line of f32 and 16-bit floats and bins in shared memory. The bin in f32 is the one
 * in f64 unless it is closer to a bin's end than both roundings: those of lo, of the difference, of
 * the scale and of the product, at most 2^-24 of each. */
static __global__ void __launch_bounds__(GP_THREADS, RESIDENT)
    count_floats(gp_loop<1> l, gp_dtype dt, bins b, count *out) {
    __shared__ unsigned shared[SHARED_BINS];
    if (b.range) b.lo = b.range[0], b.hi = b.range[1];
    const double scale = (double)b.n / (b.hi - b.lo);
    const float low = (float)b.lo, by = (float)scale, edge = (float)(b.n + fabs(b.lo) * scale),
                least = edge * 0x1p-22f, most = 1 - least;
    begin_bins(shared, b.n);
    each_of_line<float>(
        l, dt,
        [&](float v) {
            float at = (v - low) * by;
            int k = __float2int_rd(at);
            float part = at - (float)k;
            bool sure = part > least && part < most;
            if (sure && (unsigned)k < (unsigned)b.n) atomicAdd(&shared[k], 1u);
            return sure;
        },
        [&](const char *p) { count_in(b, shared, out, gp_load_as<double>(p, dt)); });
    end_bins(shared, out, b.n);
}

static uint32_t range_blocks(int64_t n) {
    uint32_t need = gp_blocks(n);
    return need < BLOCKS ? need : (uint32_t)BLOCKS;
}

static bool range_of(const gp_call *c, const gp_nest<1> &n, gp_dtype dt, double **range) {
    int64_t at = 0, all = 0;
    gp_fault_at fault = gp_cuda_fault(c, texts_histc, 1);
    gp_nest_run(n, [&](gp_loop<1> l, int64_t) { return all += range_blocks(l.numel), true; });
    double *part = (double *)gp_cuda_scratch(c, (size_t)(2 * all) * sizeof *part);
    *range = part;
    return part &&
           gp_nest_run(n,
                       [&](gp_loop<1> l, int64_t) {
                           uint32_t blocks = range_blocks(l.numel);
                           double *to = part + 2 * at;
                           at += blocks;
                           return GP_LAUNCH(c, find_range, blocks, GP_THREADS, 0, l, dt, to);
                       }) &&
           GP_LAUNCH(c, settle_range, 1, GP_THREADS, 0, part, at, fault);
}

static double number(const gp_value *v) { return v->is_float ? v->f : (double)v->i; }

/* Arguments: x, bins, min, max; where these are equal, the range is that of the elements. */
GP_C bool CUDA(histc)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0);
    double lo = number(&c->arg[2]), hi = number(&c->arg[3]), *range = NULL;
    gp_dtype dt = (gp_dtype)x->dtype;
    gp_array counts = *out;
    counts.dtype = GP_i64;
    counts.data = (char *)gp_cuda_scratch(c, (size_t)out->numel * 8);
    if (!counts.data || !clear(c, counts.data, out->numel * 8)) return false;
    const gp_array *const arrays[1] = {x};
    gp_nest<1> n = gp_nest_of<1>(arrays);
    if (lo == hi && x->numel) {
        if (!range_of(c, n, dt, &range)) return false;
    } else if (lo == hi) lo -= 1, hi += 1;
    bins b = {lo, hi, range, out->numel};
    bool floats = gp_compute_dtype(dt) == GP_f32 && b.n <= SHARED_BINS;
    return gp_nest_run(n,
                       [&](gp_loop<1> l, int64_t) {
                           auto kernel = floats && is_line(l, dt) ? count_floats : count_range;
                           return GP_LAUNCH(c, kernel, some_blocks(c, l.numel), GP_THREADS, 0, l,
                                            dt, b, (count *)counts.data);
                       }) &&
           gp_cuda_copy_array(c, out, &counts);
}

/* ---- one_hot ---- */

static __global__ void mark(const char *x, int64_t n, int64_t size, gp_dim_index k, int64_t *to) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x, at;
    if (i < n && gp_index_offset(k, x + i * size, &at)) to[i * k.size + at] = 1;
}

GP_C bool CUDA(one_hot)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0), *x = c->tmpa[0];
    gp_dim_index k = label_index(c, x, out->dim[out->ndim - 1], 1, texts_one_hot);
    return clear(c, out->data, out->numel * 8) &&
           GP_LAUNCH(c, mark, gp_blocks(x->numel), GP_THREADS, 0, x->data, x->numel,
                     gp_dtype_sizes[x->dtype], k, (int64_t *)out->data);
}
