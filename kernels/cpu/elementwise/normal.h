/* The normal distribution in f32, for gelu: libmvec's erfc takes several times as long. */
#ifndef GP_CPU_NORMAL_H
#define GP_CPU_NORMAL_H

#include "kernels/cpu/elementwise/exp.h"

/* x's density, and the probability below it, off by a few ulp in both tails. With a = |x| and
 * e = exp(-a * a / 2) the tail beyond a is e * p(t) / (a + 4), t = (a - 4) / (a + 4), whose
 * polynomial is a Chebyshev fit for a to 14.6, where e is 0 in f32. Where a * a is large, its
 * leading part is the square of a's upper 12 bits, which is exact. */
static inline float normal_f32(float x, float *below) {
    float a = (fabsf)(x), h, p, q;
    a = a > 14.6f ? 14.6f : a;
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    bits &= 0xfffff000u;
    memcpy(&h, &bits, sizeof h);
    const float magic = 0x1.8p23f + 2 * 127; /* as in exp_f32 */
    float y = -0.5f * h * h, m = and_add(y, 1.44269504f, magic), n = m - magic;
    float r = (y - n * 0.693359375f) + n * 2.12194440e-4f - 0.5f * (a - h) * (a + h);
    p = 0.00139546642f;
    p = and_add(p, r, 0.00837719606f);
    p = and_add(p, r, 0.0416662312f);
    p = and_add(p, r, 0.166664731f);
    p = and_add(p, r, 0.5f);
    p = and_add(p * r, r, r) + 1;
    float i = 1 / (a + 4), t = (a - 4) * i;
    q = -0.000134777206f;
    q = and_add(q, t, 0.000174170596f);
    q = and_add(q, t, 0.00156947126f);
    q = and_add(q, t, -0.00350918468f);
    q = and_add(q, t, -0.00752431911f);
    q = and_add(q, t, 0.0604031018f);
    q = and_add(q, t, -0.186523634f);
    q = and_add(q, t, 0.387136957f);
    q = and_add(q, t, -0.60789658f);
    q = and_add(q, t, 0.755285135f);
    float beyond = scaled_f32(p * q * i, m); /* n goes down to -154 */
    *below = x < 0 ? beyond : 1 - beyond;
    return scaled_f32(p, m) * 0.39894228f;
}

#endif
