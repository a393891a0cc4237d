/* Reductions: their shape rules, and the gradients of those that are not rows of formulas. */
#include <math.h>

#include "tensor/autograd/compose.h"
#include "tensor/autograd/formula.h"
#include "tensor/infer.h"
#include "tensor/ops/finite.h"

/* Turns argument i into the mask of its dims, and gives the result's shape. False on a bad dim. */
static bool reduced_shape(gp_call *c, int i, bool keep, gp_shape *s, bool *nothing) {
    const gp_tensor *x = c->arg[0].t;
    uint64_t mask;
    if (!gp_infer_dims(c, i, x->a.ndim, &mask)) return false;
    *nothing = gp_infer_reduced(x, mask, keep, s);
    while (c->nargs <= i) gp_call_none(c);
    c->arg[i] = (gp_value){.kind = GP_INT, .i = (int64_t)mask};
    return true;
}

/* Arguments: x, dims (a mask from here on), keepdim, dtype. */
bool infer_reduce(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    uint64_t mask;
    gp_dtype out;
    if (!gp_infer_dims(c, 1, x->a.ndim, &mask)) return false;
    if (!gp_infer_compute(c, gp_arg_dtype(c, 3, (gp_dtype)x->a.dtype), &out)) return false;
    if (gp_given(c, 3) && c->arg[3].i == GP_bool && x->a.dtype != GP_bool) {
        /* of bools: 0.5 is true, its integer would not be */
        if (!(c->tmp[0] = gp_cast(x, GP_bool))) return false;
        c->ntmp = 1;
        c->arg[0].t = x = c->tmp[0];
    }
    if (gp_given(c, 3) && (c->op->types & GP_T_WIDEN))
        c->compute = (uint8_t)(out = (gp_dtype)c->arg[3].i); /* a requested dtype is not widened */
    gp_meta_like(m, 0, x, out);
    bool nothing = gp_infer_reduced(x, mask, gp_arg_bool(c, 2), &m->out[0].shape);
    if (nothing && c->op->picks)
        return gp_fail("%s: no elements to compare: a reduced dim has size 0", c->op->name);
    c->arg[1] = (gp_value){.kind = GP_INT, .i = (int64_t)mask};
    if (c->nargs < 2) c->nargs = 2;
    return true;
}

/* ---- var, norms, logsumexp, aminmax, count_nonzero, check_finite ---- */

/* A reduction of floats: dims in argument dims, keepdim in the one at keep. */
static bool float_reduction(gp_call *c, gp_meta *m, int dims, int keep, bool *nothing) {
    gp_tensor *x = c->arg[0].t;
    if (!gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_FLOAT)) return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return reduced_shape(c, dims, gp_arg_bool(c, keep), &m->out[0].shape, nothing);
}

bool infer_var(gp_call *c, gp_meta *m) {
    bool nothing;
    if (gp_given(c, 4)) c->arg[2] = (gp_value){.kind = GP_NUMBER, .i = c->arg[4].i};
    return float_reduction(c, m, 1, 3, &nothing);
}

bool infer_std(gp_call *c, gp_meta *m) { return infer_var(c, m); }

/* The dtype in argument i becomes the result's. */
static bool float_dtype(gp_call *c, gp_meta *m, int i) {
    m->out[0].dtype = gp_arg_dtype(c, i, m->out[0].dtype);
    return gp_infer_check(c, "dtype", m->out[0].dtype, GP_SET_FLOAT);
}

/* As sum: integers and bool give i64, unless another dtype is asked for. */
bool infer_nansum(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    gp_dtype dt = (gp_dtype)x->a.dtype;
    bool nothing;
    gp_meta_like(m, 0, x, gp_arg_dtype(c, 3, gp_is_float(dt) ? dt : GP_i64));
    c->compute = (uint8_t)m->out[0].dtype;
    return reduced_shape(c, 1, gp_arg_bool(c, 2), &m->out[0].shape, &nothing);
}

bool infer_nanmean(gp_call *c, gp_meta *m) {
    bool nothing;
    return float_reduction(c, m, 1, 2, &nothing) && float_dtype(c, m, 3);
}

bool infer_linalg_vector_norm(gp_call *c, gp_meta *m) {
    const gp_value *v = &c->arg[1];
    double ord = gp_given(c, 1) ? (v->is_float ? v->f : (double)v->i) : 2;
    bool nothing;
    if (!float_reduction(c, m, 2, 3, &nothing) || !float_dtype(c, m, 4)) return false;
    if (nothing && (ord < 0 || ord == INFINITY))
        return gp_fail("linalg.vector_norm: no elements to compare: a reduced dim has size 0");
    c->arg[1] = (gp_value){.kind = GP_FLOAT, .f = ord};
    return true;
}

