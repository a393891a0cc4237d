/* Axes of convolutions, and the packing of bands of images for their kernels. */
#include <string.h>

#include "kernels/cpu/conv/conv.h"
#include "kernels/cpu/runtime/widen.h"

static int64_t common_divisor(int64_t a, int64_t b) { return b ? common_divisor(b, a % b) : a; }

gp_axis gp_axis_forward(const gp_conv *k, int d) {
    int64_t s = k->stride[d], dilation = k->dilation[d], taps = k->kernel[d];
    return (gp_axis){.n = k->out[d],
                     .step = 1,
                     .in = k->in[d],
                     .stride = s,
                     .base = -k->before[d],
                     .taps = taps,
                     .tap_step = 1,
                     .offset_step = dilation,
                     .phases = gp_min(taps, s / common_divisor(s, dilation)),
                     .reach = (taps - 1) * dilation / s};
}

/* Output p gave tap i's product to input p stride - before + i dilation, so input first + j stride
 * gets it from p = j + (first + before - i dilation) / stride where that is an integer: one tap in
 * stride / gcd(stride, dilation). */
gp_axis gp_axis_backward(const gp_conv *k, int d, int64_t phase) {
    int64_t s = k->stride[d], dilation = k->dilation[d], common = common_divisor(s, dilation),
            every = s / common, at = phase + k->before[d], i = 0;
    gp_axis a = {.n = k->in[d] > phase ? (k->in[d] - phase + s - 1) / s : 0,
                 .first = phase,
                 .step = s,
                 .in = k->out[d],
                 .stride = 1};
    int64_t most = gp_min(k->kernel[d], every);
    while (i < most && (at - i * dilation) % s) i++;
    if (i == most) return a;
    a.tap = i;
    a.tap_step = every;
    a.taps = (k->kernel[d] - 1 - i) / every + 1;
    a.phases = 1;
    a.offset_step = -dilation / common;
    a.offset = a.reach = (a.taps - 1) * (dilation / common);
    a.base = (at - i * dilation) / s - a.offset;
    return a;
}

void gp_band_source(gp_band *b, const gp_array *x, const gp_conv *k) {
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)x->dtype);
    b->dtype = (gp_dtype)x->dtype;
    b->ct =
        gp_is_float(b->dtype) ? gp_compute_type(b->dtype) : GP_CT_i64; /* which wraps like any */
    b->size = gp_ctype_size[b->ct];
    b->packed = (gp_dtype)gp_ctype_dtype[b->ct];
    b->load = gp_load_fn(b->dtype, b->ct);
    b->data = x->data;
    b->image_step = k->batched ? x->stride[0] * size : 0;
    b->channel_step = x->stride[k->batched] * size;
    for (int d = 0; d < GP_SPATIAL; d++) {
        int at = d - (GP_SPATIAL - k->rank);
        b->step[d] = at < 0 ? 0 : x->stride[k->batched + 1 + at] * size;
    }
}

static void move_halves(void *dst, const char *src, int64_t step, int64_t n) {
    if (step == 2) memcpy(dst, src, (size_t)n * 2);
    else gp_move_row(dst, 2, src, step, n, 2);
}

void gp_band_as_is(gp_band *b) {
    b->packed = b->dtype;
    b->size = 2;
    b->load = move_halves;
}

/* Zeros elements, mostly the few of a row's padding. */
static inline void clear(char *dst, int64_t n, int64_t size) {
    if (n > 16) memset(dst, 0, (size_t)(n * size));
    else if (size == 2)
        for (int64_t i = 0; i < n; i++) ((uint16_t *)(void *)dst)[i] = 0;
    else if (size == 4)
        for (int64_t i = 0; i < n; i++) ((float *)dst)[i] = 0;
    else
        for (int64_t i = 0; i < n; i++) ((double *)dst)[i] = 0;
}

/* A loop: rows are short, and a call would take as long as the copying. It prefetches `next` bytes
 * ahead, where the hardware prefetcher does not look. */
static inline void copy_row(char *restrict dst, const char *restrict src, int64_t bytes,
                            int64_t next) {
    typedef char vec __attribute__((vector_size(GP_VB), aligned(1), may_alias));
    if (bytes < GP_VB) {
        memcpy(dst, src, (size_t)bytes);
        return;
    }
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(src + next + i);
    for (int64_t i = 0; i < bytes - GP_VB; i += GP_VB) *(vec *)(dst + i) = *(const vec *)(src + i);
    *(vec *)(dst + bytes - GP_VB) = *(const vec *)(src + bytes - GP_VB);
}

/* Bytes to the second channel of a pair that has none: 0 is the step of an expanded image. */
static const int64_t no_mate = INT64_MIN;

/* d[i] = the bf16 at i step bytes after a, and the one `mate` bytes on, if any. */
static inline void pair_row(uint32_t *restrict d, const char *a, int64_t mate, int64_t step,
                            int64_t n) {
    enum { L = GP_WIDE };
    bool single = mate == no_mate;
    if (step != 2 || single || n < L) {
        for (int64_t i = 0; i < n; i++) {
            const char *p = a + i * step;
            d[i] = *(const uint16_t *)p |
                   (single ? 0 : (uint32_t) * (const uint16_t *)(p + mate) << 16);
        }
        return;
    }
    for (int64_t i = 0; i < n; i += L) {
        int64_t at = i < n - L ? i : n - L;
        const char *p = a + 2 * at;
        *(gp_wide *)(d + at) = gp_widen_pair(p, p + mate);
    }
}

