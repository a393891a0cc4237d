/* Special functions that no libm has in vector form, for the CPU and CUDA. They have no branches,
 * so that loops over them are vectorised; include this where log, sin and tan take both float
 * types. Errors are a few ulp of the result; near zeros on the negative axis, of the summands. */
#ifndef GP_SPECIAL_H
#define GP_SPECIAL_H

#ifndef GP_FN /* CUDA puts __device__ in front */
#define GP_FN static inline
#endif

#define PI 3.14159265358979323846
/* clang-format off */
/* One step of Horner's rule for a polynomial p in t: adds the next lower coefficient. */
#ifdef __CUDA_ARCH__ /* where no products and sums become one by themselves */
#define H(c) p = fma(p, t, c);
#else
#define H(c) p = p * t + c;
#endif

/* ---- erfinv: polynomials in w = -log(1 - x^2), or in its root. Source: Giles, "Approximating the
 * erfinv function", GPU Computing Gems, 2010. ---- */

GP_FN float erfinv_middle_f32(float t) {
    float p = 2.81022636e-08f;
    H(3.43273939e-07f) H(-3.5233877e-06f) H(-4.39150654e-06f) H(0.00021858087f) H(-0.00125372503f)
    H(-0.00417768164f) H(0.246640727f) H(1.50140941f)
    return p;
}
GP_FN float erfinv_tail_f32(float t) {
    float p = -0.000200214257f;
    H(0.000100950558f) H(0.00134934322f) H(-0.00367342844f) H(0.00573950773f) H(-0.0076224613f)
    H(0.00943887047f) H(1.00167406f) H(2.83297682f)
    return p;
}
GP_FN double erfinv_middle_f64(double t) {
    double p = -3.6444120640178196996e-21;
    H(-1.685059138182016589e-19) H(1.2858480715256400167e-18) H(1.115787767802518096e-17)
    H(-1.333171662854620906e-16) H(2.0972767875968561637e-17) H(6.6376381343583238325e-15)
    H(-4.0545662729752068639e-14) H(-8.1519341976054721522e-14) H(2.6335093153082322977e-12)
    H(-1.2975133253453532498e-11) H(-5.4154120542946279317e-11) H(1.051212273321532285e-09)
    H(-4.1126339803469836976e-09) H(-2.9070369957882005086e-08) H(4.2347877827932403518e-07)
    H(-1.3654692000834678645e-06) H(-1.3882523362786468719e-05) H(0.0001867342080340571352)
    H(-0.00074070253416626697512) H(-0.0060336708714301490533) H(0.24015818242558961693)
    H(1.6536545626831027356)
    return p;
}
GP_FN double erfinv_tail_f64(double t) {
    double p = 2.2137376921775787049e-09;
    H(9.0756561938885390979e-08) H(-2.7517406297064545428e-07) H(1.8239629214389227755e-08)
    H(1.5027403968909827627e-06) H(-4.013867526981545969e-06) H(2.9234449089955446044e-06)
    H(1.2475304481671778723e-05) H(-4.7318229009055733981e-05) H(6.8284851459573175448e-05)
    H(2.4031110387097893999e-05) H(-0.0003550375203628474796) H(0.00095328937973738049703)
    H(-0.0016882755560235047313) H(0.0024914420961078508066) H(-0.0037512085075692412107)
    H(0.005370914553590063617) H(1.0052589676941592334) H(3.0838856104922207635)
    return p;
}
GP_FN double erfinv_end_f64(double t) {
    double p = -2.7109920616438573243e-11;
    H(-2.5556418169965252055e-10) H(1.5076572693500548083e-09) H(-3.7894654401267369937e-09)
    H(7.6157012080783393804e-09) H(-1.4960026627149240478e-08) H(2.9147953450901080826e-08)
    H(-6.7711997758452339498e-08) H(2.2900482228026654717e-07) H(-9.9298272942317002539e-07)
    H(4.5260625972231537039e-06) H(-1.9681778105531670567e-05) H(7.5995277030017761139e-05)
    H(-0.00021503011930044477347) H(-0.00013871931833623122026) H(1.0103004648645343977)
    H(4.8499064014085844221)
    return p;
}

