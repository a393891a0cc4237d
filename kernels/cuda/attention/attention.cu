/* The steps of attention between its products, where cuDNN does not do it all: mask, softmax, and
 * their gradient. Limit: the scores read and written three times, mostly in the L2 cache; two reads
 * and a write of each. Few long rows, as of one query and many keys, are
 * divided among blocks. */
#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/norm/parts.cuh"

typedef struct layout {
    int64_t rows, n, l, heads; /* rows of n scores, l of them per head */
    int64_t width;             /* of g and out */
    int64_t ms[4];             /* the mask's strides, 0 where it is broadcast */
    const char *mask;          /* or NULL */
    gp_dtype mt;
    bool causal, back;
    double scale;
} layout;

static layout layout_of(const gp_attention *k) {
    layout p = {k->batch * k->heads * k->l,
                k->s,
                k->l,
                k->heads,
                k->width,
                {0},
                NULL,
                GP_f32,
                k->causal,
                false,
                k->scale};
    if (!k->mask) return p;
    p.mask = (const char *)k->mask->data, p.mt = (gp_dtype)k->mask->dtype;
    gp_attention_mask_strides(k, p.ms);
    return p;
}

template <class T> struct masked {
    const char *p;
    int64_t step;
    gp_dtype dt;
    __device__ masked(const layout &a, int64_t row) {
        int64_t head = row / a.l;
        p = a.mask, dt = a.mt, step = a.ms[3] * (int64_t)gp_bytes_of(dt);
        if (p)
            p += (head / a.heads * a.ms[0] + head % a.heads * a.ms[1] + row % a.l * a.ms[2]) *
                 (int64_t)gp_bytes_of(dt);
    }
    __device__ T operator()(T x, int64_t j) const {
        return p ? x + gp_load_as<T>(p + j * step, dt) : x;
    }
};

/* The keys that a row's query sees: the first ones. */
__device__ static inline int64_t seen_by(const layout &p, int64_t row) {
    return p.causal && row % p.l + 1 < p.n ? row % p.l + 1 : p.n;
}

template <class T>
static __global__ void __launch_bounds__(GP_GROUP_MAX)
    shares(T *scores, T *stats, layout p, int group) {
    int lane = threadIdx.x % group;
    int64_t row = (int64_t)blockIdx.x * (blockDim.x / group) + threadIdx.x / group;
    bool live = row < p.rows;
    if (!live) row = 0; /* a thread that writes nothing */
    int64_t seen = live ? seen_by(p, row) : 0;
    T *x = scores + row * p.n, m = -INFINITY, s = 0;
    masked<T> add(p, row);
    for (int64_t j = lane; j < seen; j += group) {
        T v = add(x[j], j);
        if (p.back) v = exp(v - stats[row]);
        x[j] = v;
        m = v > m ? v : m;
    }
    for (int64_t j = seen + lane; live && j < p.n; j += group) x[j] = 0;
    if (p.back) return; /* all threads do */
    m = gp_group_reduce(m, group, gp_max());
    bool blind = m == -INFINITY; /* no key is visible: the weights are 0 */
    for (int64_t j = lane; j < seen; j += group) s += x[j] = blind && x[j] == m ? 0 : exp(x[j] - m);
    s = gp_group_reduce(s, group, gp_add());
    for (int64_t j = lane; j < seen; j += group) x[j] /= blind && s == 0 ? 1 : s;
    if (stats && live && lane == 0) stats[row] = blind && s == 0 ? INFINITY : m + log(s);
}

template <class T>
static __global__ void __launch_bounds__(GP_GROUP_MAX)
    slopes(T *d, const T *share, const T *g, const T *out, layout p, int group) {
    int lane = threadIdx.x % group;
    int64_t row = (int64_t)blockIdx.x * (blockDim.x / group) + threadIdx.x / group;
    int64_t n = row < p.rows ? p.n : 0, width = row < p.rows ? p.width : 0;
    T s = 0;
    for (int64_t j = lane; j < width; j += group)
        s += g[row * p.width + j] * out[row * p.width + j];
    s = gp_group_reduce(s, group, gp_add());
    for (int64_t j = lane; j < n; j += group)
        d[row * p.n + j] = share[row * p.n + j] == 0
                               ? 0
                               : share[row * p.n + j] * (d[row * p.n + j] - s) * (T)p.scale;
}

/* ---- few long rows ---- */

/* Calls f(v, i) for a thread's elements of n, adjacent in memory, several of which it reads before
 * the first call. */
template <class T, class F> __device__ static void each_score(const T *x, int64_t n, F f) {
    const gp_dtype dt = gp_memory_of<T>::dtype;
    gp_each<T, dt, 1>((const char *)x, sizeof(T), dt, n, threadIdx.x, GP_THREADS,
                      [&](const T(&v)[1], int64_t i, int64_t) { f(v[0], i); });
}

