/* Products of matrices and vectors, and those added to another tensor: shape rules and gradients.
 */
#include <stdio.h>

#include "tensor/autograd/compose.h"
#include "tensor/infer.h"

enum { NUMBERS = GP_SET_FLOAT | GP_SET_INT };

static bool same_dtype(const gp_call *c, int i, const char *name, const gp_tensor *x,
                       const char *xname) {
    gp_dtype want = (gp_dtype)x->a.dtype;
    if (!gp_given(c, i) || c->arg[i].t->a.dtype == want) return true;
    return gp_fail("%s: argument '%s' is %s and argument '%s' %s (expected the same dtype; convert "
                   "one with :to)",
                   c->op->name, xname, gp_dtype_name(want), name,
                   gp_dtype_name((gp_dtype)c->arg[i].t->a.dtype));
}

static bool bad_product(const gp_call *c, const char *expected) {
    char a[160], b[160];
    return gp_fail("%s: %s x %s (expected %s)", c->op->name,
                   gp_tensor_text(c->arg[0].t, a, sizeof a),
                   gp_tensor_text(c->arg[1].t, b, sizeof b), expected);
}

/* a's last dim and b's last but one (a vector's only one) have k and l elements. */
static bool bad_inner(const gp_call *c, int64_t k, int64_t l) {
    char text[120];
    snprintf(text, sizeof text, "the same number of %s in a as of %s in b, not %lld and %lld",
             c->arg[0].t->a.ndim > 1 ? "columns" : "elements",
             c->arg[1].t->a.ndim > 1 ? "rows" : "elements", (long long)k, (long long)l);
    return bad_product(c, text);
}

/* The broadcast batch dims of both, then the rows of a and the columns of b where they are
 * matrices. */
static bool product_shape(const gp_call *c, gp_shape *out) {
    gp_shape a = gp_tensor_shape(c->arg[0].t), b = gp_tensor_shape(c->arg[1].t);
    bool rows = a.ndim > 1, cols = b.ndim > 1;
    int64_t m = rows ? a.dim[a.ndim - 2] : 1, n = cols ? b.dim[b.ndim - 1] : 1;
    int64_t k = a.dim[a.ndim - 1], l = b.dim[cols ? b.ndim - 2 : 0];
    if (k != l) return bad_inner(c, k, l);
    a.ndim = rows ? a.ndim - 2 : 0;
    b.ndim = cols ? b.ndim - 2 : 0;
    out->ndim = 0;
    if (!gp_shape_broadcast(c->op->name, out, &a) || !gp_shape_broadcast(c->op->name, out, &b))
        return false;
    if (rows) out->dim[out->ndim++] = m;
    if (cols) out->dim[out->ndim++] = n;
    return true;
}

bool infer_matmul(gp_call *c, gp_meta *m) {
    gp_tensor *a = c->arg[0].t, *b = c->arg[1].t;
    m->n = 1;
    m->dev = gp_infer_device(c);
    if (!m->dev) return false;
    if (!a->a.ndim || !b->a.ndim) return bad_product(c, "at least one dim on either side");
    if (!same_dtype(c, 1, "b", a, "a") || !gp_infer_check(c, "a", (gp_dtype)a->a.dtype, NUMBERS))
        return false;
    m->out[0].dtype = (gp_dtype)a->a.dtype;
    return product_shape(c, &m->out[0].shape);
}

static bool ranks(const gp_call *c, int a, int b, const char *expected) {
    return (c->arg[0].t->a.ndim == a && c->arg[1].t->a.ndim == b) || bad_product(c, expected);
}

bool infer_mm(gp_call *c, gp_meta *m) {
    return ranks(c, 2, 2, "two matrices") && infer_matmul(c, m);
}
bool infer_mv(gp_call *c, gp_meta *m) {
    return ranks(c, 2, 1, "a matrix and a vector") && infer_matmul(c, m);
}
bool infer_dot(gp_call *c, gp_meta *m) {
    return ranks(c, 1, 1, "two vectors") && infer_matmul(c, m);
}

bool infer_bmm(gp_call *c, gp_meta *m) {
    if (!ranks(c, 3, 3, "two batches of matrices")) return false;
    if (c->arg[0].t->a.dim[0] != c->arg[1].t->a.dim[0])
        return bad_product(c, "the same number of matrices in both batches");
    return infer_matmul(c, m);
}

/* ---- products added to x ---- */

/* Arguments: x, a, b, beta, alpha. The rule of the product itself is run on a and b alone. */
static bool added(gp_call *c, gp_meta *m, bool (*rule)(gp_call *, gp_meta *)) {
    gp_call product = *c;
    product.nargs = 2;
    product.arg[0] = c->arg[1];
    product.arg[1] = c->arg[2];
    gp_shape x = gp_tensor_shape(c->arg[0].t);
    if (!gp_infer_device(c) || !rule(&product, m)) return false;
    if (!same_dtype(c, 0, "x", c->arg[1].t, "a")) return false;
    gp_shape all = m->out[0].shape;
    char s[160], t[160];
    if (!gp_shape_broadcast(c->op->name, &all, &x)) return false;
    if (!gp_shape_equal(&all, &m->out[0].shape))
        return gp_fail("%s: argument 'x' is %s (expected it to broadcast to the product's shape "
                       "%s)",
                       c->op->name, gp_tensor_text(c->arg[0].t, s, sizeof s),
                       gp_shape_text(&m->out[0].shape, t, sizeof t));
    if (!gp_is_float(m->out[0].dtype) && (c->arg[3].is_float || c->arg[4].is_float))
        return gp_fail("%s: arguments 'beta' and 'alpha' must be integers for %s tensors",
                       c->op->name, gp_dtype_name(m->out[0].dtype));
    return true;
}

