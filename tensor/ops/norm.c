/* Normalisations and softmax: shape rules, also of the rows that are their gradients; and their
 * gradients, composed of other ops where the backward is recorded, so that it has a derivative. */
#include "tensor/autograd/compose.h"
#include "tensor/infer.h"
#include "tensor/ops/norm.h"

void gp_norm_read(const gp_call *c, const gp_array *x, int at, gp_norm *k) {
    bool group = c->op->form == GP_NORM_GROUP;
    k->centred = c->op->form != GP_NORM_RMS;
    /* eps is last, after the bias that a forward op may have */
    k->eps = gp_given(c, c->nargs - 1) ? c->arg[c->nargs - 1].f : gp_norm_eps((gp_dtype)x->dtype);
    k->n = k->each = k->groups = 1;
    if (group) {
        k->groups = c->arg[at + 1].i, k->channels = x->dim[1];
        for (int d = 2; d < x->ndim; d++) k->each *= x->dim[d];
        k->n = k->channels / k->groups * k->each;
    } else {
        for (int d = x->ndim - c->arg[at + 1].n; d < x->ndim; d++) k->n *= x->dim[d];
        k->channels = k->n;
    }
    k->rows = k->n ? x->numel / k->n : 0;
    k->a_row = k->channels / k->groups;
}

/* Checks that the trailing dims of x are those in argument at + 1. */
static bool trailing(const gp_call *c, int at, gp_shape *s) {
    const gp_tensor *x = c->arg[at].t;
    char a[160], b[160];
    int n, first;
    const int64_t *v = gp_ints(c, at + 1, &n);
    *s = (gp_shape){.ndim = n < GP_MAX_DIM ? n : GP_MAX_DIM};
    for (int d = 0; d < s->ndim; d++) s->dim[d] = v[d];
    first = x->a.ndim - n;
    bool fits = n >= 1 && first >= 0;
    for (int d = 0; fits && d < n; d++) fits = x->a.dim[first + d] == v[d];
    return fits ||
           gp_fail("%s: argument 'normalized_shape' is %s, argument 'x' %s (expected its "
                   "last dims)",
                   c->op->name, gp_shape_text(s, b, sizeof b), gp_tensor_text(x, a, sizeof a));
}

/* Checks that the channels, dim 2, split into groups of one size. */
static bool grouped(const gp_call *c, int at, gp_shape *s) {
    const gp_tensor *x = c->arg[at].t;
    int64_t groups = c->arg[at + 1].i;
    char text[160];
    if (x->a.ndim < 2)
        return gp_fail("%s: argument 'x' is %s (expected at least 2 dims, the channels in the "
                       "second)",
                       c->op->name, gp_tensor_text(x, text, sizeof text));
    *s = (gp_shape){.ndim = 1, .dim = {x->a.dim[1]}};
    return (groups >= 1 && x->a.dim[1] % groups == 0) ||
           gp_fail("%s: argument 'num_groups' is %lld (expected a divisor of the %lld channels)",
                   c->op->name, (long long)groups, (long long)x->a.dim[1]);
}

/* Checks weight or bias: absent, or of shape s and contiguous. */
static bool affine(const gp_call *c, int i, const char *name, const gp_shape *s) {
    char a[160], b[160];
    if (!gp_given(c, i)) return true;
    const gp_tensor *t = c->arg[i].t;
    gp_shape have = gp_tensor_shape(t);
    if (!gp_shape_equal(&have, s))
        return gp_fail("%s: argument '%s' is %s (expected shape %s)", c->op->name, name,
                       gp_tensor_text(t, a, sizeof a), gp_shape_text(s, b, sizeof b));
    return gp_infer_check(c, name, (gp_dtype)t->a.dtype, GP_SET_FLOAT);
}

static bool checked(gp_call *c, int at, gp_shape *s) {
    bool group = c->op->form == GP_NORM_GROUP;
    const gp_tensor *x = c->arg[at].t;
    return gp_infer_device(c) && gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_FLOAT) &&
           (group ? grouped(c, at, s) : trailing(c, at, s)) && affine(c, at + 2, "weight", s);
}

