/* Gradients of softmax and log_softmax along any dim, from their results: y * (g - sum g y), or
 * g - exp(y) * sum g. Limit: two reads and a write of each element; columns are read twice, the
 * second time mostly from the L2 cache, and so are few long rows or columns, by many blocks each.
 */
#include "kernels/cuda/norm/columns.cuh"
#include "kernels/cuda/norm/short_rows.cuh"

enum { AHEAD = 8 }; /* elements of a column that a thread reads before it uses the first */

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
        sum = gp_short_reduce(sum, s.lanes, gp_add());
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
    gp_keep<T> keep_g = {cache + mine * 2 * kept, group, lane}, keep_y = keep_g;
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

/* Where line `line` begins, in elements. */
__device__ static int64_t line_at(const places &p, int64_t line) {
    return line / p.inner * p.n * p.inner + line % p.inner;
}

template <class T, int D>
static __global__ void __launch_bounds__(GP_THREADS, 3) gradient_columns(places p) {
    __shared__ T room[GP_THREADS];
    int64_t line = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, n = line < p.lines ? p.n : 0,
            at = line_at(p, line), gs = gp_bytes_of(p.gt), ys = gp_bytes_of(p.yt),
            os = gp_bytes_of(p.ot);
    const char *gp = p.g + at * gs, *yp = p.y + at * ys;
    T s = 0, g[AHEAD], y[AHEAD];
    for (int64_t i = threadIdx.y; i < n; i += AHEAD * blockDim.y) {
        int have = gp_column_ahead<T, D, AHEAD>(g, gp, p.inner * gs, p.gt, i, n);
        if (!p.logs) gp_column_ahead<T, D, AHEAD>(y, yp, p.inner * ys, p.yt, i, n);
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (k < have) s += p.logs ? g[k] : g[k] * y[k];
    }
    room[threadIdx.y * blockDim.x + threadIdx.x] = s;
    __syncthreads();
    s = room[threadIdx.x];
    for (unsigned k = 1; k < blockDim.y; k++) s += room[k * blockDim.x + threadIdx.x];
    for (int64_t i = threadIdx.y; i < n; i += AHEAD * blockDim.y) {
        int have = gp_column_ahead<T, D, AHEAD>(g, gp, p.inner * gs, p.gt, i, n);
        gp_column_ahead<T, D, AHEAD>(y, yp, p.inner * ys, p.yt, i, n);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            if (k >= have) break;
            T v[1] = {slope(g[k], y[k], s, p.logs)};
            gp_store_vector<T, D, 1>(p.out + (at + (i + k * blockDim.y) * p.inner) * os, v, p.ot);
        }
    }
}

/* Rows, or columns where V is 1. */
template <class T, int D, int V>
static __global__ void gradient_parts(places p, int64_t size, gp_sums<T, 1> *parts) {
    gp_part part(p.n, size);
    int64_t at = line_at(p, blockIdx.y) + part.at * p.inner, gs = gp_bytes_of(p.gt),
            ys = gp_bytes_of(p.yt);
    const char *gp = p.g + at * gs, *yp = p.y + at * ys;
    gp_sums<T, 1> sum = {};
    if (p.logs)
        gp_each<T, D, V>(gp, p.inner * gs, p.gt, part.n, threadIdx.x * V, GP_THREADS * V,
                         [&](const T(&g)[V], int64_t, int64_t) {
                             for (int j = 0; j < V; j++) sum.v[0] += g[j];
                         });
    else
        gp_each_two<T, D, V>(gp, p.inner * gs, p.gt, yp, p.inner * ys, p.yt, part.n,
                             threadIdx.x * V, GP_THREADS * V,
                             [&](const T(&g)[V], const T(&y)[V], int64_t) {
                                 for (int j = 0; j < V; j++) sum.v[0] += g[j] * y[j];
                             });
    gp_write_part(parts, sum);
}

template <class T, int D, int V>
static __global__ void gradient_by_parts(places p, int64_t size, const gp_sums<T, 1> *parts) {
    gp_part part(p.n, size);
    int64_t at = line_at(p, blockIdx.y) + part.at * p.inner, gs = gp_bytes_of(p.gt),
            ys = gp_bytes_of(p.yt), os = gp_bytes_of(p.ot);
    const char *gp = p.g + at * gs, *yp = p.y + at * ys;
    char *out = p.out + at * os;
    T sum = gp_join_parts(parts, gp_sums<T, 1>{}).v[0];
    gp_each_two<T, D, V>(gp, p.inner * gs, p.gt, yp, p.inner * ys, p.yt, part.n, threadIdx.x * V,
                         GP_THREADS * V, [&](const T(&g)[V], const T(&y)[V], int64_t i) {
                             T v[V];
                             for (int j = 0; j < V; j++) v[j] = slope(g[j], y[j], sum, p.logs);
                             gp_store_vector<T, D, V>(out + i * p.inner * os, v, p.ot);
                         });
}

