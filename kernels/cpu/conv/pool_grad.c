/* Gradients of pooling: each plane of the image is filled from the gradients of its windows, in
 * compute type, by one thread. */
#include <string.h>

#include "kernels/cpu/conv/pool.h"
#include "kernels/cpu/runtime/scratch.h"

typedef struct pool_grad_job {
    gp_pool p;
    gp_plane_strides grad, at; /* at: indices of the largest elements */
    const gp_array *g, *indices, *out;
    gp_ctype ct;
    int64_t size;
    _Atomic int64_t bad; /* an index outside the plane, plus 1 */
    _Atomic bool outside, no_memory;
} pool_grad_job;

/* ---- one row of incoming gradients ---- */

#define TEMPLATE "kernels/cpu/conv/pool_grad.inc"
#include "kernels/common/floats.inc"

/* Whether an index, outside the plane, is that of output o in row y because its window is empty, as
 * dilation and ceil_mode may make it. */
static bool of_none(const gp_pool *p, int64_t index, int64_t y, int64_t o) {
    gp_window rows = gp_pool_window(p, 1, y), cols = gp_pool_window(p, 2, o);
    return index == 0 && (rows.first >= rows.last || cols.first >= cols.last);
}

/* Adds row y of g at the indices that forward returned, which come from the user: those outside the
 * plane are an error. An empty window's gradient goes nowhere. */
static void by_indices(pool_grad_job *r, int64_t plane, int64_t y, char *g, int64_t *at, void *to) {
    int64_t n = r->p.out[2], size = r->p.in[1] * r->p.in[2];
    gp_load_fn((gp_dtype)r->indices->dtype,
               GP_CT_i64)(at, gp_plane_at(&r->at, plane) + y * r->at.row, r->at.col, n);
    for (int64_t o = 0; o < n; o++) {
        const char *from = g + o * r->size;
        o += r->ct == GP_CT_f32 ? scatter_f32((const float *)from, at + o, n - o, to, size)
                                : scatter_f64((const double *)from, at + o, n - o, to, size);
        if (o == n || of_none(&r->p, at[o], y, o)) continue;
        r->bad = at[o];
        r->outside = true;
        return;
    }
}

/* Distributes row y of g among the elements of its windows. */
static void by_windows(const pool_grad_job *r, int64_t y, void *g, void *by, char *to) {
    gp_window w = gp_pool_window(&r->p, 1, y);
    gp_pool_divisors(&r->p, w, r->ct, by);
    if (r->ct == GP_CT_f32) divide_f32(g, by, r->p.out[2]);
    else divide_f64(g, by, r->p.out[2]);
    for (int64_t i = w.first; i < w.last; i++) {
        char *row = to + i * r->p.in[2] * r->size;
        if (r->ct == GP_CT_f32) add_windows_f32(&r->p, g, (float *)row);
        else add_windows_f64(&r->p, g, (double *)row);
    }
}

/* ---- planes ---- */

/* Sums in compute type, in the order of g's rows: one thread writes a plane. */
static void one_plane(pool_grad_job *r, int64_t plane, char *scratch) {
    const gp_pool *p = &r->p;
    int64_t n = p->in[1] * p->in[2], row = gp_whole_lines(p->out[2] * 8),
            osize = (int64_t)gp_dtype_size((gp_dtype)r->out->dtype);
    char *out = r->out->data + plane * n * osize;
    bool same = r->out->dtype == gp_ctype_dtype[r->ct];
    char *to = same ? out : scratch + 2 * row;
    memset(to, 0, (size_t)(n * r->size));
    for (int64_t y = 0; y < p->out[1]; y++) {
        gp_load_fn((gp_dtype)r->g->dtype, r->ct)(
            scratch, gp_plane_at(&r->grad, plane) + y * r->grad.row, r->grad.col, p->out[2]);
        if (r->indices) by_indices(r, plane, y, scratch, (int64_t *)(scratch + row), to);
        else by_windows(r, y, scratch, scratch + row, to);
    }
    if (!same) gp_store_fn(r->ct, (gp_dtype)r->out->dtype)(out, osize, to, n);
}