static bool norm(gp_call *c, gp_meta *m) {
    gp_shape s;
    if (!checked(c, 0, &s)) return false;
    if (c->op->form != GP_NORM_RMS && !affine(c, 3, "bias", &s)) return false;
    gp_meta_like(m, 0, c->arg[0].t, (gp_dtype)c->arg[0].t->a.dtype);
    return gp_infer_dense(c, 0);
}

bool infer_layer_norm(gp_call *c, gp_meta *m) { return norm(c, m); }
bool infer_rms_norm(gp_call *c, gp_meta *m) { return norm(c, m); }
bool infer_group_norm(gp_call *c, gp_meta *m) { return norm(c, m); }

/* ---- batch_norm ---- */

static bool per_channel(const gp_call *c, int i, const char *name, int64_t channels) {
    char text[160];
    if (!gp_given(c, i)) return true;
    const gp_tensor *t = c->arg[i].t;
    if (t->a.ndim != 1 || t->a.dim[0] != channels)
        return gp_fail("batch_norm: argument '%s' is %s (expected %lld elements in one dim)", name,
                       gp_tensor_text(t, text, sizeof text), (long long)channels);
    return gp_infer_check(c, name, (gp_dtype)t->a.dtype, GP_SET_FLOAT);
}

/* Training writes the running statistics; elements that share memory would be written twice. */
static bool running_writable(const gp_call *c, int i, const char *name) {
    if (!gp_given(c, i)) return true;
    const gp_array *a = &c->arg[i].t->a;
    if (a->dim[0] > 1 && a->stride[0] == 0)
        return gp_fail(
            "batch_norm: argument '%s' was expanded and cannot be written; use :clone() first",
            name);
    return true;
}

/* Arguments: x, running_mean, running_var, weight, bias, training, momentum, eps. */
bool infer_batch_norm(gp_call *c, gp_meta *m) {
    static const char *const names[] = {"x", "running_mean", "running_var", "weight", "bias"};
    gp_tensor *x = c->arg[0].t;
    char text[160];
    bool training = c->arg[5].i;
    if (!gp_infer_device(c) || !gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_FLOAT))
        return false;
    if (x->a.ndim < 2)
        return gp_fail(
            "batch_norm: argument 'x' is %s (expected at least 2 dims, the channels in the second)",
            gp_tensor_text(x, text, sizeof text));
    int64_t channels = x->a.dim[1];
    for (int i = 1; i <= 4; i++)
        if (!per_channel(c, i, names[i], channels)) return false;
    if (gp_given(c, 1) != gp_given(c, 2))
        return gp_fail("batch_norm: running_mean and running_var go together");
    if (!training && !gp_given(c, 1))
        return gp_fail(
            "batch_norm: running_mean and running_var are needed where training is false");
    if (training && channels && x->a.numel == channels)
        return gp_fail("batch_norm: argument 'x' is %s (expected more than one value per channel "
                       "when training)",
                       gp_tensor_text(x, text, sizeof text));
    for (int i = 1; training && i <= 2; i++)
        if (!running_writable(c, i, names[i])) return false;
    for (int i = 1; training && x->a.numel && i <= 2; i++)
        if (gp_given(c, i)) c->arg[i].written = true;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return true;
}

/* ---- softmax ---- */

/* Arguments: x, dim (0-based from here on), dtype. */
bool infer_softmax(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    gp_dtype dt = gp_arg_dtype(c, 2, (gp_dtype)x->a.dtype);
    int dim;
    if (!gp_infer_check(c, gp_given(c, 2) ? "dtype" : "x", dt, GP_SET_FLOAT)) return false;
    if (!gp_dim_wrap(c->op->name, c->arg[1].i, x->a.ndim, &dim)) return false;
    c->arg[1].i = dim;
    gp_meta_like(m, 0, x, dt);
    return true;
}

bool infer_log_softmax(gp_call *c, gp_meta *m) { return infer_softmax(c, m); }

/* ---- rows that are gradients ---- */

