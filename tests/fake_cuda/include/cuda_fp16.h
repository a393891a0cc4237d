/* Half precision as CUDA names it; conversions round to the nearest, ties to even (tests/fake_cuda). */
#ifndef FAKE_CUDA_FP16_H
#define FAKE_CUDA_FP16_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
#include "cuda_runtime.h"
#include "fake/odd.h"

namespace fake {
static inline uint16_t half_bits(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    uint32_t sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
    if (a > 0x7f800000) return 0x7fff; /* a NaN, as the card writes it */
    if (a >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
    if (a < 0x38800000) { /* below 2^-14: in units of 2^-24 */
        float magnitude;
        memcpy(&magnitude, &a, 4);
        return (uint16_t)(sign | (uint32_t)rintf(magnitude * 0x1p24f));
    }
    return (uint16_t)(sign | ((a - 0x38000000 + 0xfff + (a >> 13 & 1)) >> 13));
}
static inline float half_float(uint16_t b) {
    uint32_t sign = (uint32_t)(b & 0x8000) << 16, e = b >> 10 & 31, m = b & 0x3ff, u;
    if (e == 0) return (sign ? -1 : 1) * (float)m * 0x1p-24f;
    u = sign | (e == 31 ? 0x7f800000 | m << 13 : (e + 112) << 23 | m << 13);
    float f;
    memcpy(&f, &u, 4);
    return f;
}
} // namespace fake
struct __half_raw {
    unsigned short x;
};
struct alignas(2) __half {
    unsigned short __x;
    __half() = default;
    __half(__half_raw r) : __x(r.x) {}
    __half(float f) : __x(fake::half_bits(f)) {}
    __half(double d) : __x(fake::half_bits(fake::to_odd(d))) {}
    __half(int i) : __x(fake::half_bits((float)i)) {}
    operator float() const { return fake::half_float(__x); }
    operator __half_raw() const { return __half_raw{__x}; }
};
struct alignas(4) __half2 {
    __half x, y;
};
typedef __half half;
typedef __half2 half2;

static inline float __half2float(__half v) { return (float)v; }
static inline __half __float2half(float f) { return __half(f); }
static inline __half __float2half_rn(float f) { return __half(f); }
static inline __half __double2half(double d) { return __half(d); }
static inline float2 __half22float2(__half2 v) { return make_float2(v.x, v.y); }
static inline __half2 __floats2half2_rn(float a, float b) { return __half2{a, b}; }
static inline unsigned short __half_as_ushort(__half v) { return v.__x; }
static inline __half __ushort_as_half(unsigned short b) { return __half(__half_raw{b}); }
#else
typedef struct __half {
    unsigned short x;
} __half;
#endif

#endif
