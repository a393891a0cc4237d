/* Columns by the rules of lines.cuh. A block sums a strip of short columns, and reads it again for
 * their results (gp_short_columns). Columns of GP_COLUMNS_LONG elements or more are divided into
 * parts: sums of these, the sums of a column's parts joined, and the results, the last part first,
 * which may still be in the L2 cache. softmax 10000x10000, dim 1 took 566 us on an H100 by a block
 * for each strip, 442 in two steps that waited for each other in one kernel; three steps, which
 * read and write as much, are not measured. */
#ifndef GP_CUDA_COLUMNS_CUH
#define GP_CUDA_COLUMNS_CUH

#include "kernels/cuda/norm/lines.cuh"

enum {
    GP_COLUMNS_LONG = 1024,
    GP_COLUMNS_PARTS = 2048, /* blocks, about: parts of a column times strips of columns */
    GP_COLUMNS_JOINED = 8    /* columns whose sums a block joins */
};

/* A strip of columns has `across` vectors; a block has `down` rows of it at once. */
typedef struct gp_column_strips {
    int64_t part; /* elements of a part of a column */
    uint32_t across, down, parts;
} gp_column_strips;

/* This thread's V adjacent columns of a strip. */
template <class T, int D, int V, class R> struct gp_own_columns {
    enum { K = R::INPUTS, AHEAD = (V == 1 ? 16 : 32 / V) / (K * (sizeof(T) > 4 ? 2 : 1)) };
    typedef typename R::sum sum;
    const gp_loop<1 + K> &l;
    const gp_norm_lines<1 + K> &p;
    const gp_column_strips &t;
    const R &r;
    uint32_t part, across, down, column; /* part: of the columns, this block's */
    bool live;
    int64_t off[1 + K];

    __device__ gp_own_columns(const gp_loop<1 + K> &of, const gp_norm_lines<1 + K> &lines,
                              const gp_column_strips &by, const R &rule, uint32_t block)
        : l(of), p(lines), t(by), r(rule), part(block % by.parts) {
        down = threadIdx.x / t.across, across = threadIdx.x - down * t.across;
        column = (block / t.parts * t.across + across) * V;
        live = down < t.down && column < l.numel;
        gp_offsets(l, live ? column : 0, off);
    }
    /* Calls f(x, have, i) for AHEAD rows at a time of the part, x[V][K][AHEAD], from row i on,
     * every t.down; have: how many there are. The last rows come first if `back`. */
    template <class F> __device__ void each(int inputs, bool back, F f) const {
        int64_t from = part * t.part + down, end = part * t.part + t.part,
                once = AHEAD * (int64_t)t.down, jump[K];
        const char *first[K];
        if (end > p.n) end = p.n;
#pragma unroll
        for (int h = 0; h < K; h++) jump[h] = t.down * p.step[1 + h];
        for (int64_t at = 0; live && at < t.part; at += once) {
            int64_t i = from + (back ? t.part - once - at : at),
                    left = (end - i + t.down - 1) / t.down;
            int have = i >= end ? 0 : left < AHEAD ? (int)left : (int)AHEAD;
            gp_tile<T, D, V, K, AHEAD> tile;
            T x[V][K][AHEAD];
#pragma unroll
            for (int h = 0; h < K; h++) first[h] = l.data[1 + h] + off[1 + h] + i * p.step[1 + h];
            tile.read(first, jump, p.dt + 1, have, inputs);
#pragma unroll
            for (int j = 0; j < V; j++)
#pragma unroll
                for (int h = 0; h < K; h++)
#pragma unroll
                    for (int k = 0; k < AHEAD; k++)
                        x[j][h][k] = k < have && h < inputs ? tile.at(h, k, j) : r.none();
            f(x, have, i);
        }
    }
    __device__ gp_line_places<1> places(int j, int64_t i) const {
        return {(int64_t)column + j, i, (int64_t)t.down};
    }
    /* The sums of the part's elements, joined for all of the block's threads that have the same
     * columns. Called by all threads of the block. */
    __device__ void sums(sum (&a)[V]) const {
        __shared__ sum shared[GP_THREADS][V];
#pragma unroll
        for (int j = 0; j < V; j++) a[j] = r.start();
        each(r.needed(), false, [&](const T(&x)[V][K][AHEAD], int have, int64_t i) {
#pragma unroll
            for (int j = 0; j < V; j++) r.add(a[j], x[j], have, places(j, i));
        });
#pragma unroll
        for (int j = 0; j < V; j++) shared[threadIdx.x][j] = a[j];
        __syncthreads();
        for (uint32_t k = 0; k < t.down; k++)
#pragma unroll
            for (int j = 0; j < V; j++) {
                if (k) a[j].join(shared[k * t.across + across][j]);
                else a[j] = shared[across][j];
            }
    }
    /* Writes the part's results; a: what they need. */
    __device__ void write(const sum (&a)[V], bool back) const {
        each(K, back, [&](T(&x)[V][K][AHEAD], int have, int64_t i) {
            char *out = l.data[0] + off[0] + i * p.step[0];
#pragma unroll
            for (int j = 0; j < V; j++) r.results(a[j], x[j], places(j, i));
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                if (k >= have) break;
                T y[V];
#pragma unroll
                for (int j = 0; j < V; j++) y[j] = x[j][0][k];
                gp_store_vector<T, D, V>(out + k * (int64_t)t.down * p.step[0], y, p.dt[0]);
            }
        });
    }
};

