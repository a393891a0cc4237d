/* Gradients of softmax and log_softmax along any dim, from their results: y * (g - sum g y), or
 * g - exp(y) * sum g. Limit: two reads and a write of each element; columns are read twice, the
 * second time mostly from the L2 cache, and so are few long rows or columns, by many blocks each.
 */
#include "kernels/cuda/norm/columns.cuh"
#include "kernels/cuda/norm/short_rows.cuh"

typedef struct places {
    const char *g, *y; /* contiguous: outer x n x inner */
    char *out;
    int64_t lines, n, inner;
    gp_dtype gt, yt, ot;
    bool logs;
} places;

template <class T> __device__ static T slope(T g, T y, T sum, bool logs) {
    return logs ? g - exp(y) * sum : y * (g - sum);
}

template <class T, int D>
static __global__ void __launch_bounds__(GP_THREADS)
    gradient_short(const char *g, const char *y, char *out, gp_short s, bool logs) {
    GP_DYNAMIC_SHARED(T, room_g);
    T *room_y = room_g + gp_short_room(s);
    gp_short_block<T, D> block(s);
    block.read(room_g, g), block.read(room_y, y);
    __syncthreads();
    block.each_row([&](uint32_t, int at) {
        T sum = 0;
        const int many = block.many(at);
#pragma unroll
        for (int k = 0; k < GP_SHORT_EACH; k++) {
            int i = block.place(at, k);
            if (k < many) sum += logs ? room_g[i] : room_g[i] * room_y[i];
        }
        sum = gp_lanes_reduce(sum, s.lanes, gp_add());
#pragma unroll
        for (int k = 0; k < GP_SHORT_EACH; k++) {
            int i = block.place(at, k);
            if (k < many) room_g[i] = slope(room_g[i], room_y[i], sum, logs);
        }
    });
    __syncthreads();
    block.write(room_g, out);
}

template <class T, int D, int V>
static __global__ void __launch_bounds__(GP_GROUP_MAX)
    gradient_rows(places p, int group, int64_t kept) {
    GP_DYNAMIC_SHARED(T, cache);
    int lane = threadIdx.x % group, mine = threadIdx.x / group;
    int64_t row = (int64_t)blockIdx.x * (blockDim.x / group) + mine, n = row < p.lines ? p.n : 0,
            apart = (int64_t)group * V, gs = gp_bytes_of(p.gt), ys = gp_bytes_of(p.yt),
            os = gp_bytes_of(p.ot);
    const char *gp = p.g + row * p.n * gs, *yp = p.y + row * p.n * ys;
    gp_row_cache<T> keep_g = {cache + mine * 2 * kept, group, lane}, keep_y = keep_g;
    keep_y.p += kept;
    T g[V], y[V], s = 0;
    gp_each<T, D, V>(gp, gs, p.gt, n, lane * V, apart, [&](const T(&u)[V], int64_t i, int64_t k) {
        gp_fetch<T, D, V>(y, yp + i * ys, p.yt);
        for (int j = 0; j < V; j++) {
            s += p.logs ? u[j] : u[j] * y[j];
            if (kept) keep_g.at(k, V, j) = u[j], keep_y.at(k, V, j) = y[j];
        }
    });
    s = gp_group_reduce(s, group, gp_add());
    for (int64_t i = lane * V, k = 0; i < n; i += apart, k++) {
        if (!kept) gp_fetch<T, D, V>(g, gp + i * gs, p.gt), gp_fetch<T, D, V>(y, yp + i * ys, p.yt);
        for (int j = 0; j < V; j++)
            g[j] = slope(kept ? keep_g.at(k, V, j) : g[j], kept ? keep_y.at(k, V, j) : y[j], s,
                         p.logs);
        gp_store_vector<T, D, V>(p.out + (row * p.n + i) * os, g, p.ot);
    }
}

template <class T, int D> static bool run_short(const gp_call *c, const places *p) {
    gp_short s = gp_short_of(p->n, p->lines, 2 * sizeof(T));
    auto kernel = gradient_short<T, D>;
    return GP_LAUNCH(c, kernel, gp_blocks(p->lines, s.rows), GP_THREADS,
                     2 * gp_short_room(s) * sizeof(T), p->g, p->y, p->out, s, p->logs);
}

template <class T, int D, int V> static bool run_rows(const gp_call *c, const places *p) {
    if constexpr (D != GP_ANY)
        if (p->inner == 1 && gp_short_fits(p->n, V > 1, (gp_dtype)D, 2 * sizeof(T)) &&
            p->lines < INT32_MAX && gp_aligned(p->g, 16) && gp_aligned(p->y, 16) &&
            gp_aligned(p->out, 16))
            return run_short<T, D>(c, p);
    gp_group g = gp_group_of(p->n, V, 2, sizeof(T));
    auto kernel = gradient_rows<T, D, V>;
    return GP_LAUNCH(c, kernel, gp_group_blocks(&g, p->lines), g.threads, g.shared, *p, g.group,
                     g.kept);
}

