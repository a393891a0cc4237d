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
 * (off by 3e-9); N / D is one of the tail, too (6e-9), and makes up for log(2)'s rounding in
 * normal_rest. All terms of N and D are positive: nothing cancels. */
static inline float normal_f32(float a, float *beyond) {
    float m, r = normal_rest(a, &m), p = 2.15852179e-05f, num = 0x1p-64f * 0.57382894f,
             den = 1.43836403f;
    p = and_add(p, r, -0.000261523283f);
    p = and_add(p, r, 0.00260427431f);
    p = and_add(p, r, -0.0208331496f);
    p = and_add(p, r, 0.124999985f);
    p = and_add(p, r, -0.5f);
    p = and_add(p, r, 1);
    num = and_add(num, a, 0x1p-64f * 5.63969135f);
    num = and_add(num, a, 0x1p-64f * 25.3461304f);
    num = and_add(num, a, 0x1p-64f * 60.4523849f);
    num = and_add(num, a, 0x1p-64f * 68.6904297f);
    den = and_add(den, a, 14.1373653f);
    den = and_add(den, a, 64.9529572f);
    den = and_add(den, a, 165.928604f);
    den = and_add(den, a, 230.51889f);
    den = and_add(den, a, 137.380859f);
    *beyond = times_power(p * num / den, m);
    return times_power(p * (0x1p-64f * 0.39894228f), m);
}

/* x times the probability below it: x - |x| times that beyond |x| from 0 on, and -|x| times it
 * below. x above 14.6 counts as 14.6 in the product: inf - inf * 0 would be NaN. */
static inline float gelu_f32(float x) {
    uint32_t b = float_bits(x);
    float beyond, size = bits_float(((int32_t)b > NORMAL_END ? NORMAL_END : b) & 0x7fffffffu);
    normal_f32(normal_end(size), &beyond);
    /* clang takes 0 and -0 for the same where floats are compared. */
    return and_add(-size, beyond, bits_float((int32_t)b < 0 ? 0x80000000u : b));
}

/* The derivative: the probability below x, and x times the density. */
static inline float gelu_slope_f32(float x) {
    float size = (fabsf)(x), beyond, density = normal_f32(normal_end(size), &beyond);
    beyond = and_add(-size, density, beyond);
    return x < 0 ? beyond : 1 - beyond;
}

#endif
