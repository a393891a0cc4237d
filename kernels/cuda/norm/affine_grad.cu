/* Gradients of weight and bias of layer_norm, rms_norm and group_norm. Limit: two reads of each
 * element of x and of the incoming gradient. */
#include "kernels/cuda/norm/affine.cuh"

enum {
    COLUMNS = 32,
    NARROW = 128, /* columns that a block has whole rows of */
    CHUNKS = 128,
    NARROW_CHUNKS = 1024,
    ROWS_AHEAD = 4, /* of a column that a thread reads before it uses the first */
    MOST = 4096     /* blocks of column_sums: the same on every device, as the sums depend on it */
};

typedef gp_norm_rows rows;

/* Sums of columns, one chunk of rows per block: into part, chunks x 2 x channels. A block has
 * blockDim.x columns, blockDim.y rows of them at once. */
template <class T, int D>
static __global__ void __launch_bounds__(GP_THREADS) column_sums(rows r, double *part) {
    __shared__ T room[2][GP_THREADS];
    int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, n = r.k.n,
            chunk = (r.k.rows + gridDim.y - 1) / gridDim.y, from = blockIdx.y * chunk,
            end = from + chunk < r.k.rows ? from + chunk : r.k.rows;
    T gw = 0, gb = 0;
    int64_t xs = gp_bytes_of(r.xt), gs = gp_bytes_of(r.gt);
    for (int64_t row = from + threadIdx.y; at < n && row < end; row += ROWS_AHEAD * blockDim.y) {
        T x[ROWS_AHEAD], g[ROWS_AHEAD];
        gp_column_ahead<T, D>(x, r.x + at * xs, n * xs, r.xt, row, end);
        int have = gp_column_ahead<T, D>(g, r.g + at * gs, n * gs, r.gt, row, end);
#pragma unroll
        for (int k = 0; k < ROWS_AHEAD; k++) {
            if (k >= have) break;
            int64_t own = row + k * (int64_t)blockDim.y;
            gw += g[k] * (x[k] - (T)r.mean[own]) * (T)r.scale[own];
            gb += g[k];
        }
    }
    unsigned own = threadIdx.y * blockDim.x + threadIdx.x;
    room[0][own] = gw, room[1][own] = gb;
    __syncthreads();
    if (threadIdx.y > 1 || at >= n) return;
    double s = 0;
    for (unsigned k = 0; k < blockDim.y; k++) s += room[threadIdx.y][k * blockDim.x + threadIdx.x];
    part[(blockIdx.y * 2 + threadIdx.y) * n + at] = s;
}
static __global__ void join_columns(const double *part, int64_t chunks, int64_t n, char *gw,
                                    char *gb, gp_dtype wt, gp_dtype bt) {
    int64_t at = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    double w = 0, b = 0;
    if (at >= n) return;
#pragma unroll 8
    for (int64_t k = 0; k < chunks; k++) w += part[2 * k * n + at], b += part[(2 * k + 1) * n + at];
    gp_store_as<double>(gw + at * gp_bytes_of(wt), wt, w);
    if (gb) gp_store_as<double>(gb + at * gp_bytes_of(bt), bt, b);
}

/* The same of few channels: a warp for each. */
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

/* The elements of a channel: `each` adjacent ones in the rows of its group, `many` rows. */
__host__ __device__ static inline int64_t rows_of_channel(const gp_norm &k, int64_t channel) {
    return (k.rows - channel / k.a_row + k.groups - 1) / k.groups;
}

/* The same of channels with several elements in a row: a block for each, and a chunk of its
 * elements, V at once. A thread goes on to its next ones without a division, and reads several
 * before it uses the first. */
