/* Lines whose results follow from one sum over each, as those of softmax and of its gradient. A
 * rule says what is summed and what comes of it:
 *   INPUTS; sum, its type; start(); none(), an element that adds nothing;
 *   needed(), how many of the inputs the sum reads; add(sum &, x), elements x[INPUTS][N];
 *   ready(joined sum), what the results need; result(that, x of an element).
 * Three ways to run it. Short columns have a block for each strip of them (gp_run_short_columns).
 * Few long rows or columns are divided into parts, whose blocks join their line's sums
 * (gp_run_parts). Columns that are too long, or too few, for one block each take three steps
 * (gp_run_columns): sums of parts of them, the sums of a column's parts joined, and the results,
 * the last part first, which may still be in the L2 cache. Sizes alone divide and join: bits do not
 * depend on the card. */
#ifndef GP_CUDA_COLUMNS_CUH
#define GP_CUDA_COLUMNS_CUH

#include "kernels/cuda/norm/parts.cuh"

/* N arrays of lines of n elements, the output first: bytes between a line's elements, dtypes. */
template <int N> struct gp_lines {
    int64_t n, step[N];
    gp_dtype dt[N];
};

/* ---- short columns, each of whose elements a block has ---- */

/* Elements that the sum of a line, or its results, reads before it uses the first. */
template <class T, class R> constexpr int gp_lines_ahead = 16 / R::INPUTS / (sizeof(T) > 4 ? 2 : 1);

/* One thread per column, or, for threads of one x, per part of it. */
template <class T, int D, class R>
static __global__ void __launch_bounds__(GP_THREADS, 3)
    gp_short_columns(gp_loop<1 + R::INPUTS> l, gp_lines<1 + R::INPUTS> p, R r) {
    enum { AHEAD = gp_lines_ahead<T, R> };
    __shared__ typename R::sum room[GP_THREADS];
    uint32_t line = blockIdx.x * blockDim.x + threadIdx.x;
    bool live = line < l.numel;
    int64_t off[1 + R::INPUTS], n = live ? p.n : 0;
    T x[R::INPUTS][AHEAD];
    typename R::sum a = R::start();
    gp_offsets(l, live ? line : 0, off);
    /* Reads elements from i on of the first `inputs` inputs; returns how many there are. */
    auto read = [&](int inputs, int64_t i) {
        int have = 0;
#pragma unroll
        for (int h = 0; h < R::INPUTS; h++) {
            if (h < inputs)
                have = gp_column_ahead<T, D, AHEAD>(x[h], l.data[1 + h] + off[1 + h], p.step[1 + h],
                                                    p.dt[1 + h], i, n);
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                if (h >= inputs || k >= have) x[h][k] = R::none();
        }
        return have;
    };
    for (int64_t i = threadIdx.y; i < n; i += AHEAD * blockDim.y) read(r.needed(), i), r.add(a, x);
    room[threadIdx.y * blockDim.x + threadIdx.x] = a;
    __syncthreads();
    a = room[threadIdx.x];
    for (unsigned k = 1; k < blockDim.y; k++) a.join(room[k * blockDim.x + threadIdx.x]);
    a = r.ready(a);
    for (int64_t i = threadIdx.y; i < n; i += AHEAD * blockDim.y) {
        int have = read(R::INPUTS, i);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            if (k >= have) break;
            T one[R::INPUTS], y[1];
#pragma unroll
            for (int h = 0; h < R::INPUTS; h++) one[h] = x[h][k];
            y[0] = r.result(a, one);
            gp_store_vector<T, D, 1>(l.data[0] + off[0] + (i + k * blockDim.y) * p.step[0], y,
                                     p.dt[0]);
        }
    }
}

