/* Running sums and products along a dim. Short sums of f32 are worth 1.1 at 100000x10 and 1.4 at
 * 100000x32, transposed lines 2.7 for cumprod of 100000x10 and 1.8 for sums of integers, adjacent
 * lines 4.9 along dim 1 of 1000x10000, no conversion of f32 1.5 and streaming 1.15 at 1e7 (one
 * thread of an Emerald Rapids with AVX-512). */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/sort/keys.h"
#include "kernels/cpu/runtime/nontemporal.h"
#include "kernels/cpu/layout/transpose.h"

/* SHORT, PRODUCTS: elements of lines up to which sums, or products, of adjacent lines are the
 * fastest; of longer ones too many cache lines are begun. */
enum { COLUMNS = 128, PART = 32768, SHORT = 32, PRODUCTS = 128 };

typedef struct scan {
    gp_nd_loop lines;        /* 0: out, 1: x, both without the dim */
    int64_t n, ostep, xstep; /* the dim's size; bytes between its elements */
    gp_ctype ct;             /* f64 or i64: what is summed in */
    bool product;
    bool floats, stream; /* contiguous f32 sums; results bypass the caches */
    gp_load load;
    gp_store store;
    const char *x; /* one long line: */
    char *out;
    union number *before; /* the sum before each part */
} scan;

/* f32 and 16-bit floats are summed in f64: a long sum is then as exact as its dtype allows. Two
   vectors are summed in registers; only their total waits for the one before it. */
#if defined(__AVX512F__)
enum { LANES = 8 };
/* v's elements moved up by k, zeros below them. */
#define UP(v, k)                                                                                   \
    (__typeof__(v))_mm512_maskz_alignr_epi64((uint8_t)(0xff << (k)), (__m512i)(v), (__m512i)(v),   \
                                             8 - (k))
#define WITHIN(v) (v += UP(v, 1), v += UP(v, 2), v += UP(v, 4))
#define LAST(v) __builtin_shufflevector(v, v, 7, 7, 7, 7, 7, 7, 7, 7)
#define WIDE_f32(p) (vec_f64) _mm512_cvtps_pd(_mm256_loadu_ps((const float *)(p)))
#else
enum { LANES = 4 };
#define UP(v, ...) __builtin_shufflevector(v, (__typeof__(v)){0}, __VA_ARGS__)
#define WITHIN(v) (v += UP(v, 4, 0, 1, 2), v += UP(v, 4, 5, 0, 1))
#define LAST(v) __builtin_shufflevector(v, v, 3, 3, 3, 3)
#if defined(__AVX__) /* gcc converts the halves and joins them */
#define WIDE_f32(p) (vec_f64) _mm256_cvtps_pd(_mm_loadu_ps((const float *)(p)))
#else
#define WIDE_f32(p) __builtin_convertvector(*(p), vec_f64)
#endif
#endif
#define WIDE_f64(p) *(p)
#define WIDE_i64(p) *(p)
#define VECTOR(T, t)                                                                               \
    typedef T vec_##t                                                                              \
        __attribute__((vector_size(LANES * sizeof(T)), aligned(sizeof(T)), may_alias));
VECTOR(float, f32)
VECTOR(double, f64)
VECTOR(int64_t, i64)

#define S float
#define s f32
#define T double
#define t f64
#include "kernels/cpu/scan/running.inc"
#define S double
#define s f64
#define T double
#define t f64
#include "kernels/cpu/scan/running.inc"
#define S int64_t
#define s i64
#define T int64_t
#define t i64
#include "kernels/cpu/scan/running.inc"

#define SUMS(T, t)                                                                                 \
    static void add_##t(T *restrict acc, const T *restrict v, int64_t n) {                         \
        for (int64_t i = 0; i < n; i++) acc[i] += v[i];                                            \
    }                                                                                              \
    /* Products in sequence: a part's may overflow where the whole does not. */                    \
    static T product_##t(T acc, T *v, int64_t n) {                                                 \
        for (int64_t i = 0; i < n; i++) v[i] = acc *= v[i];                                        \
        return acc;                                                                                \
    }                                                                                              \
    static void multiply_##t(T *restrict acc, const T *restrict v, int64_t n) {                    \
        for (int64_t i = 0; i < n; i++) acc[i] *= v[i];                                            \
    }
