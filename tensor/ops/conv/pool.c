/* Pooling and its gradients: shape rules, and the gradients of both. */
#include "tensor/autograd/grad.h"
#include "tensor/infer.h"
#include "tensor/ops/conv/conv.h"

enum { TEXT = 160 };

/* ---- arguments ---- */

static bool pool_dims(const gp_call *c, const gp_shape *x, int rank, gp_pool *p) {
    char text[TEXT];
    *p = (gp_pool){.rank = rank, .batched = x->ndim == rank + 2, .planes = 1};
    if (x->ndim != rank + 1 && x->ndim != rank + 2)
        return gp_fail("%s: the image is %s (expected images x channels x %s, or without images)",
                       c->op->name, gp_shape_text(x, text, sizeof text),
                       rank == 1 ? "length" : "height x width");
    for (int d = 0; d < x->ndim - rank; d++) p->planes *= x->dim[d];
    for (int d = 0; d < GP_SPATIAL; d++) {
        int at = d - (GP_SPATIAL - rank);
        p->in[d] = at < 0 ? 1 : x->dim[x->ndim - rank + at];
        p->kernel[d] = p->stride[d] = p->dilation[d] = p->out[d] = 1;
        p->pad[d] = 0;
    }
    return true;
}

/* kernel_size, stride (default: kernel_size) and padding from argument `first` on. */
static bool windows(const gp_call *c, int first, gp_pool *p) {
    int stride = gp_given(c, first + 1) && c->arg[first + 1].n ? first + 1 : first;
    return gp_spatial_ints(c, first, "kernel_size", p->rank, 1, 1, p->kernel) &&
           gp_spatial_ints(c, stride, "stride", p->rank, 1, 1, p->stride) &&
           gp_spatial_ints(c, first + 2, "padding", p->rank, 0, 0, p->pad);
}

/* The number of windows: those that begin within the image or its leading padding; with ceil_mode
 * also one that extends past the end. */
static bool count_windows(const gp_call *c, bool ceil_mode, gp_pool *p) {
    char a[TEXT], b[TEXT];
    bool fits = true;
    for (int d = GP_SPATIAL - p->rank; d < GP_SPATIAL; d++) {
        int64_t covered = p->dilation[d] * (p->kernel[d] - 1) + 1, s = p->stride[d];
        if (p->pad[d] > covered / 2)
            return gp_fail("%s: padding %lld is more than half of the %lld elements that the "
                           "window covers",
                           c->op->name, (long long)p->pad[d], (long long)covered);
        int64_t span = p->in[d] + 2 * p->pad[d] - covered + (ceil_mode ? s - 1 : 0);
        p->out[d] = span < 0 ? 0 : span / s + 1;
        if (ceil_mode && (p->out[d] - 1) * s >= p->in[d] + p->pad[d]) p->out[d]--;
        fits = fits && p->out[d] > 0;
    }
    gp_shape size = gp_spatial_shape(p->rank, p->in), kernel = gp_spatial_shape(p->rank, p->kernel);
    return fits || gp_fail("%s: a window of %s elements does not fit in %s", c->op->name,
                           gp_shape_text(&kernel, a, sizeof a), gp_shape_text(&size, b, sizeof b));
}

bool gp_pool_read_max(const gp_call *c, const gp_shape *x, int rank, int first, gp_pool *p) {
    return pool_dims(c, x, rank, p) && windows(c, first, p) &&
           gp_spatial_ints(c, first + 3, "dilation", rank, 1, 1, p->dilation) &&
           count_windows(c, c->arg[first + 4].i, p);
}

bool gp_pool_read_avg(const gp_call *c, const gp_shape *x, int rank, int first, gp_pool *p) {
    if (!pool_dims(c, x, rank, p) || !windows(c, first, p)) return false;
    p->include_pad = c->arg[first + 4].i;
    if (gp_given(c, first + 5)) {
        p->divisor = c->arg[first + 5].i;
        if (p->divisor == 0)
            return gp_fail("%s: argument 'divisor_override' is 0 (expected another integer)",
                           c->op->name);
    }
    return count_windows(c, c->arg[first + 3].i, p);
}

bool gp_pool_read_adaptive(const gp_call *c, const gp_shape *x, int rank, const int64_t *out, int n,
                           gp_pool *p) {
    char text[TEXT];
    if (!pool_dims(c, x, rank, p)) return false;
    p->adaptive = true;
    if (n != 1 && n != rank)
        return gp_fail("%s: argument 'output_size' has %d entries (expected 1%s)", c->op->name, n,
                       rank == 1 ? "" : " or 2");
    for (int d = 0; d < rank; d++) {
        int64_t size = out[n == 1 ? 0 : d];
        p->out[GP_SPATIAL - rank + d] = size;
        if (size < 0 || size > INT32_MAX)
            return gp_fail("%s: argument 'output_size' is %lld (expected an integer >= 0)",
                           c->op->name, (long long)size);
        if (size && !p->in[GP_SPATIAL - rank + d])
            return gp_fail("%s: the image is %s: nothing to pool", c->op->name,
                           gp_shape_text(x, text, sizeof text));
    }
    return true;
}

