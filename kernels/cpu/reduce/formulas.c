/* Reductions of the table: each row's combine formula, in lanes. */
#include "kernels/cpu/reduce/reduce.h"

#include "kernels/cpu/elementwise/math.h"

/* Partial results side by side; as many as hide an addition's latency. */
#define LANES(T) (256 / (int)sizeof(T))
enum { FEW = 8, STEPS = 16 };

#undef bool /* a row of dtype.def */
#define T_f32 float
#define T_f64 double
#define T_i32 int32_t
#define T_i64 int64_t
/* What a row says it starts with; lowest and highest are cut to the type's range. */
#define lowest (-INFINITY)
#define highest INFINITY
static inline float cut_f32(double v) { return (float)v; }
static inline double cut_f64(double v) { return v; }
static inline int32_t cut_i32(double v) {
    return v == INFINITY ? INT32_MAX : v == -INFINITY ? INT32_MIN : (int32_t)v;
}
static inline int64_t cut_i64(double v) {
    return v == INFINITY ? INT64_MAX : v == -INFINITY ? INT64_MIN : (int64_t)v;
}

/* clang-format off */
#define HALVE(nm, t, W, half)                                                                    \
    if ((half) < (W))                                                                            \
        _Pragma("omp simd")                                                                      \
        for (int j = 0; j < (half); j++) all[j] = merge_##nm##_##t(all[j], all[j + (half)]);
/* n elements, `least` or more, in W lanes, which are put away every STEPS steps; what is left behind whole
 * steps is the end of the last W elements. Then the lanes into a; all elements are done. */
#define FOLD_LANES(nm, t, start, W, least)                                                       \
    if (n - i >= (least)) {                                                                      \
        T_##t all[W];                                                                            \
        for (int j = 0; j < (W); j++) all[j] = cut_##t(start);                                   \
        while (n - i >= (W)) {                                                                   \
            T_##t lane[W];                                                                       \
            int64_t stop = n - i < STEPS * (W) ? n : i + STEPS * (W);                            \
            for (int j = 0; j < (W); j++) lane[j] = cut_##t(start);                              \
            for (; i + (W) <= stop; i += (W)) {                                                  \
                if ((W) > FEW) gp_fetch_ahead(s + i, (W) * (int)sizeof *s);                      \
                _Pragma("omp simd")                                                              \
                for (int j = 0; j < (W); j++) lane[j] = step_##nm##_##t(lane[j], s[i + j]);      \
            }                                                                                    \
            _Pragma("omp simd")                                                                  \
            for (int j = 0; j < (W); j++) all[j] = merge_##nm##_##t(all[j], lane[j]);            \
        }                                                                                        \
        if (i < n) {                                                                             \
            const T_##t *last = s + n - (W);                                                     \
            const int done = (W) - (int)(n - i);                                                 \
            _Pragma("omp simd")                                                                  \
            for (int j = 0; j < (W); j++)                                                        \
                all[j] = j < done ? all[j] : step_##nm##_##t(all[j], last[j]);                   \
            i = n;                                                                               \
        }                                                                                        \
        HALVE(nm, t, W, 32) HALVE(nm, t, W, 16) HALVE(nm, t, W, 8) HALVE(nm, t, W, 4)            \
        HALVE(nm, t, W, 2) HALVE(nm, t, W, 1)                                                    \
        a = merge_##nm##_##t(a, all[0]);                                                         \
    }
