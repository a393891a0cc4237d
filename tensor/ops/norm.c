/* Shape and dtype rules of layer_norm, rms_norm, group_norm and the gradients of normalisations. */
#include <string.h>

#include "tensor/infer.h"
#include "tensor/ops/norm.h"

void gp_norm_read(const gp_call *c, const gp_array *x, int at, gp_norm *k) {
    bool group = c->op == GP_OP(group_norm) || c->op == GP_OP(group_norm_grad);
    k->centred = c->op != GP_OP(rms_norm) && c->op != GP_OP(rms_norm_grad);
    /* eps comes last, behind the bias that a forward op may have */
    k->eps = gp_given(c, c->nargs - 1) ? c->arg[c->nargs - 1].f : gp_norm_eps((gp_dtype)x->dtype);
    k->n = k->each = k->groups = 1;
    if (group) {
        k->groups = c->arg[at + 1].i, k->channels = x->dim[1];
        for (int d = 2; d < x->ndim; d++) k->each *= x->dim[d];
        k->n = k->channels / k->groups * k->each;
    } else {
        for (int d = x->ndim - c->arg[at + 1].n; d < x->ndim; d++) k->n *= x->dim[d];
        k->channels = k->n;
    }
    k->rows = k->n ? x->numel / k->n : 0;
    k->a_row = k->channels / k->groups;
}

/* A contiguous copy of argument i in c->tmp, at its end. */
static bool dense(gp_call *c, int i) {
    gp_tensor *t = gp_contiguous(c->arg[i].t);
    if (!t) return false;
    c->tmp[c->ntmp++] = t;
    return true;
}

/* The trailing dims of x are those in argument at + 1. */
static bool trailing(const gp_call *c, int at, gp_shape *s) {
    const gp_tensor *x = c->arg[at].t;
    char a[160], b[160];
    int n, first;
    const int64_t *v = gp_ints(c, at + 1, &n);
    *s = (gp_shape){.ndim = n < GP_MAX_DIM ? n : GP_MAX_DIM};
    for (int d = 0; d < s->ndim; d++) s->dim[d] = v[d];
    first = x->a.ndim - n;
    bool fits = n >= 1 && first >= 0;
    for (int d = 0; fits && d < n; d++) fits = x->a.dim[first + d] == v[d];
    return fits ||
           gp_fail("%s: argument 'normalized_shape' is %s, argument 'x' %s (expected its "
                   "last dims)",
                   c->op->name, gp_shape_text(s, b, sizeof b), gp_tensor_text(x, a, sizeof a));
}

/* Channels are dim 2, in groups of one size. */
static bool grouped(const gp_call *c, int at, gp_shape *s) {
    const gp_tensor *x = c->arg[at].t;
    int64_t groups = c->arg[at + 1].i;
    char text[160];
    if (x->a.ndim < 2)
        return gp_fail("%s: argument 'x' is %s (expected at least 2 dims, the channels in the "
                       "second)",
                       c->op->name, gp_tensor_text(x, text, sizeof text));
    *s = (gp_shape){.ndim = 1, .dim = {x->a.dim[1]}};
    return (groups >= 1 && x->a.dim[1] % groups == 0) ||
           gp_fail("%s: argument 'num_groups' is %lld (expected a divisor of the %lld channels)",
                   c->op->name, (long long)groups, (long long)x->a.dim[1]);
}

/* weight or bias: absent, or of shape s and contiguous. */
static bool affine(const gp_call *c, int i, const char *name, const gp_shape *s) {
    char a[160], b[160];
    if (!gp_given(c, i)) return true;
    const gp_tensor *t = c->arg[i].t;
    gp_shape have = gp_tensor_shape(t);
    if (!gp_shape_equal(&have, s))
        return gp_fail("%s: argument '%s' is %s (expected shape %s)", c->op->name, name,
                       gp_tensor_text(t, a, sizeof a), gp_shape_text(s, b, sizeof b));
    return gp_infer_check(c, name, (gp_dtype)t->a.dtype, GP_SET_FLOAT);
}

