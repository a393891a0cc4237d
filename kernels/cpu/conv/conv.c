/* Convolutions and their input gradients (transposed convolutions): one correlation, run on bands
 * of output rows. A band's input is packed with its padding (pack.c), so that every tap of the
 * kernel is a shift; a register tile of several filters by several vectors of outputs then runs
 * over the taps. Integers are computed in i64 and truncated to their width at the end: they wrap.
 * One long row in place of a band's rows is worth 1.2 to 3.1, at 64 to 64 channels of 56x56 and at
 * 512 to 512 of 7x7; rounding bf16 in the tiles 2.4 at 1 to 32 of 28x28 (one thread of an Emerald
 * Rapids with AVX-512). */
#include <string.h>

#include "kernels/cpu/conv/job.h"
#include "kernels/cpu/matmul/packed.h"
#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/runtime/widen.h"

enum { BAND_BYTES = 448 << 10, LONG_BYTES = 2 << 20, TILE_BYTES = 24 << 10 };
enum { LEAST_ROWS = 8, UNIT_WORK = 1 << 18 };
#if defined(__AVX512F__)
enum { REGISTERS = 32 };
#else
enum { REGISTERS = 16 };
#endif

/* ---- tiles ---- */

/* y[o][0 … len) = start[o] + sum over taps of w[tap][o] * x[offset[tap] + …], where a `start` of
 * NULL stands for y itself, which then has the type of sums; reads whole vectors of x, up to four
 * past len. With a fold, which needs a start, rows of y have no gaps. */
typedef void (*tile_fn)(const int64_t *offset, int64_t taps, const void *x, const void *w,
                        const void *start, void *y, int64_t ystep, int64_t len, gp_row_fold f);

#define VECTOR(T, t)                                                                               \
    typedef T vec_##t __attribute__((vector_size(GP_VB), aligned(sizeof(T)), may_alias));
VECTOR(float, f32)
VECTOR(double, f64)
VECTOR(int64_t, i64)
typedef vec_f32 vec_bf16; /* sums, which are rounded as they are stored */

#define EACH_O _Pragma("GCC unroll 12") for (int o = 0; o < O; o++)
#define EACH_V _Pragma("GCC unroll 4") for (int v = 0; v < V; v++)
#define SUMS(y, sum) EACH_V *(vec *)((y) + v * L) = (sum)[v]
#define ROUNDED(y, sum)                                                                            \
    _Pragma("GCC unroll 2") for (int v = 0; v < V; v += 2)                                         \
        gp_store_rounded((y) + v * L, (gp_wide)(sum)[v], (gp_wide)(sum)[v + 1])
#define PLUS(sum, x, w) (sum) + (x) * (w)
/* The tile function of one type for R filters by V vectors. */
#define TILE(t, R, V)                                                                              \
    static TARGET void tile_##t##_##R(const int64_t *offset, int64_t taps, const void *x,          \
                                      const void *w, const void *start, void *y, int64_t ystep,    \
                                      int64_t len, gp_row_fold f) {                                \
        tile_##t(R, V, offset, taps, x, w, start, y, ystep, len, f);                               \
    }
/* All of one type: as many filters as registers hold; THREE: vectors for three filters. */
#define FEW_TILES(t, THREE)                                                                        \
    TILE(t, 1, 4)                                                                                  \
    TILE(t, 2, 4) TILE(t, 3, THREE) TILE(t, 4, 2) TILE(t, 5, 2) TILE(t, 6, 2)
#define FEW_NAMES(t)                                                                               \
    tile_##t##_1, tile_##t##_2, tile_##t##_3, tile_##t##_4, tile_##t##_5, tile_##t##_6
#ifdef __AVX512F__
enum { THREE = 4 };
#define TILES(t, THREE)                                                                            \
    FEW_TILES(t, THREE)                                                                            \
    TILE(t, 7, 2)                                                                                  \
    TILE(t, 8, 2) TILE(t, 9, 2) TILE(t, 10, 2) TILE(t, 11, 2) TILE(t, 12, 2)
#define NAMES(t)                                                                                   \
    {                                                                                              \
        FEW_NAMES(t), tile_##t##_7, tile_##t##_8, tile_##t##_9, tile_##t##_10, tile_##t##_11,      \
            tile_##t##_12                                                                          \
    }
