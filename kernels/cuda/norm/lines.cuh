/* Lines whose results follow from one sum over each: softmax's, layer_norm's and their gradients'.
 * A rule says what is summed and what comes of it. Of N elements x[INPUTS][N] of a line, `many` of
 * them there and the others none(), whose places in the line `at` knows:
 *   INPUTS; sum, its type, with join(); start(), that of no elements;
 *   needed(), how many of the inputs the sum reads; add(sum &, x, many, at);
 *   ready(joined sum), what the results need; keep(that, line), called once for a line;
 *   results(that, x, at), in place of x[0];
 *   row(x, at), the results of a row that the threads of `at` hold, likewise; HELD_16, the
 *   elements of 16 bits that a thread holds of it.
 * Here are rows, in columns.cuh columns. A row that fits the registers of a group of threads is
 * read once (gp_held_rows). Longer rows are divided into parts, which have a block each: their sums
 * (gp_sum_parts), then the results, the last part first, which may still be in the L2 cache
 * (gp_write_parts). softmax 8x131072 took 36 us by one block a row on an H200, by parts 12 on an
 * H100. Sizes alone divide and join: bits do not depend on the card. */
#ifndef GP_CUDA_LINES_CUH
#define GP_CUDA_LINES_CUH

#include "kernels/cuda/norm/parts.cuh"

/* N arrays of lines of n elements, the output first: bytes between a line's elements, dtypes. */
template <int N> struct gp_norm_lines {
    int64_t n, step[N];
    gp_dtype dt[N];
};

/* Arrays whose lines have adjacent elements. */
template <int N>
static gp_norm_lines<N> gp_norm_lines_of(const gp_array *const (&of)[N], int64_t n) {
    gp_norm_lines<N> p = {};
    p.n = n;
    for (int k = 0; k < N; k++)
        p.dt[k] = (gp_dtype)of[k]->dtype, p.step[k] = gp_dtype_sizes[of[k]->dtype];
    return p;
}

/* The places in line `line` of vectors of V elements, whose first is `first`. */
template <int V> struct gp_line_places {
    int64_t line, first, apart;
    __device__ int64_t of(int e) const { return first + e / V * apart + e % V; }
};

/* N vectors of V elements of each of K arrays, in registers as they are in memory. */
template <class T, int D, int V, int K, int N> struct gp_tile {
    typedef typename std::conditional<D == GP_ANY, T, typename gp_memory<D>::type>::type M;
    gp_vector<M, V> raw[K][N];

    /* Reads the first `have` vectors of arrays 0 … inputs - 1, jump[h] bytes apart from p[h] on.
     * All are read before the first is used: a memory-bound thread needs these bytes in flight. */
    __device__ void read(const char *const (&p)[K], const int64_t (&jump)[K], const gp_dtype *dt,
                         int have, int inputs = K) {
        if constexpr (D == GP_ANY) {
#pragma unroll
            for (int h = 0; h < K; h++) {
                if (h >= inputs || have <= 0) break;
                const char *at[N];
                T one[N];
                for (int k = 0; k < N; k++) at[k] = p[h] + (k < have ? k : 0) * jump[h];
                gp_load_at<T, N>(at, dt[h], one);
                for (int k = 0; k < N; k++) raw[h][k].v[0] = one[k];
            }
        } else {
#pragma unroll
            for (int k = 0; k < N; k++) {
                if (k >= have) break;
#pragma unroll
                for (int h = 0; h < K; h++)
                    if (h < inputs) raw[h][k] = *(const gp_vector<M, V> *)(p[h] + k * jump[h]);
            }
        }
    }
    __device__ T at(int h, int k, int j) const {
        if constexpr (D == GP_ANY) return raw[h][k].v[j];
        else return gp_load_as<T>(&raw[h][k].v[j], (gp_dtype)D);
    }
};

/* ---- rows that a group of threads holds ---- */

/* Elements of each input that a thread holds: few where they go one by one, which is rare. */
template <class T, int D, int V, class R>
constexpr int gp_held_elements = D == GP_ANY                                ? 1
                                 : V == 1                                   ? 4
                                 : sizeof(T) > 4                            ? 8
                                 : sizeof(typename gp_memory<D>::type) == 2 ? (int)R::HELD_16
                                                                            : 16;

