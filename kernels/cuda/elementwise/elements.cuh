/* Elementwise formulas over elements of any dtypes and layouts: a thread's elements are anywhere,
 * adjacent, or of a tile where an operand's memory runs across the result's. */
#ifndef GP_CUDA_ELEMENTS_CUH
#define GP_CUDA_ELEMENTS_CUH

#include "kernels/cuda/elementwise/formula.cuh"

/* Elements per thread, GP_THREADS apart, for a formula of n operands: a device hides its memory's
 * latency with 16 bytes of each thread on their way. */
constexpr int gp_elements_each(int n) { return n <= 2 ? 4 : 2; }

/* How the bits of a thread's elements lie. */
typedef enum gp_bits_kind {
    GP_BITS_OWN,    /* each in a word of its own */
    GP_BITS_MEMORY, /* adjacent, as in memory */
    GP_BITS_ONE     /* one for all, in the first word */
} gp_bits_kind;

/* U elements of `size` bytes, each into a word of its own. */
template <int U>
__device__ static inline void gp_bits_apart(const uint64_t (&bits)[U], gp_bits_kind kind, int size,
                                            uint64_t (&own)[U]) {
#pragma unroll
    for (int r = 0; r < U; r++) {
        if (kind == GP_BITS_ONE) own[r] = bits[0];
        else if (kind == GP_BITS_OWN || size == 8) own[r] = bits[r];
        else if (size == 4) own[r] = (uint32_t)(bits[r / 2] >> 32 * (r % 2));
        else if (size == 2) own[r] = (uint16_t)(bits[0] >> 16 * r);
        else own[r] = (uint8_t)(bits[0] >> 8 * r);
    }
}

template <class T> GP_CALLED T gp_bits_any(uint64_t bits, int dt) {
    alignas(8) char m[sizeof bits];
    memcpy(m, &bits, sizeof bits);
    return gp_load_as<T>(m, (gp_dtype)dt);
}
/* Elements of dtype dt, whose bits are given, in compute type T. */
template <class T, int U>
__device__ static inline void gp_bits_as(const uint64_t (&bits)[U], int dt, T (&v)[U]) {
    if (dt == gp_memory_of<T>::dtype) {
#pragma unroll
        for (int r = 0; r < U; r++) memcpy(&v[r], &bits[r], sizeof v[r]);
        return;
    }
    if constexpr (std::is_same<T, float>::value) {
        if (dt == GP_f16 || dt == GP_bf16) {
#pragma unroll
            for (int r = 0; r < U; r++)
                v[r] = dt == GP_f16 ? gp_f16_as_f32((uint16_t)bits[r])
                                    : gp_bf16_as_f32((uint16_t)bits[r]);
            return;
        }
    }
#pragma unroll
    for (int r = 0; r < U; r++) v[r] = gp_bits_any<T>(bits[r], dt);
}
template <class T> GP_CALLED void gp_store_any(char *p, int dt, T v) {
    gp_store_as<T>(p, (gp_dtype)dt, v);
}
template <int N, class T, class R>
__device__ static inline void gp_store_result(const gp_formula_args<N, T> &a, char *p, R v) {
    if constexpr (std::is_same<R, T>::value) {
        if (a.dtype[0] == gp_memory_of<T>::dtype) *(T *)p = v;
        else if (a.lowest) *(uint8_t *)p = (int64_t)v & 1;
        else gp_store_any<T>(p, a.dtype[0], v);
    } else {
        if (a.dtype[0] == GP_bool) *(uint8_t *)p = v;
        else gp_store_any<T>(p, a.dtype[0], v);
    }
}

/* A thread's elements: the bits of their operands and where the results go; nullptr: there is
 * none. */
template <int N, int U> struct gp_elements {
    uint64_t bits[N][U];
    char *to[U];
};

/* Reads elements of `size` bytes, except from nullptr: one choice by size, and nothing is done with
 * what is read, so that all loads are on their way together. */
template <class Char, int U>
__device__ static inline void gp_read_each(Char *const (&p)[U], int size, uint64_t (&bits)[U]) {
#define READ(M)                                                                                    \
    for (int r = 0; r < U; r++)                                                                    \
        if (p[r]) bits[r] = *(const M *)p[r];
    if (size == 4) {
        READ(uint32_t)
    } else if (size == 2) {
        READ(uint16_t)
    } else if (size == 8) {
        READ(uint64_t)
    } else {
        READ(uint8_t)
    }
#undef READ
}

