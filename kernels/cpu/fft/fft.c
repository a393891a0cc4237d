/* Discrete Fourier transforms along a dim: lines are gathered into split buffers (several at once
 * where they are short or adjacent), transformed, and stored. Real lines of even length are
 * transformed as complex ones of half that length. Adjacent lines as rows are worth 3.8 at fft2 of
 * 512x512; pairs that are read and written in place 1.27 at 65536 and 1048576 numbers with AVX2,
 * 1.1 with AVX-512 (one thread of an Emerald Rapids with AVX-512). */
#include "kernels/cpu/fft/fft.h"

#include <string.h>

#include "kernels/cpu/fft/squares.h"
#include "kernels/cpu/runtime/scratch.h"

enum {
    SHORT = 32,            /* lines up to this length are gathered several at once */
    GROUP_BYTES = 4 << 20, /* of the buffers of such a group */
    LINE_WORK = 1 << 14    /* elements worth a thread */
};

/* What failed on some thread. */
typedef struct trouble {
    _Atomic bool no_memory, interrupted;
} trouble;

typedef struct fft_job {
    const gp_array *x, *out;
    gp_ctype ct;
    int64_t size, n, count; /* bytes of the compute type; length; elements of a line present in x */
    int dim, dims;          /* dims of x without that of the pairs */
    bool complex, inverse, half_out, real_out; /* half_out: rfft; real_out: irfft */
    bool halved; /* real lines of even length, by a plan for half of it */
    gp_fft_plan *plan;
    int64_t lines, lanes, step, pair, ostep; /* steps: of x in bytes, along dim and to the imaginary
                                                part; of out in elements */
    double scale;
    trouble *trouble;
} fft_job;

/* ---- gathering ---- */

/* Writes n numbers of tmp to lane q; with one lane they are there already. */
#define SPREAD(T, t)                                                                               \
    static void spread_##t(T *to, const T *tmp, int64_t n, int64_t lanes) {                        \
        for (int64_t j = 0; j < n; j++) to[j * lanes] = tmp[j];                                    \
    }
SPREAD(float, f32)
SPREAD(double, f64)

/* Copies `have` numbers from p, then zeros up to n, to a lane of buf that begins at `to`. */
static void fetch(const fft_job *r, char *to, char *tmp, const char *p, int64_t step, int64_t have,
                  int64_t n) {
    char *line = r->lanes == 1 ? to : tmp;
    if (have > 0) gp_load_fn((gp_dtype)r->x->dtype, r->ct)(line, p, step, have);
    else have = 0;
    memset(line + have * r->size, 0, (size_t)((n - have) * r->size));
    if (r->lanes == 1) return;
    if (r->size == 4) spread_f32((float *)to, (float *)tmp, n, r->lanes);
    else spread_f64((double *)to, (double *)tmp, n, r->lanes);
}

/* Splits pairs that are dense and of compute type. */
#define SPLIT(T, t)                                                                                \
    static void split_##t(const T *restrict p, T *restrict re, T *restrict im, int64_t n) {        \
        for (int64_t j = 0; j < n; j++) re[j] = p[2 * j], im[j] = p[2 * j + 1];                    \
    }
SPLIT(float, f32)
SPLIT(double, f64)

/* Whether a line of x lies in memory as pairs of compute type: complex numbers, or two elements of
 * a real line each. */
static bool dense(const fft_job *r) {
    if (r->lanes > 1 || r->x->dtype != gp_ctype_dtype[r->ct]) return false;
    return r->complex ? r->pair == r->size && r->step == 2 * r->size
                      : r->halved && !r->real_out && r->step == r->size && r->count % 2 == 0;
}

