/* Poisson's distribution, for the CPU and CUDA: one number for a rate from random words, by plain
 * IEEE operations alone, so that every device gives the same bits (see tensor/rng.h).
 *
 * Below a rate of 10 the distribution function is inverted by adding up its terms. From 10 on:
 * PTRS, transformed rejection with a squeeze, which takes about 1.1 attempts. Source: W. Hoermann,
 * "The transformed rejection method for generating Poisson random variables", Insurance:
 * Mathematics and Economics 12, 1993. The logarithm of a probability is Loader's saddle-point
 * form, which keeps its digits at every rate. Source: C. Loader, "Fast and accurate computation of
 * binomial probabilities", 2000. */
#ifndef GP_POISSON_H
#define GP_POISSON_H

#include "tensor/rng.h"

/* exp(-x) for 0 <= x < 10: Taylor's series at x / 16, squared four times. */
GP_RNG_FN double poisson_exp(double x) {
    double z = -x / 16, y = 1;
    for (int n = 16; n > 0; n--) y = 1 + y * z / n;
    for (int i = 0; i < 4; i++) y *= y;
    return y;
}

/* u in [0, 1), a rate below 10. The sum ends where its terms no longer change it. */
GP_RNG_FN double poisson_inverted(double rate, double u) {
    double k = 0, term = poisson_exp(rate), sum = term;
    while (u >= sum && (k < rate || term > 0x1p-60)) k += 1, term *= rate / k, sum += term;
    return k;
}

/* The logarithm of the probability of k >= 0 at a rate of 10 or more. */
GP_RNG_FN double poisson_log_probability(double k, double rate) {
    double d = (rate - k) / k, factorial = 1;
    if (k < 10) {
        for (double i = 2; i <= k; i += 1) factorial *= i;
        return k * gp_log(rate) - rate - gp_log(factorial);
    }
    double distance = d > -0.29 && d < 0.41 ? gp_log1p_less(d) : gp_log(rate / k) - d;
    double s = 1 / (k * k);
    double stirling = (1.0 / 12 - s * (1.0 / 360 - s * (1.0 / 1260 - s / 1680))) / k;
    return k * distance - stirling - 0.5 * gp_log(6.283185307179586 * k);
}

/* Element `index`, below 2^40, of the op whose counter is `counter`; 0 <= rate < infinity. Attempt
 * n takes the four words of counter index + 2^40 n: two uniform numbers. */
GP_RNG_FN double gp_poisson(double rate, uint64_t seed, uint64_t counter, uint64_t index) {
    double b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
    for (;; index += (uint64_t)1 << 40) {
        uint32_t w[4];
        gp_philox(seed, counter, index, w);
        double u = gp_uniform_f64(w[0] | (uint64_t)w[1] << 32);
        if (rate < 10) return poisson_inverted(rate, u);
        double v = gp_uniform_f64(w[2] | (uint64_t)w[3] << 32) + 0x1p-54;
        double s = 0.5 - fabs(u - 0.5), k = floor((2 * a / s + b) * (u - 0.5) + rate + 0.43);
        if (s >= 0.07 && v <= v_r) return k;
        if (k < 0 || (s < 0.013 && v > s)) continue;
        if (gp_log(v * inverse_alpha / (a / (s * s) + b)) <= poisson_log_probability(k, rate))
            return k;
    }
}

#endif
