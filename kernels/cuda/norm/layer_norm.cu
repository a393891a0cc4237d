/* layer_norm, rms_norm and group_norm, and the gradients of the first two: contiguous rows, by the
 * rules of lines.cuh. Limit: a read of each input and a write of each element for rows that a block
 * holds; longer rows are read twice. The gradients of weight and bias are two reads more. */
#include "kernels/cuda/layout/copy.h"
#include "kernels/cuda/norm/affine.cuh"

typedef gp_norm_rows rows;

/* The weights p of elements i … i + V - 1 of a row, whose first element has weight `first`; k.each
 * adjacent elements share one. A vector where weights are stored as x is, two where they are f32
 * and x has 16 bits, one load where all share one. Elements before the row and past it have any. */
template <class T, int D, int V>
__device__ static void weights(T (&w)[V], const gp_norm &k, const char *p, gp_dtype dt,
                               int64_t first, int64_t i, T absent) {
    bool inside = i >= 0 && i + V <= k.n;
    int64_t size = gp_bytes_of(dt);
    const char *at = p + (first + i) * size;
    if (D != GP_ANY && p && dt == D && k.each == 1 && inside && gp_aligned(at, V * (int)size))
        return gp_fetch<T, D, V>(w, at, dt);
    if constexpr (V == 8) {
        if (p && dt == GP_f32 && k.each == 1 && inside && gp_aligned(at, 16)) {
            T half[2][4];
            gp_fetch<T, GP_f32, 4>(half[0], at, dt);
            gp_fetch<T, GP_f32, 4>(half[1], at + 16, dt);
#pragma unroll
            for (int j = 0; j < 8; j++) w[j] = half[j / 4][j % 4];
            return;
        }
    }
    auto one = [&](int64_t e) {
        e = first + (k.each == 1 ? e : gp_divided(e, k.each));
        return gp_load_as<T>(p + e * size, dt);
    };
    bool same = !p || (inside && i % V == 0 && k.each % V == 0);
    T shared = p && same ? one(i) : absent;
#pragma unroll
    for (int j = 0; j < V; j++) {
        int64_t e = i + j < 0 ? 0 : i + j < k.n ? i + j : k.n - 1;
        w[j] = same ? shared : one(e);
    }
}
/* The same for N elements. */
template <class T, int D, int V, int N>
__device__ static void all_weights(T (&w)[N], const rows &r, const char *p, gp_dtype dt,
                                   const gp_line_places<V> &at, T absent) {
    int64_t row = r.row0 + at.line, groups = r.k.groups,
            first = groups > 1 ? (row - gp_divided(row, groups) * groups) * r.k.a_row : 0;
#pragma unroll
    for (int e = 0; e < N; e += V) {
        T some[V];
        weights<T, D, V>(some, r.k, p, dt, first, at.of(e), absent);
#pragma unroll
        for (int j = 0; j < V; j++) w[e + j] = some[j];
    }
}

/* Mean and 1 / sqrt(variance + eps) of a row that a group holds in x. */
template <class T, int N, int V>
__device__ static void moments(const gp_norm &k, const T (&x)[N], const gp_held_row<V> &at, T *mean,
                               T *scale) {
    T s = 0, q = 0;
    at.template each<N>([&](int e) { s += x[e]; });
    s = at.reduce(s, gp_add());
    T centre = k.centred ? s / (T)k.n : 0;
    at.template each<N>([&](int e) { q += at.has(e) ? (x[e] - centre) * (x[e] - centre) : 0; });
    q = at.reduce(q, gp_add());
    *mean = centre, *scale = 1 / sqrt(q / (T)k.n + (T)k.eps);
}

