/* Shape and dtype rules of matrix products, normalisation and softmax. */
#include <stdio.h>
#include <string.h>

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

/* ---- matrix products ---- */

static bool bad_product(const gp_call *c, const char *expected) {
    char a[160], b[160];
    return gp_fail("%s: %s x %s (expected %s)", c->op->name,
                   gp_tensor_text(c->arg[0].t, a, sizeof a),
                   gp_tensor_text(c->arg[1].t, b, sizeof b), expected);
}

/* The batch dims of both, broadcast, then the rows of a and the columns of b where they have
 * such. */
static bool product_shape(const gp_call *c, gp_shape *out) {
    gp_shape a = gp_tensor_shape(c->arg[0].t), b = gp_tensor_shape(c->arg[1].t);
    bool rows = a.ndim > 1, cols = b.ndim > 1;
    int64_t m = rows ? a.dim[a.ndim - 2] : 1, n = cols ? b.dim[b.ndim - 1] : 1;
    int64_t k = a.dim[a.ndim - 1], l = b.dim[cols ? b.ndim - 2 : 0];
    if (k != l)
        return bad_product(c, "the columns of the first to be as many as the rows of the second");
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
        return bad_product(c, "batches of one size");
    return infer_matmul(c, m);
}

/* ---- products added to x ---- */

/* Arguments: x, a, b, beta, alpha. The rule of the product itself sees a and b alone. */
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
    if (inputs < 0 || inputs > 1 || !x->a.ndim || x->a.dim[x->a.ndim - 1] != w->a.dim[inputs])
        return gp_fail(
            "linear: x is %s, the weight %s (expected outputs x inputs, as many inputs as "
            "x's last dim has elements)",
            gp_tensor_text(x, s, sizeof s), gp_tensor_text(w, t, sizeof t));
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

/* ---- normalisation ---- */

static bool per_channel(const gp_call *c, int i, const char *name, int64_t channels) {
    char text[160];
    if (!gp_given(c, i)) return true;
    const gp_tensor *t = c->arg[i].t;
    if (t->a.ndim != 1 || t->a.dim[0] != channels)
        return gp_fail("batch_norm: argument '%s' is %s (expected %lld elements in one dim)", name,
                       gp_tensor_text(t, text, sizeof text), (long long)channels);
    return gp_infer_check(c, name, (gp_dtype)t->a.dtype, GP_SET_FLOAT);
}

/* In training the running statistics are written; two elements of one in one place would be written
 * twice. */
static bool running_writable(const gp_call *c, int i, const char *name) {
    if (!gp_given(c, i)) return true;
    const gp_array *a = &c->arg[i].t->a;
    if (a->dim[0] > 1 && a->stride[0] == 0)
        return gp_fail(
            "batch_norm: argument '%s' was expanded and cannot be written; use :clone() first",
            name);
    return true;
}

/* Arguments: x, running_mean, running_var, weight, bias, training, momentum, eps. */
bool infer_batch_norm(gp_call *c, gp_meta *m) {
    static const char *const names[] = {"x", "running_mean", "running_var", "weight", "bias"};
    gp_tensor *x = c->arg[0].t;
    char text[160];
    bool training = c->arg[5].i;
    if (!gp_infer_device(c) || !gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_FLOAT))
        return false;
    if (x->a.ndim < 2)
        return gp_fail(
            "batch_norm: argument 'x' is %s (expected at least 2 dims, the channels in the second)",
            gp_tensor_text(x, text, sizeof text));
    int64_t channels = x->a.dim[1];
    for (int i = 1; i <= 4; i++)
        if (!per_channel(c, i, names[i], channels)) return false;
    if (gp_given(c, 1) != gp_given(c, 2))
        return gp_fail("batch_norm: running_mean and running_var go together");
    if (!training && !gp_given(c, 1))
        return gp_fail(
            "batch_norm: running_mean and running_var are needed where training is false");
    if (training && channels && x->a.numel == channels)
        return gp_fail("batch_norm: argument 'x' is %s (expected more than one value per channel "
                       "when training)",
                       gp_tensor_text(x, text, sizeof text));
    for (int i = 1; training && i <= 2; i++)
        if (!running_writable(c, i, names[i])) return false;
    for (int i = 1; training && x->a.numel && i <= 2; i++)
        if (gp_given(c, i)) c->arg[i].written = true;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return true;
}

/* ---- softmax ---- */

/* Arguments: x, dim (0-based from here on), dtype. */
bool infer_softmax(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    gp_dtype dt = gp_arg_dtype(c, 2, (gp_dtype)x->a.dtype);
    int dim;
    if (!gp_infer_check(c, gp_given(c, 2) ? "dtype" : "x", dt, GP_SET_FLOAT)) return false;
    if (!gp_dim_wrap(c->op->name, c->arg[1].i, x->a.ndim, &dim)) return false;
    c->arg[1].i = dim;
    gp_meta_like(m, 0, x, dt);
    return true;
}

bool infer_log_softmax(gp_call *c, gp_meta *m) { return infer_softmax(c, m); }