/* This thread's share of a row of n elements, which `size` threads hold. */
template <int V> struct gp_held_row : gp_line_places<V> {
    int n, size, vectors; /* vectors: of a thread, the most in the group */

    /* skew: elements by which the row begins after a multiple of V. */
    __device__ gp_held_row(int64_t row, int64_t all, int group, int skew)
        : n((int)all), size(group) {
        this->line = row, this->apart = group * V;
        this->first = (int)(threadIdx.x & (unsigned)(group - 1)) * V - skew;
        vectors = (n + skew + group * V - 1) / (group * V);
    }
    __device__ bool has(int e) const { return (unsigned)this->of(e) < (unsigned)n; }
    __device__ bool whole(int k) const { return has(k * V) && (V == 1 || has(k * V + V - 1)); }
    __device__ bool leads() const { return n > 0 && threadIdx.x % (unsigned)size == 0; }
    template <class F, class T> __device__ T reduce(T v, F join) const {
        return gp_group_reduce(v, size, join);
    }
    /* Calls f(k) for this thread's vectors, of N, some of which may have no elements. */
    template <int N, class F> __device__ void each_vector(F f) const {
#pragma unroll
        for (int k = 0; k < N; k++) {
            if (k >= vectors) break;
            f(k);
        }
    }
    /* Calls f(e) for this thread's elements, of N, and for places that have none. */
    template <int N, class F> __device__ void each(F f) const {
        each_vector<N / V>([&](int k) {
#pragma unroll
            for (int j = 0; j < V; j++) f(k * V + j);
        });
    }
};

/* Reads this thread's vectors of a row of each array, which begins at from[h]. */
template <class T, int D, int V, int K, int N>
__device__ static inline void gp_read_row(gp_tile<T, D, V, K, N> &t, const gp_held_row<V> &at,
                                          const char *const (&from)[K], const int64_t *step,
                                          const gp_dtype *dt) {
    if constexpr (D == GP_ANY) {
        const char *first[K];
        int64_t jump[K];
        for (int h = 0; h < K; h++)
            first[h] = from[h] + at.first * step[h], jump[h] = at.apart * step[h];
        t.read(first, jump, dt, (int)((at.n - at.first + at.apart - 1) / at.apart));
    } else {
        typedef typename gp_memory<D>::type M;
        at.template each_vector<N>([&](int k) {
#pragma unroll
            for (int h = 0; h < K; h++) {
                const char *p = from[h] + at.of(k * V) * step[h];
                if (at.whole(k)) {
                    t.raw[h][k] = *(const gp_vector<M, V> *)p;
                    continue;
                }
#pragma unroll
                for (int j = 0; V > 1 && j < V; j++)
                    if (at.has(k * V + j)) t.raw[h][k].v[j] = ((const M *)p)[j];
            }
        });
    }
}
template <class T, int D, int V, int N>
__device__ static inline void gp_write_row(const T (&x)[N], const gp_held_row<V> &at, char *to,
                                           int64_t step, gp_dtype dt) {
    at.template each_vector<N / V>([&](int k) {
        char *p = to + at.of(k * V) * step;
        T y[V];
#pragma unroll
        for (int j = 0; j < V; j++) y[j] = x[k * V + j];
        if (at.whole(k)) return gp_store_vector<T, D, V>(p, y, dt);
#pragma unroll
        for (int j = 0; V > 1 && j < V; j++)
            if (at.has(k * V + j)) gp_store_as<T>(p + j * step, (gp_dtype)D, y[j]);
    });
}

/* A thread's vectors begin at multiples of 16 bytes wherever the row does; a row's first and last
 * may be in part another row's, and go element by element: softmax 100000x1001 took 366 us by
 * single elements on an H100, 276 so. */
template <class T, int D, int V, class R>
static __global__ void __launch_bounds__(GP_GROUP_MAX)
    gp_held_rows(gp_loop<1 + R::INPUTS> l, gp_norm_lines<1 + R::INPUTS> p, R r, int group) {
    enum { K = R::INPUTS, N = gp_held_elements<T, D, V, R> };
    uint32_t line = gp_group_number(group);
    bool live = line < l.numel;
    int64_t off[1 + K];
    const char *from[K];
    gp_offsets(l, live ? line : 0, off);
#pragma unroll
    for (int h = 0; h < K; h++) from[h] = l.data[1 + h] + off[1 + h];
    int skew = V > 1 ? (int)((uintptr_t)from[0] % 16) * V / 16 : 0;
    gp_held_row<V> at(line, live ? p.n : 0, group, skew);
    gp_tile<T, D, V, K, N / V> t;
    T x[K][N];
    gp_read_row(t, at, from, p.step + 1, p.dt + 1);
    at.template each<N>([&](int e) {
#pragma unroll
        for (int h = 0; h < K; h++) x[h][e] = at.has(e) ? t.at(h, e / V, e % V) : r.none();
    });
    r.row(x, at);
    gp_write_row<T, D, V, N>(x[0], at, l.data[0] + off[0], p.step[0], p.dt[0]);
}

