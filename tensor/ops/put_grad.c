/* Backward of writes at places that an index gives: scatter and its like, scatter_nd. */
#include "tensor/autograd/grad.h"

static gp_tensor *mul(gp_vjp *v, gp_tensor *a, gp_tensor *b) { return DO(mul, "tt", a, b); }
static gp_tensor *number_like(gp_vjp *v, gp_tensor *t, double x) { return DO(fill, "tn", t, x); }
static gp_tensor *as_float(gp_vjp *v, gp_tensor *t) {
    return DO(to, "t-d", t, (int)v->node->in[0].dtype);
}

/* ---- along a dim: arguments x, dim, index, src ---- */

/* t at the index. */
static gp_tensor *taken(gp_vjp *v, gp_tensor *t) {
    return DO(gather, "tit", t, gp_int_arg(v, 1), v->x[1]);
}

/* t with a number put, or src added or multiplied, at the index. */
static gp_tensor *put(gp_vjp *v, gp_tensor *t, double number) {
    return DO(scatter, "titn", t, gp_int_arg(v, 1), v->x[1], number);
}
static gp_tensor *put_sum(gp_vjp *v, gp_tensor *t, gp_tensor *src) {
    return DO(scatter_add, "titt", t, gp_int_arg(v, 1), v->x[1], src);
}
static gp_tensor *put_product(gp_vjp *v, gp_tensor *t, gp_tensor *src) {
    return DO(scatter_reduce, "tittsb", t, gp_int_arg(v, 1), v->x[1], src, "prod", 1);
}

/* As much of src as index is large. */
static gp_tensor *used(gp_vjp *v, gp_tensor *src) {
    for (int d = 0; src && d < src->a.ndim; d++)
        if (src->a.dim[d] != v->x[1]->a.dim[d])
            src = DO(narrow, "tiii", src, (int64_t)d + 1, (int64_t)1, v->x[1]->a.dim[d]);
    return src;
}

/* The gradient of src from that of the part which was used. */
static gp_tensor *src_grad(gp_vjp *v, gp_tensor *part) {
    gp_shape s = *gp_in_shape(v, 2);
    int64_t more[2 * GP_MAX_DIM];
    if (!part) return NULL;
    for (int d = 0; d < s.ndim; d++) {
        int k = s.ndim - 1 - d;
        more[2 * k] = 0, more[2 * k + 1] = s.dim[d] - part->a.dim[d];
    }
    return s.ndim ? DO(pad, "tv", part, more, 2 * s.ndim) : part;
}

/* reduce: 'add' or none. */
static bool scatter(gp_vjp *v) {
    bool add = gp_has(v, 4);
    if (add && v->node->arg[4].s[0] == 'm')
        return gp_fail("backward: scatter with reduce = 'multiply' has no derivative; "
                       "scatter_reduce with 'prod' has");
    if (v->need[0]) v->dx[0] = add ? v->g[0] : put(v, v->g[0], 0);
    if (v->node->arg[3].kind == GP_TENSOR && v->need[2]) v->dx[2] = src_grad(v, taken(v, v->g[0]));
    return !v->failed;
}
const gp_rule vjp_scatter = {scatter, "1"};

static bool scatter_add(gp_vjp *v) {
    if (v->need[0]) v->dx[0] = v->g[0];
    if (v->need[2]) v->dx[2] = src_grad(v, taken(v, v->g[0]));
    return !v->failed;
}
const gp_rule vjp_scatter_add = {scatter_add, "1"};

/* ---- scatter_reduce: arguments x, dim, index, src, reduce, include_self ---- */

/* The gradients of x, where it takes part everywhere, and of what of src was used. The formulas are
 * those of PyTorch's scatter_reduce_backward. */
typedef struct pair {
    gp_tensor *x, *src;
} pair;

/* self: does x take part where index points? */
static pair mean(gp_vjp *v, bool self, gp_tensor *src) {
    gp_tensor *one = number_like(v, v->g[0], 1);
    gp_tensor *n = put_sum(v, self ? one : put(v, one, 0), number_like(v, src, 1));
    gp_tensor *d = DO(div, "tt", v->g[0], DO(masked_fill, "ttn", n, DO(eq, "tn", n, 0.0), 1.0));
    return (pair){d, taken(v, d)};
}

