/* where and masked_fill: each element from one of two operands, by a mask. */
#include <string.h>

#include "kernels/cpu/runtime/kernel.h"

/* An operand in the output's dtype, or converted to it a block at a time. */
typedef struct source {
    gp_load load; /* NULL: no conversion */
    gp_store store;
    int64_t step; /* bytes between elements of a row */
} source;

typedef struct choice {
    gp_nd_loop loop; /* out, mask, a, b */
    source a, b;
    size_t size;
} choice;

/* Elements i … n - 1. */
#define PICK(T, os, ms, as, bs)                                                                    \
    _Pragma("omp simd") for (int64_t k = i; k < n; k++) * (T *)(o + k * (os)) =                    \
        m[k * (ms)] ? *(const T *)(a + k * (as)) : *(const T *)(b + k * (bs));

#define T uint8_t
#include "kernels/cpu/elementwise/where.inc"
#define T uint16_t
#include "kernels/cpu/elementwise/where.inc"
#define T uint32_t
#include "kernels/cpu/elementwise/where.inc"
#define T uint64_t
#include "kernels/cpu/elementwise/where.inc"

static source source_of(const gp_array *x, gp_dtype to, int64_t step) {
    source s = {.step = step};
    if (x->dtype == to) return s;
    gp_ctype ct = gp_compute_type(to);
    s.load = gp_load_fn((gp_dtype)x->dtype, ct);
    s.store = gp_store_fn(ct, to);
    return s;
}

/* n elements at p in the output's dtype: p itself, or buf; *step is their distance. */
static const char *block(const source *s, const char *p, int64_t n, size_t size, char *buf,
                         int64_t *step) {
    *step = s->step;
    if (!s->load) return p;
    char tmp[GP_BLOCK * 8];
    int64_t m = s->step ? n : 1;
    s->load(tmp, p, s->step, m);
    s->store(buf, (int64_t)size, tmp, m);
    *step = s->step ? (int64_t)size : 0;
    return buf;
}

static void choose_block(const choice *k, char *const *p, int64_t i, int64_t n) {
    char abuf[GP_BLOCK * 8], bbuf[GP_BLOCK * 8];
    int last = k->loop.ndim - 1;
    int64_t os = k->loop.stride[0][last], ms = k->loop.stride[1][last], as, bs;
    const char *a = block(&k->a, p[2] + i * k->a.step, n, k->size, abuf, &as);
    const char *b = block(&k->b, p[3] + i * k->b.step, n, k->size, bbuf, &bs);
    char *o = p[0] + i * os, *m = p[1] + i * ms;
    if (k->size == 4) choose_uint32_t(o, os, m, ms, a, as, b, bs, n);
    else if (k->size == 8) choose_uint64_t(o, os, m, ms, a, as, b, bs, n);
    else if (k->size == 2) choose_uint16_t(o, os, m, ms, a, as, b, bs, n);
    else choose_uint8_t(o, os, m, ms, a, as, b, bs, n);
}

/* Rows [begin, end) of the result. */
static void choose_rows(void *ctx, int64_t begin, int64_t end) {
    const choice *k = ctx;
    int64_t width = k->loop.dim[k->loop.ndim - 1];
    gp_row_iter r;
    gp_row_iter_begin(&r, &k->loop, begin);
    for (int64_t at = begin; at < end; gp_row_iter_next(&r, &k->loop)) {
        int64_t first = at % width, stop = width - first < end - at ? width : first + end - at;
        int64_t most = k->a.load || k->b.load ? GP_BLOCK : stop - first;
        for (int64_t i = first; i < stop; i += most)
            choose_block(k, r.p, i, stop - i < most ? stop - i : most);
        at += stop - first;
    }
}

static bool choose(const gp_call *c, const gp_array *mask, const gp_value *a, const gp_value *b) {
    const gp_array *out = gp_out(c, 0);
    gp_array number[2];
    uint64_t bits[2];
    const gp_value *v[2] = {a, b};
    const gp_array *arrays[4] = {out, mask};
    gp_dtype dt = (gp_dtype)out->dtype;
    for (int i = 0; i < 2; i++) {
        if (v[i]->kind == GP_NUMBER) number[i] = gp_number_array(v[i], dt, &bits[i]);
        arrays[2 + i] = v[i]->kind == GP_NUMBER ? &number[i] : v[i]->a;
    }
    if (out->numel == 0) return true;
    choice k = {.size = gp_dtype_size(dt)};
    gp_nd_loop_init(&k.loop, 4, arrays);
    int last = k.loop.ndim - 1;
    k.a = source_of(arrays[2], dt, k.loop.stride[2][last]);
    k.b = source_of(arrays[3], dt, k.loop.stride[3][last]);
    return gp_parallel_op(c, out->numel, GP_GRAIN, choose_rows, &k);
}

bool CPU(where)(const gp_call *c) { return choose(c, gp_in(c, 0), &c->arg[1], &c->arg[2]); }
bool CPU(masked_fill)(const gp_call *c) { return choose(c, gp_in(c, 1), &c->arg[2], &c->arg[0]); }
