/* Weight's gradients of convolutions of few channels. A block adds up a part of the pixels for all
 * weights of some channels and filters: a thread has `KT` filters x `RT` rows of taps x S columns
 * of one channel in registers, for every n-th pixel of the block's tiles, two rows of four at
 * once. The threads' sums, and then the parts', are added in a fixed order. How pixels are divided
 * depends on the shape alone. Target limits: as in direct.cu, but with the gradient in the results'
 * place. */
#include "kernels/cuda/conv/direct.cuh"
#include "kernels/cuda/runtime/rows.cuh"

enum { TILE_QUADS = 64, ROWS = 2, ITEMS = TILE_QUADS / ROWS };
enum { THREADS_MOST = 160, BLOCKS = 3, PARTS_MOST = 792, AHEAD = 5 };

struct weighing {
    gp_planes x, grad;
    gp_halo_tile window;
    float *parts; /* parts x filters x channels x tap rows x tap columns */
    int32_t channels, filters, tap_rows, tap_cols, top, left;
    int32_t lanes;         /* quads of a row of the tile, as a power of two */
    int32_t group, groups; /* channels of a block, and such groups */
    int32_t sets;          /* of KT filters of a block */
    int32_t units, strips; /* threads that have different weights, and pixels */
    int32_t plane;         /* of x in shared memory: floats */
    gp_divider across, down, by_group, by_units, by_taps; /* by_taps: rows of taps / RT */
    uint32_t tiles;
    int64_t weights;
};

struct tile {
    int32_t y, x;
    int64_t image;
};
/* Tiles that follow each other are below each other, as they share rows. */
__device__ static tile tile_of(const weighing &p, uint32_t i) {
    uint32_t rest = gp_quotient(p.down, i);
    tile t;
    t.y = (int32_t)(i - rest * p.down.d) * (TILE_QUADS >> p.lanes);
    t.image = gp_quotient(p.across, rest);
    t.x = (int32_t)(rest - (uint32_t)t.image * p.across.d) * (4 << p.lanes);
    return t;
}

/* Copies the slot of n <= AHEAD planes, `step` apart, to shared memory, where they are `size`
 * apart: all are read before the first is written. aligned: they are quads there. */
template <bool quads, bool aligned>
__device__ static inline void copy_slots(const gp_slot &at, const float *from, int64_t step, int n,
                                         float *to, int size) {
    gp_quad v[AHEAD];
#pragma unroll
    for (int j = 0; j < AHEAD; j++)
        if (j < n) v[j] = gp_slot_read<quads>(from + j * step, at);
#pragma unroll
    for (int j = 0; j < AHEAD; j++) {
        if (j >= n) continue;
        if (aligned) *(gp_quad *)(to + j * size + at.to) = v[j];
        else gp_slot_write(to + j * size, at, v[j]);
    }
}
/* The same for any n. */
template <bool quads, bool aligned>
__device__ static inline void copy_planes(const gp_slot &at, const float *from, int64_t step, int n,
                                          float *to, int size) {
#pragma unroll 1
    for (; n >= AHEAD; n -= AHEAD, from += AHEAD * step, to += AHEAD * size)
        copy_slots<quads, aligned>(at, from, step, AHEAD, to, size);
    if (n > 0) copy_slots<quads, aligned>(at, from, step, n, to, size);
}

/* Copies the windows of n planes from `plane` on. */
template <bool quads>
__device__ static void read_planes(const gp_planes &s, const gp_halo_tile &w, const float *plane,
                                   int n, int y, int x, float *to, int size) {
    for (int i = (int)threadIdx.x; i < w.rows * w.quads; i += (int)blockDim.x)
        copy_planes<quads, false>(gp_slot_of<quads>(s, w, i, y, x), plane, s.channel, n, to, size);
}

