/* Order-preserving unsigned keys of every dtype, for sorting. */
#include "kernels/cpu/sort/keys.h"

#undef bool /* a row of dtype.def */

/* Integers: the sign bit flipped. Floats: negative ones complemented, others above them. */
#define KEY_LOOP(type, element, expr)                                                              \
    for (int64_t i = 0; i < n; i++) {                                                              \
        const type v = element;                                                                    \
        o[i] = expr;                                                                               \
    }
#define KEYS(name, type, expr)                                                                     \
    static void key_##name(uint64_t *o, const char *p, int64_t step, int64_t n) {                  \
        if (step == (int64_t)sizeof(type))                                                         \
            KEY_LOOP(type, ((const type *)(const void *)p)[i], expr)                               \
        else KEY_LOOP(type, *(const type *)(const void *)(p + i * step), expr)                     \
    }
#define FLOAT_KEY(U, inf, sign)                                                                    \
    ((U)(v << 1) > (U)((U)(inf) << 1) ? (uint64_t)(U)-1                                            \
     : (U)(v << 1) == 0               ? (uint64_t)(sign)                                           \
     : v & (sign)                     ? (uint64_t)(U)~v                                            \
                                      : (uint64_t)(U)(v | (sign)))
KEYS(bool, uint8_t, v != 0)
KEYS(u8, uint8_t, v)
KEYS(i8, uint8_t, (uint64_t)(v ^ 0x80u))
KEYS(i16, uint16_t, (uint64_t)(v ^ 0x8000u))
KEYS(i32, uint32_t, (uint64_t)(v ^ 0x80000000u))
KEYS(i64, uint64_t, v ^ 0x8000000000000000u)
KEYS(f16, uint16_t, FLOAT_KEY(uint16_t, 0x7c00, 0x8000u))
KEYS(bf16, uint16_t, FLOAT_KEY(uint16_t, 0x7f80, 0x8000u))
KEYS(f32, uint32_t, FLOAT_KEY(uint32_t, 0x7f800000, 0x80000000u))
KEYS(f64, uint64_t, FLOAT_KEY(uint64_t, 0x7ff0000000000000, 0x8000000000000000u))

gp_key gp_key_fn(gp_dtype dt) {
    static const gp_key fns[GP_DTYPES] = {
#define DTYPE(name, type, kind) key_##name,
#include "tensor/dtype.def"
    };
    return fns[dt];
}
