/* conv2d: a direct convolution on bands of output rows. A band's input is packed with its padding,
   and split by stride into planes on which every tap of the kernel is a shift by a constant; a
   register tile of several filters by several vectors of outputs then runs over the taps. */
#include <string.h>

#include "kernels/cpu/scratch.h"
#include "kernels/kernel.h"
#include "tensor/nn.h"

/* Vector bytes, and the most filters in a tile: what the set's registers hold beside inputs and a
 * weight. */
#if defined(__AVX512F__)
enum { VB = 64, MOST = 12 };
#elif defined(__AVX__)
enum { VB = 32, MOST = 6 };
#else
enum { VB = 16, MOST = 6 };
#endif
enum { BAND_BYTES = 192 << 10, LEAST_ROWS = 8, UNIT_WORK = 1 << 18 };

typedef struct run {
    gp_conv k;
    const gp_array *x, *w, *bias, *out;
    gp_ctype ct;
    int64_t size;              /* bytes of the compute type */
    int64_t channels, filters; /* of a group */
    int64_t taps, *offset;     /* where tap i finds its input, in elements from an output's place */
    int64_t phases[2], *phase[2]; /* remainders of rows and columns by the stride that a tap asks
                                     for, each once; [0, phases) of phase[d] */
    int64_t blocks;               /* of filters in a group */
    int64_t rows, bands;          /* output rows of a band; bands of an image */
    int64_t line, lines;          /* packed plane: elements of a row, rows */
    bool flat;   /* a band is computed as one long row, columns between the rows included */
    bool direct; /* tiles write the output themselves */
    char *weights, *start; /* packed [group][block][tap][filter of the block]; bias or 0 */
    _Atomic bool no_memory;
} run;

/* ---- tiles ---- */

/* y[o][0 … len) = start[o] + sum over taps of w[tap][o] * x[offset[tap] + …]; reads whole
 * vectors of x, up to four beyond len. */
typedef void (*tile_fn)(const run *r, const void *x, const void *w, const void *start, void *y,
                        int64_t ystep, int64_t len);

#define VECTOR(T, t) \
    typedef T vec_##t __attribute__((vector_size(VB), aligned(sizeof(T)), may_alias));
VECTOR(float, f32)
VECTOR(double, f64)