/* The tile's gradients, zeros outside: TILE_QUADS for each of n filters. */
template <bool quads>
__device__ static void read_gradients(const weighing &p, const float *plane, int n, const tile &t,
                                      float *to) {
    int quad = (int)threadIdx.x % TILE_QUADS, first = (int)threadIdx.x / TILE_QUADS,
        step = (int)blockDim.x / TILE_QUADS;
    int y = t.y + (quad >> p.lanes), x = t.x + (quad & ((1 << p.lanes) - 1)) * 4;
    if (first >= step || first >= n) return; /* threads beyond a multiple of TILE_QUADS */
    gp_slot at = {y * p.grad.row + x, quad * 4, 0};
    if (y < p.grad.rows)
        for (int j = 0; j < (quads ? 1 : 4); j++) at.have |= (uint32_t)(x + j < p.grad.cols) << j;
    copy_planes<quads, true>(at, plane + first * p.grad.channel, step * p.grad.channel,
                             (n - first + step - 1) / step, to + first * 4 * TILE_QUADS,
                             step * 4 * TILE_QUADS);
}

/* The first channel and filter of this block, and how many it has of n. */
__device__ static inline int first_channel(const weighing &p) {
    return (int)(blockIdx.y % (unsigned)p.groups) * p.group;
}
__device__ static inline int first_filter(const weighing &p, int kt) {
    return (int)(blockIdx.y / (unsigned)p.groups) * p.sets * kt;
}
__device__ static inline int least(int a, int b) { return a < b ? a : b; }

/* Reads a tile of the block's channels and filters, kt a set, into shared memory. */
__device__ static void read_tile(const weighing &p, const tile &t, int kt, float *grads,
                                 float *planes) {
    int channel = first_channel(p), filter = first_filter(p, kt),
        channels = least(p.channels - channel, p.group),
        filters = least(p.filters - filter, p.sets * kt);
    const float *x = p.x.data + t.image * p.x.image + channel * p.x.channel,
                *grad = p.grad.data + t.image * p.grad.image + filter * p.grad.channel;
    int y = t.y - p.top, col = t.x - p.left - p.window.shift;
    if (p.x.quads) read_planes<true>(p.x, p.window, x, channels, y, col, planes, p.plane);
    else read_planes<false>(p.x, p.window, x, channels, y, col, planes, p.plane);
    if (p.grad.quads) read_gradients<true>(p, grad, filters, t, grads);
    else read_gradients<false>(p, grad, filters, t, grads);
}

/* Adds the products of the first n pixels of m rows, one after another: those outside may not be
 * added, as zeros there meet what is in the image, which may be infinite. */
template <int KT, int RT, int S>
__device__ static inline void add_edge(const weighing &p, const float *grad, const float *x, int m,
                                       int n, float (&sum)[KT][RT][S]) {
#pragma unroll 1
    for (int i = 0; i < m; i++, grad += 4 << p.lanes, x += p.window.pitch)
#pragma unroll 1
        for (int j = 0; j < n; j++)
#pragma unroll
            for (int k = 0; k < KT; k++)
#pragma unroll
                for (int r = 0; r < RT; r++)
#pragma unroll
                    for (int s = 0; s < S; s++)
                        sum[k][r][s] = fmaf(grad[k * 4 * TILE_QUADS + j],
                                            x[r * p.window.pitch + j + s], sum[k][r][s]);
}
/* The same for four pixels of ROWS rows: of gradients at `grad` and windows at x. */
template <int KT, int RT, int S>
__device__ static inline void add_pixels(const weighing &p, const float *grad, const float *x,
                                         float (&sum)[KT][RT][S]) {
    enum { QUADS = (4 + S + 2) / 4, N = RT + ROWS - 1 };
    float at[N][4 * QUADS];
#pragma unroll
    for (int r = 0; r < N; r++) gp_read_quads<QUADS>(at[r], x + r * p.window.pitch);
#pragma unroll
    for (int k = 0; k < KT; k++)
#pragma unroll
        for (int i = 0; i < ROWS; i++) {
            float g[4];
            gp_read_quads<1>(g, grad + k * 4 * TILE_QUADS + i * (4 << p.lanes));
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int r = 0; r < RT; r++)
#pragma unroll
                    for (int s = 0; s < S; s++)
                        sum[k][r][s] = fmaf(g[j], at[i + r][j + s], sum[k][r][s]);
        }
}

/* What a thread has: the first of its channels, its set of filters and rows of taps in the block,
 * and its strip of pixels; a strip from p.strips on has nothing. */
struct lot {
    int channel, set, rows, strip;
};
__device__ static inline lot lot_of(const weighing &p, int unit, int strip) {
    int rest = (int)gp_quotient(p.by_group, (uint32_t)unit),
        set = (int)gp_quotient(p.by_taps, (uint32_t)rest);
    return lot{unit - rest * p.group, set, rest - set * (int)p.by_taps.d, strip};
}