/* Integers give the default float, as in elementwise functions. */
bool infer_logsumexp(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    gp_dtype dt = (gp_dtype)x->a.dtype;
    bool nothing;
    gp_meta_like(m, 0, x, gp_is_float(dt) ? dt : gp_default_dtype);
    return reduced_shape(c, 1, gp_arg_bool(c, 2), &m->out[0].shape, &nothing);
}

/* Optional dim argument 1 (absent: all dims) as a list of one, which gp_infer_dims reads. */
static void dim_as_list(gp_call *c) {
    if (!gp_given(c, 1)) return;
    c->ints[c->nints] = c->arg[1].i;
    c->arg[1] = (gp_value){.kind = GP_INTS, .n = 1, .i = c->nints++};
}

bool infer_aminmax(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    bool nothing;
    dim_as_list(c);
    for (int i = 0; i < 2; i++) gp_meta_like(m, i, x, (gp_dtype)x->a.dtype);
    if (!reduced_shape(c, 1, gp_arg_bool(c, 2), &m->out[0].shape, &nothing)) return false;
    if (nothing) return gp_fail("aminmax: no elements to compare: a reduced dim has size 0");
    m->out[1].shape = m->out[0].shape;
    return true;
}

bool infer_count_nonzero(gp_call *c, gp_meta *m) {
    bool nothing;
    gp_meta_like(m, 0, c->arg[0].t, GP_i64);
    return reduced_shape(c, 1, false, &m->out[0].shape, &nothing);
}

/* Arguments: those of finite.h. There is no result. */
bool infer_check_finite(gp_call *c, gp_meta *m) {
    static const char *const names[] = {"x", "a", "b", "c"};
    m->n = 0;
    for (int i = 0; i <= GP_CHECK_MOST; i++)
        for (int k = 0, n = gp_given(c, i) ? gp_check_count(c) : 0; k < n; k++) {
            const gp_array *a = gp_check_array(c, i, k);
            if (a && !gp_infer_check(c, names[i], (gp_dtype)a->dtype, GP_SET_FLOAT)) return false;
        }
    return (m->dev = gp_infer_device(c)) != NULL;
}

/* ---- argmax, max ---- */

static bool arg_shape(gp_call *c, gp_meta *m, bool values) {
    gp_tensor *x = c->arg[0].t;
    bool keep = gp_given(c, 2) && c->arg[2].i;
    int d = -1;
    if (!values && !gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_FLOAT | GP_SET_INT))
        return false; /* PyTorch's rule: bools have no order */
    if (gp_given(c, 1) && !gp_infer_dim(c, 1, 1, &d)) return false;
    if (d >= 0 ? x->a.ndim && x->a.dim[d] == 0 : x->a.numel == 0)
        return gp_fail("%s: no elements to compare: a reduced dim has size 0", c->op->name);
    gp_shape s = {.ndim = 0};
    for (int i = 0; i < x->a.ndim; i++) {
        bool reduced = d < 0 || i == d;
        if (!reduced || keep) s.dim[s.ndim++] = reduced ? 1 : x->a.dim[i];
    }
    gp_meta_like(m, 0, x, values ? (gp_dtype)x->a.dtype : GP_i64);
    if (values) gp_meta_like(m, 1, x, GP_i64);
    for (int i = 0; i < m->n; i++) m->out[i].shape = s;
    if (d >= 0) return true;
    if (!(c->tmp[0] = gp_contiguous(x))) return false;
    c->ntmp = 1;
    return true;
}

bool infer_argmax(gp_call *c, gp_meta *m) { return arg_shape(c, m, false); }
bool infer_argmin(gp_call *c, gp_meta *m) { return arg_shape(c, m, false); }

/* As in PyTorch, three ops in one: max(x) over everything, max(x, dim) with indices, max(x, other)
 * elementwise. */
static bool extreme(gp_call *c, gp_meta *m) {
    if (c->nargs > 1 && c->arg[1].kind == GP_TENSOR) return infer_binary(c, m);
    if (!gp_given(c, 1)) {
        while (c->nargs < 4) gp_call_none(c);
        if (c->arg[0].t->a.numel == 0)
            return gp_fail("%s: no elements to compare: the tensor is empty", c->op->name);
        return infer_reduce(c, m);
    }
    if (c->arg[1].is_bool)
        return gp_fail("%s: argument 'dim' is %s (expected an integer or a tensor)", c->op->name,
                       c->arg[1].i ? "true" : "false");
    if (c->arg[1].is_float)
        return gp_fail("%s: dim %g is not an integer", c->op->name, c->arg[1].f);
    c->arg[1].kind = GP_INT;
    return arg_shape(c, m, true);
}

