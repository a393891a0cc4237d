/* layer_norm, rms_norm and group_norm, and the gradients of the first two: contiguous rows, by the
 * rules of lines.cuh. Limit: a read of each input and a write of each element for rows that a block
 * holds; longer rows are read twice. The gradients of weight and bias are two reads more. */
#include "kernels/cuda/layout/copy.h"
#include "kernels/cuda/norm/affine.cuh"

typedef gp_norm_rows rows;

/* The weights from p on, of dtype W, of elements i … i + V - 1 of a row of n, `each` adjacent
 * elements of which share one: vectors, or one load where all share one. Elements before the row
 * and past it have any weight. */
template <class T, int W, int V>
__device__ static void load_weights(T (&w)[V], const char *p, int64_t n, int64_t each, int64_t i) {
    typedef typename gp_memory<W>::type M;
    enum { U = V * sizeof(M) > 16 ? 16 / sizeof(M) : V }; /* elements of a vector */
    const M *at = (const M *)p;
    if constexpr (V == 1) {
        int64_t e = i < n ? i : n - 1;
        w[0] = gp_load_as<T>(at + gp_divided(e, each), (gp_dtype)W);
        return;
    }
    bool inside = i >= 0 && i + V <= n;
    if (each == 1 && inside && gp_aligned(at + i, U * sizeof(M))) {
#pragma unroll
        for (int j = 0; j < V; j += U) {
            T some[U];
            gp_fetch<T, W, U>(some, (const char *)(at + i + j), (gp_dtype)W);
#pragma unroll
            for (int u = 0; u < U; u++) w[j + u] = some[u];
        }
        return;
    }
    bool one = inside && i % V == 0 && each % V == 0;
    int64_t shared = one ? gp_divided(i, each) : 0;
#pragma unroll
    for (int j = 0; j < V; j++) {
        int64_t e = i + j < 0 ? 0 : i + j < n ? i + j : n - 1;
        w[j] = gp_load_as<T>(at + (one         ? shared
                                   : each == 1 ? e
                                               : gp_divided(e, each)),
                             (gp_dtype)W);
    }
}
/* The same for a row's weights p, or `absent` ones where p is NULL, of dtype dt: x's or T's. */
template <class T, int D, int V>
__device__ static void weights(T (&w)[V], const char *p, gp_dtype dt, int64_t n, int64_t each,
                               int64_t i, T absent) {
    constexpr gp_dtype OWN = gp_memory_of<T>::dtype, X = D == GP_ANY ? OWN : (gp_dtype)D;
    if (p && dt == X) return load_weights<T, X, V>(w, p, n, each, i);
    if (X != OWN && p) return load_weights<T, OWN, V>(w, p, n, each, i);
#pragma unroll
    for (int j = 0; j < V; j++) w[j] = absent;
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
        static_assert(N == V, "a vector");
        int64_t row = r.row0 + at.line, groups = r.k.groups, first = 0;
        if (groups > 1) first = (row - gp_divided(row, groups) * groups) * r.k.a_row;
        T w[V], b[V];
        weights<T, D, V>(w, r.weight ? r.weight + first * gp_bytes_of(r.wt) : NULL, r.wt, r.k.n,
                         r.k.each, at.first, 1);
        weights<T, D, V>(b, r.bias ? r.bias + first * gp_bytes_of(r.bt) : NULL, r.bt, r.k.n,
                         r.k.each, at.first, 0);
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
#pragma unroll
        for (int e = 0; e < N; e += V) {
            T w[V];
            weights<T, D, V>(w, r.weight, r.wt, r.k.n, 1, at.of(e), 1);
#pragma unroll
            for (int j = 0; j < V; j++) v[e + j] = x[1][e + j] * w[j];
        }
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
        static_assert(N == V, "a vector");
        T w[V];
        weights<T, D, V>(w, r.weight, r.wt, r.k.n, 1, at.first, 1);
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
            weights<T, D, V>(w, r.weight, r.wt, r.k.n, 1, at.of(k * V), 1);
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

/* a's elements, contiguous, of x's dtype, if all arrays have that, or of the compute type's; NULL
 * into *p for an absent one. */
static bool dense(const gp_call *c, const gp_array *a, const gp_array *x, bool same, bool wide,
                  const char **p, gp_dtype *dt) {
    *p = a ? a->data : NULL, *dt = wide ? GP_f64 : GP_f32;
    if (!a) return true;
    if (same && a->dtype == x->dtype) *dt = (gp_dtype)x->dtype;
    if (a->contiguous && a->dtype == *dt) return true;
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
    bool same = x->dtype == out->dtype, wide = x->dtype == GP_f64;
    return dense(c, gp_in(c, 2), x, same, wide, &r.weight, &r.wt) &&
           dense(c, r.k.centred ? gp_in(c, 3) : NULL, x, same, wide, &r.bias, &r.bt) &&
           GP_BY_ROW(same, x->dtype, wide, forward, c, r, of);
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
    bool wide = x->dtype == GP_f64 || g->dtype == GP_f64,
         same = x->dtype == g->dtype && x->dtype == out->dtype;
    if (!dense(c, gp_in(c, 3), x, same, wide, &r.weight, &r.wt)) return false;
    if (c->op->form == GP_NORM_GROUP) return gp_norm_group_gradients(c, &r, out, x, g);
    r.mean = (double *)gp_cuda_scratch(c, (size_t)(2 * r.k.rows + 1) * sizeof *r.mean);
    if (!r.mean) return false;
    r.scale = r.mean + r.k.rows;
    gp_array to = gp_rows_at(out, r.k.rows, r.k.n), x1 = gp_rows_at(x, r.k.rows, r.k.n),
             g1 = gp_rows_at(g, r.k.rows, r.k.n);
    const gp_array *const of[3] = {&to, &x1, &g1};
    return (out->numel == 0 || GP_BY_ROW(same, x->dtype, wide, backward, c, r, of)) &&
           gp_norm_affine_gradients(c, &r, x, g);
}
GP_C bool CUDA(layer_norm_grad)(const gp_call *c) { return norm_gradient(c); }
GP_C bool CUDA(rms_norm_grad)(const gp_call *c) { return norm_gradient(c); }
GP_C bool CUDA(group_norm_grad)(const gp_call *c) { return norm_gradient(c); }