template <class T, int D, int V>
static __global__ void __launch_bounds__(GP_THREADS) channel_sums(rows r, double *part) {
    enum { AHEAD = D == GP_ANY ? 1 : V > 4 ? 2 : 4 };
    int64_t a_row = r.k.a_row, channel = blockIdx.x, each = r.k.each / V, row0 = channel / a_row,
            first = channel % a_row * r.k.each, all = rows_of_channel(r.k, channel) * each,
            chunk = (all + gridDim.y - 1) / gridDim.y, i = blockIdx.y * chunk + threadIdx.x,
            end = blockIdx.y * chunk + chunk < all ? blockIdx.y * chunk + chunk : all;
    if (each == 0) each = 1;
    int64_t row = gp_divided(i, each), e = i - row * each, row_step = gp_divided(GP_THREADS, each),
            e_step = GP_THREADS - row_step * each;
    T w = 0, b = 0;
    for (; i < end; i += AHEAD * GP_THREADS) {
        T x[AHEAD][V], g[AHEAD][V], mean[AHEAD], scale[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            if (i + k * GP_THREADS >= end) break;
            int64_t own = row0 + row * r.k.groups, at = own * r.k.n + first + e * V;
            gp_fetch<T, D, V>(x[k], r.x + at * gp_bytes_of(r.xt), r.xt);
            gp_fetch<T, D, V>(g[k], r.g + at * gp_bytes_of(r.gt), r.gt);
            mean[k] = (T)r.mean[own], scale[k] = (T)r.scale[own];
            row += row_step, e += e_step;
            if (e >= each) e -= each, row++;
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            if (i + k * GP_THREADS >= end) break;
#pragma unroll
            for (int j = 0; j < V; j++) w += g[k][j] * (x[k][j] - mean[k]) * scale[k], b += g[k][j];
        }
    }
    w = gp_group_reduce(w, GP_THREADS, gp_add()), b = gp_group_reduce(b, GP_THREADS, gp_add());
    if (threadIdx.x) return;
    part[2 * blockIdx.y * r.k.channels + channel] = w;
    part[(2 * blockIdx.y + 1) * r.k.channels + channel] = b;
}

/* ---- host side ---- */

/* Columns of a block: whole rows where they are short, which then are one range of memory. */
static uint32_t column_block(int64_t n) { return n <= NARROW ? (uint32_t)n : (uint32_t)COLUMNS; }

template <class T, int D, int V>
static bool launch_columns(const gp_call *c, const rows *r, dim3 grid, double *part) {
    auto kernel = column_sums<T, D>;
    uint32_t columns = column_block(r->k.n);
    return GP_LAUNCH(c, kernel, grid, dim3(columns, GP_THREADS / columns), 0, *r, part);
}
static bool run_columns(const gp_call *c, const rows *r, bool wide, dim3 grid, double *part) {
    return GP_BY_ROW(false, r->xt == r->gt, r->xt, wide, launch_columns, c, r, grid, part);
}

template <class T, int D, int V>
static bool launch_channels(const gp_call *c, const rows *r, dim3 grid, double *part) {
    auto kernel = channel_sums<T, D, V>;
    return GP_LAUNCH(c, kernel, grid, GP_THREADS, 0, *r, part);
}
static bool run_channels(const gp_call *c, const rows *r, bool wide, dim3 grid, double *part) {
    bool same = r->xt == r->gt;
    bool plain = same && r->k.each * gp_dtype_sizes[r->xt] % 16 == 0 && gp_aligned(r->x, 16) &&
                 gp_aligned(r->g, 16);
    return GP_BY_ROW(plain, same, r->xt, wide, launch_channels, c, r, grid, part);
}

bool gp_norm_join_channels(const gp_call *c, const rows *r, const double *part, int64_t chunks) {
    const gp_array *w = gp_out(c, 1), *b = r->k.centred ? gp_out(c, 2) : NULL;
    gp_dtype wt = (gp_dtype)w->dtype, bt = b ? (gp_dtype)b->dtype : GP_f32;
    int64_t channels = r->k.channels;
    bool few = channels < MOST;
    auto kernel = few ? join_channels : join_columns;
    return GP_LAUNCH(c, kernel, gp_blocks(channels, few ? GP_THREADS / GP_WARP : GP_THREADS),
                     GP_THREADS, 0, part, chunks, channels, w->data, b ? b->data : NULL, wt, bt);
}

bool gp_norm_affine_gradients(const gp_call *c, const rows *r, bool wide) {
    if (r->k.channels == 0) return true;
    bool columns = r->k.each == 1 && r->k.groups == 1;
    int64_t channels = r->k.channels, across = column_block(r->k.n), most = CHUNKS,
            blocks = columns ? gp_blocks(r->k.n, across) : channels,
            chunks = columns ? r->k.rows / (ROWS_AHEAD * (GP_THREADS / across))
                             : rows_of_channel(r->k, 0) * r->k.each / (16 * GP_THREADS);
    if (columns && r->k.n <= NARROW) most = NARROW_CHUNKS;
    if (chunks > most) chunks = most;
    if (chunks * blocks > MOST) chunks = MOST / blocks;
    if (chunks < 1) chunks = 1;
    dim3 grid((uint32_t)blocks, (uint32_t)chunks);
    double *part = (double *)gp_cuda_scratch(c, (size_t)(2 * chunks * channels) * sizeof *part);
    return part &&
           (columns ? run_columns(c, r, wide, grid, part) : run_channels(c, r, wide, grid, part)) &&
           gp_norm_join_channels(c, r, part, chunks);
}