/* Runs rule r on columns that are short enough for a block each; false with a message. */
template <class T, int D, int V, class R>
static bool gp_run_short_columns(const gp_call *c, const gp_loop<1 + R::INPUTS> &l,
                                 const gp_lines<1 + R::INPUTS> &p, const R &r) {
    dim3 block(p.n > 8 ? 32 : GP_THREADS, p.n > 8 ? GP_THREADS / 32 : 1);
    auto kernel = gp_short_columns<T, D, R>;
    return GP_LAUNCH(c, kernel, gp_blocks(l.numel, block.x), block, 0, l, p, r);
}

/* ---- few long rows, or columns where V is 1 ---- */

/* Calls f(x, i) for this thread's vectors x[INPUTS][V] of the part, i from its start, of which the
 * first `inputs` inputs are read. */
template <class T, int D, int V, class R, class F>
__device__ static inline void gp_each_of_part(const gp_loop<1 + R::INPUTS> &l,
                                              const gp_lines<1 + R::INPUTS> &p, const gp_part &part,
                                              unsigned line, int inputs, F f) {
    int64_t off[1 + R::INPUTS];
    gp_offsets(l, line, off);
    const char *first = l.data[1] + off[1] + part.at * p.step[1];
    T x[R::INPUTS][V] = {};
    if (R::INPUTS == 1 || inputs == 1) {
        gp_each<T, D, V>(first, p.step[1], p.dt[1], part.n, threadIdx.x * V, GP_THREADS * V,
                         [&](const T(&u)[V], int64_t i, int64_t) {
                             for (int j = 0; j < V; j++) x[0][j] = u[j];
                             f(x, i);
                         });
    } else {
        enum { LAST = R::INPUTS };
        gp_each_two<T, D, V>(first, p.step[1], p.dt[1],
                             l.data[LAST] + off[LAST] + part.at * p.step[LAST], p.step[LAST],
                             p.dt[LAST], part.n, threadIdx.x * V, GP_THREADS * V,
                             [&](const T(&u)[V], const T(&v)[V], int64_t i) {
                                 for (int j = 0; j < V; j++) x[0][j] = u[j], x[LAST - 1][j] = v[j];
                                 f(x, i);
                             });
    }
}

template <class T, int D, int V, class R>
static __global__ void gp_sum_parts(gp_loop<1 + R::INPUTS> l, gp_lines<1 + R::INPUTS> p,
                                    int64_t size, R r, typename R::sum *parts) {
    typename R::sum a = R::start();
    gp_each_of_part<T, D, V, R>(l, p, gp_part(p.n, size), blockIdx.y, r.needed(),
                                [&](const T(&x)[R::INPUTS][V], int64_t) { r.add(a, x); });
    gp_write_part(parts, a);
}

template <class T, int D, int V, class R>
static __global__ void gp_write_parts(gp_loop<1 + R::INPUTS> l, gp_lines<1 + R::INPUTS> p,
                                      int64_t size, R r, const typename R::sum *parts) {
    /* What was read last comes first: it is still in the L2 cache. */
    unsigned line = gridDim.y - 1 - blockIdx.y;
    gp_part part(p.n, size, gridDim.x - 1 - blockIdx.x);
    int64_t off[1 + R::INPUTS];
    gp_offsets(l, line, off);
    char *out = l.data[0] + off[0] + part.at * p.step[0];
    typename R::sum a = r.ready(gp_join_parts(parts, R::start(), line));
    gp_each_of_part<T, D, V, R>(l, p, part, line, R::INPUTS,
                                [&](const T(&x)[R::INPUTS][V], int64_t i) {
                                    T y[V];
                                    for (int j = 0; j < V; j++) {
                                        T one[R::INPUTS];
                                        for (int h = 0; h < R::INPUTS; h++) one[h] = x[h][j];
                                        y[j] = r.result(a, one);
                                    }
                                    gp_store_vector<T, D, V>(out + i * p.step[0], y, p.dt[0]);
                                });
}

