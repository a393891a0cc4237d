/* Losses over classes: shape rules of cross_entropy, nll_loss and their gradients; and gradients,
 * composed of other ops where the backward is recorded, so that it has a derivative. */
#include <string.h>

#include "tensor/autograd/compose.h"
#include "tensor/infer.h"
#include "tensor/ops/loss.h"

static bool read_reduction(gp_call *c, int i) {
    static const char *const names[] = {"none", "mean", "sum"};
    _Static_assert(GP_LOSS_EACH == 0 && GP_LOSS_MEAN == 1 && GP_LOSS_SUM == 2, "names by number");
    for (int k = 0; k < 3; k++)
        if (!strcmp(c->arg[i].s, names[k])) {
            c->arg[i] = (gp_value){.kind = GP_INT, .i = k};
            return true;
        }
    return gp_fail("%s: reduction '%.20s' (expected 'none', 'mean' or 'sum')", c->op->name,
                   c->arg[i].s);
}

/* The shape of a loss for each pixel: x without its class dim, which is dim 2, or the only one. */
static gp_shape pixels(const gp_tensor *x) {
    gp_shape s = gp_tensor_shape(x);
    int d = s.ndim == 1 ? 0 : 1;
    for (int i = d; i + 1 < s.ndim; i++) s.dim[i] = s.dim[i + 1];
    s.ndim--;
    return s;
}

static bool target_fits(const gp_call *c, const gp_tensor *x, const gp_tensor *target,
                        bool probabilities) {
    gp_shape have = gp_tensor_shape(target), want = gp_tensor_shape(x);
    char a[160], b[160], text[160];
    if (!probabilities || !gp_is_float((gp_dtype)target->a.dtype)) want = pixels(x);
    if (gp_shape_equal(&have, &want)) return true;
    return gp_fail("%s: argument 'target' is %s for x of %s (expected shape %s)", c->op->name,
                   gp_tensor_text(target, a, sizeof a), gp_tensor_text(x, b, sizeof b),
                   gp_shape_text(&want, text, sizeof text));
}

/* Arguments from `at` on: x, target, weight, ignore_index, reduction. */
static bool arguments(gp_call *c, int at, bool probabilities) {
    const gp_tensor *x = c->arg[at + GP_LOSS_X].t, *target = c->arg[at + GP_LOSS_TARGET].t;
    char text[160];
    uint32_t targets = GP_SET_INT | (probabilities ? GP_SET_FLOAT : 0);
    if (!gp_infer_device(c) || !gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_FLOAT) ||
        !gp_infer_check(c, "target", (gp_dtype)target->a.dtype, targets))
        return false;
    if (x->a.ndim < 1)
        return gp_fail("%s: argument 'x' is %s (expected classes, or classes in the second dim)",
                       c->op->name, gp_tensor_text(x, text, sizeof text));
    int64_t classes = x->a.dim[x->a.ndim == 1 ? 0 : 1];
    if (classes == 0 && target->a.numel)
        return gp_fail("%s: argument 'x' is %s: it has no classes", c->op->name,
                       gp_tensor_text(x, text, sizeof text));
    if (gp_given(c, at + GP_LOSS_WEIGHT)) {
        const gp_tensor *w = c->arg[at + GP_LOSS_WEIGHT].t;
        if (w->a.ndim != 1 || w->a.dim[0] != classes)
            return gp_fail("%s: argument 'weight' is %s (expected %lld elements in one dim)",
                           c->op->name, gp_tensor_text(w, text, sizeof text), (long long)classes);
        if (!gp_infer_check(c, "weight", (gp_dtype)w->a.dtype, GP_SET_FLOAT)) return false;
    }
    return target_fits(c, x, target, probabilities) && read_reduction(c, at + GP_LOSS_REDUCTION);
}

static bool smoothing(const gp_call *c, int i) {
    double s = c->arg[i].f;
    return (s >= 0 && s <= 1) ||
           gp_fail("%s: argument 'label_smoothing' is %g (expected 0 to 1)", c->op->name, s);
}

static bool loss(gp_call *c, gp_meta *m, bool probabilities) {
    const gp_tensor *x = c->arg[0].t;
    if (!arguments(c, 0, probabilities)) return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    if (c->arg[GP_LOSS_REDUCTION].i == GP_LOSS_EACH) m->out[0].shape = pixels(x);
    else m->out[0].shape.ndim = 0;
    return true;
}

