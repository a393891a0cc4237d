/* Copies: converted, made contiguous, transposed. Limit: every byte is read and written once. */
#include "kernels/cuda/layout/copy.h"
#include "kernels/cuda/runtime/loop.cuh"

/* ---- same dtype: elements joined to units of up to 16 bytes ---- */

enum { EACH = 4 }; /* units per thread: their loads overlap */

template <class M> __global__ static void __launch_bounds__(GP_THREADS) move_kernel(gp_loop<2> l) {
    M v[EACH];
    int64_t off[EACH][2];
    uint32_t first = blockIdx.x * (GP_THREADS * EACH) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        if (first + k * GP_THREADS >= l.numel) break;
        gp_offsets(l, first + k * GP_THREADS, off[k]);
        v[k] = *(const M *)(l.data[1] + off[k][1]);
    }
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        if (first + k * GP_THREADS >= l.numel) break;
        *(M *)(l.data[0] + off[k][0]) = v[k];
    }
}

/* Whether the rows of both, of `size`-byte elements, can be copied `unit` bytes at a time. */
static bool in_units(const gp_nest<2> &n, int64_t size, int64_t unit) {
    if (n.stride[0][0] != size || n.stride[0][1] != size || n.dim[0] * size % unit) return false;
    for (int k = 0; k < 2; k++) {
        if (!gp_aligned(n.data[k], (size_t)unit)) return false;
        for (int d = 1; d < n.ndim; d++)
            if (n.stride[d][k] % unit) return false;
    }
    return true;
}

template <class M> static bool run_move(const gp_call *c, const gp_nest<2> &n) {
    return gp_nest_run(n, [&](const gp_loop<2> &l, int64_t first) {
        auto *kernel = move_kernel<M>;
        return GP_LAUNCH(c, kernel, gp_blocks(l.numel, GP_THREADS * EACH), GP_THREADS, 0, l);
    });
}

static bool move(const gp_call *c, gp_nest<2> n, int64_t size) {
    int64_t unit = 16;
    while (unit > size && !in_units(n, size, unit)) unit /= 2;
    if (unit > size) {
        n.numel = n.numel * size / unit, n.dim[0] = n.dim[0] * size / unit;
        n.stride[0][0] = n.stride[0][1] = unit;
    }
    return unit == 16 ? run_move<gp_vector<uint64_t, 2>>(c, n) : GP_BY_SIZE(unit, run_move, c, n);
}

/* ---- same dtype, transposed: tiles through shared memory ---- */

enum { LANES = 32, TILE_ROWS = 8, MANY_TILES = 512 }; /* threads of a tile; and see turn */

/* d (rows x cols) = s, whose element (r, c) is at s + r size + c scol. Reads follow rows, writes
 * columns, so that both touch whole lines: a block turns a tile of LANES x LANES units, each K x K
 * elements E, of which K adjacent ones are read and written at once. */
template <class E, int K>
__global__ static void __launch_bounds__(LANES *TILE_ROWS)
    turn_kernel(gp_loop<2> outer, uint32_t rows, uint32_t cols, int64_t drow, int64_t scol,
                gp_divider across, gp_divider tiles) {
    typedef gp_vector<E, K> unit;
    __shared__ unit tile[K][LANES][LANES + 1];
    enum { SIDE = LANES * K, EACH = LANES / TILE_ROWS };
    uint32_t matrix = gp_quotient(tiles, blockIdx.x), t = blockIdx.x - matrix * tiles.d;
    uint32_t down = gp_quotient(across, t), r0 = down * SIDE, c0 = (t - down * across.d) * SIDE;
    uint32_t x = threadIdx.x * K;
    int64_t off[2];
    gp_offsets(outer, matrix, off);
    char *d = outer.data[0] + off[0];
    const char *s = outer.data[1] + off[1];
    unit in[EACH][K];
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        uint32_t c = c0 + (threadIdx.y + e * TILE_ROWS) * K;
        if (c >= cols || r0 + x >= rows) continue;
#pragma unroll
        for (int k = 0; k < K; k++)
            in[e][k] = *(const unit *)(s + (c + k) * scol + (r0 + x) * (int64_t)sizeof(E));
    }