/* What columns, and few long rows, are summed by: see columns.cuh. */
template <class T> struct gradient_rule {
    enum { INPUTS = 2 };
    typedef gp_sums<T, 1> sum;
    bool logs;
    __device__ static sum start() { return sum{}; }
    __device__ static T none() { return 0; }
    __device__ int needed() const { return logs ? 1 : 2; }
    template <int N> __device__ void add(sum &a, const T (&x)[2][N]) const {
#pragma unroll
        for (int k = 0; k < N; k++) a.v[0] += logs ? x[0][k] : x[0][k] * x[1][k];
    }
    __device__ sum ready(const sum &a) const { return a; }
    __device__ T result(const sum &a, const T (&x)[2]) const {
        return slope(x[0], x[1], a.v[0], logs);
    }
};

static gp_lines<3> lines_of(const places &p) {
    int64_t os = gp_dtype_sizes[p.ot], gs = gp_dtype_sizes[p.gt], ys = gp_dtype_sizes[p.yt];
    return {p.n, {p.inner * os, p.inner * gs, p.inner * ys}, {p.ot, p.gt, p.yt}};
}
template <class T, int D, int V>
static bool run_long(const gp_call *c, const gp_loop<3> &l, const places &p, bool *fits) {
    return gp_run_columns<T, D, V>(c, l, lines_of(p), gradient_rule<T>{p.logs}, fits);
}
template <class T, int D, int V>
static bool run_parts(const gp_call *c, const gp_loop<3> &l, const places &p) {
    return gp_run_parts<T, D, V>(c, l, lines_of(p), gradient_rule<T>{p.logs});
}
template <class T, int D, int V>
static bool run_short_columns(const gp_call *c, const gp_loop<3> &l, const places &p) {
    return gp_run_short_columns<T, D, V>(c, l, lines_of(p), gradient_rule<T>{p.logs});
}

/* Columns, and few long rows; l: the lines of out, g and y. */
static bool run_lines(const gp_call *c, const gp_loop<3> &l, const places &p, bool plain, bool wide,
                      bool same) {
    bool fits = false, done = false;
    if (p.inner > 1 && same && p.n >= GP_COLUMNS_LONG)
        done = GP_BY_ROW(false, true, p.ot, wide, run_long, c, l, p, &fits);
    return fits ? done
           : gp_few_long(p.n, p.lines)
               ? GP_BY_ROW(plain, same, p.ot, wide, run_parts, c, l, p)
               : GP_BY_ROW(false, same, p.ot, wide, run_short_columns, c, l, p);
}

/* Arguments: g, y, dim; contiguous copies of y and g in c->tmp. */
static bool softmax_gradient(const gp_call *c, bool logs) {
    const gp_array *y = c->tmpa[0], *g = c->tmpa[1], *out = gp_out(c, 0);
    int d = (int)c->arg[2].i;
    if (out->numel == 0) return true;
    places p = {g->data,
                y->data,
                out->data,
                0,
                out->ndim ? out->dim[d] : 1,
                1,
                (gp_dtype)g->dtype,
                (gp_dtype)y->dtype,
                (gp_dtype)out->dtype,
                logs};
    for (int k = d + 1; k < out->ndim; k++) p.inner *= out->dim[k];
    p.lines = out->numel / p.n;
    bool wide = p.gt == GP_f64 || p.yt == GP_f64 || p.ot == GP_f64;
    bool same = p.gt == p.yt && p.yt == p.ot;
    bool plain = same && p.inner == 1 && gp_row_plain(p.g, p.n, p.gt) &&
                 gp_row_plain(p.y, p.n, p.yt) && gp_row_plain(p.out, p.n, p.ot);
    if (p.inner > 1 || gp_few_long(p.n, p.lines)) {
        gp_array o1 = gp_without(out, d), g1 = gp_without(g, d), y1 = gp_without(y, d);
        const gp_array *const arrays[3] = {&o1, &g1, &y1};
        return gp_nest_run(gp_nest_of<3>(arrays), [&](const gp_loop<3> &l, int64_t) {
            return run_lines(c, l, p, plain, wide, same);
        });
    }
    return GP_BY_ROW(plain, same, p.ot, wide, run_rows, c, &p);
}

GP_C bool CUDA(softmax_grad)(const gp_call *c) { return softmax_gradient(c, false); }
GP_C bool CUDA(log_softmax_grad)(const gp_call *c) { return softmax_gradient(c, true); }
