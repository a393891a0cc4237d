/* Counting by value: bincount, histc, one_hot. Labels count from 1. Parts of a thread each are
 * worth 1.9 with two threads at 524288 labels. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/runtime/kernel.h"

/* most: the largest that is valid; 0: any is. */
static bool bad_label(const gp_call *c, int64_t v, int64_t most) {
    char expected[40] = "at least 1";
    if (!gp_check_interrupt(c)) return false; /* each_block ended for that */
    if (most) snprintf(expected, sizeof expected, "1 to %lld", (long long)most);
    return gp_fail("%s: value %lld is out of range (values count from 1: expected %s; add 1 to "
                   "values that count from 0)",
                   c->op->name, (long long)v, expected);
}

/* Rows of a loop over x and, perhaps, another array of its shape, at most GP_BLOCK elements at a
 * time; stops where fn returns false, and for Ctrl-C. */
typedef bool (*block_fn)(void *ctx, char *const *p, const int64_t *step, int64_t n);
static bool each_block(const gp_array *x, const gp_array *other, block_fn fn, void *ctx) {
    gp_nd_loop l;
    gp_row_iter r;
    const gp_array *arrays[2] = {x, other};
    if (x->numel == 0) return true;
    gp_nd_loop_init(&l, other ? 2 : 1, arrays);
    int last = l.ndim - 1;
    int64_t width = l.dim[last], step[2] = {l.stride[0][last], other ? l.stride[1][last] : 0};
    gp_row_iter_begin(&r, &l, 0);
    for (int64_t at = 0; at < l.numel; at += width, gp_row_iter_next(&r, &l))
        for (int64_t i = 0; i < width; i += GP_BLOCK) {
            char *p[2] = {r.p[0] + i * step[0], other ? r.p[1] + i * step[1] : NULL};
            if (gp_stopped() || !fn(ctx, p, step, width - i < GP_BLOCK ? width - i : GP_BLOCK))
                return false;
        }
    return true;
}

/* ---- bincount ---- */

/* Few values: LANES counters each, so that an element need not wait for the count that the previous
 * one has just written. */
enum { LANES = 4, NARROW = 256, MOST_LABELS = 4096 };

typedef struct bins {
    const gp_array *out;
    gp_load load, weigh; /* labels as i64, weights as f64 */
    bool plain;          /* labels are i64 */
    int64_t bad;
    int64_t few[LANES][NARROW]; /* used without weights, for up to NARROW values */
} bins;

/* False if a value is out of range; the cut to 8 bits keeps any value inside `few`. */
static bool count_few(bins *b, const int64_t *v, int64_t n) {
    uint64_t size = (uint64_t)b->out->numel, bad = 0;
    int64_t i = 0;
    for (int64_t k = 0; k < n; k++) bad |= (uint64_t)v[k] - 1 >= size;
    if (bad) return false;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) b->few[k][(uint8_t)(v[i + k] - 1)]++;
    for (; i < n; i++) b->few[0][(uint8_t)(v[i] - 1)]++;
    return true;
}

static bool count_block(void *ctx, char *const *p, const int64_t *step, int64_t n) {
    bins *b = ctx;
    int64_t v[GP_BLOCK], size = b->out->numel;
    double w[GP_BLOCK];
    bool few = size <= NARROW && !b->weigh;
    if (few && b->plain && step[0] == 8 && count_few(b, (const int64_t *)(void *)p[0], n))
        return true;
    b->load(v, p[0], step[0], n);
    if (few && count_few(b, v, n)) return true;
    if (b->weigh) b->weigh(w, p[1], step[1], n);
    for (int64_t i = 0; i < n; i++) {
        if (v[i] < 1 || v[i] > size) return b->bad = v[i], false;
        if (!b->weigh) ((int64_t *)(void *)b->out->data)[v[i] - 1]++;
        else if (b->out->dtype == GP_f32) ((float *)(void *)b->out->data)[v[i] - 1] += (float)w[i];
        else ((double *)(void *)b->out->data)[v[i] - 1] += w[i];
    }
    return true;
}

/* Contiguous i64: each thread counts its part separately. False, with nothing added to the result,
 * if a value is out of range, or for Ctrl-C. */
typedef struct contiguous_job {
    const int64_t *v;
    const gp_array *out;
    _Atomic bool ended;
} contiguous_job;

