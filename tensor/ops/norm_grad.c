/* Backward of norms and of losses over classes: each has an op of its own; composed of others where
 * the backward is recorded, so that it has a derivative. */
#include <math.h>
#include <string.h>

#include "tensor/autograd/grad.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/norm.h"

/* Sets the gradient of argument a, if it is an input that needs one. */
static void give(gp_vjp *v, int a, gp_tensor *g) {
    int i = gp_input_of(v, a);
    if (i >= 0 && v->need[i]) v->dx[i] = g;
}

static gp_tensor *saved(const gp_vjp *v, int a) {
    int i = gp_input_of(v, a);
    return i < 0 ? NULL : v->x[i];
}

static gp_tensor *mul(gp_vjp *v, gp_tensor *a, gp_tensor *b) { return DO(mul, "tt", a, b); }
static gp_tensor *sub(gp_vjp *v, gp_tensor *a, gp_tensor *b) { return DO(sub, "tt", a, b); }

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

/* t, of one dim, as dim `dim` (from 1) of ndim. */
static gp_tensor *along(gp_vjp *v, gp_tensor *t, int dim, int ndim) {
    gp_shape s = {.ndim = ndim};
    for (int i = 0; i < ndim; i++) s.dim[i] = i == dim - 1 && t ? t->a.dim[0] : 1;
    return gp_reshape(v, t, &s);
}

/* ---- norms, composed ---- */

/* x over the root of its mean square over k; where centred, less its mean first. */
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
    gp_tensor *g = v->g[0], *weight = saved(v, 2);
    normal k = normalized(v, v->x[0], last(n, v->x[0]->a.ndim), centred, eps);
    give(v, 0, back(v, &k, weight ? mul(v, g, weight) : g));
    give(v, 2, mul(v, g, k.y));
    if (centred) give(v, 3, g);
    return !v->failed;
}

/* Gradients of weight and bias at argument w: of y = norm times weight plus bias, by channel. */
static bool channels(gp_vjp *v, gp_tensor *norm, int w) {
    dims k = all_but(2, v->x[0]->a.ndim);
    give(v, w, sum(v, mul(v, v->g[0], norm), &k));
    give(v, w + 1, sum(v, v->g[0], &k));
    return !v->failed;
}

static gp_tensor *weighted(gp_vjp *v, int w) {
    gp_tensor *weight = saved(v, w);
    return weight ? mul(v, v->g[0], along(v, weight, 2, v->x[0]->a.ndim)) : v->g[0];
}

/* Arguments: x, num_groups, weight, bias, eps. */
static bool group_composed(gp_vjp *v) {
    const gp_shape *s = gp_in_shape(v, 0);
    gp_shape rows = {.ndim = 3, .dim = {s->dim[0], gp_int_arg(v, 1), -1}};
    if (!v->x[0]->a.numel) return (v->dx[0] = v->g[0]) != NULL;
    normal k = normalized(v, gp_reshape(v, v->x[0], &rows), last(1, 3), true, gp_float_arg(v, 4));
    give(v, 0, gp_reshape(v, back(v, &k, gp_reshape(v, weighted(v, 2), &rows)), s));
    return channels(v, gp_reshape(v, k.y, s), 2);
}

/* Arguments: x, running_mean, running_var, weight, bias, training, momentum, eps. */
static bool batch_composed(gp_vjp *v) {
    int ndim = v->x[0]->a.ndim;
    double eps = gp_float_arg(v, 7);
    gp_tensor *x = v->x[0], *m = saved(v, 1), *s = saved(v, 2), *g = weighted(v, 3);
    if (gp_int_arg(v, 5) || !m || !s) {
        normal k = normalized(v, x, all_but(2, ndim), true, eps);
        give(v, 0, back(v, &k, g));
        return channels(v, k.y, 3);
    }
    gp_tensor *scale = along(v, DO(rsqrt, "t", DO(add, "tn", s, eps)), 2, ndim);
    give(v, 0, mul(v, g, scale));
    return channels(v, mul(v, sub(v, x, along(v, m, 2, ndim)), scale), 3);
}