static bool like_x(const gp_call *c, const gp_tensor *x) {
    gp_shape have = gp_tensor_shape(c->arg[0].t), want = gp_tensor_shape(x);
    char a[160], b[160];
    if (!gp_infer_check(c, "g", (gp_dtype)c->arg[0].t->a.dtype, GP_SET_FLOAT)) return false;
    return gp_shape_equal(&have, &want) ||
           gp_fail("%s: argument 'g' is %s (expected shape %s)", c->op->name,
                   gp_tensor_text(c->arg[0].t, a, sizeof a), gp_shape_text(&want, b, sizeof b));
}

/* Results: the gradients of x, of weight (argument i) and, if asked, of bias. */
static bool gradients(gp_call *c, gp_meta *m, const gp_tensor *x, int i, const gp_shape *s,
                      bool bias) {
    gp_dtype dt = (gp_dtype)x->a.dtype;
    gp_meta_like(m, 0, x, dt);
    for (int k = 1; k < 2 + bias; k++) {
        m->out[k].shape = *s;
        m->out[k].dtype = gp_given(c, i) ? (gp_dtype)c->arg[i].t->a.dtype : dt;
    }
    m->n = 2 + bias;
    return gp_infer_dense(c, 1) && gp_infer_dense(c, 0);
}

static bool norm_grad(gp_call *c, gp_meta *m) {
    gp_shape s;
    return checked(c, 1, &s) && like_x(c, c->arg[1].t) &&
           gradients(c, m, c->arg[1].t, 3, &s, c->op->form != GP_NORM_RMS);
}

bool infer_layer_norm_grad(gp_call *c, gp_meta *m) { return norm_grad(c, m); }
bool infer_rms_norm_grad(gp_call *c, gp_meta *m) { return norm_grad(c, m); }
bool infer_group_norm_grad(gp_call *c, gp_meta *m) { return norm_grad(c, m); }

/* Arguments: g, x, running_mean, running_var, weight, training, eps. */
bool infer_batch_norm_grad(gp_call *c, gp_meta *m) {
    const gp_tensor *x = c->arg[1].t;
    char text[160];
    if (!gp_infer_device(c) || !gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_FLOAT) ||
        !like_x(c, x))
        return false;
    if (x->a.ndim < 2)
        return gp_fail("batch_norm_grad: argument 'x' is %s (expected at least 2 dims, the "
                       "channels in the second)",
                       gp_tensor_text(x, text, sizeof text));
    gp_shape s = {.ndim = 1, .dim = {x->a.dim[1]}};
    if (!affine(c, 2, "running_mean", &s) || !affine(c, 3, "running_var", &s) ||
        !affine(c, 4, "weight", &s))
        return false;
    if (!c->arg[5].i && !(gp_given(c, 2) && gp_given(c, 3)))
        return gp_fail("batch_norm_grad: running_mean and running_var are needed where training "
                       "is false");
    return gradients(c, m, x, 4, &s, true);
}

/* Arguments: g, y, dim (0-based from here on). */
bool infer_softmax_grad(gp_call *c, gp_meta *m) {
    const gp_tensor *y = c->arg[1].t;
    int dim;
    if (!gp_infer_device(c) || !gp_infer_check(c, "y", (gp_dtype)y->a.dtype, GP_SET_FLOAT) ||
        !like_x(c, y) || !gp_dim_wrap(c->op->name, c->arg[2].i, y->a.ndim, &dim))
        return false;
    c->arg[2].i = dim;
    gp_meta_like(m, 0, y, (gp_dtype)y->a.dtype);
    return gp_infer_dense(c, 1) && gp_infer_dense(c, 0);
}
bool infer_log_softmax_grad(gp_call *c, gp_meta *m) { return infer_softmax_grad(c, m); }

/* ---- gradients, composed ---- */

/* Some dims of a tensor, counted from 1. */
typedef struct dims {
    int n;
    int64_t d[GP_MAX_DIM];
} dims;

static dims last(int n, int ndim) {
    dims k = {.n = n};
    for (int i = 0; i < n; i++) k.d[i] = ndim - n + i + 1;
    return k;
}
static dims all_but(int dim, int ndim) {
    dims k = {.n = 0};
    for (int i = 1; i <= ndim; i++)
        if (i != dim) k.d[k.n++] = i;
    return k;
}

