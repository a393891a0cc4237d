/* Shared by the tests of the op table: tensors in every layout with sentinels around them,
 * references in long double, comparison in ulps. */
#ifndef GP_TEST_OPS_H
#define GP_TEST_OPS_H

#include <math.h>
#include <stdlib.h>

#include "tap.h"
#include "tensor/memory/alloc.h"
#include "tensor/infer.h"
#include "tensor/op.h"
#include "tensor/sig.h"

/* Sanitized code takes several times as long: loops that count on nothing but time are shorter. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

typedef long double ld;

/* Sets of dtypes in the tests' own tables, written down from PyTorch's rules and never read from
 * the op's row. */
#define T_BOOL (1u << GP_bool)
#define T_INT (1u << GP_u8 | 1u << GP_i8 | 1u << GP_i16 | 1u << GP_i32 | 1u << GP_i64)
#define T_FLOAT (1u << GP_f16 | 1u << GP_bf16 | 1u << GP_f32 | 1u << GP_f64)
#define T_REAL (T_INT | T_FLOAT)
#define T_ALL (T_REAL | T_BOOL)

enum { FILLER = 0xA5 };

/* ---- dtypes, independently of tensor/dtype.c ---- */

typedef struct fmt {
    int mant;       /* bits of the fraction */
    int emin, emax; /* exponents of the smallest and the largest normal numbers */
} fmt;

static inline fmt fmt_of(gp_dtype dt) {
    switch (dt) {
    case GP_f16: return (fmt){10, -14, 15};
    case GP_bf16: return (fmt){7, -126, 127};
    case GP_f32: return (fmt){23, -126, 127};
    default: return (fmt){52, -1022, 1023};
    }
}

static inline bool dt_float(gp_dtype dt) { return T_FLOAT >> dt & 1; }
static inline size_t dt_size(gp_dtype dt) {
    return dt == GP_f64 || dt == GP_i64                    ? 8
           : dt == GP_f32 || dt == GP_i32                  ? 4
           : dt == GP_f16 || dt == GP_bf16 || dt == GP_i16 ? 2
                                                           : 1;
}

/* The distance between neighbours of dt at magnitude |x|. */
static inline ld ulp_at(gp_dtype dt, ld x) {
    fmt f = fmt_of(dt);
    int e = f.emin;
    if (x != 0 && isfinite(x)) {
        frexpl(x, &e);
        e = e - 1 < f.emin ? f.emin : e - 1;
    }
    return ldexpl(1, e - f.mant);
}

/* x rounded to dt's nearest number, halves to even. */
static inline ld round_to(gp_dtype dt, ld x) {
    if (!isfinite(x) || x == 0) return x;
    if (dt_size(dt) != 2) return dt == GP_f32 ? (ld)(float)x : (ld)(double)x;
    fmt f = fmt_of(dt);
    ld u = ulp_at(dt, x), r = rintl(x / u) * u; /* scaling by a power of two is exact */
    ld most = ldexpl(2 - ldexpl(1, -f.mant), f.emax);
    return fabsl(r) > most ? copysignl(INFINITY, x) : r;
}

/* The bits of a 16-bit float for a value that it represents. */
static inline uint16_t encode16(gp_dtype dt, ld x) {
    fmt f = fmt_of(dt);
    uint16_t sign = signbit(x) ? 0x8000 : 0, top = (uint16_t)((2 * f.emax + 1) << f.mant);
    if (isnan(x)) return sign | top | (uint16_t)(1 << (f.mant - 1));
    x = fabsl(x);
    if (isinf(x)) return sign | top;
    if (x < ldexpl(1, f.emin)) return sign | (uint16_t)ldexpl(x, f.mant - f.emin);
    int e;
    ld m = frexpl(x, &e); /* m in [0.5, 1) */
    return sign | (uint16_t)((e - 1 + f.emax) << f.mant) | (uint16_t)ldexpl(2 * m - 1, f.mant);
}

static inline ld decode16(gp_dtype dt, uint16_t h) {
    fmt f = fmt_of(dt);
    int mant = h & ((1 << f.mant) - 1), e = (h & 0x7fff) >> f.mant;
    ld x = e == 2 * f.emax + 1 ? (mant ? NAN : INFINITY)
           : e                 ? ldexpl((1 << f.mant) + mant, e - f.emax - f.mant)
                               : ldexpl(mant, f.emin - f.mant);
    return h & 0x8000 ? -x : x;
}

/* One value: f for floats, i for integers and bool. */
typedef struct val {
    ld f;
    int64_t i;
} val;