static bool checked(gp_call *c, int at, bool group, gp_shape *s) {
    const gp_tensor *x = c->arg[at].t;
    return gp_infer_device(c) && gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_FLOAT) &&
           (group ? grouped(c, at, s) : trailing(c, at, s)) && affine(c, at + 2, "weight", s);
}

static bool norm(gp_call *c, gp_meta *m, bool group) {
    gp_shape s;
    if (!checked(c, 0, group, &s)) return false;
    if (c->op != GP_OP(rms_norm) && !affine(c, 3, "bias", &s)) return false;
    gp_meta_like(m, 0, c->arg[0].t, (gp_dtype)c->arg[0].t->a.dtype);
    return dense(c, 0);
}

bool infer_layer_norm(gp_call *c, gp_meta *m) { return norm(c, m, false); }
bool infer_rms_norm(gp_call *c, gp_meta *m) { return norm(c, m, false); }
bool infer_group_norm(gp_call *c, gp_meta *m) { return norm(c, m, true); }

static bool like_x(const gp_call *c, const gp_tensor *x) {
    gp_shape have = gp_tensor_shape(c->arg[0].t), want = gp_tensor_shape(x);
    char a[160], b[160];
    if (!gp_infer_check(c, "g", (gp_dtype)c->arg[0].t->a.dtype, GP_SET_FLOAT)) return false;
    return gp_shape_equal(&have, &want) ||
           gp_fail("%s: argument 'g' is %s (expected shape %s)", c->op->name,
                   gp_tensor_text(c->arg[0].t, a, sizeof a), gp_shape_text(&want, b, sizeof b));
}

/* Results: the gradients of x, of weight (argument i) and, if asked, of bias. */
static bool gradients(gp_call *c, gp_meta *m, const gp_tensor *x, int i, const gp_shape *s,
                      bool bias) {
    gp_dtype dt = (gp_dtype)x->a.dtype;
    gp_meta_like(m, 0, x, dt);
    for (int k = 1; k < 2 + bias; k++) {
        m->out[k].shape = *s;
        m->out[k].dtype = gp_given(c, i) ? (gp_dtype)c->arg[i].t->a.dtype : dt;
    }
    m->n = 2 + bias;
    return dense(c, 1) && dense(c, 0);
}

static bool norm_grad(gp_call *c, gp_meta *m, bool group) {
    gp_shape s;
    return checked(c, 1, group, &s) && like_x(c, c->arg[1].t) &&
           gradients(c, m, c->arg[1].t, 3, &s, c->op != GP_OP(rms_norm_grad));
}

bool infer_layer_norm_grad(gp_call *c, gp_meta *m) { return norm_grad(c, m, false); }
bool infer_rms_norm_grad(gp_call *c, gp_meta *m) { return norm_grad(c, m, false); }
bool infer_group_norm_grad(gp_call *c, gp_meta *m) { return norm_grad(c, m, true); }

/* Arguments: g, x, running_mean, running_var, weight, training, eps. */
bool infer_batch_norm_grad(gp_call *c, gp_meta *m) {
    const gp_tensor *x = c->arg[1].t;
    char text[160];
    if (!gp_infer_device(c) || !gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_FLOAT) ||
        !like_x(c, x))
        return false;
    if (x->a.ndim < 2)
        return gp_fail("batch_norm_grad: argument 'x' is %s (expected at least 2 dims, the "
                       "channels in the second)",
                       gp_tensor_text(x, text, sizeof text));
    gp_shape s = {.ndim = 1, .dim = {x->a.dim[1]}};
    if (!affine(c, 2, "running_mean", &s) || !affine(c, 3, "running_var", &s) ||
        !affine(c, 4, "weight", &s))
        return false;
    if (!c->arg[5].i && !(gp_given(c, 2) && gp_given(c, 3)))
        return gp_fail("batch_norm_grad: running_mean and running_var are needed where training "
                       "is false");
    return gradients(c, m, x, 4, &s, true);
}

