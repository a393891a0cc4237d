/* Elementwise ops of the table: each row's formula becomes a loop over contiguous blocks per
 * compute type; the driver in driver.c feeds them any layout and dtype. Faster loops than the
 * formulas' are worth 11 to 18 for fmod and remainder, 3.2 to 5.1 for powers of numbers of both
 * signs, 2.5 for lgamma, 1.6 for gelu (one thread of an Emerald Rapids with AVX-512). */
#include "kernels/cpu/elementwise/elementwise.h"

#include "kernels/cpu/elementwise/math.h"
#include "kernels/cpu/elementwise/normal.h"
#include "kernels/common/power.h"

#undef bool /* a row of dtype.def */
/* ---- the loops, from the formulas ---- */

#define T_f32 float
#define T_f64 double
#define T_i32 int32_t
#define T_i64 int64_t
/* Signed overflow is undefined in C, and wraps in a tensor: integer formulas are compiled with
 * -fwrapv. */
#define LOOP(name, R, T, vars, ...)                                                                \
    CONSTANTS(T)                                                                                   \
    static void name(int64_t n, void *out, const void *const *in, const gp_scalar *par) {          \
        R *restrict o = out;                                                                       \
        vars(T) _Pragma("omp simd") for (int64_t i = 0; i < n; i++) { __VA_ARGS__ }                \
    }                                                                                              \
    CONSTANTS_END(T)
/* Parameters in compute type, clamped to an integer type's range; an absent bound is infinite. */
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