#define EACH_O _Pragma("GCC unroll 12") for (int o = 0; o < O; o++)
#define EACH_V _Pragma("GCC unroll 4") for (int v = 0; v < V; v++)
#define TILE(T, t, filters, vectors)                                                            \
    static void tile_##t##_##filters(const run *r, const void *from, const void *weights,       \
                                     const void *start, void *to, int64_t ystep, int64_t len) { \
        enum { O = filters, V = vectors, L = VB / sizeof(T), STEP = V * L };                    \
        const int64_t *offset = r->offset, taps = r->taps;                                      \
        for (int64_t at = 0; at < len; at += STEP) {                                            \
            const T *x = (const T *)from + at, *w = weights;                                    \
            T *y = (T *)to + at;                                                                \
            vec_##t acc[O][V], in[V];                                                           \
            EACH_O EACH_V acc[o][v] = ((const T *)start)[o] - (vec_##t){0};                     \
            for (int64_t i = 0; i < taps; i++, w += O) {                                        \
                const T *p = x + offset[i];                                                     \
                EACH_V in[v] = *(const vec_##t *)(p + v * L);                                   \
                EACH_O EACH_V acc[o][v] += in[v] * w[o];                                        \
            }                                                                                   \
            if (len - at >= STEP) {                                                             \
                EACH_O EACH_V *(vec_##t *)(y + o * ystep + v * L) = acc[o][v];                  \
            } else {                                                                            \
                EACH_O {                                                                        \
                    vec_##t rest[V];                                                            \
                    EACH_V rest[v] = acc[o][v];                                                 \
                    memcpy(y + o * ystep, rest, (size_t)(len - at) * sizeof(T));                \
                }                                                                               \
            }                                                                                   \
        }                                                                                       \
    }
#define TILES(T, t)  \
    TILE(T, t, 1, 4) \
    TILE(T, t, 2, 4) TILE(T, t, 3, 4) TILE(T, t, 4, 2) TILE(T, t, 5, 2) TILE(T, t, 6, 2)
#define MORE_TILES(T, t) \
    TILE(T, t, 7, 2)     \
    TILE(T, t, 8, 2) TILE(T, t, 9, 2) TILE(T, t, 10, 2) TILE(T, t, 11, 2) TILE(T, t, 12, 2)
TILES(float, f32)
TILES(double, f64)
#define TABLE(t) tile_##t##_1, tile_##t##_2, tile_##t##_3, tile_##t##_4, tile_##t##_5, tile_##t##_6
#ifdef __AVX512F__
MORE_TILES(float, f32)
MORE_TILES(double, f64)
#define ALL_TABLE(t) \
    TABLE(t), tile_##t##_7, tile_##t##_8, tile_##t##_9, tile_##t##_10, tile_##t##_11, tile_##t##_12
#else
#define ALL_TABLE(t) TABLE(t)
#endif
static const tile_fn tiles[2][MOST] = {{ALL_TABLE(f32)}, {ALL_TABLE(f64)}};

/* ---- packing ---- */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t ceil_div(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

/* One packed row: columns first, first + stride … of the padded image; src is its row, or NULL in
 * the padding above and below. */
static void pack_row(const run *r, char *dst, const char *src, int64_t first) {
    int64_t step = r->k.stride[1], left = r->k.before[1] - first, width = r->k.in[1];
    int64_t i0 = least(left > 0 ? ceil_div(left, step) : 0, r->line),
            i1 = least(ceil_div(left + width, step), r->line);
    if (!src || i1 <= i0) {
        memset(dst, 0, (size_t)(r->line * r->size));
        return;
    }
    int64_t xs = r->x->stride[r->x->ndim - 1] * (int64_t)gp_dtype_size((gp_dtype)r->x->dtype);
    memset(dst, 0, (size_t)(i0 * r->size));
    gp_load_fn((gp_dtype)r->x->dtype, r->ct)(dst + i0 * r->size, src + (i0 * step - left) * xs,
                                             xs * step, i1 - i0);
    memset(dst + i1 * r->size, 0, (size_t)((r->line - i1) * r->size));
}

/* The input of output rows y0 … of one image and group: [channel][phase of rows][phase of
 * columns][lines][line]. */
static void pack_band(const run *r, int64_t image, int64_t group, int64_t y0, char *dst) {
    const gp_array *x = r->x;
    int n = x->ndim;
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)x->dtype), cs = x->stride[n - 3] * size,
            rs = x->stride[n - 2] * size;
    const char *first =
        x->data + (n == 4 ? image * x->stride[0] * size : 0) + group * r->channels * cs;
    for (int64_t c = 0; c < r->channels; c++)
        for (int64_t i = 0; i < r->phases[0]; i++)
            for (int64_t j = 0; j < r->phases[1]; j++)
                for (int64_t l = 0; l < r->lines; l++, dst += r->line * r->size) {
                    int64_t y = (y0 + l) * r->k.stride[0] + r->phase[0][i] - r->k.before[0];
                    pack_row(r, dst, y < 0 || y >= r->k.in[0] ? NULL : first + c * cs + y * rs,
                             r->phase[1][j]);
                }
    memset(dst, 0, 4 * VB);
}

/* The index of a remainder among those seen so far; a new one is added. */
static int64_t phase_index(run *r, int d, int64_t remainder) {
    int64_t i = 0;
    while (i < r->phases[d] && r->phase[d][i] != remainder) i++;
    if (i == r->phases[d]) r->phase[d][r->phases[d]++] = remainder;
    return i;
}

static void set_phases(run *r) {
    for (int d = 0; d < 2; d++)
        for (int64_t i = 0; i < r->k.kernel[d]; i++)
            phase_index(r, d, i * r->k.dilation[d] % r->k.stride[d]);
}

static void set_offsets(run *r) {
    const gp_conv *k = &r->k;
    int64_t plane = r->lines * r->line, *at = r->offset;
    for (int64_t c = 0; c < r->channels; c++)
        for (int64_t i = 0; i < k->kernel[0]; i++)
            for (int64_t j = 0; j < k->kernel[1]; j++) {
                int64_t y = i * k->dilation[0], x = j * k->dilation[1];
                int64_t phase = phase_index(r, 0, y % k->stride[0]) * r->phases[1] +
                                phase_index(r, 1, x % k->stride[1]);
                *at++ = (c * r->phases[0] * r->phases[1] + phase) * plane +
                        y / k->stride[0] * r->line + x / k->stride[1];
            }
}

static int64_t block_start(const run *r, int64_t b) { return r->filters * b / r->blocks; }

/* The taps of filter f in compute type. */
static void read_filter(const run *r, int64_t f, char *dst) {
    const gp_array *w = r->w;
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)w->dtype), width = w->dim[3];
    gp_load load = gp_load_fn((gp_dtype)w->dtype, r->ct);
    const char *p = w->data + f * w->stride[0] * size;
    if (w->contiguous) {
        load(dst, p, size, r->taps);
        return;
    }
    for (int64_t c = 0; c < w->dim[1]; c++)
        for (int64_t i = 0; i < w->dim[2]; i++, dst += width * r->size)
            load(dst, p + (c * w->stride[1] + i * w->stride[2]) * size, w->stride[3] * size, width);
}

