/* The steps of attention between its products, where cuDNN does not do it all: mask, softmax, and
 * their gradient. Limit: the scores read and written three times, mostly in the L2 cache; two reads
 * and a write of each. */
#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/runtime/rows.cuh"

typedef struct places {
    int64_t rows, n, l, heads; /* rows of n scores, l of them per head */
    int64_t width;             /* of g and out */
    int64_t ms[4];             /* the mask's strides, 0 where it is broadcast */
    const char *mask;          /* or NULL */
    gp_dtype mt;
    bool causal, back;
    double scale;
} places;

static places places_of(const gp_attention *k) {
    places p = {k->batch * k->heads * k->l,
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
    __device__ masked(const places &a, int64_t row) {
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

template <class T>
static __global__ void __launch_bounds__(GP_GROUP_MAX)
    shares(T *scores, T *stats, places p, int group) {
    int lane = threadIdx.x % group;
    int64_t row = (int64_t)blockIdx.x * (blockDim.x / group) + threadIdx.x / group;
    bool live = row < p.rows;
    if (!live) row = 0; /* a thread that writes nothing */
    int64_t seen = !live ? 0 : p.causal && row % p.l + 1 < p.n ? row % p.l + 1 : p.n;
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
    slopes(T *d, const T *share, const T *g, const T *out, places p, int group) {
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

GP_C bool gp_attention_shares(const gp_call *c, const gp_attention *k, bool wide, void *scores,
                              void *stats, bool back) {
    places p = places_of(k);
    p.back = back;
    gp_group g = gp_group_of(p.n, 1, 0, 8);
    uint32_t blocks = gp_group_blocks(&g, p.rows);
    if (wide)
        return GP_LAUNCH(c, shares<double>, blocks, g.threads, 0, (double *)scores, (double *)stats,
                         p, g.group);
    return GP_LAUNCH(c, shares<float>, blocks, g.threads, 0, (float *)scores, (float *)stats, p,
                     g.group);
}

GP_C bool gp_attention_slopes(const gp_call *c, const gp_attention *k, bool wide, void *d,
                              const void *share, const void *g, const void *out) {
    places p = places_of(k);
    gp_group by = gp_group_of(p.n, 1, 0, 8);
    uint32_t blocks = gp_group_blocks(&by, p.rows);
    if (wide)
        return GP_LAUNCH(c, slopes<double>, blocks, by.threads, 0, (double *)d,
                         (const double *)share, (const double *)g, (const double *)out, p,
                         by.group);
    return GP_LAUNCH(c, slopes<float>, blocks, by.threads, 0, (float *)d, (const float *)share,
                     (const float *)g, (const float *)out, p, by.group);
}