template <int N, class T, int U>
__device__ static inline void gp_read_apart(const gp_loop<1 + N> &l, const gp_formula_args<N, T> &a,
                                            gp_elements<N, U> &e) {
    const uint32_t first = blockIdx.x * (GP_THREADS * U) + threadIdx.x;
    const char *p[N][U];
#pragma unroll
    for (int r = 0; r < U; r++) {
        uint32_t i = first + r * GP_THREADS;
        bool live = i < l.numel;
        int64_t off[1 + N];
        gp_offsets(l, live ? i : 0, off);
        e.to[r] = live ? l.data[0] + off[0] : nullptr;
#pragma unroll
        for (int k = 0; k < N; k++) p[k][r] = live ? l.data[1 + k] + off[1 + k] : nullptr;
    }
#pragma unroll
    for (int k = 0; k < N; k++)
        if (a.source[k] != GP_NUMBER_OPERAND) gp_read_each(p[k], a.size[k], e.bits[k]);
}

/* `bytes` adjacent bytes. */
template <int U>
__device__ static inline void gp_read_bytes(const char *p, int bytes, uint64_t (&bits)[U]) {
    if (bytes == 8) bits[0] = *(const uint64_t *)p;
    else if (bytes == 4) bits[0] = *(const uint32_t *)p;
    else if (bytes == 16) {
        gp_vector<uint64_t, 2> v = *(const gp_vector<uint64_t, 2> *)p;
        bits[0] = v.v[0], bits[1] = v.v[1];
    } else if (bytes == 2) bits[0] = *(const uint16_t *)p;
    else if (bytes == 1) bits[0] = *(const uint8_t *)p;
    else if constexpr (U == 4) { /* 32 */
        gp_vector<uint64_t, 4> v = *(const gp_vector<uint64_t, 4> *)p;
        for (int r = 0; r < U; r++) bits[r] = v.v[r];
    }
}
template <int N, class T, int U>
__device__ static inline void
gp_read_adjacent(const gp_loop<1 + N> &l, const gp_formula_args<N, T> &a, gp_elements<N, U> &e) {
    uint32_t i = gp_element();
    int64_t off[1 + N];
    bool live = i < l.numel;
    gp_offsets(l, live ? i : 0, off);
#pragma unroll
    for (int r = 0; r < U; r++) e.to[r] = live ? l.data[0] + off[0] + r * a.result_size : nullptr;
#pragma unroll
    for (int k = 0; k < N; k++)
        if (live && a.source[k] != GP_NUMBER_OPERAND)
            gp_read_bytes<U>(l.data[1 + k] + off[1 + k], a.bytes[k], e.bits[k]);
}

/* A tile has GP_TILE elements along the result's memory and `down` along the other dim, in whose
 * order turned operands are read, to be exchanged in shared memory. */
enum { GP_TILE = 32 };
__host__ __device__ constexpr int gp_tile_down(int each) { return GP_THREADS / GP_TILE * each; }
/* Where a thread's elements of one array of a tile are: the first, the next `step` bytes on, below
 * `live` of them. Instructions, not memory, are what a tile can run out of. */