/* i wrapped to dt, if dt does not hold it. */
static inline int64_t wrap_to(gp_dtype dt, int64_t i) {
    switch (dt) {
    case GP_bool: return i != 0;
    case GP_u8: return i & 0xff;
    case GP_i8: return (i & 0x7f) - (i & 0x80);
    case GP_i16: return (i & 0x7fff) - (i & 0x8000);
    case GP_i32: return (i & 0x7fffffff) - (i & 0x80000000);
    default: return i;
    }
}

static inline void put_value(gp_dtype dt, void *p, val v) {
    float s = (float)v.f;
    double d = (double)v.f;
    uint16_t h;
    int64_t i = wrap_to(dt, v.i);
    if (dt == GP_f64) memcpy(p, &d, 8);
    else if (dt == GP_f32) memcpy(p, &s, 4);
    else if (dt_float(dt)) h = encode16(dt, round_to(dt, v.f)), memcpy(p, &h, 2);
    else memcpy(p, &i, dt_size(dt)); /* little-endian */
}

static inline val get_value(gp_dtype dt, const void *p) {
    val v = {0, 0};
    float s;
    double d;
    uint16_t h;
    if (dt == GP_f64) memcpy(&d, p, 8), v.f = d;
    else if (dt == GP_f32) memcpy(&s, p, 4), v.f = s;
    else if (dt_float(dt)) memcpy(&h, p, 2), v.f = decode16(dt, h);
    else memcpy(&v.i, p, dt_size(dt)), v.i = dt == GP_bool ? v.i : wrap_to(dt, v.i);
    if (!dt_float(dt)) v.f = v.i;
    return v;
}

/* ---- random and special values ---- */

static uint64_t rand_state = 88172645463325252u;
static inline uint64_t rand64(void) {
    rand_state ^= rand_state << 13, rand_state ^= rand_state >> 7, rand_state ^= rand_state << 17;
    return rand_state * 0x2545F4914F6CDD1Du;
}
static inline int64_t rand_in(int64_t lo, int64_t hi) {
    return lo + (int64_t)(rand64() % (uint64_t)(hi - lo + 1));
}
static inline ld rand_unit(void) { return (ld)(rand64() >> 11) * 0x1p-53L; }

static inline int64_t int_least(gp_dtype dt) {
    return dt == GP_i8    ? INT8_MIN
           : dt == GP_i16 ? INT16_MIN
           : dt == GP_i32 ? INT32_MIN
           : dt == GP_i64 ? INT64_MIN
                          : 0;
}
static inline int64_t int_most(gp_dtype dt) {
    return dt == GP_i8    ? INT8_MAX
           : dt == GP_i16 ? INT16_MAX
           : dt == GP_i32 ? INT32_MAX
           : dt == GP_i64 ? INT64_MAX
           : dt == GP_u8  ? 255
                          : 1;
}

enum { SPECIALS = 24 };
/* The k-th awkward value of dt. */
static inline val special(gp_dtype dt, int k) {
    fmt f = fmt_of(dt);
    ld most = ldexpl(2 - ldexpl(1, -f.mant), f.emax);
    /* clang-format off */
    const ld fs[SPECIALS] = {
        NAN, INFINITY, -INFINITY, 0, -0.0L, 1, -1, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, most, -most,
        ldexpl(1, f.emin), -ldexpl(1, f.emin), 100, -100, 3, -3, 0.25, ldexpl(1, f.mant), -1000};
    const int64_t is[SPECIALS] = {
        0, 1, -1, 2, -2, int_least(dt), int_most(dt), int_least(dt) + 1, int_most(dt) - 1,
        3, -3, 7, -7, 10, 100, -100, 5, -5, 64, 63, 8, -8, 12, 31};
    /* clang-format on */
    val v = {fs[k % SPECIALS], wrap_to(dt, is[k % SPECIALS])};
    if (!dt_float(dt)) v.f = v.i;
    return v;
}

/* A random value of dt in [lo, hi], as dt represents it. */
static inline val sample(gp_dtype dt, double lo, double hi) {
    int64_t a = (int64_t)ceil(lo), b = (int64_t)floor(hi);
    if (a < int_least(dt)) a = int_least(dt);
    if (b > int_most(dt)) b = int_most(dt);
    val v = {round_to(dt, lo + (hi - lo) * rand_unit()), dt_float(dt) ? 0 : rand_in(a, b)};
    if (!dt_float(dt)) v.f = v.i;
    return v;
}

/* ---- layouts ---- */

