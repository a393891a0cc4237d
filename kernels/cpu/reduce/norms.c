/* Reductions that are no row of formulas: norms and nanmean summed in f64, logsumexp, aminmax. */
#include "kernels/cpu/reduce/reduce.h"

#include "kernels/cpu/elementwise/math.h"

#include <string.h>

enum { LANES = 32, FEW = 8 };

/* ---- sums in f64 of floats ---- */

#define HALVE(W, half, merge)                                                                      \
    _Pragma("omp simd") for (int j = 0; j < ((half) < (W) ? (half) : 0); j++) {                    \
        const double acc = lane[j], x = lane[(j + (half)) % (W)];                                  \
        lane[j] = merge;                                                                           \
    }
/* W elements or more in as many lanes; what is left behind whole steps is the end of the last W. */
#define SUM_LANES(T, W, first, step, merge)                                                        \
    if (n - i >= (W)) {                                                                            \
        double lane[W];                                                                            \
        for (int j = 0; j < (W); j++) lane[j] = first;                                             \
        for (; i + (W) <= n; i += (W)) {                                                           \
            if ((W) > FEW) gp_fetch_ahead(v + i, (W) * (int)sizeof *v);                            \
            _Pragma("omp simd") for (int j = 0; j < (W); j++) {                                    \
                const double acc = lane[j], x = (double)v[i + j];                                  \
                lane[j] = step;                                                                    \
            }                                                                                      \
        }                                                                                          \
        if (i < n) {                                                                               \
            const T *last = v + n - (W);                                                           \
            const int done = (W) - (int)(n - i);                                                   \
            _Pragma("omp simd") for (int j = 0; j < (W); j++) {                                    \
                const double acc = lane[j], x = (double)last[j], more = step;                      \
                lane[j] = j < done ? acc : more;                                                   \
            }                                                                                      \
            i = n;                                                                                 \
        }                                                                                          \
        HALVE(W, 16, merge) HALVE(W, 8, merge) HALVE(W, 4, merge) HALVE(W, 2, merge)               \
        HALVE(W, 1, merge)                                                                         \
        const double x = lane[0];                                                                  \
        acc = merge;                                                                               \
    }
/* step and merge are formulas of acc, x and p. */
#define SUMS(T, t, nm, first, step, merge)                                                         \
    static void fold_##nm##_##t(void *a, const void *x_, int64_t n, double p) {                    \
        const T *restrict v = x_;                                                                  \
        double acc = *(double *)a;                                                                 \
        int64_t i = 0;                                                                             \
        SUM_LANES(T, LANES, first, step, merge)                                                    \
        SUM_LANES(T, FEW, first, step, merge)                                                      \
        for (; i < n; i++) {                                                                       \
            const double x = (double)v[i];                                                         \
            acc = step;                                                                            \
        }                                                                                          \
        *(double *)a = acc;                                                                        \
    }                                                                                              \
    static void rows_##nm##_##t(void *a, const char *x, int64_t apart, int64_t many, int64_t n,    \
                                double p) {                                                        \
        for (int64_t k = 0; k < many; k++) fold_##nm##_##t((double *)a + k, x + k * apart, n, p);  \
    }                                                                                              \
    static void each_##nm##_##t(void *a_, const void *const *rows, int m, int64_t n, double p) {   \
        double *restrict a = a_;                                                                   \
        for (int k = 0; k < m; k++) {                                                              \
            const T *restrict v = rows[k];                                                         \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                  \
                const double acc = a[i], x = (double)v[i];                                         \
                a[i] = step;                                                                       \
            }                                                                                      \
        }                                                                                          \
    }
#define NORM(nm, first, step, merge, last)                                                         \
    static void start_##nm(void *a, int64_t n) {                                                   \
        for (int64_t i = 0; i < n; i++) ((double *)a)[i] = first;                                  \
    }                                                                                              \
    static void join_##nm(void *a_, const void *b_, int64_t n) {                                   \
        double *restrict a = a_;                                                                   \
        const double *restrict b = b_;                                                             \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const double acc = a[i], x = b[i];                                                     \
            a[i] = merge;                                                                          \
        }                                                                                          \
    }                                                                                              \
    static void finish_##nm(void *a, double count, int64_t n, double p) {                          \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const double acc = ((double *)a)[i];                                                   \
            ((double *)a)[i] = last;                                                               \
        }                                                                                          \
    }                                                                                              \
    SUMS(float, f32, nm, first, step, merge)                                                       \
    SUMS(double, f64, nm, first, step, merge)
NORM(ones, 0, acc + (x != 0), acc + x, acc)
NORM(abs, 0, acc + fabs(x), acc + x, acc)
NORM(squares, 0, acc + x * x, acc + x, sqrt(acc))
NORM(powers, 0, acc + pow(fabs(x), p), acc + x, pow(acc, 1 / p))
NORM(most, 0, fabs(x) > acc || x != x ? fabs(x) : acc, x > acc || x != x ? x : acc, acc)
NORM(least, INFINITY, fabs(x) < acc || x != x ? fabs(x) : acc, x < acc || x != x ? x : acc, acc)