/* Runs rule r on few long lines (gp_few_long); false with a message. */
template <class T, int D, int V, class R>
static bool gp_run_parts(const gp_call *c, const gp_loop<1 + R::INPUTS> &l,
                         const gp_lines<1 + R::INPUTS> &p, const R &r) {
    typedef typename R::sum part;
    int64_t size = gp_part_size(p.n, V);
    dim3 grid = gp_part_grid(p.n, size, l.numel);
    auto sum = gp_sum_parts<T, D, V, R>;
    auto write = gp_write_parts<T, D, V, R>;
    part *parts = (part *)gp_cuda_scratch(c, (size_t)grid.x * l.numel * sizeof *parts);
    return parts && GP_LAUNCH(c, sum, grid, GP_THREADS, 0, l, p, size, r, parts) &&
           GP_LAUNCH(c, write, grid, GP_THREADS, 0, l, p, size, r, parts);
}

/* ---- long columns ---- */

enum {
    GP_COLUMNS_LONG = 1024,  /* the fewest elements of a column, and */
    GP_COLUMNS_STRIPS = 128, /* the most strips of a warp, where they serve few columns */
    GP_COLUMNS_PARTS = 2048, /* blocks, about: parts of a column times strips of columns */
    GP_COLUMNS_JOINED = 8    /* columns whose sums a block joins */
};

/* A strip of columns has `across` vectors of V; a block has `down` rows of it at once. */
typedef struct gp_columns {
    int64_t n, part, step[3]; /* elements of a column, of a part; bytes between: out, inputs */
    uint32_t across, down, parts;
} gp_columns;

static inline gp_columns gp_columns_of(int64_t n, int64_t vectors, int ahead, dim3 *grid) {
    gp_columns t = {};
    int64_t strips = 1, parts, least;
    t.n = n, t.across = (uint32_t)vectors;
    if (vectors > GP_THREADS) t.across = GP_WARP, strips = (vectors + GP_WARP - 1) / GP_WARP;
    t.down = GP_THREADS / t.across, least = (int64_t)t.down * ahead;
    parts = strips < GP_COLUMNS_PARTS ? GP_COLUMNS_PARTS / strips : 1;
    t.part = (n + parts * least - 1) / (parts * least) * least;
    t.parts = gp_blocks(n, t.part);
    *grid = dim3(t.parts, (uint32_t)strips);
    return t;
}

/* Whether there are too few columns of n elements for a block for each strip of them. */
static inline bool gp_columns_few(int64_t n, int64_t columns) {
    return n >= GP_COLUMNS_LONG && columns < GP_COLUMNS_STRIPS * GP_WARP;
}

/* This thread's vectors of columns. */
template <class T, int D, int V, class R> struct gp_columns_of_thread {
    enum { AHEAD = (V == 1 ? 16 : 32 / V) / (R::INPUTS * (sizeof(T) > 4 ? 4 : 1)) };
    typedef gp_vector<typename gp_memory<D>::type, V> vector;
    const gp_columns &t;
    uint32_t column, down;
    bool live;
    int64_t off[1 + R::INPUTS];
    __device__ gp_columns_of_thread(const gp_loop<1 + R::INPUTS> &l, const gp_columns &of) : t(of) {
        down = threadIdx.x / t.across;
        column = (blockIdx.y * t.across + threadIdx.x - down * t.across) * V;
        live = down < t.down && column < l.numel;
        gp_offsets(l, live ? column : 0, off);
    }
    /* Calls f(x, i, have) for AHEAD rows at a time of a part, x[V][INPUTS][AHEAD], from row i on,
     * every t.down; have: how many there are. All are read before the first is used. BACK: the last
     * rows first. */
    template <bool BACK, class F>
    __device__ void each(const gp_loop<1 + R::INPUTS> &l, uint32_t part, F f) {
        int64_t from = part * t.part + down, end = part * t.part + t.part,
                once = AHEAD * (int64_t)t.down;
        if (end > t.n) end = t.n;
        if (!live) return;
        for (int64_t at = 0; at < t.part; at += once) {
            int64_t i = from + (BACK ? t.part - once - at : at);
            vector raw[R::INPUTS][AHEAD];
            T x[V][R::INPUTS][AHEAD];
            int have = 0;
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                if (i + k * (int64_t)t.down >= end) break;
#pragma unroll
                for (int h = 0; h < R::INPUTS; h++)
                    raw[h][k] = *(const vector *)(l.data[1 + h] + off[1 + h] +
                                                  (i + k * (int64_t)t.down) * t.step[1 + h]);
                have = k + 1;
            }
#pragma unroll
            for (int j = 0; j < V; j++)
#pragma unroll
                for (int h = 0; h < R::INPUTS; h++)
#pragma unroll
                    for (int k = 0; k < AHEAD; k++)
                        x[j][h][k] =
                            k < have ? gp_load_as<T>(&raw[h][k].v[j], (gp_dtype)D) : R::none();
            f(x, i, have);
        }
    }
};