GP_FN float erfinv_f32(float x) {
    float w = -logf((1 - x) * (1 + x)), s = sqrtf(w);
    float p = w < 5 ? erfinv_middle_f32(w - 2.5f) : erfinv_tail_f32(s - 3);
    return x * (x == 1 || x == -1 ? INFINITY : p);
}
GP_FN double erfinv_f64(double x) {
    double w = -log((1 - x) * (1 + x)), s = sqrt(w);
    double p = s < 4 ? erfinv_tail_f64(s - 3.25) : erfinv_end_f64(s - 5);
    p = w < 6.25 ? erfinv_middle_f64(w - 3.125) : p;
    return x * (x == 1 || x == -1 ? (double)INFINITY : p);
}

/* ---- lgamma ---- */

/* log(gamma(2 + t)) / t for |t| <= 1/2; a Chebyshev fit, off by 1e-20. */
GP_FN double lgamma_near_2(double t) {
    double p = -3.0859854783905771e-8;
    H(6.4725698400647237e-8) H(-9.558178101635195e-8) H(2.0193835401136914e-7)
    H(-4.5081682254468383e-7) H(9.5842070485949861e-7) H(-2.0389077825677105e-6)
    H(4.3742234810820478e-6) H(-9.4395262020588179e-6) H(2.0507291996563825e-5)
    H(-4.4926233820610825e-5) H(9.9457506687881399e-5) H(-0.00022315475858818616)
    H(0.00050966952502419548) H(-0.0011927539116998527) H(0.0028905103307344046)
    H(-0.0073855510286740248) H(0.02058080842778463) H(-0.067352301053198095) H(0.32246703342411322)
    H(0.42278433509846714)
    return p;
}

/* Stirling's series, given log(u): from 7.5 on the terms left out are below 4e-17. */
GP_FN double lgamma_large(double u, double l) {
    double i = 1 / u, t = i * i, p = 0.17964437236883057;
    H(-0.02955065359477124) H(0.00641025641025641) H(-0.0019175269175269175)
    H(0.0008417508417508417) H(-0.0005952380952380953) H(0.0007936507936507937)
    H(-0.002777777777777778) H(0.08333333333333333)
    return (u - 0.5) * (l - 1) + (0.41893853320467274 + i * p);
}

/* log |gamma(x)| for x > -1/2: to 7.5 by the recurrence from the nearest integer's distance to 2,
 * above by Stirling's series. Written with fabs: of a conditional, compilers make two
 * logarithms. */
GP_FN double lgamma_product(double u, double m, double t) {
    double product = 1;
    product *= m > 2 ? t + 2 : 1;
    product *= m > 3 ? t + 3 : 1;
    product *= m > 4 ? t + 4 : 1;
    product *= m > 5 ? t + 5 : 1;
    product *= m > 6 ? t + 6 : 1;
    return m == 0 ? fabs(u * (1 + u)) : m == 1 ? u : product;
}
GP_FN double lgamma_right_f64(double u) {
    double m = floor(u + 0.5), t = u - m, l = log(u < 7.5 ? lgamma_product(u, m, t) : u);
    return u < 7.5 ? t * lgamma_near_2(t) + (m < 2 ? -l : l) : lgamma_large(u, l);
}
/* The same to f32's precision: shorter sums, off by 3e-10. */
GP_FN float lgamma_right_f32(float x) {
    double u = x, m = floor(u + 0.5), t = u - m, l = log(u < 7.5 ? lgamma_product(u, m, t) : u);
    double p = 0.0001207336724, i = 1 / u, s = i * i;
    H(-0.0002537877209) H(0.0005024317006) H(-0.00118587469) H(0.002891561644) H(-0.007386171873)
    H(0.02058074623) H(-0.06735228159) H(0.3224670345) H(0.422784335)
    double series = (0.0007936507936507937 * s - 0.002777777777777778) * s + 0.08333333333333333;
    double large = (u - 0.5) * (l - 1) + (0.41893853320467274 + i * series);
    return (float)(u < 7.5 ? t * p + (m < 2 ? -l : l) : large);
}

/* Below -1/2 by reflection. */
GP_FN double lgamma_f64(double x) {
    double z = fabs(x), y = lgamma_right_f64(x > -0.5 ? x : z);
    double d = z - rint(z), s = sin(PI * fabs(d)), r = log(PI / (z * s));
    y = x > -0.5 ? y : d == 0 ? (double)INFINITY : r - y;
    return z == (double)INFINITY ? z : x != x ? x : y;
}