/* Blocks of filters, [tap][filter]. */
static void pack_weights(void *ctx, int64_t begin, int64_t end) {
    run *r = ctx;
    char *buf = gp_scratch(GP_SCRATCH_PART, (size_t)(r->taps * r->size));
    if (!buf) {
        r->no_memory = true;
        return;
    }
    for (int64_t b = begin; b < end; b++) {
        int64_t group = b / r->blocks, from = block_start(r, b % r->blocks),
                n = block_start(r, b % r->blocks + 1) - from;
        char *to = r->weights + (group * r->filters + from) * r->taps * r->size;
        for (int64_t o = 0; o < n; o++) {
            read_filter(r, group * r->filters + from + o, buf);
            if (r->size == 4)
                for (int64_t t = 0; t < r->taps; t++) ((float *)to)[t * n + o] = ((float *)buf)[t];
            else
                for (int64_t t = 0; t < r->taps; t++)
                    ((double *)to)[t * n + o] = ((double *)buf)[t];
        }
    }
}

static void pack_bias(run *r) {
    if (!r->bias) {
        memset(r->start, 0, (size_t)(r->k.filters * r->size));
        return;
    }
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)r->bias->dtype);
    gp_load_fn((gp_dtype)r->bias->dtype, r->ct)(r->start, r->bias->data, r->bias->stride[0] * size,
                                                r->k.filters);
}

/* ---- bands ---- */

/* A block's outputs of a band that are not written in place: computed into tmp, then stored row by
 * row. */
static void through_tmp(const run *r, tile_fn fn, const char *x, const char *w, const char *start,
                        char *out, int64_t n, int64_t rows, char *tmp) {
    int64_t osize = (int64_t)gp_dtype_size((gp_dtype)r->out->dtype), width = r->k.out[1],
            plane = r->k.out[0] * width * osize;
    int64_t step = r->flat ? (rows - 1) * r->line + width : width;
    gp_store store = gp_store_fn(r->ct, (gp_dtype)r->out->dtype);
    if (r->flat) fn(r, x, w, start, tmp, step, step);
    for (int64_t y = 0; y < rows; y++) {
        if (!r->flat) fn(r, x + y * r->line * r->size, w, start, tmp, step, width);
        const char *from = r->flat ? tmp + y * r->line * r->size : tmp;
        for (int64_t o = 0; o < n; o++)
            store(out + o * plane + y * width * osize, osize, from + o * step * r->size, width);
    }
}

static void in_place(const run *r, tile_fn fn, const char *x, const char *w, const char *start,
                     char *out, int64_t rows) {
    int64_t width = r->k.out[1], plane = r->k.out[0] * width;
    if (r->line == width) fn(r, x, w, start, out, plane, rows * width);
    else
        for (int64_t y = 0; y < rows; y++)
            fn(r, x + y * r->line * r->size, w, start, out + y * width * r->size, plane, width);
}

static size_t band_bytes(const run *r) {
    return (size_t)(r->channels * r->phases[0] * r->phases[1] * r->lines * r->line * r->size +
                    4 * VB);
}