struct gp_tile_walk {
    char *p;
    int64_t step;
    uint32_t at, live, by;
    template <int U> __device__ inline void addresses(char *(&to)[U]) const {
#pragma unroll
        for (int r = 0; r < U; r++) to[r] = at + r * by < live ? p + r * step : nullptr;
    }
};
template <int N, class T, int U>
__device__ static inline void gp_read_tile(const gp_loop<1 + N> &l, const gp_formula_args<N, T> &a,
                                           gp_elements<N, U> &e) {
    enum { DOWN = gp_tile_down(U), LINES = GP_THREADS / GP_TILE, COLUMNS = GP_THREADS / DOWN };
    __shared__ uint64_t shared[DOWN][GP_TILE + 1];
    int64_t off[1 + N];
    gp_offsets(l, blockIdx.x, off);
    uint32_t line = gp_quotient(l.dim[0], blockIdx.x), column = blockIdx.x - line * l.dim[0].d;
    if (l.ndim > 2) line -= gp_quotient(l.dim[1], line) * l.dim[1].d;
    const uint32_t wide = a.side[0] - column * GP_TILE, high = a.side[1] - line * DOWN,
                   x = threadIdx.x % GP_TILE, y = threadIdx.x / GP_TILE,
                   turned_x = threadIdx.x / DOWN, turned_y = threadIdx.x % DOWN;
    /* Strides are those of tiles, multiples of their sides. */
    auto walk = [&](int k, bool turned) {
        int64_t right = l.stride[0][k] / GP_TILE, down = l.stride[1][k] / DOWN;
        uint32_t i = turned ? turned_x : x, j = turned ? turned_y : y;
        char *p = l.data[k] + off[k] + i * right + j * down;
        bool out = turned ? j >= high : i >= wide;
        return turned ? gp_tile_walk{p, right * COLUMNS, i, out ? 0 : wide, COLUMNS}
                      : gp_tile_walk{p, down * LINES, j, out ? 0 : high, LINES};
    };
#pragma unroll
    for (int k = 0; k < N; k++) {
        const char *p[U];
        char *at[U];
        const bool turned = a.turned[k];
        if (a.source[k] == GP_NUMBER_OPERAND) continue;
        walk(1 + k, turned).addresses(at);
#pragma unroll
        for (int r = 0; r < U; r++) p[r] = at[r];
        gp_read_each(p, a.size[k], e.bits[k]);
        if (!turned) continue;
        if (k) __syncthreads(); /* the last operand has been read */
#pragma unroll
        for (int r = 0; r < U; r++) shared[turned_y][turned_x + r * COLUMNS] = e.bits[k][r];
        __syncthreads();
#pragma unroll
        for (int r = 0; r < U; r++) e.bits[k][r] = shared[y + r * LINES][x];
    }
    walk(0, false).addresses(e.to);
}

/* The operands of a thread's elements in compute type. */
template <int N, class T, int U>
__device__ static inline void gp_convert_elements(const gp_formula_args<N, T> &a,
                                                  const gp_elements<N, U> &e, T (&v)[N][U]) {
#pragma unroll
    for (int k = 0; k < N; k++) {
        uint64_t own[U];
        if (a.source[k] == GP_NUMBER_OPERAND) {
#pragma unroll
            for (int r = 0; r < U; r++) v[k][r] = a.number[k];
            continue;
        }
        gp_bits_apart<U>(e.bits[k],
                         a.way != GP_ADJACENT    ? GP_BITS_OWN
                         : a.source[k] == GP_ONE ? GP_BITS_ONE
                                                 : GP_BITS_MEMORY,
                         a.size[k], own);
        gp_bits_as<T, U>(own, a.dtype[1 + k], v[k]);
    }
}
template <int N, class T, class R, int U>
__device__ static inline void gp_write_elements(const gp_formula_args<N, T> &a,
                                                const gp_elements<N, U> &e,
                                                const gp_vector<R, U> &to) {
    if (a.way == GP_ADJACENT && std::is_same<R, T>::value && a.dtype[0] == gp_memory_of<T>::dtype) {
        if (e.to[0]) *(gp_vector<R, U> *)e.to[0] = to;
        return;
    }
#pragma unroll
    for (int r = 0; r < U; r++)
        if (e.to[r]) gp_store_result(a, e.to[r], to.v[r]);
}

template <class F, int U>
__global__ static void __launch_bounds__(GP_THREADS)
    gp_element_kernel(gp_loop<1 + F::N> l, gp_args_of<F> a) {
    F f = gp_formula_of<F>(a);
    gp_elements<F::N, U> e;
    typename F::T v[F::N][U];
    gp_vector<typename F::R, U> to;
    if (a.way == GP_TILES) gp_read_tile(l, a, e);
    else if (a.way == GP_ADJACENT) gp_read_adjacent(l, a, e);
    else gp_read_apart(l, a, e);
    gp_convert_elements(a, e, v);
#pragma unroll
    for (int r = 0; r < U; r++) {
        typename F::T u[F::N];
        if (!e.to[r]) continue;
#pragma unroll
        for (int k = 0; k < F::N; k++) u[k] = v[k][r];
        to.v[r] = f(u);
    }
    gp_write_elements(a, e, to);
    gp_formula_end(f.fault, a.fault);
}

/* ---- turned operands of one dtype ---- */

/* Elements of a thread of gp_turned_kernel, whose tile is GP_TILE wide. */
template <class T> __host__ __device__ constexpr int gp_turned_each() {
    return sizeof(T) > 4 ? 4 : 8;
}