#pragma unroll
    for (int e = 0; e < EACH; e++)
#pragma unroll
        for (int k = 0; k < K; k++) {
            unit to;
#pragma unroll
            for (int j = 0; j < K; j++) to.v[j] = in[e][j].v[k];
            tile[k][threadIdx.y + e * TILE_ROWS][threadIdx.x] = to;
        }
    __syncthreads();
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        uint32_t y = threadIdx.y + e * TILE_ROWS, r = r0 + y * K;
        if (r >= rows || c0 + x >= cols) continue;
#pragma unroll
        for (int k = 0; k < K; k++)
            *(unit *)(d + (r + k) * drow + (c0 + x) * (int64_t)sizeof(E)) = tile[k][threadIdx.x][y];
    }
}

/* The dim of n whose elements are contiguous in the source, if copies run by tiles; else 0. */
static int turned_dim(const gp_nest<2> &n, int64_t size) {
    if (n.stride[0][0] != size || n.stride[0][1] == size || n.dim[0] < 8) return 0;
    for (int d = 1; d < n.ndim; d++)
        if (n.stride[d][1] == size && n.dim[d] >= 8) return d;
    return 0;
}

/* Whether n, whose dim `dim` is contiguous in the source, can be read and written K elements at
 * once. */
template <class E, int K> static bool in_squares(const gp_nest<2> &n, int dim) {
    const int64_t unit = sizeof(E) * K;
    if (n.dim[0] % K || n.dim[dim] % K) return false;
    for (int k = 0; k < 2; k++) {
        if (!gp_aligned(n.data[k], unit)) return false;
        for (int d = 0; d < n.ndim; d++)
            if (d != (k ? dim : 0) && n.stride[d][k] % unit) return false;
    }
    return true;
}

template <class E, int K> static bool run_turn(const gp_call *c, const gp_nest<2> &n, int dim) {
    enum { SIDE = LANES * K };
    gp_nest<2> outer = n;
    int64_t rows = n.dim[dim], cols = n.dim[0];
    outer.ndim = 0, outer.numel = 1;
    for (int d = 1; d < n.ndim; d++) {
        if (d == dim) continue;
        outer.dim[outer.ndim] = n.dim[d], outer.numel *= n.dim[d];
        for (int k = 0; k < 2; k++) outer.stride[outer.ndim][k] = n.stride[d][k];
        outer.ndim++;
    }
    if (!outer.ndim) outer.ndim = 1, outer.dim[0] = 1, outer.stride[0][0] = outer.stride[0][1] = 0;
    int64_t across = (cols + SIDE - 1) / SIDE, down = (rows + SIDE - 1) / SIDE;
    return gp_nest_run(outer, [&](const gp_loop<2> &l, int64_t first) {
        auto *kernel = turn_kernel<E, K>;
        return GP_LAUNCH(c, kernel, (uint32_t)(l.numel * across * down), dim3(LANES, TILE_ROWS), 0,
                         l, (uint32_t)rows, (uint32_t)cols, n.stride[dim][0], n.stride[0][1],
                         gp_divide_by((uint32_t)across), gp_divide_by((uint32_t)(across * down)));
    });
}

/* By units of 4 or 8 bytes, or element by element. The largest tiles need many of them to occupy a
 * card. */
template <class E> static bool turn(const gp_call *c, const gp_nest<2> &n, int dim) {
    constexpr int K = sizeof(E) < 4 ? 4 / sizeof(E) : 1, WIDE = sizeof(E) == 1 ? 4 : 8 / sizeof(E);
    const int64_t tile = LANES * WIDE * LANES * WIDE;
    if (n.numel >= MANY_TILES * tile && in_squares<E, WIDE>(n, dim))
        return run_turn<E, WIDE>(c, n, dim);
    return in_squares<E, K>(n, dim) ? run_turn<E, K>(c, n, dim) : run_turn<E, 1>(c, n, dim);
}

