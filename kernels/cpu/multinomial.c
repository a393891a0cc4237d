/* multinomial: indices drawn by weights, a row at a time. */
#include <stdlib.h>

#include "kernels/kernel.h"
#include "tensor/rng.h"

enum { WEIGHTS_A_PART = 4096 };

typedef struct lots {
    const gp_call *c;
    const gp_array *x, *out;
    int64_t k, n; /* weights and samples of a row */
    _Atomic int bad;
} lots;

enum { BAD_WEIGHT = 1, TOO_FEW = 2, NO_MEMORY = 4 };

/* A category and when its lot is drawn. */
typedef struct lot {
    double time;
    int64_t index;
} lot;

/* The two words of element i. */
static uint64_t word(const lots *l, int64_t i) {
    uint32_t w[4];
    gp_philox(l->c->seed, l->c->counter, (uint64_t)(i / 2), w);
    return w[2 * (i & 1)] | (uint64_t)w[2 * (i & 1) + 1] << 32;
}

/* Reads a row's weights; returns how many are not 0, or -1 if one is no weight. */
static int64_t weights(const lots *l, int64_t row, double *p) {
    const gp_array *x = l->x;
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)x->dtype), positive = 0;
    int64_t at = x->ndim == 2 ? row * x->stride[0] : 0;
    gp_load_fn((gp_dtype)x->dtype, GP_CT_f64)(p, x->data + at * size, x->stride[x->ndim - 1] * size,
                                              l->k);
    for (int64_t i = 0; i < l->k; i++) {
        if (!(p[i] >= 0 && p[i] < INFINITY)) return -1;
        positive += p[i] > 0;
    }
    return positive;
}

/* Each sample is the first index at which the running sum is above a uniform part of the whole. */
static void with_replacement(const lots *l, int64_t row, double *p, int64_t *o) {
    int64_t last = 0;
    for (int64_t i = 0; i < l->k; i++) {
        if (p[i] > 0) last = i;
        if (i) p[i] += p[i - 1];
    }
    for (int64_t s = 0; s < l->n && !(s % 1024 == 0 && gp_stopped()); s++) {
        double part = gp_uniform_f64(word(l, row * l->n + s)) * p[l->k - 1];
        int64_t lo = 0, hi = last; /* rounding may not lead beyond the last weight above 0 */
        while (lo < hi) {
            int64_t mid = (lo + hi) / 2;
            if (p[mid] > part) hi = mid;
            else lo = mid + 1;
        }
        o[s] = lo + 1;
    }
}

static int earlier(const void *a, const void *b) {
    const lot *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Exponential clocks, one of each weight's rate: in the order in which they ring, each next one is
 * drawn from those left in proportion to its weight. */
static void without_replacement(const lots *l, int64_t row, const double *p, lot *t, int64_t *o) {
    int64_t m = 0;
    for (int64_t i = 0; i < l->k; i++)
        if (p[i] > 0) t[m++] = (lot){-gp_log_uniform(word(l, row * l->k + i)) / p[i], i + 1};
    qsort(t, (size_t)m, sizeof *t, earlier);
    for (int64_t s = 0; s < l->n; s++) o[s] = t[s].index;
}

/* Rows [begin, end); what is wrong with one is noted and told when all are done. */
static void draw_rows(void *ctx, int64_t begin, int64_t end) {
    lots *l = ctx;
    bool replace = l->c->arg[2].i;
    double *p = malloc((size_t)l->k * (sizeof *p + sizeof(lot)));
    if (!p) l->bad |= NO_MEMORY;
    for (int64_t row = begin; p && row < end; row++) {
        int64_t *o = (int64_t *)l->out->data + row * l->n, positive = weights(l, row, p);
        if (positive < 0) l->bad |= BAD_WEIGHT;
        else if (positive < (replace ? 1 : l->n)) l->bad |= TOO_FEW;
        else if (replace) with_replacement(l, row, p, o);
        else without_replacement(l, row, p, (lot *)(p + l->k), o);
    }
    free(p);
}

bool CPU(multinomial)(const gp_call *c) {
    lots l = {.c = c, .x = gp_in(c, 0), .out = gp_out(c, 0)};
    l.k = l.x->dim[l.x->ndim - 1], l.n = c->arg[1].i;
    double each = c->arg[2].i ? 40 : 3000; /* the sort of a row cannot be stopped */
    if (gp_apart_wanted(c, each * (double)l.k)) return gp_apart_run(c, c->name);
    if (!gp_parallel_op(c, l.out->numel / l.n, 1 + WEIGHTS_A_PART / l.k, draw_rows, &l)) return false;
    if (l.bad & NO_MEMORY) return gp_fail("multinomial: out of memory");
    if (l.bad & BAD_WEIGHT)
        return gp_fail("multinomial: a weight in 'x' is negative, infinite or NaN");
    if (l.bad & TOO_FEW)
        return gp_fail("multinomial: a row of 'x' has fewer weights above 0 than samples to draw");
    return gp_went_on(c);
}
