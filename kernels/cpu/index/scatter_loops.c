/* The loops that write at a table's offsets, for every dtype; 16-bit floats are only assigned:
 * their sums are made in f32. */
#include "kernels/cpu/index/scatter.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define T uint8_t
#define NAME u8
#include "kernels/cpu/index/scatter_row.inc"
#define T uint16_t
#define NAME u16
#include "kernels/cpu/index/scatter_row.inc"
#define T uint32_t
#define NAME u32
#include "kernels/cpu/index/scatter_row.inc"
#define T uint64_t
#define NAME u64
#include "kernels/cpu/index/scatter_row.inc"
#define T int8_t
#define NAME i8
#include "kernels/cpu/index/scatter_row.inc"
#define T int16_t
#define NAME i16
#include "kernels/cpu/index/scatter_row.inc"
#define T int32_t
#define NAME i32
#include "kernels/cpu/index/scatter_row.inc"
#define T int64_t
#define NAME i64
#include "kernels/cpu/index/scatter_row.inc"
#define T float
#define NAME f32
#include "kernels/cpu/index/scatter_row.inc"
#define T double
#define NAME f64
#include "kernels/cpu/index/scatter_row.inc"

/* y: what replaces a, from a and the value b. */
#define ROW(name, T, t, y)                                                                         \
    static inline T formula_##name(T a, T b) { return (T)(y); }                                    \
    static void name(const gp_scatter_at *p, int64_t n) { row_##t(p, n, formula_##name); }
ROW(put_1, uint8_t, u8, b)
ROW(put_2, uint16_t, u16, b)
ROW(put_4, uint32_t, u32, b)
ROW(put_8, uint64_t, u64, b)

/* The smaller and the larger; a where they are equal, or a is NaN. Without branches: which one it
 * is cannot be predicted, and compilers would branch for floats. */
#if defined(__SSE2__)
#define CHOICE(name, T, V, s, fn, sign)                                                            \
    static inline T name(T b, T a) { return _mm_cvts##s(_mm_##fn(_mm_set_##V(b), _mm_set_##V(a))); }
#else
#define CHOICE(name, T, V, s, fn, sign)                                                            \
    static inline T name(T b, T a) { return b sign a ? b : a; }
#endif
CHOICE(less_f32, float, ss, s_f32, min_ss, <)
CHOICE(more_f32, float, ss, s_f32, max_ss, >)
CHOICE(less_f64, double, sd, d_f64, min_sd, <)
CHOICE(more_f64, double, sd, d_f64, max_sd, >)
#define LESS(b, a)                                                                                 \
    _Generic((a), float : less_f32(b, a), double : less_f64(b, a), default : b < a ? b : a)
#define MORE(b, a)                                                                                 \
    _Generic((a), float : more_f32(b, a), double : more_f64(b, a), default : b > a ? b : a)

/* NaN wins, as in amin and amax. */
#define NAN_OR(b, y) __builtin_expect((b) != (b), 0) ? (b) : (y)
#define ROWS(name, T)                                                                              \
    ROW(add_##name, T, name, a + b)                                                                \
    ROW(mul_##name, T, name, a *b)                                                                 \
    ROW(least_##name, T, name, NAN_OR(b, LESS(b, a)))                                              \
    ROW(most_##name, T, name, NAN_OR(b, MORE(b, a)))
ROWS(u8, uint8_t)
ROWS(i8, int8_t)
ROWS(i16, int16_t)
ROWS(i32, int32_t)
ROWS(i64, int64_t)
ROWS(f32, float)
ROWS(f64, double)
ROW(or, uint8_t, u8, a | b)
ROW(and, uint8_t, u8, a &b)

#define FNS(name, store)                                                                           \
    { store, add_##name, mul_##name, least_##name, most_##name }
gp_scatter_row gp_scatter_fn(gp_dtype dt, gp_scatter_op how) {
    _Static_assert(GP_ASSIGN == 0 && GP_ADD == 1 && GP_MUL == 2 && GP_MIN == 3 && GP_MAX == 4 &&
                       GP_MEAN == 5,
                   "rows of the table have this order");
    static const gp_scatter_row fns[GP_DTYPES][GP_MEAN] = {
        [GP_bool] = {put_1, or, and, and, or },
        [GP_u8] = FNS(u8, put_1),
        [GP_i8] = FNS(i8, put_1),
        [GP_i16] = FNS(i16, put_2),
        [GP_i32] = FNS(i32, put_4),
        [GP_i64] = FNS(i64, put_8),
        [GP_f16] = {put_2},
        [GP_bf16] = {put_2},
        [GP_f32] = FNS(f32, put_4),
        [GP_f64] = FNS(f64, put_8),
    };
    return fns[dt][how];
}