template <class T, int D, int V, class R>
static __global__ void __launch_bounds__(GP_THREADS, sizeof(T) > 4 ? 2 : 3)
    gp_columns_sum(gp_loop<1 + R::INPUTS> l, gp_columns t, R r, typename R::sum *parts) {
    typedef typename R::sum sum;
    enum { AHEAD = gp_columns_of_thread<T, D, V, R>::AHEAD };
    __shared__ sum room[GP_THREADS][V];
    gp_columns_of_thread<T, D, V, R> own(l, t);
    sum a[V];
#pragma unroll
    for (int j = 0; j < V; j++) a[j] = R::start();
    own.template each<false>(l, blockIdx.x, [&](const T(&x)[V][R::INPUTS][AHEAD], int64_t, int) {
#pragma unroll
        for (int j = 0; j < V; j++) r.add(a[j], x[j]);
    });
#pragma unroll
    for (int j = 0; j < V; j++) room[threadIdx.x][j] = a[j];
    __syncthreads();
    if (own.down || !own.live) return;
    for (uint32_t k = 1; k < t.down; k++)
#pragma unroll
        for (int j = 0; j < V; j++) a[j].join(room[k * t.across + threadIdx.x][j]);
#pragma unroll
    for (int j = 0; j < V; j++) parts[(int64_t)blockIdx.x * l.numel + own.column + j] = a[j];
}

/* The sums of all parts of each of `many` columns. */
template <class R>
static __global__ void __launch_bounds__(GP_THREADS)
    gp_columns_join(const typename R::sum *parts, uint32_t all, uint32_t many,
                    typename R::sum *joined) {
    typedef typename R::sum sum;
    enum { EACH = GP_THREADS / GP_COLUMNS_JOINED };
    __shared__ sum room[EACH][GP_COLUMNS_JOINED];
    uint32_t at = threadIdx.x % GP_COLUMNS_JOINED, first = threadIdx.x / GP_COLUMNS_JOINED,
             column = blockIdx.x * GP_COLUMNS_JOINED + at;
    sum a = R::start();
#pragma unroll 4
    for (uint32_t k = first; column < many && k < all; k += EACH)
        a.join(parts[(int64_t)k * many + column]);
    room[first][at] = a;
    for (uint32_t d = EACH / 2; d > 0; d /= 2) {
        __syncthreads();
        if (first < d) room[first][at].join(room[first + d][at]);
    }
    if (first == 0 && column < many) joined[column] = room[0][at];
}

