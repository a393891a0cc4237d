/* Random numbers from counters: Philox4x32-10, and the formulas for its distributions. Only plain
 * IEEE operations, so that every device, thread count and instruction set gives the same bits;
 * compile without contraction to fused multiply-add. */
#ifndef GP_RNG_H
#define GP_RNG_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef GP_RNG_FN /* for CUDA: defined as __device__ */
#define GP_RNG_FN static inline
#endif

/* a * b, as one instruction on CUDA, where nvcc would add a zero to the upper half. */
GP_RNG_FN uint64_t gp_wide_product(uint32_t a, uint32_t b) {
#ifdef __CUDA_ARCH__
    uint64_t p;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(p) : "r"(a), "r"(b));
    return p;
#else
    return (uint64_t)a * b;
#endif
}

/* Four random words for counter (hi, lo) under key. Element i of an op takes word i % 4 of counter
   i / 4, or, where it needs 64 bits, words 2 (i % 2) and the next of counter i / 2; hi is the op's
   counter, key the seed. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
   2011. */
GP_RNG_FN void gp_philox(uint64_t key, uint64_t hi, uint64_t lo, uint32_t out[4]) {
    uint32_t c0 = (uint32_t)lo, c1 = (uint32_t)(lo >> 32), c2 = (uint32_t)hi,
             c3 = (uint32_t)(hi >> 32);
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
#ifndef __NVCC__
#pragma GCC unroll 10
#endif
    for (int i = 0; i < 10; i++) {
        uint64_t p0 = gp_wide_product(0xD2511F53u, c0), p1 = gp_wide_product(0xCD9E8D57u, c2);
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* [0, 1) in steps of 2^-bits, bits <= 24; and in steps of 2^-53. */
GP_RNG_FN float gp_uniform_f32(uint32_t w, int bits) {
    return (float)(int32_t)(w >> (32 - bits)) * (1.0f / (float)(1 << bits));
}
GP_RNG_FN double gp_uniform_f64(uint64_t w) { return (double)(int64_t)(w >> 11) * 0x1p-53; }

/* low + w scaled to [0, range), range 0 meaning 2^64. Its bias is below range / 2^64. Source:
 * Lemire, "Fast random integer generation in an interval", 2019. */
GP_RNG_FN int64_t gp_integer(uint64_t w, int64_t low, uint64_t range) {
    uint64_t a = (w >> 32) * (range >> 32), b = (w >> 32) * (uint32_t)range,
             c = (uint32_t)w * (range >> 32), d = (uint64_t)(uint32_t)w * (uint32_t)range;
    uint64_t high =
        a + (b >> 32) + (c >> 32) + (((uint32_t)b + (uint64_t)(uint32_t)c + (d >> 32)) >> 32);
    return (int64_t)((uint64_t)low + (range ? high : w));
}

/* Two independent normal numbers from two words. Source: Box and Muller, 1958; logarithm, sine and
 * cosine after Cephes' logf, sinf and cosf. Split into steps, so that a loop over each has few
 * dependent instructions.
 *
 * The first word gives the radius, from the logarithm of u = (w / 2^9 + 1/2) / 2^23, never 0: u =
 * 2^k (1 + x), x in [sqrt(1/2) - 1, sqrt(2) - 1). */
GP_RNG_FN float gp_log_split(uint32_t w, float *k) {
    float u = ((float)(int32_t)(w >> 9) + 0.5f) * 0x1p-23f, m;
    int32_t bits, e;
    memcpy(&bits, &u, 4);
    e = (bits - 0x3f3504f3) >> 23;
    bits -= (int32_t)((uint32_t)e << 23);
    memcpy(&m, &bits, 4);
    *k = (float)e;
    return m - 1;
}
GP_RNG_FN float gp_log_polynomial(float x) {
    return (((((((7.0376836292e-2f * x - 1.1514610310e-1f) * x + 1.1676998740e-1f) * x -
                1.2420140846e-1f) *
                   x +
               1.4249322787e-1f) *
                  x -
              1.6668057665e-1f) *
                 x +
             2.0000714765e-1f) *
                x -
            2.4999993993e-1f) *
               x +
           3.3333331174e-1f;
}
GP_RNG_FN float gp_radius(float x, float k, float p) {
    float z = x * x, y = p * x * z - 2.12194440e-4f * k - 0.5f * z;
    return sqrtf(-2 * (x + y + 0.693359375f * k));
}
/* The second is an angle of w / 2^32 turns: quarters, and a remainder of up to an eighth on either
 * side. */
GP_RNG_FN uint32_t gp_quarters(uint32_t w) { return (w + 0x20000000u) >> 30; }
GP_RNG_FN float gp_angle(uint32_t w) {
    return (float)(int32_t)(w - (gp_quarters(w) << 30)) * (6.2831853f * 0x1p-32f);
}
GP_RNG_FN float gp_sine(float a) {
    float b = a * a;
    return ((-1.9515295891e-4f * b + 8.3321608736e-3f) * b - 1.6666654611e-1f) * b * a + a;
}
GP_RNG_FN float gp_cosine(float a) {
    float b = a * a;
    return ((2.443315711809948e-5f * b - 1.388731625493765e-3f) * b + 4.166664568298827e-2f) * b *
               b -
           0.5f * b + 1;
}
/* x, negated where sign's highest bit is set. */
GP_RNG_FN float gp_signed(float x, uint32_t sign) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits ^= sign & 0x80000000u;
    memcpy(&x, &bits, 4);
    return x;
}
/* Combines the second word, the radius, and sine and cosine of the angle's remainder. */
GP_RNG_FN void gp_normal_pair(uint32_t w, float r, float s, float c, float out[2]) {
    uint32_t q = gp_quarters(w);
    out[0] = gp_signed(r * (q & 1 ? s : c), (q + 1) << 30);
    out[1] = gp_signed(r * (q & 1 ? c : s), q << 30);
}
GP_RNG_FN void gp_normal_f32(uint32_t w1, uint32_t w2, float out[2]) {
    float k, x = gp_log_split(w1, &k), a = gp_angle(w2);
    gp_normal_pair(w2, gp_radius(x, k, gp_log_polynomial(x)), gp_sine(a), gp_cosine(a), out);
}

/* What fdlibm's logarithm of 1 + f adds to f by h = f^2 / 2 and t = f / (2 + f), for f in
 * [sqrt(1/2)
 * - 1, sqrt(2) - 1]: log(1 + f) = f - h + t (h + p). */
GP_RNG_FN double gp_log_series(double t) {
    double z = t * t;
    return z *
           (6.666666666666735130e-1 +
            z * (3.999999999940941908e-1 +
                 z * (2.857142874366239149e-1 +
                      z * (2.222219843214978396e-1 +
                           z * (1.818357216161805012e-1 +
                                z * (1.531383769920937332e-1 + z * 1.479819860511658591e-1))))));
}
/* log(1 + f) - f for such f, without cancellation. */
GP_RNG_FN double gp_log1p_less(double f) {
    double t = f / (2 + f), h = 0.5 * f * f;
    return t * (h + gp_log_series(t)) - h;
}
/* The logarithm of u, a normal number above 0, after fdlibm's. */
GP_RNG_FN double gp_log(double u) {
    double m;
    int64_t bits, e;
    memcpy(&bits, &u, 8);
    e = (bits - 0x3fe6a09e667f3bcd) >> 52;
    bits -= (int64_t)((uint64_t)e << 52);
    memcpy(&m, &bits, 8);
    double f = m - 1, t = f / (2 + f), h = 0.5 * f * f, k = (double)e;
    return k * 6.93147180369123816490e-1 -
           ((h - (t * (h + gp_log_series(t)) + k * 1.90821492927058770002e-10)) - f);
}
/* The logarithm of a uniform number from (0, 1). */
GP_RNG_FN double gp_log_uniform(uint64_t w) {
    return gp_log(((double)(int64_t)(w >> 12) + 0.5) * 0x1p-52);
}

/* The same in f64; sine and cosine after fdlibm's. */
GP_RNG_FN void gp_normal_f64(uint64_t w1, uint64_t w2, double out[2]) {
    double r = sqrt(-2 * gp_log_uniform(w1));
    uint64_t q = (w2 + ((uint64_t)1 << 61)) >> 62;
    double a = (double)(int64_t)(w2 - (q << 62)) * (6.283185307179586 * 0x1p-64), b = a * a;
    double s =
        a +
        a * b *
            (-1.66666666666666324348e-1 +
             b * (8.33333333332248946124e-3 +
                  b * (-1.98412698298579493134e-4 +
                       b * (2.75573137070700676789e-6 +
                            b * (-2.50507602534068634195e-8 + b * 1.58969099521155010221e-10)))));
    double c =
        1 - 0.5 * b +
        b * b *
            (4.16666666666666019037e-2 +
             b * (-1.38888888888741095749e-3 +
                  b * (2.48015872894767294178e-5 +
                       b * (-2.75573143513906633035e-7 +
                            b * (2.08757232129817482790e-9 + b * -1.13596475577881948265e-11)))));
    double cosine = q & 1 ? s : c, sine = q & 1 ? c : s;
    out[0] = (q + 1) & 2 ? -r * cosine : r * cosine;
    out[1] = q & 2 ? -r * sine : r * sine;
}

#endif