bool infer_addmm(gp_call *c, gp_meta *m) { return added(c, m, infer_mm); }
bool infer_addmv(gp_call *c, gp_meta *m) { return added(c, m, infer_mv); }
bool infer_baddbmm(gp_call *c, gp_meta *m) { return added(c, m, infer_bmm); }

/* Arguments: x, weight, bias. */
bool infer_linear(gp_call *c, gp_meta *m) {
    const gp_tensor *x = c->arg[0].t, *w = c->arg[1].t;
    char s[160], t[160];
    m->n = 1;
    m->dev = gp_infer_device(c);
    if (!m->dev) return false;
    int inputs = w->a.ndim - 1; /* the weight's last dim */
    long long features = x->a.ndim ? x->a.dim[x->a.ndim - 1] : 0;
    if (inputs < 0 || inputs > 1 || !x->a.ndim || x->a.dim[x->a.ndim - 1] != w->a.dim[inputs])
        return gp_fail(
            "linear: x is %s and has %lld features, the weight is %s (expected outputs x %lld)",
            gp_tensor_text(x, s, sizeof s), features, gp_tensor_text(w, t, sizeof t), features);
    if (!same_dtype(c, 1, "weight", x, "x") || !same_dtype(c, 2, "bias", x, "x") ||
        !gp_infer_check(c, "x", (gp_dtype)x->a.dtype, NUMBERS))
        return false;
    gp_shape *y = &m->out[0].shape;
    *y = gp_tensor_shape(x);
    if (inputs) y->dim[y->ndim - 1] = w->a.dim[0];
    else y->ndim--;
    m->out[0].dtype = (gp_dtype)x->a.dtype;
    if (!gp_given(c, 2)) return true;
    const gp_tensor *b = c->arg[2].t;
    gp_shape all = *y, own = gp_tensor_shape(b);
    if (!gp_shape_broadcast("linear", &all, &own)) return false;
    return gp_shape_equal(&all, y) ||
           gp_fail("linear: the bias is %s (expected it to broadcast to the result's shape %s)",
                   gp_tensor_text(b, s, sizeof s), gp_shape_text(y, t, sizeof t));
}

/* ---- gradients ---- */

/* A vector as the matrix that matmul treats it as: a row (first operand) or a column. */
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

/* y = beta x + alpha a b */
static bool addmm(gp_vjp *v) {
    double beta = gp_float_arg(v, 3), alpha = gp_float_arg(v, 4);
    gp_tensor *g = v->g[0], *ga = DO(mul, "tn", g, alpha);
    if (v->need[0]) v->dx[0] = DO(mul, "tn", g, beta);
    if (v->need[1]) v->dx[1] = mm(v, ga, gp_mT(v, v->x[2]));
    if (v->need[2]) v->dx[2] = mm(v, gp_mT(v, v->x[1]), ga);
    return !v->failed;
}
const gp_rule vjp_addmm = {addmm, "|2|1"}, vjp_baddbmm = {addmm, "|2|1"};

static bool addmv(gp_vjp *v) {
    double beta = gp_float_arg(v, 3), alpha = gp_float_arg(v, 4);
    gp_tensor *g = v->g[0], *ga = DO(mul, "tn", g, alpha);
    if (v->need[0]) v->dx[0] = DO(mul, "tn", g, beta);
    if (v->need[1]) v->dx[1] = mul(v, column(v, ga), row(v, v->x[2]));
    if (v->need[2]) v->dx[2] = mm(v, gp_mT(v, v->x[1]), ga);
    return !v->failed;
}
const gp_rule vjp_addmv = {addmv, "|2|1"};

/* t as `rows` rows of n elements. */
static gp_tensor *matrix_of(gp_vjp *v, gp_tensor *t, int64_t rows, int64_t n) {
    return t ? gp_reshape(v, t, &(gp_shape){.ndim = 2, .dim = {rows, n}}) : NULL;
}

/* y = x w' + b: dx = g w, dw = g' x over all rows; a weight of one dim is one row, and y lacks that
 * dim. */
static bool linear(gp_vjp *v) {
    const gp_shape *sw = gp_in_shape(v, 1);
    bool vector = sw->ndim == 1;
    int b = gp_input_of(v, 2);
    gp_tensor *g = vector ? column(v, v->g[0]) : v->g[0];
    int64_t outputs = vector ? 1 : sw->dim[0], inputs = sw->dim[sw->ndim - 1], rows = 1;
    for (int d = 0; d < gp_in_shape(v, 0)->ndim - 1; d++) rows *= gp_in_shape(v, 0)->dim[d];
    if (v->need[0]) v->dx[0] = mm(v, g, vector ? row(v, v->x[1]) : v->x[1]);
    if (v->need[1]) {
        gp_tensor *x = matrix_of(v, v->x[0], rows, inputs), *gs = matrix_of(v, g, rows, outputs);
        v->dx[1] = gp_reshape(v, mm(v, gp_mT(v, gs), x), sw);
    }
    if (b >= 0 && v->need[b]) v->dx[b] = v->g[0];
    return !v->failed;
}
const gp_rule vjp_linear = {linear, "1|0|"};