SUMS(double, f64)
SUMS(int64_t, i64)

/* 8 bytes of whichever type is summed in. */
typedef union number {
    double f;
    int64_t i;
} number;

static number unit(const scan *s) {
    return s->ct == GP_CT_f64 ? (number){.f = s->product} : (number){.i = s->product};
}

/* Contiguous f32 to contiguous f32: no separate conversion. */
static number sum_floats(const scan *s, char *out, const char *x, int64_t n, number base) {
    float buf[GP_BLOCK];
    number acc = {.f = 0};
    for (int64_t i = 0; i < n; i += GP_BLOCK) {
        int64_t m = n - i < GP_BLOCK ? n - i : GP_BLOCK;
        const float *from = (const float *)(const void *)x + i;
        float *to = out ? (float *)(void *)out + i : NULL;
        acc.f = running_f32(acc.f, base.f, from, to && s->stream ? buf : to, m);
        const char *next = (const char *)(from + m);
        if (to && s->stream) stream_out((char *)to, (char *)buf, (size_t)m * 4, &next, 1);
    }
    if (out && s->stream) stream_end();
    return acc;
}

/* Writes base plus the running sums of elements [from, to) of a line; returns their sum. out NULL:
 * the sum only. */
static number scan_range(const scan *s, char *out, const char *x, int64_t from, int64_t to,
                         number base) {
    union {
        double f[GP_BLOCK];
        int64_t i[GP_BLOCK];
    } buf;
    number acc = unit(s);
    if (s->floats) return sum_floats(s, out ? out + from * 4 : NULL, x + from * 4, to - from, base);
    for (int64_t i = from; i < to; i += GP_BLOCK) {
        int64_t n = to - i < GP_BLOCK ? to - i : GP_BLOCK;
        s->load(&buf, x + i * s->xstep, s->xstep, n);
        if (s->product && s->ct == GP_CT_f64) acc.f = product_f64(acc.f, buf.f, n);
        else if (s->product) acc.i = product_i64(acc.i, buf.i, n);
        else if (s->ct == GP_CT_f64) acc.f = running_f64(acc.f, base.f, buf.f, buf.f, n);
        else acc.i = running_i64(acc.i, base.i, buf.i, buf.i, n);
        if (out) s->store(out + i * s->ostep, s->ostep, &buf, n);
    }
    return acc;
}

/* Lines [begin, end), each on its own. */
static void scan_lines(void *ctx, int64_t begin, int64_t end) {
    const scan *s = ctx;
    for (int64_t i = begin; i < end; i++) {
        char *p[GP_LOOP_MAX];
        gp_nd_loop_at(&s->lines, i, p);
        scan_range(s, p[0], p[1], 0, s->n, (number){.i = 0});
    }
}

/* Lines [begin, end) of few contiguous f32, whose sums in f64 do not wait for each other's. */
static void sum_short(void *ctx, int64_t begin, int64_t end) {
    const scan *s = ctx;
    const gp_nd_loop *l = &s->lines;
    const int last = l->ndim - 1;
    const int64_t width = l->dim[last], os = l->stride[0][last], xs = l->stride[1][last];
    gp_row_iter r;
    gp_row_iter_begin(&r, l, begin);
    for (int64_t at = begin; at < end; gp_row_iter_next(&r, l)) {
        int64_t i = at % width, stop = width - i < end - at ? width : i + end - at;
        at += stop - i;
        for (; i < stop; i++) {
            const float *x = (const float *)(const void *)(r.p[1] + i * xs);
            float *out = (float *)(void *)(r.p[0] + i * os);
            double acc = 0;
            for (int64_t k = 0; k < s->n; k++) acc += (double)x[k], out[k] = (float)acc;
        }
    }
}