#else
enum { THREE = 3 };
#define TILES FEW_TILES
#define NAMES(t)                                                                                   \
    { FEW_NAMES(t) }
#endif
#define TARGET
#define T float
#define t f32
#define W float
#define Y float
#define PUT SUMS
#define ADD PLUS
#include "kernels/cpu/conv/tile.inc"
TILES(f32, THREE)
#define T float
#define t bf16
#define W float
#define Y uint16_t
#define PUT ROUNDED
#define ADD PLUS
#include "kernels/cpu/conv/tile.inc"
TILES(bf16, 4) /* an even number: vectors are put in pairs */
#define T double
#define t f64
#define W double
#define Y double
#define PUT SUMS
#define ADD PLUS
#include "kernels/cpu/conv/tile.inc"
TILES(f64, THREE)
#define T int64_t
#define t i64
#define W int64_t
#define Y int64_t
#define PUT SUMS
#define ADD PLUS
#include "kernels/cpu/conv/tile.inc"
TILES(i64, THREE)
#undef TARGET
static const tile_fn tiles[GP_CTYPES][GP_CONV_FILTERS] = {
    [GP_CT_f32] = NAMES(f32), [GP_CT_f64] = NAMES(f64), [GP_CT_i64] = NAMES(i64)};
static const tile_fn rounded_tiles[GP_CONV_FILTERS] = NAMES(bf16);
#if GP_PAIRS
typedef vec_f32 vec_pairs;
#define FOLDED_pairs FOLDED_f32
#define TARGET __attribute__((target("avx512bf16")))
#define T float
#define t pairs
#define W uint32_t
#define Y float
#define PUT SUMS
#define ADD(sum, x, w)                                                                             \
    (vec_f32) _mm512_dpbf16_ps((__m512)(sum), (__m512bh)(x), (__m512bh)_mm512_set1_epi32((int)(w)))
#include "kernels/cpu/conv/tile.inc"
TILES(pairs, THREE)
static const tile_fn pair_tiles[GP_CONV_FILTERS] = NAMES(pairs);
#else
#define pair_tiles tiles[GP_CT_f32]
#endif

static const tile_fn *tiles_for(const conv_job *r) {
    bool rounds = r->direct && r->out->dtype == GP_bf16;
    return r->in.pairs ? pair_tiles : rounds ? rounded_tiles : tiles[r->in.ct];
}

/* ---- bands ---- */

/* A block of filters on a band: its packed input, the block's weights and start, its first output,
 * and the numbers of filters, rows and columns. */
typedef struct part {
    tile_fn fn;
    const char *x, *w, *start;
    char *out;
    int64_t n, rows, columns;
} part;

static int64_t most_filters(const conv_job *r) {
    return r->in.amx ? GP_CONV_AMX_FILTERS : GP_CONV_FILTERS;
}

static void tile(const conv_job *r, const part *p, int64_t row, char *y, int64_t ystep,
                 int64_t len) {
    const char *x = p->x + row * r->in.line * r->in.size;
    if (r->in.amx) {
        gp_conv_amx_tile(&r->amx, p->n, x, p->w, (const float *)(const void *)p->start, y, ystep,
                         len);
        return;
    }
    int64_t tap = 0; /* there may be none: y is its start */
    do {
        p->fn(r->offset + tap, gp_min(r->part_taps, r->taps - tap), x, p->w + tap * p->n * r->word,
              tap ? NULL : p->start, y, ystep, len, r->fold);
        tap += r->part_taps;
    } while (tap < r->taps);
}

/* Rows of outputs that are computed before they are stored: about TMP of each filter, and equal
 * parts of a band. */
static int64_t tmp_rows(const conv_job *r) {
    enum { TMP = 2048, AMX_BYTES = 32 << 10 };
    int64_t fit = AMX_BYTES / 4 / gp_min(r->filters, GP_CONV_AMX_FILTERS);
    int64_t most = gp_max(gp_min((r->in.amx ? gp_min(fit, TMP) : TMP) / r->in.line, r->rows), 1);
    return gp_ceil_div(r->rows, gp_ceil_div(r->rows, most));
}

