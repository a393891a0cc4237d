/* What every UNARY and PARAM row gives of numbers, in long double or i64: references for
 * tests/kernels/ops_unary.c. */
#ifndef GP_UNARY_REFERENCES_H
#define GP_UNARY_REFERENCES_H

#include "ops.h"

static ld f_neg(ld x) { return -x; }
static ld f_sign(ld x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
static ld f_square(ld x) { return x * x; }
static ld f_relu(ld x) { return isnan(x) || x > 0 ? x : 0; }
static ld f_rsqrt(ld x) { return 1 / sqrtl(x); }
static ld f_reciprocal(ld x) { return 1 / x; }
static ld f_sigmoid(ld x) { return 1 / (1 + expl(-x)); }
static ld f_silu(ld x) { return x / (1 + expl(-x)); }
static ld f_leaky(ld x) { return x > 0 ? x : 0.01L * x; }
static ld f_leaky_half(ld x) { return x > 0 ? x : 0.5L * x; }
static gp_dtype now; /* the dtype of x */
static ld f_relu6(ld x) { return x < 0 ? 0 : x > 6 ? 6 : x; }
static ld f_frac(ld x) { return x - truncl(x); }
static ld f_elu(ld x) { return x > 0 ? x : expm1l(x); }
static ld f_elu_half(ld x) { return x > 0 ? x : 0.5L * expm1l(x); }
static ld f_hardshrink(ld x) { return fabsl(x) <= 0.5L ? 0 : x; }
static ld f_hardshrink_two(ld x) { return fabsl(x) <= 2 ? 0 : x; }
static ld f_softshrink(ld x) { return fabsl(x) <= 0.5L ? 0 : x - copysignl(0.5L, x); }
static ld f_softshrink_two(ld x) { return fabsl(x) <= 2 ? 0 : x - copysignl(2, x); }
static ld f_celu_two(ld x) { return x > 0 ? x : 2 * expm1l(x / 2); }
static ld f_selu(ld x) {
    return 1.0507009873554804934L * (x > 0 ? x : 1.67326324235437728482L * expm1l(x));
}
static ld f_gelu(ld x) { return x * erfcl(-x * 0.70710678118654752440084436210485L) / 2; }
static ld f_gelu_tanh(ld x) {
    return x * 0.5L *
           (1 + tanhl(0.79788456080286535587989211986876L * (x + 0.044715L * x * x * x)));
}
static ld f_mish(ld x) { return x * tanhl(log1pl(expl(x))); }
static ld f_softsign(ld x) { return x / (1 + fabsl(x)); }
static ld f_hardsigmoid(ld x) { return f_relu6(x + 3) / 6; }
static ld f_hardswish(ld x) { return x * (f_relu6(x + 3) / 6); }
static ld f_softplus(ld x) { return x > 20 ? x : log1pl(expl(x)); }
static ld f_softplus_two(ld x) { return 2 * x > 3 ? x : log1pl(expl(2 * x)) / 2; }
static ld f_hardtanh_above(ld x) { return x < 2 ? 2 : x > 5 ? 5 : x; }
static ld f_hardtanh(ld x) { return x < -1 ? -1 : x > 1 ? 1 : x; }
static ld f_threshold(ld x) { return x <= 1 ? 7 : x; }
static ld f_isnan(ld x) { return isnan(x); }
static ld f_isinf(ld x) { return isinf(x) != 0; }
static ld f_isfinite(ld x) { return isfinite(x); }
static ld f_signbit(ld x) { return signbit(x) != 0; }
static ld f_not(ld x) { return !x; }
static ld f_nan_to_num(ld x) {
    fmt f = fmt_of(now);
    return isnan(x) ? 0 : isinf(x) ? copysignl(ldexpl(2 - ldexpl(1, -f.mant), f.emax), x) : x;
}
static ld f_nan_to_given(ld x) { return isnan(x) ? 0.5L : isinf(x) ? (x > 0 ? 3 : -7) : x; }
#define PI_L 3.14159265358979323846264338327950288L
static ld f_sinc(ld x) { return x == 0 ? 1 : sinl(PI_L * x) / (PI_L * x); }
/* The recurrence up to 40, then the asymptotic series; below 0 by reflection. */
static ld f_digamma(ld x) {
    if (x == 0) return signbit(x) ? INFINITY : -INFINITY;
    if (x < 0 && x == rintl(x)) return NAN;
    if (x < 0) return f_digamma(1 - x) - PI_L / tanl(PI_L * (x - rintl(x)));
    ld s = 0;
    for (; x < 40; x += 1) s -= 1 / x;
    ld i = 1 / (x * x);
    return s + logl(x) - 0.5L / x -
           i * (1.L / 12 - i * (1.L / 120 - i * (1.L / 252 - i * (1.L / 240 - i / 132))));
}
/* The n-th derivative of digamma as a sum of powers from x up to 60, then an integral and its first
 * corrections. */
static ld f_polygamma(ld x, int n) {
    ld s = 0, sign = n & 1 ? 1 : -1, f = n == 1 ? 1 : 2;
    if (isinf(x)) return x > 0 ? sign * 0 : NAN;
    if (x <= 0 && x == rintl(x)) return sign * INFINITY;
    for (; x < 60; x += 1) s += powl(x, -n - 1);
    s += powl(x, -n) / n + powl(x, -n - 1) / 2 + (n + 1) * powl(x, -n - 2) / 12;
    return sign * f *
           (s - (n + 1) * (n + 2) * (n + 3) * powl(x, -n - 4) / 720 +
            (n == 1 ? 720 : 2520) * powl(x, -n - 6) / 30240);
}
static ld f_trigamma(ld x) { return f_polygamma(x, 1); }
static ld f_tetragamma(ld x) { return f_polygamma(x, 2); }
/* By halving, then Newton's method on erf, or on erfc near 1. */
static ld f_erfinv(ld x) {
    if (isnan(x) || fabsl(x) > 1) return NAN;
    if (x <= 0) return x == 0 ? x : -f_erfinv(-x);
    if (x == 1) return INFINITY;
    ld lo = 0, hi = 8;
    for (int i = 0; i < 64; i++) {
        ld m = (lo + hi) / 2;
        if (x < 0.5L ? erfl(m) < x : erfcl(m) > 1 - x) lo = m;
        else hi = m;
    }
    for (int i = 0; i < 3; i++)
        lo -= (x < 0.5L ? erfl(lo) - x : 1 - x - erfcl(lo)) / (expl(-lo * lo) * 2 / sqrtl(PI_L));
    return lo;
}
/* Modified Bessel functions: the power series in (x / 2)^2, from 60 on the asymptotic one. */
static ld f_bessel(ld x, int order, bool scaled) {
    ld u = fabsl(x), sum = 0, term = order ? u / 2 : 1, mu = 4 * order * order;
    if (isnan(x)) return x;
    if (isinf(x)) return scaled ? copysignl(0, order ? x : 1) : order ? x : u;
    if (u < 60) {
        for (int k = 1; term > 1e-22L * sum; k++) sum += term, term *= u * u / 4 / k / (k + order);
        sum *= scaled ? expl(-u) : 1;
    } else {
        term = 1;
        for (int k = 1; k < 20; k++)
            sum += term, term *= -(mu - (2 * k - 1) * (2 * k - 1)) / (8 * k * u);
        sum *= (scaled ? 1 : expl(u)) / sqrtl(2 * PI_L * u);
    }
    return order ? copysignl(sum, x) : sum;
}
static ld f_i0(ld x) { return f_bessel(x, 0, false); }
static ld f_i0e(ld x) { return f_bessel(x, 0, true); }
static ld f_i1(ld x) { return f_bessel(x, 1, false); }
static ld f_i1e(ld x) { return f_bessel(x, 1, true); }
static ld f_erfcx(ld x) {
    ld t = 0.5L / (x * x);
    return x < 20 || isnan(x) ? expl(x * x) * erfcl(x)
                              : (1 - t * (1 - 3 * t * (1 - 5 * t * (1 - 7 * t * (1 - 9 * t))))) /
                                    (x * sqrtl(PI_L));
}
static ld f_ndtr(ld x) { return erfcl(-x * 0.70710678118654752440084436210485L) / 2; }
static ld f_log_ndtr(ld x) {
    ld u = -x * 0.70710678118654752440084436210485L;
    return x < -1 ? logl(f_erfcx(u) / 2) - u * u : log1pl(-erfcl(-u) / 2);
}
/* By halving on erfc. */
static ld f_ndtri(ld p) {
    if (isnan(p) || p < 0 || p > 1) return NAN;
    if (p == 0 || p == 0.5L || p == 1) return p == 0.5L ? 0 : p ? INFINITY : -INFINITY;
    if (p > 0.5L) return -f_ndtri(1 - p);
    ld lo = -200, hi = 0;
    for (int i = 0; i < 200; i++) {
        ld m = (lo + hi) / 2;
        if (f_ndtr(m) < p) lo = m;
        else hi = m;
    }
    return hi;
}
static ld f_entr(ld x) { return x > 0 ? -x * logl(x) : x == 0 ? 0 : isnan(x) ? x : -INFINITY; }
static ld f_mantissa(ld x) {
    int e;
    return frexpl(x, &e);
}
static ld f_exponent(ld x) {
    int e = 0;
    frexpl(x, &e);
    return isfinite(x) ? e : 0;
}
static ld f_logit(ld x) {
    return fabsl(x - 0.5L) < 0.25L ? log1pl((2 * x - 1) / (1 - x)) : logl(x / (1 - x));
}
static ld f_logit_eighth(ld x) { return f_logit(x < 0.125L ? 0.125L : x > 0.875L ? 0.875L : x); }
static ld f_clamp(ld x) { return x < -1 ? -1 : x > 2 ? 2 : x; }
static ld f_clamp_low(ld x) { return x < 1 ? 1 : x; }
static ld f_clamp_high(ld x) { return x > 1 ? 1 : x; }
/* min above max: max everywhere, as in PyTorch. A limit that is NaN: NaN everywhere. */
static ld f_clamp_crossed(ld x) { return isnan(x) ? x : 3; }
static ld f_nothing(ld x) { return NAN; }
static int64_t i_same(int64_t x) { return x; }
static int64_t i_neg(int64_t x) { return (int64_t)(0 - (uint64_t)x); }
static int64_t i_abs(int64_t x) { return x < 0 ? i_neg(x) : x; }
static int64_t i_sign(int64_t x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
static int64_t i_square(int64_t x) { return (int64_t)((uint64_t)x * (uint64_t)x); }
static int64_t i_relu(int64_t x) { return x > 0 ? x : 0; }
static int64_t i_not(int64_t x) { return -1 - x; }
static int64_t i_relu6(int64_t x) { return x < 0 ? 0 : x > 6 ? 6 : x; }
static int64_t i_hardtanh_above(int64_t x) { return x < 2 ? 2 : x > 5 ? 5 : x; }
static int64_t i_threshold(int64_t x) { return x > 1 ? x : 7; }
static int64_t i_negative(int64_t x) { return x < 0; }
static int64_t i_never(int64_t x) { return 0; }
static int64_t i_always(int64_t x) { return 1; }
static int64_t i_lnot(int64_t x) { return !x; }
static int64_t i_clamp(int64_t x) { return x < -1 ? -1 : x > 2 ? 2 : x; }
static int64_t i_clamp_low(int64_t x) { return x < 1 ? 1 : x; }
static int64_t i_clamp_high(int64_t x) { return x > 1 ? 1 : x; }
static int64_t i_clamp_crossed(int64_t x) { return 3; }

#endif