/* Masked scores and their sums of each part; if p.back, the shares themselves. */
template <class T>
static __global__ void share_parts(T *scores, const T *stats, layout p, int64_t size,
                                   gp_exp_sum<T> *parts) {
    gp_part part(p.n, size);
    int64_t row = blockIdx.y, seen = seen_by(p, row) - part.at;
    seen = seen < 0 ? 0 : seen < part.n ? seen : part.n;
    T *x = scores + row * p.n + part.at;
    masked<T> add(p, row);
    gp_exp_sum<T> sum = {-INFINITY, 0};
    each_score(x, seen, [&](T v, int64_t i) {
        v = add(v, part.at + i);
        if (p.back) v = exp(v - stats[row]);
        else sum.add(v);
        x[i] = v;
    });
    for (int64_t i = seen + threadIdx.x; i < part.n; i += GP_THREADS) x[i] = 0;
    if (!p.back) gp_write_part(parts, sum);
}

template <class T>
static __global__ void share_by_parts(T *scores, T *stats, layout p, int64_t size,
                                      const gp_exp_sum<T> *parts) {
    gp_part part(p.n, size);
    int64_t row = blockIdx.y, seen = seen_by(p, row) - part.at;
    T *x = scores + row * p.n + part.at;
    gp_exp_sum<T> sum =
        gp_join_parts(parts + blockIdx.y * gridDim.x, gridDim.x, gp_exp_sum<T>{-INFINITY, 0});
    bool blind = sum.m == -INFINITY, none = blind && sum.s == sum.s; /* as in shares */
    T by = none ? 1 : sum.s;
    each_score(x, seen < part.n ? seen : part.n,
               [&](T v, int64_t i) { x[i] = (blind && v == sum.m ? 0 : exp(v - sum.m)) / by; });
    if (stats && part.at == 0 && threadIdx.x == 0)
        stats[row] = none ? INFINITY : sum.m + log(sum.s);
}

template <class T>
static __global__ void slope_parts(T *d, const T *share, const T *g, const T *out, layout p,
                                   int64_t size) {
    gp_part part(p.n, size);
    int64_t row = blockIdx.y, at = row * p.n + part.at;
    gp_sums<T, 1> sum = {};
    for (int64_t j = threadIdx.x; j < p.width; j += GP_THREADS)
        sum.v[0] += g[row * p.width + j] * out[row * p.width + j];
    sum = gp_join_block(sum);
    each_score(share + at, part.n, [&](T v, int64_t i) {
        d[at + i] = v == 0 ? 0 : v * (d[at + i] - sum.v[0]) * (T)p.scale;
    });
}

/* ---- launches ---- */

template <class T> static bool run_shares(const gp_call *c, const layout &p, T *scores, T *stats) {
    if (!gp_few_long(p.n, p.rows)) {
        int group = gp_group_threads(p.n, 1, 4), threads = gp_group_block(group);
        return GP_LAUNCH(c, shares<T>, gp_blocks(p.rows, threads / group), threads, 0, scores,
                         stats, p, group);
    }
    int64_t size = gp_part_size(p.n, 1);
    dim3 grid = gp_part_grid(p.n, size, p.rows);
    gp_exp_sum<T> *parts =
        (gp_exp_sum<T> *)gp_cuda_scratch(c, (size_t)(grid.x * grid.y) * sizeof *parts);
    return parts &&
           GP_LAUNCH(c, share_parts<T>, grid, GP_THREADS, 0, scores, stats, p, size, parts) &&
           (p.back ||
            GP_LAUNCH(c, share_by_parts<T>, grid, GP_THREADS, 0, scores, stats, p, size, parts));
}

template <class T>
static bool run_slopes(const gp_call *c, const layout &p, T *d, const T *share, const T *g,
                       const T *out) {
    if (!gp_few_long(p.n, p.rows)) {
        int group = gp_group_threads(p.n, 1, 4), threads = gp_group_block(group);
        return GP_LAUNCH(c, slopes<T>, gp_blocks(p.rows, threads / group), threads, 0, d, share, g,
                         out, p, group);
    }
    int64_t size = gp_part_size(p.n, 1);
    return GP_LAUNCH(c, slope_parts<T>, gp_part_grid(p.n, size, p.rows), GP_THREADS, 0, d, share, g,
                     out, p, size);
}

GP_C bool gp_attention_shares(const gp_call *c, const gp_attention *k, bool wide, void *scores,
                              void *stats, bool back) {
    layout p = layout_of(k);
    p.back = back;
    return wide ? run_shares<double>(c, p, (double *)scores, (double *)stats)
                : run_shares<float>(c, p, (float *)scores, (float *)stats);
}

GP_C bool gp_attention_slopes(const gp_call *c, const gp_attention *k, bool wide, void *d,
                              const void *share, const void *g, const void *out) {
    layout p = layout_of(k);
    return wide ? run_slopes<double>(c, p, (double *)d, (const double *)share, (const double *)g,
                                     (const double *)out)
                : run_slopes<float>(c, p, (float *)d, (const float *)share, (const float *)g,
                                    (const float *)out);
}
