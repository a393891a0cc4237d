/* Scans with more state than a number: cummax and cummin with indices, logcumsumexp. */
#include "kernels/cpu/sort/keys.h"
#include "kernels/cpu/elementwise/math.h"

enum { COLUMNS = 256 };

typedef struct scanner {
    /* n elements of one line, numbered from `at`: x becomes the best so far, index its position. */
    void (*line)(void *best, int64_t *where, void *x, int64_t *index, int64_t at, int64_t n);
    /* Element `at` of each of n lines. */
    void (*row)(void *best, int64_t *where, const void *x, int64_t at, int64_t n);
} scanner;

typedef struct scan_job {
    gp_nd_loop lines;   /* 0: values, 1: x, 2: indices; all without the dim */
    int64_t n, step[3]; /* the dim's size; bytes between its elements in each */
    gp_ctype ct;
    gp_load load;
    gp_store store;
    scanner s;
} scan_job;

#define TEMPLATE "kernels/cpu/scan/cummax_pair.inc"
#include "kernels/common/numbers.inc"
#define ONE(nm, t)                                                                                 \
    { line_##nm##_##t, row_##nm##_##t }
static const scanner scanners[2][GP_CTYPES] = {
    {ONE(max, f32), ONE(max, f64), ONE(max, i32), ONE(max, i64)},
    {ONE(min, f32), ONE(min, f64), ONE(min, i32), ONE(min, i64)},
};

/* Lines [begin, end), a block of elements at a time. */
static void scan_lines(void *ctx, int64_t begin, int64_t end) {
    const scan_job *r = ctx;
    _Alignas(64) char buf[GP_BLOCK * 8];
    int64_t index[GP_BLOCK];
    for (int64_t k = begin; k < end; k++) {
        char *p[GP_LOOP_MAX];
        int64_t best, where = 1;
        gp_nd_loop_at(&r->lines, k, p);
        r->load(&best, p[1], 0, 1);
        for (int64_t i = 0; i < r->n; i += GP_BLOCK) {
            int64_t n = r->n - i < GP_BLOCK ? r->n - i : GP_BLOCK;
            r->load(buf, p[1] + i * r->step[1], r->step[1], n);
            r->s.line(&best, &where, buf, index, i + 1, n);
            r->store(p[0] + i * r->step[0], r->step[0], buf, n);
            gp_move_row(p[2] + i * r->step[2], r->step[2], (char *)index, 8, n, 8);
        }
    }
}

/* Up to COLUMNS adjacent lines, elements xs (os, is) bytes apart. */
static void scan_block(const scan_job *r, char *const *p, const int64_t *strides, int64_t n) {
    _Alignas(64) char best[COLUMNS * 8], buf[COLUMNS * 8];
    int64_t where[COLUMNS];
    r->load(best, p[1], strides[1], n);
    for (int64_t k = 0; k < r->n; k++) {
        r->load(buf, p[1] + k * r->step[1], strides[1], n);
        r->s.row(best, where, buf, k + 1, n);
        r->store(p[0] + k * r->step[0], strides[0], best, n);
        gp_move_row(p[2] + k * r->step[2], strides[2], (char *)where, 8, n, 8);
    }
}

/* Lines [begin, end) that are adjacent in memory. */
static void scan_columns(void *ctx, int64_t begin, int64_t end) {
    const scan_job *r = ctx;
    const gp_nd_loop *l = &r->lines;
    int last = l->ndim - 1;
    int64_t width = l->dim[last], strides[3];
    for (int a = 0; a < 3; a++) strides[a] = l->stride[a][last];
    gp_row_iter rows;
    gp_row_iter_begin(&rows, l, begin);
    for (int64_t at = begin; at < end; gp_row_iter_next(&rows, l)) {
        int64_t i = at % width, stop = width - i < end - at ? width : i + end - at;
        at += stop - i;
        for (; i < stop; i += COLUMNS) {
            char *p[3];
            for (int a = 0; a < 3; a++) p[a] = rows.p[a] + i * strides[a];
            scan_block(r, p, strides, stop - i < COLUMNS ? stop - i : COLUMNS);
        }
    }
}

/* Outputs: values of x's dtype, places in i64. */
static bool extreme(const gp_call *c, bool min) {
    const gp_array *x = gp_in(c, 0), *whole[3] = {gp_out(c, 0), x, gp_out(c, 1)};
    int d = (int)c->arg[1].i - 1;
    if (x->numel == 0) return true;
    scan_job r = {.n = x->ndim ? x->dim[d] : 1, .ct = gp_compute_type((gp_dtype)x->dtype)};
    gp_array kept[3];
    const gp_array *arrays[3] = {&kept[0], &kept[1], &kept[2]};
    for (int a = 0; a < 3; a++) {
        kept[a] = gp_without_dim(whole[a], d);
        r.step[a] =
            x->ndim ? whole[a]->stride[d] * (int64_t)gp_dtype_size((gp_dtype)whole[a]->dtype) : 0;
    }
    if (gp_offload_wanted(c, 25.0 * (double)r.n)) return gp_offload_run(c, c->name);
    r.s = scanners[min][r.ct];
    r.load = gp_load_fn((gp_dtype)x->dtype, r.ct);
    r.store = gp_store_fn(r.ct, (gp_dtype)x->dtype);
    gp_nd_loop_init(&r.lines, 3, arrays);
    int last = r.lines.ndim - 1;
    bool columns = r.lines.dim[last] >= 8 && r.lines.stride[1][last] < r.step[1];
    if (!gp_prefault_outputs(c)) return false;
    return gp_parallel_op(c, kept[0].numel, 1 + GP_GRAIN / 2 / r.n,
                          columns ? scan_columns : scan_lines, &r);
}
bool CPU(cummax)(const gp_call *c) { return extreme(c, false); }
bool CPU(cummin)(const gp_call *c) { return extreme(c, true); }

/* ---- logcumsumexp ---- */

/* The sum of exp(x - m) over the elements so far, m the largest of them. */
typedef struct logsum {
    double m, s;
} logsum;

/* Element by element: for those whose range is too large for one m, or that are not finite. */
static void log_slowly(logsum *a, double *x, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        double d = x[i] == a->m ? 0 : x[i] - a->m, e = exp(d <= 0 ? d : -d);
        a->s = d <= 0 ? a->s + e : a->s * e + 1;
        a->m = d <= 0 ? a->m : x[i];
        x[i] = a->m + log(a->s);
    }
}