/* Filters whose sums the threads of a block add at once. */
template <int KT, int RT, int S> struct gp_round {
    enum { FILTERS = KT * RT * S <= 48 ? KT : (KT + 1) / 2 };
};

/* Adds the threads' sums, and stores them as the block's part. `shared` has room for a round. */
template <int KT, int RT, int S>
__device__ static void write_part(const weighing &p, float *shared, bool active,
                                  const float (&sum)[KT][RT][S]) {
    enum { ROUND = gp_round<KT, RT, S>::FILTERS };
    int threads = p.units * p.strips, thread = (int)threadIdx.x;
    int channel = first_channel(p), filter = first_filter(p, KT);
    float *to = p.parts + blockIdx.x * p.weights;
#pragma unroll
    for (int first = 0; first < KT; first += ROUND) {
        __syncthreads();
        if (active)
#pragma unroll
            for (int k = 0; k < ROUND && first + k < KT; k++)
#pragma unroll
                for (int r = 0; r < RT; r++)
#pragma unroll
                    for (int s = 0; s < S; s++)
                        shared[((k * RT + r) * S + s) * threads + thread] = sum[first + k][r][s];
        __syncthreads();
        for (int i = thread; i < ROUND * RT * S * p.units; i += (int)blockDim.x) {
            int which = (int)gp_quotient(p.by_units, (uint32_t)i), unit = i - which * p.units,
                k = first + which / (RT * S), s = which % S;
            lot at = lot_of(p, unit, 0);
            int c = channel + at.channel, r = at.rows * RT + which / S % RT,
                f = filter + at.set * KT + k;
            if (k >= KT || f >= p.filters || c >= p.channels || r >= p.tap_rows || s >= p.tap_cols)
                continue;
            float all = 0;
            for (int j = 0; j < p.strips; j++) all += shared[which * threads + j * p.units + unit];
            to[((f * p.channels + c) * p.tap_rows + r) * p.tap_cols + s] = all;
        }
    }
}

template <int KT, int RT, int S>
__global__ __launch_bounds__(THREADS_MOST, BLOCKS) static void weigh_tiles(weighing p) {
    GP_DYNAMIC_SHARED(float, shared);
    int thread = (int)threadIdx.x, strip = (int)gp_quotient(p.by_units, (uint32_t)thread);
    lot my = lot_of(p, thread - strip * p.units, strip);
    float *planes = shared + p.sets * KT * 4 * TILE_QUADS;
    const float *grad = shared + my.set * KT * 4 * TILE_QUADS,
                *x = planes + my.channel * p.plane + my.rows * RT * p.window.pitch + GP_LEAD;
    bool active = my.strip < p.strips;
    float sum[KT][RT][S];
#pragma unroll
    for (int k = 0; k < KT; k++)
#pragma unroll
        for (int r = 0; r < RT; r++)
#pragma unroll
            for (int s = 0; s < S; s++) sum[k][r][s] = 0;
    uint32_t last = (uint32_t)((uint64_t)p.tiles * (blockIdx.x + 1) / gridDim.x);
#pragma unroll 1
    for (uint32_t i = (uint32_t)((uint64_t)p.tiles * blockIdx.x / gridDim.x); i < last; i++) {
        tile t = tile_of(p, i);
        __syncthreads();
        read_tile(p, t, KT, shared, planes);
        __syncthreads();
#pragma unroll 1
        for (int q = my.strip; active && q < ITEMS; q += p.strips) {
            int row = (q >> p.lanes) * ROWS, col = (q & ((1 << p.lanes) - 1)) * 4;
            int m = p.grad.rows - t.y - row, n = p.grad.cols - t.x - col;
            const float *g = grad + 4 * ((row << p.lanes)) + col,
                        *from = x + row * p.window.pitch + col;
            if (m >= ROWS && n >= 4) add_pixels<KT, RT, S>(p, g, from, sum);
            else add_edge<KT, RT, S>(p, g, from, least(m, ROWS), least(n, 4), sum);
        }
    }
    write_part<KT, RT, S>(p, shared, active, sum);
}

/* Adds the parts of each weight: 32 threads take every 32nd part, and their sums are added in
 * order. */