/* The results so far of adjacent lines. */
typedef union side {
    double f[COLUMNS];
    int64_t i[COLUMNS];
} side;

static void begin_block(const scan *s, side *acc) {
    for (int64_t i = 0; i < COLUMNS; i++) acc->i[i] = unit(s).i;
}

/* Scans n adjacent lines together, `steps` elements of each; p: out, x. */
static void scan_block(const scan *s, side *acc, char *const *p, int64_t os, int64_t xs, int64_t n,
                       int64_t steps) {
    side v;
    for (int64_t k = 0; k < steps; k++) {
        s->load(&v, p[1] + k * s->xstep, xs, n);
        if (s->product && s->ct == GP_CT_f64) multiply_f64(acc->f, v.f, n);
        else if (s->product) multiply_i64(acc->i, v.i, n);
        else if (s->ct == GP_CT_f64) add_f64(acc->f, v.f, n);
        else add_i64(acc->i, v.i, n);
        s->store(p[0] + k * s->ostep, os, acc, n);
    }
}

/* Lines [begin, end) that are adjacent, COLUMNS at a time. */
static void scan_columns(void *ctx, int64_t begin, int64_t end) {
    const scan *s = ctx;
    const gp_nd_loop *l = &s->lines;
    int last = l->ndim - 1;
    int64_t width = l->dim[last], os = l->stride[0][last], xs = l->stride[1][last];
    gp_row_iter r;
    gp_row_iter_begin(&r, l, begin);
    for (int64_t at = begin; at < end; gp_row_iter_next(&r, l)) {
        int64_t i = at % width, stop = width - i < end - at ? width : i + end - at;
        at += stop - i;
        for (; i < stop; i += COLUMNS) {
            char *p[2] = {r.p[0] + i * os, r.p[1] + i * xs};
            side acc;
            begin_block(s, &acc);
            scan_block(s, &acc, p, os, xs, stop - i < COLUMNS ? stop - i : COLUMNS, s->n);
        }
    }
}

/* Lines [begin, end) without gaps: adjacent once they are transposed, SHORT elements of each at a
 * time, so that none waits for its own last product. */
static void scan_transposed(void *ctx, int64_t begin, int64_t end) {
    const scan *s = ctx;
    const gp_nd_loop *l = &s->lines;
    scan t = *s;
    _Alignas(64) char from[SHORT * COLUMNS * 8], to[SHORT * COLUMNS * 8];
    int last = l->ndim - 1;
    int64_t width = l->dim[last], os = s->ostep, xs = s->xstep;
    for (int64_t at = begin, n; at < end; at += n) {
        char *p[GP_LOOP_MAX];
        side acc;
        n = width - at % width < end - at ? width - at % width : end - at;
        if (n > COLUMNS) n = COLUMNS;
        gp_nd_loop_at(l, at, p);
        t.xstep = n * xs, t.ostep = n * os;
        begin_block(s, &acc);
        for (int64_t k = 0; k < s->n; k += SHORT) {
            int64_t steps = s->n - k < SHORT ? s->n - k : SHORT;
            gp_transpose(from, n * xs, p[1] + k * xs, l->stride[1][last], steps, n, (size_t)xs,
                         false);
            scan_block(&t, &acc, (char *[]){to, from}, os, xs, n, steps);
            gp_transpose(p[0] + k * os, l->stride[0][last], to, n * os, n, steps, (size_t)os,
                         false);
        }
    }
}

static int64_t part_end(const scan *s, int64_t part) {
    return (part + 1) * PART < s->n ? (part + 1) * PART : s->n;
}

/* The first pass: sums only. */
static void sum_parts(void *ctx, int64_t begin, int64_t end) {
    const scan *s = ctx;
    for (int64_t i = begin; i < end; i++)
        s->before[i + 1] = scan_range(s, NULL, s->x, i * PART, part_end(s, i), (number){.i = 0});
}