/* ---- longer rows ---- */

/* How lines are divided into `all` parts of at most `size` elements: parts of a line, and threads
 * of a part, a power of two. */
typedef struct gp_split {
    int64_t size;
    uint32_t parts, all;
    int threads;
} gp_split;

/* Elements of each input that a thread of a part has at once. */
template <class T, int D, int V>
constexpr int gp_part_elements = D == GP_ANY     ? 1
                                 : V == 1        ? 4
                                 : sizeof(T) > 4 ? 8
                                                 : 16;

/* For lines of n elements, V at once, each threads's elements of which are `each` vectors. */
static inline gp_split gp_split_of(int64_t n, int64_t lines, int V, int each) {
    gp_split s = {n, 1, 0, gp_group_threads(n, V, each)};
    if (s.threads > GP_THREADS) s.threads = GP_THREADS;
    if (n > (int64_t)each * V * GP_THREADS) {
        int64_t parts = gp_blocks(n, gp_part_size(n, V));
        s.size = ((n + parts - 1) / parts + V - 1) / V * V, s.parts = gp_blocks(n, s.size);
    }
    s.all = s.parts * (uint32_t)lines;
    return s;
}
static inline uint32_t gp_split_blocks(const gp_split &s) {
    return gp_blocks(s.all, GP_THREADS / s.threads);
}

/* This thread's part: its number, line, first element in the line, elements. */
struct gp_split_part {
    uint32_t number, line;
    int64_t at, n;
    int lane, threads;
    bool live;
    /* back: the last parts come first. */
    __device__ gp_split_part(const gp_split &s, int64_t all, bool back) : threads(s.threads) {
        uint32_t block = back ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
        number = block * (GP_THREADS / threads) + threadIdx.x / (unsigned)threads;
        lane = (int)(threadIdx.x & (unsigned)(threads - 1)), live = number < s.all;
        line = number / s.parts, at = number % s.parts * s.size;
        n = !live ? 0 : all - at < s.size ? all - at : s.size;
    }
};

/* Calls f(x, many, at) for this thread's elements x[INPUTS][N] of the part, N at once: `many` of
 * them there. The first `inputs` inputs are read. */
template <class T, int D, int V, class R, class F>
__device__ static inline void gp_each_of_part(const gp_loop<1 + R::INPUTS> &l,
                                              const gp_norm_lines<1 + R::INPUTS> &p, const R &r,
                                              const gp_split_part &own, int inputs, F f) {
    enum { K = R::INPUTS, N = gp_part_elements<T, D, V>, VECTORS = N / V };
    int64_t off[1 + K], jump[K], apart = own.threads * V;
    const char *from[K];
    gp_offsets(l, own.live ? own.line : 0, off);
    for (int h = 0; h < K; h++) jump[h] = apart * p.step[1 + h];
    for (int64_t i = own.lane * V; i < own.n; i += VECTORS * apart) {
        gp_tile<T, D, V, K, VECTORS> t;
        T x[K][N];
        int64_t left = (own.n - i + apart - 1) / apart;
        int have = left < VECTORS ? (int)left : (int)VECTORS;
        for (int h = 0; h < K; h++)
            from[h] = l.data[1 + h] + off[1 + h] + (own.at + i) * p.step[1 + h];
        t.read(from, jump, p.dt + 1, have, inputs);
#pragma unroll
        for (int e = 0; e < N; e++)
#pragma unroll
            for (int h = 0; h < K; h++)
                x[h][e] = h < inputs && e < have * V ? t.at(h, e / V, e % V) : r.none();
        f(x, have * V, gp_line_places<V>{own.line, own.at + i, apart});
    }
}
/* Writes the results of this thread's elements of a part, which r.results(of, …) computes. */
template <class T, int D, int V, class R, class S>
__device__ static inline void gp_write_part_of(const gp_loop<1 + R::INPUTS> &l,
                                               const gp_norm_lines<1 + R::INPUTS> &p, const R &r,
                                               const S &of, const gp_split_part &own) {
    enum { K = R::INPUTS };
    int64_t off[1 + K];
    gp_offsets(l, own.live ? own.line : 0, off);
    gp_each_of_part<T, D, V>(l, p, r, own, K, [&](auto &x, int many, const gp_line_places<V> &at) {
#pragma unroll
        for (int e = 0; e < (int)(sizeof x[0] / sizeof(T)); e += V) {
            if (e >= many) break;
            T some[K][V];
#pragma unroll
            for (int h = 0; h < K; h++)
#pragma unroll
                for (int j = 0; j < V; j++) some[h][j] = x[h][e + j];
            r.results(of, some, gp_line_places<V>{at.line, at.of(e), 0});
            gp_store_vector<T, D, V>(l.data[0] + off[0] + at.of(e) * p.step[0], some[0], p.dt[0]);
        }
    });
}