template <class T, int D, int V> static bool run_parts(const gp_call *c, const places *p) {
    int64_t size = gp_part_size(p->n, V);
    dim3 grid = gp_part_grid(p->n, size, p->lines);
    auto sum_parts = gradient_parts<T, D, V>;
    auto write_parts = gradient_by_parts<T, D, V>;
    gp_sums<T, 1> *parts =
        (gp_sums<T, 1> *)gp_cuda_scratch(c, (size_t)(grid.x * p->lines) * sizeof *parts);
    return parts && GP_LAUNCH(c, sum_parts, grid, GP_THREADS, 0, *p, size, parts) &&
           GP_LAUNCH(c, write_parts, grid, GP_THREADS, 0, *p, size, parts);
}

template <class T, int D> static bool run_short(const gp_call *c, const places *p) {
    gp_short s = gp_short_of(p->n, p->lines, 2 * sizeof(T));
    auto kernel = gradient_short<T, D>;
    return GP_LAUNCH(c, kernel, gp_blocks(p->lines, s.rows), GP_THREADS,
                     2 * gp_short_room(s) * sizeof(T), p->g, p->y, p->out, s, p->logs);
}

template <class T, int D, int V> static bool run_rows(const gp_call *c, const places *p) {
    if (gp_few_long(p->n, p->lines)) return run_parts<T, D, V>(c, p);
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

/* Long columns. */
template <class T> struct gradient_rule {
    enum { INPUTS = 2 };
    typedef gp_sums<T, 1> sum;
    bool logs;
    __device__ static sum start() { return sum{}; }
    __device__ static T none() { return 0; }
    template <int N> __device__ void add(sum &a, const T (&x)[2][N]) const {
#pragma unroll
        for (int k = 0; k < N; k++) a.v[0] += logs ? x[0][k] : x[0][k] * x[1][k];
    }
    __device__ sum ready(const sum &a) const { return a; }
    __device__ T result(const sum &a, const T (&x)[2]) const {
        return slope(x[0], x[1], a.v[0], logs);
    }
};

template <class T, int D, int V>
static bool run_long(const gp_call *c, const gp_loop<3> &l, const places *p, bool *fits) {
    const int64_t apart = p->inner * gp_dtype_sizes[p->ot], step[3] = {apart, apart, apart};
    *fits = gp_columns_fit<D, V>(l, step);
    return *fits && gp_run_columns<T, D, V>(c, l, p->n, step, gradient_rule<T>{p->logs});
}
template <class T, int D>
static bool run_long_of(const gp_call *c, const gp_loop<3> &l, const places *p, bool *fits) {
    enum { SIZE = sizeof(typename gp_memory<D>::type) };
    bool done = run_long<T, D, 16 / SIZE>(c, l, p, fits);
    if (!*fits) done = run_long<T, D, 8 / SIZE>(c, l, p, fits);
    return *fits || SIZE == 8 ? done : run_long<T, D, 1>(c, l, p, fits);
}
/* o, g, y: the arrays without the dim. */
static bool run_long_columns(const gp_call *c, const gp_array *o, const gp_array *g,
                             const gp_array *y, const places *p) {
    const gp_array *const arrays[3] = {o, g, y};
    return gp_nest_run(gp_nest_of<3>(arrays), [&](const gp_loop<3> &l, int64_t) {
        bool fits = false;
        return p->ot == GP_f64   ? run_long_of<double, GP_f64>(c, l, p, &fits)
               : p->ot == GP_f32 ? run_long_of<float, GP_f32>(c, l, p, &fits)
               : p->ot == GP_f16 ? run_long_of<float, GP_f16>(c, l, p, &fits)
                                 : run_long_of<float, GP_bf16>(c, l, p, &fits);
    });
}

static bool run_columns(const gp_call *c, const places *p, bool wide, bool same) {
    dim3 block(p->n > 8 ? 32 : GP_THREADS, p->n > 8 ? GP_THREADS / 32 : 1);
    auto kernel = wide                       ? gradient_columns<double, GP_ANY>
                  : same && p->ot == GP_f32  ? gradient_columns<float, GP_f32>
                  : same && p->ot == GP_f16  ? gradient_columns<float, GP_f16>
                  : same && p->ot == GP_bf16 ? gradient_columns<float, GP_bf16>
                                             : gradient_columns<float, GP_ANY>;
    return GP_LAUNCH(c, kernel, gp_blocks(p->lines, block.x), block, 0, *p);
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
    if (p.inner > 1 && same && p.n >= GP_COLUMNS_LONG) {
        gp_array o1 = gp_without(out, d), g1 = gp_without(g, d), y1 = gp_without(y, d);
        return run_long_columns(c, &o1, &g1, &y1, &p);
    }
    if (p.inner > 1 && !gp_few_long(p.n, p.lines)) return run_columns(c, &p, wide, same);
    bool plain = same && p.inner == 1 && gp_row_plain(p.g, p.n, p.gt) &&
                 gp_row_plain(p.y, p.n, p.yt) && gp_row_plain(p.out, p.n, p.ot);
    return GP_BY_ROW(plain, same, p.ot, wide, run_rows, c, &p);
}

GP_C bool CUDA(softmax_grad)(const gp_call *c) { return softmax_gradient(c, false); }
GP_C bool CUDA(log_softmax_grad)(const gp_call *c) { return softmax_gradient(c, true); }
