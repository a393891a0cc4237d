/* argmax, argmin, and max and min along a dim: the first of the largest (smallest) elements and its
 * index; NaN beats everything. */
#include "kernels/cpu/sort/keys.h"
#include "kernels/cpu/layout/transpose.h"

enum { COLUMNS = 256, PART = 65536, LANES = 32 };

/* Merges n contiguous elements, numbered from `at`, into the best so far of one output. */
typedef void (*scan_fn)(void *best, int64_t *where, const void *x, int64_t at, int64_t n);
/* Merges one element into each of n outputs. */
typedef void (*column_fn)(void *best, int64_t *where, const void *x, int64_t at, int64_t n);

typedef struct comparer {
    scan_fn scan;
    column_fn column;
} comparer;

typedef struct search {
    comparer cmp;
    gp_ctype ct;
    gp_load load;
    gp_store store;
    const gp_array *x;
    const gp_array *values, *indices; /* values may be NULL */
    int64_t n, step;                  /* the dim's size, and bytes between its elements */
    gp_nd_loop outs;                  /* 0: indices, 1: x without the dim, 2: values */
    int64_t *part_where;              /* one long line: the best of each part */
    char *part_best;
} search;

#define TEMPLATE "kernels/cpu/reduce/argreduce_pair.inc"
#include "kernels/common/numbers.inc"
#define ROW(name, t)                                                                               \
    { scan_##name##_##t, column_##name##_##t }
static const comparer comparers[2][GP_CTYPES] = {
    {ROW(max, f32), ROW(max, f64), ROW(max, i32), ROW(max, i64)},
    {ROW(min, f32), ROW(min, f64), ROW(min, i32), ROW(min, i64)},
};

/* Elements [from, to) of the line at p. The first element is the first best. */
static void scan_line(const search *s, const char *p, int64_t from, int64_t to, void *best,
                      int64_t *where) {
    char buf[GP_BLOCK * 8];
    bool direct = s->x->dtype == gp_ctype_dtype[s->ct] && s->step == gp_ctype_size[s->ct];
    s->load(best, p + from * s->step, 0, 1);
    *where = from;
    for (int64_t i = from; i < to; i += GP_BLOCK) {
        int64_t n = to - i < GP_BLOCK ? to - i : GP_BLOCK;
        if (!direct) s->load(buf, p + i * s->step, s->step, n);
        s->cmp.scan(best, where, direct ? p + i * s->step : buf, i, n);
    }
}

/* where counts from 0, the result from 1. */
static void write_out(const search *s, char *index, char *value, const void *best, int64_t where) {
    *(int64_t *)(void *)index = where + 1;
    if (s->values) s->store(value, 0, best, 1);
}

/* Outputs [begin, end), each a line of x of its own. */
static void search_lines(void *ctx, int64_t begin, int64_t end) {
    const search *s = ctx;
    int last = s->outs.ndim - 1;
    int64_t width = s->outs.dim[last];
    const int64_t *step[3] = {s->outs.stride[0], s->outs.stride[1], s->outs.stride[2]};
    gp_row_iter r;
    gp_row_iter_begin(&r, &s->outs, begin);
    for (int64_t at = begin; at < end; gp_row_iter_next(&r, &s->outs)) {
        int64_t i = at % width, stop = width - i < end - at ? width : i + end - at;
        at += stop - i;
        for (; i < stop; i++) {
            int64_t best, where;
            scan_line(s, r.p[1] + i * step[1][last], 0, s->n, &best, &where);
            write_out(s, r.p[0] + i * step[0][last], r.p[2] + i * step[2][last], &best, where);
        }
    }
}

/* Up to COLUMNS outputs of adjacent lines, together. p: indices, x, values. */
static void search_block(const search *s, char *const *p, const int64_t *step, int64_t n) {
    _Alignas(64) char best[COLUMNS * 8], buf[COLUMNS * 8];
    int64_t where[COLUMNS] = {0};
    bool direct = s->x->dtype == gp_ctype_dtype[s->ct] && step[1] == gp_ctype_size[s->ct];
    s->load(best, p[1], step[1], n);
    for (int64_t k = 1; k < s->n; k++) {
        const char *row = p[1] + k * s->step;
        if (!direct) s->load(buf, row, step[1], n);
        s->cmp.column(best, where, direct ? row : buf, k, n);
    }
    for (int64_t i = 0; i < n; i++)
        write_out(s, p[0] + i * step[0], p[2] + i * step[2], best + i * gp_ctype_size[s->ct],
                  where[i]);
}

/* Outputs [begin, end) of adjacent lines: memory is read in its order. */
static void search_columns(void *ctx, int64_t begin, int64_t end) {
    const search *s = ctx;
    int last = s->outs.ndim - 1;
    int64_t width = s->outs.dim[last], step[3];
    for (int k = 0; k < 3; k++) step[k] = s->outs.stride[k][last];
    gp_row_iter r;
    gp_row_iter_begin(&r, &s->outs, begin);
    for (int64_t at = begin; at < end; gp_row_iter_next(&r, &s->outs)) {
        int64_t i = at % width, stop = width - i < end - at ? width : i + end - at;
        at += stop - i;
        for (; i < stop; i += COLUMNS) {
            char *p[3] = {r.p[0] + i * step[0], r.p[1] + i * step[1], r.p[2] + i * step[2]};
            search_block(s, p, step, stop - i < COLUMNS ? stop - i : COLUMNS);
        }
    }
}

/* ---- short lines: adjacent once they are transposed ---- */

enum { SHORT = 128, TILE = 32768 }; /* elements of a line, bytes of lines that go together */

static int64_t most_lines(const search *s) {
    int64_t n = TILE / (s->n * gp_dtype_sizes[s->x->dtype]) & ~(int64_t)15;
    return n < COLUMNS ? n : COLUMNS;
}

/* Outputs [begin, end) of lines without gaps. */
static void search_transposed(void *ctx, int64_t begin, int64_t end) {
    const search *s = ctx;
    search t = *s;
    _Alignas(64) char tile[TILE];
    int last = s->outs.ndim - 1;
    int64_t width = s->outs.dim[last], most = most_lines(s), size = gp_dtype_sizes[s->x->dtype],
            step[3];
    for (int k = 0; k < 3; k++) step[k] = s->outs.stride[k][last];
    for (int64_t at = begin, n; at < end; at += n) {
        char *p[GP_LOOP_MAX];
        n = width - at % width < end - at ? width - at % width : end - at;
        if (n > most) n = most;
        gp_nd_loop_at(&s->outs, at, p);
        gp_transpose(tile, n * size, p[1], step[1], s->n, n, (size_t)size, false);
        t.step = n * size;
        search_block(&t, (char *[]){p[0], tile, p[2]}, (int64_t[]){step[0], size, step[2]}, n);
    }
}

/* ---- one long line ---- */

/* Parts [begin, end) of the one long line. */
static void search_parts(void *ctx, int64_t begin, int64_t end) {
    search *s = ctx;
    for (int64_t i = begin; i < end; i++) {
        int64_t to = (i + 1) * s->n / 64;
        scan_line(s, s->x->data, i * s->n / 64, to, s->part_best + i * 8, &s->part_where[i]);
    }
}

/* In 64 parts, whatever the number of threads. */
static bool search_long(const gp_call *c, search *s) {
    int64_t where[64], at;
    char best[64 * 8];
    s->part_where = where;
    s->part_best = best;
    if (!gp_parallel_op(c, 64, 1, search_parts, s)) return false;
    at = where[0];
    for (int64_t i = 1; i < 64; i++) {
        int64_t w = 0;
        s->cmp.scan(best, &w, best + i * 8, 1, 1);
        if (w == 1) at = where[i];
    }
    write_out(s, s->indices->data, s->values ? s->values->data : NULL, best, at);
    return true;
}

/* values and indices of x along dim d; d < 0: of all of x, which is contiguous. */
static bool run_search(const gp_call *c, const gp_array *x, int d, bool min, const gp_array *values,
                       const gp_array *indices) {
    search s = {
        .x = x, .values = values, .indices = indices, .ct = gp_compute_type((gp_dtype)x->dtype)};
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)x->dtype);
    s.cmp = comparers[min][s.ct];
    s.load = gp_load_fn((gp_dtype)x->dtype, s.ct);
    s.store = gp_store_fn(s.ct, (gp_dtype)x->dtype);
    bool whole = d < 0 || x->ndim == 0;
    s.n = whole ? x->numel : x->dim[d];
    s.step = whole ? size : x->stride[d] * size;
    if (indices->numel == 0) return true;
    if (whole && s.n > PART) return search_long(c, &s);
    gp_array kept = *x, flat = *indices, vals;
    if (whole) kept.ndim = 0;
    else kept = gp_without_dim(x, d);
    kept.numel = indices->numel;
    flat.ndim = kept.ndim; /* keepdim or not, the outputs are contiguous */
    gp_shape shape = {.ndim = kept.ndim};
    for (int i = 0; i < kept.ndim; i++) shape.dim[i] = flat.dim[i] = kept.dim[i];
    gp_shape_strides(&shape, flat.stride);
    vals = flat;
    vals.data = values ? values->data : flat.data;
    vals.dtype = values ? values->dtype : flat.dtype;
    const gp_array *arrays[3] = {&flat, &kept, &vals};
    gp_nd_loop_init(&s.outs, 3, arrays);
    int64_t inner = s.outs.stride[1][s.outs.ndim - 1];
    bool several = s.outs.dim[s.outs.ndim - 1] >= 8, columns = several && inner < s.step;
    bool transposed = several && !columns && s.n > 1 && s.n <= SHORT && s.step == size;
    return gp_parallel_op(c, indices->numel, 1 + GP_GRAIN / s.n,
                          columns      ? search_columns
                          : transposed ? search_transposed
                                       : search_lines,
                          &s);
}