/* Splits a line of pairs. False if there are none. */
static bool split(const fft_job *r, const char *p, char *re, char *im) {
    int64_t pairs = r->complex ? r->count : r->count / 2, all = r->halved ? r->n / 2 : r->n;
    if (!dense(r)) return false;
    if (r->size == 4) split_f32((const float *)p, (float *)re, (float *)im, pairs);
    else split_f64((const double *)p, (double *)re, (double *)im, pairs);
    memset(re + pairs * r->size, 0, (size_t)((all - pairs) * r->size));
    memset(im + pairs * r->size, 0, (size_t)((all - pairs) * r->size));
    return true;
}

/* Gathers a line into re and im; tmp: n of compute type, used where several lines are taken at
 * once. */
static void gather(const fft_job *r, const char *p, char *re, char *im, char *tmp) {
    int64_t n = r->n, have = r->count, step = r->step;
    if (split(r, p, re, im)) return;
    if (r->complex) {
        fetch(r, re, tmp, p, step, have, n);
        fetch(r, im, tmp, p + r->pair, step, have, n);
    } else if (r->halved) { /* even elements are the real parts, odd ones the imaginary parts */
        fetch(r, re, tmp, p, 2 * step, (have + 1) / 2, n / 2);
        fetch(r, im, tmp, p + step, 2 * step, have / 2, n / 2);
    } else {
        fetch(r, re, tmp, p, step, have, n);
        fetch(r, im, tmp, p, step, 0, n);
    }
}

/* ---- real lines ---- */

#define TEMPLATE "kernels/cpu/fft/lines.inc"
#include "kernels/common/floats.inc"

/* irfft: converts half a spectrum into the inverse transform's input. */
static void gather_half(const fft_job *r, const char *p, char *re, char *im, char *tmp) {
    int64_t h = r->n / 2 + 1, have = r->count;
    gp_load load = gp_load_fn((gp_dtype)r->x->dtype, r->ct);
    for (int part = 0; part < 2; part++) {
        char *s = tmp + part * h * r->size;
        load(s, p + part * r->pair, r->step, have);
        memset(s + have * r->size, 0, (size_t)((h - have) * r->size));
    }
    if (r->size == 4) fold_f32(r, (float *)tmp, (float *)re, (float *)im);
    else fold_f64(r, (double *)tmp, (double *)re, (double *)im);
}

static void store_line(const fft_job *r, const char *re, const char *im, char *out) {
    if (r->size == 4) {
        const float *a = (const float *)re, *b = (const float *)im;
        if (r->real_out) line_f32(r, a, b, (float *)out);
        else if (r->halved) unfold_f32(r, a, b, (float *)out);
        else plain_f32(r, a, b, (float *)out);
    } else {
        const double *a = (const double *)re, *b = (const double *)im;
        if (r->real_out) line_f64(r, a, b, (double *)out);
        else if (r->halved) unfold_f64(r, a, b, (double *)out);
        else plain_f64(r, a, b, (double *)out);
    }
}

/* ---- lines ---- */

/* The offsets of line i in x (bytes) and in out (elements): the dims but `dim`, row-major. */
static void line_at(const fft_job *r, int64_t i, int64_t *from, int64_t *to) {
    *from = *to = 0;
    for (int d = r->dims - 1; d >= 0; d--) {
        if (d == r->dim) continue;
        *from += i % r->x->dim[d] * r->x->stride[d] * (int64_t)gp_dtype_size((gp_dtype)r->x->dtype);
        *to += i % r->x->dim[d] * r->out->stride[d];
        i /= r->x->dim[d];
    }
}

/* Whether the inverse is done by exchanging real and imaginary parts: that of a real line is the
 * conjugate of the transform, which unfold gives. */
static bool exchanged(const fft_job *r) { return r->inverse && (!r->halved || r->real_out); }

/* False, here and below, if stopped. */
static bool transform(const fft_job *r, int64_t lanes, gp_fft_buffers *b, gp_fft_pairs pairs) {
    if (!exchanged(r)) return gp_fft_run(r->plan, lanes, b, pairs);
    gp_fft_buffers back = {b->im, b->re, b->im2, b->re2};
    bool ok = gp_fft_run(r->plan, lanes, &back, pairs);
    *b = (gp_fft_buffers){back.im, back.re, back.im2, back.re2};
    return ok;
}