bool infer_max(gp_call *c, gp_meta *m) { return extreme(c, m); }
bool infer_min(gp_call *c, gp_meta *m) { return extreme(c, m); }

/* ---- gradients of sums ---- */

/* t, which lacks the dims in argument a (absent: all dims), with them as size 1. */
static gp_tensor *kept(gp_vjp *v, gp_tensor *t, int a, double *count) {
    gp_shape s = *gp_in_shape(v, 0);
    int n = 0, dim;
    const int64_t *dims = gp_has(v, a) ? gp_ints_arg(v, a, &n) : NULL;
    *count = 1;
    for (int i = 0; i < (n ? n : s.ndim); i++) {
        if (!gp_dim_wrap(v->node->op->name, n ? dims[i] : i + 1, s.ndim, &dim)) return NULL;
        if (s.ndim) *count *= (double)s.dim[dim], s.dim[dim] = 1;
    }
    return gp_reshape(v, t, &s);
}

/* x minus its mean over the dims of argument 1; *count: elements in each mean; and the correction:
 * argument 2, or 1 or 0 by argument 4, unbiased. */
static gp_tensor *centred(gp_vjp *v, double *count, double *correction) {
    int n = 0;
    const int64_t *dims = gp_has(v, 1) ? gp_ints_arg(v, 1, &n) : NULL;
    *correction = gp_has(v, 4) ? (double)gp_int_arg(v, 4) : gp_float_arg(v, 2);
    gp_tensor *mean = dims && n ? DO(mean, "tvb", v->x[0], dims, n, 1) : DO(mean, "t", v->x[0]);
    kept(v, v->g[0], 1, count);
    return DO(sub, "tt", v->x[0], mean);
}

/* d var = 2 (x - mean) / (n - correction) */
static bool var(gp_vjp *v) {
    double n, correction;
    gp_tensor *c = centred(v, &n, &correction), *g = kept(v, v->g[0], 1, &n);
    v->dx[0] = DO(mul, "tt", DO(mul, "tn", g, 2 / (n - correction)), c);
    return !v->failed;
}
const gp_rule vjp_var = {var, "0"};

/* d std = (x - mean) / ((n - correction) std); 0 where std is 0, as in PyTorch. Divided by the two
 * in turn: their product is more than f16 holds from 65,504 elements on. */
static bool std(gp_vjp *v) {
    double n, correction;
    gp_tensor *c = centred(v, &n, &correction), *g = kept(v, v->g[0], 1, &n);
    gp_tensor *y = kept(v, v->y[0], 1, &n);
    gp_tensor *none = DO(eq, "tn", y, 0.0);
    y = DO(masked_fill, "ttn", y, none, 1.0);
    gp_tensor *d = DO(div, "tn", DO(div, "tt", g, y), n - correction);
    d = DO(masked_fill, "ttn", d, none, 0.0);
    v->dx[0] = DO(mul, "tt", d, c);
    return !v->failed;
}
const gp_rule vjp_std = {std, "0y"};

/* d |x|_p = sign(x) (|x| / y)^(p - 1), 0 where the norm is 0; for infinite p: shared among the
 * elements that equal y. For p = 2 it is x / y, whose own derivative is right at 0. Below 2 the
 * power of |x| = 0, or its derivative, is infinite, and times sign(x) = 0 would be NaN. */
static bool vector_norm(gp_vjp *v) {
    double n, p = gp_float_arg(v, 1);
    gp_tensor *x = v->x[0], *y = kept(v, v->y[0], 2, &n), *g = kept(v, v->g[0], 2, &n);
    if (!x || !y || !g || p == 0) return g && y;
    gp_tensor *sign = p == 2 ? NULL : DO(sign, "t", x), *size = p == 2 ? x : DO(abs, "t", x), *d;
    if (isinf(p)) {
        gp_tensor *equal = DO(to, "t-d", DO(eq, "tt", size, y), (int)x->a.dtype);
        gp_shape s = gp_tensor_shape(y);
        d = DO(div, "tt", equal, gp_sum_to(v, equal, &s));
    } else if (p == 1) {
        d = sign;
        sign = NULL;
    } else {
        gp_tensor *none = DO(eq, "tn", y, 0.0);
        if (p < 2) size = DO(masked_fill, "ttn", size, DO(eq, "tn", size, 0.0), 1.0);
        d = DO(div, "tt", size, DO(masked_fill, "ttn", y, none, 1.0));
        if (p != 2) d = DO(pow, "tn", d, p - 1);
        g = DO(masked_fill, "ttn", g, none, 0.0);
    }
    if (sign) d = DO(mul, "tt", d, sign);
    v->dx[0] = DO(mul, "tt", d, g);
    return !v->failed;
}
const gp_rule vjp_linalg_vector_norm = {vector_norm, "0y"};

