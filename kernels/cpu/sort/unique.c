/* unique and unique_consecutive: one of each run of equal elements, where each element went, and
 * how long the runs are. */
#include <string.h>

#include "kernels/cpu/index/mask.h"

/* x is 1-d and contiguous; inverse goes through order (positions from 1), if given. */
typedef struct runs {
    const gp_array *x, *order, *out, *inverse, *counts;
    int64_t size;
} runs;

#define DIFFER(name, type, expr)                                                                   \
    static void differ_##name(uint8_t *o, const char *p, int64_t lag, int64_t n) {                 \
        const type *x = (const type *)(const void *)p;                                             \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const type a = x[i - lag], b = x[i];                                                   \
            o[i] = expr;                                                                           \
        }                                                                                          \
    }
#define HALF(inf) !((a == b && (a & 0x7fff) <= (inf)) || ((a | b) & 0x7fff) == 0)
DIFFER(1, uint8_t, a != b)
DIFFER(2, uint16_t, a != b)
DIFFER(4, uint32_t, a != b)
DIFFER(8, uint64_t, a != b)
DIFFER(f16, uint16_t, HALF(0x7c00))
DIFFER(bf16, uint16_t, HALF(0x7f80))
DIFFER(f32, float, a != b)
DIFFER(f64, double, a != b)

gp_differ gp_differ_fn(gp_dtype dt) {
    switch (dt) {
    case GP_f64: return differ_f64;
    case GP_f32: return differ_f32;
    case GP_f16: return differ_f16;
    case GP_bf16: return differ_bf16;
    case GP_i64: return differ_8;
    case GP_i32: return differ_4;
    case GP_i16: return differ_2;
    default: return differ_1;
    }
}

/* True if the row of `width` elements at p differs from the one before it. */
static bool differ_rows(gp_differ differ, const char *p, int64_t width, int64_t size) {
    uint8_t o[GP_BLOCK];
    for (int64_t i = 0; i < width; i += GP_BLOCK) {
        int64_t n = width - i < GP_BLOCK ? width - i : GP_BLOCK;
        differ(o, p + i * size, width, n);
        if (memchr(o, 1, (size_t)n)) return true;
    }
    return false;
}

static void copy_element(char *to, const char *from, int64_t size) {
    if (size == 8) memcpy(to, from, 8);
    else if (size == 4) memcpy(to, from, 4);
    else if (size == 2) memcpy(to, from, 2);
    else *to = *from;
}

/* list_block where only the elements that begin runs are wanted. */
static bool mark_starts(const runs *r, const uint8_t *differ, int64_t from, int64_t n,
                        int64_t *run) {
    int32_t found[GP_BLOCK + 16];
    int64_t many = gp_true_at(differ, n, found);
    const char *x = r->x->data + from * r->size;
    if (many > r->out->numel - (*run + 1)) return false;
    for (int64_t i = 0; i < many; i++)
        copy_element(r->out->data + ++*run * r->size, x + found[i] * r->size, r->size);
    return true;
}

/* Elements from, from + 1 … of which `differ` says where runs begin; *run is the last run begun,
 * from 0. False: more runs than the output holds. */
static bool list_block(const runs *r, const uint8_t *differ, int64_t from, int64_t n,
                       int64_t *run) {
    int64_t *counts = r->counts ? (int64_t *)(void *)r->counts->data : NULL,
            *inverse = r->inverse ? (int64_t *)(void *)r->inverse->data : NULL;
    const int64_t *order = r->order ? (const int64_t *)(const void *)r->order->data : NULL;
    int64_t k = *run;
    if (!counts && !inverse) return mark_starts(r, differ, from, n, run);
    for (int64_t i = 0; i < n; i++) {
        if (differ[i]) {
            if (++k >= r->out->numel) return false;
            copy_element(r->out->data + k * r->size, r->x->data + (from + i) * r->size, r->size);
            if (counts) counts[k] = 0;
        }
        if (counts) counts[k]++;
        if (inverse) inverse[order ? order[from + i] - 1 : from + i] = k + 1;
    }
    *run = k;
    return true;
}

