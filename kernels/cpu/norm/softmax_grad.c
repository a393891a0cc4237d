/* Gradients of softmax and log_softmax along any dim, from their results. */
#include "kernels/cpu/elementwise/math.h"
#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/runtime/kernel.h"

enum { TILE = 64, GRAIN = 32768 };

typedef struct softmax_grad_job {
    const gp_array *g, *y, *out; /* contiguous: outer x n x inner */
    int64_t n, inner, tiles;     /* tiles of at most TILE columns that inner is divided into */
    gp_load g_load, y_load;
    gp_store store;
    bool logs;
    _Atomic bool no_memory;
} softmax_grad_job;

/* n rows of w columns, in f64: y * (g - sum g y), or g - exp(y) * sum g, into g. */
static void tile(double *g, const double *y, int64_t n, int64_t w, bool logs) {
    double s[TILE] = {0};
    for (int64_t i = 0; i < n; i++) {
        const double *gr = g + i * w, *yr = y + i * w;
        for (int64_t j = 0; j < w; j++) s[j] += logs ? gr[j] : gr[j] * yr[j];
    }
    for (int64_t i = 0; i < n; i++) {
        double *gr = g + i * w;
        const double *yr = y + i * w;
        if (logs) {
            _Pragma("omp simd") for (int64_t j = 0; j < w; j++) gr[j] -= exp(yr[j]) * s[j];
        } else {
            for (int64_t j = 0; j < w; j++) gr[j] = yr[j] * (gr[j] - s[j]);
        }
    }
}

/* The same for one column. */
static void row(double *g, const double *y, int64_t n, bool logs) {
    double s = 0;
    if (logs) {
        _Pragma("omp simd reduction(+:s)") for (int64_t i = 0; i < n; i++) s += g[i];
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) g[i] -= exp(y[i]) * s;
    } else {
        _Pragma("omp simd reduction(+:s)") for (int64_t i = 0; i < n; i++) s += g[i] * y[i];
        for (int64_t i = 0; i < n; i++) g[i] = y[i] * (g[i] - s);
    }
}

/* Tiles [begin, end). The thread's scratch holds g and y, n x w each, in f64. */
static void run_part(void *ctx, int64_t begin, int64_t end) {
    softmax_grad_job *r = ctx;
    int64_t most = r->inner < TILE ? r->inner : TILE, gs = gp_dtype_sizes[r->g->dtype],
            ys = gp_dtype_sizes[r->y->dtype], os = gp_dtype_sizes[r->out->dtype];
    double *g = gp_scratch(GP_SCRATCH_PART, (size_t)(2 * r->n * most) * sizeof *g);
    if (!g) {
        r->no_memory = true;
        return;
    }
    for (int64_t u = begin; u < end; u++) {
        int64_t from = u % r->tiles * TILE, w = r->inner - from < TILE ? r->inner - from : TILE,
                at = u / r->tiles * r->n * r->inner + from;
        double *y = g + r->n * w;
        for (int64_t i = 0; i < (w == r->inner ? 1 : r->n); i++) {
            int64_t n = w == r->inner ? r->n * w : w, p = at + i * r->inner;
            r->g_load(g + i * w, r->g->data + p * gs, gs, n);
            r->y_load(y + i * w, r->y->data + p * ys, ys, n);
        }
        if (w == 1) row(g, y, r->n, r->logs);
        else tile(g, y, r->n, w, r->logs);
        for (int64_t i = 0; i < (w == r->inner ? 1 : r->n); i++)
            r->store(r->out->data + (at + i * r->inner) * os, os, g + i * w,
                     w == r->inner ? r->n * w : w);
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
    r.tiles = (r.inner + TILE - 1) / TILE;
    r.logs = logs;
    r.g_load = gp_load_fn((gp_dtype)r.g->dtype, GP_CT_f64);
    r.y_load = gp_load_fn((gp_dtype)r.y->dtype, GP_CT_f64);
    r.store = gp_store_fn(GP_CT_f64, (gp_dtype)r.out->dtype);
    int64_t outer = r.out->numel / (r.n * r.inner);
    return gp_parallel_op(c, outer * r.tiles, 1 + GRAIN / (r.n * (r.inner < TILE ? r.inner : TILE)),
                          run_part, &r) &&
           (!r.no_memory || gp_fail("%s: out of memory", c->op->name));
}

bool CPU(softmax_grad)(const gp_call *c) { return softmax_gradient(c, false); }
bool CPU(log_softmax_grad)(const gp_call *c) { return softmax_gradient(c, true); }