/* Reads operand k of a tile, `wide` by `high` of whose elements exist, from p on: by lines of the
 * result, or, turned, down them and exchanged in shared memory. */
template <int U, class T, int DOWN>
__device__ static inline void gp_read_turned(const char *p, int64_t right, int64_t down,
                                             bool turned, uint32_t wide, uint32_t high,
                                             T (&shared)[DOWN][GP_TILE + 1], T (&v)[U]) {
    enum { LINES = GP_THREADS / GP_TILE, HALVES = DOWN / GP_TILE, COLUMNS = GP_TILE / LINES };
    const uint32_t x = threadIdx.x % GP_TILE, y = threadIdx.x / GP_TILE;
    if (!turned) {
        p += x * right + y * down;
#pragma unroll
        for (int r = 0; r < U; r++)
            if (x < wide && y + r * LINES < high) v[r] = *(const T *)(p + r * LINES * down);
        return;
    }
    p += y * right + x * (int64_t)sizeof(T);
#pragma unroll
    for (int r = 0; r < COLUMNS; r++)
#pragma unroll
        for (int h = 0; h < HALVES; h++)
            if (y + r * LINES < wide && x + h * GP_TILE < high)
                v[r * HALVES + h] =
                    *(const T *)(p + r * LINES * right + h * GP_TILE * (int)sizeof(T));
    __syncthreads(); /* the last operand has been read */
#pragma unroll
    for (int r = 0; r < U; r++) shared[x + r % HALVES * GP_TILE][y + r / HALVES * LINES] = v[r];
    __syncthreads();
#pragma unroll
    for (int r = 0; r < U; r++) v[r] = shared[y + r * LINES][x];
}

/* Where a thread's first result of such a tile goes, and the columns and lines of the tile that
 * exist. */
struct gp_turned_to {
    char *p;
    uint32_t wide, high;
};
/* Reads a thread's elements of all operands. R: the result's type. */
template <class R, int N, class T, int U>
__device__ static inline gp_turned_to
gp_read_turned_tile(const gp_loop<1 + N> &l, const gp_formula_args<N, T> &a, T (&v)[N][U]) {
    enum { LINES = GP_THREADS / GP_TILE, DOWN = LINES * U };
    __shared__ T shared[DOWN][GP_TILE + 1];
    int64_t off[1 + N];
    uint32_t line = gp_quotient(l.dim[0], blockIdx.x), column = blockIdx.x - line * l.dim[0].d;
    if (l.ndim > 2) {
        gp_offsets(l, blockIdx.x, off);
        line -= gp_quotient(l.dim[1], line) * l.dim[1].d;
    } else {
#pragma unroll
        for (int k = 0; k <= N; k++) off[k] = column * l.stride[0][k] + line * l.stride[1][k];
    }
    const uint32_t wide = a.side[0] - column * GP_TILE, high = a.side[1] - line * DOWN,
                   x = threadIdx.x % GP_TILE, y = threadIdx.x / GP_TILE;
#pragma unroll
    for (int k = 0; k < N; k++) {
        if (a.source[k] == GP_NUMBER_OPERAND) {
#pragma unroll
            for (int r = 0; r < U; r++) v[k][r] = a.number[k];
            continue;
        }
        gp_read_turned(l.data[1 + k] + off[1 + k], l.stride[0][1 + k] / GP_TILE,
                       l.stride[1][1 + k] / DOWN, a.turned[k], wide, high, shared, v[k]);
    }
    char *p = l.data[0] + off[0] + x * (int64_t)sizeof(R) + y * (l.stride[1][0] / DOWN);
    return {p, wide, high};
}

/* Tiles whose operands all have F's type in memory, as has the result unless it is bool. */
template <class F>
__global__ static void __launch_bounds__(GP_THREADS)
    gp_turned_kernel(gp_loop<1 + F::N> l, gp_args_of<F> a) {
    typedef typename F::T T;
    typedef typename F::R R;
    enum { U = gp_turned_each<T>(), LINES = GP_THREADS / GP_TILE, DOWN = LINES * U };
    F f = gp_formula_of<F>(a);
    T v[F::N][U];
    const gp_turned_to to = gp_read_turned_tile<R>(l, a, v);
    const uint32_t x = threadIdx.x % GP_TILE, y = threadIdx.x / GP_TILE;
#pragma unroll
    for (int r = 0; r < U; r++) {
        T u[F::N];
        if (x >= to.wide || y + r * LINES >= to.high) continue;
#pragma unroll
        for (int k = 0; k < F::N; k++) u[k] = v[k][r];
        *(R *)(to.p + r * LINES * (l.stride[1][0] / DOWN)) = f(u);
    }
    gp_formula_end(f.fault, a.fault);
}