/* ---- norms ---- */

/* Results of a norm's gradient op: for x, weight, bias, at arguments w and b of the forward. */
static bool give_norm(gp_vjp *v, gp_tensor **d, int w, int b) {
    give(v, 0, d[0]);
    give(v, w, d[1]);
    give(v, b, d[2]);
    return !v->failed;
}

static bool batch_norm(gp_vjp *v) {
    gp_tensor *d[GP_MAX_OUT] = {NULL};
    if (!gp_no_grad) return batch_composed(v);
    return gp_do_all(v, d, GP_OP(batch_norm_grad), "ttoooaa", v->g[0], v->x[0], saved(v, 1),
                     saved(v, 2), saved(v, 3), 5, 7) &&
           give_norm(v, d, 3, 4);
}
const gp_rule vjp_batch_norm = {batch_norm, "*"};

static bool layer_norm(gp_vjp *v) {
    gp_tensor *d[GP_MAX_OUT] = {NULL};
    if (!gp_no_grad) return rows_composed(v, true, gp_float_arg(v, 4));
    return gp_do_all(v, d, GP_OP(layer_norm_grad), "ttaoa", v->g[0], v->x[0], 1, saved(v, 2), 4) &&
           give_norm(v, d, 2, 3);
}
const gp_rule vjp_layer_norm = {layer_norm, "*"};

static bool group_norm(gp_vjp *v) {
    gp_tensor *d[GP_MAX_OUT] = {NULL};
    if (!gp_no_grad) return group_composed(v);
    return gp_do_all(v, d, GP_OP(group_norm_grad), "ttaoa", v->g[0], v->x[0], 1, saved(v, 2), 4) &&
           give_norm(v, d, 2, 3);
}
const gp_rule vjp_group_norm = {group_norm, "*"};

static bool rms_norm(gp_vjp *v) {
    gp_tensor *d[GP_MAX_OUT] = {NULL};
    if (!gp_no_grad)
        return rows_composed(
            v, false, gp_has(v, 3) ? gp_float_arg(v, 3) : gp_norm_eps((gp_dtype)v->x[0]->a.dtype));
    return gp_do_all(v, d, GP_OP(rms_norm_grad), "ttaoa", v->g[0], v->x[0], 1, saved(v, 2), 3) &&
           give_norm(v, d, 2, 15);
}
const gp_rule vjp_rms_norm = {rms_norm, "*"};

/* ---- losses ---- */

static bool averaged(const gp_vjp *v) { return !strcmp(v->node->arg[GP_LOSS_REDUCTION].s, "mean"); }

/* The classes' weights beside x; NULL if none are given. */
static gp_tensor *class_weights(gp_vjp *v, int dim) {
    gp_tensor *w = saved(v, GP_LOSS_WEIGHT);
    return w ? along(v, w, dim, v->x[0]->a.ndim) : NULL;
}

/* The gradient of class probabilities as the target, or of the logarithms that they are multiplied
 * with: minus `factor`, weighted, over what the mean is taken over. */
static gp_tensor *by_share(gp_vjp *v, gp_tensor *factor, int dim) {
    gp_tensor *x = v->x[0], *w = class_weights(v, dim);
    double n = (double)x->a.numel / (double)x->a.dim[dim - 1];
    gp_tensor *g = averaged(v) ? DO(div, "tn", v->g[0], n) : v->g[0];
    if (g && g->a.ndim) g = DO(unsqueeze, "ti", g, (int64_t)dim);
    gp_tensor *t = mul(v, DO(neg, "t", g), factor);
    return w ? mul(v, t, w) : t;
}

