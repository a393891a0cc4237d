/* exp for loops of vectors: its vector form and its form for one number are the same arithmetic, so
 * that equal elements give equal results at any index; the forms of libmvec and libm differ. */
#ifndef GP_CPU_EXP_H
#define GP_CPU_EXP_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* a * b + c, rounded once where the processor does that at no cost. */
#ifdef FP_FAST_FMAF
static inline float and_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline double and_add_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
static inline float and_add(float a, float b, float c) { return a * b + c; }
static inline double and_add_f64(double a, double b, double c) { return a * b + c; }
#endif

/* p * 2^k for k + 2 * bias in the last bits of m, a bias being that of the exponent of T: in two
 * steps, as 2^k need not be a number. */
#define SCALED(T, t, U, mantissa)                                                                  \
    static inline T scaled_##t(T p, T m) {                                                         \
        U all, half;                                                                               \
        T first, last;                                                                             \
        memcpy(&all, &m, sizeof all);                                                              \
        half = all >> 1;                                                                           \
        all = (all - half) << (mantissa), half <<= (mantissa);                                     \
        memcpy(&first, &half, sizeof first);                                                       \
        memcpy(&last, &all, sizeof last);                                                          \
        return p * first * last;                                                                   \
    }
SCALED(float, f32, uint32_t, 23)
SCALED(double, f64, uint64_t, 52)
#undef SCALED

/* x = n log(2) + r; n is x / log(2) rounded by adding `magic`, a number whose last bit is worth 1
 * (plus twice the bias, for scaled). log(2) is split in two; n times the first part is exact.
 * exp(r) is a minimax polynomial, off by less than 0.06 ulp. The total error is at most 0.90 ulp
 * (of all numbers), and 1.18 where and_add rounds twice; results below the smallest normal number
 * are rounded a second time. */
static inline float exp_f32(float x) {
    const float magic = 0x1.8p23f + 2 * 127;
    float m = and_add(x, 1.44269504f, magic), n = m - magic, r, p = 0.0013820052f;
#ifdef FP_FAST_FMAF
    r = and_add(n, 1.90465421e-9f, and_add(n, -0.693147182f, x));
#else
    r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
#endif
    p = and_add(p, r, 0.008368683f);
    p = and_add(p, r, 0.041668274f);
    p = and_add(p, r, 0.16666521f);
    p = and_add(p, r, 0.49999994f);
    p = and_add(p, r, 1);
    p = scaled_f32(and_add(p, r, 1), m);
    p = x > 89 ? INFINITY : p;
    return x < -104 ? 0 : p;
}

/* The same: at most 0.9 ulp. */
static inline double exp_f64(double x) {
    const double magic = 0x1.8p52 + 2 * 1023;
    double m = and_add_f64(x, 1.4426950408889634, magic), n = m - magic, r,
           p = 2.5000061602835666e-08;
#ifdef FP_FAST_FMAF
    r = and_add_f64(n, -2.3190468138462996e-17, and_add_f64(n, -0.6931471805599453, x));
#else
    r = (x - n * 0.6931471803691238) - n * 1.9082149292705877e-10;
#endif
    p = and_add_f64(p, r, 2.763024837921144e-07);
    p = and_add_f64(p, r, 2.7557586373840165e-06);
    p = and_add_f64(p, r, 2.480149309890655e-05);
    p = and_add_f64(p, r, 0.00019841269506578688);
    p = and_add_f64(p, r, 0.0013888888943630114);
    p = and_add_f64(p, r, 0.008333333333494461);
    p = and_add_f64(p, r, 0.041666666666530155);
    p = and_add_f64(p, r, 0.16666666666666413);
    p = and_add_f64(p, r, 0.5000000000000011);
    p = and_add_f64(p, r, 1);
    p = scaled_f64(and_add_f64(p, r, 1), m);
    p = x > 710 ? (double)INFINITY : p;
    return x < -746 ? 0 : p;
}

#endif