/* See lines.cuh for what a rule has. What is ready has the scale in place of m2. */
template <class T, int D> struct norm_rule {
    enum { INPUTS = 1, HELD_16 = 16 };
    typedef gp_moments<T> sum;
    rows r;
    __device__ static sum start() { return sum{}; }
    __device__ static T none() { return 0; }
    __device__ static int needed() { return 1; }
    template <int N, class P>
    __device__ void add(sum &a, const T (&x)[1][N], int many, const P &) const {
        a.join(gp_norm_sums_of(x[0], x[0], many, r.k.centred).x);
    }
    __device__ sum ready(const sum &a) const {
        return sum{a.n, a.mean, 1 / sqrt(a.m2 / (T)r.k.n + (T)r.k.eps)};
    }
    __device__ void keep(const sum &, int64_t) const {}
    template <int N, int V>
    __device__ void results(const sum &a, T (&x)[1][N], const gp_line_places<V> &at) const {
        T w[N], b[N];
        all_weights<T, D>(w, r, r.weight, r.wt, at, (T)1);
        all_weights<T, D>(b, r, r.bias, r.bt, at, (T)0);
#pragma unroll
        for (int e = 0; e < N; e++) x[0][e] = (x[0][e] - a.mean) * a.m2 * w[e] + b[e];
    }
    template <int N, int V> __device__ void row(T (&x)[1][N], const gp_held_row<V> &at) const {
        T mean, scale;
        moments(r.k, x[0], at, &mean, &scale);
        at.template each_vector<N / V>([&](int k) {
            T part[1][V];
#pragma unroll
            for (int j = 0; j < V; j++) part[0][j] = x[0][k * V + j];
            results(sum{0, mean, scale}, part, gp_line_places<V>{at.line, at.of(k * V), 0});
#pragma unroll
            for (int j = 0; j < V; j++) x[0][k * V + j] = part[0][j];
        });
    }
};

/* x[0]: x; x[1]: g. With h = (x - mean) * scale and v = g * weight: scale * (v - mean of v - h *
 * mean of v h). What is ready has the scale in place of x.m2 and the two means in v and vd. */
template <class T, int D> struct norm_grad_rule {
    enum { INPUTS = 2, HELD_16 = 16 };
    typedef gp_norm_sums<T> sum;
    rows r;
    __device__ static sum start() { return sum{}; }
    __device__ static T none() { return 0; }
    __device__ static int needed() { return 2; }
    template <int N, int V>
    __device__ void add(sum &a, const T (&x)[2][N], int many, const gp_line_places<V> &at) const {
        T v[N];
        all_weights<T, D>(v, r, r.weight, r.wt, at, (T)1);
#pragma unroll
        for (int e = 0; e < N; e++) v[e] *= x[1][e];
        a.join(gp_norm_sums_of(x[0], v, many, r.k.centred));
    }
    __device__ sum ready(const sum &a) const {
        T n = (T)r.k.n, scale = 1 / sqrt(a.x.m2 / n + (T)r.k.eps);
        return sum{{a.x.n, a.x.mean, scale}, r.k.centred ? a.v / n : 0, a.vd * scale / n};
    }
    __device__ void keep(const sum &a, int64_t row) const {
        r.mean[r.row0 + row] = a.x.mean, r.scale[r.row0 + row] = a.x.m2;
    }
    template <int N, int V>
    __device__ void results(const sum &a, T (&x)[2][N], const gp_line_places<V> &at) const {
        T w[N];
        all_weights<T, D>(w, r, r.weight, r.wt, at, (T)1);
#pragma unroll
        for (int e = 0; e < N; e++)
            x[0][e] = a.x.m2 * (x[1][e] * w[e] - a.v - (x[0][e] - a.x.mean) * a.x.m2 * a.vd);
    }
    template <int N, int V> __device__ void row(T (&x)[2][N], const gp_held_row<V> &at) const {
        T mean, scale, v = 0, vh = 0;
        moments(r.k, x[0], at, &mean, &scale);
        if (at.leads()) keep(sum{{0, mean, scale}, 0, 0}, at.line);
        at.template each_vector<N / V>([&](int k) {
            T w[V];
            weights<T, D, V>(w, r.k, r.weight, r.wt, 0, at.of(k * V), 1);
#pragma unroll
            for (int j = 0; j < V; j++) x[1][k * V + j] *= w[j];
        });
        at.template each<N>([&](int e) { v += x[1][e], vh += x[1][e] * (x[0][e] - mean) * scale; });
        v = at.reduce(v, gp_add()), vh = at.reduce(vh, gp_add());
        v = r.k.centred ? v / (T)r.k.n : 0, vh /= (T)r.k.n;
        at.template each<N>(
            [&](int e) { x[0][e] = scale * (x[1][e] - v - (x[0][e] - mean) * scale * vh); });
    }
};

