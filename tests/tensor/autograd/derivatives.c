/* The derivative columns of ops.def against differences of their formulas, in f64. */
#include <stdlib.h>

#include "tap.h"
#include "kernels/cpu/elementwise/math.h"

#undef bool
typedef double (*formula)(double a, double b, double c);

/* Rows for integers only have no derivative. p, q and r are the values of all parameters here. */
#define P                                                                                          \
    const double p = 0.2, q = 0.9, r = 0.3;                                                        \
    (void)p, (void)q, (void)r;
#define X(a_)                                                                                      \
    P const double x = a_;                                                                         \
    (void)x;
#define ABC P(void) a, (void)b, (void)c;
#define ONLY_FLOAT(...) __VA_ARGS__
#define ONLY_FLOATS(...) __VA_ARGS__
#define ONLY_REAL(...) __VA_ARGS__
#define ONLY_ALL(...) __VA_ARGS__
#define ONLY_INTS(...)
#define ONLY_WHOLE(...)
#define PARTIAL(n, k, formula_, derivative_, vars)                                                 \
    static double d##k##_##n(double a, double b, double c) {                                       \
        vars const double y = formula_, g = 1.5;                                                   \
        (void)y, (void)g;                                                                          \
        return derivative_;                                                                        \
    }
#define VALUE(n, y, vars)                                                                          \
    static double y_##n(double a, double b, double c) { vars return y; }
#define UNARY(n, ty, y, dx, lo, hi, help, ...)                                                     \
    ONLY_##ty(VALUE(n, y, X(a)) PARTIAL(n, 0, y, dx, X(a)))
#define PARAM(n, ty, sig, y, dx, help, ...) ONLY_##ty(VALUE(n, y, X(a)) PARTIAL(n, 0, y, dx, X(a)))
#define BINARY(n, ty, y, da, db, help, ...)                                                        \
    ONLY_##ty(VALUE(n, y, ABC) PARTIAL(n, 0, y, da, ABC) PARTIAL(n, 1, y, db, ABC))
#define TERNARY(n, ty, y, da, db, dc, help, ...)                                                   \
    ONLY_##ty(VALUE(n, y, ABC) PARTIAL(n, 0, y, da, ABC) PARTIAL(n, 1, y, db, ABC)                 \
                  PARTIAL(n, 2, y, dc, ABC))
#define PARAM3(n, ty, sig, y, da, db, dc, help, ...) TERNARY(n, ty, y, da, db, dc, help)
#include "tensor/ops/table/ops.def"

#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
typedef struct entry {
    const char *name;
    double lo, hi;
    formula y, d[3];
} entry;
#define UNARY(n, ty, y, dx, lo, hi, help, ...) ONLY_##ty({#n, lo, hi, y_##n, {d0_##n}}, )
#define PARAM(n, ty, sig, y, dx, help, ...) ONLY_##ty({#n, -2, 2, y_##n, {d0_##n}}, )
#define BINARY(n, ty, y, da, db, help, ...) ONLY_##ty({#n, 0.1, 3, y_##n, {d0_##n, d1_##n}}, )
#define TERNARY(n, ty, y, da, db, dc, help, ...)                                                   \
    ONLY_##ty({#n, 0.3, 2, y_##n, {d0_##n, d1_##n, d2_##n}}, )
#define PARAM3(n, ty, sig, y, da, db, dc, help, ...) TERNARY(n, ty, y, da, db, dc, help)
static const entry table[] = {
#include "tensor/ops/table/ops.def"
};

enum { POINTS = 300 };

static double at_random(const entry *e) {
    return e->lo + (e->hi - e->lo) * (rand() / (RAND_MAX + 1.0));
}

/* A point where the formula has a value: some have none for all numbers from lo to hi. */
static void draw(const entry *e, double v[3]) {
    for (int tries = 0; tries < 100; tries++) {
        for (int j = 0; j < 3; j++) v[j] = at_random(e);
        if (e->y(v[0], v[1], v[2]) == e->y(v[0], v[1], v[2])) return;
    }
}

/* Whether it differs by more than the difference's error. Where the slopes on both sides disagree
 * there is a step or a corner, which is not judged. */
static void judge(const entry *e, int k) {
    int judged = 0;
    double worst = 0, at = 0;
    for (int i = 0; i < POINTS; i++) {
        double v[3], w[3], y[3], h = 1e-5;
        draw(e, v);
        for (int s = -1; s <= 1; s++) {
            for (int j = 0; j < 3; j++) w[j] = v[j] + (j == k ? s * h : 0);
            y[s + 1] = e->y(w[0], w[1], w[2]);
        }
        double up = (y[2] - y[1]) / h, down = (y[1] - y[0]) / h, d = 1.5 * (up + down) / 2;
        if (fabs(up - down) > 0.02 * (1 + fabs(up))) continue;
        double off = fabs(e->d[k](v[0], v[1], v[2]) - d) / (1 + fabs(d));
        judged++;
        if (!(off <= worst)) worst = off, at = v[k];
    }
    tap_ok(worst < 1e-4 && judged > POINTS / 2, "d%c of %s (off by %.1e at %g; %d points)",
           e->d[1] ? 'a' + k : 'x', e->name, worst, at, judged);
}

int main(void) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int k = 0; k < 3; k++)
            if (table[i].d[k] && !(gp_op_find(table[i].name)->no_derivative >> k & 1))
                judge(&table[i], k);
    return tap_done();
}