/* dx = g exp(x - y) */
static bool logsumexp(gp_vjp *v) {
    double n;
    gp_tensor *y = kept(v, v->y[0], 1, &n), *g = kept(v, v->g[0], 1, &n);
    v->dx[0] = DO(mul, "tt", g, DO(exp, "t", DO(sub, "tt", v->x[0], y)));
    return !v->failed;
}
const gp_rule vjp_logsumexp = {logsumexp, "0y"};

/* NaN is ignored in the sum and gets no gradient. */
static bool nansum(gp_vjp *v) {
    double n;
    gp_tensor *g = gp_expand(v, kept(v, v->g[0], 1, &n), gp_in_shape(v, 0));
    v->dx[0] = DO(masked_fill, "ttn", g, DO(isnan, "t", v->x[0]), 0.0);
    return !v->failed;
}
const gp_rule vjp_nansum = {nansum, "0"};

static bool nanmean(gp_vjp *v) {
    double n;
    gp_tensor *nan = DO(isnan, "t", v->x[0]), *g = kept(v, v->g[0], 1, &n);
    gp_tensor *there = DO(to, "t-d", DO(logical_not, "t", nan), (int)v->node->out[0].dtype);
    gp_shape s = gp_tensor_shape(g);
    g = gp_expand(v, DO(div, "tt", g, gp_sum_to(v, there, &s)), gp_in_shape(v, 0));
    v->dx[0] = DO(masked_fill, "ttn", g, nan, 0.0);
    return !v->failed;
}
const gp_rule vjp_nanmean = {nanmean, "0"};

/* ---- gradients of minima and maxima ---- */

/* Arguments: x, dim, keepdim. Results: the smallest, the largest. */
static bool aminmax(gp_vjp *v) {
    int ndim = gp_in_shape(v, 0)->ndim, dim = gp_has(v, 1) && ndim ? gp_dim_arg(v, 1, ndim) : -1;
    for (int i = 0; i < 2; i++) {
        gp_tensor *g = v->g[i], *y = v->y[i];
        if (!g) continue;
        if (dim >= 0 && !(gp_has(v, 2) && gp_int_arg(v, 2))) {
            g = DO(unsqueeze, "ti", g, (int64_t)dim + 1);
            y = DO(unsqueeze, "ti", y, (int64_t)dim + 1);
        }
        gp_tensor *d = g && y ? gp_among_equals(v, y, g, dim) : NULL;
        v->dx[0] = v->dx[0] ? DO(add, "tt", v->dx[0], d) : d;
    }
    return !v->failed;
}
const gp_rule vjp_aminmax = {aminmax, "0y"};

/* The gradient of one of two operands, by formula d of another row. */
static gp_tensor *of_pair(gp_vjp *v, const gp_op *d) {
    gp_tensor *t[] = {v->g[0], v->x[0], v->x[1], v->y[0]};
    gp_formula_vars vars = {.n = 4, .name = "gaby"};
    if (gp_no_grad) return gp_do(v, d, "tttt", t[0], t[1], t[2], t[3]);
    for (int i = 0; i < 4; i++) vars.value[i] = (gp_value){.kind = GP_TENSOR, .t = t[i]};
    return gp_formula(v, d->formula, &vars);
}

/* max(x): shared among the largest. max(x, dim): to the element at the index. max(a, b): as in
 * maximum's row. */
static bool max_of(gp_vjp *v, const gp_op *first) {
    const gp_node *n = v->node;
    if (!gp_has(v, 1)) {
        return gp_grad_to_equals(v);
    } else if (n->arg[1].kind == GP_TENSOR) {
        for (int k = 0; k < 2; k++)
            if (v->need[k]) v->dx[k] = of_pair(v, &gp_ops[first->grad + k]);
    } else if (v->g[0]) {
        return gp_grad_to_chosen(v, 1, 2);
    }
    return !v->failed;
}
static bool max(gp_vjp *v) { return max_of(v, GP_OP(maximum)); }
static bool min(gp_vjp *v) { return max_of(v, GP_OP(minimum)); }
const gp_rule vjp_max = {max, "01y"}, vjp_min = {min, "01y"};
