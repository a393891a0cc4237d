/* Ops that join or move elements by copying: cat, stack, flip, diag_embed, tril, triu. */
#include <string.h>

#include "kernels/cpu/runtime/kernel.h"
#include "tensor/ops/layout/layout.h"

bool CPU(cat)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0);
    int d = (int)c->arg[1].i - 1;
    int64_t at = 0;
    for (int i = 0; i < c->arg[0].n; i++) {
        const gp_array *x = c->arg[0].arrays[i];
        if (x->ndim != out->ndim || x->numel == 0) continue;
        gp_array part = gp_part_of(out, d, at, x->dim[d]);
        if (!gp_copy_op(c, &part, x)) return false;
        at += x->dim[d];
    }
    return true;
}

bool CPU(stack)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0);
    int d = (int)c->arg[1].i - 1;
    for (int i = 0; i < c->arg[0].n; i++) {
        gp_array part = gp_slice_of(out, d, i);
        if (!gp_copy_op(c, &part, c->arg[0].arrays[i])) return false;
    }
    return true;
}

bool CPU(flip)(const gp_call *c) {
    if (gp_in(c, 0)->numel == 0) return true;
    gp_array x = gp_reversed(gp_in(c, 0), (uint64_t)c->arg[1].i);
    return gp_copy_op(c, gp_out(c, 0), &x);
}

/* Arguments: x, offset, and two dims of the result, counted from 1. */
bool CPU(diag_embed)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0);
    if (out->numel == 0) return true;
    gp_array line = gp_diagonals(out, c->arg[1].i, (int)c->arg[2].i - 1, (int)c->arg[3].i - 1);
    memset(out->data, 0, (size_t)out->numel * gp_dtype_size((gp_dtype)out->dtype));
    gp_copy_array(&line, gp_in(c, 0));
    return true;
}

/* ---- tril, triu ---- */

typedef struct triangle {
    const gp_array *out, *x;
    int64_t diagonal;
    bool upper;
    size_t size;
} triangle;

static void zero_row(char *p, int64_t step, int64_t n, size_t size) {
    if (step == (int64_t)size) memset(p, 0, (size_t)n * size);
    else
        for (int64_t i = 0; i < n; i++) memset(p + i * step, 0, size);
}

static char *row_at(const gp_array *a, int64_t row, size_t size) {
    char *p = a->data;
    for (int d = a->ndim - 2; d >= 0; d--)
        p += row % a->dim[d] * a->stride[d] * (int64_t)size, row /= a->dim[d];
    return p;
}

/* Rows are numbered through all matrices. Row r keeps columns from r + diagonal on (upper), or up
 * to it (lower). */
static void triangle_rows(void *ctx, int64_t begin, int64_t end) {
    const triangle *t = ctx;
    int last = t->out->ndim - 1;
    int64_t rows = t->out->dim[last - 1], cols = t->out->dim[last];
    int64_t os = t->out->stride[last] * (int64_t)t->size,
            xs = t->x->stride[last] * (int64_t)t->size;
    for (int64_t r = begin; r < end; r++) {
        char *o = row_at(t->out, r, t->size), *x = row_at(t->x, r, t->size);
        int64_t edge = r % rows + t->diagonal + !t->upper; /* columns before it, from 0 */
        edge = edge < 0 ? 0 : edge > cols ? cols : edge;
        int64_t from = t->upper ? edge : 0, to = t->upper ? cols : edge;
        if (o != x) gp_move_row(o + from * os, os, x + from * xs, xs, to - from, t->size);
        if (t->upper) zero_row(o, os, edge, t->size);
        else zero_row(o + edge * os, os, cols - edge, t->size);
    }
}

static bool keep_triangle(const gp_call *c, bool upper) {
    const gp_array *out = gp_out(c, 0);
    int64_t limit = (int64_t)1 << 40, diagonal = gp_given(c, 1) ? c->arg[1].i : 0;
    triangle t = {
        .out = out, .x = gp_in(c, 0), .upper = upper, .size = gp_dtype_size((gp_dtype)out->dtype)};
    t.diagonal = diagonal > limit ? limit : diagonal < -limit ? -limit : diagonal;
    if (out->numel == 0) return true;
    int64_t cols = out->dim[out->ndim - 1];
    return gp_parallel_op(c, out->numel / cols, 1 + GP_GRAIN / cols, triangle_rows, &t);
}

bool CPU(tril)(const gp_call *c) { return keep_triangle(c, false); }
bool CPU(triu)(const gp_call *c) { return keep_triangle(c, true); }