/* The gradient of the logarithms at labels, and, smoothed, at all classes. */
static gp_tensor *by_label(gp_vjp *v, int dim, double smooth) {
    gp_tensor *x = v->x[0], *y = v->x[1], *weight = saved(v, GP_LOSS_WEIGHT),
              *w = class_weights(v, dim);
    gp_tensor *hard =
        DO(nll_loss_grad, "tttoaa", DO(mul, "tn", v->g[0], 1 - smooth), x, y, weight, 3, 4);
    if (!smooth || !hard) return hard;
    gp_tensor *g = v->g[0], *one = DO(fill, "tn", DO(sum, "t", v->g[0]), -1.0);
    gp_tensor *n = DO(sum, "t", DO(nll_loss_grad, "tttoas", one, x, y, weight, 3, "sum"));
    gp_tensor *counts =
        DO(to, "t-d", DO(ne, "tn", y, (double)gp_int_arg(v, GP_LOSS_IGNORE)), (int)x->a.dtype);
    if (averaged(v)) g = DO(div, "tt", g, n);
    gp_tensor *soft = DO(unsqueeze, "ti", mul(v, g, counts), (int64_t)dim);
    soft = DO(mul, "tn", soft, smooth / (double)x->a.dim[dim - 1]);
    return sub(v, hard, w ? mul(v, soft, w) : gp_expand(v, soft, gp_in_shape(v, 0)));
}

/* With l the logarithms of softmax and d their gradient: dx = d - exp(l) sum(d). */
static bool cross_entropy_composed(gp_vjp *v) {
    gp_tensor *x = v->x[0], *y = v->x[1];
    int64_t dim = x->a.ndim > 1 ? 2 : 1;
    double smooth = gp_float_arg(v, GP_LOSS_SMOOTHING);
    gp_tensor *l = DO(log_softmax, "ti", x, dim), *d;
    if (!gp_is_float((gp_dtype)y->a.dtype)) {
        d = by_label(v, (int)dim, smooth);
    } else {
        gp_tensor *share =
            DO(add, "tn", DO(mul, "tn", y, 1 - smooth), smooth / (double)x->a.dim[dim - 1]);
        d = by_share(v, share, (int)dim);
    }
    give(v, 0, sub(v, d, mul(v, DO(exp, "t", l), DO(sum, "tvb", d, &dim, 1, 1))));
    return !v->failed;
}

/* Weights of classes are no parameters: a gradient asked of them is an error, not nothing. */
static bool no_weight(gp_vjp *v) {
    int w = gp_input_of(v, GP_LOSS_WEIGHT);
    if (w >= 0 && v->need[w])
        v->failed = true,
        gp_fail("backward: %s has no derivative by its weight (use weight:detach())",
                v->node->op->name);
    return !v->failed;
}

/* Arguments: x, target, weight, ignore_index, reduction, label_smoothing. */
static bool cross_entropy(gp_vjp *v) {
    int64_t dim = v->x[0]->a.ndim > 1 ? 2 : 1;
    if (v->need[1]) {
        gp_tensor *l = DO(log_softmax, "ti", v->x[0], dim);
        double smooth = gp_float_arg(v, GP_LOSS_SMOOTHING);
        give(v, 1, by_share(v, DO(mul, "tn", l, 1 - smooth), (int)dim));
    }
    if (!no_weight(v) || !v->need[0] || v->failed) return !v->failed;
    if (!gp_no_grad) return cross_entropy_composed(v);
    give(v, 0, DO(cross_entropy_grad, "tttoaaa", v->g[0], v->x[0], v->x[1], saved(v, 2), 3, 4, 5));
    return !v->failed;
}
const gp_rule vjp_cross_entropy = {cross_entropy, "*"};

static bool nll_loss(gp_vjp *v) {
    if (!no_weight(v)) return false;
    give(v, 0, DO(nll_loss_grad, "tttoaa", v->g[0], v->x[0], v->x[1], saved(v, 2), 3, 4));
    return !v->failed;
}
const gp_rule vjp_nll_loss = {nll_loss, "*"};

/* The loss is linear in x, so that what takes gradients back is differentiated by the loss.
 * Arguments: g, x, target, weight, ignore_index, reduction. */
static bool nll_loss_grad(gp_vjp *v) {
    give(v, 0, DO(nll_loss, "ttoaa", v->g[0], v->x[2], saved(v, 3), 4, 5));
    return !v->failed;
}
const gp_rule vjp_nll_loss_grad = {nll_loss_grad, "23"};
