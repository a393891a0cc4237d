/* Element types: names, promotion, and the 16-bit floats. */
#include "tensor/dtype.h"

#include <limits.h>
#include <float.h>

#include "tensor/base/error.h"

_Static_assert(CHAR_BIT == 8 && sizeof(float) == 4 && sizeof(double) == 8,
               "the C types of dtype.def have the sizes that their names say");
_Static_assert(FLT_RADIX == 2 && FLT_MANT_DIG == 24 && FLT_MAX_EXP == 128 && DBL_MANT_DIG == 53 &&
                   DBL_MAX_EXP == 1024,
               "float and double are IEEE 754's binary32 and binary64: conversions use their bits");
_Static_assert(FLT_EVAL_METHOD == 0, "f32 is computed in f32: results round once");
_Static_assert((int)GP_KIND_BOOL < GP_KIND_INT && GP_KIND_INT < GP_KIND_FLOAT,
               "gp_dtype_promote takes the larger kind");
_Static_assert(GP_u8 < GP_i8 && GP_i8 < GP_i16 && GP_i16 < GP_i32 && GP_i32 < GP_i64 &&
                   GP_f16 < GP_bf16 && GP_bf16 < GP_f32 && GP_f32 < GP_f64,
               "gp_dtype_promote takes the later dtype of a kind");

const uint8_t gp_dtype_sizes[GP_DTYPES] = {
#define DTYPE(name, ctype, kind) sizeof(ctype),
#include "tensor/dtype.def"
};

const uint8_t gp_dtype_kinds[GP_DTYPES] = {
#define DTYPE(name, ctype, kind) GP_KIND_##kind,
#include "tensor/dtype.def"
};

static const char *const names[GP_DTYPES] = {
#define DTYPE(name, ctype, kind) #name,
#include "tensor/dtype.def"
};

static const struct {
    const char *name;
    gp_dtype dt;
} aliases[] = {
    {"float64", GP_f64}, {"double", GP_f64}, {"float32", GP_f32},   {"float", GP_f32},
    {"float16", GP_f16}, {"half", GP_f16},   {"bfloat16", GP_bf16}, {"int64", GP_i64},
    {"long", GP_i64},    {"int32", GP_i32},  {"int", GP_i32},       {"int16", GP_i16},
    {"short", GP_i16},   {"int8", GP_i8},    {"char", GP_i8},       {"uint8", GP_u8},
    {"byte", GP_u8},
};

const char *gp_dtype_name(gp_dtype dt) { return names[dt]; }

bool gp_dtype_parse(const char *name, gp_dtype *dt) {
    for (int i = 0; i < GP_DTYPES; i++)
        if (!strcmp(name, names[i])) return *dt = (gp_dtype)i, true;
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (!strcmp(name, aliases[i].name)) return *dt = aliases[i].dt, true;
    return gp_fail("unknown dtype '%.40s' (expected f64 f32 f16 bf16 i64 i32 i16 i8 u8 or bool)",
                   name);
}

bool gp_dtype_set(const char *text, uint32_t *set) {
    static const struct {
        const char *name;
        uint32_t set;
    } sets[] = {{"all", GP_SET_FLOAT | GP_SET_INT | GP_SET_BOOL},
                {"numbers", GP_SET_FLOAT | GP_SET_INT},
                {"integers", GP_SET_INT},
                {"floats", GP_SET_FLOAT}};
    *set = 0;
    for (size_t n; *text; text += n + (text[n] == ' ')) {
        uint32_t word = 0;
        n = strcspn(text, " ");
        for (size_t k = 0; k < sizeof sets / sizeof *sets; k++)
            if (strlen(sets[k].name) == n && !strncmp(text, sets[k].name, n)) word = sets[k].set;
        for (int dt = 0; dt < GP_DTYPES && !word; dt++)
            if (strlen(names[dt]) == n && !strncmp(text, names[dt], n)) word = GP_BIT(dt);
        if (!word) return gp_fail("'%.*s' is no dtype", (int)(n < 40 ? n : 40), text);
        *set |= word;
    }
    return *set || gp_fail("there are none");
}

gp_dtype gp_dtype_promote(gp_dtype a, gp_dtype b) {
    if (a == b) return a;
    gp_dkind ka = gp_dtype_kind(a), kb = gp_dtype_kind(b);
    if (ka != kb) return ka > kb ? a : b;
    gp_dtype lo = a < b ? a : b, hi = a < b ? b : a;
    if (lo == GP_u8 && hi == GP_i8) return GP_i16;
    if (lo == GP_f16 && hi == GP_bf16) return GP_f32;
    return hi;
}

/* Source: IEEE 754-2008, binary16; the subnormal path scales by an exact power of two. */
float gp_f16_to_f32(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff, u;
    float f;
    if (rest >= 0x7c00) {
        u = sign | 0x7f800000 | (rest & 0x3ff) << 13;
    } else if (rest >= 0x400) {
        u = sign | ((rest << 13) + 0x38000000);
    } else {
        f = (float)rest * 0x1p-24f;
        memcpy(&u, &f, 4);
        u |= sign;
    }
    memcpy(&f, &u, 4);
    return f;
}

uint16_t gp_f32_to_f16(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
    u &= 0x7fffffff;
    if (u > 0x7f800000) return sign | 0x7e00;
    if (u >= 0x477ff000) return sign | 0x7c00; /* 65520 and above round to infinity */
    if (u < 0x38800000) { /* below 2^-14: the sum's rounding is the conversion's */
        float a, magic = 0.5f;
        memcpy(&a, &u, 4);
        a += magic;
        memcpy(&u, &a, 4);
        return sign | (uint16_t)(u - 0x3f000000);
    }
    u += 0xfff + (u >> 13 & 1);
    return sign | (uint16_t)((u - 0x38000000) >> 13);
}