/* Arguments: g, y, dim (0-based from here on). */
bool infer_softmax_grad(gp_call *c, gp_meta *m) {
    const gp_tensor *y = c->arg[1].t;
    int dim;
    if (!gp_infer_device(c) || !gp_infer_check(c, "y", (gp_dtype)y->a.dtype, GP_SET_FLOAT) ||
        !like_x(c, y) || !gp_dim_wrap(c->op->name, c->arg[2].i, y->a.ndim, &dim))
        return false;
    c->arg[2].i = dim;
    gp_meta_like(m, 0, y, (gp_dtype)y->a.dtype);
    return dense(c, 1) && dense(c, 0);
}
bool infer_log_softmax_grad(gp_call *c, gp_meta *m) { return infer_softmax_grad(c, m); }

/* Arguments: x, p, training. */
bool infer_dropout(gp_call *c, gp_meta *m) {
    const gp_tensor *x = c->arg[0].t;
    if (!(c->arg[1].f >= 0 && c->arg[1].f <= 1))
        return gp_fail("%s: argument 'p' is %g (expected 0 to 1)", c->op->name, c->arg[1].f);
    if (!gp_infer_check(c, c->op == GP_OP(dropout) ? "x" : "g", (gp_dtype)x->a.dtype, GP_SET_FLOAT))
        return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return dense(c, 0);
}
bool infer_dropout_grad(gp_call *c, gp_meta *m) { return infer_dropout(c, m); }

/* Arguments: index, weight, padding_idx. */
bool infer_embedding(gp_call *c, gp_meta *m) {
    const gp_tensor *index = c->arg[0].t, *w = c->arg[1].t;
    char text[160];
    if (!gp_infer_device(c) || !gp_infer_index(c, "index", index)) return false;
    if (w->a.ndim != 2)
        return gp_fail("embedding: argument 'weight' is %s (expected 2 dims)",
                       gp_tensor_text(w, text, sizeof text));
    if (index->a.ndim == GP_MAX_DIM)
        return gp_fail("embedding: argument 'index' has %d dims, and a result one more",
                       GP_MAX_DIM);
    int64_t rows = w->a.dim[0], pad = gp_given(c, 2) ? c->arg[2].i : 1;
    if (rows == 0 && (index->a.numel || gp_given(c, 2)))
        return gp_fail("embedding: argument 'weight' is %s: it has no rows to look up",
                       gp_tensor_text(w, text, sizeof text));
    if (gp_given(c, 2) && (pad == 0 || pad > rows || pad < -rows))
        return gp_fail("embedding: argument 'padding_idx' is %lld (%s)", (long long)pad,
                       gp_index_range(rows, text, sizeof text));
    gp_meta_like(m, 0, index, (gp_dtype)w->a.dtype);
    m->out[0].shape.dim[m->out[0].shape.ndim++] = w->a.dim[1];
    return dense(c, 0) && dense(c, 1);
}

/* Arguments: g, index, num_embeddings, padding_idx. */
bool infer_embedding_grad(gp_call *c, gp_meta *m) {
    const gp_tensor *g = c->arg[0].t, *index = c->arg[1].t;
    char a[160], b[160];
    if (!gp_infer_device(c) || !gp_infer_index(c, "index", index) ||
        !gp_infer_check(c, "g", (gp_dtype)g->a.dtype, GP_SET_FLOAT))
        return false;
    bool fits = g->a.ndim == index->a.ndim + 1;
    for (int d = 0; fits && d < index->a.ndim; d++) fits = g->a.dim[d] == index->a.dim[d];
    if (!fits)
        return gp_fail("embedding_grad: argument 'g' is %s, argument 'index' %s (expected its "
                       "shape and one more dim)",
                       gp_tensor_text(g, a, sizeof a), gp_tensor_text(index, b, sizeof b));
    if (c->arg[2].i < 0)
        return gp_fail("embedding_grad: argument 'num_embeddings' is %lld (expected >= 0)",
                       (long long)c->arg[2].i);
    gp_meta_like(m, 0, g, (gp_dtype)g->a.dtype);
    m->out[0].shape = (gp_shape){.ndim = 2, .dim = {c->arg[2].i, g->a.dim[g->a.ndim - 1]}};
    return dense(c, 0) && dense(c, 1);
}