/* Stores n rows of filter o, `line` elements apart in `from`. */
static void store_rows(const conv_job *r, const part *p, const char *from, int64_t line, char *to,
                       int64_t n) {
    gp_dtype dt = (gp_dtype)r->out->dtype;
    int64_t size = (int64_t)gp_dtype_size(dt), step = r->in.axis[2].step * size,
            down = r->in.axis[1].step * r->size[2] * size;
    gp_store store = r->in.pairs ? gp_pairs_store_fn(true, dt) : gp_store_fn(r->in.ct, dt);
    if (line == p->columns && down == line * step) {
        store(to, step, from, n * line);
        return;
    }
    for (int64_t y = 0; y < n; y++)
        store(to + y * down, step, from + y * line * r->word, p->columns);
}

/* For outputs that are not written in place: computed into tmp, then stored row by row. */
static void through_tmp(const conv_job *r, const part *p, char *tmp) {
    int64_t osize = (int64_t)gp_dtype_size((gp_dtype)r->out->dtype), size = r->word,
            plane = r->size[0] * r->size[1] * r->size[2] * osize,
            down = r->in.axis[1].step * r->size[2] * osize, each = tmp_rows(r);
    bool joined = r->flat || r->in.line == p->columns;
    int64_t line = joined ? r->in.line : p->columns, step = each * line;
    for (int64_t y = 0; y < p->rows; y += each) {
        int64_t n = gp_min(each, p->rows - y);
        if (joined) tile(r, p, y, tmp, step, (n - 1) * line + p->columns);
        for (int64_t i = 0; !joined && i < n; i++)
            tile(r, p, y + i, tmp + i * line * size, step, line);
        for (int64_t o = 0; o < p->n; o++)
            store_rows(r, p, tmp + o * step * size, line, p->out + o * plane + y * down, n);
    }
}

static void in_place(const conv_job *r, const part *p) {
    int64_t width = r->size[2], plane = r->size[0] * r->size[1] * width,
            size = (int64_t)gp_dtype_size((gp_dtype)r->out->dtype);
    if (r->flat) {
        tile(r, p, 0, p->out, plane, (p->rows - 1) * r->in.line + width);
        return;
    }
    if (r->in.line == width && r->stretches == 1 && r->in.axis[1].step == 1) {
        tile(r, p, 0, p->out, plane, p->rows * width);
        return;
    }
    for (int64_t y = 0; y < p->rows; y++)
        tile(r, p, y, p->out + y * r->in.axis[1].step * width * size, plane, p->columns);
}

/* The first output of filter f in row y of plane z. */
static char *output_at(const conv_job *r, int64_t image, int64_t f, int64_t z, int64_t y) {
    const gp_axis *a = r->in.axis;
    int64_t plane = (image * r->groups * r->filters + f) * r->size[0] + a[0].first + z * a[0].step,
            row = plane * r->size[1] + a[1].first + y * a[1].step;
    return r->out->data +
           (row * r->size[2] + a[2].first) * (int64_t)gp_dtype_size((gp_dtype)r->out->dtype);
}

/* All filters of a group on a band of `rows` by `columns` outputs. */
static void gathered(const conv_job *r, int64_t group, int64_t rows, int64_t columns, const char *x,
                     char *out) {
    int64_t size = (int64_t)gp_dtype_size(GP_bf16), row = r->size[2] * size;
    gp_conv_rows to = {.x = x,
                       .w = gp_conv_weights(r, group, 0),
                       .start = (const float *)(const void *)r->start + group * r->filters,
                       .out = out,
                       .rows = rows,
                       .columns = columns,
                       .line = r->in.line,
                       .plane = r->size[0] * r->size[1] * row,
                       .down = r->in.axis[1].step * row,
                       .step = r->in.axis[2].step * size};
    gp_conv_amx_gather(&r->gather, &to);
}

