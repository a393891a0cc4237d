/* Reductions of the table: each row's combine formula, in lanes. Rows of fewer than 128 elements of
 * 4 bytes take 8 lanes: 32 of them made sum over 36 columns 3 times as slow with AVX2. */
#include "kernels/cpu/reduce/reduce.h"

#include "kernels/cpu/elementwise/math.h"

/* Partial results in lanes, enough to hide an addition's latency. */
#define LANES(T) (256 / (int)sizeof(T))
enum { FEW = 8, STEPS = 16 };
/* Whether rows are prefetched, and folded one by one, or in pairs: two rows at once took 1.14 of
 * the time for sum 1e7 with AVX-512 (Emerald Rapids), and 0.66 with AVX2 (Zen 3), where prefetching
 * slows them down from 27 to 22 GB/s. */
#if defined(__AVX512F__)
enum { FETCH = true };
#else
enum { FETCH = false };
#endif

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

#define INLINE static inline __attribute__((always_inline))
/* Folds one half of the W lanes onto the other, where there are as many. */
#define HALVE(half)                                                                                \
    if ((half) < W)                                                                                \
        _Pragma("omp simd") for (int j = 0; j < (half); j++) all[r][j] =                           \
            step(all[r][j], all[r][j + (half)]);
#define TEMPLATE "kernels/cpu/reduce/formulas.inc"
#include "kernels/common/numbers.inc"

/* clang-format off */
/* A row's formulas, and the reduction of one type by them. */
#define REDUCE1(nm, t, start, combine, finish)                                                     \
    static inline T_##t step_##nm##_##t(T_##t acc, T_##t x) { return (T_##t)(combine); }           \
    static inline T_##t last_##nm##_##t(T_##t acc, double n) { return (T_##t)(finish); }           \
    static void start_##nm##_##t(void *p, int64_t n) { start_##t(p, n, cut_##t(start)); }          \
    static void fold_##nm##_##t(void *p, const void *x, int64_t n, double p_) {                    \
        fold_##t(p, x, n, cut_##t(start), step_##nm##_##t);                                        \
    }                                                                                              \
    static void join_##nm##_##t(void *p, const void *x, int64_t n) {                               \
        join_##t(p, x, n, step_##nm##_##t);                                                        \
    }                                                                                              \
    LOOPS1(nm, t, start)
#define LOOPS1(nm, t, start)                                                                       \
    static void rows_##nm##_##t(void *p, const char *x, int64_t gap, int64_t many, int64_t n,      \
                                double p_) {                                                       \
        rows_##t(p, x, gap, many, n, cut_##t(start), step_##nm##_##t);                             \
    }                                                                                              \
    static void each_##nm##_##t(void *p, const void *const *rows, int m, int64_t n, double p_) {   \
        each_##t(p, rows, m, n, step_##nm##_##t);                                                  \
    }                                                                                              \
    static void finish_##nm##_##t(void *p, double n, int64_t many, double p_) {                    \
        finish_##t(p, n, many, last_##nm##_##t);                                                   \
    }
/* clang-format on */
#define REDUCE(n, ty, start, combine, finish, ...)                                                 \
    REDUCE1(n, f32, start, combine, finish)                                                        \
    REDUCE1(n, f64, start, combine, finish)                                                        \
    REDUCE1(n, i32, start, combine, finish) REDUCE1(n, i64, start, combine, finish)
#include "tensor/ops/table/ops.def"

#define ONE(n, t)                                                                                  \
    {                                                                                              \
        GP_CT_##t, GP_CT_##t, 1, start_##n##_##t, fold_##n##_##t, each_##n##_##t, join_##n##_##t,  \
            finish_##n##_##t, rows_##n##_##t                                                       \
    }
static const gp_reducer reducers[GP_OPS][GP_CTYPES] = {
#define REDUCE(n, ...) [OP_##n] = {ONE(n, f32), ONE(n, f64), ONE(n, i32), ONE(n, i64)},
#include "tensor/ops/table/ops.def"
};

const gp_reducer *gp_reducer_of(const gp_op *op, gp_ctype ct) {
    return &reducers[gp_op_id(op)][ct];
}

#define REDUCE(n, ...)                                                                             \
    _Bool CPU(n)(const gp_call *c);                                                                \
    _Bool CPU(n)(const gp_call *c) {                                                               \
        return gp_reduce(c, &reducers[OP_##n][gp_compute_type((gp_dtype)c->compute)], 1, 0);       \
    }
#include "tensor/ops/table/ops.def"
