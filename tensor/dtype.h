/* Element types: names, sizes, promotion as in PyTorch, and conversion of the 16-bit floats. */
#ifndef GP_DTYPE_H
#define GP_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tensor/base/dtype_enum.h"

typedef enum gp_dkind { GP_KIND_BOOL, GP_KIND_INT, GP_KIND_FLOAT } gp_dkind;

/* Sets of dtypes, one bit each. */
#define GP_BIT(dt) (1u << (dt))
#define GP_SET_BOOL GP_BIT(GP_bool)
#define GP_SET_INT                                                                                 \
    (GP_BIT(GP_u8) | GP_BIT(GP_i8) | GP_BIT(GP_i16) | GP_BIT(GP_i32) | GP_BIT(GP_i64))
#define GP_SET_FLOAT (GP_BIT(GP_f16) | GP_BIT(GP_bf16) | GP_BIT(GP_f32) | GP_BIT(GP_f64))

extern const uint8_t gp_dtype_sizes[GP_DTYPES];
extern const uint8_t gp_dtype_kinds[GP_DTYPES];

static inline size_t gp_dtype_size(gp_dtype dt) { return gp_dtype_sizes[dt]; } /* bytes */
static inline gp_dkind gp_dtype_kind(gp_dtype dt) { return (gp_dkind)gp_dtype_kinds[dt]; }
static inline bool gp_is_float(gp_dtype dt) { return gp_dtype_kinds[dt] == GP_KIND_FLOAT; }

/* "f32" and the like, as gp_dtype_parse reads it; static. */
const char *gp_dtype_name(gp_dtype dt);

/* "f32", or PyTorch's and NumPy's names ("float32", "float", "int64", "long" …). False with a
 * message if there is no such dtype. */
bool gp_dtype_parse(const char *name, gp_dtype *dt);

/* A set of dtypes, "f64 f32 integers": their names, or all, numbers, integers, floats. False with a
 * message, of the word that is none. */
bool gp_dtype_set(const char *text, uint32_t *set);

/* The smallest dtype that both fit in, as torch.promote_types. */
gp_dtype gp_dtype_promote(gp_dtype a, gp_dtype b);

/* The float next to d whose last bit is 1, where d itself is not a float. Rounded to a shorter type
 * it gives the same as d: rounding to the nearest float first would round twice. Source: Boldo and
 * Melquiond, "Emulation of FMA and correctly rounded sums", 2008. */
static inline float gp_f64_to_odd_f32(double d) {
    float f = (float)d;
    double size = d < 0 ? -d : d;
    uint32_t u, inexact = (double)f != d, away = (f < 0 ? -f : f) > size;
    memcpy(&u, &f, 4);
    u = (u - away) | inexact;
    memcpy(&f, &u, 4);
    return f;
}

/* The same in fewer steps where the float is none of the subnormal ones, which have fewer bits and
 * are rounded to the nearest: the bits that a float lacks are joined into its last one. */
static inline float gp_f64_to_odd_normal_f32(double d) {
    const uint64_t lacks = 0x1fffffff;
    uint64_t u;
    memcpy(&u, &d, 8);
    u = (u | ((u & lacks) + lacks)) & ~lacks;
    memcpy(&d, &u, 8);
    return (float)d;
}

/* The same for an integer, whose last bits f64 may lack room for: those are joined into one
 * (sticky) bit. The halves become the last bits of 2^84 + 2^63 and 2^52, whose sum is exact: a loop
 * of it is vectorised without AVX-512. */
static inline float gp_i64_to_odd_f32(int64_t i) {
    uint64_t u = (uint64_t)i,
             joined = (u & ~(uint64_t)0xffff) | (((u & 0xffff) + 0xffff) & 0x10000);
    uint64_t large = -(uint64_t)(i < -((int64_t)1 << 53) || i > (int64_t)1 << 53);
    u = (joined & large) | (u & ~large);
    uint64_t high = (u >> 32) ^ 0x4530000080000000, low = (u & 0xffffffff) | 0x4330000000000000;
    double h, l;
    memcpy(&h, &high, 8);
    memcpy(&l, &low, 8);
    return gp_f64_to_odd_normal_f32(h - 0x1.00000801p84 + l);
}

/* IEEE half and bfloat16, rounded to nearest even; NaN stays NaN. */
uint16_t gp_f32_to_f16(float f);
float gp_f16_to_f32(uint16_t h);

static inline float gp_bf16_to_f32(uint16_t h) {
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}

static inline uint16_t gp_f32_to_bf16(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    if ((u & 0x7fffffff) > 0x7f800000) return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

#endif