static void band(const conv_job *r, int64_t unit, char *scratch) {
    gp_band in = r->in;
    gp_axis *cols = &in.axis[2];
    int64_t from = unit % r->stretches * cols->n, width = gp_min(cols->n, r->columns - from);
    unit /= r->stretches;
    cols->base += from * cols->stride;
    int64_t planes = in.axis[0].n, y = unit % r->bands * r->rows, z = unit / r->bands % planes,
            group = unit / r->bands / planes % r->groups,
            image = unit / r->bands / planes / r->groups;
    int64_t right = from * cols->step * (int64_t)gp_dtype_size((gp_dtype)r->out->dtype);
    gp_band_pack(&in, image, group * r->channels, r->channels, z, y, scratch);
    if (r->gathers) {
        gathered(r, group, gp_min(r->rows, in.axis[1].n - y), width, scratch,
                 output_at(r, image, group * r->filters, z, y) + right);
        return;
    }
    for (int64_t b = 0; b < r->blocks; b++) {
        int64_t f = group * r->filters + gp_conv_filter(r, b);
        part p = {.x = scratch,
                  .w = gp_conv_weights(r, group, b),
                  .start = r->start + f * r->word,
                  .out = output_at(r, image, f, z, y) + right,
                  .n = gp_conv_filter(r, b + 1) - gp_conv_filter(r, b),
                  .rows = gp_min(r->rows, in.axis[1].n - y),
                  .columns = width};
        if (!r->in.amx) p.fn = tiles_for(r)[p.n - 1];
        if (r->direct) in_place(r, &p);
        else through_tmp(r, &p, scratch + gp_band_bytes(&r->in, r->channels));
    }
}

static void run_bands(void *ctx, int64_t begin, int64_t end) {
    conv_job *r = ctx;
    size_t tmp = r->direct || r->gathers
                     ? 0
                     : (size_t)(most_filters(r) * tmp_rows(r) * r->in.line * r->word);
    /* After shared zeros, four vectors may be read, too. */
    char *scratch = gp_scratch(GP_SCRATCH_PART, gp_band_bytes(&r->in, r->channels) + GP_VB + tmp);
    if (!scratch) {
        r->no_memory = true;
        return;
    }
    for (int64_t u = begin; u < end; u++) band(r, u, scratch);
}

/* Many channels are added in parts whose weights and input lines stay in the first-level cache
 * from one step of a tile to the next. */
static int64_t parts_of(const conv_job *r) {
    const gp_axis *a = r->in.axis;
    int64_t depth = gp_max(gp_band_depth(&r->in, r->channels), 1), each = r->taps / depth,
            lines = a[0].taps * (a[1].reach + 1) * r->in.axis[2].phases,
            step = gp_min(r->in.line * r->in.size, 4 * GP_VB),
            bytes = each * gp_min(r->filters, GP_CONV_FILTERS) * r->in.size + lines * step;
    return gp_max(gp_min(gp_ceil_div(depth * bytes, TILE_BYTES), depth), 1);
}

/* Computes rows one by one unless that wastes more of the vectors than the columns between rows
 * would. A vector of a fold has parts of at most two rows. bf16 is rounded as it is written, unless
 * sums are added in parts. */
static void choose_tiling(conv_job *r) {
    int64_t width = r->in.axis[2].n, line = r->in.line, lanes = GP_VB / r->in.size,
            parts = parts_of(r), depth = gp_max(gp_band_depth(&r->in, r->channels), 1);
    int64_t step = lanes * (r->filters > 3 ? 2 : 4), alone = (width + step - 1) / step * step;
    bool same = r->out->dtype == gp_ctype_dtype[r->in.ct],
         rounds = r->out->dtype == GP_bf16 && r->in.ct == GP_CT_f32 && !r->in.pairs && parts == 1,
         plain = (same || rounds) && !r->in.amx && r->in.axis[2].step == 1,
         folds = FOLDS && line >= lanes && r->size[2] == width && r->in.axis[1].step == 1;
    r->flat =
        r->stretches == 1 && line != width && line * 21 < alone * (rounds && !FOLDS ? 17 : 20);
    r->direct = plain && (!r->flat || folds);
    r->fold = r->flat && r->direct ? (gp_row_fold){line, width} : (gp_row_fold){0};
    if (r->fold.line) parts = 1;
    r->part_taps = gp_max(gp_ceil_div(depth, parts) * (r->taps / depth), 1);
}

/* Shares the zeros after a row's last column with those before the next one's first, up to a
 * vector. After a plane comes the next plane's padding, and after the last plane zeros. A row has
 * space for its outputs, of which a kernel smaller than its padding makes more. */
