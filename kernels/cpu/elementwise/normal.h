/* The normal distribution in f32, for gelu: libmvec's erfc takes several times as long. */
#ifndef GP_CPU_NORMAL_H
#define GP_CPU_NORMAL_H

#include "kernels/cpu/elementwise/exp.h"

/* 14.6: beyond it exp(-x * x / 2) is 0 in f32. As an integer, which orders like the float: a
 * comparison of floats would be compiled to one path for each outcome. */
#define NORMAL_END 0x4169999a

static inline uint32_t float_bits(float x) {
    uint32_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}
static inline float bits_float(uint32_t b) {
    float x;
    memcpy(&x, &b, sizeof x);
    return x;
}

/* At most 14.6 for a >= 0; NaN becomes 14.6, too. */
static inline float normal_end(float a) {
    uint32_t b = float_bits(a);
    return bits_float(b > NORMAL_END ? NORMAL_END : b);
}

/* a * a / -2 = n log(2) + r / -2, exactly but for the last rounding. Where the processor rounds a
 * product and a sum once, that gives the error of a * a; elsewhere the square of a's upper 12 bits
 * is exact. Also sets *m, from whose last bits times_power makes 2^n. */
static inline float normal_rest(float a, float *m) {
    const float magic = 0x1.8p23f + 127 + 64; /* as in exp_f32 */
    float z, n;
#ifdef FP_FAST_FMAF
    z = a * a, *m = and_add(z, -0.72134752f, magic), n = *m - magic;
    return and_add(n, 1.38629436f, z) + and_add(a, a, -z);
#else
    float h = bits_float(float_bits(a) & 0xfffff000u);
    z = h * h, *m = and_add(z, -0.72134752f, magic), n = *m - magic;
    return (z + n * 1.38671875f) + n * -0.00042438507f + (a - h) * (a + h);
#endif
}

/* p * 2^(n + 64): of a p near 2^-64, so that only the product can be too small to be exact. */
static inline float times_power(float p, float m) { return p * bits_float(float_bits(m) << 23); }

/* The density at a, 0 <= a <= 14.6, and the probability beyond it, both off by a few ulp:
 * exp(-a * a / 2) times 1 / sqrt(2 pi) and times N(a) / D(a). exp(r / -2) is a minimax polynomial
 * (off by 4e-9); N / D is one of the tail, too (6e-9), and makes up for log(2)'s rounding in
 * normal_rest. All terms of N and D are positive: nothing cancels. The polynomial is multiplied by
 * 46016, by which N is divided, so that it and D begin with an addition. */
static inline float normal_f32(float a, float *beyond) {
    float m, r = normal_rest(a, &m), p = r - 12.0366573f, num = 0x1p-64f * 8.66971368e-06f,
             den = a + 9.82879162f;
    p = and_add(p, r, 119.835022f);
    p = and_add(p, r, -958.65741f);
    p = and_add(p, r, 5751.99951f);
    p = and_add(p, r, -23008);
    p = and_add(p, r, 46016);
    num = and_add(num, a, 0x1p-64f * 8.52075682e-05f);
    num = and_add(num, a, 0x1p-64f * 0.000382943515f);
    num = and_add(num, a, 0x1p-64f * 0.000913349155f);
    num = and_add(num, a, 0x1p-64f * 0.00103781489f);
    den = and_add(den, a, 45.1576004f);
    den = and_add(den, a, 115.359528f);
    den = and_add(den, a, 160.265091f);
    den = and_add(den, a, 95.5121765f);
    *beyond = times_power(p * (num / den), m); /* the division does not wait for p */
    return times_power(p * (0x1p-64f * 8.66964274e-06f), m);
}

/* x times the probability below it: x - |x| times that beyond |x| from 0 on, and -|x| times it
 * below. x above 14.6 counts as 14.6 in the product: inf - inf * 0 would be NaN. */
static inline float gelu_f32(float x) {
    uint32_t b = float_bits(x);
    float beyond, size = bits_float(((int32_t)b > NORMAL_END ? NORMAL_END : b) & 0x7fffffffu);
    normal_f32(normal_end(size), &beyond);
    /* clang takes 0 and -0 for the same where floats are compared. */
    return and_add(-size, beyond, bits_float(b > 0x80000000u ? 0x80000000u : b));
}

/* The derivative: the probability below x, and x times the density. */
static inline float gelu_slope_f32(float x) {
    float size = (fabsf)(x), beyond, density = normal_f32(normal_end(size), &beyond);
    beyond = and_add(-size, density, beyond);
    return x < 0 ? beyond : 1 - beyond;
}

#endif