template <class T, int D, int V, class R>
static __global__ void __launch_bounds__(GP_THREADS, sizeof(T) > 4 ? 2 : 3)
    gp_columns_write(gp_loop<1 + R::INPUTS> l, gp_columns t, R r, const typename R::sum *joined) {
    enum { AHEAD = gp_columns_of_thread<T, D, V, R>::AHEAD };
    gp_columns_of_thread<T, D, V, R> own(l, t);
    typename R::sum a[V];
#pragma unroll
    for (int j = 0; j < V; j++) a[j] = own.live ? r.ready(joined[own.column + j]) : R::start();
    char *out = l.data[0] + own.off[0];
    own.template each<true>(
        l, gridDim.x - 1 - blockIdx.x, [&](const T(&x)[V][R::INPUTS][AHEAD], int64_t i, int have) {
#pragma unroll
            for (int k = 0; k < AHEAD; k++) {
                if (k >= have) break;
                T y[V];
#pragma unroll
                for (int j = 0; j < V; j++) {
                    T one[R::INPUTS];
#pragma unroll
                    for (int h = 0; h < R::INPUTS; h++) one[h] = x[j][h][k];
                    y[j] = r.result(a[j], one);
                }
                gp_store_vector<T, D, V>(out + (i + k * (int64_t)t.down) * t.step[0], y,
                                         (gp_dtype)D);
            }
        });
}

/* Whether V columns of l, `step` bytes from row to row, are a vector in each array. */
template <int D, int V, int N>
static bool gp_columns_fit(const gp_loop<N> &l, const int64_t (&step)[N]) {
    const int64_t size = sizeof(typename gp_memory<D>::type), unit = size * V;
    bool fits = l.dim[0].d % V == 0;
    for (int k = 0; k < N; k++) {
        fits = fits && step[k] % unit == 0 && l.stride[0][k] == size &&
               gp_aligned(l.data[k], (size_t)unit);
        for (int d = 1; d < l.ndim; d++) fits = fits && l.stride[d][k] % unit == 0;
    }
    return fits;
}

/* Runs rule r on the columns of l, of n elements of dtype D, V of them at once. */
template <class T, int D, int V, class R, int N>
static bool gp_run_columns_by(const gp_call *c, const gp_loop<N> &l, int64_t n,
                              const int64_t (&step)[N], const R &r) {
    static_assert(N == 1 + R::INPUTS, "an output, and the rule's inputs");
    dim3 grid;
    gp_columns t =
        gp_columns_of(n, (l.numel + V - 1) / V, gp_columns_of_thread<T, D, V, R>::AHEAD, &grid);
    for (int k = 0; k < N; k++) t.step[k] = step[k];
    auto sum = gp_columns_sum<T, D, V, R>;
    auto join = gp_columns_join<R>;
    auto write = gp_columns_write<T, D, V, R>;
    typedef typename R::sum part;
    part *parts = (part *)gp_cuda_scratch(c, (size_t)(t.parts + 1) * l.numel * sizeof *parts);
    if (!parts) return false;
    part *joined = parts + (int64_t)t.parts * l.numel;
    return GP_LAUNCH(c, sum, grid, GP_THREADS, 0, l, t, r, parts) &&
           GP_LAUNCH(c, join, gp_blocks(l.numel, GP_COLUMNS_JOINED), GP_THREADS, 0, parts, t.parts,
                     l.numel, joined) &&
           GP_LAUNCH(c, write, grid, GP_THREADS, 0, l, t, r, joined);
}

/* The same by vectors of 16 bytes or of 8, or single elements, as they fit; *fits: whether any
 * does. False with a message, or where none fits. */
template <class T, int D, int V, class R, int N>
static bool gp_run_columns(const gp_call *c, const gp_loop<N> &l, const gp_lines<N> &p, const R &r,
                           bool *fits) {
    enum { SIZE = sizeof(typename gp_memory<D>::type), WIDE = 16 / SIZE, HALF = 8 / SIZE };
    *fits = true;
    if constexpr (D != GP_ANY) {
        if (gp_columns_fit<D, WIDE>(l, p.step))
            return gp_run_columns_by<T, D, WIDE>(c, l, p.n, p.step, r);
        if (gp_columns_fit<D, HALF>(l, p.step))
            return gp_run_columns_by<T, D, HALF>(c, l, p.n, p.step, r);
        if (HALF > 1 && gp_columns_fit<D, 1>(l, p.step))
            return gp_run_columns_by<T, D, 1>(c, l, p.n, p.step, r);
    }
    return *fits = false;
}

#endif
