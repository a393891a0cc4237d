/* Weight gradients of convolutions: dot products of the incoming gradient with the image shifted by
 * each tap. A register tile of several filters by several taps runs over a band of rows, whose
 * image is packed as for the convolution itself. A band as one long row is worth 1.26 at 64 to 64
 * channels of 56x56 and 1.7 at 512 to 512 of 7x7; reading gradients where they are 1.17 at 10 to 10
 * of 256x256 (one thread of an Emerald Rapids with AVX-512). */
#include <string.h>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "kernels/cpu/conv/conv.h"
#include "kernels/cpu/matmul/amx.h"
#include "kernels/cpu/runtime/scratch.h"

/* The most filters of a tile and, by their number, its taps: what fits in the registers with a
 * vector of each filter. A band has about BAND_OUTPUTS outputs of a channel, of one or of several
 * images, whatever the number of threads: it fixes the order of the sums, and so the bits. Its
 * image fits the second-level cache. */
#if defined(__AVX512F__)
enum { MOST = 5, MOST_TAPS = 5, BAND_OUTPUTS = 2048 };
enum { TAPS_1 = 5, TAPS_2 = 5, TAPS_3 = 5, TAPS_4 = 5, TAPS_5 = 5 };
static const int tile_taps[MOST] = {TAPS_1, TAPS_2, TAPS_3, TAPS_4, TAPS_5};
#else
enum { MOST = 3, MOST_TAPS = 6, BAND_OUTPUTS = 4096 };
enum { TAPS_1 = 6, TAPS_2 = 6, TAPS_3 = 4 };
static const int tile_taps[MOST] = {TAPS_1, TAPS_2, TAPS_3};
#endif
enum { BAND_BYTES = 512 << 10 };

typedef struct weight_grad_job {
    gp_band in, grad; /* grad: consecutive rows, no taps */
    const gp_array *out;
    int64_t images, groups, channels, filters; /* channels and filters: per group */
    int64_t taps, *offset;                     /* of one channel's taps; of a unit's channels */
    int64_t rows, batch;                       /* output rows of a band; adjacent images in it */
    bool in_place;                             /* gradients are read where they are */
    int64_t grad_image;                        /* packed gradients: maximum elements per image */
    bool amx;                                  /* bf16 in tiles of AMX */
    bool gathers;                              /* whose rows are the taps of all channels */
    int64_t channel_units, filter_units;       /* units that a group is divided into */
    _Atomic bool no_memory;
} weight_grad_job;

/* ---- tiles ---- */

/* sum[f * step + t] += sum over images, rows and columns of g[f] * x[offset[t] + …]. Strides in
 * elements: line for rows of x, image for its images; pitch for rows of g, rows * pitch for its
 * images, plane for its filters. g is 0 past width, up to whole vectors. */
typedef struct patch {
    const void *x, *g;
    int64_t line, image, pitch, plane, images, rows, width;
} patch;
typedef void (*dot_fn)(const patch *p, const int64_t *offset, double *sum, int64_t step);

#define VECTOR(T, t, I, i)                                                                         \
    typedef T vec_##t __attribute__((vector_size(GP_VB), aligned(sizeof(T)), may_alias));          \
    typedef I vec_##i __attribute__((vector_size(GP_VB), may_alias));
VECTOR(float, f32, int32_t, i32)
VECTOR(double, f64, int64_t, i64)

/* Sums a vector's lanes, by halves. */
#define SUM_LANES(T, t)                                                                            \
    static inline __attribute__((always_inline)) T lanes_##t(vec_##t v) {                          \
        enum { L = GP_VB / sizeof(T) };                                                            \
        T sum[L];                                                                                  \
        memcpy(sum, &v, sizeof v);                                                                 \
        _Pragma("GCC unroll 4") for (int h = L / 2; h > 0; h /= 2)                                 \
            _Pragma("GCC unroll 8") for (int l = 0; l < h; l++) sum[l] += sum[l + h];              \
        return sum[0];                                                                             \
    }