/* ---- host side ---- */

/* Runs rule R on all rows of out and its inputs. */
template <class T, int D, class R, int N>
static bool run(const gp_call *c, rows r, const gp_array *const (&of)[N]) {
    gp_norm_lines<N> p = gp_norm_lines_of<N>(of, r.k.n);
    return gp_nest_run(gp_nest_of<N>(of), [&](const gp_loop<N> &l, int64_t first) {
        r.row0 = first;
        return gp_run_rows<T, D>(c, l, p, R{r});
    });
}
template <class T, int D>
static bool forward(const gp_call *c, const rows &r, const gp_array *const (&of)[2]) {
    return run<T, D, norm_rule<T, D>>(c, r, of);
}
template <class T, int D>
static bool backward(const gp_call *c, const rows &r, const gp_array *const (&of)[3]) {
    return run<T, D, norm_grad_rule<T, D>>(c, r, of);
}

/* a's elements, contiguous; NULL into *p for an absent one. */
static bool dense(const gp_call *c, const gp_array *a, const char **p, gp_dtype *dt) {
    *p = a ? a->data : NULL, *dt = a ? (gp_dtype)a->dtype : GP_f32;
    if (!a || a->contiguous) return true;
    void *room = gp_cuda_scratch(c, (size_t)(a->numel * gp_dtype_sizes[*dt]));
    gp_array to = gp_dense_over(a, *dt, room);
    *p = to.data;
    return room && gp_cuda_copy_array(c, &to, a);
}

static bool norm(const gp_call *c) {
    const gp_array *x = gp_values(c, 0, 0), *out = gp_out(c, 0);
    if (out->numel == 0) return true;
    rows r = {};
    gp_norm_read(c, x, 0, &r.k);
    gp_array to = gp_rows_at(out, r.k.rows, r.k.n), from = gp_rows_at(x, r.k.rows, r.k.n);
    const gp_array *const of[2] = {&to, &from};
    return dense(c, gp_in(c, 2), &r.weight, &r.wt) &&
           dense(c, r.k.centred ? gp_in(c, 3) : NULL, &r.bias, &r.bt) &&
           GP_BY_ROW(x->dtype == out->dtype, x->dtype, x->dtype == GP_f64, forward, c, r, of);
}
GP_C bool CUDA(layer_norm)(const gp_call *c) { return norm(c); }
GP_C bool CUDA(rms_norm)(const gp_call *c) { return norm(c); }
GP_C bool CUDA(group_norm)(const gp_call *c) { return norm(c); }

/* Arguments: g, x, the forward's second argument, weight, eps. */
static bool norm_gradient(const gp_call *c) {
    const gp_array *x = gp_values(c, 1, 0), *g = c->ntmp > 1 ? c->tmpa[1] : gp_in(c, 0),
                   *out = gp_out(c, 0);
    rows r = {};
    gp_norm_read(c, x, 1, &r.k);
    if (!dense(c, gp_in(c, 3), &r.weight, &r.wt)) return false;
    if (c->op->form == GP_NORM_GROUP) return gp_norm_group_gradients(c, &r, out, x, g);
    r.mean = (double *)gp_cuda_scratch(c, (size_t)(2 * r.k.rows + 1) * sizeof *r.mean);
    if (!r.mean) return false;
    r.scale = r.mean + r.k.rows;
    gp_array to = gp_rows_at(out, r.k.rows, r.k.n), x1 = gp_rows_at(x, r.k.rows, r.k.n),
             g1 = gp_rows_at(g, r.k.rows, r.k.n);
    const gp_array *const of[3] = {&to, &x1, &g1};
    bool wide = x->dtype == GP_f64 || g->dtype == GP_f64,
         same = x->dtype == g->dtype && x->dtype == out->dtype;
    return (out->numel == 0 || GP_BY_ROW(same, x->dtype, wide, backward, c, r, of)) &&
           gp_norm_affine_gradients(c, &r, x, g);
}
GP_C bool CUDA(layer_norm_grad)(const gp_call *c) { return norm_gradient(c); }
GP_C bool CUDA(rms_norm_grad)(const gp_call *c) { return norm_gradient(c); }
GP_C bool CUDA(group_norm_grad)(const gp_call *c) { return norm_gradient(c); }