static bool unique_of(const gp_call *c, const gp_array *order, int inverse_at) {
    runs r = {.x = c->tmpa[0],
              .order = order,
              .out = gp_out(c, 0),
              .size = (int64_t)gp_dtype_size((gp_dtype)c->tmpa[0]->dtype)};
    int next = 1;
    if (gp_given(c, inverse_at) && c->arg[inverse_at].i) r.inverse = gp_out(c, next++);
    if (gp_given(c, inverse_at + 1) && c->arg[inverse_at + 1].i) r.counts = gp_out(c, next);
    gp_differ differ = gp_differ_fn((gp_dtype)r.x->dtype);
    uint8_t starts[GP_BLOCK];
    int64_t run = -1, numel = r.x->numel;
    for (int64_t i = 0; i < numel; i += GP_BLOCK) {
        int64_t n = numel - i < GP_BLOCK ? numel - i : GP_BLOCK, skip = i == 0;
        starts[0] = 1;
        differ(starts + skip, r.x->data + (i + skip) * r.size, 1, n - skip);
        if (!list_block(&r, starts, i, n, &run)) break;
    }
    return run + 1 == r.out->numel ||
           gp_fail("%s: the tensor was changed while it was used", c->op->name);
}

/* ---- slices along a dim ---- */

/* The rows of tmp[0] are slices, in order: one of each run of equal rows goes to the output, where
 * slices lie along dim d. */
static bool unique_slices(const gp_call *c, const gp_array *order, int inverse_at, int d) {
    const gp_array *rows = c->tmpa[0], *out = gp_out(c, 0);
    int64_t n = rows->dim[0], width = rows->ndim > 1 ? rows->dim[1] : 1,
            size = (int64_t)gp_dtype_size((gp_dtype)rows->dtype), *inverse = NULL, *counts = NULL,
            run = -1;
    int next = 1;
    if (gp_given(c, inverse_at) && c->arg[inverse_at].i)
        inverse = (int64_t *)(void *)gp_out(c, next++)->data;
    if (gp_given(c, inverse_at + 1) && c->arg[inverse_at + 1].i)
        counts = (int64_t *)(void *)gp_out(c, next)->data;
    const int64_t *at = order ? (const int64_t *)(const void *)order->data : NULL;
    gp_differ differ = gp_differ_fn((gp_dtype)rows->dtype);
    gp_array slice = gp_without_dim(out, d), row = slice;
    gp_shape s = {.ndim = slice.ndim};
    memcpy(s.dim, slice.dim, sizeof slice.dim);
    gp_shape_strides(&s, row.stride);
    gp_array_update(&row);
    for (int64_t i = 0; i < n; i++) {
        row.data = rows->data + i * width * size;
        if (i == 0 || differ_rows(differ, row.data, width, size)) {
            if (++run >= out->dim[d]) break;
            slice.data = out->data + run * out->stride[d] * size;
            gp_copy_array(&slice, &row);
            if (counts) counts[run] = 0;
        }
        if (counts) counts[run]++;
        if (inverse) inverse[at ? at[i] - 1 : i] = run + 1;
    }
    return run + 1 == out->dim[d] ||
           gp_fail("%s: the tensor was changed while it was used", c->op->name);
}

typedef struct bytes {
    char *to;
    const char *from;
} bytes;

static void copy_bytes(void *ctx, int64_t begin, int64_t end) {
    const bytes *b = ctx;
    memcpy(b->to + begin, b->from + begin, (size_t)(end - begin));
}

/* Writes what distinct found: the elements and, if asked for, how often each occurs. */
static bool list_distinct(const gp_call *c) {
    for (int i = 0; i < c->nout; i++) {
        const gp_array *out = gp_out(c, i);
        bytes b = {out->data, c->tmpa[i]->data};
        if (!gp_parallel_op(c, out->numel * (int64_t)gp_dtype_size((gp_dtype)out->dtype), 1 << 16,
                            copy_bytes, &b))
            return false;
    }
    return true;
}

bool CPU(unique)(const gp_call *c) {
    const gp_array *order = c->ntmp > 1 ? c->tmpa[1] : NULL;
    if (gp_offload_wanted(c, 60.0 * (double)gp_in(c, 0)->numel))
        return gp_offload_run(c, c->op->name);
    if (gp_given(c, 4)) return unique_slices(c, order, 2, (int)c->arg[4].i - 1);
    if (!gp_given(c, 2) || !c->arg[2].i) return list_distinct(c);
    return unique_of(c, order, 2);
}

bool CPU(unique_consecutive)(const gp_call *c) {
    if (gp_offload_wanted(c, 60.0 * (double)gp_in(c, 0)->numel))
        return gp_offload_run(c, c->op->name);
    if (gp_given(c, 3)) return unique_slices(c, NULL, 1, (int)c->arg[3].i - 1);
    return unique_of(c, NULL, 1);
}
