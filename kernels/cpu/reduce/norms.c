/* Reductions that no formula in ops.def expresses: norms and nanmean summed in f64, logsumexp,
 * aminmax. */
#include "kernels/cpu/reduce/reduce.h"

#include "kernels/cpu/elementwise/math.h"

#include <string.h>

enum { LANES = 32, FEW = 8 };

/* ---- sums in f64 of floats ---- */

/* Folds one half of the W lanes onto the other, where there are as many. */
#define HALVE(half)                                                                                \
    _Pragma("omp simd") for (int j = 0; j < ((half) < W ? (half) : 0); j++) {                      \
        const double acc = lane[j], x = lane[(j + (half)) % W];                                    \
        lane[j] = MERGE;                                                                           \
    }
#define NAME ones
#define FIRST 0
#define STEP acc + (x != 0)
#define MERGE acc + x
#define LAST acc
#include "kernels/cpu/reduce/norm.inc"
#define NAME abs
#define FIRST 0
#define STEP acc + fabs(x)
#define MERGE acc + x
#define LAST acc
#include "kernels/cpu/reduce/norm.inc"
#define NAME squares
#define FIRST 0
#define STEP acc + (x * x)
#define MERGE acc + x
#define LAST sqrt(acc)
#include "kernels/cpu/reduce/norm.inc"
#define NAME powers
#define FIRST 0
#define STEP acc + pow(fabs(x), p)
#define MERGE acc + x
#define LAST pow(acc, 1 / p)
#include "kernels/cpu/reduce/norm.inc"
#define NAME most
#define FIRST 0
#define STEP fabs(x) > acc || x != x ? fabs(x) : acc
#define MERGE x > acc || x != x ? x : acc
#define LAST acc
#include "kernels/cpu/reduce/norm.inc"
#define NAME least
#define FIRST INFINITY
#define STEP fabs(x) < acc || x != x ? fabs(x) : acc
#define MERGE x < acc || x != x ? x : acc
#define LAST acc
#include "kernels/cpu/reduce/norm.inc"

#define NAME known
#define FIRST 0
#define STEP x != x ? acc : acc + x
#define MERGE acc + x
#define LAST acc
#include "kernels/cpu/reduce/norm.inc"

#define SUMMING(nm)                                                                                \
    {                                                                                              \
        {GP_CT_f32,       GP_CT_f64, 1,           start_##nm,     fold_##nm##_f32,                 \
         each_##nm##_f32, join_##nm, finish_##nm, rows_##nm##_f32},                                \
            {GP_CT_f64,       GP_CT_f64, 1,           start_##nm,     fold_##nm##_f64,             \
             each_##nm##_f64, join_##nm, finish_##nm, rows_##nm##_f64},                            \
    }

/* Arguments: x, ord, a mask of dims, keepdim, dtype. */
bool CPU(linalg_vector_norm)(const gp_call *c) {
    static const gp_reducer norms[][2] = {SUMMING(ones),   SUMMING(abs),  SUMMING(squares),
                                          SUMMING(powers), SUMMING(most), SUMMING(least)};
    double p = c->arg[1].f;
    int k = p == 0 ? 0 : p == 1 ? 1 : p == 2 ? 2 : p == INFINITY ? 4 : p == -INFINITY ? 5 : 3;
    return gp_reduce(c, &norms[k][gp_in(c, 0)->dtype == GP_f64], 2, p);
}

/* Arguments: x, a mask of dims, keepdim, dtype. Integers have no NaN. */
bool CPU(sum)(const gp_call *c);
bool CPU(nansum)(const gp_call *c) {
    static const gp_reducer sums[2] = SUMMING(known);
    gp_dtype dt = (gp_dtype)gp_in(c, 0)->dtype;
    return gp_is_float(dt) ? gp_reduce(c, &sums[dt == GP_f64], 1, 0) : CPU(sum)(c);
}

/* ---- nanmean: a sum, and how many elements it has ---- */

static void start_zero2(void *acc, int64_t n) {
    for (int64_t i = 0; i < 2 * n; i++) ((double *)acc)[i] = 0;
}
static void join_add2(void *acc, const void *more, int64_t n) {
    for (int64_t i = 0; i < 2 * n; i++) ((double *)acc)[i] += ((const double *)more)[i];
}
static void finish_mean(void *acc, double count, int64_t n, double p) {
    double *a = acc;
    for (int64_t i = 0; i < n; i++) a[i] /= a[n + i];
}
#define TEMPLATE "kernels/cpu/reduce/nanmean.inc"
#include "kernels/common/floats.inc"

bool CPU(nanmean)(const gp_call *c) {
    static const gp_reducer reds[] = {{GP_CT_f32, GP_CT_f64, 2, start_zero2, fold_mean_f32,
                                       each_mean_f32, join_add2, finish_mean, NULL},
                                      {GP_CT_f64, GP_CT_f64, 2, start_zero2, fold_mean_f64,
                                       each_mean_f64, join_add2, finish_mean, NULL}};
    return gp_reduce(c, &reds[gp_in(c, 0)->dtype == GP_f64], 1, 0);
}

/* ---- logsumexp: the largest element m, and the sum of exp(x - m) ---- */

#define TEMPLATE "kernels/cpu/reduce/logsumexp.inc"
#include "kernels/common/floats.inc"

bool CPU(logsumexp)(const gp_call *c) {
    static const gp_reducer reds[] = {{GP_CT_f32, GP_CT_f32, 2, start_log_f32, fold_log_f32,
                                       each_log_f32, join_log_f32, finish_log_f32, NULL},
                                      {GP_CT_f64, GP_CT_f64, 2, start_log_f64, fold_log_f64,
                                       each_log_f64, join_log_f64, finish_log_f64, NULL}};
    return gp_reduce(c, &reds[gp_in(c, 0)->dtype == GP_f64], 1, 0);
}

/* ---- aminmax: both in one pass ---- */

#define TAKE_MIN(v, a) ((v) < (a) || (v) != (v) ? (v) : (a))
#define TAKE_MAX(v, a) ((v) > (a) || (v) != (v) ? (v) : (a))
#define LOWEST_f32 -INFINITY
#define LOWEST_f64 -INFINITY
#define LOWEST_i32 INT32_MIN
#define LOWEST_i64 INT64_MIN
#define HIGHEST_f32 INFINITY
#define HIGHEST_f64 INFINITY
#define HIGHEST_i32 INT32_MAX
#define HIGHEST_i64 INT64_MAX
#define TEMPLATE "kernels/cpu/reduce/aminmax.inc"
#include "kernels/common/numbers.inc"
static void finish_both(void *acc, double count, int64_t n, double p) {}

#define BOTH(t)                                                                                    \
    {                                                                                              \
        GP_CT_##t, GP_CT_##t, 2, start_both_##t, fold_both_##t, each_both_##t, join_both_##t,      \
            finish_both, NULL                                                                      \
    }
bool CPU(aminmax)(const gp_call *c) {
    static const gp_reducer reds[] = {BOTH(f32), BOTH(f64), BOTH(i32), BOTH(i64)};
    return gp_reduce(c, &reds[gp_compute_type((gp_dtype)gp_in(c, 0)->dtype)], 1, 0);
}
