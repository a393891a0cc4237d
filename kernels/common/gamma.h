/* Hurwitz' zeta function and the incomplete gamma functions, for the CPU and CUDA; computed in f64.
 * Include it after special.h. */
#ifndef GP_GAMMA_H
#define GP_GAMMA_H

/* clang-format off */

/* The sum of (q + k)^-s for k = 0, 1, 2 …, q > 0 and s > 1: ten terms, then Euler and Maclaurin's
 * series, whose coefficients are Bernoulli's numbers B(2j) / (2j)!. */
GP_FN double zeta_right(double s, double q) {
    const double bernoulli[] = {0.08333333333333333,    -0.001388888888888889,
                                3.3068783068783071e-05, -8.267195767195768e-07,
                                2.08767569878681e-08,   -5.284190138687493e-10,
                                1.3382536530684679e-11, -3.3896802963225832e-13};
    double sum = 0, u = q + 10, t = pow(u, -s);
    for (int k = 0; k < 10; k++) sum += pow(q + k, -s);
    if (t == 0) return sum + pow(u, 1 - s) / (s - 1);
    double tail = t * u / (s - 1) + t / 2;
    t *= s / u;
    for (int j = 0; j < 8; j++) {
        tail += bernoulli[j] * t;
        t *= (s + 2 * j + 1) / u * ((s + 2 * j + 2) / u);
    }
    return sum + tail;
}

/* The same for any q: below 0, where s is an integer, the sum over all integers less the surplus
 * terms; infinite at poles, NaN where no real number is meant. */
GP_FN double zeta_f64(double s, double q) {
    if (s != s || q != q || s < 1) return (double)NAN;
    if (s == 1 || (q <= 0 && q == floor(q))) return (double)INFINITY;
    if (q > 0) return q < (double)INFINITY ? zeta_right(s, q) : 0;
    if (s != floor(s)) return (double)NAN;
    double e = q - rint(q), sign = floor(s / 2) * 2 == s ? 1 : -1;
    return pow(e, -s) + zeta_right(s, 1 + e) + sign * (zeta_right(s, 1 - e) - zeta_right(s, 1 - q));
}

/* ---- incomplete gamma functions, regularized: P(a, x) and Q(a, x) = 1 - P(a, x) ---- */

/* log(1 + m) - m, exact near 0. */
GP_FN double log1p_less(double m) {
    if (fabs(m) > 0.3) return log1p(m) - m;
    double r = m / (2 + m), s = r * r, p = 0; /* log(1 + m) = 2 (r + r^3 / 3 + r^5 / 5 …) */
    for (int k = 33; k >= 3; k -= 2) p = p * s + 2.0 / k;
    return r * (s * p - m);
}

/* x^a exp(-x) / gamma(a + 1), of large a by Stirling's series. */
GP_FN double gamma_power(double a, double x) {
    if (a < 20) return exp(a * log(x) - x - lgamma_f64(a + 1));
    double i = 1 / a, s = i * i;
    double series = i * (0.08333333333333333 - s * (0.002777777777777778 -
        s * (0.0007936507936507937 - s * (0.0005952380952380953 - s * 0.0008417508417508417))));
    return exp(a * log1p_less((x - a) / a) - series) / sqrt(2 * PI * a);
}

/* P by its power series, for x up to about a. */
GP_FN double igamma_series(double a, double x) {
    double term = 1, sum = 1;
    for (double r = a + 1; term > 1e-17 * sum; r += 1) term *= x / r, sum += term;
    return sum * gamma_power(a, x);
}

/* Q by its continued fraction, for x above a + 1: Lentz's method. */
GP_FN double igamma_fraction(double a, double x) {
    double b = x + 1 - a, c = 1e300, d = 1 / b, h = d, change = 0;
    for (double i = 1; fabs(change - 1) > 1e-16; i += 1) {
        double an = i * (a - i);
        b += 2;
        d = 1 / (an * d + b), c = b + an / c;
        change = c * d, h *= change;
        if (i > 1e5) break;
    }
    return h * a * gamma_power(a, x);
}

