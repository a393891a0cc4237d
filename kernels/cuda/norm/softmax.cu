/* softmax and log_softmax along any dim: contiguous rows are read once and held in registers, or
 * kept in shared memory; columns are read twice, the second time mostly from the L2 cache, and so
 * are few long rows or columns, by many blocks each. Limit: a read and a write of each element at
 * the speed of memory.
 */
#include "kernels/cuda/norm/parts.cuh"

enum { AHEAD = 16 }; /* elements of a column that a thread reads before it uses the first */

typedef struct places {
    int64_t n, xs, os; /* elements along the dim; bytes between them in x and out */
    gp_dtype xt, ot;
    bool logs;
} places;

/* Vectors of a row that a thread holds in registers: more of single elements, whose threads would
 * otherwise take longer for what is not done by element. */
template <class T, int D, int V>
constexpr int held = V > 1 || D == GP_ANY || sizeof(T) > 4 ? 4 : 16;

/* Rows whose group holds them. */
template <class T, int D, int V>
static __global__ void __launch_bounds__(GP_GROUP_MAX)
    softmax_held(gp_loop<2> lines, places p, int group) {
    enum { HELD = held<T, D, V> };
    int first = ((int)threadIdx.x & (group - 1)) * V, apart = group * V;
    uint32_t row = gp_group_number(group);
    int n = row < lines.numel ? (int)p.n : 0;
    int64_t off[2];
    gp_offsets(lines, row < lines.numel ? row : 0, off);
    char *out = lines.data[0] + off[0];
    gp_held<T, D, V, HELD> x;
    T v[HELD][V], m = -INFINITY, s = 0;
    x.read(lines.data[1] + off[1], p.xs, p.xt, n, first, apart);
#pragma unroll
    for (int k = 0; k < HELD; k++)
#pragma unroll
        for (int j = 0; j < V; j++) m = first + k * apart < n && x.at(k, j) > m ? x.at(k, j) : m;
    m = gp_group_reduce(m, group, gp_max());
#pragma unroll
    for (int k = 0; k < HELD; k++) {
        if (first + k * apart >= n) break;
#pragma unroll
        for (int j = 0; j < V; j++) {
            T e = exp(x.at(k, j) - m);
            s += e;
            v[k][j] = p.logs ? x.at(k, j) : e;
        }
    }
    s = gp_group_reduce(s, group, gp_add());
    T scale = p.logs ? log(s) : 1 / s;
#pragma unroll
    for (int k = 0; k < HELD; k++) {
        if (first + k * apart >= n) break;
#pragma unroll
        for (int j = 0; j < V; j++) v[k][j] = p.logs ? v[k][j] - m - scale : v[k][j] * scale;
        gp_store_vector<T, D, V>(out + (first + k * apart) * p.os, v[k], p.ot);
    }
}

template <class T, int D, int V>
static __global__ void __launch_bounds__(GP_GROUP_MAX)
    softmax_rows(gp_loop<2> lines, places p, int group, int64_t kept) {
    GP_DYNAMIC_SHARED(T, cache);
    int lane = threadIdx.x % group, mine = threadIdx.x / group;
    uint32_t row = blockIdx.x * (blockDim.x / group) + mine;
    int64_t n = row < lines.numel ? p.n : 0, off[2], apart = (int64_t)group * V;
    gp_offsets(lines, row < lines.numel ? row : 0, off);
    const char *x = lines.data[1] + off[1];
    char *out = lines.data[0] + off[0];
    gp_keep<T> keep = {cache + mine * kept, group, lane};
    T v[V], m = -INFINITY, s = 0;
    gp_each<T, D, V>(x, p.xs, p.xt, n, lane * V, apart, [&](const T(&u)[V], int64_t, int64_t k) {
        for (int j = 0; j < V; j++) {
            m = u[j] > m ? u[j] : m;
            if (kept) keep.at(k, V, j) = u[j];
        }
    });
    m = gp_group_reduce(m, group, gp_max());
    for (int64_t i = lane * V, k = 0; i < n; i += apart, k++) {
        if (!kept) gp_fetch<T, D, V>(v, x + i * p.xs, p.xt);
        for (int j = 0; j < V; j++) {
            T e = exp((kept ? keep.at(k, V, j) : v[j]) - m);
            s += e;
            if (kept && !p.logs) keep.at(k, V, j) = e;
        }
    }
    s = gp_group_reduce(s, group, gp_add());
    T scale = p.logs ? log(s) : 1 / s;
    for (int64_t i = lane * V, k = 0; i < n; i += apart, k++) {
        if (!kept) gp_fetch<T, D, V>(v, x + i * p.xs, p.xt);
        for (int j = 0; j < V; j++) {
            T e = kept ? keep.at(k, V, j) : v[j];
            v[j] = p.logs ? e - m - scale : (kept ? e : exp(e - m)) * scale;
        }
        gp_store_vector<T, D, V>(out + i * p.os, v, p.ot);
    }
}