/* Checks that g has the shape of the loss; the result has that of x. */
static bool gradient(gp_call *c, gp_meta *m, bool probabilities) {
    const gp_tensor *g = c->arg[0].t, *x = c->arg[1].t;
    char a[160], b[160];
    if (!arguments(c, 1, probabilities) ||
        !gp_infer_check(c, "g", (gp_dtype)g->a.dtype, GP_SET_FLOAT))
        return false;
    gp_shape have = gp_tensor_shape(g), want = pixels(x);
    if (c->arg[1 + GP_LOSS_REDUCTION].i != GP_LOSS_EACH) want.ndim = 0;
    if (!gp_shape_equal(&have, &want))
        return gp_fail("%s: argument 'g' is %s (expected shape %s)", c->op->name,
                       gp_tensor_text(g, a, sizeof a), gp_shape_text(&want, b, sizeof b));
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return true;
}

bool infer_cross_entropy(gp_call *c, gp_meta *m) {
    return smoothing(c, GP_LOSS_SMOOTHING) && loss(c, m, true);
}
bool infer_cross_entropy_grad(gp_call *c, gp_meta *m) {
    return smoothing(c, 1 + GP_LOSS_SMOOTHING) && gradient(c, m, true);
}
bool infer_nll_loss(gp_call *c, gp_meta *m) { return loss(c, m, false); }
bool infer_nll_loss_grad(gp_call *c, gp_meta *m) { return gradient(c, m, false); }

/* ---- gradients ---- */

static bool averaged(const gp_vjp *v) { return !strcmp(v->node->arg[GP_LOSS_REDUCTION].s, "mean"); }

/* The class weights, shaped to broadcast with x; NULL if none are given. */
static gp_tensor *class_weights(gp_vjp *v, int dim) {
    gp_tensor *w = gp_saved(v, GP_LOSS_WEIGHT);
    return w ? gp_along(v, w, dim, v->x[0]->a.ndim) : NULL;
}

/* The gradient of class probabilities as the target, or of the logarithms multiplied by them: minus
 * `factor`, weighted, divided by the mean's count. */
static gp_tensor *by_share(gp_vjp *v, gp_tensor *factor, int dim) {
    gp_tensor *x = v->x[0], *w = class_weights(v, dim);
    double n = (double)x->a.numel / (double)x->a.dim[dim - 1];
    gp_tensor *g = averaged(v) && n > 0 ? DO(div, "tn", v->g[0], n) : v->g[0];
    if (g && g->a.ndim) g = DO(unsqueeze, "ti", g, (int64_t)dim);
    gp_tensor *t = mul(v, DO(neg, "t", g), factor);
    return w ? mul(v, t, w) : t;
}

/* The gradient of the logarithms at labels, and at all classes where they are smoothed. */
static gp_tensor *by_label(gp_vjp *v, int dim, double smooth) {
    gp_tensor *x = v->x[0], *y = v->x[1], *weight = gp_saved(v, GP_LOSS_WEIGHT),
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
    gp_give(v, 0, sub(v, d, mul(v, DO(exp, "t", l), DO(sum, "tvb", d, &dim, 1, 1))));
    return !v->failed;
}

/* Class weights are not parameters: asking for their gradient is an error, not a silent zero. */
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
        gp_give(v, 1, by_share(v, DO(mul, "tn", l, 1 - smooth), (int)dim));
    }
    if (!no_weight(v) || !v->need[0] || v->failed) return !v->failed;
    if (!gp_no_grad) return cross_entropy_composed(v);
    gp_give(v, 0,
            DO(cross_entropy_grad, "tttoaaa", v->g[0], v->x[0], v->x[1], gp_saved(v, 2), 3, 4, 5));
    return !v->failed;
}
const gp_rule vjp_cross_entropy = {cross_entropy, "*"};

static bool nll_loss(gp_vjp *v) {
    if (!no_weight(v)) return false;
    gp_give(v, 0, DO(nll_loss_grad, "tttoaa", v->g[0], v->x[0], v->x[1], gp_saved(v, 2), 3, 4));
    return !v->failed;
}
const gp_rule vjp_nll_loss = {nll_loss, "*"};

/* The loss is linear in x, so its gradient op is differentiated by the loss. Arguments: g, x,
 * target, weight, ignore_index, reduction. */
static bool nll_loss_grad(gp_vjp *v) {
    gp_give(v, 0, DO(nll_loss, "ttoaa", v->g[0], v->x[2], gp_saved(v, 3), 4, 5));
    return !v->failed;
}
const gp_rule vjp_nll_loss_grad = {nll_loss_grad, "23"};