static void share_padding(gp_band *b) {
    const gp_axis *a = &b->axis[2];
    int64_t before = -a->base, behind = a->base + b->line - a->in,
            most = gp_min(GP_VB / b->size, b->line - a->n);
    if (a->stride == 1) b->line -= gp_max(0, gp_min(most, gp_min(before, behind)));
}

/* Splits a band into stretches of rows that are too long for a cache. */
static void choose_stretches(conv_job *r) {
    gp_axis *a = &r->in.axis[2];
    int64_t bytes = (int64_t)gp_band_bytes(&r->in, r->channels), fit = a->n;
    r->columns = a->n;
    if (bytes > LONG_BYTES)
        fit = gp_max((int64_t)((double)a->n * BAND_BYTES / (double)bytes), 8 * a->reach + 64);
    r->stretches = gp_ceil_div(a->n, gp_min(fit, a->n));
    a->n = gp_ceil_div(a->n, r->stretches);
    r->stretches = gp_ceil_div(r->columns, a->n);
}

static void choose_gather(conv_job *r) {
    gp_conv_gather_init(&r->gather, r->offset, r->taps, r->filters);
    r->taps_packed = r->gather.blocks * r->gather.pairs;
    r->blocks = r->gather.tiles;
}

/* Bands fit the second-level cache and are enough for the threads. */
static void plan(conv_job *r) {
    const gp_axis *a = r->in.axis;
    r->depth = gp_band_depth(&r->in, r->channels);
    r->taps = r->taps_packed = r->depth * gp_conv_taps(r);
    r->blocks = gp_ceil_div(r->filters, most_filters(r));
    if (r->gathers) choose_gather(r);
    gp_band_rows(&r->in, 1);
    int64_t row =
        gp_band_depth(&r->in, r->channels) * gp_band_planes(&r->in) * r->in.line * r->in.size;
    int64_t fit = BAND_BYTES / (1 + row) - a[1].reach;
    int64_t share = gp_ceil_div(r->images * r->groups * a[0].n * a[1].n, 4 * gp_threads());
    if (gp_threads() > 1 && fit > share) fit = share;
    r->rows = gp_min(fit < LEAST_ROWS ? LEAST_ROWS : fit, a[1].n);
    r->bands = gp_ceil_div(a[1].n, r->rows);
    r->rows = gp_ceil_div(a[1].n, r->bands);
    gp_band_rows(&r->in, r->rows);
    choose_stretches(r);
    gp_band_rows(&r->in, r->rows);
    if (r->stretches == 1) share_padding(&r->in);
    choose_tiling(r);
}

static void choose_amx(conv_job *r) {
    r->amx = (gp_conv_amx){.offset = r->offset,
                           .taps = gp_conv_taps(r),
                           .channel_step = gp_band_planes(&r->in) * r->in.lines * r->in.line};
    gp_conv_amx_blocks(&r->amx, r->depth);
}

/* Returns false when interrupted. */
static bool correlate(const gp_call *c, conv_job *r) {
    const gp_axis *a = r->in.axis;
    if (a[0].n * a[1].n * a[2].n == 0) return true;
    plan(r);
    gp_band_offsets(&r->in, r->channels, r->offset);
    if (r->in.amx) choose_amx(r);
    int64_t work = r->filters * r->taps * r->rows * r->in.line;
    gp_parallel(r->groups * r->blocks, 1 + UNIT_WORK / 16 / (1 + r->taps * GP_CONV_FILTERS),
                gp_conv_pack_weights, r);
    int64_t units = r->images * r->groups * a[0].n * r->bands * r->stretches;
    return gp_parallel_op(c, units, 1 + UNIT_WORK / (1 + work), run_bands, r);
}

/* ---- calls ---- */

/* Two channels at a time are multiplied (of one, half of a pair would be zeros), or two taps. */
static void choose_pairs(conv_job *r, const gp_array *w, const gp_conv *k) {
    int64_t taps = k->kernel[0] * k->kernel[1] * k->kernel[2];
    bool halves = r->in.dtype == GP_bf16 && w->dtype == GP_bf16, amx = halves && gp_has_amx();
    gp_conv_way way = amx ? gp_conv_amx_way(r->channels, taps, r->filters) : GP_CONV_IN_F32;
    r->word = gp_ctype_size[r->in.ct];
    r->gathers = way == GP_CONV_GATHERS;
    r->in.amx = way == GP_CONV_CHANNELS;
    r->in.pairs = r->in.amx || (halves && !amx && r->channels > 1 && gp_has_pairs());
    if (r->gathers) gp_band_as_is(&r->in);
}

