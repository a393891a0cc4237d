/* Convolutions of few channels and their input's gradients, which are convolutions with the
 * weight's dims exchanged and its taps reversed. A block computes a tile of outputs: it adds up
 * one input channel after another from shared memory, while the next is read. A thread has `PR`
 * rows of four pixels for `KT` output channels in registers, so that it loads a value for each five
 * to twenty products. Target limits: 2 operations per tap at the cores' rate, and the bytes of
 * images and results at the memory's speed. */
#include "kernels/cuda/conv/direct.cuh"

enum { THREADS = 128, PIXELS = 4, ROWS = 2 }; /* of a block, and of a thread */

struct convolution {
    gp_planes in, out;
    gp_halo_tile window;
    const float *w, *bias; /* bias NULL: none */
    int64_t w_out, w_in, w_row, w_col, bias_step;
    int32_t inputs, outputs, tap_rows, tap_cols, top, left;
    int32_t lanes; /* threads of a row of the tile, as a power of two */
    gp_divider across, down, by_rows;
};

/* A block's tile: its first output and input, and its image. */
struct tile {
    int32_t y, x, from_y, from_x;
    int64_t image;
};
template <int PR> __device__ static tile tile_of(const convolution &p) {
    uint32_t rest = gp_quotient(p.across, blockIdx.x);
    tile t;
    t.x = (int32_t)(blockIdx.x - rest * p.across.d) * (PIXELS << p.lanes);
    t.image = gp_quotient(p.down, rest);
    t.y = (int32_t)(rest - (uint32_t)t.image * p.down.d) * (PR * (THREADS >> p.lanes));
    t.from_y = t.y - p.top, t.from_x = t.x - p.left - p.window.shift;
    return t;
}

/* The weight in shared memory: input channels x tap rows x S x KT, these padded to quads. A thread
 * has one output channel and column. */
template <int KT, int S> __device__ static void read_weight(const convolution &p, float *to) {
    enum { PAD = (KT + 3) / 4 * 4, STEP = THREADS / (KT * S) };
    int thread = (int)threadIdx.x, k = thread % KT, s = thread / KT % S, row = thread / (KT * S),
        out = (int)blockIdx.y * KT + k;
    bool in = out < p.outputs && s < p.tap_cols;
    const float *from = p.w + out * p.w_out + s * p.w_col;
    for (int i = row < STEP ? row : INT32_MAX; i < p.inputs * p.tap_rows; i += STEP) {
        int c = (int)gp_quotient(p.by_rows, (uint32_t)i), r = i - c * p.tap_rows;
        to[(i * S + s) * PAD + k] = in ? from[c * p.w_in + r * p.w_row] : 0;
    }
}

/* Adds an input channel: tile is where this thread's first pixel is, w its channel's weight. */
template <int KT, int S, int PR>
__device__ static inline void add_channel(const convolution &p, const float *tile, const float *w,
                                          float (&sum)[KT][PR][PIXELS]) {
    enum { PAD = (KT + 3) / 4 * 4, QUADS = (PIXELS + S + 2) / 4 };
#pragma unroll 1
    for (int r = 0; r < p.tap_rows; r++, tile += p.window.pitch, w += S * PAD) {
        float x[PR][4 * QUADS];
#pragma unroll
        for (int i = 0; i < PR; i++) gp_read_quads<QUADS>(x[i], tile + i * p.window.pitch);
#pragma unroll
        for (int s = 0; s < S; s++) {
            float tap[PAD];
            gp_read_quads<PAD / 4>(tap, w + s * PAD);
#pragma unroll
            for (int k = 0; k < KT; k++)
#pragma unroll
                for (int i = 0; i < PR; i++)
#pragma unroll
                    for (int j = 0; j < PIXELS; j++)
                        sum[k][i][j] = fmaf(x[i][j + s], tap[k], sum[k][i][j]);
        }
    }
}

template <int KT, int PR>
__device__ static inline void write_tile(const convolution &p, const tile &t, int y, int x,
                                         const float (&sum)[KT][PR][PIXELS]) {
    int first = (int)blockIdx.y * KT;
    float *to = p.out.data + t.image * p.out.image + first * p.out.channel + x;
#pragma unroll
    for (int k = 0; k < KT; k++)
#pragma unroll
        for (int i = 0; i < PR; i++) {
            if (first + k >= p.outputs || y + i >= p.out.rows || x >= p.out.cols) continue;
            float *row = to + k * p.out.channel + (y + i) * p.out.row;
            if (p.out.quads) {
                gp_quad v = {{sum[k][i][0], sum[k][i][1], sum[k][i][2], sum[k][i][3]}};
                *(gp_quad *)row = v;
            } else {
#pragma unroll
                for (int j = 0; j < PIXELS; j++)
                    if (x + j < p.out.cols) row[j] = sum[k][i][j];
            }
        }
}

