/* var and std: sums of distances from a value near the mean, and of their squares, in f64. */
#include <math.h>

#include "kernels/cpu/reduce/reduce.h"

/* Fields of an accumulator: a shift, the sum of the elements' distances from it, the sum of their
 * squares, and the number of elements (the same for adjacent outputs). */
enum { SHIFT, SUM, SQUARES, COUNT, FIELDS };
enum { LANES = 32 };

static void start(void *acc, int64_t n) {
    double *a = acc;
    for (int64_t i = 0; i < FIELDS * n; i++) a[i] = 0;
}

/* Mean and squared distances of both sides, joined. Source: Chan, Golub and LeVeque, 1979. */
static void join(void *acc, const void *more, int64_t n) {
    double *restrict a = acc;
    const double *restrict b = more;
    double na = a[COUNT * n], nb = b[COUNT * n], all = na + nb;
    if (nb == 0) return;
    if (na == 0) {
        for (int64_t i = 0; i < FIELDS * n; i++) a[i] = b[i];
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double sa = a[SUM * n + i], sb = b[SUM * n + i];
        double ma = a[SHIFT * n + i] + sa / na, d = b[SHIFT * n + i] + sb / nb - ma;
        a[SQUARES * n + i] = a[SQUARES * n + i] - sa * (sa / na) + b[SQUARES * n + i] -
                             sb * (sb / nb) + d * d * (na * nb / all);
        a[SHIFT * n + i] = ma + d * (nb / all);
        a[SUM * n + i] = 0;
        a[COUNT * n + i] = all;
    }
}

#define TEMPLATE "kernels/cpu/reduce/var.inc"
#include "kernels/common/floats.inc"

/* p: the correction. Rounding must not leave a negative sum of squares; NaN stays. */
static void finish_var(void *acc, double count, int64_t n, double p) {
    double *a = acc, divisor = fmax(0, count - p);
    for (int64_t i = 0; i < n; i++) {
        double s = a[SUM * n + i], m2 = a[SQUARES * n + i] - s * (s / count);
        a[i] = fmax(m2, m2 - m2) / divisor;
    }
}

static void finish_std(void *acc, double count, int64_t n, double p) {
    double *a = acc;
    finish_var(acc, count, n, p);
    for (int64_t i = 0; i < n; i++) a[i] = sqrt(a[i]);
}

/* Arguments: x, a mask of dims, correction, keepdim. */
static bool moments(const gp_call *c, bool root) {
    bool wide = gp_in(c, 0)->dtype == GP_f64;
    gp_reducer red = {.load = wide ? GP_CT_f64 : GP_CT_f32,
                      .acc = GP_CT_f64,
                      .fields = FIELDS,
                      .start = start,
                      .fold = wide ? fold_f64 : fold_f32,
                      .each = wide ? each_f64 : each_f32,
                      .join = join,
                      .finish = root ? finish_std : finish_var};
    double correction = c->arg[2].is_float ? c->arg[2].f : (double)c->arg[2].i;
    return gp_reduce(c, &red, 1, correction);
}

bool CPU(var)(const gp_call *c) { return moments(c, false); }
bool CPU(std)(const gp_call *c) { return moments(c, true); }
