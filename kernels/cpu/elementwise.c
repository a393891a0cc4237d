/* Elementwise ops of the table: each row's formula becomes a loop over contiguous blocks per
 * compute type; one driver feeds them any layout and dtype. */
#include "kernels/cpu/elementwise.h"

#include <string.h>
#include "kernels/cpu/math.h"
#include "kernels/cpu/normal.h"
#include "kernels/cpu/stream.h"
#include "kernels/power.h"

#undef bool /* a row of dtype.def */
/* ---- the loops, from the formulas ---- */

#define T_f32 float
#define T_f64 double
#define T_i32 int32_t
#define T_i64 int64_t
/* Signed overflow is undefined in C, and wraps in a tensor: integer formulas are compiled with
 * -fwrapv. */
#define LOOP(name, R, T, vars, ...)                                                                \
    static void name(int64_t n, void *out, const void *const *in, const gp_scalar *par) {          \
        R *restrict o = out;                                                                       \
        vars(T) _Pragma("omp simd") for (int64_t i = 0; i < n; i++) { __VA_ARGS__ }                \
    }
/* Parameters in compute type; what lies beyond an integer type's range becomes its end, an absent
 * bound among it. */
static inline int64_t limit_int64_t(gp_scalar s) {
    if (!s.is_float) return s.i;
    return s.f >= 0x1p63 ? INT64_MAX : s.f > -0x1p63 ? (int64_t)s.f : s.f != s.f ? 0 : INT64_MIN;
}
static inline int32_t limit_int32_t(gp_scalar s) {
    int64_t i = limit_int64_t(s);
    return i > INT32_MAX ? INT32_MAX : i < INT32_MIN ? INT32_MIN : (int32_t)i;
}
#define IN1(T) const T *u = in[0];
#define IN2(T) const T *u = in[0], *v = in[1];
#define IN3(T) const T *u = in[0], *v = in[1], *w = in[2];
#define PQR(T)                                                                                     \
    const T p = limit_##T(par[0]), q = limit_##T(par[1]), r = limit_##T(par[2]);                   \
    (void)p, (void)q, (void)r;
#define INP(T) IN1(T) PQR(T)
#define INP3(T) IN3(T) PQR(T)

