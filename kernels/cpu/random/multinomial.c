/* multinomial: indices drawn by weight, one row at a time. */
#include <string.h>

#include "kernels/cpu/random/philox.h"
#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/runtime/kernel.h"

/* SOME: elements whose words are made at once. SLACK: lots kept beyond twice the samples before
 * late ones are dropped. */
enum { WEIGHTS_A_PART = 4096, SOME = 512, SLACK = 1024, DIGIT = 11, BINS = 1 << DIGIT };

typedef struct lots {
    const gp_call *c;
    const gp_array *x, *out;
    int64_t k, n; /* weights and samples of a row */
    _Atomic int bad;
} lots;

enum { BAD_WEIGHT = 1, TOO_FEW = 2, NO_MEMORY = 4 };

/* A category and the time of its lot: positive floats are ordered as their bits. */
typedef struct lot {
    uint64_t time;
    int64_t index;
} lot;

/* The two words of each of n <= SOME elements from `at` on. */
static void words(const lots *l, int64_t at, int64_t n, uint64_t *to) {
    uint32_t w[4 * (SOME / 2 + 64)];
    int64_t first = at & 1, counters = (first + n + 1) / 2;
    philox_block(l->c->seed, l->c->counter, (uint64_t)(at / 2), (counters + 63) / 64 * 64, w);
    memcpy(to, w + 2 * first, (size_t)n * sizeof *to);
}

/* Reads a row's weights; returns how many are not 0, or -1 if one is not a weight. */
static int64_t weights(const lots *l, int64_t row, double *p) {
    const gp_array *x = l->x;
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)x->dtype), positive = 0, bad = 0;
    int64_t at = x->ndim == 2 ? row * x->stride[0] : 0;
    gp_load_fn((gp_dtype)x->dtype, GP_CT_f64)(p, x->data + at * size, x->stride[x->ndim - 1] * size,
                                              l->k);
    for (int64_t i = 0; i < l->k; i++) {
        bad |= !(p[i] >= 0 && p[i] < INFINITY);
        positive += p[i] > 0;
    }
    return bad ? -1 : positive;
}

/* Each sample is the first index at which the running sum exceeds a uniform part of the total. The
 * search has no branches: they would be unpredictable, and without them several searches
 * overlap. */
static void with_replacement(const lots *l, int64_t row, double *p, int64_t *o) {
    int64_t last = l->k - 1, n;
    uint64_t w[SOME];
    double sum = 0;
    while (p[last] == 0) last--; /* rounding must not lead past the last weight above 0 */
    for (int64_t i = 0; i < l->k; i++) p[i] = sum += p[i];
    for (int64_t s = 0; s < l->n && !gp_stopped(); s += n) {
        n = l->n - s < SOME ? l->n - s : SOME;
        words(l, row * l->n + s, n, w);
        for (int64_t i = 0; i < n; i++) {
            double part = gp_uniform_f64(w[i]) * sum;
            const double *at = p;
            for (int64_t left = last; left > 0;) { /* the sample is one of at[0 … left] */
                int64_t half = (left + 1) / 2;
                at += half & -(int64_t) !(at[half - 1] > part);
                left -= half;
            }
            o[s + i] = at - p + 1;
        }
    }
}

/* The k-th smallest (from 0) of n times, which are reordered. Hoare's quickselect. */
static uint64_t select_time(uint64_t *t, int64_t n, int64_t k) {
    int64_t lo = 0, hi = n - 1;
    while (lo < hi) {
        uint64_t pivot = t[lo + (hi - lo) / 2];
        int64_t i = lo - 1, j = hi + 1;
        for (;;) {
            while (t[++i] < pivot) continue;
            while (t[--j] > pivot) continue;
            if (i >= j) break;
            uint64_t v = t[i];
            t[i] = t[j], t[j] = v;
        }
        if (k <= j) hi = j;
        else lo = j + 1;
    }
    return t[k];
}

/* Keeps the first n of m lots, in their order, the earlier of equal ones; returns the last one's
 * time. */
static uint64_t keep_first(lot *t, int64_t m, int64_t n, uint64_t *times) {
    int64_t same = n, k = 0;
    for (int64_t i = 0; i < m; i++) times[i] = t[i].time;
    uint64_t last = select_time(times, m, n - 1);
    for (int64_t i = 0; i < m; i++) same -= t[i].time < last;
    for (int64_t i = 0; i < m; i++) {
        bool keep = t[i].time < last || (t[i].time == last && same-- > 0);
        t[k] = t[i];
        k += keep;
    }
    return last;
}