/* Q for x below 1 and small a, where 1 - P would cancel. Source: DLMF 8.7.3. */
GP_FN double igammac_series(double a, double x) {
    double fac = 1, sum = 0, term = 1, l = a * log(x);
    for (double n = 1; fabs(term) > 1e-17 * fabs(sum); n += 1)
        fac *= -x / n, term = fac / (a + n), sum += term;
    return -expm1(l - lgamma_f64(1 + a)) - exp(l - lgamma_f64(a)) * sum;
}

/* Q where a is large and x about as large (sign 1), or P (-1): Temme's uniform expansion, DLMF
 * 8.12.3 and 8.12.4, of which 1e4 needs four terms. */
GP_FN double igamma_uniform(double a, double x, double sign) {
    const double coefficient[4][12] = {
        {-0.33333333333333331, 0.083333333333333329, -0.014814814814814815, 0.0011574074074074073,
         0.00035273368606701942, -0.0001787551440329218, 3.9192631785224377e-05,
         -2.1854485106799924e-06, -1.85406221071516e-06, 8.2967113409530865e-07,
         -1.7665952736826078e-07, 6.7078535434014984e-09},
        {-0.0018518518518518519, -0.003472222222222222, 0.0026455026455026454,
         -0.00099022633744855963, 0.00020576131687242798, -4.018775720164609e-07,
         -1.8098550334489977e-05, 7.6491609160811098e-06, -1.6120900894563446e-06,
         4.647127802807434e-09, 1.3786334469157209e-07, -5.7525456035177047e-08},
        {0.0041335978835978834, -0.0026813271604938273, 0.0007716049382716049,
         2.0093878600823047e-06, -0.00010736653226365161, 5.2923448829120125e-05,
         -1.2760635188618728e-05, 3.4235787340961378e-08, 1.3721957309062932e-06,
         -6.2989921383800548e-07, 1.4280614206064242e-07, -2.0477098421990866e-10},
        {0.00064943415637860077, 0.00022947209362139917, -0.0004691894943952557,
         0.00026772063206283885, -7.5618016718839766e-05, -2.3965051138672968e-07,
         1.1082654115347302e-05, -5.6749528269915965e-06, 1.4230900732435883e-06,
         -2.7861080291528143e-11, -1.6958404091930278e-07, 8.0994649053880827e-08}
    };
    double m = (x - a) / a, e = sqrt(-2 * log1p_less(m)), eta = m < 0 ? -e : e, sum = 0, power = 1;
    for (int k = 0; k < 4; k++, power /= a) {
        double c = 0;
        for (int n = 11; n >= 0; n--) c = c * eta + coefficient[k][n];
        sum += c * power;
    }
    double rest = exp(-0.5 * a * eta * eta) * sum / sqrt(2 * PI * a);
    return erfc(sign * eta * sqrt(a / 2)) / 2 + sign * rest;
}

/* Q (upper true) or P. */
GP_FN double igamma_either(double a, double x, bool upper) {
    if (!(a >= 0 && x >= 0) || (a == 0 && x == 0)) return (double)NAN;
    if (a == (double)INFINITY) return x == a ? (double)NAN : upper ? 1 : 0;
    if (x == 0 || x == (double)INFINITY || a == 0) return (x == 0) == upper ? 1 : 0;
    if (a > 1e4 && fabs(x - a) < 0.3 * a) return igamma_uniform(a, x, upper ? 1 : -1);
    if (upper && x < 1.1 && a < 1.1 * x + 0.4) return igammac_series(a, x);
    if (x > 1 && x > a) return upper ? igamma_fraction(a, x) : 1 - igamma_fraction(a, x);
    return upper ? 1 - igamma_series(a, x) : igamma_series(a, x);
}
GP_FN double igamma_f64(double a, double x) { return igamma_either(a, x, false); }
GP_FN double igammac_f64(double a, double x) { return igamma_either(a, x, true); }

GP_FN float zeta_f32(float s, float q) { return (float)zeta_f64((double)s, (double)q); }
GP_FN float igamma_f32(float a, float x) { return (float)igamma_f64((double)a, (double)x); }
GP_FN float igammac_f32(float a, float x) { return (float)igammac_f64((double)a, (double)x); }
/* clang-format on */

#endif