NORM(known, 0, x != x ? acc : acc + x, acc + x, acc)

#define SUMMING(nm)                                                                                \
    {                                                                                              \
        {GP_CT_f32,       GP_CT_f64,       1,         start_##nm,                                  \
         fold_##nm##_f32, each_##nm##_f32, join_##nm, finish_##nm, rows_##nm##_f32},               \
            {GP_CT_f64,       GP_CT_f64,       1,         start_##nm,                              \
             fold_##nm##_f64, each_##nm##_f64, join_##nm, finish_##nm, rows_##nm##_f64},           \
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
#define NANMEAN(T, t)                                                                              \
    static void fold_mean_##t(void *acc, const void *x_, int64_t n, double p) {                    \
        const T *x = x_;                                                                           \
        double *a = acc, sum[LANES] = {0}, count[LANES] = {0};                                     \
        int64_t i = 0;                                                                             \
        for (; i + LANES <= n; i += LANES)                                                         \
            for (int j = 0; j < LANES; j++) {                                                      \
                sum[j] += x[i + j] == x[i + j] ? (double)x[i + j] : 0;                             \
                count[j] += x[i + j] == x[i + j] ? 1 : 0;                                          \
            }                                                                                      \
        for (; i < n; i++)                                                                         \
            if (x[i] == x[i]) a[0] += (double)x[i], a[1] += 1;                                     \
        for (int j = 0; j < LANES; j++) a[0] += sum[j], a[1] += count[j];                          \
    }                                                                                              \
    static void each_mean_##t(void *acc, const void *const *rows, int m, int64_t n, double p) {    \
        double *restrict sum = acc, *restrict count = sum + n;                                     \
        for (int k = 0; k < m; k++) {                                                              \
            const T *restrict x = rows[k];                                                         \
            for (int64_t i = 0; i < n; i++) {                                                      \
                sum[i] += x[i] == x[i] ? (double)x[i] : 0;                                         \
                count[i] += x[i] == x[i] ? 1 : 0;                                                  \
            }                                                                                      \
        }                                                                                          \
    }
NANMEAN(float, f32)
NANMEAN(double, f64)

bool CPU(nanmean)(const gp_call *c) {
    static const gp_reducer reds[] = {{GP_CT_f32, GP_CT_f64, 2, start_zero2, fold_mean_f32,
                                       each_mean_f32, join_add2, finish_mean, NULL},
                                      {GP_CT_f64, GP_CT_f64, 2, start_zero2, fold_mean_f64,
                                       each_mean_f64, join_add2, finish_mean, NULL}};
    return gp_reduce(c, &reds[gp_in(c, 0)->dtype == GP_f64], 1, 0);
}

/* ---- logsumexp: the largest element m, and the sum of exp(x - m) ---- */

/* Equal values, infinite ones among them, are 0 apart. */
#define LOGSUM(T, t)                                                                               \
    static void start_log_##t(void *acc, int64_t n) {                                              \
        T *a = acc;                                                                                \
        for (int64_t i = 0; i < n; i++) a[i] = -INFINITY, a[n + i] = 0;                            \
    }                                                                                              \
    static void join_log_##t(void *acc, const void *more, int64_t n) {                             \
        T *restrict m = acc, *restrict s = m + n;                                                  \
        const T *restrict m2 = more, *restrict s2 = m2 + n;                                        \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const T d = m2[i] == m[i] ? 0 : m2[i] - m[i], e = exp(d <= 0 ? d : -d);                \
            s[i] = d <= 0 ? s[i] + s2[i] * e : s[i] * e + s2[i];                                   \
            m[i] = d <= 0 ? m[i] : m2[i];                                                          \
        }                                                                                          \
    }                                                                                              \
    static void each_log_##t(void *acc, const void *const *rows, int k, int64_t n, double p) {     \
        T *restrict m = acc, *restrict s = m + n;                                                  \
        for (int r = 0; r < k; r++) {                                                              \
            const T *restrict x = rows[r];                                                         \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                  \
                const T d = x[i] == m[i] ? 0 : x[i] - m[i], e = exp(d <= 0 ? d : -d);              \
                s[i] = d <= 0 ? s[i] + e : s[i] * e + 1;                                           \
                m[i] = d <= 0 ? m[i] : x[i];                                                       \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static inline void largest_##t(T *lane, const T *x) {                                          \
        _Pragma("omp simd") for (int j = 0; j < LANES; j++) lane[j] = x[j] > lane[j] ? x[j]        \
                                                                                     : lane[j];    \
    }                                                                                              \
    static inline void exps_##t(T *sum, const T *x, T m) {                                         \
        _Pragma("omp simd") for (int j = 0; j < LANES; j++) sum[j] +=                              \
            exp(x[j] == m ? 0 : x[j] - m);                                                         \
    }                                                                                              \
    /* The last elements take no longer than LANES do, and a NaN gets into the sum. */             \
    static void fold_log_##t(void *acc, const void *x_, int64_t n, double p) {                     \
        const T *x = x_;                                                                           \
        T lane[LANES], rest[LANES], sum[LANES] = {0}, own[2] = {-INFINITY, 0};                     \
        int64_t full = n / LANES * LANES;                                                          \
        for (int j = 0; j < LANES; j++) lane[j] = rest[j] = -INFINITY;                             \
        memcpy(rest, x + full, (size_t)(n - full) * sizeof(T));                                    \
        for (int64_t i = 0; i < full; i += LANES) largest_##t(lane, x + i);                        \
        largest_##t(lane, rest);                                                                   \
        for (int j = 0; j < LANES / 2; j++)                                                        \
            lane[j] = lane[j + LANES / 2] > lane[j] ? lane[j + LANES / 2] : lane[j];               \
        for (int j = 0; j < LANES / 2; j++) own[0] = lane[j] > own[0] ? lane[j] : own[0];          \
        for (int64_t i = 0; i < full; i += LANES) {                                                \
            for (int j = 0; j < LANES; j += 64 / (int)sizeof(T)) __builtin_prefetch(x + n + i + j); \
            exps_##t(sum, x + i, own[0]);                                                          \
        }                                                                                          \
        if (full < n) exps_##t(sum, rest, own[0]);                                                 \
        for (int j = 0; j < LANES / 2; j++) sum[j] += sum[j + LANES / 2];                          \
        for (int j = 0; j < LANES / 2; j++) own[1] += sum[j];                                      \
        if (((T *)acc)[1] == 0) memcpy(acc, own, sizeof own);                                      \
        else join_log_##t(acc, own, 1);                                                            \
    }                                                                                              \
    static void finish_log_##t(void *acc, double count, int64_t n, double p) {                     \
        T *a = acc;                                                                                \
        logs_##t(a + n, n);                                                                        \
        for (int64_t i = 0; i < n; i++) a[i] += a[n + i];                                          \
    }