template <int KT, int S, int PR, bool quads, int BLOCKS>
__global__ __launch_bounds__(THREADS, BLOCKS) static void convolve_tile(convolution p) {
    enum { PAD = (KT + 3) / 4 * 4, SLOTS = S > 3 ? 4 : 3 };
    GP_DYNAMIC_SHARED(float, weight);
    int taps = p.tap_rows * S * PAD, size = p.window.rows * p.window.pitch;
    float *tiles = weight + p.inputs * taps;
    int thread = (int)threadIdx.x, row = (thread >> p.lanes) * PR,
        col = (thread & ((1 << p.lanes) - 1)) * PIXELS;
    tile t = tile_of<PR>(p);
    gp_slot slot[SLOTS];
    gp_quad next[SLOTS];
    const float *plane = p.in.data + t.image * p.in.image;
#pragma unroll
    for (int i = 0; i < SLOTS; i++)
        slot[i] = gp_slot_of<quads>(p.in, p.window, thread + i * THREADS, t.from_y, t.from_x);
#pragma unroll
    for (int i = 0; i < SLOTS; i++) { /* kept: they would be computed again for each channel */
        if (quads && !slot[i].have) slot[i].from = -1;
        asm volatile("" : "+r"(slot[i].from), "+r"(slot[i].to));
        if (quads) slot[i].have = slot[i].from >= 0;
    }
#pragma unroll
    for (int i = 0; i < SLOTS; i++) next[i] = gp_slot_read<quads>(plane, slot[i]);
    read_weight<KT, S>(p, weight);
    float sum[KT][PR][PIXELS];
#pragma unroll
    for (int k = 0; k < KT; k++) {
        int o = (int)blockIdx.y * KT + k;
        float start = p.bias && o < p.outputs ? p.bias[o * p.bias_step] : 0;
#pragma unroll
        for (int i = 0; i < PR; i++)
#pragma unroll
            for (int j = 0; j < PIXELS; j++) sum[k][i][j] = start;
    }
#pragma unroll 1
    for (int c = 0; c < p.inputs; c++) { /* two tiles in turn: a barrier for each is enough */
        float *now = tiles + (c & 1) * size;
#pragma unroll
        for (int i = 0; i < SLOTS; i++)
            if (slot[i].to >= 0) gp_slot_write(now, slot[i], next[i]);
        __syncthreads();
        plane += p.in.channel;
        if (c + 1 < p.inputs)
#pragma unroll
            for (int i = 0; i < SLOTS; i++) next[i] = gp_slot_read<quads>(plane, slot[i]);
        add_channel<KT, S, PR>(p, now + row * p.window.pitch + GP_LEAD + col, weight + c * taps,
                               sum);
    }
    write_tile<KT, PR>(p, t, t.y + row, t.x + col, sum);
}

/* ---- plans ---- */

/* How a product is divided: KT output channels a block, in `groups`; lanes as above. */
struct division {
    int kt, groups, lanes;
    size_t shared;
};

static size_t shared_of(int inputs, int kt, int lanes, const int64_t *taps, int left) {
    int S = gp_direct_taps(taps[1]);
    gp_halo_tile w =
        gp_halo_tile_of(ROWS * (THREADS >> lanes), PIXELS << lanes, (int)taps[0], S, left);
    int quads = w.rows * w.quads, slots = S > 3 ? 4 : 3;
    if (quads > slots * THREADS) return SIZE_MAX;
    return sizeof(float) *
           (size_t)(inputs * taps[0] * S * ((kt + 3) / 4 * 4) + 2 * w.rows * w.pitch);
}

/* More output channels a thread take registers that leave room for 3 blocks instead of 4: on an
 * H200 10 channels took 0.151 ms at once, 0.134 as two groups of 5 (32 images of 256x256, 3x3). */
enum { KT_MOST = 8 };

/* The most channels at once that shared memory has room for. False: it has none, or most of each
 * tile would lie outside of the image. */
static bool divide(int inputs, int outputs, const int64_t *size, const int64_t *taps, int left,
                   division *to) {
    int64_t best = INT64_MAX;
    for (int lanes = 4; lanes >= 3; lanes--) {
        int64_t rows = ROWS * (THREADS >> lanes), cols = PIXELS << lanes;
        int64_t area = gp_blocks_of(size[0], rows) * rows * gp_blocks_of(size[1], cols) * cols;
        if (area < best) best = area, to->lanes = lanes;
    }
    if (size[0] * size[1] * 4 < best) return false;
    for (to->groups = 1; to->groups <= outputs; to->groups++) {
        to->kt = gp_direct_width((outputs + to->groups - 1) / to->groups);
        to->shared = to->kt ? shared_of(inputs, to->kt, to->lanes, taps, left) : SIZE_MAX;
        if (to->kt <= KT_MOST && to->shared <= GP_SHARED_MOST) return true;
    }
    return false;
}

/* Columns of padding before the image, for the product that has it as its input. */
static int left_of(const gp_conv *k, int d, bool image) {
    return (int)(image ? k->kernel[d] - 1 - k->before[d] : k->before[d]);
}

static bool divide_product(const gp_conv *k, bool image, division *to) {
    int inputs = (int)(image ? k->filters : k->channels),
        outputs = (int)(image ? k->channels : k->filters);
    return divide(inputs, outputs, image ? &k->in[1] : &k->out[1], &k->kernel[1],
                  left_of(k, 2, image), to);
}

