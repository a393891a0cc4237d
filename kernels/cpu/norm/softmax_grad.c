/* Gradients of softmax and log_softmax along any dim, from their results. Joined rows are worth 3.0
 * along dim 1 of 100000x4, f32 in place 1.4 over dim 2 of 10000x1000 (one thread of an Emerald
 * Rapids with AVX-512). */
#include "kernels/cpu/elementwise/math.h"
#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/runtime/kernel.h"

enum { TILE = 64, LANES = 16, WIDEST = LANES * LANES };

typedef struct softmax_grad_job {
    const gp_array *g, *y, *out; /* contiguous: outer x n x inner */
    int64_t n, inner;
    int64_t width, tiles; /* inner is divided into tiles of at most width columns */
    gp_load g_load, y_load;
    gp_store store;
    bool logs, direct; /* direct: all are f32 */
    _Atomic bool no_memory;
} softmax_grad_job;

#define TEMPLATE "kernels/cpu/norm/softmax_grad.inc"
#include "kernels/common/floats.inc"

/* n x w elements, converted to f64: buf holds as many of g, then of y. */
static void converted(const softmax_grad_job *r, int64_t at, int64_t w, double *buf) {
    int64_t gs = gp_dtype_sizes[r->g->dtype], ys = gp_dtype_sizes[r->y->dtype],
            os = gp_dtype_sizes[r->out->dtype], whole = w == r->inner, rows = whole ? 1 : r->n,
            n = whole ? r->n * w : w;
    double *y = buf + r->n * w;
    for (int64_t i = 0; i < rows; i++) {
        int64_t p = at + i * r->inner;
        r->g_load(buf + i * w, r->g->data + p * gs, gs, n);
        r->y_load(y + i * w, r->y->data + p * ys, ys, n);
    }
    if (w == 1) row_f64(buf, y, buf, r->n, r->logs);
    else columns_f64(buf, y, buf, r->n, w, w, r->logs);
    for (int64_t i = 0; i < rows; i++)
        r->store(r->out->data + (at + i * r->inner) * os, os, buf + i * w, n);
}

/* n x w elements of f32 where they lie. */
static void direct(const softmax_grad_job *r, int64_t at, int64_t w) {
    const float *g = (const float *)(const void *)r->g->data + at,
                *y = (const float *)(const void *)r->y->data + at;
    float *o = (float *)(void *)r->out->data + at;
    if (r->inner == 1) row_f32(g, y, o, r->n, r->logs);
    else columns_f32(g, y, o, r->n, w, r->inner, r->logs);
}

/* Tiles [begin, end). */
static void run_part(void *ctx, int64_t begin, int64_t end) {
    softmax_grad_job *r = ctx;
    int64_t most = r->inner < r->width ? r->inner : r->width;
    double *buf = NULL;
    if (!r->direct && !(buf = gp_scratch(GP_SCRATCH_PART, (size_t)(2 * r->n * most) * sizeof *buf)))
        r->no_memory = true;
    for (int64_t u = begin; u < end && !r->no_memory; u++) {
        int64_t from = u % r->tiles * r->width, left = r->inner - from,
                w = left < most ? left : most, at = u / r->tiles * r->n * r->inner + from;
        if (r->direct) direct(r, at, w);
        else converted(r, at, w, buf);
    }
}

/* Arguments: g, y, dim; contiguous copies of y and g in c->tmp. */
static bool softmax_gradient(const gp_call *c, bool logs) {
    softmax_grad_job r = {
        .g = c->tmpa[1], .y = c->tmpa[0], .out = gp_out(c, 0), .n = 1, .inner = 1};
    int d = (int)c->arg[2].i;
    if (r.out->numel == 0) return true;
    if (r.out->ndim) r.n = r.out->dim[d];
    for (int k = d + 1; k < r.out->ndim; k++) r.inner *= r.out->dim[k];
    r.logs = logs;
    r.direct = r.g->dtype == GP_f32 && r.y->dtype == GP_f32 && r.out->dtype == GP_f32;
    r.g_load = gp_load_fn((gp_dtype)r.g->dtype, GP_CT_f64);
    r.y_load = gp_load_fn((gp_dtype)r.y->dtype, GP_CT_f64);
    r.store = gp_store_fn(GP_CT_f64, (gp_dtype)r.out->dtype);
    int64_t outer = r.out->numel / (r.n * r.inner);
    r.width = r.direct && r.inner >= 4 * WIDEST * gp_threads() ? WIDEST : TILE;
    r.tiles = (r.inner + r.width - 1) / r.width;
    return gp_parallel_op(c, outer * r.tiles,
                          1 + GP_GRAIN / (r.n * (r.inner < r.width ? r.inner : r.width)), run_part,
                          &r) &&
           (!r.no_memory || gp_fail("%s: out of memory", c->op->name));
}

bool CPU(softmax_grad)(const gp_call *c) { return softmax_gradient(c, false); }
bool CPU(log_softmax_grad)(const gp_call *c) { return softmax_gradient(c, true); }
