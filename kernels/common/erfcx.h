/* What the normal distribution's tails need, for the CPU and CUDA; computed in f64. Include it
 * after special.h. */
#ifndef GP_ERFCX_H
#define GP_ERFCX_H

/* clang-format off */

/* exp(x * x) erfc(x). To 25 the square's rounding error is put back, above by the asymptotic series
 * (Abramowitz and Stegun 7.1.23). */
GP_FN double erfcx_f64(double x) {
    if (x > 25) {
        double t = 0.5 / (x * x), p = 1 - 9 * t * (1 - 11 * t * (1 - 13 * t));
        p = 1 - t * (1 - 3 * t * (1 - 5 * t * (1 - 7 * t * p)));
        return 0.5641895835477563 / x * p;
    }
    if (x < -27) return (double)INFINITY;
    double s = x * x, rest = fma(x, x, -s);
    return exp(s) * (1 + rest) * erfc(x);
}

/* log of the normal distribution's probability below x. */
GP_FN double log_ndtr_f64(double x) {
    double u = x * 0.7071067811865476;
    return x < -1 ? log(erfcx_f64(-u) / 2) - u * u : log1p(-erfc(u) / 2);
}

/* x with probability p below it, for p from 0 to 1/2: by erfinv, in the tail by Newton's method on
 * log_ndtr from the leading terms of its inverse. */
GP_FN double ndtri_left(double p) {
    if (p > 0.02) return 1.4142135623730951 * erfinv_f64(2 * p - 1);
    double l = log(p), t = sqrt(-2 * l), x = -(t - log(t * 2.5066282746310002) / t);
    for (int i = 0; i < 4; i++)
        x -= (log_ndtr_f64(x) - l) * erfcx_f64(x * -0.7071067811865476) * 1.2533141373155003;
    return x;
}
GP_FN double ndtri_f64(double p) {
    if (!(p >= 0 && p <= 1)) return (double)NAN;
    if (p == 0 || p == 1) return p == 0 ? -(double)INFINITY : (double)INFINITY;
    return p > 0.5 ? -ndtri_left(1 - p) : ndtri_left(p);
}

GP_FN float erfcx_f32(float x) { return (float)erfcx_f64((double)x); }
GP_FN float log_ndtr_f32(float x) { return (float)log_ndtr_f64((double)x); }
GP_FN float ndtri_f32(float p) { return (float)ndtri_f64((double)p); }
/* clang-format on */

#endif