#define PADDED(n, t, nin)                                                                          \
    static void loop_##n##_##t(int64_t m, void *out, const void *const *in,                        \
                               const gp_scalar *par) {                                             \
        padded(full_##n##_##t, sizeof(T_##t), nin, m, out, in, par);                               \
    }
#define UNARY1_PADDED(n, t, y)                                                                     \
    LOOP(full_##n##_##t, T_##t, T_##t, IN1, const T_##t x = u[i]; o[i] = (T_##t)(y);)              \
    PADDED(n, t, 1)
#define PARAM1_PADDED(n, t, y)                                                                     \
    LOOP(full_##n##_##t, T_##t, T_##t, INP, const T_##t x = u[i]; o[i] = (T_##t)(y);)              \
    PADDED(n, t, 1)
#define BINARY1_PADDED(n, t, y)                                                                    \
    LOOP(full_##n##_##t, T_##t, T_##t, IN2, const T_##t a = u[i], b = v[i]; o[i] = (T_##t)(y);)    \
    PADDED(n, t, 2)
#define PREDICATE1_PADDED PREDICATE1
#define COMPARE1_PADDED COMPARE1
#define TERNARY1_PADDED TERNARY1
#define PARAM31_PADDED PARAM31

/* Which compute types a row's types ask for. */
#define EACH_FLOAT(M, n, y) M##_PADDED(n, f32, y) M##_PADDED(n, f64, y)
#define EACH_BOTH(M, n, y) M(n, f32, y) M(n, f64, y)
#define EACH_FLOATS(M, n, y) EACH_FLOAT(M, n, y)
#define EACH_INTS(M, n, y) M(n, i32, y) M(n, i64, y)
#define EACH_WHOLE(M, n, y) EACH_INTS(M, n, y)
#define EACH_REAL(M, n, y) EACH_BOTH(M, n, y) EACH_INTS(M, n, y)
#define EACH_ALL(M, n, y) EACH_REAL(M, n, y)

#define UNARY(n, ty, y, ...) EACH_##ty(UNARY1, n, y)
#define PARAM(n, ty, sig, y, ...) EACH_##ty(PARAM1, n, y)
#define PARAM3(n, ty, sig, y, ...) EACH_##ty(PARAM31, n, y)
#define PREDICATE(n, ty, y, ...) EACH_##ty(PREDICATE1, n, y)
#define BINARY(n, ty, y, ...) EACH_##ty(BINARY1, n, y)
#define COMPARE(n, ty, y, ...) EACH_##ty(COMPARE1, n, y)
#define TERNARY(n, ty, y, ...) EACH_##ty(TERNARY1, n, y)
#include "tensor/ops/table/ops.def"

/* ---- fast paths ---- */

#define NAME fmod
#define AFTER y
#include "kernels/cpu/elementwise/remainder.inc"
#define NAME remainder
#define AFTER y != 0 && (y < 0) != (v[i] < 0) ? y + v[i] : y
#include "kernels/cpu/elementwise/remainder.inc"

/* The same in f64 with fused multiply-add: the difference is exact while the quotient, which may
 * have been rounded up to the next integer, is below 2^52. */
#ifdef __FMA__
#define NAME fmod
#define AFTER y
#include "kernels/cpu/elementwise/remainder_64.inc"
#define NAME remainder
#define AFTER y != 0 && (y < 0) != (v[i] < 0) ? y + v[i] : y
#include "kernels/cpu/elementwise/remainder_64.inc"
#else
#define fast_64_fmod NULL
#define fast_64_remainder NULL
#endif

#define T float
#define t f32
#define FABS fabsf
#define RINT (rintf)
#define COPYSIGN copysignf
#include "kernels/cpu/elementwise/pow.inc"
#define T double
#define t f64
#define FABS (fabs)
#define RINT (rint)
#define COPYSIGN (copysign)
#include "kernels/cpu/elementwise/pow.inc"

#define CUBED (x * x * x)
#define CUBE(t) LOOP(cube_##t, T_##t, T_##t, IN1, const T_##t x = u[i]; o[i] = CUBED;)
CUBE(f32)
CUBE(f64)

#define FAST_GELU gelu_f32(x)
LOOP(fast_gelu, float, float, IN1, const float x = u[i]; o[i] = FAST_GELU;)

/* A separate loop looks for elements that are no probabilities: one that records faults is not
 * vectorised. */
#define BCE(T, t)                                                                                  \
    static void checked_bce_##t(int64_t n, void *out, const void *const *in,                       \
                                const gp_scalar *par) {                                            \
        const T *u = in[0];                                                                        \
        int good = 1;                                                                              \
        for (int64_t i = 0; i < n; i++) good &= (u[i] >= 0) & (u[i] <= 1);                         \
        if (!good) FAULT(FAULT_CHANCE);                                                            \
        loop_bce_##t(n, out, in, par);                                                             \
    }
BCE(float, f32)
BCE(double, f64)

/* For blocks where no element needs the reflection. */
#define LGAMMA(T, t)                                                                               \
    LOOP(right_lgamma_##t, T, T, IN1, o[i] = lgamma_right_##t(u[i]);)                              \
    static void fast_lgamma_##t(int64_t n, void *out, const void *const *in,                       \
                                const gp_scalar *par) {                                            \
        const T *u = in[0];                                                                        \
        int other = 0;                                                                             \
        for (int64_t i = 0; i < n; i++) other |= !(u[i] > (T)-0.5 && u[i] < (T)INFINITY);          \
        if (other) loop_lgamma_##t(n, out, in, par);                                               \
        else padded(right_lgamma_##t, sizeof(T), 1, n, out, in, par);                              \
    }
LGAMMA(float, f32)
LGAMMA(double, f64)

/* One of two operands is a number per row: a column broadcast over rows. */
#define ROW_SCALAR(nm, T, y)                                                                       \
    static void nm(int64_t rows, int64_t n, char *const *p, const int64_t *step) {                 \
        char *to = p[0], *at = p[1], *bt = p[2];                                                   \
        for (int64_t r = 0; r < rows; r++, to += step[0], at += step[1], bt += step[2]) {          \
            T *restrict o = (T *)(void *)to;                                                       \
            const T *u = (const T *)(void *)at, *v = (const T *)(void *)bt, a = *u, b = *v;        \
            (void)a, (void)b;                                                                      \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) o[i] = y;                          \
        }                                                                                          \
    }
#define ROW_SCALARS(n, y, z)                                                                       \
    ROW_SCALAR(right_##n##_f32, float, y)                                                          \
    ROW_SCALAR(right_##n##_f64, double, y)                                                         \
    ROW_SCALAR(left_##n##_f32, float, z) ROW_SCALAR(left_##n##_f64, double, z)
ROW_SCALARS(add, u[i] + b, a + v[i])
ROW_SCALARS(sub, u[i] - b, a - v[i])
ROW_SCALARS(mul, u[i] * b, (a * v[i]))
ROW_SCALARS(div, u[i] / b, a / v[i])

#define TEXT2(formula) #formula
#define TEXT(formula) TEXT2(formula)
/* The rows that have faster loops than those of their formulas. */
#define LOOPS(n)                                                                                   \
    {                                                                                              \
        {left_##n##_f32, right_##n##_f32}, { left_##n##_f64, right_##n##_f64 }                     \
    }
static const struct fast_row {
    gp_block_fn fns[GP_CTYPES];
    gp_row_scalar_fn row_scalar[2][2]; /* of f32 and f64; the number left, right */
    const char *text[GP_CTYPES];       /* of the faster loop, where it is a formula of x */
} fast_rows[GP_OPS] = {
    [OP_add] = {.row_scalar = LOOPS(add)},
    [OP_sub] = {.row_scalar = LOOPS(sub)},
    [OP_mul] = {.row_scalar = LOOPS(mul)},
    [OP_div] = {.row_scalar = LOOPS(div)},
    [OP_fmod] = {{fast_fmod, fast_64_fmod}},
    [OP_remainder] = {{fast_remainder, fast_64_remainder}},
    [OP_gelu] = {{fast_gelu}, .text = {TEXT(FAST_GELU)}},
    [OP_bce] = {{checked_bce_f32, checked_bce_f64}},
    [OP_lgamma] = {{fast_lgamma_f32, fast_lgamma_f64}},
    [OP_pow] = {{fast_pow_f32, fast_pow_f64}},
};

gp_row_scalar_fn gp_row_scalar_loop(const gp_op *op, gp_ctype ct, int which) {
    if (ct != GP_CT_f32 && ct != GP_CT_f64) return NULL;
    return fast_rows[gp_op_id(op)].row_scalar[ct == GP_CT_f64][which];
}

/* Powers, of the first operand alone. */
static const gp_block_fn powers[][GP_CTYPES] = {
    [GP_POWER_SQUARE] = {loop_square_f32, loop_square_f64, loop_square_i32, loop_square_i64},
    [GP_POWER_CUBE] = {cube_f32, cube_f64},
    [GP_POWER_SQRT] = {loop_sqrt_f32, loop_sqrt_f64},
    [GP_POWER_RSQRT] = {loop_rsqrt_f32, loop_rsqrt_f64},
    [GP_POWER_RECIPROCAL] = {loop_reciprocal_f32, loop_reciprocal_f64}};

/* Runs c by its loops, or by faster ones where there are some. */
static _Bool run_fast(const gp_call *c, const gp_block_fn *fns, int nin, _Bool compare) {
    gp_ctype ct = gp_compute_type((gp_dtype)c->compute);
    if (c->into && nin == 2 && !gp_check_divisors(c)) return false;
    gp_power power = gp_power_of(c);
    if (power) return gp_run_elementwise(c, powers[power], 1, compare);
    const gp_block_fn *fast = fast_rows[gp_op_id(c->op)].fns;
    return gp_run_elementwise(c, fast[ct] ? fast : fns, nin, compare);
}

/* ---- one kernel for each row of ops.def ---- */

#define TABLE_FLOAT(n)                                                                             \
    { loop_##n##_f32, loop_##n##_f64, NULL, NULL }
#define TABLE_FLOATS(n) TABLE_FLOAT(n)
#define TABLE_INTS(n)                                                                              \
    { NULL, NULL, loop_##n##_i32, loop_##n##_i64 }
#define TABLE_WHOLE(n) TABLE_INTS(n)
#define TABLE_REAL(n)                                                                              \
    { loop_##n##_f32, loop_##n##_f64, loop_##n##_i32, loop_##n##_i64 }
#define TABLE_ALL(n) TABLE_REAL(n)
static const gp_block_fn loops[GP_OPS][GP_CTYPES] = {
#define UNARY(n, ty, ...) [OP_##n] = TABLE_##ty(n),
#define PARAM UNARY
#define PARAM3 UNARY
#define PREDICATE UNARY
#define BINARY UNARY
#define COMPARE UNARY
#define TERNARY UNARY
#include "tensor/ops/table/ops.def"
};

gp_block_fn gp_elementwise_loop(const gp_call *c) {
    gp_ctype ct = gp_compute_type((gp_dtype)c->compute);
    gp_power power = gp_power_of(c);
    const gp_block_fn *fast = fast_rows[gp_op_id(c->op)].fns;
    return power ? powers[power][ct] : fast[ct] ? fast[ct] : loops[gp_op_id(c->op)][ct];
}

gp_step_text gp_elementwise_text(const gp_call *c) {
    gp_step_text t = {c->op->vars, c->op->formula};
    gp_ctype ct = gp_compute_type((gp_dtype)c->compute);
    const struct fast_row *fast = &fast_rows[gp_op_id(c->op)];
    if (fast->fns[ct]) t.formula = fast->text[ct];
    switch (gp_power_of(c)) {
    case GP_POWER_ANY: return t;
    case GP_POWER_SQUARE: t.formula = GP_OP(square)->formula; break;
    case GP_POWER_CUBE: t.formula = TEXT(CUBED); break;
    case GP_POWER_SQRT: t.formula = GP_OP(sqrt)->formula; break;
    case GP_POWER_RSQRT: t.formula = GP_OP(rsqrt)->formula; break;
    case GP_POWER_RECIPROCAL: t.formula = GP_OP(reciprocal)->formula; break;
    }
    t.vars = "x";
    return t;
}

#define KERNEL(n, nin, compare)                                                                    \
    _Bool CPU(n)(const gp_call *c);                                                                \
    _Bool CPU(n)(const gp_call *c) {                                                               \
        return (nin) <= 2 ? run_fast(c, loops[OP_##n], nin, compare)                               \
                          : gp_run_elementwise(c, loops[OP_##n], nin, compare);                    \
    }
#define UNARY(n, ty, ...) KERNEL(n, 1, false)
#define PARAM(n, ty, ...) KERNEL(n, 1, false)
#define PARAM3(n, ty, ...) KERNEL(n, 3, false)
#define PREDICATE(n, ty, ...) KERNEL(n, 1, true)
#define BINARY(n, ty, ...) KERNEL(n, 2, false)
#define COMPARE(n, ty, ...) KERNEL(n, 2, true)
#define TERNARY(n, ty, ...) KERNEL(n, 3, false)
#include "tensor/ops/table/ops.def"