/* sin(pi d) for |d| <= 1/2: its series to d^15, off by 6e-12. */
GP_FN double lgamma_sine(double d) {
    double q = PI * d, t = q * q, p = -7.647163731819816e-13;
    H(1.6059043836821613e-10) H(-2.505210838544172e-8) H(2.7557319223985893e-6)
    H(-0.0001984126984126984) H(0.008333333333333333) H(-0.16666666666666666) H(1.0)
    return q * p;
}
/* The whole to f32's precision, for devices, where branches cost less than a second logarithm: the
 * sine of the reflection, the recurrence's product and pi have one. */
GP_FN float lgamma_by_branch_f32(float x) {
    const bool left = !(x > -0.5f);
    double z = fabs((double)x), u = left ? z : (double)x, m = floor(u + 0.5), t = u - m, y;
    double d = z - rint(z), sine = left ? lgamma_sine(fabs(d)) : 1;
    if (u < 7.5) {
        double p = 0.0001207336724, product = lgamma_product(u, m, t);
        H(-0.0002537877209) H(0.0005024317006) H(-0.00118587469) H(0.002891561644)
        H(-0.007386171873) H(0.02058074623) H(-0.06735228159) H(0.3224670345) H(0.422784335)
        if (left) product = PI / (m < 2 ? sine : z * sine * product);
        double l = log(product);
        y = left ? l - t * p : t * p + (m < 2 ? -l : l);
    } else {
        double i = 1 / u, s = i * i, series = 0.0007936507936507937 * s - 0.002777777777777778;
        series = series * s + 0.08333333333333333;
        y = (u - 0.5) * (log(u) - 1) + (0.41893853320467274 + i * series);
        if (left) y = log(PI / (z * sine)) - y;
    }
    if (left && d == 0) y = (double)INFINITY;
    return z == (double)INFINITY ? (float)z : x != x ? x : (float)y;
}

/* ---- digamma ---- */

/* digamma(1.5 + t) over its distance to digamma's zero, for |t| <= 1/2; a Chebyshev fit, off by
 * 6e-19. */
GP_FN double digamma_near_zero(double t) {
    double p = -8.153978973309418e-5;
    H(0.00012230983055406747) H(-6.115542617507509e-5) H(9.1733832891747916e-5)
    H(-0.00021786821455014508) H(0.00032680680441417642) H(-0.00045996251446125765)
    H(0.00068997178011668403) H(-0.001042261556504223) H(0.0015635679757533886)
    H(-0.0023446500823513208) H(0.0035180800751066694) H(-0.00528001782089874)
    H(0.0079270240679612363) H(-0.011908215172584003) H(0.017907248195969129)
    H(-0.026975796844275361) H(0.040760833944626564) H(-0.061922133271657065)
    H(0.094988724452830011) H(-0.14840492305391762) H(0.24054248424078736) H(-0.4236274212814605)
    H(0.95105587603183288)
    return p;
}

/* The asymptotic series less log(u), for u >= 8. */
GP_FN double digamma_large(double u) {
    double i = 1 / u, t = i * i, p = 3.0539543302701198;
    H(-0.4432598039215686) H(0.08333333333333333) H(-0.021092796092796094) H(0.007575757575757576)
    H(-0.004166666666666667) H(0.003968253968253968) H(-0.008333333333333333) H(0.08333333333333333)
    return -0.5 * i - t * p;
}

/* From 1 to 2 by the fit, to 8 and below 1 by the recurrence (its fractions added up as n / d),
 * above by the series, not above 0 by reflection. */
GP_FN double digamma_f64(double x) {
    double u = x > 0 ? x : 1 - x, m = floor(u), v = u < 1 ? u + 1 : u - (m - 1);
    double n = 0, d = 1;
    n = m > 1 ? 1 : n, d = m > 1 ? v : d;
    n = m > 2 ? n * (v + 1) + d : n, d = m > 2 ? d * (v + 1) : d;
    n = m > 3 ? n * (v + 2) + d : n, d = m > 3 ? d * (v + 2) : d;
    n = m > 4 ? n * (v + 3) + d : n, d = m > 4 ? d * (v + 3) : d;
    n = m > 5 ? n * (v + 4) + d : n, d = m > 5 ? d * (v + 4) : d;
    n = m > 6 ? n * (v + 5) + d : n, d = m > 6 ? d * (v + 5) : d;
    n = u < 1 ? -1 : n, d = u < 1 ? u : d;
    double near = ((v - 0x1.762d86356be3fp+0) - 0x1.b86a722197829p-54) * digamma_near_zero(v - 1.5);
    double y = u < 8 ? near + n / d : log(u) + digamma_large(u);
    double e = x == 0 ? x : x - rint(x), c = PI / tan(PI * e);
    c = e == 0 && x < 0 ? (double)NAN : c;
    return x > 0 ? y : y - c;
}