static gp_tensor *mean(gp_vjp *v, gp_tensor *t, const dims *k) {
    return k->n ? DO(mean, "tvb", t, k->d, k->n, 1) : t;
}
static gp_tensor *sum(gp_vjp *v, gp_tensor *t, const dims *k) {
    return k->n ? DO(sum, "tv", t, k->d, k->n) : t;
}

/* x divided by its root mean square over k; where centred, its mean is subtracted first. */
typedef struct normal {
    gp_tensor *y, *scale;
    bool centred;
    dims k;
} normal;

static normal normalized(gp_vjp *v, gp_tensor *x, dims k, bool centred, double eps) {
    if (centred) x = sub(v, x, mean(v, x, &k));
    gp_tensor *scale = DO(rsqrt, "t", DO(add, "tn", mean(v, mul(v, x, x), &k), eps));
    return (normal){mul(v, x, scale), scale, centred, k};
}

/* The gradient of x, from that of n->y. */
static gp_tensor *back(gp_vjp *v, const normal *n, gp_tensor *g) {
    gp_tensor *t = sub(v, g, mul(v, n->y, mean(v, mul(v, g, n->y), &n->k)));
    if (n->centred) t = sub(v, t, mean(v, g, &n->k));
    return mul(v, t, n->scale);
}

/* Arguments: x, normalized_shape, weight, and of layer_norm bias; eps. */
static bool rows_composed(gp_vjp *v, bool centred, double eps) {
    int n;
    gp_ints_arg(v, 1, &n);
    gp_tensor *g = v->g[0], *weight = gp_saved(v, 2);
    normal k = normalized(v, v->x[0], last(n, v->x[0]->a.ndim), centred, eps);
    gp_give(v, 0, back(v, &k, weight ? mul(v, g, weight) : g));
    gp_give(v, 2, mul(v, g, k.y));
    if (centred) gp_give(v, 3, g);
    return !v->failed;
}

/* Gradients of weight and bias at argument w: of y = norm times weight plus bias, by channel. */
static bool channels(gp_vjp *v, gp_tensor *norm, int w) {
    dims k = all_but(2, v->x[0]->a.ndim);
    gp_give(v, w, sum(v, mul(v, v->g[0], norm), &k));
    gp_give(v, w + 1, sum(v, v->g[0], &k));
    return !v->failed;
}

static gp_tensor *weighted(gp_vjp *v, int w) {
    gp_tensor *weight = gp_saved(v, w);
    return weight ? mul(v, v->g[0], gp_along(v, weight, 2, v->x[0]->a.ndim)) : v->g[0];
}

/* Arguments: x, num_groups, weight, bias, eps. */
static bool group_composed(gp_vjp *v) {
    const gp_shape *s = gp_in_shape(v, 0);
    gp_shape rows = {.ndim = 3, .dim = {s->dim[0], gp_int_arg(v, 1), -1}};
    if (!v->x[0]->a.numel) return (v->dx[0] = v->g[0]) != NULL;
    normal k = normalized(v, gp_reshape(v, v->x[0], &rows), last(1, 3), true, gp_float_arg(v, 4));
    gp_give(v, 0, gp_reshape(v, back(v, &k, gp_reshape(v, weighted(v, 2), &rows)), s));
    return channels(v, gp_reshape(v, k.y, s), 2);
}

/* Arguments: x, running_mean, running_var, weight, bias, training, momentum, eps. */
static bool batch_composed(gp_vjp *v) {
    int ndim = v->x[0]->a.ndim;
    double eps = gp_float_arg(v, 7);
    gp_tensor *x = v->x[0], *m = gp_saved(v, 1), *s = gp_saved(v, 2), *g = weighted(v, 3);
    if (gp_int_arg(v, 5) || !m || !s) {
        normal k = normalized(v, x, all_but(2, ndim), true, eps);
        gp_give(v, 0, back(v, &k, g));
        return channels(v, k.y, 3);
    }
    gp_tensor *scale = gp_along(v, DO(rsqrt, "t", DO(add, "tn", s, eps)), 2, ndim);
    gp_give(v, 0, mul(v, g, scale));
    return channels(v, mul(v, sub(v, x, gp_along(v, m, 2, ndim)), scale), 3);
}