static void count_part(void *ctx, int64_t begin, int64_t end) {
    contiguous_job *s = ctx;
    bins b = {.out = s->out};
    int64_t *out = (int64_t *)(void *)s->out->data;
    for (int64_t i = begin; i < end && !s->ended; i += GP_BLOCK)
        if (gp_stopped() || !count_few(&b, s->v + i, end - i < GP_BLOCK ? end - i : GP_BLOCK))
            s->ended = true;
    for (int64_t i = 0; i < s->out->numel; i++) {
        int64_t all = 0;
        for (int k = 0; k < LANES; k++) all += b.few[k][i];
        __atomic_fetch_add(&out[i], all, __ATOMIC_RELAXED);
    }
}

static bool count_side_by_side(const gp_array *x, const gp_array *out) {
    contiguous_job s = {.v = (const int64_t *)(const void *)x->data, .out = out};
    gp_parallel(x->numel, 2 * GP_GRAIN, count_part, &s);
    if (s.ended) memset(out->data, 0, (size_t)out->numel * 8);
    return !s.ended;
}

/* Labels of one array, which threads share by parts. */
typedef struct labels_job {
    const gp_array *x, *out;
    gp_load load;
    int64_t largest;
} labels_job;

/* Counts a block; the largest element so far, or one above the labels for one below 1. `few` has
 * counts that are not in `all` yet. */
static int64_t count_labels(bins *few, int64_t *all, const int64_t *v, int64_t n, int64_t most) {
    int64_t least = 1, high = 0, size = few->out->numel;
    for (int64_t k = 0; k < n; k++)
        least = v[k] < least ? v[k] : least, high = v[k] > high ? v[k] : high;
    if (least < 1) high = high > size ? high : size + 1;
    most = high > most ? high : most;
    if (least == 1 && high <= NARROW) {
        int64_t i = 0;
        for (; i + LANES <= n; i += LANES)
            for (int k = 0; k < LANES; k++) few->few[k][(uint8_t)(v[i + k] - 1)]++;
        for (; i < n; i++) few->few[0][(uint8_t)(v[i] - 1)]++;
        return most;
    }
    if (high <= size)
        for (int64_t i = 0; i < n; i++) all[v[i] - 1]++;
    else
        for (int64_t i = 0; i < n; i++)
            if ((uint64_t)v[i] - 1 < (uint64_t)size) all[v[i] - 1]++;
    return most;
}

/* Elements begin … end - 1; the counts and the largest are added to the job's. */
static void count_labels_part(void *ctx, int64_t begin, int64_t end) {
    labels_job *s = ctx;
    bins few = {.out = s->out};
    int64_t v[GP_BLOCK], all[MOST_LABELS] = {0}, *out = (int64_t *)(void *)s->out->data, most = 0,
                         step = s->x->stride[0] * (int64_t)gp_dtype_size((gp_dtype)s->x->dtype);
    for (int64_t i = begin, n; i < end && !gp_stopped(); i += n) {
        n = end - i < GP_BLOCK ? end - i : GP_BLOCK;
        s->load(v, s->x->data + i * step, step, n);
        most = count_labels(&few, all, v, n, most);
    }
    for (int64_t i = 0; i < s->out->numel; i++) {
        for (int k = 0; k < LANES && i < NARROW; k++) all[i] += few.few[k][i];
        if (all[i]) __atomic_fetch_add(&out[i], all[i], __ATOMIC_RELAXED);
    }
    int64_t was = __atomic_load_n(&s->largest, __ATOMIC_RELAXED);
    while (most > was && !__atomic_compare_exchange_n(&s->largest, &was, most, false,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

bool CPU(count_labels)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0);
    labels_job s = {.x = x, .out = out, .load = gp_load_fn((gp_dtype)x->dtype, GP_CT_i64)};
    if (out->numel > MOST_LABELS) return gp_fail("count_labels: too many labels");
    memset(out->data, 0, (size_t)out->numel * 8);
    gp_parallel(x->numel, 2 * GP_GRAIN, count_labels_part, &s);
    *(int64_t *)(void *)gp_out(c, 1)->data = s.largest;
    return gp_check_interrupt(c);
}

bool CPU(bincount)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *weights = gp_in(c, 1), *out = gp_out(c, 0);
    if (c->ntmp) return memcpy(out->data, c->tmpa[0]->data, (size_t)out->numel * 8), true;
    bins b = {
        .out = out, .load = gp_load_fn((gp_dtype)x->dtype, GP_CT_i64), .plain = x->dtype == GP_i64};
    if (weights) b.weigh = gp_load_fn((gp_dtype)weights->dtype, GP_CT_f64);
    memset(out->data, 0, (size_t)out->numel * gp_dtype_size((gp_dtype)out->dtype));
    if (b.plain && x->contiguous && !weights && out->numel <= NARROW && count_side_by_side(x, out))
        return true;
    if (!each_block(x, weights, count_block, &b)) return bad_label(c, b.bad, 0);
    for (int64_t i = 0; !weights && i < out->numel && i < NARROW; i++)
        for (int k = 0; k < LANES; k++) ((int64_t *)(void *)out->data)[i] += b.few[k][i];
    return true;
}

