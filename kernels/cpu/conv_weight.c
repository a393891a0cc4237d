/* Weight gradients of convolutions: dot products of the incoming gradient with the image shifted by
   each tap. A register tile of several filters by several taps runs over a band of rows, whose
   image is packed as for the convolution itself. */
#include <string.h>

#include "kernels/cpu/conv.h"
#include "kernels/cpu/scratch.h"

/* Taps of a tile, and the most filters: what the registers hold beside a vector of each filter. */
#if defined(__AVX512F__)
enum { TAPS = 5, MOST = 5 };
#else
enum { TAPS = 4, MOST = 3 };
#endif
/* A band has about so many outputs of a channel, whatever the threads are: that settles the order
   of the sums, so the bits. */
enum { BAND_OUTPUTS = 4096, BAND_BYTES = 256 << 10 };

typedef struct run {
    gp_band in, grad; /* grad: one row after the other, no taps */
    const gp_array *out;
    int64_t images, groups, channels, filters; /* the last two of a group */
    int64_t taps, *offset;                     /* taps of a channel; of a unit's channels */
    int64_t rows;                              /* output rows of a band */
    int64_t pitch;                             /* packed gradients: elements of a row */
    int64_t channel_units, filter_units;       /* shares of a group */
    _Atomic bool no_memory;
} run;

/* ---- tiles ---- */

/* sum[f * step + t] += sum over rows and columns of g[f] * x[offset[t] + …]. Rows of x are line
   elements apart, those of g pitch, filters of g plane; g is 0 beyond width, up to whole vectors. */
typedef struct patch {
    const void *x, *g;
    int64_t line, pitch, plane, rows, width;
} patch;
typedef void (*dot_fn)(const patch *p, const int64_t *offset, double *sum, int64_t step);

#define VECTOR(T, t, I, i)                                                             \
    typedef T vec_##t __attribute__((vector_size(VB), aligned(sizeof(T)), may_alias)); \
    typedef I vec_##i __attribute__((vector_size(VB), may_alias));
VECTOR(float, f32, int32_t, i32)
VECTOR(double, f64, int64_t, i64)

