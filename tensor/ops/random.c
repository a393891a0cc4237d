/* Random tensors, dropout, multinomial: shape rules and gradients. */
#include "tensor/autograd/grad.h"
#include "tensor/infer.h"

static bool float_result(const gp_call *c, const gp_meta *m) {
    return gp_infer_check(c, "dtype", m->out[0].dtype, GP_SET_FLOAT);
}

bool infer_rand(gp_call *c, gp_meta *m) { return infer_empty(c, m) && float_result(c, m); }
bool infer_randn(gp_call *c, gp_meta *m) { return infer_empty(c, m) && float_result(c, m); }

static bool like(gp_call *c, gp_meta *m) {
    gp_meta_like(m, 0, c->arg[0].t, (gp_dtype)c->arg[0].t->a.dtype);
    return gp_infer_check(c, "x", m->out[0].dtype, GP_SET_FLOAT);
}

static bool shaped_like(gp_call *c, gp_meta *m) {
    c->arg[0].unread = true;
    return like(c, m);
}

bool infer_rand_like(gp_call *c, gp_meta *m) { return shaped_like(c, m); }
bool infer_randn_like(gp_call *c, gp_meta *m) { return shaped_like(c, m); }

bool infer_uniform(gp_call *c, gp_meta *m) {
    double low = c->arg[1].f, high = c->arg[2].f;
    if (!(low <= high) || high - low > 1.79e308)
        return gp_fail("uniform: low is %g, high %g (expected low <= high, both finite)", low,
                       high);
    return shaped_like(c, m);
}

bool infer_normal(gp_call *c, gp_meta *m) {
    if (!(c->arg[2].f >= 0)) return gp_fail("normal: std is %g (expected >= 0)", c->arg[2].f);
    return shaped_like(c, m);
}

/* Checks that dt can represent every integer from low to high. */
static bool holds(const gp_call *c, gp_dtype dt, int64_t low, int64_t high) {
    static const struct {
        int64_t low, high;
    } range[GP_DTYPES] = {
        [GP_bool] = {0, 1},
        [GP_u8] = {0, 255},
        [GP_i8] = {-128, 127},
        [GP_i16] = {INT16_MIN, INT16_MAX},
        [GP_i32] = {INT32_MIN, INT32_MAX},
        [GP_i64] = {INT64_MIN, INT64_MAX},
        [GP_f16] = {-2048, 2048},
        [GP_bf16] = {-256, 256},
        [GP_f32] = {-(1 << 24), 1 << 24},
        [GP_f64] = {-(1LL << 53), 1LL << 53},
    };
    if (low >= range[dt].low && high <= range[dt].high) return true;
    return gp_fail("%s: %lld to %lld do not fit in %s (expected %lld to %lld)", c->op->name,
                   (long long)low, (long long)high, gp_dtype_name(dt), (long long)range[dt].low,
                   (long long)range[dt].high);
}

/* Arguments: low, high, shape, dtype, device. */
bool infer_randint(gp_call *c, gp_meta *m) {
    int64_t low = c->arg[0].i, high = c->arg[1].i;
    if (low > high)
        return gp_fail("randint: low is %lld, high %lld (expected low <= high)", (long long)low,
                       (long long)high);
    m->n = 1;
    m->dev = gp_arg_device(c, 4);
    m->out[0].dtype = gp_arg_dtype(c, 3, GP_i64);
    return holds(c, m->out[0].dtype, low, high) && gp_arg_shape(c, 2, &m->out[0].shape);
}

/* Arguments: n, dtype, device. */
bool infer_randperm(gp_call *c, gp_meta *m) {
    int64_t n = c->arg[0].i;
    if (n < 0) return gp_fail("randperm: n is %lld (expected >= 0)", (long long)n);
    m->n = 1;
    m->dev = gp_arg_device(c, 2);
    m->out[0].dtype = gp_arg_dtype(c, 1, GP_i64);
    m->out[0].shape = (gp_shape){.ndim = 1, .dim = {n}};
    return holds(c, m->out[0].dtype, 0, n);
}

/* Arguments: x, p. */
bool infer_bernoulli(gp_call *c, gp_meta *m) {
    if (!gp_given(c, 1)) return like(c, m);
    const gp_value *p = &c->arg[1];
    double v = p->kind == GP_NUMBER && !p->is_float ? (double)p->i : p->f;
    if (!(v >= 0 && v <= 1)) return gp_fail("bernoulli: argument 'p' is %g (expected 0 to 1)", v);
    c->arg[0].unread = true;
    gp_meta_like(m, 0, c->arg[0].t, (gp_dtype)c->arg[0].t->a.dtype);
    return true;
}

bool infer_poisson(gp_call *c, gp_meta *m) { return like(c, m); }

/* Arguments: x, num_samples, replacement. */
bool infer_multinomial(gp_call *c, gp_meta *m) {
    const gp_tensor *x = c->arg[0].t;
    int64_t n = c->arg[1].i;
    if (!gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_FLOAT)) return false;
    if (x->a.ndim < 1 || x->a.ndim > 2)
        return gp_fail("multinomial: argument 'x' has %d dims (expected 1 or 2)", x->a.ndim);
    int64_t k = x->a.dim[x->a.ndim - 1];
    if (n < 1)
        return gp_fail("multinomial: argument 'num_samples' is %lld (expected >= 1)", (long long)n);
    if (k == 0) return gp_fail("multinomial: argument 'x' has no weights to choose by");
    if (!c->arg[2].i && n > k)
        return gp_fail("multinomial: %lld samples of %lld weights (expected at most %lld, or "
                       "replacement = true)",
                       (long long)n, (long long)k, (long long)k);
    gp_meta_like(m, 0, x, GP_i64);
    m->out[0].shape.dim[x->a.ndim - 1] = n;
    return true;
}

/* Arguments: x (for the gradient g), p, training. */
static bool dropped(gp_call *c, gp_meta *m, const char *first) {
    const gp_tensor *x = c->arg[0].t;
    if (!(c->arg[1].f >= 0 && c->arg[1].f <= 1))
        return gp_fail("%s: argument 'p' is %g (expected 0 to 1)", c->op->name, c->arg[1].f);
    if (!gp_infer_check(c, first, (gp_dtype)x->a.dtype, GP_SET_FLOAT)) return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return gp_infer_dense(c, 0);
}
bool infer_dropout(gp_call *c, gp_meta *m) { return dropped(c, m, "x"); }
bool infer_dropout_grad(gp_call *c, gp_meta *m) { return dropped(c, m, "g"); }

/* ---- gradients ---- */

/* The tensor is overwritten, or only says what to draw: its values have no gradient. */
static bool nothing(gp_vjp *v) { return true; }
const gp_rule vjp_uniform = {nothing, NULL}, vjp_normal = {nothing, NULL},
              vjp_bernoulli = {nothing, NULL}, vjp_poisson = {nothing, NULL};

static bool dropout(gp_vjp *v) {
    gp_give(v, 0,
            DO(dropout_grad, "taaii", v->g[0], 1, 2, (int64_t)v->node->seed,
               (int64_t)v->node->counter));
    return !v->failed;
}
const gp_rule vjp_dropout = {dropout, NULL};

/* Arguments: g, p, training, seed, counter. */
static bool dropout_grad(gp_vjp *v) {
    return (v->dx[0] = DO(dropout_grad, "taaaa", v->g[0], 1, 2, 3, 4)) != NULL;
}
const gp_rule vjp_dropout_grad = {dropout_grad, NULL};
