/* interpolate and its gradient. Each dim has a table of the one or two inputs of each output, with
 * their weights; an output row blends the rows that it lies between, then their columns. */
#include <string.h>

#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/runtime/kernel.h"
#include "tensor/ops/conv/conv.h"

/* Output i of a dim is w0 times input i0 plus w1 times input i1; nearest: input i0. */
typedef struct taps {
    int32_t i0, i1;
    double w0, w1;
} taps;

typedef struct resize_job {
    gp_resize s;
    const gp_array *x, *out; /* out is dense */
    taps *table[GP_SPATIAL];
    gp_ctype ct;
    int64_t size;
    _Atomic bool no_memory;
} resize_job;

/* ---- tables ---- */

/* Positions are computed in the compute type, as PyTorch does: rounding decides which input is
 * nearest. */
static taps taps_of(const gp_resize *s, int d, int64_t o, bool single) {
    double scale = single ? (float)s->scale[d] : s->scale[d], at = (double)o;
    bool middle = s->linear ? !s->align : s->exact;
    if (single)
        at = middle ? ((float)o + 0.5f) * (float)scale - (s->linear ? 0.5f : 0)
                    : (float)o * (float)scale;
    else at = middle ? (at + 0.5) * scale - (s->linear ? 0.5 : 0) : at * scale;
    if (at < 0) at = 0;
    int64_t last = s->in[d] - 1, i0 = at < (double)last ? (int64_t)at : last;
    double w1 = at - (double)i0;
    if (!s->linear) return (taps){(int32_t)i0, (int32_t)i0, 1, 0};
    if (w1 > 1) w1 = 1;
    return (taps){(int32_t)i0, (int32_t)(i0 < last ? i0 + 1 : i0), 1 - w1, w1};
}

static bool set_tables(const gp_call *c, resize_job *r) {
    const int64_t *n = r->s.out;
    taps *p = gp_scratch(GP_SCRATCH_CALL, (size_t)(n[0] + n[1] + n[2]) * sizeof *p);
    if (!p) return gp_fail("%s: out of memory", c->op->name);
    for (int d = 0; d < GP_SPATIAL; d++) {
        r->table[d] = p;
        for (int64_t o = 0; o < n[d]; o++) *p++ = taps_of(&r->s, d, o, r->ct == GP_CT_f32);
    }
    return true;
}

/* Writes the input rows (0 … in[0] in[1] - 1) that output row z, y blends, and their weights;
 * returns their number. */
static int rows_of(const resize_job *r, int64_t z, int64_t y, int64_t row[4], double w[4]) {
    const taps *pz = &r->table[0][z], *py = &r->table[1][y];
    int n = 0;
    for (int i = 0; i < 4; i++) {
        double weight = (i & 2 ? pz->w1 : pz->w0) * (i & 1 ? py->w1 : py->w0);
        if (weight == 0) continue;
        row[n] = (i & 2 ? pz->i1 : pz->i0) * r->s.in[1] + (i & 1 ? py->i1 : py->i0);
        w[n++] = weight;
    }
    return n;
}

/* ---- rows ---- */

#define TEMPLATE "kernels/cpu/conv/interpolate.inc"
#include "kernels/common/floats.inc"

static void add_row(const resize_job *r, void *to, const void *row, double w, int64_t n) {
    if (r->ct == GP_CT_f32) add_f32(to, row, w, n);
    else add_f64(to, row, w, n);
}

/* The address of row (of depth x height) of plane in a: images x channels x up to 3 dims. */
static const char *row_at(const resize_job *r, const gp_array *a, int64_t plane, int64_t z,
                          int64_t y) {
    int n = a->ndim;
    int64_t at = plane / a->dim[1] * a->stride[0] + plane % a->dim[1] * a->stride[1];
    if (r->s.rank > 1) at += y * a->stride[n - 2];
    if (r->s.rank > 2) at += z * a->stride[n - 3];
    return a->data + at * (int64_t)gp_dtype_size((gp_dtype)a->dtype);
}

static void load_row(const resize_job *r, void *to, const gp_array *a, int64_t plane, int64_t z,
                     int64_t y) {
    int d = a->ndim - 1;
    gp_load_fn((gp_dtype)a->dtype, r->ct)(to, row_at(r, a, plane, z, y),
                                          a->stride[d] * (int64_t)gp_dtype_size((gp_dtype)a->dtype),
                                          a->dim[d]);
}

/* ---- forward ---- */