static bool forward(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *w = gp_in(c, 1);
    conv_job r = {.bias = gp_in(c, 2), .out = gp_out(c, 0)};
    gp_shape xs = gp_array_shape(x), ws = gp_array_shape(w);
    gp_conv k;
    if (r.out->numel == 0) return true;
    if (!gp_conv_read(c, &xs, &ws, &k) || !gp_prefault_outputs(c)) return false;
    gp_band_source(&r.in, x, &k);
    r.images = k.images;
    r.groups = k.groups;
    r.channels = k.channels / k.groups;
    r.filters = k.filters / k.groups;
    choose_pairs(&r, w, &k);
    if (!gp_conv_get_memory(&r, w, &k)) return gp_fail("%s: out of memory", c->op->name);
    for (int d = 0; d < GP_SPATIAL; d++) {
        r.in.axis[d] = gp_axis_forward(&k, d);
        r.size[d] = k.out[d];
    }
    gp_conv_pack_bias(&r);
    if (!correlate(c, &r)) return false;
    return !r.no_memory || gp_fail("%s: out of memory", c->op->name);
}

/* Each remainder of the positions modulo the strides is a correlation of its own, with the taps
 * that reach it. */
static bool every_phase(const gp_call *c, conv_job *r, const gp_conv *k) {
    int64_t phases = k->stride[0] * k->stride[1] * k->stride[2];
    for (int64_t p = 0; p < phases; p++) {
        int64_t rest = p;
        for (int d = GP_SPATIAL - 1; d >= 0; d--) {
            r->in.axis[d] = gp_axis_backward(k, d, rest % k->stride[d]);
            rest /= k->stride[d];
        }
        if (!correlate(c, r)) return false;
    }
    return true;
}

/* x has the shape of the convolution's results. */
static bool backward(const gp_call *c, const gp_array *x, const gp_array *bias, const gp_conv *k) {
    const gp_array *w = gp_in(c, 1);
    conv_job r = {.bias = bias, .out = gp_out(c, 0)};
    if (r.out->numel == 0) return true;
    if (!gp_prefault_outputs(c)) return false;
    gp_band_source(&r.in, x, k);
    r.images = k->images;
    r.groups = k->groups;
    r.channels = k->filters / k->groups;
    r.filters = k->channels / k->groups;
    choose_pairs(&r, w, k);
    if (!gp_conv_get_memory(&r, w, k)) return gp_fail("%s: out of memory", c->op->name);
    int64_t across = r.w_filter;
    r.w_filter = r.w_channel;
    r.w_channel = across;
    memcpy(r.size, k->in, sizeof r.size);
    gp_conv_pack_bias(&r);
    if (!every_phase(c, &r, k)) return false;
    return !r.no_memory || gp_fail("%s: out of memory", c->op->name);
}

static bool transposed(const gp_call *c) {
    const gp_array *x = gp_in(c, 0);
    gp_shape xs = gp_array_shape(x), ws = gp_array_shape(gp_in(c, 1));
    gp_conv k;
    return gp_conv_transpose_read(c, &xs, &ws, &k) && backward(c, x, gp_in(c, 2), &k);
}

bool CPU(conv_input_grad)(const gp_call *c) {
    gp_shape xs = gp_ints_shape(c, 2), ws = gp_array_shape(gp_in(c, 1));
    gp_conv k;
    return gp_conv_read(c, &xs, &ws, &k) && backward(c, gp_in(c, 0), NULL, &k);
}

bool CPU(conv1d)(const gp_call *c) { return forward(c); }
bool CPU(conv2d)(const gp_call *c) { return forward(c); }
bool CPU(conv3d)(const gp_call *c) { return forward(c); }
bool CPU(conv_transpose1d)(const gp_call *c) { return transposed(c); }
bool CPU(conv_transpose2d)(const gp_call *c) { return transposed(c); }
bool CPU(conv_transpose3d)(const gp_call *c) { return transposed(c); }