SUM_LANES(float, f32)
SUM_LANES(double, f64)

#define EACH_F _Pragma("GCC unroll 5") for (int f = 0; f < F; f++)
#define EACH_T _Pragma("GCC unroll 6") for (int t = 0; t < N; t++)
/* Loads v into a register: as an operand of two products it would be loaded by each. */
#if defined(__x86_64__) && !defined(__AVX512F__)
#define KEEP(v) __asm__("" : "+x"(v))
#else
#define KEEP(v) (void)0
#endif
#define PLUS(sum, g, x) (sum) + (g) * (x)
/* The functions of one type, for 1 to MOST filters, for its table. */
#define DOT(t, F)                                                                                  \
    static TARGET void dot_##t##_##F(const patch *p, const int64_t *offset, double *sum,           \
                                     int64_t step) {                                               \
        dot_##t(F, TAPS_##F, p, offset, sum, step);                                                \
    }
#define NAME(t, F) dot_##t##_##F,
#ifdef __AVX512F__
#define EACH(M, t) M(t, 1) M(t, 2) M(t, 3) M(t, 4) M(t, 5)
#else
#define EACH(M, t) M(t, 1) M(t, 2) M(t, 3)
#endif
#define NAMES(t)                                                                                   \
    { EACH(NAME, t) }
#define TARGET
#define T float
#define t_ f32
#define I int32_t
#define i_ i32
#define SUM vec_f32
#define LANES lanes_f32
#define ADD PLUS
#include "kernels/cpu/conv/dot.inc"
EACH(DOT, f32)
#define T double
#define t_ f64
#define I int64_t
#define i_ i64
#define SUM vec_f64
#define LANES lanes_f64
#define ADD PLUS
#include "kernels/cpu/conv/dot.inc"
EACH(DOT, f64)
#undef TARGET
#if GP_PAIRS
VECTOR(uint16_t, pairs, int16_t, i16)
#define TARGET __attribute__((target("avx512bf16")))
#define T uint16_t
#define t_ pairs
#define I int16_t
#define i_ i16
#define SUM vec_f32
#define LANES lanes_f32
#define ADD(sum, g, x) (vec_f32) _mm512_dpbf16_ps((__m512)(sum), (__m512bh)(g), (__m512bh)(x))
#include "kernels/cpu/conv/dot.inc"
EACH(DOT, pairs)
#define PAIRS NAMES(pairs)
#else
#define PAIRS                                                                                      \
    { NULL }
#endif
/* By type: f32, f64, bf16 in pairs of adjacent outputs. */
static const dot_fn dots[3][MOST] = {NAMES(f32), NAMES(f64), PAIRS};

/* ---- a unit: some channels by some filters of a group, over all images ---- */

/* sums are filters x padded, padded being the unit's taps plus MOST_TAPS, so that tiles may
 * extend past the end. */
typedef struct unit {
    int64_t group, channel, channels, filter, filters, taps, padded;
    const int64_t *offset; /* of the taps; the last one is repeated for the excess */
    char *x, *g, *tiles;   /* packed images, gradients; for AMX, pairs of gradients */
    char *taps_x;          /* images shifted by each tap, of one that gathers */
    double *sum;
} unit;

/* Rows of one plane of several images. */
typedef struct part {
    int64_t image, images, z, y, rows;
    int64_t pitch, image_size; /* packed gradients: elements of a row, of an image */
} part;

/* Bytes of the packed rows of n channels of an image. */
static int64_t image_bytes(const weight_grad_job *r, int64_t n) {
    return gp_whole_lines((int64_t)gp_band_bytes(&r->in, n));
}

/* The part's first gradient of a filter. */
static const char *grad_at(const weight_grad_job *r, const unit *u, const part *p, int64_t filter) {
    const gp_band *b = &r->grad;
    return b->data + p->image * b->image_step + p->z * b->step[0] + p->y * b->step[1] +
           (u->group * r->filters + filter) * b->channel_step;
}

/* Rows y … of planes z of n filters of the part's images: [filter][image][row][pitch], each image
 * padded with zeros to `image` elements. */