template <class T, int D, class R>
static __global__ void __launch_bounds__(GP_THREADS, 3)
    gp_short_columns(gp_loop<1 + R::INPUTS> l, gp_norm_lines<1 + R::INPUTS> p, gp_column_strips t,
                     R r) {
    gp_own_columns<T, D, 1, R> own(l, p, t, r, blockIdx.x);
    typename R::sum a[1];
    own.sums(a);
    a[0] = r.ready(a[0]);
    own.write(a, false);
}

template <class T, int D, int V, class R>
static __global__ void __launch_bounds__(GP_THREADS, sizeof(T) > 4 ? 2 : 3)
    gp_sum_columns(gp_loop<1 + R::INPUTS> l, gp_norm_lines<1 + R::INPUTS> p, gp_column_strips t,
                   R r, typename R::sum *parts) {
    gp_own_columns<T, D, V, R> own(l, p, t, r, blockIdx.x);
    typename R::sum a[V];
    own.sums(a);
    if (own.down || !own.live) return;
#pragma unroll
    for (int j = 0; j < V; j++) parts[(int64_t)own.part * l.numel + own.column + j] = a[j];
}

/* What the results of each of `many` columns need, from the sums of all its parts. */
template <class R>
static __global__ void __launch_bounds__(GP_THREADS)
    gp_join_columns(const typename R::sum *parts, uint32_t all, uint32_t many, R r,
                    typename R::sum *joined) {
    typedef typename R::sum sum;
    enum { EACH = GP_THREADS / GP_COLUMNS_JOINED };
    __shared__ sum shared[EACH][GP_COLUMNS_JOINED];
    uint32_t at = threadIdx.x % GP_COLUMNS_JOINED, first = threadIdx.x / GP_COLUMNS_JOINED,
             column = blockIdx.x * GP_COLUMNS_JOINED + at;
    sum a = r.start();
#pragma unroll 4
    for (uint32_t k = first; column < many && k < all; k += EACH)
        a.join(parts[(int64_t)k * many + column]);
    shared[first][at] = a;
    for (uint32_t d = EACH / 2; d > 0; d /= 2) {
        __syncthreads();
        if (first < d) shared[first][at].join(shared[first + d][at]);
    }
    if (first == 0 && column < many) joined[column] = r.ready(shared[0][at]);
}

