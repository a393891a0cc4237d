/* sort, argsort, msort: lines along a dim, each by its keys, whose unsigned order is the wanted one
 * (radix_sort.c). All threads share a long line; short ones are distributed among them. */
#include "kernels/cpu/sort/sort.h"

enum { GRAIN = 8192, LONG = 1 << 16 };

void gp_sort_keys(const gp_sorting *s, const char *x, int64_t i, int64_t n, uint64_t *keys) {
    s->key(keys, x + i * s->xs, s->xs, n);
    if (s->descending)
        for (int64_t k = 0; k < n; k++) keys[k] = ~keys[k];
}

#define T uint8_t
#include "kernels/cpu/sort/values.inc"
#define T uint16_t
#include "kernels/cpu/sort/values.inc"
#define T uint32_t
#include "kernels/cpu/sort/values.inc"
#define T uint64_t
#include "kernels/cpu/sort/values.inc"

void gp_sort_write(const gp_sorting *s, char *const *p, int64_t i, const int64_t *at,
                   const uint64_t *keys, int64_t n) {
    if (s->indices && s->is == sizeof(int64_t)) {
        int64_t *to = (int64_t *)(void *)p[2] + i;
        for (int64_t k = 0; k < n; k++) to[k] = at[k] + 1;
    } else if (s->indices) {
        for (int64_t k = 0; k < n; k++) *(int64_t *)(void *)(p[2] + (i + k) * s->is) = at[k] + 1;
    }
    if (!s->values) return;
    size_t size = gp_dtype_size((gp_dtype)s->x->dtype);
    char *o = p[3] + i * s->vs;
    if (size == 4) write_uint32_t(s, o, p[1], at, keys, n);
    else if (size == 8) write_uint64_t(s, o, p[1], at, keys, n);
    else if (size == 2) write_uint16_t(s, o, p[1], at, keys, n);
    else write_uint8_t(s, o, p[1], at, keys, n);
}

static void sort_lines(void *ctx, int64_t begin, int64_t end) {
    gp_sorting *s = ctx;
    char *p[GP_LOOP_MAX];
    for (int64_t i = begin; i < end && !s->no_memory && !gp_sort_stopped(s); i++) {
        gp_loop_at(&s->lines, i, p);
        gp_sort_line(s, p, 1);
    }
}

/* Too few lines for every thread to have one: each is shared. */
static void sort_shared(gp_sorting *s, int64_t lines, int64_t threads) {
    char *p[GP_LOOP_MAX];
    for (int64_t i = 0; i < lines && !s->no_memory && !gp_sort_stopped(s); i++) {
        gp_loop_at(&s->lines, i, p);
        gp_sort_line(s, p, threads);
    }
}

static int64_t step_of(const gp_array *a, int dim) {
    return a && a->ndim ? a->stride[dim] * (int64_t)gp_dtype_size((gp_dtype)a->dtype) : 0;
}

static bool run_sort(const gp_call *c, const gp_array *x, int dim, bool descending,
                     const gp_array *values, const gp_array *indices) {
    gp_sorting s = {
        .x = x, .values = values, .indices = indices, .dim = dim, .descending = descending};
    gp_dtype dt = (gp_dtype)s.x->dtype;
    if (s.x->numel == 0) return true;
    s.n = s.x->ndim ? s.x->dim[s.dim] : 1;
    s.xs = step_of(s.x, s.dim), s.vs = step_of(values, s.dim), s.is = step_of(indices, s.dim);
    s.key = gp_key_fn(dt);
    s.is_float = gp_is_float(dt);
    s.flip = dt != GP_bool && dt != GP_u8 ? (uint64_t)1 << (8 * gp_dtype_size(dt) - 1) : 0;
    gp_array order = gp_without_dim(s.x, s.dim), line = order;
    gp_array ix = gp_without_dim(indices ? indices : values, s.dim),
             v = gp_without_dim(values ? values : indices, s.dim);
    gp_row_major(&order);
    const gp_array *arrays[4] = {&order, &line, &ix, &v};
    gp_loop_init(&s.lines, 4, arrays);
    int64_t threads = gp_threads();
    if (s.n >= LONG && order.numel < threads) sort_shared(&s, order.numel, threads);
    else gp_parallel(order.numel, 1 + GRAIN / s.n, sort_lines, &s);
    if (s.interrupted) return gp_fail("%s: interrupted", c->op->name);
    return !s.no_memory || gp_fail("%s: out of memory", c->op->name);
}

bool gp_sort_whole(const gp_call *c, const gp_array *x, const gp_array *values) {
    return run_sort(c, x, 0, false, values, NULL);
}

static bool sort_op(const gp_call *c, const gp_array *values, const gp_array *indices) {
    return run_sort(c, gp_in(c, 0), (int)c->arg[1].i - 1, gp_given(c, 2) && c->arg[2].i, values,
                    indices);
}

bool CPU(sort)(const gp_call *c) { return sort_op(c, gp_out(c, 0), gp_out(c, 1)); }
bool CPU(msort)(const gp_call *c) { return sort_op(c, gp_out(c, 0), NULL); }
bool CPU(argsort)(const gp_call *c) { return sort_op(c, NULL, gp_out(c, 0)); }
