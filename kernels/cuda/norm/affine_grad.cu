/* Gradients of the weight and bias of layer_norm and rms_norm: sums of columns. Limit: a read of
 * each element of x and of the incoming gradient. */
#include "kernels/cuda/norm/affine.cuh"

enum {
    COLUMNS = 32,
    NARROW = 128, /* columns that a block has whole rows of: 1e7 rows of 10 took 3,158 us on an H100
                     by COLUMNS at once, 372 by whole rows */
    CHUNKS = 128,
    NARROW_CHUNKS = 1024,
    ROWS_AHEAD = 4, /* of a column that a thread reads before it uses the first */
    MOST = 4096     /* blocks of column_sums: the same on every device, as the sums depend on it */
};

typedef gp_norm_rows rows;

/* Sums of columns, one chunk of rows per block: into part, chunks x 2 x channels. A block has
 * blockDim.x columns, blockDim.y rows of them at once. */
template <class T, int D>
static __global__ void __launch_bounds__(GP_THREADS)
    column_sums(const char *xs, const char *gs, gp_dtype xt, gp_dtype gt, rows r, double *part) {
    __shared__ T shared[2][GP_THREADS];
    int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, n = r.k.n,
            chunk = (r.k.rows + gridDim.y - 1) / gridDim.y, from = blockIdx.y * chunk,
            end = from + chunk < r.k.rows ? from + chunk : r.k.rows;
    T gw = 0, gb = 0;
    const int64_t step[2] = {n * gp_bytes_of(xt), n * gp_bytes_of(gt)},
                  jump[2] = {blockDim.y * step[0], blockDim.y * step[1]};
    const gp_dtype dt[2] = {xt, gt};
    for (int64_t row = from + threadIdx.y; at < n && row < end; row += ROWS_AHEAD * blockDim.y) {
        gp_tile<T, D, 1, 2, ROWS_AHEAD> t;
        int64_t left = (end - row + blockDim.y - 1) / blockDim.y;
        int have = left < ROWS_AHEAD ? (int)left : (int)ROWS_AHEAD;
        const char *p[2] = {xs + at * gp_bytes_of(xt) + row * step[0],
                            gs + at * gp_bytes_of(gt) + row * step[1]};
        t.read(p, jump, dt, have);
#pragma unroll
        for (int k = 0; k < ROWS_AHEAD; k++) {
            if (k >= have) break;
            int64_t own = row + k * (int64_t)blockDim.y;
            gw += t.at(1, k, 0) * (t.at(0, k, 0) - (T)r.mean[own]) * (T)r.scale[own];
            gb += t.at(1, k, 0);
        }
    }
    unsigned own = threadIdx.y * blockDim.x + threadIdx.x;
    shared[0][own] = gw, shared[1][own] = gb;
    __syncthreads();
    if (threadIdx.y > 1 || at >= n) return;
    double s = 0;
    for (unsigned k = 0; k < blockDim.y; k++)
        s += shared[threadIdx.y][k * blockDim.x + threadIdx.x];
    part[(blockIdx.y * 2 + threadIdx.y) * n + at] = s;
}

/* A warp for each of n channels. */
static __global__ void __launch_bounds__(GP_THREADS)
    join_channels(const double *part, int64_t chunks, int64_t n, char *gw, char *gb, gp_dtype wt,
                  gp_dtype bt) {
    int64_t at = gp_group_number(GP_WARP), k = at < n ? threadIdx.x % GP_WARP : chunks;
    double w = 0, b = 0;
#pragma unroll 4
    for (; k < chunks; k += GP_WARP) w += part[2 * k * n + at], b += part[(2 * k + 1) * n + at];
    w = gp_group_reduce(w, GP_WARP, gp_add()), b = gp_group_reduce(b, GP_WARP, gp_add());
    if (at >= n || threadIdx.x % GP_WARP) return;
    gp_store_as<double>(gw + at * gp_bytes_of(wt), wt, w);
    if (gb) gp_store_as<double>(gb + at * gp_bytes_of(bt), bt, b);
}

/* ---- host side ---- */

bool gp_norm_join_channels(const gp_call *c, const rows *r, const double *part, int64_t chunks) {
    const gp_array *w = gp_out(c, 1), *b = r->k.centred ? gp_out(c, 2) : NULL;
    return GP_LAUNCH(c, join_channels, gp_blocks(r->k.channels, GP_THREADS / GP_WARP), GP_THREADS,
                     0, part, chunks, r->k.channels, w->data, b ? b->data : NULL,
                     (gp_dtype)w->dtype, b ? (gp_dtype)b->dtype : GP_f32);
}

template <class T, int D>
static bool run_columns(const gp_call *c, const rows *r, const gp_array *x, const gp_array *g,
                        dim3 grid, dim3 block, double *part) {
    auto kernel = column_sums<T, D>;
    return GP_LAUNCH(c, kernel, grid, block, 0, (const char *)x->data, (const char *)g->data,
                     (gp_dtype)x->dtype, (gp_dtype)g->dtype, *r, part);
}

bool gp_norm_affine_gradients(const gp_call *c, const rows *r, const gp_array *x,
                              const gp_array *g) {
    int64_t n = r->k.n, across = n <= NARROW ? n : (int64_t)COLUMNS,
            most = n <= NARROW ? (int64_t)NARROW_CHUNKS : (int64_t)CHUNKS;
    bool wide = x->dtype == GP_f64 || g->dtype == GP_f64;
    if (n == 0) return true;
    int64_t blocks = gp_blocks(n, across),
            chunks = r->k.rows / (ROWS_AHEAD * (GP_THREADS / across));
    if (chunks > most) chunks = most;
    if (chunks * blocks > MOST) chunks = MOST / blocks;
    if (chunks < 1) chunks = 1;
    dim3 grid((uint32_t)blocks, (uint32_t)chunks),
        block((uint32_t)across, (uint32_t)(GP_THREADS / across));
    double *part = (double *)gp_cuda_scratch(c, (size_t)(2 * chunks * n) * sizeof *part);
    return part &&
           GP_BY_ROW(x->dtype == g->dtype, x->dtype, wide, run_columns, c, r, x, g, grid, block,
                     part) &&
           gp_norm_join_channels(c, r, part, chunks);
}