static void pack_grad(const weight_grad_job *r, const unit *u, const part *p, int64_t filter,
                      int64_t n) {
    const gp_band *b = &r->grad;
    int64_t width = r->in.axis[2].n, size = b->size, gap = (p->pitch - width) * size,
            rest = (p->image_size - p->rows * p->pitch) * size;
    char *dst = u->g;
    for (int64_t f = 0; f < n; f++)
        for (int64_t i = 0; i < p->images; i++) {
            const char *src = grad_at(r, u, p, filter + f) + i * b->image_step;
            for (int64_t l = 0; l < p->rows; l++, src += b->step[1], dst += p->pitch * size) {
                b->load(dst, src, b->step[2], width);
                memset(dst + width * size, 0, (size_t)gap);
            }
            memset(dst, 0, (size_t)rest);
            dst += rest;
        }
}

#define FINITE(T, t)                                                                               \
    static bool finite_##t(const T *x, int64_t n) {                                                \
        T lane[GP_VB / sizeof(T)] = {0};                                                           \
        const int64_t L = GP_VB / sizeof(T);                                                       \
        for (int64_t i = 0; i + L <= n; i += L)                                                    \
            for (int64_t l = 0; l < L; l++) lane[l] += x[i + l] * 0;                               \
        for (int64_t i = n / L * L; i < n; i++) lane[0] += x[i] * 0;                               \
        for (int64_t l = 0; l < L; l++)                                                            \
            if (lane[l] != 0) return false;                                                        \
        return true;                                                                               \
    }
FINITE(float, f32)
FINITE(double, f64)

static bool finite_bf16(const uint16_t *x, int64_t n) {
    uint16_t lost = 0;
    for (int64_t i = 0; i < n; i++) lost |= (x[i] & 0x7f80) == 0x7f80;
    return !lost;
}

static bool is_finite(const gp_band *b, const char *x, int64_t n) {
    if (b->size == 2) return finite_bf16((const uint16_t *)(const void *)x, n);
    return b->ct == GP_CT_f32 ? finite_f32((const float *)(const void *)x, n)
                              : finite_f64((const double *)(const void *)x, n);
}

/* Packs the part's image. Where it is all finite and gradients are packed, a band is one long row:
 * they are 0 between its rows. */
static patch pack_image(const weight_grad_job *r, const unit *u, part *p) {
    int64_t bytes = image_bytes(r, u->channels), vector = GP_VB / r->in.size,
            width = r->in.axis[2].n, n = ((int64_t)gp_band_bytes(&r->in, u->channels)) / r->in.size;
    bool finite = !r->in_place;
    for (int64_t i = 0; i < p->images; i++) {
        char *x = u->x + i * bytes;
        gp_band_pack(&r->in, p->image + i, u->group * r->channels + u->channel, u->channels, p->z,
                     p->y, x);
        finite = finite && is_finite(&r->in, x, n);
    }
    int64_t all = gp_ceil_div((p->rows - 1) * r->in.line + width, vector) * vector;
    p->pitch = finite ? r->in.line : gp_ceil_div(width, vector) * vector;
    p->image_size = finite ? gp_max(all, p->rows * r->in.line) : p->rows * p->pitch;
    if (r->in_place)
        return (patch){.x = u->x,
                       .line = r->in.line,
                       .pitch = r->grad.step[1] / r->in.size,
                       .plane = r->grad.channel_step / r->in.size,
                       .images = 1,
                       .rows = p->rows,
                       .width = width};
    return (patch){.x = u->x,
                   .g = u->g,
                   .line = r->in.line,
                   .image = bytes / r->in.size,
                   .pitch = finite ? p->image_size : p->pitch,
                   .plane = p->images * p->image_size,
                   .images = p->images,
                   .rows = finite ? 1 : p->rows,
                   .width = finite ? all : width};
}

/* Elements of a channel's packed image. */
static int64_t positions(const weight_grad_job *r) {
    return gp_band_planes(&r->in) * r->in.lines * r->in.line;
}