static void one_row(const resize_job *r, int64_t i, char *scratch) {
    const int64_t *in = r->s.in, *out = r->s.out;
    int64_t y = i % out[1], z = i / out[1] % out[0], plane = i / out[1] / out[0], row[4],
            osize = (int64_t)gp_dtype_size((gp_dtype)r->out->dtype),
            width = gp_whole_lines(in[2] * r->size);
    double w[4];
    char *one = scratch, *blend = scratch + width, *result = scratch + 2 * width;
    int n = rows_of(r, z, y, row, w);
    if (n > 1) memset(blend, 0, (size_t)(in[2] * r->size));
    for (int k = 0; k < n; k++) {
        load_row(r, one, r->x, plane, row[k] / in[1], row[k] % in[1]);
        if (n > 1) add_row(r, blend, one, w[k], in[2]);
    }
    if (r->ct == GP_CT_f32) columns_f32((float *)result, (float *)(n > 1 ? blend : one), r);
    else columns_f64((double *)result, (double *)(n > 1 ? blend : one), r);
    gp_store_fn(r->ct, (gp_dtype)r->out->dtype)(r->out->data + i * out[2] * osize, osize, result,
                                                out[2]);
}

/* Output rows [begin, end). */
static void rows(void *ctx, int64_t begin, int64_t end) {
    resize_job *r = ctx;
    char *scratch = gp_scratch(GP_SCRATCH_PART, (size_t)(2 * gp_whole_lines(r->s.in[2] * r->size) +
                                                         r->s.out[2] * r->size));
    if (!scratch) r->no_memory = true;
    else
        for (int64_t i = begin; i < end; i++) one_row(r, i, scratch);
}

/* Bytes are computed in f32, which represents them. */
static void set_compute(resize_job *r) {
    r->ct = r->x->dtype == GP_f64 ? GP_CT_f64 : GP_CT_f32;
    r->size = gp_ctype_size[r->ct];
}

bool CPU(interpolate)(const gp_call *c) {
    resize_job r = {.x = gp_in(c, 0), .out = gp_out(c, 0)};
    gp_shape x = gp_array_shape(r.x);
    if (r.out->numel == 0) return true;
    set_compute(&r);
    if (!gp_resize_read(c, &x, NULL, &r.s) || !set_tables(c, &r)) return false;
    int64_t n = r.s.planes * r.s.out[0] * r.s.out[1];
    return gp_parallel_op(c, n, 1 + GP_GRAIN / 2 / (r.s.in[2] + r.s.out[2]), rows, &r) &&
           (!r.no_memory || gp_fail("%s: out of memory", c->op->name));
}

/* ---- backward: x is the incoming gradient, out the image's ---- */

static void one_plane(const resize_job *r, int64_t plane, char *scratch) {
    const int64_t *in = r->s.in, *out = r->s.out;
    int64_t n = in[0] * in[1] * in[2], osize = (int64_t)gp_dtype_size((gp_dtype)r->out->dtype),
            row[4], width = gp_whole_lines(in[2] * r->size);
    double w[4];
    char *line = scratch, *g = scratch + width, *to = g + gp_whole_lines(out[2] * r->size);
    memset(to, 0, (size_t)(n * r->size));
    for (int64_t z = 0; z < out[0]; z++)
        for (int64_t y = 0; y < out[1]; y++) {
            load_row(r, g, r->x, plane, z, y);
            memset(line, 0, (size_t)(in[2] * r->size));
            if (r->ct == GP_CT_f32) columns_grad_f32((float *)line, (float *)g, r);
            else columns_grad_f64((double *)line, (double *)g, r);
            int rows = rows_of(r, z, y, row, w);
            for (int k = 0; k < rows; k++)
                add_row(r, to + row[k] * in[2] * r->size, line, w[k], in[2]);
        }
    gp_store_fn(r->ct, (gp_dtype)r->out->dtype)(r->out->data + plane * n * osize, osize, to, n);
}

/* Planes [begin, end) of the gradient: several rows of the output may write one row of a plane. */
static void planes(void *ctx, int64_t begin, int64_t end) {
    resize_job *r = ctx;
    const int64_t *in = r->s.in;
    int64_t plane = in[0] * in[1] * in[2] * r->size;
    char *scratch = gp_scratch(GP_SCRATCH_PART, (size_t)(gp_whole_lines(in[2] * r->size) + plane +
                                                         gp_whole_lines(r->s.out[2] * r->size)));
    if (!scratch) r->no_memory = true;
    else
        for (int64_t i = begin; i < end; i++) one_plane(r, i, scratch);
}

bool CPU(interpolate_grad)(const gp_call *c) {
    resize_job r = {.x = gp_in(c, 0), .out = gp_out(c, 0)};
    gp_shape size = gp_ints_shape(c, 1);
    if (r.out->numel == 0) return true;
    set_compute(&r);
    if (!gp_resize_read(c, &size, r.x->dim + 2, &r.s) || !set_tables(c, &r)) return false;
    int64_t work = r.s.out[0] * r.s.out[1] * (r.s.in[2] + r.s.out[2]);
    return gp_parallel_op(c, r.s.planes, 1 + GP_GRAIN / 2 / work, planes, &r) &&
           (!r.no_memory || gp_fail("%s: out of memory", c->op->name));
}
