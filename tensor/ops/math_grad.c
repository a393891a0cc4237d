/* Backward of products, statistics, softmax and scans. */
#include <math.h>
#include <string.h>

#include "tensor/autograd/grad.h"

/* ---- products ---- */

/* A vector as the matrix that matmul takes it for: a row (first operand) or a column. */
static gp_tensor *as_matrix(gp_vjp *v, gp_tensor *t, bool row) {
    return t->a.ndim == 1 ? DO(unsqueeze, "ti", t, (int64_t)(row ? 1 : 2)) : t;
}

/* c = a b: da = g b', db = a' g, with vectors as matrices and batches summed by the caller. */
static bool matmul(gp_vjp *v) {
    const gp_shape *sa = gp_in_shape(v, 0), *sb = gp_in_shape(v, 1);
    gp_tensor *a = v->x[0], *b = v->x[1], *g = v->g[0];
    if (sb->ndim == 1) g = DO(unsqueeze, "ti", g, (int64_t)-1);
    if (sa->ndim == 1) g = DO(unsqueeze, "ti", g, (int64_t)-2);
    if (v->need[0]) {
        gp_tensor *d = DO(matmul, "tt", g, gp_mT(v, as_matrix(v, b, false)));
        if (sa->ndim == 1) d = DO(squeeze, "tv", d, &(int64_t){-2}, 1);
        v->dx[0] = d;
    }
    if (v->need[1]) {
        gp_tensor *d = DO(matmul, "tt", gp_mT(v, as_matrix(v, a, true)), g);
        if (sb->ndim == 1) d = DO(squeeze, "tv", d, &(int64_t){-1}, 1);
        v->dx[1] = d;
    }
    return !v->failed;
}
const gp_rule vjp_matmul = {matmul, "1|0"}, vjp_mm = {matmul, "1|0"}, vjp_bmm = {matmul, "1|0"},
              vjp_mv = {matmul, "1|0"};

static bool dot(gp_vjp *v) {
    if (v->need[0]) v->dx[0] = DO(mul, "tt", v->g[0], v->x[1]);
    if (v->need[1]) v->dx[1] = DO(mul, "tt", v->g[0], v->x[0]);
    return !v->failed;
}
const gp_rule vjp_dot = {dot, "1|0"};

/* ---- variance ---- */

/* t, which lacks the dims in argument a, with them as size 1; all dims where none are given. */
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

/* x less its mean over the dims of argument 1; the number of elements in each mean, and the
 * correction: argument 2, or 1 or 0 by argument 4, unbiased. */
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

/* d std = (x - mean) / ((n - correction) std); 0 where std is, as PyTorch has it. */
static bool std(gp_vjp *v) {
    double n, correction;
    gp_tensor *c = centred(v, &n, &correction), *g = kept(v, v->g[0], 1, &n);
    gp_tensor *y = kept(v, v->y[0], 1, &n);
    gp_tensor *none = DO(eq, "tn", y, 0.0);
    y = DO(masked_fill, "ttn", y, none, 1.0);
    gp_tensor *d = DO(div, "tt", g, DO(mul, "tn", y, n - correction));
    d = DO(masked_fill, "ttn", d, none, 0.0);
    v->dx[0] = DO(mul, "tt", d, c);
    return !v->failed;
}
const gp_rule vjp_std = {std, "0y"};

/* d |x|_p = sign(x) (|x| / y)^(p - 1), 0 where the norm is; of the largest (smallest): shared among
 * those that are. For p = 2 that is x / y, whose own derivative is not 0 where x is; below 2 the
 * power of |x| = 0, or its derivative, is infinite, of which sign(x) = 0 would make NaN. */
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

/* ---- softmax ---- */

static gp_tensor *sum_along(gp_vjp *v, gp_tensor *t, int64_t dim) {
    return DO(sum, "tvb", t, &dim, 1, 1);
}