#define REDUCE1(nm, t, start, combine, finish)                                                   \
    static inline T_##t step_##nm##_##t(T_##t acc, T_##t x) { return (T_##t)(combine); }         \
    static inline T_##t merge_##nm##_##t(T_##t a, T_##t b) { return step_##nm##_##t(a, b); }     \
    static void start_##nm##_##t(void *p, int64_t n) {                                           \
        for (int64_t i = 0; i < n; i++) ((T_##t *)p)[i] = cut_##t(start);                        \
    }                                                                                            \
    static void fold_##nm##_##t(void *p, const void *src, int64_t n, double p_) {                \
        const T_##t *s = src;                                                                    \
        T_##t a = *(T_##t *)p;                                                                   \
        int64_t i = 0;                                                                           \
        FOLD_LANES(nm, t, start, LANES(T_##t), 2 * LANES(T_##t))                                 \
        FOLD_LANES(nm, t, start, LANES(T_##t) / 2, LANES(T_##t) / 2)                             \
        FOLD_LANES(nm, t, start, FEW, FEW)                                                       \
        for (; i < n; i++) a = step_##nm##_##t(a, s[i]);                                         \
        *(T_##t *)p = a;                                                                         \
    }                                                                                            \
    static void rows_##nm##_##t(void *p, const char *x, int64_t apart, int64_t many, int64_t n,  \
                                double p_) {                                                     \
        for (int64_t k = 0; k < many; k++) fold_##nm##_##t((T_##t *)p + k, x + k * apart, n, p_); \
    }                                                                                            \
    static void join_##nm##_##t(void *p, const void *src, int64_t n) {                           \
        const T_##t *restrict s = src;                                                           \
        T_##t *restrict a = p;                                                                   \
        _Pragma("omp simd")                                                                      \
        for (int64_t i = 0; i < n; i++) a[i] = merge_##nm##_##t(a[i], s[i]);                     \
    }                                                                                            \
    static void each_##nm##_##t(void *p, const void *const *rows, int m, int64_t n, double p_) { \
        T_##t *restrict a = p;                                                                   \
        if (m == GP_REDUCE_ROWS) {                                                               \
            const T_##t *restrict r0 = rows[0], *restrict r1 = rows[1];                          \
            const T_##t *restrict r2 = rows[2], *restrict r3 = rows[3];                          \
            _Pragma("omp simd")                                                                  \
            for (int64_t i = 0; i < n; i++) {                                                    \
                T_##t v = step_##nm##_##t(step_##nm##_##t(a[i], r0[i]), r1[i]);                  \
                a[i] = step_##nm##_##t(step_##nm##_##t(v, r2[i]), r3[i]);                        \
            }                                                                                    \
            return;                                                                              \
        }                                                                                        \
        for (int k = 0; k < m; k++) {                                                            \
            const T_##t *restrict s = rows[k];                                                   \
            _Pragma("omp simd")                                                                  \
            for (int64_t i = 0; i < n; i++) a[i] = step_##nm##_##t(a[i], s[i]);                  \
        }                                                                                        \
    }                                                                                            \
    static void finish_##nm##_##t(void *p, double n, int64_t many, double p_) {                  \
        (void)n;                                                                                 \
        for (int64_t i = 0; i < many; i++) {                                                     \
            const T_##t acc = ((T_##t *)p)[i];                                                   \
            ((T_##t *)p)[i] = (T_##t)(finish);                                                   \
        }                                                                                        \
    }
/* clang-format on */
#define REDUCE(n, ty, start, combine, finish, ...)                                                 \
    REDUCE1(n, f32, start, combine, finish)                                                        \
    REDUCE1(n, f64, start, combine, finish)                                                        \
    REDUCE1(n, i32, start, combine, finish) REDUCE1(n, i64, start, combine, finish)
#include "tensor/ops/ops.def"

#define ONE(n, t)                                                                                  \
    {                                                                                              \
        GP_CT_##t, GP_CT_##t, 1, start_##n##_##t, fold_##n##_##t, each_##n##_##t, join_##n##_##t,  \
            finish_##n##_##t, rows_##n##_##t                                                       \
    }
#define REDUCE(n, ty, start, ...)                                                                  \
    _Bool CPU(n)(const gp_call *c);                                                                \
    _Bool CPU(n)(const gp_call *c) {                                                               \
        static const gp_reducer reds[] = {ONE(n, f32), ONE(n, f64), ONE(n, i32), ONE(n, i64)};     \
        return gp_reduce(c, &reds[gp_compute_type((gp_dtype)c->compute)], 1, 0);                   \
    }
#include "tensor/ops/ops.def"