typedef enum layout {
    CONTIGUOUS,
    STEP2,
    TRANSPOSED,
    PERMUTED,
    ZERO_D,
    EMPTY,
    EXPANDED,
    COLUMN,
    MISALIGNED,
    LONG_ROWS,
    BIG,
    AWKWARD,
    LAYOUTS
} layout;
static const char *const layout_names[LAYOUTS] = {
    "contiguous", "step 2",     "transposed", "permuted",  "0-d", "empty",
    "expanded",   "column 5x1", "misaligned", "long rows", "big", "NaN Inf -0"};

/* Shape, strides and offset in elements of a layout. */
static inline void layout_of(layout l, gp_shape *s, int64_t *stride, int64_t *offset) {
    static const struct {
        int ndim;
        int64_t dim[3], stride[3], offset;
    } rows[LAYOUTS] = {
        [CONTIGUOUS] = {2, {5, 7}, {7, 1}, 0}, [STEP2] = {2, {5, 7}, {28, 2}, 3},
        [TRANSPOSED] = {2, {5, 7}, {1, 5}, 0}, [PERMUTED] = {3, {3, 4, 5}, {1, 15, 3}, 2},
        [ZERO_D] = {0, {0}, {0}, 1},           [EMPTY] = {3, {3, 0, 2}, {2, 2, 1}, 0},
        [EXPANDED] = {2, {5, 7}, {0, 1}, 1},   [COLUMN] = {2, {5, 1}, {1, 1}, 0},
        [MISALIGNED] = {2, {5, 7}, {7, 1}, 1}, [LONG_ROWS] = {2, {3, 1500}, {3001, 2}, 1},
        [BIG] = {1, {33001}, {1}, 0},          [AWKWARD] = {1, {SPECIALS}, {1}, 0},
    };
    s->ndim = rows[l].ndim;
    *offset = rows[l].offset;
    for (int i = 0; i < s->ndim; i++) s->dim[i] = rows[l].dim[i], stride[i] = rows[l].stride[i];
}

/* A tensor of a test: t is a view of base (1-d, contiguous), which has filler bytes wherever t has
 * no element; v are t's values, row-major. */
typedef struct fixture {
    gp_tensor *t, *base;
    gp_dtype dt;
    int64_t n, span; /* elements of t; of base */
    int64_t *at;     /* element k of t is element at[k] of base */
    val *v;
} fixture;

static inline void *need(void *p) {
    if (p) return p;
    printf("Bail out! %s\n", gp_error());
    exit(1);
}

/* host bytes as a 1-d tensor on dev */
static inline gp_tensor *upload(gp_device *dev, gp_dtype dt, const void *bytes, int64_t n) {
    gp_shape s = {.ndim = 1, .dim = {n}};
    gp_tensor *host = need(gp_tensor_new(gp_device_cpu(), dt, &s));
    memcpy(host->a.data, bytes, (size_t)n * dt_size(dt));
    gp_tensor *t = need(gp_to_device(host, dev, false, GP_WHY_explicit, "test"));
    gp_tensor_unref(host);
    return t;
}

/* The bytes of a contiguous tensor; malloc'd. */
static inline void *download(gp_tensor *t) {
    gp_tensor *host = need(gp_to_device(t, gp_device_cpu(), false, GP_WHY_explicit, "test"));
    size_t bytes = (size_t)t->a.numel * dt_size((gp_dtype)t->a.dtype);
    void *p = malloc(bytes + 1);
    memcpy(p, host->a.data, bytes);
    gp_tensor_unref(host);
    return p;
}

static inline int64_t place_of(const gp_shape *s, const int64_t *stride, int64_t k) {
    int64_t at = 0;
    for (int d = s->ndim - 1; d >= 0; d--) at += k % s->dim[d] * stride[d], k /= s->dim[d];
    return at;
}

/* value(k, arg) gives element k; where elements share memory (expanded) the first one's value
 * counts. */
static inline fixture fixture_new(gp_device *dev, gp_dtype dt, const gp_shape *s,
                                  const int64_t *stride, int64_t offset,
                                  val (*value)(int64_t, void *), void *arg) {
    fixture x = {.dt = dt, .n = 1, .span = offset};
    for (int d = 0; d < s->ndim; d++) x.n *= s->dim[d];
    x.at = malloc((size_t)(x.n + 1) * sizeof *x.at);
    x.v = malloc((size_t)(x.n + 1) * sizeof *x.v);
    for (int64_t k = 0; k < x.n; k++) {
        x.at[k] = offset + place_of(s, stride, k);
        if (x.at[k] >= x.span) x.span = x.at[k] + 1;
    }
    x.span += 3;
    size_t size = dt_size(dt);
    unsigned char *bytes = malloc((size_t)x.span * size), *done = calloc((size_t)x.span, 1);
    memset(bytes, dt == GP_bool ? 1 : FILLER, (size_t)x.span * size);
    for (int64_t k = 0; k < x.n; k++) {
        if (!done[x.at[k]]) put_value(dt, bytes + (size_t)x.at[k] * size, value(k, arg));
        done[x.at[k]] = 1;
        x.v[k] = get_value(dt, bytes + (size_t)x.at[k] * size);
    }
    x.base = upload(dev, dt, bytes, x.span);
    x.t = need(gp_tensor_view(x.base, s, stride, offset));
    free(bytes), free(done);
    return x;
}

