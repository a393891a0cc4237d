/* Shape and dtype rules of cross_entropy, nll_loss and their gradients. */
#include <string.h>

#include "tensor/infer.h"
#include "tensor/ops/loss.h"

static bool read_reduction(gp_call *c, int i) {
    static const char *const names[] = {"none", "mean", "sum"};
    for (int k = 0; k < 3; k++)
        if (!strcmp(c->arg[i].s, names[k])) {
            c->arg[i] = (gp_value){.kind = GP_INT, .i = k};
            return true;
        }
    return gp_fail("%s: reduction '%.20s' (expected 'none', 'mean' or 'sum')", c->op->name,
                   c->arg[i].s);
}

/* The shape of a loss for each pixel: x without its classes, which are dim 2, or the only dim. */
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

/* g has the shape of the loss, the result that of x. */
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