/* ---- rules ---- */

static gp_shape pooled(const gp_shape *x, const gp_pool *p) {
    gp_shape s = *x;
    for (int d = 0; d < p->rank; d++)
        s.dim[s.ndim - p->rank + d] = p->out[GP_SPATIAL - p->rank + d];
    return s;
}

static bool pool_output(gp_call *c, gp_meta *m, const gp_pool *p, bool indices) {
    gp_tensor *x = c->arg[0].t;
    gp_shape in = gp_tensor_shape(x), out = pooled(&in, p);
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    if (indices) gp_meta_like(m, 1, x, GP_i64);
    for (int i = 0; i < m->n; i++) m->out[i].shape = out;
    return true;
}

static bool is_float(const gp_call *c, const char *name) {
    return gp_infer_check(c, name, (gp_dtype)c->arg[0].t->a.dtype, GP_SET_FLOAT);
}

/* Arguments: x, kernel_size, stride, padding, dilation, ceil_mode, return_indices. */
static bool max_rule(gp_call *c, gp_meta *m, int rank) {
    gp_pool p;
    gp_shape x = gp_tensor_shape(c->arg[0].t);
    return is_float(c, "x") && gp_pool_read_max(c, &x, rank, 1, &p) &&
           pool_output(c, m, &p, c->arg[6].i);
}
bool infer_max_pool1d(gp_call *c, gp_meta *m) { return max_rule(c, m, 1); }
bool infer_max_pool2d(gp_call *c, gp_meta *m) { return max_rule(c, m, 2); }

/* Arguments: x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override. */
static bool avg_rule(gp_call *c, gp_meta *m, int rank) {
    gp_pool p;
    gp_shape x = gp_tensor_shape(c->arg[0].t);
    return gp_infer_check(c, "x", (gp_dtype)c->arg[0].t->a.dtype, GP_SET_FLOAT | GP_BIT(GP_i64)) &&
           gp_pool_read_avg(c, &x, rank, 1, &p) && pool_output(c, m, &p, false);
}
bool infer_avg_pool1d(gp_call *c, gp_meta *m) { return avg_rule(c, m, 1); }
bool infer_avg_pool2d(gp_call *c, gp_meta *m) { return avg_rule(c, m, 2); }

/* Arguments: x, output_size, return_indices (max pooling only). */
static bool adaptive_rule(gp_call *c, gp_meta *m, int rank) {
    gp_pool p;
    int n;
    const int64_t *out = gp_ints(c, 1, &n);
    gp_shape x = gp_tensor_shape(c->arg[0].t);
    return is_float(c, "x") && gp_pool_read_adaptive(c, &x, rank, out, n, &p) &&
           pool_output(c, m, &p, gp_given(c, 2) && c->arg[2].i);
}
bool infer_adaptive_avg_pool1d(gp_call *c, gp_meta *m) { return adaptive_rule(c, m, 1); }
bool infer_adaptive_avg_pool2d(gp_call *c, gp_meta *m) { return adaptive_rule(c, m, 2); }
bool infer_adaptive_max_pool1d(gp_call *c, gp_meta *m) { return adaptive_rule(c, m, 1); }
bool infer_adaptive_max_pool2d(gp_call *c, gp_meta *m) { return adaptive_rule(c, m, 2); }

/* ---- rows that are gradients ---- */

/* Checks that grad has the shape of p's result on images of shape size. */
static bool grad_output(gp_call *c, gp_meta *m, const gp_shape *size, const gp_shape *want) {
    gp_shape have = gp_tensor_shape(c->arg[0].t);
    char a[TEXT], b[TEXT];
    gp_meta_like(m, 0, c->arg[0].t, (gp_dtype)c->arg[0].t->a.dtype);
    m->out[0].shape = *size;
    return gp_shape_equal(&have, want) ||
           gp_fail("%s: argument 'grad' is %s (expected %s, the shape of the pooled image)",
                   c->op->name, gp_shape_text(&have, a, sizeof a),
                   gp_shape_text(want, b, sizeof b));
}

/* Arguments: grad, indices, size, and, where the windows are known, max_pool's from kernel_size on.
 */
