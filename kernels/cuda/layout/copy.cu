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

enum { TILE_ROWS = 8 }; /* threads are tile wide x TILE_ROWS */

/* d (rows x cols) = s, whose element (r, c) is at s + r size + c scol: one block per tile of SIDE x
 * SIDE. Reads follow rows, writes columns, so that both touch whole lines. */
template <class M, int SIDE>
__global__ static void turn_kernel(gp_loop<2> outer, uint32_t rows, uint32_t cols, int64_t drow,
                                   int64_t scol, gp_divider across, gp_divider tiles) {
    __shared__ M tile[SIDE][SIDE + 1];
    uint32_t matrix = gp_quotient(tiles, blockIdx.x), t = blockIdx.x - matrix * tiles.d;
    uint32_t down = gp_quotient(across, t), r0 = down * SIDE, c0 = (t - down * across.d) * SIDE;
    int64_t off[2];
    gp_offsets(outer, matrix, off);
    char *d = outer.data[0] + off[0];
    const char *s = outer.data[1] + off[1];
    for (uint32_t k = threadIdx.y; k < SIDE; k += TILE_ROWS)
        if (c0 + k < cols && r0 + threadIdx.x < rows)
            tile[k][threadIdx.x] = ((const M *)(s + (c0 + k) * scol))[r0 + threadIdx.x];
    __syncthreads();
    for (uint32_t k = threadIdx.y; k < SIDE; k += TILE_ROWS)
        if (r0 + k < rows && c0 + threadIdx.x < cols)
            ((M *)(d + (r0 + k) * drow))[c0 + threadIdx.x] = tile[threadIdx.x][k];
}

/* The dim of n whose elements are contiguous in the source, if copies run by tiles; else 0. */
static int turned_dim(const gp_nest<2> &n, int64_t size) {
    if (n.stride[0][0] != size || n.stride[0][1] == size || n.dim[0] < 8) return 0;
    for (int d = 1; d < n.ndim; d++)
        if (n.stride[d][1] == size && n.dim[d] >= 8) return d;
    return 0;
}

template <class M> static bool run_turn(const gp_call *c, const gp_nest<2> &n, int dim) {
    enum { SIDE = sizeof(M) < 4 ? 64 : 32 };
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
        auto *kernel = turn_kernel<M, SIDE>;
        return GP_LAUNCH(c, kernel, (uint32_t)(l.numel * across * down), dim3(SIDE, TILE_ROWS), 0,
                         l, (uint32_t)rows, (uint32_t)cols, n.stride[dim][0], n.stride[0][1],
                         gp_divide_by((uint32_t)across), gp_divide_by((uint32_t)(across * down)));
    });
}

/* ---- converted ---- */

enum { FOUR = 4 }; /* elements contiguous on both sides; or one anywhere */

template <class T>
__global__ static void __launch_bounds__(GP_THREADS)
    convert_kernel(gp_loop<2> l, gp_dtype to, gp_dtype from, bool four) {
    uint32_t i = gp_element();
    int64_t off[2];
    T v[FOUR];
    if (i >= l.numel) return;
    gp_offsets(l, i, off);
    char *d = l.data[0] + off[0], *s = l.data[1] + off[1];
    if (!four) {
        gp_store_as<T>(d, to, gp_load_as<T>(s, from));
        return;
    }
    gp_load_some<T, FOUR>(s, from, v);
    gp_store_some<T, FOUR>(d, to, v);
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
    return gp_nest_run(n, [&](const gp_loop<2> &l, int64_t first) {
        auto *kernel = convert_kernel<T>;
        return GP_LAUNCH(c, kernel, gp_blocks(l.numel), GP_THREADS, 0, l, to, from, four);
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
        return dim ? GP_BY_SIZE(size[0], run_turn, c, n, dim) : move(c, n, size[0]);
    }
    /* A compute type that loses nothing: the source's, unless the target's is the wider float. */
    gp_dtype via = to == GP_f64 && gp_is_float(from) ? GP_f64 : from;
    return GP_BY_COMPUTE(via, run_convert, c, n, size, to, from);
}

GP_C bool CUDA(copy)(const gp_call *c) { return gp_cuda_copy_array(c, gp_out(c, 0), gp_in(c, 0)); }
