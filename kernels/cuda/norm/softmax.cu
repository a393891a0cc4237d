/* softmax and log_softmax along any dim: contiguous rows are read once and held in registers, or
 * kept in shared memory; columns are read twice, the second time mostly from the L2 cache, and so
 * are few long rows or columns, by many blocks each. Limit: a read and a write of each element at
 * the speed of memory.
 */
#include "kernels/cuda/norm/columns.cuh"
#include "kernels/cuda/norm/short_rows.cuh"
#include "kernels/cuda/norm/softmax_strips.cuh"

typedef struct places {
    int64_t n, xs, os; /* elements along the dim; bytes between them in x and out */
    gp_dtype xt, ot;
    bool logs;
    bool shifted; /* see softmax_shifted */
    bool flat;    /* contiguous rows of one dtype: see softmax_short */
} places;

/* Short rows. */
template <class T, int D>
static __global__ void __launch_bounds__(GP_THREADS)
    softmax_short(const char *x, char *out, gp_short s, bool logs) {
    GP_DYNAMIC_SHARED(T, room);
    gp_short_block<T, D> block(s);
    block.read(room, x);
    __syncthreads();
    block.each_row([&](uint32_t, int at) {
        T v[GP_SHORT_EACH], m = -INFINITY, sum = 0;
        const int many = block.many(at);
#pragma unroll
        for (int k = 0; k < GP_SHORT_EACH; k++) {
            v[k] = k < many ? room[block.place(at, k)] : -(T)INFINITY;
            m = v[k] > m ? v[k] : m;
        }
        m = gp_lanes_reduce(m, s.lanes, gp_max());
#pragma unroll
        for (int k = 0; k < GP_SHORT_EACH; k++) {
            T e = exp(v[k] - m); /* 0 where there is no element */
            if (k < many) sum += e;
            v[k] = logs ? v[k] - m : e;
        }
        sum = gp_lanes_reduce(sum, s.lanes, gp_add());
        T scale = logs ? log(sum) : 1 / sum;
#pragma unroll
        for (int k = 0; k < GP_SHORT_EACH; k++)
            if (k < many) room[block.place(at, k)] = logs ? v[k] - scale : v[k] * scale;
    });
    __syncthreads();
    block.write(room, out);
}

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

/* Contiguous rows that begin anywhere, in x where they begin in out, as far as multiples of 16
 * bytes go: vectors, of which a row's first and last may be in part another row's. */
template <class T, int V> constexpr int shifted_held = sizeof(T) > 4 ? 8 : 32 / V;