/* All of a block by its largest element, which exp can express if no sum is below e^-600 of it. */
static void log_block(logsum *a, double *x, int64_t n) {
    double m = a->m, first = x[0] > m ? x[0] : m, sum;
    for (int64_t i = 0; i < n; i++) m = x[i] > m || x[i] != x[i] ? x[i] : m;
    if (!(m - first <= 600)) {
        log_slowly(a, x, n);
        return;
    }
    sum = a->s * exp(a->m - m);
    for (int64_t i = 0; i < n; i++) x[i] = exp(x[i] - m);
    for (int64_t i = 0; i < n; i++) x[i] = sum += x[i];
    for (int64_t i = 0; i < n; i++) x[i] = m + log(x[i]);
    *a = (logsum){m, sum};
}

/* Lines [begin, end) in f64; the largest element so far and the sum go on from block to block. */
static void log_lines(void *ctx, int64_t begin, int64_t end) {
    const scan_job *r = ctx;
    double buf[GP_BLOCK];
    for (int64_t k = begin; k < end; k++) {
        char *p[GP_LOOP_MAX];
        logsum a = {-INFINITY, 0};
        gp_nd_loop_at(&r->lines, k, p);
        for (int64_t i = 0; i < r->n; i += GP_BLOCK) {
            int64_t n = r->n - i < GP_BLOCK ? r->n - i : GP_BLOCK;
            r->load(buf, p[1] + i * r->step[1], r->step[1], n);
            log_block(&a, buf, n);
            r->store(p[0] + i * r->step[0], r->step[0], buf, n);
        }
    }
}

bool CPU(logcumsumexp)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *whole[2] = {gp_out(c, 0), x};
    int d = (int)c->arg[1].i - 1;
    if (x->numel == 0) return true;
    scan_job r = {.n = x->ndim ? x->dim[d] : 1};
    gp_array kept[2];
    const gp_array *arrays[2] = {&kept[0], &kept[1]};
    for (int a = 0; a < 2; a++) {
        kept[a] = gp_without_dim(whole[a], d);
        r.step[a] = x->ndim ? whole[a]->stride[d] * (int64_t)gp_dtype_size((gp_dtype)x->dtype) : 0;
    }
    if (gp_offload_wanted(c, 130.0 * (double)r.n)) return gp_offload_run(c, c->name);
    r.load = gp_load_fn((gp_dtype)x->dtype, GP_CT_f64);
    r.store = gp_store_fn(GP_CT_f64, (gp_dtype)x->dtype);
    gp_nd_loop_init(&r.lines, 2, arrays);
    return gp_prefault_outputs(c) &&
           gp_parallel_op(c, kept[0].numel, 1 + GP_GRAIN / 2 / r.n, log_lines, &r);
}