/* ---- the driver ---- */

/* Whether a thread can read and write its elements at once, each operand in its own dtype; then an
 * element of n is that many. */
template <int N, class T>
static bool gp_by_adjacent(gp_nest<1 + N> *n, gp_formula_args<N, T> *a, int to) {
    const int U = gp_elements_each(N);
    bool one[N] = {};
    if (n->stride[0][0] != to || n->dim[0] % U) return false;
    for (int k = 0; k <= N; k++) {
        int size = k ? a->size[k - 1] : to;
        if (k && a->source[k - 1] == GP_NUMBER_OPERAND) continue;
        if (k && n->stride[0][k] == 0) {
            one[k - 1] = true;
            continue;
        }
        if (n->stride[0][k] != size || !gp_aligned(n->data[k], (size_t)(size * U))) return false;
        for (int d = 1; d < n->ndim; d++)
            if (n->stride[d][k] % (size * U)) return false;
    }
    for (int k = 0; k < N; k++)
        if (a->source[k] != GP_NUMBER_OPERAND) {
            a->source[k] = one[k] ? GP_ONE : GP_EACH;
            a->bytes[k] = (uint8_t)(one[k] ? a->size[k] : a->size[k] * U);
        }
    a->result_size = (uint8_t)to;
    n->numel /= U, n->dim[0] /= U;
    for (int k = 0; k <= N; k++) n->stride[0][k] *= U;
    return true;
}

/* Makes n's two fastest dims those of tiles, of which a thread has `each` elements, the second the
 * dim down which operands' memory runs; false if there is none, or it is short. */
template <int N, class T>
static bool gp_by_tiles(gp_nest<1 + N> *n, gp_formula_args<N, T> *a, int to, int each) {
    const int64_t side[2] = {GP_TILE, gp_tile_down(each)}, most = INT32_MAX;
    int turned = 0;
    for (int d = 1; d < n->ndim && !turned; d++)
        for (int k = 0; k < N && !turned; k++)
            if (a->source[k] != GP_NUMBER_OPERAND && n->stride[d][1 + k] == a->size[k] &&
                n->stride[0][1 + k] && n->stride[0][1 + k] != a->size[k])
                turned = d;
    if (!turned || n->stride[0][0] != to) return false;
    if (turned > 1) gp_nest_swap(n, 1, turned);
    n->numel = 1;
    for (int d = 0; d < 2; d++) {
        if (n->dim[d] < side[d] / 2 || n->dim[d] > most) return false;
        a->side[d] = (uint32_t)n->dim[d];
        n->dim[d] = (n->dim[d] + side[d] - 1) / side[d];
        for (int k = 0; k <= N; k++) n->stride[d][k] *= side[d];
    }
    for (int d = 0; d < n->ndim; d++) n->numel *= n->dim[d];
    for (int k = 0; k < N; k++)
        a->turned[k] = a->source[k] != GP_NUMBER_OPERAND && n->stride[0][1 + k] &&
                       n->stride[0][1 + k] != side[0] * a->size[k] &&
                       n->stride[1][1 + k] == side[1] * a->size[k];
    return n->numel <= most;
}

/* Elements of any dtypes and layouts. same: operands are of type T in memory, and the result of the
 * formula's. */
template <int N, class T>
static bool gp_run_elements(const gp_call *c, const gp_formula_kernels<N, T> &f,
                            const gp_nest<1 + N> &n, gp_formula_args<N, T> a, int to, bool same) {
    gp_nest<1 + N> adjacent = n, tiles = n;
    if (gp_by_adjacent<N, T>(&adjacent, &a, to)) {
        a.way = GP_ADJACENT;
        return gp_run_kernel<N, T>(c, f.elements, adjacent, a, GP_THREADS);
    }
    if (gp_by_tiles<N, T>(&tiles, &a, to, same ? gp_turned_each<T>() : gp_elements_each(N))) {
        a.way = GP_TILES;
        return gp_run_kernel<N, T>(c, same ? f.turned : f.elements, tiles, a, 1);
    }
    return gp_run_kernel<N, T>(c, f.elements, n, a, GP_THREADS * gp_elements_each(N));
}

#endif