enum { LANES = 32 };
struct summing {
    const float *parts;
    float *out;
    int64_t weights, step[4];
    int32_t n;
    gp_divider dim[3];
};
__global__ static void add_parts(summing p) {
    __shared__ float sums[LANES][GP_WARP + 1];
    int64_t i = (int64_t)blockIdx.x * GP_WARP + threadIdx.x;
    float sum = 0;
    if (i < p.weights)
        for (int at = (int)threadIdx.y; at < p.n; at += LANES) sum += p.parts[at * p.weights + i];
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y || i >= p.weights) return;
    for (int at = 1; at < LANES; at++) sum += sums[at][threadIdx.x];
    int64_t to = 0;
    uint32_t rest = (uint32_t)i;
    for (int d = 3; d > 0; d--) {
        uint32_t up = gp_quotient(p.dim[d - 1], rest);
        to += (rest - up * p.dim[d - 1].d) * p.step[d], rest = up;
    }
    p.out[to + rest * p.step[0]] = sum;
}

/* ---- plans ---- */

/* How the work is divided: kt filters and rt rows of taps a thread, `sets` times kt filters and
 * `group` channels a block. */
struct division {
    int kt, rt, columns, lanes, sets, group, threads;
    int filter_groups, channel_groups, strips;
    size_t shared;
};

static int tap_rows_of(const gp_conv *k, const division *d) {
    return gp_blocks_of(k->kernel[1], d->rt);
}
static gp_halo_tile window_of(const gp_conv *k, const division *d) {
    return gp_halo_tile_of(TILE_QUADS >> d->lanes, 4 << d->lanes, tap_rows_of(k, d) * d->rt,
                           d->columns, (int)k->before[2]);
}
/* Floats from one plane to the next, so that eight channels' quads are in different banks. */
static int plane_of(const gp_halo_tile *w) { return (w->rows * w->pitch + 27) / 32 * 32 + 4; }

/* The memory and threads for blocks of d's sets and groups; false: it is more than there is. */
static bool fits(const gp_conv *k, division *d) {
    int units = d->group * d->sets * tap_rows_of(k, d), size = d->rt * d->columns;
    gp_halo_tile w = window_of(k, d);
    if (units > THREADS_MOST) return false;
    for (d->strips = ITEMS; d->strips > 1 && units * d->strips > THREADS_MOST;) d->strips /= 2;
    d->threads = (units * d->strips + 31) / 32 * 32;
    if (d->threads < TILE_QUADS) d->threads = TILE_QUADS;
    int round = d->kt * size <= 48 ? d->kt : (d->kt + 1) / 2;
    size_t tiles = (size_t)(d->sets * d->kt * 4 * TILE_QUADS + d->group * plane_of(&w)),
           sums = (size_t)(round * size * units * d->strips);
    d->shared = sizeof(float) * (tiles > sums ? tiles : sums);
    return d->shared <= GP_SHARED_MOST;
}

/* The fewest groups of channels and of sets that fit. */
static bool group(const gp_conv *k, int sets, division *d) {
    for (int n = 1; n <= k->channels * sets; n++)
        for (int groups = 1; groups <= n && groups <= k->channels; groups++) {
            if (n % groups || n / groups > sets) continue;
            d->channel_groups = groups, d->filter_groups = n / groups;
            d->group = gp_blocks_of(k->channels, groups);
            d->sets = gp_blocks_of(sets, d->filter_groups);
            if (fits(k, d)) return true;
        }
    return false;
}

/* The most filters of a thread: its sums have to fit into 128 registers beside the rest. */
static constexpr int filters_most(int columns) { return columns == 3 ? 5 : columns == 7 ? 6 : 8; }

static bool divide(const gp_conv *k, division *d) {
    int64_t best = INT64_MAX;
    for (int lanes = 4; lanes >= 2; lanes--) {
        int64_t rows = TILE_QUADS >> lanes, cols = 4 << lanes;
        int64_t area = gp_blocks_of(k->out[1], rows) * rows * gp_blocks_of(k->out[2], cols) * cols;
        if (area < best) best = area, d->lanes = lanes;
    }
    if (k->out[1] * k->out[2] * 4 < best || k->out[1] * k->out[2] < 4 * TILE_QUADS) return false;
    d->columns = gp_direct_taps(k->kernel[2]), d->rt = d->columns == 3 ? 3 : 1;
    int sets = gp_blocks_of(k->filters, filters_most(d->columns));
    d->kt = gp_direct_width(gp_blocks_of(k->filters, sets));
    return group(k, sets, d);
}