/* What of a line at `from` and `to` the plan reads and writes where it is. */
static gp_fft_pairs in_place(const fft_job *r, const char *from, char *to) {
    gp_fft_pairs pairs = {.scale = r->scale, .exchanged = exchanged(r)};
    if (r->lanes > 1 || !gp_fft_takes_pairs(r->plan)) return pairs;
    if (dense(r) && r->count == r->n) pairs.from = from;
    if (r->complex ? r->ostep == 2 : r->real_out && r->halved && r->ostep == 1) pairs.to = to;
    return pairs;
}

/* Whether the lines from `first` on are adjacent and can be read and written in place, in rows. */
static bool side_by_side(const fft_job *r, int64_t first) {
    int64_t from, to, last_from, last_to, d = r->dims - 1;
    if (!r->complex || r->lanes == 1 || d == r->dim ||
        first % r->x->dim[d] + r->lanes > r->x->dim[d])
        return false;
    line_at(r, first, &from, &to);
    line_at(r, first + r->lanes - 1, &last_from, &last_to);
    return r->x->dtype == gp_ctype_dtype[r->ct] && r->pair == r->size &&
           last_from - from == 2 * (r->lanes - 1) * r->size && last_to - to == 2 * (r->lanes - 1);
}

static bool rows(const fft_job *r, int64_t first, gp_fft_buffers *b) {
    int64_t from, to, used = r->count * r->lanes * r->size,
                      rest = (r->n - r->count) * r->lanes * r->size;
    line_at(r, first, &from, &to);
    if (r->size == 4) rows_in_f32(r, r->x->data + from, (float *)b->re, (float *)b->im);
    else rows_in_f64(r, r->x->data + from, (double *)b->re, (double *)b->im);
    memset(b->re + used, 0, (size_t)rest);
    memset(b->im + used, 0, (size_t)rest);
    if (!transform(r, r->lanes, b, (gp_fft_pairs){0})) return false;
    char *out = r->out->data + to * r->size;
    if (r->size == 4) rows_out_f32(r, (float *)b->re, (float *)b->im, (float *)out);
    else rows_out_f64(r, (double *)b->re, (double *)b->im, (double *)out);
    return true;
}

/* Lines [first, first + lanes) of a group. */
static bool group(const fft_job *r, int64_t first, char *scratch) {
    int64_t bytes = gp_whole_lines(gp_fft_buffer_size(r->plan, r->lanes) * r->size), from, to;
    gp_fft_buffers b = {scratch, scratch + bytes, scratch + 2 * bytes, scratch + 3 * bytes};
    char *tmp = scratch + 4 * bytes;
    if (side_by_side(r, first)) return rows(r, first, &b);
    line_at(r, first, &from, &to);
    gp_fft_pairs pairs = in_place(r, r->x->data + from, r->out->data + to * r->size);
    for (int64_t q = 0; q < r->lanes && !pairs.from; q++) {
        line_at(r, first + q, &from, &to);
        (r->real_out ? gather_half : gather)(r, r->x->data + from, b.re + q * r->size,
                                             b.im + q * r->size, tmp);
    }
    if (!transform(r, r->lanes, &b, pairs)) return false;
    for (int64_t q = 0; q < r->lanes && !pairs.to; q++) {
        line_at(r, first + q, &from, &to);
        store_line(r, b.re + q * r->size, b.im + q * r->size, r->out->data + to * r->size);
    }
    return true;
}