template <class T, int D>
static __global__ void __launch_bounds__(GP_GROUP_MAX)
    softmax_shifted(gp_loop<2> lines, places p, int group) {
    typedef typename gp_memory<D>::type M;
    enum { V = 16 / sizeof(M), HELD = shifted_held<T, V> };
    uint32_t row = gp_group_number(group);
    int n = row < lines.numel ? (int)p.n : 0, apart = group * V;
    int64_t off[2];
    gp_offsets(lines, row < lines.numel ? row : 0, off);
    const M *x = (const M *)(lines.data[1] + off[1]);
    M *out = (M *)(lines.data[0] + off[0]);
    int first = ((int)threadIdx.x & (group - 1)) * V - (int)((uintptr_t)x / sizeof(M) % V);
    T v[HELD][V], m = -INFINITY, s = 0;
#pragma unroll
    for (int k = 0; k < HELD; k++) {
        int at = first + k * apart;
        if (at >= 0 && at + V <= n) {
            gp_fetch<T, D, V>(v[k], (const char *)(x + at), (gp_dtype)D);
            continue;
        }
#pragma unroll
        for (int j = 0; j < V; j++)
            v[k][j] =
                at + j >= 0 && at + j < n ? gp_load_as<T>(x + at + j, (gp_dtype)D) : -INFINITY;
    }
#pragma unroll
    for (int k = 0; k < HELD; k++)
#pragma unroll
        for (int j = 0; j < V; j++) m = v[k][j] > m ? v[k][j] : m;
    m = gp_group_reduce(m, group, gp_max());
#pragma unroll
    for (int k = 0; k < HELD; k++)
#pragma unroll
        for (int j = 0; j < V; j++) {
            T e = exp(v[k][j] - m); /* 0 where there is no element */
            s += e;
            v[k][j] = p.logs ? v[k][j] : e;
        }
    s = gp_group_reduce(s, group, gp_add());
    T scale = p.logs ? log(s) : 1 / s;
#pragma unroll
    for (int k = 0; k < HELD; k++) {
        int at = first + k * apart;
#pragma unroll
        for (int j = 0; j < V; j++) v[k][j] = p.logs ? v[k][j] - m - scale : v[k][j] * scale;
        if (at >= 0 && at + V <= n) {
            gp_store_vector<T, D, V>((char *)(out + at), v[k], (gp_dtype)D);
            continue;
        }
#pragma unroll
        for (int j = 0; j < V; j++)
            if (at + j >= 0 && at + j < n) gp_store_as<T>(out + at + j, (gp_dtype)D, v[k][j]);
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
    gp_row_cache<T> keep = {cache + mine * kept, group, lane};
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

/* What columns, and few long rows, are summed by: see columns.cuh. */
template <class T> struct softmax_rule {
    enum { INPUTS = 1 };
    typedef gp_exp_sum<T> sum;
    bool logs;
    __device__ static sum start() { return sum{-(T)INFINITY, 0}; }
    __device__ static T none() { return -(T)INFINITY; }
    __device__ static int needed() { return 1; }
    template <int N> __device__ void add(sum &a, const T (&x)[1][N]) const { a.add(x[0]); }
    __device__ sum ready(const sum &a) const { return sum{a.m, logs ? log(a.s) : 1 / a.s}; }
    __device__ T result(const sum &a, const T (&x)[1]) const {
        return logs ? x[0] - a.m - a.s : exp(x[0] - a.m) * a.s;
    }
};

static gp_lines<2> lines_of(const places &p) { return {p.n, {p.os, p.xs}, {p.ot, p.xt}}; }

template <class T, int D, int V>
static bool run_rows(const gp_call *c, gp_loop<2> lines, places p) {
    if (gp_few_long(p.n, lines.numel))
        return gp_run_parts<T, D, V>(c, lines, lines_of(p), softmax_rule<T>{p.logs});
    if constexpr (D != GP_ANY) {
        if (p.flat && gp_short_fits(p.n, V > 1, (gp_dtype)D, sizeof(T)) &&
            gp_aligned(lines.data[0], 16) && gp_aligned(lines.data[1], 16)) {
            gp_short s = gp_short_of(p.n, lines.numel, sizeof(T));
            auto kernel = softmax_short<T, D>;
            return GP_LAUNCH(c, kernel, gp_blocks(lines.numel, s.rows), GP_THREADS,
                             gp_short_room(s) * sizeof(T), lines.data[1], lines.data[0], s, p.logs);
        }
    }
    if constexpr (V == 1 && D != GP_ANY) {
        constexpr int many = 16 / sizeof(typename gp_memory<D>::type), has = shifted_held<T, many>;
        int64_t reach = p.n + many - 1; /* from a multiple of 16 bytes on */
        gp_group shifted = gp_group_of(reach, many, 0, sizeof(T), has);
        /* Groups of fewer lanes read too little of a row at once: on an H100 a million rows of 99
         * numbers took 1.21 ms by 4 lanes, and 0.63 element by element. */
        if (p.shifted && shifted.group >= GP_WARP / 2 &&
            gp_group_holds(&shifted, reach, many, has)) {
            auto kernel = softmax_shifted<T, D>;
            return GP_LAUNCH(c, kernel, gp_group_blocks(&shifted, lines.numel), shifted.threads, 0,
                             lines, p, shifted.group);
        }
    }
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

/* The strips of columns whose vectors of V are as these lines have them; false with *fits false
 * where they have none. */
template <class T, int D, int V>
static bool run_strips(const gp_call *c, const gp_loop<2> &l, const places &p, bool *fits) {
    const int64_t size = sizeof(typename gp_memory<D>::type), unit = size * V;
    *fits = l.dim[0].d % V == 0 && p.xs % unit == 0 && p.os % unit == 0;
    for (int k = 0; k < 2; k++) {
        *fits = *fits && l.stride[0][k] == size && gp_aligned(l.data[k], (size_t)unit);
        for (int d = 1; d < l.ndim; d++) *fits = *fits && l.stride[d][k] % unit == 0;
    }
    if (!*fits) return false;
    uint32_t strips = gp_blocks(l.numel, GP_WARP * V), tiles = gp_blocks(p.n, GP_STRIP_TILE);
    gp_strips s = {};
    s.n = p.n, s.xs = p.xs, s.os = p.os, s.logs = p.logs, s.tiles = tiles, s.all = strips * tiles;
    s.lag = tiles + GP_STRIP_JOIN;
    if (s.lag < GP_STRIP_LAG) s.lag = GP_STRIP_LAG;
    size_t pairs = (size_t)strips * GP_WARP * V * 2 * sizeof(T),
           counts = (2 * (size_t)strips + 1) * sizeof(unsigned);
    s.parts = (char *)gp_cuda_scratch(c, pairs * tiles);
    s.sums = (char *)gp_cuda_scratch(c, pairs);
    s.ticket = (unsigned *)gp_cuda_scratch(c, counts);
    if (!s.parts || !s.sums || !s.ticket ||
        !gp_cuda_ok(c, cudaMemsetAsync(s.ticket, 0, counts, gp_cuda_stream(c))))
        return false;
    s.summed = s.ticket + 1, s.joined = s.summed + strips;
    auto kernel = gp_softmax_strips<T, D, V>;
    return GP_LAUNCH(c, kernel, 2 * (s.all + s.lag), GP_THREADS, 0, l, s);
}

/* By vectors of 8 bytes where possible. */
template <class T, int D, int V>
static bool run_strips_of(const gp_call *c, const gp_loop<2> &l, const places &p, bool *fits) {
    enum { WIDE = 8 / sizeof(typename gp_memory<D>::type) };
    bool done = run_strips<T, D, WIDE>(c, l, p, fits);
    return *fits ? done : run_strips<T, D, 1>(c, l, p, fits);
}

template <class T, int D, int V>
static bool run_long(const gp_call *c, const gp_loop<2> &l, const places &p, bool *fits) {
    return gp_run_columns<T, D, V>(c, l, lines_of(p), softmax_rule<T>{p.logs}, fits);
}
template <class T, int D, int V>
static bool run_short_columns(const gp_call *c, const gp_loop<2> &l, const places &p) {
    return gp_run_short_columns<T, D, V>(c, l, lines_of(p), softmax_rule<T>{p.logs});
}

static bool large(const places &p, const gp_loop<2> &lines) {
    return p.n * (int64_t)lines.numel * gp_dtype_sizes[p.xt] >= GP_STRIP_BYTES;
}
/* Columns longer than those of strips, or too few of them. */
static bool is_long(const places &p, const gp_loop<2> &l) {
    return p.xt == p.ot && (p.n > GP_STRIP_MOST || (!large(p, l) && gp_columns_few(p.n, l.numel)));
}

static bool run_columns(const gp_call *c, const gp_loop<2> &l, const places &p, bool wide) {
    bool same = p.xt == p.ot, fits = false, done = false;
    if (is_long(p, l)) done = GP_BY_ROW(false, true, p.xt, wide, run_long, c, l, p, &fits);
    if (fits) return done;
    if (gp_few_long(p.n, l.numel)) return GP_BY_ROW(false, same, p.xt, wide, run_rows, c, l, p);
    if (same && p.n >= GP_STRIP_LONG && large(p, l))
        done = GP_BY_ROW(false, true, p.xt, wide, run_strips_of, c, l, p, &fits);
    return fits ? done : GP_BY_ROW(false, same, p.xt, wide, run_short_columns, c, l, p);
}

/* Arguments: x, dim (0-based). */
static bool softmax(const gp_call *c, bool logs) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0);
    int d = (int)c->arg[1].i;
    if (out->numel == 0) return true;
    places p = {out->ndim ? out->dim[d] : 1, gp_step(x, d), gp_step(out, d), (gp_dtype)x->dtype,
                (gp_dtype)out->dtype,        logs,          false,           false};
    gp_array o1 = gp_without(out, d), x1 = gp_without(x, d);
    bool rows = p.os == gp_dtype_sizes[p.ot] || p.n == 1, wide = p.xt == GP_f64 || p.ot == GP_f64;
    bool same = p.xt == p.ot, plain = rows && same && x->contiguous &&
                                      gp_row_plain(x->data, p.n, p.xt) &&
                                      gp_row_plain(out->data, p.n, p.ot);
    p.flat = rows && same && x->contiguous && out->contiguous;
    p.shifted = rows && same && x->contiguous && p.n >= GP_WARP &&
                ((uintptr_t)x->data - (uintptr_t)out->data) % 16 == 0;
    const gp_array *const arrays[2] = {&o1, &x1};
    return gp_nest_run(gp_nest_of<2>(arrays), [&](gp_loop<2> l, int64_t) {
        return rows ? GP_BY_ROW(plain, same, p.xt, wide, run_rows, c, l, p)
                    : run_columns(c, l, p, wide);
    });
}

GP_C bool CUDA(softmax)(const gp_call *c) { return softmax(c, false); }
GP_C bool CUDA(log_softmax)(const gp_call *c) { return softmax(c, true); }