/* ---- converted ---- */

enum {
    FOUR = 4
}; /* elements of a thread: contiguous on both sides, or anywhere, GP_THREADS apart */

template <class T>
__global__ static void __launch_bounds__(GP_THREADS)
    convert_kernel(gp_loop<2> l, gp_dtype to, gp_dtype from) {
    uint32_t i = gp_element();
    int64_t off[2];
    T v[FOUR];
    if (i >= l.numel) return;
    gp_offsets(l, i, off);
    gp_load_some<T, FOUR>(l.data[1] + off[1], from, v);
    gp_store_some<T, FOUR>(l.data[0] + off[0], to, v);
}

/* Where the nest has too few elements, a thread's remaining ones repeat its first. */
template <class T>
__global__ static void __launch_bounds__(GP_THREADS)
    convert_anywhere(gp_loop<2> l, gp_dtype to, gp_dtype from) {
    uint32_t first = blockIdx.x * (GP_THREADS * FOUR) + threadIdx.x;
    int64_t off[FOUR][2];
    const char *s[FOUR];
    T v[FOUR];
    if (first >= l.numel) return;
#pragma unroll
    for (int k = 0; k < FOUR; k++) {
        uint32_t i = first + k * GP_THREADS;
        gp_offsets(l, i < l.numel ? i : first, off[k]);
        s[k] = l.data[1] + off[k][1];
    }
    gp_load_at<T, FOUR>(s, from, v);
#pragma unroll
    for (int k = 0; k < FOUR; k++)
        if (first + k * GP_THREADS < l.numel) gp_store_as<T>(l.data[0] + off[k][0], to, v[k]);
}

template <class T>
static bool run_convert(const gp_call *c, gp_nest<2> n, const int64_t *size, gp_dtype to,
                        gp_dtype from) {
    bool four = n.dim[0] % FOUR == 0;
    for (int k = 0; k < 2; k++) {
        four = four && n.stride[0][k] == size[k] && gp_aligned(n.data[k], FOUR * (size_t)size[k]);
        for (int d = 1; d < n.ndim; d++) four = four && n.stride[d][k] % (FOUR * size[k]) == 0;
    }
    if (four) {
        n.numel /= FOUR, n.dim[0] /= FOUR;
        for (int k = 0; k < 2; k++) n.stride[0][k] *= FOUR;
    }
    auto *kernel = four ? convert_kernel<T> : convert_anywhere<T>;
    return gp_nest_run(n, [&](const gp_loop<2> &l, int64_t first) {
        return GP_LAUNCH(c, kernel, gp_blocks(l.numel, GP_THREADS * (four ? 1 : FOUR)), GP_THREADS,
                         0, l, to, from);
    });
}

GP_C bool gp_cuda_copy_array(const gp_call *c, const gp_array *out, const gp_array *in) {
    const gp_array *const arrays[2] = {out, in};
    gp_dtype to = (gp_dtype)out->dtype, from = (gp_dtype)in->dtype;
    if (out->numel == 0) return true;
    gp_nest<2> n = gp_nest_of(arrays);
    int64_t size[2] = {gp_dtype_sizes[to], gp_dtype_sizes[from]};
    if (to == from) {
        int dim = turned_dim(n, size[0]);
        return dim ? GP_BY_SIZE(size[0], turn, c, n, dim) : move(c, n, size[0]);
    }
    /* A compute type that loses nothing: the source's, unless the target's is the wider float. */
    gp_dtype via = to == GP_f64 && gp_is_float(from) ? GP_f64 : from;
    return GP_BY_COMPUTE(via, run_convert, c, n, size, to, from);
}

GP_C bool CUDA(copy)(const gp_call *c) { return gp_cuda_copy_array(c, gp_out(c, 0), gp_in(c, 0)); }