static inline void fixture_free(fixture *x) {
    gp_tensor_unref(x->t), gp_tensor_unref(x->base);
    free(x->at), free(x->v);
    *x = (fixture){0};
}

typedef struct span_of {
    gp_dtype dt;
    double lo, hi;
    bool awkward;
    int spread; /* AWKWARD: how many elements apart the value changes */
} span_of;

static inline val draw(int64_t k, void *arg) {
    span_of *s = arg;
    return s->awkward ? special(s->dt, (int)(k / (s->spread ? s->spread : 1) % SPECIALS))
                      : sample(s->dt, s->lo, s->hi);
}

/* A tensor of random values in [lo, hi], or of awkward ones, in the layout. */
static inline fixture fixture_of(gp_device *dev, gp_dtype dt, layout l, double lo, double hi) {
    gp_shape s;
    int64_t stride[3], offset;
    layout_of(l, &s, stride, &offset);
    return fixture_new(dev, dt, &s, stride, offset, draw, &(span_of){dt, lo, hi, l == AWKWARD, 1});
}

/* ---- comparison ---- */

/* got against want, in a float dtype: at most `ulps` neighbours apart at the magnitude of want or
 * scale; zeros have the same sign unless anyzero. */
static inline bool near_enough(gp_dtype dt, ld got, ld want, double ulps, ld scale, bool anyzero) {
    if (isnan(want)) return isnan(got);
    ld w = round_to(dt, want);
    if (got == w) return w != 0 || anyzero || signbit(got) == signbit(w);
    if (isinf(w) || isinf(got))
        return ulps > 0 && fabsl(fabsl(isinf(w) ? got : w) - ldexpl(2, fmt_of(dt).emax)) <=
                               (ulps + 1) * ulp_at(dt, isinf(w) ? got : w);
    if (ulps > 0 && fabsl(want) < ldexpl(1, fmt_of(dt).emin) &&
        fabsl(got) < ldexpl(1, fmt_of(dt).emin))
        return true; /* subnormals may be flushed */
    ld m = fabsl(want) > scale ? fabsl(want) : scale;
    return fabsl(got - want) <=
           (ld)ulps * ulp_at(dt, m) +
               ulp_at(dt, want) * 0.5005L; /* want is itself rounded, to 64 bits */
}

/* How results are judged. */
typedef struct judge {
    double ulps; /* of f32 and f64; 16-bit floats are computed in f32 with as many of its ulps, and
                    rounded once */
    ld scale;
    bool anyzero;
    const ld *scales; /* an element's own scale, or NULL */
} judge;

static inline bool same_value(gp_dtype dt, val got, val want, const judge *j, int64_t k) {
    if (!dt_float(dt)) return got.i == wrap_to(dt, want.i);
    double ulps =
        dt_size(dt) == 2 ? ldexp(j->ulps, fmt_of(dt).mant - fmt_of(GP_f32).mant) : j->ulps;
    return near_enough(dt, got.f, want.f, ulps, j->scales ? j->scales[k] : j->scale, j->anyzero);
}

/* The last error, for the diagnostic of the summarising assertion. */
static char trouble[600];
__attribute__((format(printf, 1, 2))) static inline bool complain(const char *format, ...) {
    if (*trouble) return false; /* only the first one is kept */
    va_list ap;
    va_start(ap, format);
    vsnprintf(trouble, sizeof trouble, format, ap);
    va_end(ap);
    return false;
}

/* One assertion for the checks before it: passes if none failed. */
__attribute__((format(printf, 1, 2))) static inline bool tap_quiet(const char *format, ...) {
    char name[300];
    va_list ap;
    va_start(ap, format);
    vsnprintf(name, sizeof name, format, ap);
    va_end(ap);
    bool ok = !*trouble;
    tap_ok(ok, "%s", name);
    if (!ok) fprintf(stderr, "#   %s\n", trouble);
    *trouble = 0;
    return ok;
}