bool gp_conv_direct_weight_fits(const gp_conv *k) {
    division d;
    return divide(k, &d);
}

/* ---- calls ---- */

typedef void kernel(weighing);
template <int RT, int S> static kernel *kernel_of(int kt) {
    constexpr int most = filters_most(S);
    switch (kt) {
    case 1: return weigh_tiles<1, RT, S>;
    case 2: return weigh_tiles<2, RT, S>;
    case 3: return weigh_tiles<3, RT, S>;
    case 4: return weigh_tiles<4, RT, S>;
    case 5: return weigh_tiles<5, RT, S>;
    case 6: return weigh_tiles < most < 6 ? most : 6, RT, S > ;
    default: return weigh_tiles<most, RT, S>;
    }
}
static kernel *kernel_for(int columns, int kt) {
    switch (columns) {
    case 1: return kernel_of<1, 1>(kt);
    case 3: return kernel_of<3, 3>(kt);
    case 5: return kernel_of<1, 5>(kt);
    default: return kernel_of<1, 7>(kt);
    }
}

static weighing weighing_of(const gp_conv *k, const division *d) {
    weighing p;
    memset(&p, 0, sizeof p);
    int rows = TILE_QUADS >> d->lanes, cols = 4 << d->lanes, taps = tap_rows_of(k, d);
    p.channels = (int32_t)k->channels, p.filters = (int32_t)k->filters;
    p.tap_rows = (int32_t)k->kernel[1], p.tap_cols = (int32_t)k->kernel[2];
    p.top = (int32_t)k->before[1], p.left = (int32_t)k->before[2], p.lanes = d->lanes;
    p.window = window_of(k, d), p.plane = plane_of(&p.window);
    p.group = d->group, p.groups = d->channel_groups, p.sets = d->sets;
    p.units = d->group * d->sets * taps, p.strips = d->strips;
    p.by_taps = gp_divide_by((uint32_t)taps);
    p.across = gp_divide_by((uint32_t)gp_blocks_of(k->out[2], cols));
    p.down = gp_divide_by((uint32_t)gp_blocks_of(k->out[1], rows));
    p.by_group = gp_divide_by((uint32_t)d->group), p.by_units = gp_divide_by((uint32_t)p.units);
    p.tiles = p.across.d * p.down.d * (uint32_t)k->images;
    p.weights = k->filters * k->channels * k->kernel[1] * k->kernel[2];
    return p;
}

static summing summing_of(const weighing *w, const gp_array *out, int parts) {
    summing p;
    memset(&p, 0, sizeof p);
    p.parts = w->parts, p.out = (float *)out->data, p.weights = w->weights, p.n = parts;
    for (int d = 0; d < 4; d++) p.step[d] = out->stride[d];
    for (int d = 1; d < 4; d++) p.dim[d - 1] = gp_divide_by((uint32_t)out->dim[d]);
    return p;
}

GP_C bool gp_conv_direct_weight(const gp_call *c, const gp_conv *k) {
    division d;
    if (!divide(k, &d)) return gp_fail("%s: no direct kernel", c->op->name);
    weighing p = weighing_of(k, &d);
    unsigned blocks = (unsigned)(d.filter_groups * d.channel_groups),
             parts = PARTS_MOST / blocks > 0 ? PARTS_MOST / blocks : 1;
    if (parts > p.tiles) parts = p.tiles;
    p.parts = (float *)gp_cuda_scratch(c, (size_t)p.weights * parts * sizeof(float));
    if (!p.parts || !gp_planes_in(c, k, gp_in(c, 0), &p.grad) ||
        !gp_planes_in(c, k, gp_in(c, 1), &p.x))
        return false;
    gp_cuda_detail("direct");
    kernel *weigh = kernel_for(d.columns, d.kt);
    return GP_LAUNCH(c, weigh, dim3(parts, blocks), d.threads, d.shared, p) &&
           GP_LAUNCH(c, add_parts, gp_blocks(p.weights, GP_WARP), dim3(GP_WARP, LANES), 0,
                     summing_of(&p, gp_out(c, 0), (int)parts));
}