static bool max_grad_rule(gp_call *c, gp_meta *m, int rank) {
    gp_shape size, grad = gp_tensor_shape(c->arg[0].t), at = gp_tensor_shape(c->arg[1].t);
    gp_pool p;
    char a[TEXT], b[TEXT];
    if (!gp_infer_device(c) || !is_float(c, "grad") || !gp_arg_shape(c, 2, &size) ||
        !gp_infer_index(c, "indices", c->arg[1].t) || !pool_dims(c, &size, rank, &p))
        return false;
    if (!gp_shape_equal(&grad, &at))
        return gp_fail("%s: argument 'grad' is %s and argument 'indices' %s (expected one shape)",
                       c->op->name, gp_shape_text(&grad, a, sizeof a),
                       gp_shape_text(&at, b, sizeof b));
    gp_shape want = size;
    if (gp_given(c, 3)) {
        if (!gp_pool_read_max(c, &size, rank, 3, &p)) return false;
        want = pooled(&size, &p);
    } else
        for (int d = 0; d < rank && grad.ndim == size.ndim; d++)
            want.dim[size.ndim - 1 - d] = grad.dim[size.ndim - 1 - d];
    return grad_output(c, m, &size, &want);
}
bool infer_max_pool1d_grad(gp_call *c, gp_meta *m) { return max_grad_rule(c, m, 1); }
bool infer_max_pool2d_grad(gp_call *c, gp_meta *m) { return max_grad_rule(c, m, 2); }

/* Arguments: grad, size, and avg_pool's from kernel_size on. */
static bool avg_grad_rule(gp_call *c, gp_meta *m, int rank) {
    gp_shape size;
    gp_pool p;
    if (!is_float(c, "grad") || !gp_arg_shape(c, 1, &size) ||
        !gp_pool_read_avg(c, &size, rank, 2, &p))
        return false;
    gp_shape want = pooled(&size, &p);
    return grad_output(c, m, &size, &want);
}
bool infer_avg_pool1d_grad(gp_call *c, gp_meta *m) { return avg_grad_rule(c, m, 1); }
bool infer_avg_pool2d_grad(gp_call *c, gp_meta *m) { return avg_grad_rule(c, m, 2); }

/* Arguments: grad, size. */
static bool adaptive_grad_rule(gp_call *c, gp_meta *m, int rank) {
    gp_shape size, grad = gp_tensor_shape(c->arg[0].t);
    gp_pool p;
    if (!is_float(c, "grad") || !gp_arg_shape(c, 1, &size) || !pool_dims(c, &size, rank, &p))
        return false;
    if (grad.ndim != size.ndim) return grad_output(c, m, &size, &size);
    if (!gp_pool_read_adaptive(c, &size, rank, grad.dim + grad.ndim - rank, rank, &p)) return false;
    gp_shape want = pooled(&size, &p);
    return grad_output(c, m, &size, &want);
}
bool infer_adaptive_avg_pool1d_grad(gp_call *c, gp_meta *m) { return adaptive_grad_rule(c, m, 1); }
bool infer_adaptive_avg_pool2d_grad(gp_call *c, gp_meta *m) { return adaptive_grad_rule(c, m, 2); }

/* ---- gradients ---- */

/* The gradients of pooling are linear, so the forward row differentiates them. */

/* The indices of the largest elements: those that the forward returned, else recomputed. rank: of
 * the spatial dims. Arguments: x, kernel_size, stride, padding, dilation, ceil_mode,
 * return_indices. */
static bool max_pool(gp_vjp *v, const gp_op *again, const gp_op *grad) {
    gp_tensor *out[GP_MAX_OUT] = {NULL};
    const gp_shape *s = gp_in_shape(v, 0);
    if (!gp_do_all(v, out, again, "taaaaab", v->x[0], 1, 2, 3, 4, 5, 1)) return false;
    v->dx[0] = gp_do(v, grad, "ttvaaaaa", v->g[0], out[1], s->dim, s->ndim, 1, 2, 3, 4, 5);
    return !v->failed;
}
static bool max_pool1d(gp_vjp *v) { return max_pool(v, GP_OP(max_pool1d), GP_OP(max_pool1d_grad)); }
static bool max_pool2d(gp_vjp *v) { return max_pool(v, GP_OP(max_pool2d), GP_OP(max_pool2d_grad)); }
const gp_rule vjp_max_pool1d = {max_pool1d, "0"}, vjp_max_pool2d = {max_pool2d, "0"};

