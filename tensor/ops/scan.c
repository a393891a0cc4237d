/* Scans: cumulative sums, products and extremes along a dim; shape rules and gradients. */
#include "tensor/autograd/compose.h"
#include "tensor/infer.h"

bool infer_cumsum(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    gp_dtype dt = (gp_dtype)x->a.dtype;
    int d;
    if (!gp_infer_dim(c, 1, 1, &d)) return false;
    gp_meta_like(m, 0, x, gp_arg_dtype(c, 2, gp_is_float(dt) ? dt : GP_i64));
    return true;
}

bool infer_cumprod(gp_call *c, gp_meta *m) { return infer_cumsum(c, m); }

bool infer_logcumsumexp(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    int d;
    if (!gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_FLOAT) || !gp_infer_dim(c, 1, 1, &d))
        return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return true;
}

bool infer_cummax(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    int d;
    if (!gp_infer_dim(c, 1, 1, &d)) return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    gp_meta_like(m, 1, x, GP_i64);
    return true;
}

bool infer_cummin(gp_call *c, gp_meta *m) { return infer_cummax(c, m); }

/* ---- gradients ---- */

/* Reverse cumulative sums: from each element to the last along dim. */
static gp_tensor *sums_behind(gp_vjp *v, gp_tensor *t, int64_t dim) {
    return DO(flip, "tv", DO(cumsum, "ti", DO(flip, "tv", t, &dim, 1), dim), &dim, 1);
}

static bool cumsum(gp_vjp *v) {
    return (v->dx[0] = sums_behind(v, v->g[0], gp_int_arg(v, 1))) != NULL;
}
const gp_rule vjp_cumsum = {cumsum, NULL};

/* dx_i = sum over k >= i of g_k times the product of the others up to k. Before the first zero that
 * is the sum of g y, divided by x_i; at that zero the same with a 1 in its place; after it 0. */
static gp_tensor *cumprod_fast(gp_vjp *v, int64_t dim) {
    gp_tensor *x = v->x[0], *g = v->g[0], *zero = DO(eq, "tn", x, 0.0);
    gp_tensor *count = DO(cumsum, "ti", zero, dim);
    gp_tensor *first = DO(logical_and, "tt", zero, DO(eq, "tn", count, 1.0));
    gp_tensor *without = DO(cumprod, "tia", DO(masked_fill, "ttn", x, first, 1.0), dim, 2);
    gp_tensor *at = sums_behind(v, DO(mul, "tt", g, without), dim);
    gp_tensor *ahead = DO(div, "tt", sums_behind(v, DO(mul, "tt", g, v->y[0]), dim), x);
    ahead = DO(masked_fill, "ttn", ahead, DO(gt, "tn", count, 0.0), 0.0);
    return DO(where, "ttt", first, at, ahead);
}

/* The same, element by element, so that zeros have second derivatives too: dx_i = p_i s_i, p the
 * product of the elements before, s_i = g_i + x_(i+1) s_(i+1). */
static gp_tensor *cumprod_slow(gp_vjp *v, int64_t dim) {
    int64_t n = v->x[0]->a.dim[gp_dim_arg(v, 1, v->x[0]->a.ndim)];
    gp_tensor *s = NULL, *r = NULL;
    for (int64_t i = n; i >= 1 && !v->failed; i--) {
        gp_tensor *g = DO(narrow, "tiii", v->g[0], dim, i, (int64_t)1);
        if (s)
            g = DO(add, "tt", g,
                   DO(mul, "tt", DO(narrow, "tiii", v->x[0], dim, i + 1, (int64_t)1), s));
        s = g;
        gp_tensor *p = i > 1 ? DO(narrow, "tiii", v->y[0], dim, i - 1, (int64_t)1) : NULL;
        gp_tensor *d = p ? DO(mul, "tt", p, s) : s, *both[] = {d, r};
        r = r ? DO(cat, "li", both, 2, dim) : d;
    }
    return r;
}

static bool cumprod(gp_vjp *v) {
    int64_t dim = gp_int_arg(v, 1);
    if (!v->x[0]->a.ndim || !v->x[0]->a.numel) return (v->dx[0] = v->g[0]) != NULL;
    return (v->dx[0] = gp_no_grad ? cumprod_fast(v, dim) : cumprod_slow(v, dim)) != NULL;
}
const gp_rule vjp_cumprod = {cumprod, "0y"};