static void band(const run *r, int64_t unit, char *scratch) {
    int64_t y0 = unit % r->bands * r->rows, group = unit / r->bands % r->k.groups,
            image = unit / r->bands / r->k.groups;
    int64_t rows = least(r->rows, r->k.out[0] - y0),
            osize = (int64_t)gp_dtype_size((gp_dtype)r->out->dtype);
    pack_band(r, image, group, y0, scratch);
    for (int64_t b = 0; b < r->blocks; b++) {
        int64_t f = group * r->filters + block_start(r, b),
                n = block_start(r, b + 1) - block_start(r, b);
        const char *w = r->weights + f * r->taps * r->size, *start = r->start + f * r->size;
        char *out =
            r->out->data + ((image * r->k.filters + f) * r->k.out[0] + y0) * r->k.out[1] * osize;
        tile_fn fn = tiles[r->ct == GP_CT_f64][n - 1];
        if (r->direct) in_place(r, fn, scratch, w, start, out, rows);
        else through_tmp(r, fn, scratch, w, start, out, n, rows, scratch + band_bytes(r));
    }
}

static void run_bands(void *ctx, int64_t begin, int64_t end) {
    run *r = ctx;
    size_t bytes = band_bytes(r) + (r->direct ? 0 : (size_t)(MOST * r->rows * r->line * r->size));
    char *scratch = gp_scratch(GP_SCRATCH_PART, bytes);
    if (!scratch) {
        r->no_memory = true;
        return;
    }
    for (int64_t u = begin; u < end; u++) band(r, u, scratch);
}

/* Bands fill the second-level cache and are enough for the threads. */
static void plan(run *r) {
    const gp_conv *k = &r->k;
    int64_t halo = k->dilation[0] * (k->kernel[0] - 1) / k->stride[0], vector = VB / r->size;
    r->channels = k->channels / k->groups;
    r->filters = k->filters / k->groups;
    r->blocks = (r->filters + MOST - 1) / MOST;
    r->line = k->out[1] + k->dilation[1] * (k->kernel[1] - 1) / k->stride[1];
    int64_t fit =
        BAND_BYTES / (1 + r->channels * r->phases[0] * r->phases[1] * r->line * r->size) - halo;
    int64_t share = ceil_div(k->images * k->groups * k->out[0], 4 * gp_threads());
    if (gp_threads() > 1 && fit > share) fit = share;
    r->rows = least(fit < LEAST_ROWS ? LEAST_ROWS : fit, k->out[0]);
    r->bands = ceil_div(k->out[0], r->rows);
    r->lines = r->rows + halo;
    r->direct =
        r->out->dtype == gp_ctype_dtype[r->ct] && (r->line == k->out[1] || k->out[1] >= 3 * vector);
    r->flat = !r->direct && k->out[1] < 3 * vector;
}

static void convolve(run *r) {
    const gp_conv *k = &r->k;
    int64_t work = r->filters * r->taps * r->rows * r->line;
    pack_bias(r);
    set_offsets(r);
    gp_parallel(k->groups * r->blocks, 1 + UNIT_WORK / 16 / (1 + r->taps * MOST), pack_weights, r);
    if (!r->no_memory)
        gp_parallel(k->images * k->groups * r->bands, 1 + UNIT_WORK / (1 + work), run_bands, r);
}

static bool get_memory(run *r) {
    const gp_conv *k = &r->k;
    r->taps = k->channels / k->groups * k->kernel[0] * k->kernel[1];
    size_t words = (size_t)(r->taps + k->kernel[0] + k->kernel[1]) * sizeof *r->offset,
           weights = (size_t)(k->filters * r->taps * r->size);
    char *memory = gp_scratch(GP_SCRATCH_CALL, words + weights + (size_t)(k->filters * r->size));
    if (!memory) return false;
    r->offset = (int64_t *)memory;
    r->phase[0] = r->offset + r->taps;
    r->phase[1] = r->phase[0] + k->kernel[0];
    r->weights = memory + words;
    r->start = r->weights + weights;
    return true;
}

bool CPU(conv2d)(const gp_call *c) {
    run r = {.x = gp_in(c, 0), .w = gp_in(c, 1), .bias = gp_in(c, 2), .out = gp_out(c, 0)};
    if (r.out->numel == 0) return true;
    if (!gp_conv_read(c, r.x, r.w, &r.k)) return false;
    r.ct = gp_compute_type((gp_dtype)r.x->dtype);
    r.size = gp_ctype_size[r.ct];
    if (!get_memory(&r)) return gp_fail("conv2d: out of memory");
    set_phases(&r);
    plan(&r);
    convolve(&r);
    return !r.no_memory || gp_fail("conv2d: out of memory");
}
