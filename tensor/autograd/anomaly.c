/* detect_anomaly: finds the op that made a NaN, forward or backward. Each check is a wait. */
#include "tensor/autograd/anomaly.h"

bool gp_anomaly;

bool gp_has_nan(gp_tensor *t, bool *found) {
    gp_scalar s = {.i = 0};
    gp_call c;
    *found = false;
    if (!t || !gp_is_float((gp_dtype)t->a.dtype) || !t->a.numel) return true;
    gp_call_begin(&c, GP_OP(isnan));
    gp_call_tensor(&c, t);
    gp_tensor *nan = gp_call_one(&c);
    if (!nan) return false;
    gp_call_begin(&c, GP_OP(any));
    gp_call_tensor(&c, nan);
    gp_tensor *any = gp_call_one(&c);
    bool ok = any && gp_item(any, &s, GP_WHY_validate, "detect_anomaly");
    gp_tensor_unref(nan);
    gp_tensor_unref(any);
    *found = s.i != 0;
    return ok;
}

bool gp_note_nan(gp_node *n, gp_tensor *const *out, int nout) {
    bool found = false;
    gp_no_grad++;
    bool ok = true;
    for (int i = 0; i < nout && ok && !found; i++) ok = gp_has_nan(out[i], &found);
    gp_no_grad--;
    n->nan = found;
    return ok;
}

static const gp_node *input_with_nan(const gp_node *n) {
    for (int i = 0; i < n->nin; i++)
        if (n->in[i].node && n->in[i].node->nan) return n->in[i].node;
    return NULL;
}

bool gp_check_root(gp_tensor *root) {
    bool found;
    const gp_node *n = gp_tensor_node(root), *before;
    if (!gp_has_nan(root, &found)) return false;
    if (!found) return true;
    if (!n || !n->nan)
        return gp_fail("backward: the tensor is NaN already; compute it under "
                       "autograd.detect_anomaly too, and the op that made it NaN is named");
    while ((before = input_with_nan(n))) n = before;
    return gp_fail(
        "backward: the tensor is NaN already; the first op whose result was NaN is %s (%s:%d)",
        n->op->name, n->loc.file ? n->loc.file : "?", n->loc.line);
}