/* ---- polygamma ---- */

/* r to the power n, an integer. */
GP_FN double int_power(double r, int n) {
    double y = 1;
    for (; n > 0; n >>= 1, r *= r) y *= n & 1 ? r : 1;
    return y;
}

/* The sum of (x + k)^-s for k = 0, 1, 2 …, x > 0 and integer s > 1: ten terms, then Euler and
 * Maclaurin's series, whose coefficients are Bernoulli's numbers B(2j) / (2j)!. */
GP_FN double hurwitz_zeta(int s, double x) {
    const double bernoulli[] = {0.08333333333333333,    -0.001388888888888889,
                                3.3068783068783071e-05, -8.267195767195768e-07,
                                2.08767569878681e-08,   -5.284190138687493e-10,
                                1.3382536530684679e-11, -3.3896802963225832e-13};
    double sum = 0, i = 1 / (x + 10);
    for (int k = 0; k < 10; k++) sum += int_power(1 / (x + k), s);
    double tail = int_power(i, s - 1) / (s - 1), t = int_power(i, s);
    tail += t / 2;
    t *= i * s;
    for (int j = 0; j < 8; j++) {
        tail += bernoulli[j] * t;
        t *= i * i * (s + 2 * j + 1) * (s + 2 * j + 2);
    }
    return sum + tail;
}

/* The n-th derivative of digamma, (-1)^(n + 1) n! times the sum of (x + k)^-(n + 1) for k = 0, 1 …;
 * below 0 the sum over all integers k less the surplus terms. At poles it is the limit from
 * above. */
GP_FN double polygamma_f64(double x, double order) {
    int n = order < 1e6 ? (int)floor(order) : 1000000, s = n + 1;
    double e = x - rint(x), sign = n & 1 ? 1 : -1, y;
    if (n < 1) return n < 0 ? (double)NAN : digamma_f64(x);
    if (x > 0) y = hurwitz_zeta(s, x);
    else if (e == 0) y = (double)INFINITY;
    else y = int_power(1 / e, s) + hurwitz_zeta(s, 1 + e) +
             sign * (hurwitz_zeta(s, 1 - e) - hurwitz_zeta(s, 1 - x));
    return sign * tgamma((double)s) * y;
}

/* ---- logit: near 1/2 as an inverse tangent, whose argument is exact there ---- */

GP_FN float logit_f32(float x) {
    float y = 2 * atanhf(2 * x - 1), z = logf(x / (1 - x));
    return x > 0.25f && x < 0.75f ? y : z;
}
GP_FN double logit_f64(double x) {
    double y = 2 * atanh(2 * x - 1), z = log(x / (1 - x));
    return x > 0.25 && x < 0.75 ? y : z;
}

/* ---- parts of floats ---- */

/* a times 2 to the power b, exact where b is an integer. */
GP_FN double ldexp_f64(double a, double b) {
    double most = b > 4000 ? 4000 : b < -4000 ? -4000 : b;
    return b == rint(b) && b - b == 0 ? (ldexp)(a, (int)most) : a * exp2(b);
}
GP_FN float ldexp_f32(float a, float b) { return (float)ldexp_f64((double)a, (double)b); }

/* x = mantissa(x) * 2 to the power exponent(x), with a mantissa from 1/2 to 1; 0, infinities and
 * NaN are their own, with exponent 0. */
GP_FN double mantissa_f64(double x) { int e; return (frexp)(x, &e); }
GP_FN double exponent_f64(double x) { int e = 0; (frexp)(x, &e); return x - x == 0 ? e : 0; }
GP_FN float mantissa_f32(float x) { return (float)mantissa_f64((double)x); }
GP_FN float exponent_f32(float x) { return (float)exponent_f64((double)x); }

GP_FN float lgamma_f32(float x) { return (float)lgamma_f64((double)x); }
GP_FN float digamma_f32(float x) { return (float)digamma_f64((double)x); }
GP_FN float polygamma_f32(float x, float n) { return (float)polygamma_f64((double)x, (double)n); }
#undef H
/* clang-format on */

#endif