/* Shared among those that equal the result. */
static pair extreme(gp_vjp *v, bool self, gp_tensor *src) {
    gp_tensor *y = v->y[0], *own = as_float(v, DO(eq, "tt", v->x[0], y));
    gp_tensor *from = as_float(v, DO(eq, "tt", src, taken(v, y)));
    if (!self) own = put(v, own, 0);
    gp_tensor *d = DO(div, "tt", v->g[0], put_sum(v, own, from));
    return (pair){mul(v, own, d), mul(v, from, taken(v, d))};
}

/* Several zeros in one place: the second derivatives, which would not be 0, are refused. */
static bool single_zeros(gp_vjp *v, gp_tensor *several) {
    gp_scalar found = {.i = 0};
    if (gp_no_grad) return true;
    gp_tensor *t = DO(any, "t", several);
    if (!t || !gp_item(t, &found, GP_WHY_validate, "scatter_reduce's second derivative"))
        return false;
    return !found.i ||
           gp_fail("backward: scatter_reduce with 'prod' has no second derivative where "
                   "several zeros of src go to one place");
}

/* The product of the others: without a division where a src is 0. */
static pair prod(gp_vjp *v, bool self, gp_tensor *src) {
    gp_tensor *g = v->g[0], *zero = DO(eq, "tn", src, 0.0), *none = number_like(v, g, 0);
    gp_tensor *zeros = taken(v, put_sum(v, none, as_float(v, zero)));
    gp_tensor *only = DO(logical_and, "tt", zero, DO(eq, "tn", zeros, 1.0));
    if (!zeros || !only || !single_zeros(v, DO(gt, "tn", zeros, 1.0)))
        return v->failed = true, (pair){0};
    gp_tensor *base = self ? v->x[0] : put(v, v->x[0], 1);
    gp_tensor *rest = put_product(v, base, DO(masked_fill, "ttn", src, only, 1.0));
    gp_tensor *divided =
        DO(div, "tt", taken(v, mul(v, g, v->y[0])), DO(masked_fill, "ttn", src, zero, 1.0));
    return (pair){mul(v, g, put_product(v, number_like(v, g, 1), src)),
                  DO(where, "ttt", only, taken(v, mul(v, g, rest)), divided)};
}

static bool scatter_reduce(gp_vjp *v) {
    const char *how = v->node->arg[4].s;
    bool self = gp_int_arg(v, 5);
    gp_tensor *src = used(v, v->x[2]);
    pair d = how[0] == 's'   ? (pair){v->g[0], taken(v, v->g[0])}
             : how[0] == 'm' ? mean(v, self, src)
             : how[0] == 'p' ? prod(v, self, src)
                             : extreme(v, self, src);
    if (v->need[0]) v->dx[0] = self || !d.x ? d.x : put(v, d.x, 0);
    if (v->need[2]) v->dx[2] = src_grad(v, d.src);
    return !v->failed;
}
const gp_rule vjp_scatter_reduce = {scatter_reduce, "*y"};

/* ---- tuples: arguments x, indices, updates, reduce ---- */

static bool scatter_nd(gp_vjp *v) {
    bool add = gp_has(v, 3);
    if (add && v->node->arg[3].s[0] == 'm')
        return gp_fail(
            "backward: scatter_nd with reduce = 'multiply' has no derivative; use 'add', or "
            "multiply what gather_nd takes and put it back");
    if (v->need[0]) v->dx[0] = add ? v->g[0] : DO(scatter_nd, "ttn", v->g[0], v->x[1], 0.0);
    if (v->node->arg[2].kind == GP_TENSOR && v->need[2])
        v->dx[2] = DO(gather_nd, "tti", v->g[0], v->x[1], (int64_t)0);
    return !v->failed;
}
const gp_rule vjp_scatter_nd = {scatter_nd, "1"};
