/* Attention: shape rules and gradients. The gradients are its _backward row, given what the
 * _forward row saved; they are composed of ops where the backward is recorded, or the mask needs a
 * gradient. */
#include "tensor/ops/attention.h"

#include <math.h>

#include "tensor/autograd/grad.h"
#include "tensor/infer.h"

static bool four(const gp_call *c, int i, const char *name) {
    const gp_tensor *t = c->arg[i].t;
    char text[160];
    return (t->a.ndim == 4 && t->a.numel > 0) ||
           gp_fail(
               "%s: argument '%s' is %s (expected batch x heads x rows x features, none of them 0)",
               c->name, name, gp_tensor_text(t, text, sizeof text));
}

/* Checks that t has query's dtype and shape s. */
static bool like(const gp_call *c, const gp_tensor *t, const char *name, gp_dtype dt,
                 const gp_shape *s) {
    gp_shape have = gp_tensor_shape(t);
    char a[160], b[160];
    if ((gp_dtype)t->a.dtype == dt && gp_shape_equal(&have, s)) return true;
    return gp_fail("%s: argument '%s' is %s (expected %s %s)", c->name, name,
                   gp_tensor_text(t, a, sizeof a), gp_dtype_name(dt),
                   gp_shape_text(s, b, sizeof b));
}

static gp_shape shape(const gp_attention *k, int64_t rows, int64_t width) {
    return (gp_shape){.ndim = 4, .dim = {k->batch, k->heads, rows, width}};
}

/* Checks that the mask broadcasts to the scores. */
static bool check_mask(const gp_call *c, const gp_attention *k) {
    if (!gp_given(c, GP_ATTENTION_MASK)) return true;
    const gp_tensor *m = c->arg[GP_ATTENTION_MASK].t;
    gp_shape want = shape(k, k->l, k->s);
    char a[160], b[160];
    bool fits = m->a.ndim <= 4 && m->a.dtype == k->q->dtype;
    for (int d = 0; fits && d < m->a.ndim; d++)
        fits = m->a.dim[d] == 1 || m->a.dim[d] == want.dim[4 - m->a.ndim + d];
    return fits || gp_fail("%s: argument 'attn_mask' is %s (expected %s that broadcasts to %s)",
                           c->name, gp_tensor_text(m, a, sizeof a),
                           gp_dtype_name((gp_dtype)k->q->dtype), gp_shape_text(&want, b, sizeof b));
}

static bool read_call(const gp_call *c, gp_meta *m, gp_attention *k) {
    static const char *const names[] = {"query", "key", "value"};
    gp_dtype dt = (gp_dtype)c->arg[0].t->a.dtype;
    if (!gp_infer_check(c, names[0], dt, GP_SET_FLOAT) || !(m->dev = gp_infer_device(c)))
        return false;
    for (int i = 0; i < 3; i++)
        if (!four(c, i, names[i])) return false;
    gp_attention_sizes(c, &c->arg[0].t->a, &c->arg[1].t->a, &c->arg[2].t->a, k);
    gp_shape key = shape(k, k->s, k->size), value = shape(k, k->s, k->width);
    return like(c, c->arg[1].t, names[1], dt, &key) && like(c, c->arg[2].t, names[2], dt, &value) &&
           check_mask(c, k);
}

static gp_dtype wide(const gp_attention *k) { return k->q->dtype == GP_f64 ? GP_f64 : GP_f32; }

static bool infer(gp_call *c, gp_meta *m, int n) {
    gp_attention k;
    if (!read_call(c, m, &k)) return false;
    m->out[0].shape = shape(&k, k.l, k.width), m->out[0].dtype = (gp_dtype)k.q->dtype;
    m->out[1].shape = (gp_shape){.ndim = 3, .dim = {k.batch, k.heads, k.l}},
    m->out[1].dtype = wide(&k);
    m->n = n;
    return true;
}

bool infer_attention(gp_call *c, gp_meta *m) { return infer(c, m, 1); }
bool infer_attention_forward(gp_call *c, gp_meta *m) { return infer(c, m, 2); }

bool infer_attention_backward(gp_call *c, gp_meta *m) {
    gp_attention k;
    if (!read_call(c, m, &k)) return false;
    gp_dtype dt = (gp_dtype)k.q->dtype;
    gp_shape out = shape(&k, k.l, k.width), stats = {.ndim = 3, .dim = {k.batch, k.heads, k.l}};
    if (!like(c, c->arg[GP_ATTENTION_OUT].t, "out", dt, &out) ||
        !like(c, c->arg[GP_ATTENTION_STATS].t, "stats", wide(&k), &stats) ||
        !like(c, c->arg[GP_ATTENTION_GRAD].t, "grad", dt, &out))
        return false;
    for (int i = 0; i < 3; i++)
        m->out[i].shape = gp_tensor_shape(c->arg[i].t), m->out[i].dtype = dt;
    m->n = 3;
    return true;
}

/* ---- gradients ---- */

static double scale_of(const gp_vjp *v) {
    if (gp_has(v, GP_ATTENTION_SCALE)) return gp_float_arg(v, GP_ATTENTION_SCALE);
    return 1 / sqrt((double)gp_in_shape(v, 0)->dim[3]);
}

/* l x s: -inf where a query does not see the key. */
static gp_tensor *hidden(gp_vjp *v) {
    gp_shape s = {.ndim = 2, .dim = {gp_in_shape(v, 0)->dim[2], gp_in_shape(v, 1)->dim[2]}};
    gp_tensor *all = DO(sub, "tn", gp_zeros_shaped(v, &s, 0), (double)INFINITY);
    return DO(triu, "ti", all, (int64_t)1);
}

/* The attention weights, batch x heads x l x s. */
static gp_tensor *shares(gp_vjp *v) {
    gp_tensor *s = DO(mul, "tn", DO(matmul, "tt", v->x[0], gp_mT(v, v->x[1])), scale_of(v)),
              *m = gp_saved(v, GP_ATTENTION_MASK);
    if (m) s = DO(add, "tt", s, m);
    if (gp_has(v, GP_ATTENTION_CAUSAL) && gp_int_arg(v, GP_ATTENTION_CAUSAL))
        s = DO(add, "tt", s, hidden(v));
    int64_t last = -1; /* a query that sees no key has weights of 0 */
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
                   gp_saved(v, GP_ATTENTION_MASK), GP_ATTENTION_CAUSAL, GP_ATTENTION_SCALE, v->y[0],
                   v->y[1], v->g[0]))
        return false;
    for (int i = 0; i < 3; i++)
        if (v->need[i]) v->dx[i] = d[i];
    return true;
}
const gp_rule vjp_attention = {attention, "*y"}, vjp_attention_forward = {attention, "*y"};