GP_C bool gp_conv_is_direct(const gp_conv *k, const gp_array *a, const gp_array *b,
                            gp_conv_part part) {
    division d;
    if (a->numel == 0 || b->numel == 0 || !gp_direct_kind(k, (gp_dtype)a->dtype)) return false;
    return part == GP_CONV_WEIGHT ? gp_conv_direct_weight_fits(k)
                                  : divide_product(k, part == GP_CONV_IMAGE, &d);
}

/* ---- calls ---- */

typedef void kernel(convolution);
/* Blocks that a multiprocessor can hold at once: 3 have 168 registers a thread. */
template <int KT, int S, bool quads>
static constexpr kernel *sized =
    convolve_tile<KT, S, ROWS, quads, KT * ROWS >= (S > 5 ? 16 : 20) ? 3 : 4>;
template <int S, bool quads> static kernel *kernel_of(int kt) {
    switch (kt) {
    case 1: return sized<1, S, quads>;
    case 2: return sized<2, S, quads>;
    case 3: return sized<3, S, quads>;
    case 4: return sized<4, S, quads>;
    case 5: return sized<5, S, quads>;
    case 6: return sized<6, S, quads>;
    default: return sized<8, S, quads>;
    }
}
template <bool quads> static kernel *kernel_for(int cols, int kt) {
    switch (gp_direct_taps(cols)) {
    case 1: return kernel_of<1, quads>(kt);
    case 3: return kernel_of<3, quads>(kt);
    case 5: return kernel_of<5, quads>(kt);
    default: return kernel_of<7, quads>(kt);
    }
}

/* The weight's dims as the product sees them: for the image's gradients its taps are reversed. */
static void weight_in(const gp_conv *k, const gp_array *w, bool image, convolution *p) {
    p->tap_rows = (int32_t)k->kernel[1], p->tap_cols = (int32_t)k->kernel[2];
    p->w = (const float *)w->data, p->w_row = w->stride[2], p->w_col = w->stride[3];
    p->w_out = w->stride[image], p->w_in = w->stride[!image];
    if (!image) return;
    p->w += (p->tap_rows - 1) * p->w_row + (p->tap_cols - 1) * p->w_col;
    p->w_row = -p->w_row, p->w_col = -p->w_col;
}

static convolution convolution_of(const gp_conv *k, const division *d, bool image) {
    convolution p;
    memset(&p, 0, sizeof p);
    p.inputs = (int32_t)(image ? k->filters : k->channels);
    p.outputs = (int32_t)(image ? k->channels : k->filters);
    p.top = left_of(k, 1, image), p.left = left_of(k, 2, image), p.lanes = d->lanes;
    int rows = ROWS * (THREADS >> d->lanes), cols = PIXELS << d->lanes;
    const int64_t *size = image ? k->in : k->out;
    p.window = gp_halo_tile_of(rows, cols, (int)k->kernel[1], gp_direct_taps(k->kernel[2]), p.left);
    p.across = gp_divide_by((uint32_t)gp_blocks_of(size[2], cols));
    p.down = gp_divide_by((uint32_t)gp_blocks_of(size[1], rows));
    p.by_rows = gp_divide_by((uint32_t)k->kernel[1]);
    return p;
}

static bool convolve_planes(const gp_call *c, const gp_conv *k, const gp_array *bias, bool image) {
    division d;
    gp_array to = *gp_out(c, 0), dense;
    const gp_array *out = gp_out(c, 0);
    if (!divide_product(k, image, &d)) return gp_fail("%s: no direct kernel", c->op->name);
    convolution p = convolution_of(k, &d, image);
    if (!gp_planes_in(c, k, gp_in(c, 0), &p.in)) return false;
    if (!gp_is_planes(out)) {
        to = gp_dense_over(NULL, GP_f32, out->ndim, out->dim);
        to.data = (char *)gp_cuda_scratch(c, (size_t)to.numel * sizeof(float));
        if (!to.data) return false;
    }
    p.out = gp_planes_of(k, &to);
    weight_in(k, gp_in(c, 1), image, &p);
    if (bias) {
        if (!gp_cuda_dense(c, bias, GP_f32, &dense)) return false;
        p.bias = (const float *)dense.data, p.bias_step = dense.stride[0];
    }
    gp_cuda_detail("direct");
    kernel *convolve =
        p.in.quads ? kernel_for<true>(p.tap_cols, d.kt) : kernel_for<false>(p.tap_cols, d.kt);
    dim3 grid((unsigned)(p.across.d * p.down.d * (uint64_t)k->images), (unsigned)d.groups);
    return GP_LAUNCH(c, convolve, grid, THREADS, d.shared, p) &&
           (to.data == out->data || gp_cuda_copy_array(c, out, &to));
}

GP_C bool gp_conv_direct(const gp_call *c, const gp_conv *k) {
    return convolve_planes(c, k, gp_in(c, 2), false);
}
GP_C bool gp_conv_direct_image(const gp_call *c, const gp_array *bias, const gp_conv *k) {
    return convolve_planes(c, k, bias, true);
}