/* Groups [begin, end) of r->lanes lines each. */
static void lines(void *ctx, int64_t begin, int64_t end) {
    const fft_job *r = ctx;
    int64_t bytes = gp_whole_lines(gp_fft_buffer_size(r->plan, r->lanes) * r->size);
    char *scratch = gp_scratch(GP_SCRATCH_PART, (size_t)(4 * bytes + (2 * r->n + 4) * r->size));
    if (!scratch) {
        r->trouble->no_memory = true;
        return;
    }
    for (int64_t i = begin; i < end; i += r->lanes) {
        fft_job g = *r;
        g.lanes = end - i < r->lanes ? end - i : r->lanes;
        if (!gp_stopped() && group(&g, i, scratch)) continue;
        r->trouble->interrupted = true;
        return;
    }
}

/* ---- the op ---- */

static double scale_of(const char *norm, bool inverse, int64_t n) {
    if (!strcmp(norm, "ortho")) return 1 / sqrt((double)n);
    return inverse == !strcmp(norm, "backward") ? 1 / (double)n : 1;
}

/* The number of lines that are transformed together: a vector's lanes where they are short
 * or not contiguous. */
static int64_t lanes_of(const fft_job *r) {
    int64_t lanes = 64 / r->size, bytes = gp_fft_buffer_size(r->plan, 1) * r->size * 4;
    bool spread = r->step != (int64_t)gp_dtype_size((gp_dtype)r->x->dtype) *
                                 (r->complex || r->real_out ? 2 : 1);
    if (r->n > SHORT && !spread) return 1;
    while (lanes > 1 && lanes * bytes > GROUP_BYTES) lanes /= 2;
    return lanes;
}

/* Arguments: x, n, dim (0-based), norm, complex. */
static bool fourier(const gp_call *c, fft_job *r) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0);
    if (out->numel == 0) return true;
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)x->dtype);
    r->x = x, r->out = out;
    r->ct = gp_compute_type((gp_dtype)out->dtype);
    r->size = gp_ctype_size[r->ct];
    r->n = c->arg[1].i;
    r->dim = (int)c->arg[2].i;
    r->dims = x->ndim - (r->complex || r->real_out);
    r->halved = !r->complex && r->n % 2 == 0;
    int64_t most = r->real_out ? r->n / 2 + 1 : r->n;
    r->count = x->dim[r->dim] < most ? x->dim[r->dim] : most;
    r->step = x->stride[r->dim] * size;
    r->pair = r->complex || r->real_out ? x->stride[x->ndim - 1] * size : 0;
    r->ostep = out->stride[r->dim];
    r->scale = scale_of(c->arg[3].s, r->inverse, r->n);
    r->lines = 1;
    for (int d = 0; d < r->dims; d++) r->lines *= d == r->dim ? 1 : x->dim[d];
    if (gp_offload_wanted(c, 10.0 * (double)r->n * log2((double)r->n)))
        return gp_offload_run(c, c->op->name);
    if (!gp_prefault_outputs(c)) return false;
    r->plan = gp_fft_plan_get(r->halved ? r->n / 2 : r->n, r->ct, r->halved);
    if (!r->plan) return gp_check_interrupt(c) && gp_fail("%s: out of memory", c->op->name);
    r->lanes = lanes_of(r);
    trouble trouble = {0};
    r->trouble = &trouble;
    gp_parallel(r->lines, 1 + LINE_WORK / r->n, lines, r);
    gp_fft_done(r->plan);
    if (trouble.interrupted) return gp_fail("%s: interrupted", c->op->name);
    return !trouble.no_memory || gp_fail("%s: out of memory", c->op->name);
}

bool CPU(fft_fft)(const gp_call *c) {
    fft_job r = {.complex = c->arg[4].i};
    return fourier(c, &r);
}
bool CPU(fft_ifft)(const gp_call *c) {
    fft_job r = {.complex = c->arg[4].i, .inverse = true};
    return fourier(c, &r);
}
bool CPU(fft_rfft)(const gp_call *c) {
    fft_job r = {.half_out = true};
    return fourier(c, &r);
}
bool CPU(fft_irfft)(const gp_call *c) {
    fft_job r = {.real_out = true, .inverse = true};
    return fourier(c, &r);
}
