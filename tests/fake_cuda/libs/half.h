// 16-bit floats of stand-in libraries, independent of the program's own.
#ifndef FAKE_HALF_H
#define FAKE_HALF_H

#include <cmath>
#include <cstdint>
#include <cstring>

static inline float from_bf16(uint16_t h) {
    uint32_t u = (uint32_t)h << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static inline uint16_t to_bf16(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    if (f != f) return (uint16_t)(u >> 16 | 0x40);
    return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
static inline float from_f16(uint16_t h) {
    int e = h >> 10 & 31, m = h & 1023;
    float v = e == 31 ? (m ? NAN : INFINITY)
              : e     ? ldexpf((float)(m + 1024), e - 25)
                      : ldexpf((float)m, -24);
    return h >> 15 ? -v : v;
}
// To TF32's 10 bits of mantissa, to nearest, ties to even: 42 of v's bits are cut off. v was a
// float, and is no subnormal number.
static inline double to_tf32(double v) {
    const uint64_t cut = (uint64_t)1 << 42;
    uint64_t bits;
    if (v - v != 0) return v;
    memcpy(&bits, &v, sizeof bits);
    bits = (bits + cut / 2 - 1 + (bits >> 42 & 1)) & ~(cut - 1);
    memcpy(&v, &bits, sizeof bits);
    return v;
}
// Rounded to nearest, ties to even, as nearbyintf does.
static inline uint16_t to_f16(float f) {
    uint16_t sign = std::signbit(f) ? 0x8000 : 0;
    float a = fabsf(f);
    if (f != f) return (uint16_t)(sign | 0x7e00);
    if (a >= 65520) return (uint16_t)(sign | 0x7c00);
    if (a < 6.103515625e-05f) return (uint16_t)(sign | (uint16_t)nearbyintf(ldexpf(a, 24)));
    int e;
    float m = nearbyintf(ldexpf(frexpf(a, &e), 11)); // 1024 … 2048
    return (uint16_t)(sign | (uint16_t)(((e + 14) << 10) + ((int)m - 1024)));
}

#endif