template <class T, int D, int V, class R>
static __global__ void __launch_bounds__(GP_THREADS, sizeof(T) > 4 ? 2 : 3)
    gp_write_columns(gp_loop<1 + R::INPUTS> l, gp_norm_lines<1 + R::INPUTS> p, gp_column_strips t,
                     R r, const typename R::sum *joined) {
    gp_own_columns<T, D, V, R> own(l, p, t, r, gridDim.x - 1 - blockIdx.x);
    typename R::sum a[V];
#pragma unroll
    for (int j = 0; j < V; j++) a[j] = own.live ? joined[own.column + j] : r.start();
    own.write(a, true);
}

/* ---- host side ---- */

/* Runs rule r on long columns of l, V of them at once. */
template <class T, int D, int V, class R, int N>
static bool gp_run_long_columns(const gp_call *c, const gp_loop<N> &l, const gp_norm_lines<N> &p,
                                const R &r) {
    uint32_t vectors = l.numel / V, strips = 1;
    gp_column_strips t = {0, vectors, 0, 0};
    if (vectors > GP_THREADS) t.across = GP_WARP, strips = gp_blocks(vectors, GP_WARP);
    t.down = GP_THREADS / t.across;
    int64_t least = (int64_t)t.down * gp_own_columns<T, D, V, R>::AHEAD,
            parts = strips < GP_COLUMNS_PARTS ? GP_COLUMNS_PARTS / strips : 1;
    t.part = (p.n + parts * least - 1) / (parts * least) * least;
    t.parts = gp_blocks(p.n, t.part);
    uint32_t blocks = t.parts * strips;
    auto sum = gp_sum_columns<T, D, V, R>;
    auto join = gp_join_columns<R>;
    auto write = gp_write_columns<T, D, V, R>;
    typename R::sum *sums = (typename R::sum *)gp_cuda_scratch(c, (size_t)(t.parts + 1) * l.numel *
                                                                      sizeof *sums),
                    *joined = sums + (int64_t)t.parts * l.numel;
    return sums && GP_LAUNCH(c, sum, blocks, GP_THREADS, 0, l, p, t, r, sums) &&
           GP_LAUNCH(c, join, gp_blocks(l.numel, GP_COLUMNS_JOINED), GP_THREADS, 0, sums, t.parts,
                     l.numel, r, joined) &&
           GP_LAUNCH(c, write, blocks, GP_THREADS, 0, l, p, t, r, joined);
}

/* Whether V adjacent columns are a vector, in each row of each array. */
template <int V, int N>
static bool gp_columns_align(const gp_loop<N> &l, const gp_norm_lines<N> &p, int64_t size) {
    bool fits = l.dim[0].d % V == 0;
    for (int k = 0; k < N; k++) {
        fits = fits && p.step[k] % 16 == 0 && l.stride[0][k] == size && gp_aligned(l.data[k], 16);
        for (int d = 1; d < l.ndim; d++) fits = fits && l.stride[d][k] % 16 == 0;
    }
    return fits;
}

/* Runs rule r on columns: l are the first elements of each. False with a message. */
template <class T, int D, class R, int N>
static bool gp_run_columns(const gp_call *c, const gp_loop<N> &l, const gp_norm_lines<N> &p,
                           const R &r) {
    if (p.n < GP_COLUMNS_LONG) {
        gp_column_strips t = {p.n, GP_WARP, GP_THREADS / GP_WARP, 1};
        if (p.n <= t.down) t.across = GP_THREADS, t.down = 1;
        auto kernel = gp_short_columns<T, D, R>;
        return GP_LAUNCH(c, kernel, gp_blocks(l.numel, t.across), GP_THREADS, 0, l, p, t, r);
    }
    if constexpr (D != GP_ANY) {
        enum { SIZE = sizeof(typename gp_memory<D>::type), V = 16 / SIZE };
        if (gp_columns_align<V>(l, p, SIZE)) return gp_run_long_columns<T, D, V>(c, l, p, r);
    }
    return gp_run_long_columns<T, D, 1>(c, l, p, r);
}

#endif
