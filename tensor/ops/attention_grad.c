/* Backward of attention: its row, from what the _forward row saved; composed of ops where the
 * backward is recorded, or the mask needs a gradient. */
#include <math.h>

#include "tensor/ops/attention.h"
#include "tensor/autograd/grad.h"

static gp_tensor *mask_of(const gp_vjp *v) {
    int i = gp_input_of(v, GP_ATTENTION_MASK);
    return i < 0 ? NULL : v->x[i];
}

static double scale_of(const gp_vjp *v) {
    if (gp_has(v, GP_ATTENTION_SCALE)) return gp_float_arg(v, GP_ATTENTION_SCALE);
    return 1 / sqrt((double)gp_in_shape(v, 0)->dim[3]);
}

/* -inf where a query sees no key, l x s. */
static gp_tensor *hidden(gp_vjp *v) {
    gp_shape s = {.ndim = 2, .dim = {gp_in_shape(v, 0)->dim[2], gp_in_shape(v, 1)->dim[2]}};
    gp_tensor *all = DO(sub, "tn", gp_zeros_shaped(v, &s, 0), (double)INFINITY);
    return DO(triu, "ti", all, (int64_t)1);
}

/* batch x heads x l x s */
static gp_tensor *shares(gp_vjp *v) {
    gp_tensor *s = DO(mul, "tn", DO(matmul, "tt", v->x[0], gp_mT(v, v->x[1])), scale_of(v)),
              *m = mask_of(v);
    if (m) s = DO(add, "tt", s, m);
    if (gp_has(v, GP_ATTENTION_CAUSAL) && gp_int_arg(v, GP_ATTENTION_CAUSAL))
        s = DO(add, "tt", s, hidden(v));
    int64_t last = -1; /* a query that sees no key has shares of 0 */
    gp_tensor *some =
        DO(gt, "tn", DO(amax, "tvb", DO(detach, "t", s), &last, 1, 1), -(double)INFINITY);
    gp_tensor *blind = DO(logical_not, "t", some);
    return DO(masked_fill, "ttn", DO(softmax, "ti", DO(masked_fill, "ttn", s, blind, 0.0), last),
              blind, 0.0);
}

static bool composed(gp_vjp *v) {
    int mask = gp_input_of(v, GP_ATTENTION_MASK);
    int64_t last = -1;
    gp_tensor *g = v->g[0], *p = shares(v), *d = DO(matmul, "tt", g, gp_mT(v, v->x[2]));
    gp_tensor *mean = DO(sum, "tvb", DO(mul, "tt", d, p), &last, 1, 1);
    gp_tensor *ds = DO(mul, "tt", p, DO(sub, "tt", d, mean)),
              *scaled = DO(mul, "tn", ds, scale_of(v));
    if (v->need[0]) v->dx[0] = DO(matmul, "tt", scaled, v->x[1]);
    if (v->need[1]) v->dx[1] = DO(matmul, "tt", gp_mT(v, scaled), v->x[0]);
    if (v->need[2]) v->dx[2] = DO(matmul, "tt", gp_mT(v, p), g);
    if (mask >= 0 && v->need[mask]) v->dx[mask] = ds;
    return !v->failed;
}

static bool attention(gp_vjp *v) {
    int mask = gp_input_of(v, GP_ATTENTION_MASK);
    gp_tensor *d[GP_MAX_OUT] = {NULL};
    if (v->g[1])
        return gp_fail("backward: the last result of %s, what it saved, has no gradient",
                       v->node->op->name);
    if (!gp_no_grad || (mask >= 0 && v->need[mask])) return composed(v);
    if (!gp_do_all(v, d, GP_OP(attention_backward), "tttoaattt", v->x[0], v->x[1], v->x[2],
                   mask_of(v), GP_ATTENTION_CAUSAL, GP_ATTENTION_SCALE, v->y[0], v->y[1], v->g[0]))
        return false;
    for (int i = 0; i < 3; i++)
        if (v->need[i]) v->dx[i] = d[i];
    return true;
}
const gp_rule vjp_attention = {attention, "*y+"}, vjp_attention_forward = {attention, "*y"};
