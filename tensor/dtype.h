/* Element types: names, sizes, promotion as in PyTorch, and conversion of the 16-bit floats. */
#ifndef GP_DTYPE_H
#define GP_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef enum gp_dtype {
#define DTYPE(name, ctype, kind) GP_##name,
#include "tensor/dtype.def"
    GP_DTYPES
} gp_dtype;

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

/* "f32" and the like, as gp_dtype_parse reads it; lives for ever. */
const char *gp_dtype_name(gp_dtype dt);

/* "f32", or PyTorch's and NumPy's names ("float32", "float", "int64", "long" …). False with a
 * message if there is no such dtype. */
bool gp_dtype_parse(const char *name, gp_dtype *dt);

/* The smallest dtype that both fit in, as torch.promote_types. */
gp_dtype gp_dtype_promote(gp_dtype a, gp_dtype b);

/* The float beside d whose last bit is 1, where d is none itself. Rounded to a shorter type it gives what d does: rounded
 * to the nearest float on the way, d would be rounded twice. Source: Boldo and Melquiond, "Emulation of FMA and correctly
 * rounded sums", 2008. */
static inline float gp_f64_to_odd_f32(double d) {
    float f = (float)d;
    double size = d < 0 ? -d : d;
    uint32_t u, inexact = (double)f != d, away = (f < 0 ? -f : f) > size;
    memcpy(&u, &f, 4);
    u = (u - away) | inexact;
    memcpy(&f, &u, 4);
    return f;
}

/* The same of an integer, of which f64 may not have room for the last bits: those are joined in one. */
static inline float gp_i64_to_odd_f32(int64_t i) {
    bool small = i >= -((int64_t)1 << 53) && i <= (int64_t)1 << 53;
    int64_t joined = (i >> 16) | ((i & 0xffff) != 0);
    return gp_f64_to_odd_f32(small ? (double)i : (double)joined * 0x1p16);
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