/* Planes [begin, end); all stop at a bad index. */
static void planes(void *ctx, int64_t begin, int64_t end) {
    pool_grad_job *r = ctx;
    bool same = r->out->dtype == gp_ctype_dtype[r->ct];
    int64_t plane = same ? 0 : r->p.in[1] * r->p.in[2] * r->size;
    char *scratch =
        gp_scratch(GP_SCRATCH_PART, (size_t)(2 * gp_whole_lines(r->p.out[2] * 8) + plane));
    if (!scratch) r->no_memory = true;
    else
        for (int64_t i = begin; i < end && !r->outside; i++) one_plane(r, i, scratch);
}

/* An empty g gives a gradient of zeros. */
static bool spread(const gp_call *c, pool_grad_job *r) {
    const gp_pool *p = &r->p;
    r->out = gp_out(c, 0);
    if (r->out->numel == 0) return true;
    if (r->g->numel == 0) {
        memset(r->out->data, 0, (size_t)r->out->numel * gp_dtype_size((gp_dtype)r->out->dtype));
        return true;
    }
    r->grad = gp_pool_plane_strides(r->g, p);
    if (r->indices) r->at = gp_pool_plane_strides(r->indices, p);
    r->ct = gp_compute_type((gp_dtype)r->g->dtype);
    r->size = gp_ctype_size[r->ct];
    if (!gp_parallel_op(c, p->planes, 1 + GP_GRAIN / 2 / (1 + p->in[1] * p->in[2]), planes, r))
        return false;
    if (r->outside)
        return gp_fail("%s: index %lld is outside the image's plane of %lld elements", c->op->name,
                       (long long)r->bad, (long long)p->in[1] * p->in[2]);
    return !r->no_memory || gp_fail("%s: out of memory", c->op->name);
}

/* ---- calls ---- */

static bool adaptive(const gp_call *c, pool_grad_job *r, const gp_shape *size, int rank) {
    const gp_array *g = r->g;
    return gp_pool_read_adaptive(c, size, rank, g->dim + g->ndim - rank, rank, &r->p) &&
           spread(c, r);
}

/* The indices suffice; windows that are given tell which of them are empty. */
static bool largest(const gp_call *c, int rank) {
    pool_grad_job r = {.g = gp_in(c, 0), .indices = gp_in(c, 1)};
    gp_shape size = gp_ints_shape(c, 2);
    if (gp_out(c, 0)->numel == 0) return true;
    if (gp_given(c, 3)) return gp_pool_read_max(c, &size, rank, 3, &r.p) && spread(c, &r);
    return adaptive(c, &r, &size, rank);
}
bool CPU(max_pool1d_grad)(const gp_call *c) { return largest(c, 1); }
bool CPU(max_pool2d_grad)(const gp_call *c) { return largest(c, 2); }

static bool average(const gp_call *c, int rank) {
    pool_grad_job r = {.g = gp_in(c, 0)};
    gp_shape size = gp_ints_shape(c, 1);
    return gp_pool_read_avg(c, &size, rank, 2, &r.p) && spread(c, &r);
}
bool CPU(avg_pool1d_grad)(const gp_call *c) { return average(c, 1); }
bool CPU(avg_pool2d_grad)(const gp_call *c) { return average(c, 2); }

static bool adaptive_average(const gp_call *c, int rank) {
    pool_grad_job r = {.g = gp_in(c, 0)};
    gp_shape size = gp_ints_shape(c, 1);
    return adaptive(c, &r, &size, rank);
}
bool CPU(adaptive_avg_pool1d_grad)(const gp_call *c) { return adaptive_average(c, 1); }
bool CPU(adaptive_avg_pool2d_grad)(const gp_call *c) { return adaptive_average(c, 2); }