/* dx = y (g - sum(g y)); in one op where nobody asks for its derivative. */
static bool softmax(gp_vjp *v) {
    if (gp_no_grad)
        return (v->dx[0] = DO(softmax_grad, "tti", v->g[0], v->y[0], gp_int_arg(v, 1))) != NULL;
    gp_tensor *y = v->y[0], *gy = DO(mul, "tt", v->g[0], y);
    gp_tensor *s = sum_along(v, gy, gp_int_arg(v, 1));
    v->dx[0] = DO(sub, "tt", gy, DO(mul, "tt", y, s));
    return !v->failed;
}
const gp_rule vjp_softmax = {softmax, "y"};

/* dx = g - softmax sum(g) */
static bool log_softmax(gp_vjp *v) {
    if (gp_no_grad)
        return (v->dx[0] = DO(log_softmax_grad, "tti", v->g[0], v->y[0], gp_int_arg(v, 1))) != NULL;
    gp_tensor *s = sum_along(v, v->g[0], gp_int_arg(v, 1));
    v->dx[0] = DO(sub, "tt", v->g[0], DO(mul, "tt", DO(exp, "t", v->y[0]), s));
    return !v->failed;
}
const gp_rule vjp_log_softmax = {log_softmax, "y"};

/* ---- scans and copies ---- */

/* Sums from each element to the last along dim. */
static gp_tensor *sums_behind(gp_vjp *v, gp_tensor *t, int64_t dim) {
    return DO(flip, "tv", DO(cumsum, "ti", DO(flip, "tv", t, &dim, 1), dim), &dim, 1);
}

static bool cumsum(gp_vjp *v) {
    return (v->dx[0] = sums_behind(v, v->g[0], gp_int_arg(v, 1))) != NULL;
}
const gp_rule vjp_cumsum = {cumsum, NULL};

/* dx_i = sum over k >= i of g_k times the product of the others up to k. Before the first zero that
 * is g y summed, over x_i; at that zero the same with a 1 in its place; behind it 0. */
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
 * product of those before, s_i = g_i + x_(i+1) s_(i+1). */
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

/* exp(x_i) times the sum of g_k exp(-y_k) behind, for one sign of g: in logarithms, since the
 * factors alone are too large. */
static gp_tensor *logs_behind(gp_vjp *v, gp_tensor *g, int64_t dim) {
    gp_tensor *l = DO(sub, "tt", DO(log, "t", DO(relu, "t", g)), v->y[0]);
    l = DO(flip, "tv", DO(logcumsumexp, "ti", DO(flip, "tv", l, &dim, 1), dim), &dim, 1);
    return DO(exp, "t", DO(add, "tt", l, v->x[0]));
}

/* dx_i = sum over k >= i of g_k exp(x_i - y_k). Recorded without logarithms of g, which have no
 * derivative at 0, but with exponents less the largest. */
static bool logcumsumexp(gp_vjp *v) {
    int64_t dim = gp_int_arg(v, 1);
    gp_tensor *x = v->x[0], *g = v->g[0];
    if (!x->a.ndim || !x->a.numel) return (v->dx[0] = g) != NULL;
    if (gp_no_grad) {
        gp_tensor *down = logs_behind(v, DO(neg, "t", g), dim);
        return (v->dx[0] = DO(sub, "tt", logs_behind(v, g, dim), down)) != NULL;
    }
    gp_tensor *most = DO(detach, "t", DO(amax, "tvb", x, &dim, 1, 1));
    gp_tensor *s =
        sums_behind(v, DO(mul, "tt", g, DO(exp, "t", DO(sub, "tt", most, v->y[0]))), dim);
    return (v->dx[0] = DO(mul, "tt", DO(exp, "t", DO(sub, "tt", x, most)), s)) != NULL;
}
const gp_rule vjp_logcumsumexp = {logcumsumexp, "0y"};

