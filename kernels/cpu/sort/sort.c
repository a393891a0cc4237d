/* sort, argsort, msort: lines along a dim, each by its keys, whose unsigned order is the wanted one
 * (radix_sort.c). All threads share a long line; short ones are distributed among them. Counting
 * ranks is worth 2.6 at 100000 lines of 10 and 1.8 at 10000 of 64 (one thread of an Emerald Rapids
 * with AVX-512). */
#include "kernels/cpu/sort/sort.h"

enum { LONG = 1 << 16, SHORT = 64 };

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

typedef int64_t four __attribute__((vector_size(32)));
typedef union numbers {
    uint64_t key[SHORT];
    int64_t rank[SHORT];
    four by[SHORT / 4];
} numbers;

/* Up to SHORT elements: each one's rank is how many come before it, counted without a branch. Keys
 * are compared as signed numbers, with the sign bit flipped: vectors have no other order. What lies
 * after the last element in its block is compared, too, and ignored. */
static void sort_short(const gp_sorting *s, char *const *p) {
    const int n = (int)s->n, blocks = (n + 3) / 4;
    const four lane = {0, 1, 2, 3}, zero = {0};
    numbers x, before;
    uint64_t sorted[SHORT];
    int64_t at[SHORT];
    x.by[blocks - 1] = zero;
    gp_sort_keys(s, p[1], 0, n, x.key);
    for (int b = 0; b < blocks; b++) x.by[b] ^= INT64_MIN, before.by[b] = zero + 4 * b;
    for (int j = 0; j < n; j++) {
        const int own = j / 4;
        const four v = zero + x.rank[j];
        for (int b = 0; b < own; b++) before.by[b] -= x.by[b] > v;
        before.by[own] -= (x.by[own] > v) | ((x.by[own] == v) & (lane > j % 4));
        for (int b = own + 1; b < blocks; b++) before.by[b] += v > x.by[b];
    }
    for (int i = 0; i < n; i++) {
        sorted[before.rank[i]] = x.key[i] ^ (uint64_t)INT64_MIN;
        at[before.rank[i]] = i;
    }
    gp_sort_write(s, p, 0, at, sorted, n);
}

static void sort_lines(void *ctx, int64_t begin, int64_t end) {
    gp_sorting *s = ctx;
    const int last = s->lines.ndim - 1;
    const int64_t width = s->lines.dim[last];
    gp_row_iter r;
    gp_row_iter_begin(&r, &s->lines, begin);
    for (int64_t at = begin; at < end; gp_row_iter_next(&r, &s->lines)) {
        int64_t first = at % width, stop = width - first < end - at ? width : first + end - at;
        for (int64_t i = first; i < stop; i++) {
            char *p[4];
            if (s->no_memory || gp_sort_stopped(s)) return;
            for (int k = 0; k < 4; k++) p[k] = r.p[k] + i * s->lines.stride[k][last];
            if (s->n <= SHORT) sort_short(s, p);
            else gp_sort_line(s, p, 1);
        }
        at += stop - first;
    }
}

/* Too few lines for every thread to have one: each is shared. */
static void sort_shared(gp_sorting *s, int64_t lines, int64_t threads) {
    char *p[GP_LOOP_MAX];
    for (int64_t i = 0; i < lines && !s->no_memory && !gp_sort_stopped(s); i++) {
        gp_nd_loop_at(&s->lines, i, p);
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
    gp_nd_loop_init(&s.lines, 4, arrays);
    int64_t threads = gp_threads();
    if (s.n >= LONG && order.numel < threads) sort_shared(&s, order.numel, threads);
    else gp_parallel(order.numel, 1 + GP_GRAIN / 4 / s.n, sort_lines, &s);
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