/* Sorts n lots; u has space for as many. A radix sort by a time's upper 33 bits, the least
 * significant digits first, leaves little to the final insertion sort; it is stable. Returns where
 * they are: t or u. */
static lot *sort_lots(lot *t, lot *u, int64_t n) {
    for (int shift = 31; shift < 64 && n > 64; shift += DIGIT) {
        int64_t at[BINS] = {0}, sum = 0;
        for (int64_t i = 0; i < n; i++) at[t[i].time >> shift & (BINS - 1)]++;
        for (int d = 0; d < BINS; d++) {
            int64_t count = at[d];
            at[d] = sum, sum += count;
        }
        for (int64_t i = 0; i < n; i++) u[at[t[i].time >> shift & (BINS - 1)]++] = t[i];
        lot *v = t;
        t = u, u = v;
    }
    for (int64_t i = 1; i < n; i++) {
        lot v = t[i];
        int64_t j = i;
        for (; j > 0 && t[j - 1].time > v.time; j--) t[j] = t[j - 1];
        t[j] = v;
    }
    return t;
}

/* The most lots that without_replacement keeps. */
static int64_t lots_kept(const lots *l) {
    int64_t most = 2 * l->n + SLACK + SOME;
    return most < l->k ? most : l->k;
}

/* Exponential clocks with the weights as rates: in the order in which they ring, each is drawn from
 * the remaining ones in proportion to its weight. t, u: lots_kept(l) lots each. */
static void without_replacement(const lots *l, int64_t row, const double *p, lot *t, lot *u,
                                int64_t *o) {
    int64_t m = 0, n;
    uint64_t w[SOME], bound = UINT64_MAX;
    for (int64_t at = 0; at < l->k && !gp_stopped(); at += n) {
        n = l->k - at < SOME ? l->k - at : SOME;
        words(l, row * l->k + at, n, w);
        for (int64_t i = 0; i < n; i++) {
            double time = -gp_log_uniform(w[i]) / p[at + i];
            memcpy(&w[i], &time, sizeof time);
        }
        for (int64_t i = 0; i < n; i++) {
            if (w[i] >= bound || !(p[at + i] > 0)) continue;
            t[m++] = (lot){w[i], at + i + 1};
        }
        if (m > 2 * l->n + SLACK) bound = keep_first(t, m, l->n, (uint64_t *)u), m = l->n;
    }
    if (m < l->n) return; /* stopped */
    if (m > l->n) keep_first(t, m, l->n, (uint64_t *)u);
    const lot *sorted = sort_lots(t, u, l->n);
    for (int64_t s = 0; s < l->n; s++) o[s] = sorted[s].index;
}

/* Rows [begin, end); records what is wrong with a row, which is reported when all are done. */
static void draw_rows(void *ctx, int64_t begin, int64_t end) {
    lots *l = ctx;
    bool replace = l->c->arg[2].i;
    int64_t kept = replace ? 0 : lots_kept(l);
    double *p =
        gp_scratch(GP_SCRATCH_PART, (size_t)l->k * sizeof *p + 2 * (size_t)kept * sizeof(lot));
    if (!p) l->bad |= NO_MEMORY;
    for (int64_t row = begin; p && row < end; row++) {
        int64_t *o = (int64_t *)l->out->data + row * l->n, positive = weights(l, row, p);
        lot *t = (lot *)(p + l->k);
        if (positive < 0) l->bad |= BAD_WEIGHT;
        else if (positive < (replace ? 1 : l->n)) l->bad |= TOO_FEW;
        else if (replace) with_replacement(l, row, p, o);
        else without_replacement(l, row, p, t, t + kept, o);
    }
}

bool CPU(multinomial)(const gp_call *c) {
    lots l = {.c = c, .x = gp_in(c, 0), .out = gp_out(c, 0)};
    l.k = l.x->dim[l.x->ndim - 1], l.n = c->arg[1].i;
    double each = c->arg[2].i ? 40 : 3000; /* the sort of a row cannot be stopped */
    if (gp_offload_wanted(c, each * (double)l.k)) return gp_offload_run(c, c->name);
    if (!gp_parallel_op(c, l.out->numel / l.n, 1 + WEIGHTS_A_PART / l.k, draw_rows, &l))
        return false;
    if (l.bad & NO_MEMORY) return gp_fail("multinomial: out of memory");
    if (l.bad & BAD_WEIGHT)
        return gp_fail("multinomial: a weight in 'x' is negative, infinite or NaN");
    if (l.bad & TOO_FEW)
        return gp_fail("multinomial: a row of 'x' has fewer weights above 0 than samples to draw");
    return gp_check_interrupt(c);
}