/* exp(x_i) times the sum of g_k exp(-y_k) from i on, for one sign of g: in logarithms, since the
 * factors alone overflow. */
static gp_tensor *logs_behind(gp_vjp *v, gp_tensor *g, int64_t dim) {
    gp_tensor *l = DO(sub, "tt", DO(log, "t", DO(relu, "t", g)), v->y[0]);
    l = DO(flip, "tv", DO(logcumsumexp, "ti", DO(flip, "tv", l, &dim, 1), dim), &dim, 1);
    return DO(exp, "t", DO(add, "tt", l, v->x[0]));
}

/* exp(a - b) for a <= b; 1 where both are the same infinity: others are not to become NaN by it. */
static gp_tensor *ratio(gp_vjp *v, gp_tensor *a, gp_tensor *b) {
    gp_tensor *same = DO(logical_and, "tt", DO(eq, "tt", a, b), DO(isinf, "t", a));
    return DO(exp, "t", DO(masked_fill, "ttn", DO(sub, "tt", a, b), same, 0.0));
}

/* t moved by k places towards the first of dim (of n), zeros after it. */
static gp_tensor *moved_up(gp_vjp *v, gp_tensor *t, int64_t dim, int64_t n, int64_t k) {
    int64_t end[2 * GP_MAX_DIM] = {0};
    int last = t ? 2 * (t->a.ndim - 1 - gp_dim_arg(v, 1, t->a.ndim)) : 0;
    end[last + 1] = k;
    t = DO(narrow, "tiii", t, dim, k + 1, n - k);
    return DO(pad, "tvsn", t, end, last + 2, "constant", 0.0);
}

/* s_i = g_i + exp(y_i - y_(i+1)) s_(i+1), in steps that double: after each, s_i and f_i cover twice
 * as many elements. No factor is above 1, so none is infinite. */
static gp_tensor *decayed_sums(gp_vjp *v, gp_tensor *g, gp_tensor *y, int64_t dim, int64_t n) {
    if (n < 2) return g;
    gp_tensor *next = DO(narrow, "tiii", y, dim, (int64_t)2, n - 1);
    gp_tensor *f = ratio(v, DO(narrow, "tiii", y, dim, (int64_t)1, n - 1), next);
    gp_tensor *last = DO(narrow, "tiii", g, dim, n, (int64_t)1);
    f = DO(cat, "li", (gp_tensor *[]){f, DO(fill, "tn", last, 0.0)}, 2, dim);
    for (int64_t k = 1; k < n && !v->failed; k *= 2) {
        g = DO(add, "tt", g, DO(mul, "tt", f, moved_up(v, g, dim, n, k)));
        if (2 * k < n) f = DO(mul, "tt", f, moved_up(v, f, dim, n, k));
    }
    return g;
}

/* dx_i = sum over k >= i of g_k exp(x_i - y_k). Recorded without logarithms of g, which have no
 * derivative at 0. */
static bool logcumsumexp(gp_vjp *v) {
    int64_t dim = gp_int_arg(v, 1);
    gp_tensor *x = v->x[0], *g = v->g[0], *y = v->y[0];
    if (!x->a.ndim || !x->a.numel) return (v->dx[0] = g) != NULL;
    if (gp_no_grad) {
        gp_tensor *down = logs_behind(v, DO(neg, "t", g), dim);
        return (v->dx[0] = DO(sub, "tt", logs_behind(v, g, dim), down)) != NULL;
    }
    int64_t n = x->a.dim[gp_dim_arg(v, 1, x->a.ndim)];
    return (v->dx[0] = DO(mul, "tt", DO(exp, "t", DO(sub, "tt", x, y)),
                          decayed_sums(v, g, y, dim, n))) != NULL;
}
const gp_rule vjp_logcumsumexp = {logcumsumexp, "0y"};

static bool running(gp_vjp *v) { return gp_grad_to_indices(v, 1); }
const gp_rule vjp_cummax = {running, "y"}, vjp_cummin = {running, "y"};
