/* bfloat16 as CUDA names it; conversions round to the nearest, ties to even (tests/fake_cuda). */
#ifndef FAKE_CUDA_BF16_H
#define FAKE_CUDA_BF16_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#include "cuda_runtime.h"
#include "fake/odd.h"

namespace fake {
static inline uint16_t bfloat16_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    if ((u & 0x7fffffff) > 0x7f800000) return 0x7fff; /* a NaN, as the card writes it */
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static inline float bfloat16_float(uint16_t b) {
    uint32_t u = (uint32_t)b << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}
} // namespace fake
struct __nv_bfloat16_raw {
    unsigned short x;
};
struct alignas(2) __nv_bfloat16 {
    unsigned short __x;
    __nv_bfloat16() = default;
    __nv_bfloat16(__nv_bfloat16_raw r) : __x(r.x) {}
    __nv_bfloat16(float f) : __x(fake::bfloat16_bits(f)) {}
    __nv_bfloat16(double d) : __x(fake::bfloat16_bits(fake::to_odd(d))) {}
    __nv_bfloat16(int i) : __x(fake::bfloat16_bits((float)i)) {}
    operator float() const { return fake::bfloat16_float(__x); }
    operator __nv_bfloat16_raw() const { return __nv_bfloat16_raw{__x}; }
};
struct alignas(4) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

static inline float __bfloat162float(__nv_bfloat16 v) { return (float)v; }
static inline __nv_bfloat16 __float2bfloat16(float f) { return __nv_bfloat16(f); }
static inline __nv_bfloat16 __float2bfloat16_rn(float f) { return __nv_bfloat16(f); }
static inline __nv_bfloat16 __double2bfloat16(double d) { return __nv_bfloat16(d); }
static inline float2 __bfloat1622float2(__nv_bfloat162 v) { return make_float2(v.x, v.y); }
static inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return __nv_bfloat162{a, b}; }
static inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 v) { return v.__x; }
static inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short b) { return __nv_bfloat16(__nv_bfloat16_raw{b}); }
#else
typedef struct __nv_bfloat16 {
    unsigned short x;
} __nv_bfloat16;
#endif

#endif