/* Elements of a tap's part of an image: whole cache lines, an odd number of them, so that tiles'
 * rows fall into different sets. */
static int64_t tap_size(int64_t n) { return (n / 32 | 1) * 32 + 32; }

/* The images shifted by each tap, which then count as channels of one tap: few channels fill tiles
 * badly. */
static void gather_taps(const unit *u, gp_conv_amx_dot *d) {
    static const int64_t none;
    int64_t n = (d->rows - 1) * d->line + d->width, size = tap_size(n);
    uint16_t *to = (uint16_t *)(void *)u->taps_x;
    for (int64_t i = 0; i < d->images; i++)
        for (int64_t t = 0; t < u->taps; t++, to += size)
            memcpy(to, d->x + i * d->image + u->offset[t], (size_t)n * 2);
    d->x = (const uint16_t *)(const void *)u->taps_x;
    d->offset = &none;
    d->channels = u->taps;
    d->taps = 1;
    d->positions = size;
    d->image = u->taps * size;
}

/* Adds the part's products to the unit's sums. */
static void one_band_amx(const weight_grad_job *r, const unit *u, part *part) {
    int64_t blocks = gp_ceil_div(u->filters, GP_CONV_AMX_FILTERS);
    patch p = pack_image(r, u, part);
    gp_conv_amx_dot d = {.x = p.x,
                         .g = u->tiles,
                         .offset = u->offset,
                         .channels = u->channels,
                         .taps = r->taps,
                         .positions = positions(r),
                         .line = p.line,
                         .image = p.image,
                         .pitch = p.pitch,
                         .images = p.images,
                         .rows = p.rows,
                         .width = p.width};
    if (r->gathers) gather_taps(u, &d);
    for (int64_t b = 0; b < blocks; b++) {
        int64_t from = u->filters * b / blocks;
        d.filters = u->filters * (b + 1) / blocks - from;
        pack_grad(r, u, part, u->filter + from, d.filters);
        gp_conv_amx_pairs(&d, p.g, p.plane, u->tiles);
        gp_conv_amx_dots(&d, u->sum + from * u->padded, u->padded);
    }
}

/* Adds the part's products, MOST filters at a time, to the unit's sums. */
static void one_band(const weight_grad_job *r, const unit *u, part *part) {
    int64_t blocks = gp_ceil_div(u->filters, MOST);
    patch p = pack_image(r, u, part);
    for (int64_t b = 0; b < blocks; b++) {
        int64_t from = u->filters * b / blocks, n = u->filters * (b + 1) / blocks - from;
        if (r->in_place) p.g = grad_at(r, u, part, u->filter + from);
        else pack_grad(r, u, part, u->filter + from, n);
        dot_fn dot = dots[r->in.size == 2 ? 2 : r->in.ct == GP_CT_f64][n - 1];
        for (int64_t t = 0; t < u->taps; t += tile_taps[n - 1])
            dot(&p, u->offset + t, u->sum + from * u->padded + t, u->padded);
    }
}

/* Images, planes and rows in their order: sums do not depend on the threads, since one thread runs
 * a unit. */
static void all_bands(const weight_grad_job *r, const unit *u) {
    const gp_axis *a = r->in.axis;
    part p;
    for (p.image = 0; p.image < r->images; p.image += p.images) {
        p.images = gp_min(r->batch, r->images - p.image);
        for (p.z = 0; p.z < a[0].n; p.z++)
            for (p.y = 0; p.y < a[1].n; p.y += p.rows) {
                p.rows = gp_min(r->rows, a[1].n - p.y);
                if (r->amx) one_band_amx(r, u, &p);
                else one_band(r, u, &p);
            }
    }
}

/* Stores the unit's part of the gradient: filters x channels x taps in the weight's layout. */
static void store_sums(const weight_grad_job *r, const unit *u) {
    gp_dtype dt = (gp_dtype)r->out->dtype;
    int64_t size = (int64_t)gp_dtype_size(dt);
    gp_store store = gp_store_fn(GP_CT_f64, dt);
    for (int64_t f = 0; f < u->filters; f++) {
        int64_t at = ((u->group * r->filters + u->filter + f) * r->channels + u->channel) * r->taps;
        store(r->out->data + at * size, size, u->sum + f * u->padded, u->taps);
    }
}