/* ---- histc ---- */

typedef struct histogram {
    gp_load load;
    double lo, hi;
    int64_t bins, *count;
    bool nan;
} histogram;

static bool range_block(void *ctx, char *const *p, const int64_t *step, int64_t n) {
    histogram *h = ctx;
    double v[GP_BLOCK];
    h->load(v, p[0], step[0], n);
    for (int64_t i = 0; i < n; i++) {
        h->lo = v[i] < h->lo ? v[i] : h->lo;
        h->hi = v[i] > h->hi ? v[i] : h->hi;
        h->nan |= v[i] != v[i];
    }
    return true;
}

/* Elements outside lo … hi, and NaN, count nowhere; hi belongs to the last bin. */
static bool bin_block(void *ctx, char *const *p, const int64_t *step, int64_t n) {
    histogram *h = ctx;
    double v[GP_BLOCK];
    h->load(v, p[0], step[0], n);
    for (int64_t i = 0; i < n; i++) {
        if (!(v[i] >= h->lo && v[i] <= h->hi)) continue;
        int64_t k = (int64_t)((v[i] - h->lo) * (double)h->bins / (h->hi - h->lo));
        h->count[k < h->bins ? k : h->bins - 1]++;
    }
    return true;
}

/* The range: as given, or where min = max that of the elements. */
static bool settle_range(const gp_call *c, histogram *h) {
    const gp_value *lo = &c->arg[2], *hi = &c->arg[3];
    h->lo = lo->is_float ? lo->f : (double)lo->i;
    h->hi = hi->is_float ? hi->f : (double)hi->i;
    const gp_array *x = gp_in(c, 0);
    if (h->lo == h->hi && x->numel) {
        h->lo = INFINITY, h->hi = -INFINITY;
        if (!each_block(x, NULL, range_block, h)) return gp_check_interrupt(c);
        if (h->nan || !isfinite(h->lo) || !isfinite(h->hi))
            return gp_fail("histc: the elements' range is not finite; give min and max");
    }
    if (h->lo == h->hi) h->lo -= 1, h->hi += 1;
    return true;
}

bool CPU(histc)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0);
    histogram h = {.load = gp_load_fn((gp_dtype)x->dtype, GP_CT_f64), .bins = out->numel};
    if (!settle_range(c, &h)) return false;
    if (!(h.count = calloc((size_t)h.bins, sizeof *h.count)))
        return gp_fail("histc: out of memory");
    bool ok = each_block(x, NULL, bin_block, &h) || gp_check_interrupt(c);
    gp_array counts = *out;
    counts.data = (char *)h.count;
    counts.dtype = GP_i64;
    gp_copy_array(out, &counts);
    free(h.count);
    return ok;
}

/* ---- one_hot ---- */

typedef struct hot {
    int64_t *to, classes, bad;
    gp_load load;
} hot;

static bool hot_block(void *ctx, char *const *p, const int64_t *step, int64_t n) {
    hot *h = ctx;
    int64_t v[GP_BLOCK];
    h->load(v, p[0], step[0], n);
    for (int64_t i = 0; i < n; i++, h->to += h->classes) {
        if (v[i] < 1 || v[i] > h->classes) return h->bad = v[i], false;
        h->to[v[i] - 1] = 1;
    }
    return true;
}

static void clear(void *ctx, int64_t begin, int64_t end) {
    memset((int64_t *)ctx + begin, 0, (size_t)(end - begin) * 8);
}

bool CPU(one_hot)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0), *x = c->tmpa[0];
    hot h = {.to = (int64_t *)(void *)out->data,
             .classes = out->dim[out->ndim - 1],
             .load = gp_load_fn((gp_dtype)x->dtype, GP_CT_i64)};
    return gp_parallel_op(c, out->numel, GP_GRAIN, clear, h.to) &&
           (each_block(x, NULL, hot_block, &h) || bad_label(c, h.bad, h.classes));
}