/* Without a dim: of all elements, of which infer has left a contiguous copy. */
static bool arg_of(const gp_call *c, bool min) {
    bool whole = !gp_given(c, 1);
    return run_search(c, whole ? c->tmpa[0] : gp_in(c, 0), whole ? -1 : (int)c->arg[1].i - 1, min,
                      NULL, gp_out(c, 0));
}
bool CPU(argmax)(const gp_call *c) { return arg_of(c, false); }
bool CPU(argmin)(const gp_call *c) { return arg_of(c, true); }

bool CPU(amax)(const gp_call *c);
bool CPU(amin)(const gp_call *c);
bool CPU(maximum)(const gp_call *c);
bool CPU(minimum)(const gp_call *c);

/* Which max or min it is: one output is that of all elements or of two tensors, two are those along
 * a dim. */
static bool is_pairwise(const gp_call *c) { return c->arg[1].kind == GP_TENSOR; }
bool CPU(max)(const gp_call *c) {
    if (c->nout == 2)
        return run_search(c, gp_in(c, 0), (int)c->arg[1].i - 1, false, gp_out(c, 0), gp_out(c, 1));
    return is_pairwise(c) ? CPU(maximum)(c) : CPU(amax)(c);
}
bool CPU(min)(const gp_call *c) {
    if (c->nout == 2)
        return run_search(c, gp_in(c, 0), (int)c->arg[1].i - 1, true, gp_out(c, 0), gp_out(c, 1));
    return is_pairwise(c) ? CPU(minimum)(c) : CPU(amin)(c);
}