/* The start of part i when n things are divided into `parts`. */
static int64_t share(int64_t n, int64_t parts, int64_t i) { return n * i / parts; }
static int64_t padded_taps(const weight_grad_job *r, int64_t channels) {
    return channels * r->taps + MOST_TAPS;
}

/* Bytes of the images of a part shifted by each tap of n channels. */
static int64_t taps_bytes(const weight_grad_job *r, int64_t n) {
    return r->batch * n * r->taps * tap_size(r->grad_image) * 2;
}

/* Units [begin, end). Scratch: sums in f64, packed gradients, packed images. */
static void run_units(void *ctx, int64_t begin, int64_t end) {
    weight_grad_job *r = ctx;
    int64_t channels = gp_ceil_div(r->channels, r->channel_units),
            filters = gp_ceil_div(r->filters, r->filter_units);
    int64_t sums = gp_whole_lines(filters * padded_taps(r, channels) * (int64_t)sizeof(double)),
            grads = gp_whole_lines((r->amx ? GP_CONV_AMX_FILTERS : MOST) * r->batch *
                                   r->grad_image * r->in.size),
            images = r->batch * image_bytes(r, channels),
            tiles =
                r->amx ? gp_conv_amx_bytes(GP_CONV_AMX_FILTERS, 1, r->batch * r->grad_image) : 0,
            taps = r->gathers ? taps_bytes(r, channels) : 0;
    char *scratch = gp_scratch(GP_SCRATCH_PART, (size_t)(sums + grads + images + tiles + taps));
    if (!scratch) {
        r->no_memory = true;
        return;
    }
    unit u = {.offset = r->offset,
              .sum = (double *)scratch,
              .g = scratch + sums,
              .x = scratch + sums + grads,
              .tiles = scratch + sums + grads + images,
              .taps_x = scratch + sums + grads + images + tiles};
    for (int64_t i = begin; i < end; i++) {
        int64_t c = i % r->channel_units, f = i / r->channel_units % r->filter_units;
        u.group = i / r->channel_units / r->filter_units;
        u.channel = share(r->channels, r->channel_units, c);
        u.channels = share(r->channels, r->channel_units, c + 1) - u.channel;
        u.filter = share(r->filters, r->filter_units, f);
        u.filters = share(r->filters, r->filter_units, f + 1) - u.filter;
        u.taps = u.channels * r->taps;
        u.padded = padded_taps(r, u.channels);
        memset(u.sum, 0, (size_t)(u.filters * u.padded) * sizeof(double));
        all_bands(r, &u);
        store_sums(r, &u);
    }
}

/* ---- the call ---- */

/* Rows of whole vectors are computed one by one, which pays where they are long. */
static bool reads_in_place(const weight_grad_job *r) {
    enum { LEAST = 16 };
    const gp_band *b = &r->grad;
    int64_t vector = GP_VB / b->size, width = r->in.axis[2].n;
    return !r->amx && r->batch == 1 && b->dtype == b->packed && b->step[2] == b->size &&
           width % vector == 0 && width >= LEAST * vector;
}

/* A unit's images fit the second-level cache, and units are enough for the threads; channels are
 * divided first, which packs only gradients twice. */
