/* Elementwise loops of bools and of integers of 8 and 16 bits in their own type, since a vector
 * holds several times as many of them as of the widened type. Worth 3.0 at u8 + u8 and 3.5 at bool
 * and bool, 1e6 elements (one thread of an Emerald Rapids with AVX-512). */
#include <string.h>

#include "kernels/cpu/elementwise/elementwise.h"
#include "kernels/cpu/elementwise/math.h"

#undef bool /* a row of dtype.def */

/* The rows that give the same bits in the narrow type; the others are widened. */
#define NARROW_neg ~, 1
#define NARROW_abs ~, 1
#define NARROW_bitwise_not ~, 1
#define NARROW_logical_not ~, 1
#define NARROW_add ~, 1
#define NARROW_sub ~, 1
#define NARROW_mul ~, 1
#define NARROW_maximum ~, 1
#define NARROW_minimum ~, 1
#define NARROW_bitwise_and ~, 1
#define NARROW_bitwise_or ~, 1
#define NARROW_bitwise_xor ~, 1
#define NARROW_eq ~, 1
#define NARROW_ne ~, 1
#define NARROW_lt ~, 1
#define NARROW_le ~, 1
#define NARROW_gt ~, 1
#define NARROW_ge ~, 1
#define NARROW_logical_and ~, 1
#define NARROW_logical_or ~, 1
#define NARROW_logical_xor ~, 1
/* WHEN(n, …) is … for those, and else nothing. */
#define SECOND(a, b, ...) b
#define IS(...) SECOND(__VA_ARGS__, 0, ~)
#define WHEN_0(...)
#define WHEN_1(...) __VA_ARGS__
#define PASTE2(a, b) a##b
#define PASTE(a, b) PASTE2(a, b)
#define WHEN(n, ...) PASTE(WHEN_, IS(NARROW_##n))(__VA_ARGS__)

/* T: the elements' type; C: the formula's. Any byte but 0 is true. */
#define LOOP(name, R, T, C, get, store, vars, y)                                                   \
    static void name(int64_t n, void *out, const void *const *in, const gp_scalar *par) {          \
        R *restrict o = out;                                                                       \
        vars##_FROM(T) _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                       \
            vars(C, get) o[i] = (R)store(y);                                                       \
        }                                                                                          \
    }
#define X_FROM(T) const T *u = in[0];
#define X(C, get) const C x = get(u[i]);
#define AB_FROM(T) const T *u = in[0], *v = in[1];
#define AB(C, get) const C a = get(u[i]), b = get(v[i]);
#define SAME(v) (v)
#define TRUE(v) ((v) != 0)
#define ANY(n, vars, y)                                                                            \
    LOOP(u8_##n, uint8_t, uint8_t, int32_t, SAME, SAME, vars, y)                                   \
    LOOP(i8_##n, int8_t, int8_t, int32_t, SAME, SAME, vars, y)                                     \
    LOOP(i16_##n, int16_t, int16_t, int32_t, SAME, SAME, vars, y)                                  \
    LOOP(bool_##n, uint8_t, uint8_t, int32_t, TRUE, TRUE, vars, y)
#define TEST(n, vars, y)                                                                           \
    LOOP(u8_##n, uint8_t, uint8_t, int32_t, SAME, SAME, vars, y)                                   \
    LOOP(i8_##n, uint8_t, int8_t, int32_t, SAME, SAME, vars, y)                                    \
    LOOP(i16_##n, uint8_t, int16_t, int32_t, SAME, SAME, vars, y)                                  \
    LOOP(bool_##n, uint8_t, uint8_t, int32_t, TRUE, SAME, vars, y)

#define UNARY(n, ty, y, ...) WHEN(n, ANY(n, X, y))
#define PREDICATE(n, ty, y, ...) WHEN(n, TEST(n, X, y))
#define BINARY(n, ty, y, ...) WHEN(n, ANY(n, AB, y))
#define COMPARE(n, ty, y, ...) WHEN(n, TEST(n, AB, y))
#include "tensor/ops/table/ops.def"

gp_block_fn gp_narrow_loop(const gp_op *op, gp_dtype dt) {
    typedef struct row {
        gp_block_fn of_bool, of_u8, of_i8, of_i16;
    } row;
    static const row rows[GP_OPS] = {
#define ROW(n) WHEN(n, [OP_##n] = {bool_##n, u8_##n, i8_##n, i16_##n}, )
#define UNARY(n, ...) ROW(n)
#define PREDICATE(n, ...) ROW(n)
#define BINARY(n, ...) ROW(n)
#define COMPARE(n, ...) ROW(n)
#include "tensor/ops/table/ops.def"
    };
    const row *r = &rows[gp_op_id(op)];
    if (dt == GP_bool && op->lowest_bit) r = &rows[OP_logical_not]; /* ~1 would be true */
    return dt == GP_bool  ? r->of_bool
           : dt == GP_u8  ? r->of_u8
           : dt == GP_i8  ? r->of_i8
           : dt == GP_i16 ? r->of_i16
                          : NULL;
}

/* ---- results of comparisons ---- */

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
gp_store gp_bool_store(gp_dtype to) {
    static const gp_store fns[GP_DTYPES] = {
#define DTYPE(name, type, kind) bool_to_##name,
#include "tensor/dtype.def"
    };
    return to == GP_bool ? widen_bool : fns[to];
}