/* One thread per column, or, for threads of one x, per part of it. */
template <class T, int D>
static __global__ void __launch_bounds__(GP_THREADS, 3)
    softmax_columns(gp_loop<2> lines, places p) {
    __shared__ gp_exp_sum<T> room[GP_THREADS];
    uint32_t line = blockIdx.x * blockDim.x + threadIdx.x;
    bool live = line < lines.numel;
    int64_t off[2], n = live ? p.n : 0;
    gp_offsets(lines, live ? line : 0, off);
    const char *x = lines.data[1] + off[1];
    char *out = lines.data[0] + off[0];
    gp_exp_sum<T> a = {-INFINITY, 0};
    T v[AHEAD];
    for (int64_t i = threadIdx.y; i < n; i += AHEAD * blockDim.y) {
        int have = gp_column_ahead<T, D, AHEAD>(v, x, p.xs, p.xt, i, n);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) v[k] = k < have ? v[k] : -(T)INFINITY;
        a.add(v);
    }
    room[threadIdx.y * blockDim.x + threadIdx.x] = a;
    __syncthreads();
    a = room[threadIdx.x];
    for (unsigned k = 1; k < blockDim.y; k++) a.join(room[k * blockDim.x + threadIdx.x]);
    T scale = p.logs ? log(a.s) : 1 / a.s;
    for (int64_t i = threadIdx.y; i < n; i += AHEAD * blockDim.y) {
        int have = gp_column_ahead<T, D, AHEAD>(v, x, p.xs, p.xt, i, n);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            if (k >= have) break;
            T y[1] = {p.logs ? v[k] - a.m - scale : exp(v[k] - a.m) * scale};
            gp_store_vector<T, D, 1>(out + (i + k * blockDim.y) * p.os, y, p.ot);
        }
    }
}

/* Rows, or columns where V is 1. */
template <class T, int D, int V>
static __global__ void softmax_parts(gp_loop<2> lines, places p, int64_t size,
                                     gp_exp_sum<T> *parts) {
    int64_t off[2];
    gp_part part(p.n, size);
    gp_offsets(lines, blockIdx.y, off);
    gp_exp_sum<T> a = {-INFINITY, 0};
    gp_each<T, D, V>(lines.data[1] + off[1] + part.at * p.xs, p.xs, p.xt, part.n, threadIdx.x * V,
                     GP_THREADS * V, [&](const T(&u)[V], int64_t, int64_t) { a.add(u); });
    gp_write_part(parts, a);
}

template <class T, int D, int V>
static __global__ void softmax_by_parts(gp_loop<2> lines, places p, int64_t size,
                                        const gp_exp_sum<T> *parts) {
    int64_t off[2];
    /* Parts that were read last come first: they are still in the L2 cache. */
    unsigned row = gridDim.y - 1 - blockIdx.y;
    gp_part part(p.n, size, gridDim.x - 1 - blockIdx.x);
    gp_offsets(lines, row, off);
    char *out = lines.data[0] + off[0] + part.at * p.os;
    gp_exp_sum<T> a = gp_join_parts(parts, gp_exp_sum<T>{-INFINITY, 0}, row);
    T scale = p.logs ? log(a.s) : 1 / a.s;
    gp_each<T, D, V>(lines.data[1] + off[1] + part.at * p.xs, p.xs, p.xt, part.n, threadIdx.x * V,
                     GP_THREADS * V, [&](const T(&u)[V], int64_t i, int64_t) {
                         T y[V];
                         for (int j = 0; j < V; j++)
                             y[j] = p.logs ? u[j] - a.m - scale : exp(u[j] - a.m) * scale;
                         gp_store_vector<T, D, V>(out + i * p.os, y, p.ot);
                     });
}