LOGSUM(float, f32)
LOGSUM(double, f64)

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
#define AMINMAX(T, t, lowest, highest)                                                             \
    static void start_both_##t(void *acc, int64_t n) {                                             \
        T *a = acc;                                                                                \
        for (int64_t i = 0; i < n; i++) a[i] = highest, a[n + i] = lowest;                         \
    }                                                                                              \
    static void fold_both_##t(void *acc, const void *x_, int64_t n, double p) {                    \
        const T *x = x_;                                                                           \
        T *a = acc, lo[LANES], hi[LANES];                                                          \
        int64_t i = 0;                                                                             \
        for (int j = 0; j < LANES; j++) lo[j] = highest, hi[j] = lowest;                           \
        for (; i + LANES <= n; i += LANES) _Pragma("omp simd") for (int j = 0; j < LANES; j++) {   \
                lo[j] = TAKE_MIN(x[i + j], lo[j]);                                                 \
                hi[j] = TAKE_MAX(x[i + j], hi[j]);                                                 \
            }                                                                                      \
        for (; i < n; i++) a[0] = TAKE_MIN(x[i], a[0]), a[1] = TAKE_MAX(x[i], a[1]);               \
        for (int j = 0; j < LANES; j++)                                                            \
            a[0] = TAKE_MIN(lo[j], a[0]), a[1] = TAKE_MAX(hi[j], a[1]);                            \
    }                                                                                              \
    static void each_both_##t(void *acc, const void *const *rows, int m, int64_t n, double p) {    \
        T *restrict lo = acc, *restrict hi = lo + n;                                               \
        for (int k = 0; k < m; k++) {                                                              \
            const T *restrict x = rows[k];                                                         \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                  \
                lo[i] = TAKE_MIN(x[i], lo[i]);                                                     \
                hi[i] = TAKE_MAX(x[i], hi[i]);                                                     \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void join_both_##t(void *acc, const void *more, int64_t n) {                            \
        T *restrict a = acc;                                                                       \
        const T *restrict b = more;                                                                \
        for (int64_t i = 0; i < n; i++) a[i] = TAKE_MIN(b[i], a[i]);                               \
        for (int64_t i = n; i < 2 * n; i++) a[i] = TAKE_MAX(b[i], a[i]);                           \
    }
AMINMAX(float, f32, -INFINITY, INFINITY)
AMINMAX(double, f64, -INFINITY, INFINITY)
AMINMAX(int32_t, i32, INT32_MIN, INT32_MAX)
AMINMAX(int64_t, i64, INT64_MIN, INT64_MAX)
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