#define EACH_F _Pragma("GCC unroll 5") for (int f = 0; f < F; f++)
#define EACH_T _Pragma("GCC unroll 5") for (int t = 0; t < TAPS; t++)
/* What lies in x beyond the row is masked: 0 times infinity is not 0. */
#define DOT(T, t_, I, i_, filters)                                                                \
    static void dot_##t_##_##filters(const patch *p, const int64_t *offset, double *sum,         \
                                     int64_t step) {                                             \
        enum { F = filters, L = VB / sizeof(T) };                                                \
        const int64_t rest = p->width % L, whole = p->width - rest;                              \
        vec_##t_ acc[F][TAPS], in[F];                                                            \
        vec_##i_ mask;                                                                           \
        for (int l = 0; l < (int)L; l++) mask[l] = l < rest ? -1 : 0;                            \
        EACH_F EACH_T acc[f][t] = (vec_##t_){0};                                                 \
        for (int64_t y = 0; y < p->rows; y++) {                                                  \
            const T *x = (const T *)p->x + y * p->line, *g = (const T *)p->g + y * p->pitch;     \
            for (int64_t at = 0; at < whole; at += L) {                                          \
                EACH_F in[f] = *(const vec_##t_ *)(g + f * p->plane + at);                       \
                EACH_T {                                                                         \
                    vec_##t_ v = *(const vec_##t_ *)(x + offset[t] + at);                        \
                    EACH_F acc[f][t] += in[f] * v;                                               \
                }                                                                                \
            }                                                                                    \
            if (!rest) continue;                                                                 \
            EACH_F in[f] = *(const vec_##t_ *)(g + f * p->plane + whole);                        \
            EACH_T {                                                                             \
                vec_##t_ v = *(const vec_##t_ *)(x + offset[t] + whole);                         \
                v = (vec_##t_)((vec_##i_)v & mask);                                              \
                EACH_F acc[f][t] += in[f] * v;                                                   \
            }                                                                                    \
        }                                                                                        \
        EACH_F EACH_T {                                                                          \
            T s = 0;                                                                             \
            for (int l = 0; l < (int)L; l++) s += acc[f][t][l];                                  \
            sum[f * step + t] += s;                                                              \
        }                                                                                        \
    }
#define DOTS(T, t, I, i) DOT(T, t, I, i, 1) DOT(T, t, I, i, 2) DOT(T, t, I, i, 3)
DOTS(float, f32, int32_t, i32)
DOTS(double, f64, int64_t, i64)
#define TABLE(t) dot_##t##_1, dot_##t##_2, dot_##t##_3
#ifdef __AVX512F__
#define MORE_DOTS(T, t, I, i) DOT(T, t, I, i, 4) DOT(T, t, I, i, 5)
MORE_DOTS(float, f32, int32_t, i32)
MORE_DOTS(double, f64, int64_t, i64)
#define ALL_TABLE(t) TABLE(t), dot_##t##_4, dot_##t##_5
#else
#define ALL_TABLE(t) TABLE(t)
#endif
static const dot_fn dots[2][MOST] = {{ALL_TABLE(f32)}, {ALL_TABLE(f64)}};

/* ---- a unit: some channels by some filters of a group, over all images ---- */

/* sums are filters x padded, padded being the unit's taps and TAPS more, so that tiles may overhang.
 */
typedef struct unit {
    int64_t group, channel, channels, filter, filters, taps, padded;
    const int64_t *offset; /* of the taps; the last one is repeated for the overhang */
    char *x, *g;
    double *sum;
} unit;

/* Rows y … of one plane of gradients of n filters: [filter][row][pitch]. */
static void pack_grad(const run *r, const unit *u, int64_t image, int64_t z, int64_t y,
                      int64_t rows, int64_t filter, int64_t n) {
    const gp_band *b = &r->grad;
    int64_t width = r->in.axis[2].n, size = b->size;
    gp_load load = gp_load_fn(b->dtype, b->ct);
    const char *src = b->data + image * b->image_step + z * b->step[0] + y * b->step[1] +
                      (u->group * r->filters + filter) * b->channel_step;
    char *dst = u->g;
    for (int64_t f = 0; f < n; f++, src += b->channel_step, dst = u->g + f * r->rows * r->pitch * size)
        for (int64_t l = 0; l < rows; l++, dst += r->pitch * size) {
            load(dst, src + l * b->step[1], b->step[2], width);
            memset(dst + width * size, 0, (size_t)((r->pitch - width) * size));
        }
}

static void one_band(const run *r, const unit *u, int64_t image, int64_t z, int64_t y) {
    int64_t rows = gp_least(r->rows, r->in.axis[1].n - y), blocks = gp_ceil_div(u->filters, MOST);
    gp_band_pack(&r->in, image, u->group * r->channels + u->channel, u->channels, z, y, u->x);
    patch p = {.x = u->x,
               .g = u->g,
               .line = r->in.line,
               .pitch = r->pitch,
               .plane = r->rows * r->pitch,
               .rows = rows,
               .width = r->in.axis[2].n};
    for (int64_t b = 0; b < blocks; b++) {
        int64_t from = u->filters * b / blocks, n = u->filters * (b + 1) / blocks - from;
        pack_grad(r, u, image, z, y, rows, u->filter + from, n);
        dot_fn dot = dots[r->in.ct == GP_CT_f64][n - 1];
        for (int64_t t = 0; t < u->taps; t += TAPS)
            dot(&p, u->offset + t, u->sum + from * u->padded + t, u->padded);
    }
}

static void store_sums(const run *r, const unit *u) {
    gp_dtype dt = (gp_dtype)r->out->dtype;
    int64_t size = (int64_t)gp_dtype_size(dt);
    gp_store store = gp_store_fn(GP_CT_f64, dt);
    for (int64_t f = 0; f < u->filters; f++) {
        int64_t at = ((u->group * r->filters + u->filter + f) * r->channels + u->channel) * r->taps;
        store(r->out->data + at * size, size, u->sum + f * u->padded, u->taps);
    }
}

static int64_t share(int64_t n, int64_t parts, int64_t i) { return n * i / parts; }
static int64_t padded_taps(const run *r, int64_t channels) { return channels * r->taps + TAPS; }
static int64_t whole_lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

static void run_units(void *ctx, int64_t begin, int64_t end) {
    run *r = ctx;
    int64_t channels = gp_ceil_div(r->channels, r->channel_units),
            filters = gp_ceil_div(r->filters, r->filter_units);
    int64_t sums = whole_lines(filters * padded_taps(r, channels) * (int64_t)sizeof(double)),
            grads = whole_lines(MOST * r->rows * r->pitch * r->in.size);
    char *scratch = gp_scratch(GP_SCRATCH_PART,
                               (size_t)(sums + grads) + gp_band_bytes(&r->in, channels));
    if (!scratch) {
        r->no_memory = true;
        return;
    }
    unit u = {.offset = r->offset,
              .sum = (double *)scratch,
              .g = scratch + sums,
              .x = scratch + sums + grads};
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
        for (int64_t image = 0; image < r->images; image++)
            for (int64_t z = 0; z < r->in.axis[0].n; z++)
                for (int64_t y = 0; y < r->in.axis[1].n; y += r->rows) one_band(r, &u, image, z, y);
        store_sums(r, &u);
    }
}

/* ---- the call ---- */

/* Units' images fit the second-level cache, and there are enough for the threads; channels are
   shared out first, which packs nothing twice but gradients. */
static void plan(run *r) {
    const gp_axis *a = r->in.axis;
    int64_t vector = VB / r->in.size, threads = gp_threads();
    r->taps = a[0].taps * a[1].taps * a[2].taps;
    r->pitch = gp_ceil_div(a[2].n, vector) * vector;
    r->rows = gp_least(gp_most(BAND_OUTPUTS / gp_most(a[2].n, 1), 8), gp_most(a[1].n, 1));
    gp_band_rows(&r->in, r->rows);
    int64_t fit = BAND_BYTES / (gp_band_planes(&r->in) * r->in.lines * r->in.line * r->in.size + 1);
    r->channel_units = gp_ceil_div(r->channels, gp_least(gp_most(fit, 1), r->channels));
    int64_t work = r->images * a[0].n * a[1].n * a[2].n * r->filters * r->channels * r->taps;
    r->filter_units = 1;
    if (threads == 1 || work < 1 << 18) return;
    while (r->groups * r->channel_units % threads && r->channel_units < r->channels)
        r->channel_units++;
    if (r->groups * r->channel_units % threads)
        r->filter_units = gp_least(threads, r->filters);
}

static bool get_memory(run *r) {
    int64_t channels = gp_ceil_div(r->channels, r->channel_units), taps = channels * r->taps;
    r->offset = gp_scratch(GP_SCRATCH_CALL, (size_t)(taps + TAPS) * sizeof *r->offset);
    if (!r->offset) return false;
    gp_band_offsets(&r->in, channels, r->offset);
    for (int64_t i = 0; i < TAPS; i++) r->offset[taps + i] = r->offset[taps - 1];
    return true;
}

bool CPU(conv_weight_grad)(const gp_call *c) {
    const gp_array *grad = gp_in(c, 0), *x = gp_in(c, 1);
    run r = {.out = gp_out(c, 0)};
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
    plan(&r);
    if (!get_memory(&r)) return gp_fail("%s: out of memory", c->op->name);
    int64_t units = r.groups * r.channel_units * r.filter_units;
    int64_t work = r.images * grad->numel / gp_most(r.images, 1) * r.channels * r.taps / units;
    gp_parallel(units, 1 + (1 << 17) / (1 + work), run_units, &r);
    return !r.no_memory || gp_fail("%s: out of memory", c->op->name);
}