template <class T, int D, int V>
static bool run_parts(const gp_call *c, gp_loop<2> lines, places p) {
    int64_t size = gp_part_size(p.n, V);
    dim3 grid = gp_part_grid(p.n, size, lines.numel);
    auto sum_parts = softmax_parts<T, D, V>;
    auto write_parts = softmax_by_parts<T, D, V>;
    gp_exp_sum<T> *parts =
        (gp_exp_sum<T> *)gp_cuda_scratch(c, (size_t)grid.x * lines.numel * sizeof *parts);
    return parts && GP_LAUNCH(c, sum_parts, grid, GP_THREADS, 0, lines, p, size, parts) &&
           GP_LAUNCH(c, write_parts, grid, GP_THREADS, 0, lines, p, size, parts);
}

template <class T, int D, int V>
static bool run_rows(const gp_call *c, gp_loop<2> lines, places p) {
    if (gp_few_long(p.n, lines.numel)) return run_parts<T, D, V>(c, lines, p);
    const int each = held<T, D, V>;
    gp_group g = gp_group_of(p.n, V, 0, sizeof(T), each);
    if (gp_group_holds(&g, p.n, V, each)) {
        auto kernel = softmax_held<T, D, V>;
        return GP_LAUNCH(c, kernel, gp_group_blocks(&g, lines.numel), g.threads, 0, lines, p,
                         g.group);
    }
    g = gp_group_of(p.n, V, 1, sizeof(T));
    auto kernel = softmax_rows<T, D, V>;
    return GP_LAUNCH(c, kernel, gp_group_blocks(&g, lines.numel), g.threads, g.shared, lines, p,
                     g.group, g.kept);
}

static bool run_columns(const gp_call *c, gp_loop<2> lines, places p) {
    dim3 block(p.n > 8 ? 32 : GP_THREADS, p.n > 8 ? GP_THREADS / 32 : 1);
    bool same = p.xt == p.ot;
    auto kernel = p.xt == GP_f64 || p.ot == GP_f64 ? softmax_columns<double, GP_ANY>
                  : same && p.xt == GP_f32         ? softmax_columns<float, GP_f32>
                  : same && p.xt == GP_f16         ? softmax_columns<float, GP_f16>
                  : same && p.xt == GP_bf16        ? softmax_columns<float, GP_bf16>
                                                   : softmax_columns<float, GP_ANY>;
    return GP_LAUNCH(c, kernel, gp_blocks(lines.numel, block.x), block, 0, lines, p);
}

/* Arguments: x, dim (0-based). */
static bool softmax(const gp_call *c, bool logs) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0);
    int d = (int)c->arg[1].i;
    if (out->numel == 0) return true;
    places p = {out->ndim ? out->dim[d] : 1, gp_step(x, d),        gp_step(out, d),
                (gp_dtype)x->dtype,          (gp_dtype)out->dtype, logs};
    gp_array o1 = gp_without(out, d), x1 = gp_without(x, d);
    bool rows = p.os == gp_dtype_sizes[p.ot] || p.n == 1, wide = p.xt == GP_f64 || p.ot == GP_f64;
    bool same = p.xt == p.ot, plain = rows && same && x->contiguous &&
                                      gp_row_plain(x->data, p.n, p.xt) &&
                                      gp_row_plain(out->data, p.n, p.ot);
    const gp_array *const arrays[2] = {&o1, &x1};
    return gp_nest_run(gp_nest_of<2>(arrays), [&](gp_loop<2> l, int64_t) {
        if (!rows && !gp_few_long(p.n, l.numel)) return run_columns(c, l, p);
        return GP_BY_ROW(plain, same, p.xt, wide, run_rows, c, l, p);
    });
}

GP_C bool CUDA(softmax)(const gp_call *c) { return softmax(c, false); }
GP_C bool CUDA(log_softmax)(const gp_call *c) { return softmax(c, true); }