static bool adaptive_max_pool(gp_vjp *v, const gp_op *again, const gp_op *grad) {
    gp_tensor *out[GP_MAX_OUT] = {NULL};
    const gp_shape *s = gp_in_shape(v, 0);
    if (!gp_do_all(v, out, again, "tab", v->x[0], 1, 1)) return false;
    return (v->dx[0] = gp_do(v, grad, "ttv", v->g[0], out[1], s->dim, s->ndim)) != NULL;
}
static bool adaptive_max_pool1d(gp_vjp *v) {
    return adaptive_max_pool(v, GP_OP(adaptive_max_pool1d), GP_OP(max_pool1d_grad));
}
static bool adaptive_max_pool2d(gp_vjp *v) {
    return adaptive_max_pool(v, GP_OP(adaptive_max_pool2d), GP_OP(max_pool2d_grad));
}
const gp_rule vjp_adaptive_max_pool1d = {adaptive_max_pool1d, "0"},
              vjp_adaptive_max_pool2d = {adaptive_max_pool2d, "0"};

/* Arguments: grad, indices, size. Gathers at the indices, with the last `rank` dims as one. */
static bool max_pool_grad(gp_vjp *v, int rank) {
    gp_tensor *index = v->x[1];
    int64_t first = -rank, last = -1;
    gp_tensor *flat = DO(gather, "tit", DO(flatten, "tii", v->g[0], first, last), last,
                         DO(flatten, "tii", index, first, last));
    return (v->dx[0] = gp_reshape(v, flat, gp_in_shape(v, 0))) != NULL;
}
static bool max_pool1d_grad(gp_vjp *v) { return max_pool_grad(v, 1); }
static bool max_pool2d_grad(gp_vjp *v) { return max_pool_grad(v, 2); }
const gp_rule vjp_max_pool1d_grad = {max_pool1d_grad, "1"},
              vjp_max_pool2d_grad = {max_pool2d_grad, "1"};

static bool avg_pool1d(gp_vjp *v) {
    const gp_shape *s = gp_in_shape(v, 0);
    v->dx[0] = DO(avg_pool1d_grad, "tvaaaaa", v->g[0], s->dim, s->ndim, 1, 2, 3, 4, 5);
    return !v->failed;
}
static bool avg_pool2d(gp_vjp *v) {
    const gp_shape *s = gp_in_shape(v, 0);
    v->dx[0] = DO(avg_pool2d_grad, "tvaaaaaa", v->g[0], s->dim, s->ndim, 1, 2, 3, 4, 5, 6);
    return !v->failed;
}
static bool adaptive_avg_pool1d(gp_vjp *v) {
    const gp_shape *s = gp_in_shape(v, 0);
    return (v->dx[0] = DO(adaptive_avg_pool1d_grad, "tv", v->g[0], s->dim, s->ndim)) != NULL;
}
static bool adaptive_avg_pool2d(gp_vjp *v) {
    const gp_shape *s = gp_in_shape(v, 0);
    return (v->dx[0] = DO(adaptive_avg_pool2d_grad, "tv", v->g[0], s->dim, s->ndim)) != NULL;
}
const gp_rule vjp_avg_pool1d = {avg_pool1d, NULL}, vjp_avg_pool2d = {avg_pool2d, NULL},
              vjp_adaptive_avg_pool1d = {adaptive_avg_pool1d, NULL},
              vjp_adaptive_avg_pool2d = {adaptive_avg_pool2d, NULL};

/* Arguments: grad, size, then those of the forward. */
static bool avg_pool1d_grad(gp_vjp *v) {
    return (v->dx[0] = DO(avg_pool1d, "taaaaa", v->g[0], 2, 3, 4, 5, 6)) != NULL;
}
static bool avg_pool2d_grad(gp_vjp *v) {
    return (v->dx[0] = DO(avg_pool2d, "taaaaaa", v->g[0], 2, 3, 4, 5, 6, 7)) != NULL;
}
const gp_rule vjp_avg_pool1d_grad = {avg_pool1d_grad, NULL},
              vjp_avg_pool2d_grad = {avg_pool2d_grad, NULL};

/* The last `rank` sizes of input 0. */
static const int64_t *spatial(const gp_vjp *v, int rank) {
    return gp_in_shape(v, 0)->dim + gp_in_shape(v, 0)->ndim - rank;
}

static bool adaptive_avg_pool1d_grad(gp_vjp *v) {
    return (v->dx[0] = DO(adaptive_avg_pool1d, "tv", v->g[0], spatial(v, 1), 1)) != NULL;
}
static bool adaptive_avg_pool2d_grad(gp_vjp *v) {
    return (v->dx[0] = DO(adaptive_avg_pool2d, "tv", v->g[0], spatial(v, 2), 2)) != NULL;
}
const gp_rule vjp_adaptive_avg_pool1d_grad = {adaptive_avg_pool1d_grad, NULL},
              vjp_adaptive_avg_pool2d_grad = {adaptive_avg_pool2d_grad, NULL};
