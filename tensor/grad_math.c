/* Backward of products, statistics, softmax and scans. */
#include <math.h>

#include "tensor/grad.h"

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

static gp_tensor *centred(gp_vjp *v, double *count, double *correction) {
    int n = 0;
    const int64_t *dims = gp_has(v, 1) ? gp_ints_arg(v, 1, &n) : NULL;
    *correction = gp_float_arg(v, 2);
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
    gp_tensor *d = DO(div, "tt", g, DO(mul, "tn", y, n - correction));
    d = DO(masked_fill, "ttn", d, DO(eq, "tn", y, 0.0), 0.0);
    v->dx[0] = DO(mul, "tt", d, c);
    return !v->failed;
}
const gp_rule vjp_std = {std, "0y"};

/* d |x|_p = sign(x) (|x| / y)^(p - 1), 0 where the norm is; of the largest (smallest): shared among
 * those that are. */
static bool vector_norm(gp_vjp *v) {
    double n, p = gp_float_arg(v, 1);
    gp_tensor *x = v->x[0], *y = kept(v, v->y[0], 2, &n), *g = kept(v, v->g[0], 2, &n);
    if (!x || !y || !g || p == 0) return g && y;
    gp_tensor *sign = DO(sign, "t", x), *size = DO(abs, "t", x), *d;
    if (isinf(p)) {
        gp_tensor *equal = DO(to, "t-d", DO(eq, "tt", size, y), (int)x->a.dtype);
        gp_shape s = gp_tensor_shape(y);
        d = DO(div, "tt", equal, gp_sum_to(v, equal, &s));
    } else if (p == 1) {
        d = sign;
        sign = NULL;
    } else {
        gp_tensor *share = DO(div, "tt", size, y);
        d = DO(masked_fill, "ttn", DO(pow, "tn", share, p - 1), DO(eq, "tn", y, 0.0), 0.0);
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

static bool cumsum(gp_vjp *v) {
    int64_t dim = gp_int_arg(v, 1);
    gp_tensor *r = DO(cumsum, "ti", DO(flip, "tv", v->g[0], &dim, 1), dim);
    v->dx[0] = DO(flip, "tv", r, &dim, 1);
    return !v->failed;
}
const gp_rule vjp_cumsum = {cumsum, NULL};

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
