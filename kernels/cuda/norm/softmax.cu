/* softmax and log_softmax along any dim, and their gradients from their results: y * (g - sum g y),
 * or g - exp(y) * sum g. Limit: a read of each input and a write of each element at the speed of
 * memory for rows that a block holds; columns and longer rows are read twice. */
#include "kernels/cuda/norm/columns.cuh"

/* See lines.cuh for what a rule has. */
template <class T, int D> struct softmax_rule {
    enum { INPUTS = 1, HELD_16 = 32 };
    typedef gp_exp_sum<T> sum;
    bool logs;
    __device__ static sum start() { return sum{-(T)INFINITY, 0}; }
    __device__ static T none() { return -(T)INFINITY; }
    __device__ static int needed() { return 1; }
    template <int N, class P>
    __device__ void add(sum &a, const T (&x)[1][N], int, const P &) const {
        a.add(x[0]);
    }
    __device__ sum ready(const sum &a) const { return sum{a.m, logs ? log(a.s) : 1 / a.s}; }
    __device__ void keep(const sum &, int64_t) const {}
    template <int N, class P> __device__ void results(const sum &a, T (&x)[1][N], const P &) const {
#pragma unroll
        for (int e = 0; e < N; e++) x[0][e] = logs ? x[0][e] - a.m - a.s : exp(x[0][e] - a.m) * a.s;
    }
    template <int N, int V> __device__ void row(T (&x)[1][N], const gp_held_row<V> &at) const {
        T m = -INFINITY, s = 0;
        at.template each<N>([&](int e) { m = x[0][e] > m ? x[0][e] : m; });
        m = at.reduce(m, gp_max());
        at.template each<N>([&](int e) {
            T power = exp(x[0][e] - m); /* 0 where there is no element */
            s += at.has(e) ? power : 0;
            x[0][e] = logs ? x[0][e] : power;
        });
        s = at.reduce(s, gp_add());
        T scale = logs ? log(s) : 1 / s;
        at.template each<N>([&](int e) { x[0][e] = logs ? x[0][e] - m - scale : x[0][e] * scale; });
    }
};

/* x[0]: g; x[1]: y. */
template <class T, int D> struct softmax_grad_rule {
    enum { INPUTS = 2, HELD_16 = 16 };
    typedef gp_sums<T, 1> sum;
    bool logs;
    __device__ static sum start() { return sum{}; }
    __device__ static T none() { return 0; }
    __device__ int needed() const { return logs ? 1 : 2; }
    template <int N, class P>
    __device__ void add(sum &a, const T (&x)[2][N], int, const P &) const {
#pragma unroll
        for (int e = 0; e < N; e++) a.v[0] += logs ? x[0][e] : x[0][e] * x[1][e];
    }
    __device__ sum ready(const sum &a) const { return a; }
    __device__ void keep(const sum &, int64_t) const {}
    template <int N, class P> __device__ void results(const sum &a, T (&x)[2][N], const P &) const {
#pragma unroll
        for (int e = 0; e < N; e++) x[0][e] = slope(x[0][e], x[1][e], a.v[0]);
    }
    template <int N, int V> __device__ void row(T (&x)[2][N], const gp_held_row<V> &at) const {
        T s = 0;
        at.template each<N>([&](int e) { s += logs ? x[0][e] : x[0][e] * x[1][e]; });
        s = at.reduce(s, gp_add());
        at.template each<N>([&](int e) { x[0][e] = slope(x[0][e], x[1][e], s); });
    }
    __device__ T slope(T g, T y, T s) const { return logs ? g - exp(y) * s : y * (g - s); }
};

template <class T, int D, class R, int N>
static bool run(const gp_call *c, const gp_loop<N> &l, const gp_norm_lines<N> &p, bool rows,
                const R &r) {
    return rows ? gp_run_rows<T, D>(c, l, p, r) : gp_run_columns<T, D>(c, l, p, r);
}
template <class T, int D>
static bool forward(const gp_call *c, const gp_loop<2> &l, const gp_norm_lines<2> &p, bool rows,
                    bool logs) {
    return run<T, D>(c, l, p, rows, softmax_rule<T, D>{logs});
}
template <class T, int D>
static bool backward(const gp_call *c, const gp_loop<3> &l, const gp_norm_lines<3> &p, bool rows,
                     bool logs) {
    return run<T, D>(c, l, p, rows, softmax_grad_rule<T, D>{logs});
}

/* Lines along dim d of arrays of one shape, the output first. */
template <int N>
static bool along(const gp_call *c, const gp_array *const (&of)[N], int d, bool logs) {
    const gp_array *out = of[0], *first[N];
    if (out->numel == 0) return true;
    gp_array without[N];
    gp_norm_lines<N> p = {};
    bool same = true, wide = false;
    p.n = out->ndim ? out->dim[d] : 1;
    for (int k = 0; k < N; k++) {
        without[k] = gp_without(of[k], d), first[k] = &without[k];
        p.dt[k] = (gp_dtype)of[k]->dtype, p.step[k] = gp_step(of[k], d);
        same = same && p.dt[k] == p.dt[0], wide = wide || p.dt[k] == GP_f64;
        if (p.n == 1) p.step[k] = gp_dtype_sizes[p.dt[k]];
    }
    bool rows = p.step[0] == gp_dtype_sizes[p.dt[0]];
    return gp_nest_run(gp_nest_of<N>((const gp_array *const(&)[N])first),
                       [&](const gp_loop<N> &l, int64_t) {
                           if constexpr (N == 2)
                               return GP_BY_ROW(same, p.dt[0], wide, forward, c, l, p, rows, logs);
                           else
                               return GP_BY_ROW(same, p.dt[0], wide, backward, c, l, p, rows, logs);
                       });
}

/* Arguments: x, dim (0-based). */
static bool softmax(const gp_call *c, bool logs) {
    const gp_array *const of[2] = {gp_out(c, 0), gp_in(c, 0)};
    return along<2>(c, of, (int)c->arg[1].i, logs);
}
GP_C bool CUDA(softmax)(const gp_call *c) { return softmax(c, false); }
GP_C bool CUDA(log_softmax)(const gp_call *c) { return softmax(c, true); }

/* Arguments: g, y, dim; contiguous copies of y and g in c->tmp. */
static bool softmax_gradient(const gp_call *c, bool logs) {
    const gp_array *const of[3] = {gp_out(c, 0), c->tmpa[1], c->tmpa[0]};
    return along<3>(c, of, (int)c->arg[2].i, logs);
}
GP_C bool CUDA(softmax_grad)(const gp_call *c) { return softmax_gradient(c, false); }
GP_C bool CUDA(log_softmax_grad)(const gp_call *c) { return softmax_gradient(c, true); }