static void plan(weight_grad_job *r) {
    const gp_axis *a = r->in.axis;
    int64_t vector = GP_VB / r->in.size, threads = gp_threads();
    r->taps = a[0].taps * a[1].taps * a[2].taps;
    r->rows = gp_min(gp_max(BAND_OUTPUTS / gp_max(a[2].n, 1), 4), gp_max(a[1].n, 1));
    r->batch = gp_max(gp_min(BAND_OUTPUTS / gp_max(r->rows * a[2].n, 1), r->images), 1);
    gp_band_rows(&r->in, r->rows);
    r->in_place = reads_in_place(r);
    r->grad_image = r->rows * (r->in.line + vector);
    int64_t fit = BAND_BYTES / (r->batch * image_bytes(r, 1));
    r->channel_units = gp_ceil_div(r->channels, gp_min(gp_max(fit, 1), r->channels));
    int64_t work = r->images * a[0].n * a[1].n * a[2].n * r->filters * r->channels * r->taps;
    r->filter_units = 1;
    if (threads == 1 || work < 1 << 18) return;
    if (r->gathers) { /* all channels' taps share tiles, and gradients take longer to pack */
        while (r->groups * r->filter_units % threads && r->filter_units < r->filters)
            r->filter_units++;
        return;
    }
    while (r->groups * r->channel_units % threads && r->channel_units < r->channels)
        r->channel_units++;
    if (r->groups * r->channel_units % threads) r->filter_units = gp_min(threads, r->filters);
}

/* Offsets of the taps in a packed image, in elements; false when out of memory. */
static bool get_memory(weight_grad_job *r) {
    int64_t channels = gp_ceil_div(r->channels, r->channel_units), taps = channels * r->taps;
    r->offset = gp_scratch(GP_SCRATCH_CALL, (size_t)(taps + MOST_TAPS) * sizeof *r->offset);
    if (!r->offset) return false;
    gp_band_offsets(&r->in, channels, r->offset);
    for (int64_t i = 0; i < MOST_TAPS; i++) r->offset[taps + i] = r->offset[taps - 1];
    return true;
}

/* By AMX where there are enough products for its tiles, of which the taps of all channels may be
 * fewer. */
static void choose_dtype(weight_grad_job *r, const gp_array *x, const gp_array *grad,
                         const gp_conv *k) {
    enum { LEAST = 32, LEAST_GATHERED = 192 };
    bool halves = x->dtype == GP_bf16 && grad->dtype == GP_bf16;
    int64_t taps = k->kernel[0] * k->kernel[1] * k->kernel[2];
    bool fewer = 2 * gp_ceil_div(r->channels * taps, GP_AMX_ROWS) <=
                 gp_ceil_div(r->channels, GP_AMX_ROWS) * taps;
    int64_t all = r->channels * taps;
    bool enough = fewer ? all >= GP_AMX_ROWS && all * r->filters >= LEAST_GATHERED
                        : r->channels * r->filters >= LEAST;
    r->amx = halves && gp_has_amx() && enough;
    r->gathers = r->amx && fewer;
    if (!r->amx && !(halves && gp_has_pairs())) return;
    gp_band_as_is(&r->in);
    gp_band_as_is(&r->grad);
}

bool CPU(conv_weight_grad)(const gp_call *c) {
    const gp_array *grad = gp_in(c, 0), *x = gp_in(c, 1);
    weight_grad_job r = {.out = gp_out(c, 0)};
    gp_shape xs = gp_array_shape(x), ws = gp_ints_shape(c, 2);
    gp_conv k;
    if (r.out->numel == 0) return true;
    if (!gp_conv_read(c, &xs, &ws, &k)) return false;
    gp_band_source(&r.in, x, &k);
    gp_band_source(&r.grad, grad, &k);
    for (int d = 0; d < GP_SPATIAL; d++) r.in.axis[d] = gp_axis_forward(&k, d);
    r.images = k.images;
    r.groups = k.groups;
    r.channels = k.channels / k.groups;
    r.filters = k.filters / k.groups;
    choose_dtype(&r, x, grad, &k);
    plan(&r);
    if (!get_memory(&r)) return gp_fail("%s: out of memory", c->op->name);
    int64_t units = r.groups * r.channel_units * r.filter_units;
    int64_t work = r.images * grad->numel / gp_max(r.images, 1) * r.channels * r.taps / units;
    return gp_parallel_op(c, units, 1 + (1 << 17) / (1 + work), run_units, &r) &&
           (!r.no_memory || gp_fail("%s: out of memory", c->op->name));
}