template <class T, int D, int V, class R>
static __global__ void __launch_bounds__(GP_THREADS)
    gp_sum_parts(gp_loop<1 + R::INPUTS> l, gp_norm_lines<1 + R::INPUTS> p, gp_split s, R r,
                 typename R::sum *sums) {
    gp_split_part own(s, p.n, false);
    typename R::sum a = r.start();
    gp_each_of_part<T, D, V>(
        l, p, r, own, r.needed(),
        [&](auto &x, int many, const gp_line_places<V> &at) { r.add(a, x, many, at); });
    a = gp_join_block(a, (unsigned)s.threads);
    if (own.live && own.lane == 0) sums[own.number] = a;
}

/* Called where a part has all of a block. */
template <class T, int D, int V, class R>
static __global__ void __launch_bounds__(GP_THREADS)
    gp_write_parts(gp_loop<1 + R::INPUTS> l, gp_norm_lines<1 + R::INPUTS> p, gp_split s, R r,
                   const typename R::sum *sums) {
    gp_split_part own(s, p.n, true);
    typename R::sum a = r.ready(gp_join_parts(sums + own.line * s.parts, s.parts, r.start()));
    if (threadIdx.x == 0 && own.at == 0) r.keep(a, own.line);
    gp_write_part_of<T, D, V>(l, p, r, a, own);
}

template <class T, int D, int V, class R, int N>
static bool gp_run_parts(const gp_call *c, const gp_loop<N> &l, const gp_norm_lines<N> &p,
                         const R &r) {
    gp_split s = gp_split_of(p.n, l.numel, V, gp_part_elements<T, D, V> / V);
    auto sum = gp_sum_parts<T, D, V, R>;
    auto write = gp_write_parts<T, D, V, R>;
    typename R::sum *sums = (typename R::sum *)gp_cuda_scratch(c, s.all * sizeof *sums);
    return sums && GP_LAUNCH(c, sum, s.all, GP_THREADS, 0, l, p, s, r, sums) &&
           GP_LAUNCH(c, write, s.all, GP_THREADS, 0, l, p, s, r, sums);
}

/* Whether lines begin as far from multiples of `bytes` in every array as in the first, which is not
 * asked where `zero` says that all begin at one; and their elements are adjacent. */
template <int N>
static bool gp_rows_align(const gp_loop<N> &l, const gp_norm_lines<N> &p, int64_t size, bool zero) {
    bool fits = true;
    for (int k = 0; k < N; k++) {
        uintptr_t from = zero ? 0 : (uintptr_t)l.data[0];
        fits = fits && p.step[k] == size && ((uintptr_t)l.data[k] - from) % 16 == 0;
        for (int d = 0; d < l.ndim; d++)
            fits = fits && (l.stride[d][k] - (zero ? 0 : l.stride[d][0])) % 16 == 0;
    }
    return fits;
}

template <class T, int D, int V, class R, int N>
static bool gp_run_rows_by(const gp_call *c, const gp_loop<N> &l, const gp_norm_lines<N> &p,
                           const R &r, int64_t reach) {
    const int held = gp_held_elements<T, D, V, R> / V, group = gp_group_threads(reach, V, held),
              threads = gp_group_block(group);
    if (reach > (int64_t)held * V * group) return gp_run_parts<T, D, V>(c, l, p, r);
    auto kernel = gp_held_rows<T, D, V, R>;
    return GP_LAUNCH(c, kernel, gp_blocks(l.numel, threads / group), threads, 0, l, p, r, group);
}

/* Runs rule r on rows: l are the first elements of each. False with a message. */
template <class T, int D, class R, int N>
static bool gp_run_rows(const gp_call *c, const gp_loop<N> &l, const gp_norm_lines<N> &p,
                        const R &r) {
    static_assert(N == 1 + R::INPUTS, "an output, and the rule's inputs");
    if constexpr (D != GP_ANY) {
        enum { SIZE = sizeof(typename gp_memory<D>::type), V = 16 / SIZE };
        const int most = gp_held_elements<T, D, V, R> * GP_GROUP_MAX;
        bool whole = p.n % V == 0 && gp_rows_align(l, p, SIZE, true);
        int64_t reach = whole ? p.n : p.n + V - 1;
        if (whole || (reach <= most && gp_rows_align(l, p, SIZE, false)))
            return gp_run_rows_by<T, D, V>(c, l, p, r, reach);
    }
    return gp_run_rows_by<T, D, 1>(c, l, p, r, p.n);
}

#endif
