/* The derivatives of elementwise ops and reductions: each formula of the table's derivative columns
 * becomes a loop, run by the driver in driver.c. */
#include "kernels/common/power.h"
#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/elementwise/math.h"
#include "kernels/cpu/elementwise/normal.h"

#undef bool /* a row of dtype.def */

#define VARS_X(T) const T g = u0[i], x = u1[i], y = u2[i];
#define VARS_AB(T) const T g = u0[i], a = u1[i], b = u2[i], y = u3[i];
#define VARS_ABC(T) const T g = u0[i], a = u1[i], b = u2[i], c = u3[i], y = u4[i];
#define VARS_M(T) const T g = u0[i], x = u1[i], y = u2[i], m = u3[i], o = u4[i], n = p;
#define POINTERS_3(T) const T *u0 = in[0], *u1 = in[1], *u2 = in[2];
#define POINTERS_4(T) POINTERS_3(T) const T *u3 = in[3];
#define POINTERS_5(T) POINTERS_4(T) const T *u4 = in[4];

/* Whether a formula calls functions whose vector form gives other bits than that for one number:
 * any but exp, sqrt and what is made of them. Known when this is compiled. */
static inline int calls_library(const char *formula) {
    static const char *const names[] = {"log", "sin", "cos", "pow", "erf", "tan", "hypot", "gamma"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (__builtin_strstr(formula, names[i])) return 1;
    return 0;
}

#define FULL(name, T, nin, vars, formula)                                                          \
    CONSTANTS(T)                                                                                   \
    static void full_##name##_##T(int64_t count, void *out, const void *const *in,                 \
                                  const gp_scalar *par) {                                          \
        T *restrict to = out;                                                                      \
        const T p = limit_##T(par[0]), q = limit_##T(par[1]), r = limit_##T(par[2]);               \
        (void)p, (void)q, (void)r;                                                                 \
        POINTERS_##nin(T) _Pragma("omp simd") for (int64_t i = 0; i < count; i++) {                \
            vars(T) to[i] = (T)(formula);                                                          \
        }                                                                                          \
    }                                                                                              \
    CONSTANTS_END(T)
#define LOOP(name, T, nin, vars, formula)                                                          \
    FULL(name, T, nin, vars, formula)                                                              \
    static void loop_##name##_##T(int64_t count, void *out, const void *const *in,                 \
                                  const gp_scalar *par) {                                          \
        if (count % GP_LANES && calls_library(#formula))                                           \
            padded(full_##name##_##T, sizeof(T), nin, count, out, in, par);                        \
        else full_##name##_##T(count, out, in, par);                                               \
    }
#define LOOPS(name, nin, vars, formula)                                                            \
    LOOP(name, float, nin, vars, formula) LOOP(name, double, nin, vars, formula)
#define LOOPS_FLOAT LOOPS
#define LOOPS_FLOATS LOOPS
#define LOOPS_REAL LOOPS
#define LOOPS_ALL LOOPS
#define LOOPS_SUM LOOPS
#define LOOPS_INTS(...) /* never differentiated */
#define LOOPS_WHOLE(...)
#define LOOPS_TEST(...)

#pragma GCC diagnostic ignored "-Wunused-variable"
#define GRAD_ROW(name, types, nin, vars, formula, ...) LOOPS_##types(name, nin, vars, formula)
#include "tensor/autograd/grad_rows.h"

#define SQUARE_GRAD (2 * g * a)
#define CUBE_GRAD (g * (3 * (a * a)))
#define T float
#define FABS fabsf
#define RINT (rintf)
#define COPYSIGN copysignf
#include "kernels/cpu/elementwise/power_grad.inc"
#define T double
#define FABS (fabs)
#define RINT (rint)
#define COPYSIGN (copysign)
#include "kernels/cpu/elementwise/power_grad.inc"

#define FAST_GELU (g * gelu_slope_f32(x))
FULL(gelu, float, 3, VARS_X, FAST_GELU)

/* The rows that have faster loops than those of their formulas. */
static const gp_block_fn fast_rows[GP_OPS][GP_CTYPES] = {
    [OP_gelu_dx] = {full_gelu_float, loop_gelu_dx_double},
    [OP_pow_da] = {power_float, power_double},
};

/* Powers by 2 and 3. */
static const gp_block_fn powers[][GP_CTYPES] = {
    [GP_POWER_SQUARE] = {square_float, square_double}, [GP_POWER_CUBE] = {cube_float, cube_double}};

static const gp_block_fn *faster(const gp_call *c, const gp_block_fn *fns) {
    gp_power power = gp_power_of(c);
    if (power == GP_POWER_SQUARE || power == GP_POWER_CUBE) return powers[power];
    const gp_block_fn *fast = fast_rows[gp_op_id(c->op)];
    return fast[gp_compute_type((gp_dtype)c->compute)] ? fast : fns;
}

#define TABLE(name)                                                                                \
    { loop_##name##_float, loop_##name##_double, NULL, NULL }
#define TABLE_FLOAT TABLE
#define TABLE_FLOATS TABLE
#define TABLE_REAL TABLE
#define TABLE_ALL TABLE
#define TABLE_SUM TABLE
#define NOTHING(name)                                                                              \
    { NULL, NULL, NULL, NULL }
#define TABLE_INTS NOTHING
#define TABLE_WHOLE NOTHING
#define TABLE_TEST NOTHING
static const gp_block_fn loops[GP_OPS][GP_CTYPES] = {
#define GRAD_ROW(name, types, nin, vars, formula, ...) [OP_##name] = TABLE_##types(name),
#include "tensor/autograd/grad_rows.h"
};

gp_block_fn gp_derivative_loop(const gp_call *c) {
    return faster(c, loops[gp_op_id(c->op)])[gp_compute_type((gp_dtype)c->compute)];
}

#define TEXT2(formula) #formula
#define TEXT(formula) TEXT2(formula)
gp_step_text gp_derivative_text(const gp_call *c) {
    const gp_block_fn *fast = faster(c, loops[gp_op_id(c->op)]);
    gp_ctype ct = gp_compute_type((gp_dtype)c->compute);
    gp_step_text t = {c->op->vars, c->op->formula};
    if (fast == powers[GP_POWER_SQUARE]) t.formula = TEXT(SQUARE_GRAD);
    else if (fast == powers[GP_POWER_CUBE]) t.formula = TEXT(CUBE_GRAD);
    else if (fast[ct] == full_gelu_float) t.formula = TEXT(FAST_GELU);
    else if (fast[ct] != loops[gp_op_id(c->op)][ct]) t.formula = NULL;
    return t;
}

#define GRAD_ROW(name, types, nin, vars, formula, ...)                                             \
    _Bool CPU(name)(const gp_call *c);                                                             \
    _Bool CPU(name)(const gp_call *c) {                                                            \
        return gp_run_elementwise(c, faster(c, loops[OP_##name]), nin, 0);                         \
    }
#include "tensor/autograd/grad_rows.h"