/* ---- gradients ---- */

/* Results of a norm's gradient op: for x, weight, bias, at arguments w and b of the forward. */
static bool give_norm(gp_vjp *v, gp_tensor **d, int w, int b) {
    gp_give(v, 0, d[0]);
    gp_give(v, w, d[1]);
    gp_give(v, b, d[2]);
    return !v->failed;
}

static bool batch_norm(gp_vjp *v) {
    gp_tensor *d[GP_MAX_OUT] = {NULL};
    if (!gp_no_grad) return batch_composed(v);
    return gp_do_all(v, d, GP_OP(batch_norm_grad), "ttoooaa", v->g[0], v->x[0], gp_saved(v, 1),
                     gp_saved(v, 2), gp_saved(v, 3), 5, 7) &&
           give_norm(v, d, 3, 4);
}
const gp_rule vjp_batch_norm = {batch_norm, "*"};

static bool layer_norm(gp_vjp *v) {
    gp_tensor *d[GP_MAX_OUT] = {NULL};
    if (!gp_no_grad) return rows_composed(v, true, gp_float_arg(v, 4));
    return gp_do_all(v, d, GP_OP(layer_norm_grad), "ttaoa", v->g[0], v->x[0], 1, gp_saved(v, 2),
                     4) &&
           give_norm(v, d, 2, 3);
}
const gp_rule vjp_layer_norm = {layer_norm, "*"};

static bool group_norm(gp_vjp *v) {
    gp_tensor *d[GP_MAX_OUT] = {NULL};
    if (!gp_no_grad) return group_composed(v);
    return gp_do_all(v, d, GP_OP(group_norm_grad), "ttaoa", v->g[0], v->x[0], 1, gp_saved(v, 2),
                     4) &&
           give_norm(v, d, 2, 3);
}
const gp_rule vjp_group_norm = {group_norm, "*"};

static bool rms_norm(gp_vjp *v) {
    gp_tensor *d[GP_MAX_OUT] = {NULL};
    if (!gp_no_grad)
        return rows_composed(
            v, false, gp_has(v, 3) ? gp_float_arg(v, 3) : gp_norm_eps((gp_dtype)v->x[0]->a.dtype));
    return gp_do_all(v, d, GP_OP(rms_norm_grad), "ttaoa", v->g[0], v->x[0], 1, gp_saved(v, 2), 3) &&
           give_norm(v, d, 2, 15);
}
const gp_rule vjp_rms_norm = {rms_norm, "*"};

static gp_tensor *sum_along(gp_vjp *v, gp_tensor *t, int64_t dim) {
    return DO(sum, "tvb", t, &dim, 1, 1);
}

/* dx = y (g - sum(g y)); in one op unless its derivative is asked for. */
static bool softmax(gp_vjp *v) {
    if (gp_no_grad)
        return (v->dx[0] = DO(softmax_grad, "tti", v->g[0], v->y[0], gp_int_arg(v, 1))) != NULL;
    gp_tensor *y = v->y[0], *gy = DO(mul, "tt", v->g[0], y);
    gp_tensor *s = sum_along(v, gy, gp_int_arg(v, 1));
    v->dx[0] = DO(sub, "tt", gy, DO(mul, "tt", y, s));
    return !v->failed;
}
const gp_rule vjp_softmax = {softmax, "y"};

/* dx = g - softmax sum(g) */
static bool log_softmax(gp_vjp *v) {
    if (gp_no_grad)
        return (v->dx[0] = DO(log_softmax_grad, "tti", v->g[0], v->y[0], gp_int_arg(v, 1))) != NULL;
    gp_tensor *s = sum_along(v, v->g[0], gp_int_arg(v, 1));
    v->dx[0] = DO(sub, "tt", v->g[0], DO(mul, "tt", DO(exp, "t", v->y[0]), s));
    return !v->failed;
}
const gp_rule vjp_log_softmax = {log_softmax, "y"};