static inline bool check_bytes(const char *what, gp_dtype dt, const void *p, const val *want,
                               const val *in, int64_t n, const judge *j) {
    for (int64_t k = 0; k < n; k++) {
        val got = get_value(dt, (const char *)p + (size_t)k * dt_size(dt));
        if (dt == GP_bool && ((const uint8_t *)p)[k] > 1)
            return complain("%s: element %lld: a bool of %d", what, (long long)k,
                            ((const uint8_t *)p)[k]);
        if (!same_value(dt, got, want[k], j, k))
            return complain(
                "%s: element %lld of %s: got %.17Lg (%lld), expected %.17Lg (%lld), from %.17Lg",
                what, (long long)k, gp_dtype_name(dt), got.f, (long long)got.i, want[k].f,
                (long long)want[k].i, in ? in[k].f : 0);
    }
    return true;
}

static inline bool check_shape(const char *what, const gp_tensor *t, gp_dtype dt,
                               const gp_shape *s) {
    gp_shape have = gp_tensor_shape(t);
    char a[160], b[160];
    if (t->a.dtype == dt && have.ndim == s->ndim &&
        !memcmp(have.dim, s->dim, (size_t)s->ndim * sizeof *s->dim))
        return true;
    return complain("%s: got %s, expected %s %s", what, gp_tensor_text(t, a, sizeof a),
                    gp_dtype_name(dt), gp_shape_text(s, b, sizeof b));
}

/* A new result: shape, dtype and values. */
static inline bool check_result(const char *what, gp_tensor *t, gp_dtype dt, const gp_shape *s,
                                const val *want, const val *in, const judge *j) {
    if (!check_shape(what, t, dt, s)) return false;
    if (!t->a.contiguous) return complain("%s: a new result is not contiguous", what);
    void *p = download(t);
    bool ok = check_bytes(what, dt, p, want, in, t->a.numel, j);
    free(p);
    return ok;
}

/* x's base: its elements have the values `want`, and between them the filler is untouched. */
static inline bool check_written(const char *what, const fixture *x, const val *want,
                                 const judge *j) {
    size_t size = dt_size(x->dt);
    unsigned char *p = download(x->base), *own = calloc((size_t)x->span + 1, 1),
                  fill = x->dt == GP_bool ? 1 : FILLER;
    bool ok = true;
    for (int64_t k = 0; k < x->n && ok; k++) {
        own[x->at[k]] = 1;
        ok = check_bytes(what, x->dt, p + (size_t)x->at[k] * size, want + k, x->v + k, 1, j);
    }
    for (size_t b = 0; ok && b < (size_t)x->span * size; b++)
        if (!own[b / size] && p[b] != fill)
            ok = complain("%s: byte %zu outside of the tensor was written", what, b);
    free(p), free(own);
    return ok;
}

/* ---- memory past the end of new results ---- */

/* Leaves a cached block of the class of `bytes` with known contents, which the next allocation of
 * that class takes. Returns its address. */
static inline char *prime(gp_device *dev, size_t bytes) {
    gp_storage *st = need(gp_storage_new(gp_stream_current(dev), bytes));
    size_t all = st->bytes;
    gp_storage_unref(st);
    unsigned char *p = malloc(all);
    memset(p, FILLER, all);
    gp_tensor *t = upload(dev, GP_u8, p, (int64_t)all);
    char *data = t->a.data;
    free(p);
    gp_tensor_unref(t);
    return data;
}

/* Whether the kernel that made t stayed inside it. Known only if t is in the block that prime()
 * left. */
static inline bool check_slack(const char *what, gp_tensor *t, const char *primed) {
    if (t->storage->data != primed) return true;
    gp_shape s = {.ndim = 1, .dim = {(int64_t)t->storage->bytes}};
    gp_tensor *all = need(gp_tensor_wrap(gp_storage_ref(t->storage), GP_u8, &s));
    unsigned char *p = download(all);
    bool ok = true;
    for (size_t b = (size_t)t->a.numel * dt_size((gp_dtype)t->a.dtype); ok && b < t->storage->bytes;
         b++)
        if (p[b] != FILLER)
            ok = complain("%s: byte %zu beyond the end of the result was written", what, b);
    free(p);
    gp_tensor_unref(all);
    return ok;
}

/* The devices of a test: fn(dev) for cpu and sim; in tests/cuda for the stand-in instead. */
static inline void on_devices(void (*fn)(gp_device *)) {
    const char *only = getenv("GPUSH_TEST_DEVICE");
    if (only) fn(need(gp_device_get(only)));
    if (only) return;
    fn(need(gp_device_get("cpu")));
    fn(need(gp_device_get("sim")));
}

#endif