/* The columns of a packed row that are in the image: the phase's elements [from, to); element 0 is
 * column `first`. */
typedef struct stretch {
    int64_t first, from, to;
    bool plain; /* contiguous, and of the packed type */
} stretch;

static stretch inside_of(const gp_band *b, int64_t first) {
    const gp_axis *a = &b->axis[2];
    stretch s = {.first = first,
                 .from = gp_min(first < 0 ? gp_ceil_div(-first, a->stride) : 0, b->line),
                 .to = gp_min(gp_ceil_div(a->in - first, a->stride), b->line)};
    if (s.to < s.from) s.to = s.from;
    s.plain = b->dtype == b->packed && b->step[2] * a->stride == b->size;
    return s;
}

/* One packed row; src is column 0, or NULL outside the image; mate: bytes to the second channel of
 * a pair, or no_mate. */
static void pack_row(const gp_band *b, char *dst, const char *src, int64_t mate, const stretch *s) {
    int64_t size = b->size, step = b->step[2] * b->axis[2].stride;
    if (!src || s->to == s->from) {
        clear(dst, b->line, size);
        return;
    }
    clear(dst, s->from, size);
    const char *from = src + s->first * b->step[2] + s->from * step;
    if (b->pairs) pair_row((uint32_t *)(void *)dst + s->from, from, mate, step, s->to - s->from);
    else if (s->plain) /* the same row two channels on comes next */
        copy_row(dst + s->from * size, from, (s->to - s->from) * size, 2 * b->channel_step);
    else b->load(dst + s->from * size, from, step, s->to - s->from);
    clear(dst + s->to * size, b->line - s->to, size);
}

/* The remainder of phase p: that of tap p. */
static int64_t remainder_of(const gp_axis *a, int64_t p) {
    return gp_axis_offset(a, p) % a->stride;
}

/* Packs lines from … to - 1 of plane src (NULL outside the image), of all its phases. */
static void pack_plane(const gp_band *b, const char *src, int64_t mate, int64_t y, int64_t from,
                       int64_t to, char *dst) {
    const gp_axis *rows = &b->axis[1], *cols = &b->axis[2];
    for (int64_t i = 0; i < rows->phases; i++)
        for (int64_t j = 0; j < cols->phases; j++, dst += b->lines * b->line * b->size) {
            stretch s = inside_of(b, cols->base + remainder_of(cols, j));
            int64_t first = y * rows->stride + rows->base + remainder_of(rows, i);
            for (int64_t l = from; l < to; l++) {
                int64_t at = first + l * rows->stride;
                bool inside = src && at >= 0 && at < rows->in;
                pack_row(b, dst + l * b->line * b->size, inside ? src + at * b->step[1] : NULL,
                         mate, &s);
            }
        }
}

/* Lines from … to - 1 of n channels, of which the first is at src. */
static void pack_lines(const gp_band *b, const char *src, int64_t n, int64_t z, int64_t y,
                       int64_t from, int64_t to, char *dst) {
    const gp_axis *depth = &b->axis[0];
    int64_t each = b->pairs ? 2 : 1,
            plane = b->axis[1].phases * b->axis[2].phases * b->lines * b->line * b->size;
    for (int64_t c = 0; c < n; c += each, src += each * b->channel_step)
        for (int64_t t = 0; t < depth->taps; t++, dst += plane) {
            int64_t at = z * depth->stride + depth->base + gp_axis_offset(depth, t);
            bool inside = at >= 0 && at < depth->in;
            pack_plane(b, inside ? src + at * b->step[0] : NULL,
                       c + 1 < n ? b->channel_step : no_mate, y, from, to, dst);
        }
}

void gp_band_pack(const gp_band *b, int64_t image, int64_t channel, int64_t n, int64_t z, int64_t y,
                  char *dst) {
    const char *src = b->data + image * b->image_step + channel * b->channel_step;
    int64_t some = gp_band_channels_adjoin(b) ? 1 : b->lines, depth = b->pairs ? (n + 1) / 2 : n,
            plane = gp_band_planes(b) * b->lines * b->line * b->size;
    for (int64_t l = 0; l < b->lines; l += some) pack_lines(b, src, n, z, y, l, l + some, dst);
    memset(dst + depth * plane, 0, (size_t)((gp_band_depth(b, n) - depth) * plane + 4 * GP_VB));
}

void gp_band_offsets(const gp_band *b, int64_t n, int64_t *offset) {
    const gp_axis *rows = &b->axis[1], *cols = &b->axis[2];
    int64_t plane = b->lines * b->line, phases = rows->phases * cols->phases;
    for (int64_t c = 0; c < gp_band_depth(b, n) * b->axis[0].taps; c++)
        for (int64_t i = 0; i < rows->taps; i++)
            for (int64_t j = 0; j < cols->taps; j++) {
                int64_t phase = c * phases + i % rows->phases * cols->phases + j % cols->phases;
                *offset++ = phase * plane + gp_axis_offset(rows, i) / rows->stride * b->line +
                            gp_axis_offset(cols, j) / cols->stride;
            }
}