#define UNARY1(n, t, y)                                                                            \
    LOOP(loop_##n##_##t, T_##t, T_##t, IN1, const T_##t x = u[i]; o[i] = (T_##t)(y);)
#define PARAM1(n, t, y)                                                                            \
    LOOP(loop_##n##_##t, T_##t, T_##t, INP, const T_##t x = u[i]; o[i] = (T_##t)(y);)
#define PREDICATE1(n, t, y)                                                                        \
    LOOP(loop_##n##_##t, uint8_t, T_##t, IN1, const T_##t x = u[i]; o[i] = (uint8_t)(y);)
#define BINARY1(n, t, y)                                                                           \
    LOOP(loop_##n##_##t, T_##t, T_##t, IN2, const T_##t a = u[i], b = v[i]; o[i] = (T_##t)(y);)
#define COMPARE1(n, t, y)                                                                          \
    LOOP(loop_##n##_##t, uint8_t, T_##t, IN2, const T_##t a = u[i], b = v[i]; o[i] = (uint8_t)(y);)
#define TERNARY1(n, t, y)                                                                          \
    LOOP(loop_##n##_##t, T_##t, T_##t, IN3, const T_##t a = u[i], b = v[i], c = w[i];              \
         o[i] = (T_##t)(y);)

#define PARAM31(n, t, y)                                                                           \
    LOOP(loop_##n##_##t, T_##t, T_##t, INP3, const T_##t a = u[i], b = v[i], c = w[i];             \
         o[i] = (T_##t)(y);)

/* Which compute types a row's types ask for. */
#define EACH_FLOAT(M, n, y) M(n, f32, y) M(n, f64, y)
#define EACH_FLOATS(M, n, y) EACH_FLOAT(M, n, y)
#define EACH_INTS(M, n, y) M(n, i32, y) M(n, i64, y)
#define EACH_WHOLE(M, n, y) EACH_INTS(M, n, y)
#define EACH_REAL(M, n, y) EACH_FLOAT(M, n, y) EACH_INTS(M, n, y)
#define EACH_ALL(M, n, y) EACH_REAL(M, n, y)

#define UNARY(n, ty, y, ...) EACH_##ty(UNARY1, n, y)
#define PARAM(n, ty, sig, y, ...) EACH_##ty(PARAM1, n, y)
#define PARAM3(n, ty, sig, y, ...) EACH_##ty(PARAM31, n, y)
#define PREDICATE(n, ty, y, ...) EACH_##ty(PREDICATE1, n, y)
#define BINARY(n, ty, y, ...) EACH_##ty(BINARY1, n, y)
#define COMPARE(n, ty, y, ...) EACH_##ty(COMPARE1, n, y)
#define TERNARY(n, ty, y, ...) EACH_##ty(TERNARY1, n, y)
#include "tensor/ops.def"

/* ---- the driver ---- */

enum { MOST_IN = GP_MOST_IN, GRAIN = 32768 };

typedef struct operand {
    gp_load load;   /* NULL: elements are of compute type already and lie side by side */
    int64_t step;   /* bytes between elements in a row */
    _Bool constant; /* the block holds one value for the whole row */
} operand;

typedef struct run {
    gp_loop loop;
    gp_block_fn fn;
    int nin;
    gp_ctype ct;
    _Bool stream;   /* the output is too large to stay in a cache */
    _Bool ahead;    /* … or the operands are, and the output is not streamed */
    gp_store store; /* NULL: fn writes the output itself */
    operand in[MOST_IN];
    gp_scalar par[3];
    char numbers[MOST_IN][8]; /* number operands, in compute type */
    _Atomic int fault;
} run;

/* The operands that fn reads in place, at element i: their number. */
static int in_place(const run *r, char *const *p, int64_t i, const char **at) {
    int n = 0;
    for (int k = 0; k < r->nin; k++)
        if (!r->in[k].constant && !r->in[k].load) at[n++] = p[k + 1] + i * r->in[k].step;
    return n;
}

/* Elements i … i+n of a row whose operands begin at p. */
static void run_block(const run *r, char *const *p, int64_t i, int64_t n,
                      char (*buf)[GP_BLOCK * 8]) {
    const void *in[MOST_IN];
    for (int k = 0; k < r->nin; k++) {
        const operand *o = &r->in[k];
        if (o->constant) {
            in[k] = buf[k];
        } else if (o->load) {
            o->load(buf[k], p[k + 1] + i * o->step, o->step, n);
            in[k] = buf[k];
        } else {
            in[k] = p[k + 1] + i * o->step;
        }
    }
    int64_t ostep = r->loop.stride[0][r->loop.ndim - 1];
    if (!r->store) {
        char *out = p[0] + i * ostep;
        const char *next[MOST_IN];
        int found = in_place(r, p, i + n, next);
        for (int k = 0; r->ahead && k < found; k++) fetch_block(next[k], n * gp_ctype_size[r->ct]);
        r->fn(n, r->stream ? buf[MOST_IN] : out, in, r->par);
        if (!r->stream) return;
        stream_out(out, buf[MOST_IN], (size_t)(n * ostep), next, found);
        return;
    }
    r->fn(n, buf[MOST_IN], in, r->par);
    r->store(p[0] + i * ostep, ostep, buf[MOST_IN], n);
}

#define REPEAT(T)                                                                                  \
    static void repeat_##T(void *buf, int64_t n) {                                                 \
        T *o = buf, v = *o;                                                                        \
        for (int64_t i = 1; i < n; i++) o[i] = v;                                                  \
    }
REPEAT(uint32_t)
REPEAT(uint64_t)

/* Fills the blocks of operands that do not change along a row. */
static void fill_constants(const run *r, char *const *p, int64_t n, char (*buf)[GP_BLOCK * 8]) {
    for (int k = 0; k < r->nin; k++) {
        if (!r->in[k].constant) continue;
        int size = gp_ctype_size[r->ct];
        if (r->in[k].load) r->in[k].load(buf[k], p[k + 1], 0, 1);
        else memcpy(buf[k], p[k + 1], (size_t)size);
        if (size == 4) repeat_uint32_t(buf[k], n);
        else repeat_uint64_t(buf[k], n);
    }
}

static void run_rows(void *ctx, int64_t begin, int64_t end) {
    run *r = ctx;
    _Alignas(64) char buf[MOST_IN + 1][GP_BLOCK * 8];
    int64_t width = r->loop.dim[r->loop.ndim - 1];
    char *p[GP_LOOP_MAX];
    cpu_fault = 0;
    for (int64_t at = begin; at < end;) {
        int64_t row = at / width * width, i = at - row,
                stop = end - row < width ? end - row : width;
        gp_loop_at(&r->loop, row, p);
        fill_constants(r, p, stop - i < GP_BLOCK ? stop - i : GP_BLOCK, buf);
        for (; i < stop; i += GP_BLOCK)
            run_block(r, p, i, stop - i < GP_BLOCK ? stop - i : GP_BLOCK, buf);
        at = row + stop;
    }
    if (r->stream) stream_end();
    if (cpu_fault) r->fault |= cpu_fault;
}

static _Bool tell_fault(const gp_call *c, int fault) {
    if (fault & FAULT_DIV_ZERO) return gp_fail("%s: integer division by zero", c->op->name);
    if (fault & FAULT_NEG_POW)
        return gp_fail(
            "%s: an integer raised to a negative integer; convert to a float dtype first",
            c->op->name);
    return true;
}

static gp_scalar number_of(const gp_value *v) {
    gp_scalar s = {.is_float = v->is_float};
    if (v->is_float) s.f = v->f;
    else s.i = v->i;
    return s;
}

/* n copies of a number in compute type. */
static void fill_number(void *buf, gp_ctype ct, const gp_value *v, int64_t n) {
    gp_scalar s = number_of(v);
    if (ct == GP_CT_f32) {
        float f = s.is_float ? (float)s.f : (float)s.i;
        for (int64_t i = 0; i < n; i++) ((float *)buf)[i] = f;
        return;
    }
    uint64_t bits = 0;
    gp_scalar_store((gp_dtype)gp_ctype_dtype[ct], &bits, s);
    if (ct == GP_CT_i32)
        for (int64_t i = 0; i < n; i++) ((uint32_t *)buf)[i] = (uint32_t)bits;
    else
        for (int64_t i = 0; i < n; i++) ((uint64_t *)buf)[i] = bits;
}

/* Number operands take part as arrays of one element that never moves. */
static void number_operand(run *r, int k, const gp_value *v, gp_array *a) {
    gp_scalar_store((gp_dtype)gp_ctype_dtype[r->ct], r->numbers[k], number_of(v));
    *a = (gp_array){
        .data = r->numbers[k], .numel = 1, .dtype = gp_ctype_dtype[r->ct], .contiguous = true};
}

/* All operands contiguous, of compute type and one shape, or numbers: one call, no set-up. */
static _Bool run_plain(const gp_call *c, gp_block_fn fn, gp_ctype ct, const gp_array *out, int nin,
                       gp_dtype result, const gp_scalar *par) {
    _Alignas(64) char numbers[2][GP_BLOCK * 8];
    const void *in[MOST_IN];
    int filled = 0;
    if (out->numel > GRAIN || !out->contiguous || out->dtype != result) return false;
    for (int k = 0; k < nin; k++) {
        const gp_value *v = &c->arg[k];
        if (v->kind == GP_NUMBER && out->numel <= GP_BLOCK && filled < 2) {
            fill_number(numbers[filled], ct, v, out->numel);
            in[k] = numbers[filled++];
            continue;
        }
        if (v->kind != GP_TENSOR) return false;
        const gp_array *a = v->a;
        if (a->dtype != gp_ctype_dtype[ct] || !a->contiguous || a->numel != out->numel)
            return false;
        in[k] = a->data;
    }
    cpu_fault = 0;
    fn(out->numel, out->data, in, par);
    return true;
}

static void set_up(run *r, const gp_call *c, const gp_array *out, gp_dtype result) {
    gp_array number[MOST_IN];
    const gp_array *arrays[1 + MOST_IN] = {out};
    for (int k = 0; k < r->nin; k++) {
        if (c->arg[k].kind == GP_NUMBER) number_operand(r, k, &c->arg[k], &number[k]);
        arrays[k + 1] = c->arg[k].kind == GP_NUMBER ? &number[k] : c->arg[k].a;
    }
    gp_loop_init(&r->loop, 1 + r->nin, arrays);
    int last = r->loop.ndim - 1;
    for (int k = 0; k < r->nin; k++) {
        operand *o = &r->in[k];
        gp_dtype dt = (gp_dtype)arrays[k + 1]->dtype;
        o->step = r->loop.stride[k + 1][last];
        o->constant = o->step == 0;
        _Bool direct =
            dt == gp_ctype_dtype[r->ct] && (o->constant || o->step == gp_ctype_size[r->ct]);
        o->load = direct ? NULL : gp_load_fn(dt, r->ct);
    }
    _Bool direct =
        out->dtype == result &&
        (r->loop.stride[0][last] == (int64_t)gp_dtype_size(result) || r->loop.dim[last] == 1);
    if (direct) r->store = NULL;
    else r->store = result == GP_bool ? NULL : gp_store_fn(r->ct, (gp_dtype)out->dtype);
}

/* Comparisons write bool; a strided or converted target goes through i32. */
static void widen_bool(char *dst, int64_t step, const void *src, int64_t n) {
    const uint8_t *s = src;
    for (int64_t i = 0; i < n; i++) *(uint8_t *)(dst + i * step) = s[i];
}
#define BOOL_TO(name, type, kind)                                                                  \
    static void bool_to_##name(char *dst, int64_t step, const void *src, int64_t n) {              \
        const uint8_t *s = src;                                                                    \
        float one = 1, zero = 0;                                                                   \
        char ones[8], zeros[8];                                                                    \
        gp_store_fn(GP_CT_f32, GP_##name)(ones, 8, &one, 1);                                       \
        gp_store_fn(GP_CT_f32, GP_##name)(zeros, 8, &zero, 1);                                     \
        for (int64_t i = 0; i < n; i++) memcpy(dst + i * step, s[i] ? ones : zeros, sizeof(type)); \
    }
#define DTYPE(name, type, kind) BOOL_TO(name, type, kind)
#include "tensor/dtype.def"
static gp_store bool_store(gp_dtype to) {
    static const gp_store fns[GP_DTYPES] = {
#define DTYPE(name, type, kind) bool_to_##name,
#include "tensor/dtype.def"
    };
    return to == GP_bool ? widen_bool : fns[to];
}

/* Of an inverted bool only the lowest bit tells: ~1 is -2 in compute type. */
static void store_inverted(char *dst, int64_t step, const void *src, int64_t n) {
    const int32_t *s = src;
    for (int64_t i = 0; i < n; i++) *(uint8_t *)(dst + i * step) = s[i] & 1;
}

static gp_scalar parameter(const gp_call *c, int i, double absent) {
    if (!gp_given(c, i)) return (gp_scalar){.is_float = true, .f = absent};
    const gp_value *v = &c->arg[i];
    if (v->kind == GP_FLOAT || v->is_float) return (gp_scalar){.is_float = true, .f = v->f};
    return (gp_scalar){.i = v->i};
}

_Bool gp_run_elementwise(const gp_call *c, const gp_block_fn *fns, int nin, _Bool compare) {
    const gp_array *out = gp_out(c, 0);
    gp_ctype ct = gp_compute_type((gp_dtype)c->compute);
    gp_dtype result = compare ? GP_bool : (gp_dtype)gp_ctype_dtype[ct];
    if (out->numel == 0) return true;
    gp_scalar par[3];
    if (c->op->kind == GP_PARAM || c->op->kind == GP_GRAD)
        for (int i = 0; i < 3; i++) par[i] = parameter(c, nin + i, i ? INFINITY : -INFINITY);
    if (run_plain(c, fns[ct], ct, out, nin, result, par)) return tell_fault(c, cpu_fault);
    run r = {.fn = fns[ct], .nin = nin, .ct = ct};
    set_up(&r, c, out, result);
    if (compare && (out->dtype != GP_bool ||
                    (r.loop.stride[0][r.loop.ndim - 1] != 1 && r.loop.dim[r.loop.ndim - 1] != 1)))
        r.store = bool_store((gp_dtype)out->dtype);
    if (c->op == GP_OP(bitwise_not) && c->compute == GP_bool) r.store = store_inverted;
    if (c->op->kind == GP_PARAM || c->op->kind == GP_GRAD) memcpy(r.par, par, sizeof par);
    /* In place the line is in a cache already. */
    r.stream = !c->into && !r.store && r.loop.dim[r.loop.ndim - 1] >= GP_BLOCK &&
               out->numel * (int64_t)gp_dtype_size(result) >= STREAM_BYTES;
    r.ahead = !r.stream && !r.store && out->numel * gp_ctype_size[ct] >= STREAM_BYTES;
    return gp_parallel_op(c, out->numel, GRAIN, run_rows, &r) && tell_fault(c, r.fault);
}

/* ---- shorter ways ---- */

/* The remainder of f32 by way of double, which is exact while the quotient fits into 28 bits; of a
 * block with a larger one each element is left to the library. */
#define REMAINDER(name, after)                                                                     \
    static void quick_##name(int64_t n, void *out, const void *const *in, const gp_scalar *par) {  \
        const float *u = in[0], *v = in[1];                                                        \
        float *o = out;                                                                            \
        int large = 0;                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                          \
            double a = u[i], b = v[i], k = a / b;                                                  \
            large |= fabs(k) >= 0x1p28 && fabs(k) <= (double)INFINITY && b != 0 &&                 \
                     fabs(a) < (double)INFINITY;                                                   \
        }                                                                                          \
        if (large) {                                                                               \
            loop_##name##_f32(n, out, in, par);                                                    \
            return;                                                                                \
        }                                                                                          \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                      \
            double a = u[i], b = v[i], k = trunc(a / b), r = a - k * b;                            \
            r = fabs(b) == (double)INFINITY && fabs(a) < (double)INFINITY ? a : r;                 \
            float y = copysignf((float)r, u[i]);                                                   \
            o[i] = after;                                                                          \
        }                                                                                          \
    }
REMAINDER(fmod, y)
REMAINDER(remainder, y != 0 && (y < 0) != (v[i] < 0) ? y + v[i] : y)

/* The vector forms take powers of negative numbers one by one, so they get none: the sign follows.
 */
#define POW(T, t, fabs, rint, copysign)                                                            \
    static void quick_pow_##t(int64_t n, void *out, const void *const *in, const gp_scalar *par) { \
        const T *u = in[0], *v = in[1];                                                            \
        T *o = out, size[GP_BLOCK], whole[GP_BLOCK];                                               \
        for (int64_t at = 0; at < n;                                                               \
             at += GP_BLOCK, u += GP_BLOCK, v += GP_BLOCK, o += GP_BLOCK) {                        \
            int64_t m = n - at < GP_BLOCK ? n - at : GP_BLOCK;                                     \
            for (int64_t i = 0; i < m; i++) size[i] = fabs(u[i]);                                  \
            loop_pow_##t(m, whole, (const void *[]){size, v}, par);                                \
            _Pragma("omp simd") for (int64_t i = 0; i < m; i++) {                                  \
                const T a = u[i], b = v[i], r = whole[i], half = b * (T)0.5,                       \
                        minus = copysign(1, a);                                                    \
                const T y = rint(half) == half ? r : r * minus;                                    \
                o[i] = rint(b) == b ? y : a < 0 && a > -(T)INFINITY ? (T)NAN : r;                  \
            }                                                                                      \
        }                                                                                          \
    }
POW(float, f32, fabsf, (rintf), copysignf)
POW(double, f64, (fabs), (rint), (copysign))

#define CUBE(t) LOOP(cube_##t, T_##t, T_##t, IN1, const T_##t x = u[i]; o[i] = x * x * x;)
CUBE(f32)
CUBE(f64)

/* The loops of a power by a number; NULL: any. */
static const gp_block_fn *power(const gp_call *c) {
    static const gp_block_fn squares[GP_CTYPES] = {loop_square_f32, loop_square_f64,
                                                   loop_square_i32, loop_square_i64},
                             cubes[GP_CTYPES] = {cube_f32, cube_f64},
                             roots[GP_CTYPES] = {loop_sqrt_f32, loop_sqrt_f64},
                             inverse_roots[GP_CTYPES] = {loop_rsqrt_f32, loop_rsqrt_f64},
                             quotients[GP_CTYPES] = {loop_reciprocal_f32, loop_reciprocal_f64};
    const gp_op *as = gp_power_as(c);
    const gp_value *e = &c->arg[1];
    if (as == GP_OP(square)) return squares;
    if (as == GP_OP(sqrt)) return roots;
    if (as == GP_OP(rsqrt)) return inverse_roots;
    if (as == GP_OP(reciprocal)) return quotients;
    return (e->is_float ? e->f : (double)e->i) == 3 ? cubes : NULL;
}

static void quick_gelu(int64_t n, void *out, const void *const *in, const gp_scalar *par) {
    const float *u = in[0];
    float *restrict o = out;
    _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {
        const float x = u[i];
        float below;
        normal_f32(x, &below);
        o[i] = x * below;
    }
}

/* Without a number that needs the reflection. */
#define LGAMMA(T, t)                                                                               \
    static void quick_lgamma_##t(int64_t n, void *out, const void *const *in,                      \
                                 const gp_scalar *par) {                                           \
        const T *u = in[0];                                                                        \
        T *restrict o = out;                                                                       \
        int other = 0;                                                                             \
        for (int64_t i = 0; i < n; i++) other |= !(u[i] > (T)-0.5 && u[i] < (T)INFINITY);          \
        if (other) {                                                                               \
            loop_lgamma_##t(n, out, in, par);                                                      \
            return;                                                                                \
        }                                                                                          \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) o[i] = lgamma_right_##t(u[i]);         \
    }
LGAMMA(float, f32)
LGAMMA(double, f64)

/* The operands of c and its loops; those of a shorter way where there is one. */
static _Bool run_quickly(const gp_call *c, const gp_block_fn *fns, int nin, _Bool compare) {
    static const gp_block_fn fmods[GP_CTYPES] = {quick_fmod},
                             remainders[GP_CTYPES] = {quick_remainder},
                             gelus[GP_CTYPES] = {quick_gelu},
                             lgammas[GP_CTYPES] = {quick_lgamma_f32, quick_lgamma_f64};
    gp_ctype ct = gp_compute_type((gp_dtype)c->compute);
    const gp_block_fn *quick = NULL;
    const gp_value *e = &c->arg[1];
    int n = nin;
    if (c->op == GP_OP(fmod)) quick = fmods;
    if (c->op == GP_OP(remainder)) quick = remainders;
    if (c->op == GP_OP(gelu)) quick = gelus;
    if (c->op == GP_OP(lgamma)) quick = lgammas;
    if (c->op == GP_OP(pow) && e->kind == GP_NUMBER && c->arg[0].kind == GP_TENSOR)
        quick = power(c), n = 1;
    static const gp_block_fn powers[GP_CTYPES] = {quick_pow_f32, quick_pow_f64};
    if (c->op == GP_OP(pow) && !quick) quick = powers, n = nin;
    if (!quick || !quick[ct]) return gp_run_elementwise(c, fns, nin, compare);
    return gp_run_elementwise(c, quick, n, compare);
}

/* ---- a kernel a row ---- */

#define TABLE_FLOAT(n)                                                                             \
    { loop_##n##_f32, loop_##n##_f64, NULL, NULL }
#define TABLE_FLOATS(n) TABLE_FLOAT(n)
#define TABLE_INTS(n)                                                                              \
    { NULL, NULL, loop_##n##_i32, loop_##n##_i64 }
#define TABLE_WHOLE(n) TABLE_INTS(n)
#define TABLE_REAL(n)                                                                              \
    { loop_##n##_f32, loop_##n##_f64, loop_##n##_i32, loop_##n##_i64 }
#define TABLE_ALL(n) TABLE_REAL(n)
#define KERNEL(n, ty, nin, compare)                                                                \
    _Bool CPU(n)(const gp_call *c);                                                                \
    _Bool CPU(n)(const gp_call *c) {                                                               \
        static const gp_block_fn fns[GP_CTYPES] = TABLE_##ty(n);                                   \
        return (nin) <= 2 ? run_quickly(c, fns, nin, compare)                                      \
                          : gp_run_elementwise(c, fns, nin, compare);                              \
    }
#define UNARY(n, ty, ...) KERNEL(n, ty, 1, false)
#define PARAM(n, ty, ...) KERNEL(n, ty, 1, false)
#define PARAM3(n, ty, ...) KERNEL(n, ty, 3, false)
#define PREDICATE(n, ty, ...) KERNEL(n, ty, 1, true)
#define BINARY(n, ty, ...) KERNEL(n, ty, 2, false)
#define COMPARE(n, ty, ...) KERNEL(n, ty, 2, true)
#define TERNARY(n, ty, ...) KERNEL(n, ty, 3, false)
#include "tensor/ops.def"