static bool flip(gp_vjp *v) {
    int n;
    const int64_t *dims = gp_ints_arg(v, 1, &n);
    return (v->dx[0] = DO(flip, "tv", v->g[0], dims, n)) != NULL;
}
const gp_rule vjp_flip = {flip, NULL};

static bool tril(gp_vjp *v) {
    return (v->dx[0] = DO(tril, "ti", v->g[0], gp_int_arg(v, 1))) != NULL;
}
const gp_rule vjp_tril = {tril, NULL};

static bool triu(gp_vjp *v) {
    return (v->dx[0] = DO(triu, "ti", v->g[0], gp_int_arg(v, 1))) != NULL;
}
const gp_rule vjp_triu = {triu, NULL};

static bool copy(gp_vjp *v) { return (v->dx[0] = v->g[0]) != NULL; }
const gp_rule vjp_copy = {copy, NULL};

/* Filled anew: what the tensor was does not count any more. */
static bool nothing(gp_vjp *v) { return true; }
const gp_rule vjp_fill = {nothing, NULL}, vjp_uniform = {nothing, NULL},
              vjp_normal = {nothing, NULL}, vjp_bernoulli = {nothing, NULL};

/* dx = g exp(x - y) */
static bool logsumexp(gp_vjp *v) {
    double n;
    gp_tensor *y = kept(v, v->y[0], 1, &n), *g = kept(v, v->g[0], 1, &n);
    v->dx[0] = DO(mul, "tt", g, DO(exp, "t", DO(sub, "tt", v->x[0], y)));
    return !v->failed;
}
const gp_rule vjp_logsumexp = {logsumexp, "0y"};

/* Rolled back by as much. */
static bool roll(gp_vjp *v) {
    int n;
    int64_t back[GP_MAX_INTS];
    const int64_t *by = gp_ints_arg(v, 1, &n);
    for (int i = 0; i < n; i++) back[i] = -by[i];
    v->dx[0] = DO(roll, "tva", v->g[0], back, n, 2);
    return !v->failed;
}
const gp_rule vjp_roll = {roll, NULL};

static bool diag_embed(gp_vjp *v) {
    v->dx[0] = DO(diagonal, "taaa", v->g[0], 1, 2, 3);
    return !v->failed;
}
const gp_rule vjp_diag_embed = {diag_embed, NULL};

/* NaN takes no part: neither in the sum nor in its gradient. */
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

/* ---- pad ---- */

/* g, with dim d (0-based) as long as the input's, each element where `mode` took it from. */
static gp_tensor *folded(gp_vjp *v, gp_tensor *g, int d, int64_t n, const int64_t *pad) {
    gp_shape s = gp_tensor_shape(g);
    gp_tensor *from = gp_count_to(v, n, g->storage->dev);
    s.dim[d] = n;
    from = DO(pad, "tva", gp_reshape(v, from, &(gp_shape){.ndim = 1, .dim = {n}}), pad, 2, 2);
    return DO(index_add, "tittn", gp_zeros_shaped(v, &s, 0), (int64_t)d + 1, from, g, 1.0);
}

/* Arguments: x, pad, mode, value. */
static bool pad(gp_vjp *v) {
    const gp_shape *s = gp_in_shape(v, 0);
    int n;
    int64_t less[2 * GP_MAX_DIM];
    const int64_t *by = gp_ints_arg(v, 1, &n);
    gp_tensor *g = v->g[0];
    if (!gp_has(v, 2) || !strcmp(v->node->arg[2].s, "constant")) {
        for (int i = 0; i < n; i++) less[i] = -by[i];
        return (v->dx[0] = DO(pad, "tv", g, less, n)) != NULL;
    }
    for (int i = 0; i < n / 2 && g; i++) {
        int d = s->ndim - 1 - i;
        if (by[2 * i] || by[2 * i + 1]) g = folded(v, g, d, s->dim[d], by + 2 * i);
    }
    return (v->dx[0] = g) != NULL;
}
const gp_rule vjp_pad = {pad, NULL};