/* The second: each part from the sum before it. */
static void scan_parts(void *ctx, int64_t begin, int64_t end) {
    const scan *s = ctx;
    for (int64_t i = begin; i < end; i++)
        scan_range(s, s->out, s->x, i * PART, part_end(s, i), s->before[i]);
}

/* In the type that is summed in. */
static number plus(const scan *s, number a, number b) {
    if (s->ct == GP_CT_f64) a.f += b.f;
    else a.i += b.i;
    return a;
}

/* One line in fixed parts, so that the result does not depend on the number of threads: their sums
 * first, then each part from its start. One thread needs no sums beforehand. */
static bool scan_long(const gp_call *c, scan *s) {
    int64_t parts = (s->n + PART - 1) / PART;
    if (gp_threads() == 1 || gp_thread_worker()) {
        number at = {.i = 0};
        for (int64_t i = 0; i < parts; i++)
            at = plus(s, at, scan_range(s, s->out, s->x, i * PART, part_end(s, i), at));
        return true;
    }
    s->before = calloc((size_t)parts + 1, sizeof *s->before);
    if (!s->before) return gp_fail("cumsum: out of memory");
    bool ok = gp_parallel_op(c, parts, 1, sum_parts, s);
    for (int64_t i = 0; i < parts; i++) s->before[i + 1] = plus(s, s->before[i], s->before[i + 1]);
    ok = ok && gp_parallel_op(c, parts, 1, scan_parts, s);
    free(s->before);
    return ok;
}

/* Arguments: x, dim from 1 (infer has wrapped it). */
static bool run_scan(const gp_call *c, bool product) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0);
    int d = (int)c->arg[1].i - 1;
    if (out->numel == 0) return true;
    scan s = {.n = x->ndim ? x->dim[d] : 1,
              .ct = gp_is_float((gp_dtype)out->dtype) ? GP_CT_f64 : GP_CT_i64,
              .product = product,
              .x = x->data,
              .out = out->data};
    s.ostep = x->ndim ? out->stride[d] * (int64_t)gp_dtype_size((gp_dtype)out->dtype) : 0;
    s.xstep = x->ndim ? x->stride[d] * (int64_t)gp_dtype_size((gp_dtype)x->dtype) : 0;
    s.load = gp_load_fn((gp_dtype)x->dtype, s.ct);
    s.store = gp_store_fn(s.ct, (gp_dtype)out->dtype);
    s.floats =
        !product && x->dtype == GP_f32 && out->dtype == GP_f32 && s.xstep == 4 && s.ostep == 4;
    s.stream = s.n * 4 >= STREAM_BYTES && out->data != x->data;
    if (s.n == out->numel && s.n > 2 * PART && !product) return scan_long(c, &s);
    if (gp_offload_wanted(c, 15.0 * (double)s.n)) return gp_offload_run(c, c->name);
    gp_array o = gp_without_dim(out, d), in = gp_without_dim(x, d);
    const gp_array *arrays[2] = {&o, &in};
    gp_nd_loop_init(&s.lines, 2, arrays);
    int last = s.lines.ndim - 1;
    bool columns = s.lines.dim[last] >= 8 && s.lines.stride[1][last] < s.xstep;
    bool transposed = !columns && s.n > 1 && s.n <= (product ? PRODUCTS : SHORT) &&
                      s.lines.dim[last] >= 16 &&
                      s.xstep == (int64_t)gp_dtype_size((gp_dtype)x->dtype) &&
                      s.ostep == (int64_t)gp_dtype_size((gp_dtype)out->dtype);
    return gp_parallel_op(c, o.numel, 1 + GP_GRAIN / s.n,
                          columns                    ? scan_columns
                          : s.floats && s.n <= SHORT ? sum_short
                          : transposed               ? scan_transposed
                                                     : scan_lines,
                          &s);
}

bool CPU(cumsum)(const gp_call *c) { return run_scan(c, false); }
bool CPU(cumprod)(const gp_call *c) { return run_scan(c, true); }
