/* Shape rules of ops that put tensors together: cat, stack. */
#include "tensor/infer.h"

/* Common dtype of a list: PyTorch's promotion, where 0-d tensors do not widen the others. */
static gp_dtype list_dtype(const gp_value *v) {
    bool have[2] = {false, false};
    gp_dtype dt[2] = {GP_bool, GP_bool};
    for (int i = 0; i < v->n; i++) {
        int zero = v->list[i]->a.ndim == 0;
        gp_dtype d = (gp_dtype)v->list[i]->a.dtype;
        dt[zero] = have[zero] ? gp_dtype_promote(dt[zero], d) : d;
        have[zero] = true;
    }
    if (!have[0] || (have[1] && gp_dtype_kind(dt[1]) > gp_dtype_kind(dt[0]))) return dt[1];
    return dt[0];
}

static bool differ(const gp_call *c, int i, const gp_tensor *t, const gp_tensor *first) {
    char a[200], b[200];
    return gp_fail("%s: tensor %d is %s, which does not fit %s", c->op->name, i + 1, gp_tensor_text(t, a, sizeof a), gp_tensor_text(first, b, sizeof b));
}

static bool list_given(const gp_call *c, gp_meta *m) {
    if (c->arg[0].n == 0) return gp_fail("%s: expected at least one tensor", c->op->name);
    m->n = 1;
    m->out[0].dtype = list_dtype(&c->arg[0]);
    return (m->dev = gp_infer_device(c)) != NULL;
}

/* As in PyTorch, empty 1-d tensors fit anywhere and add nothing. */
static bool skipped(const gp_tensor *t) { return t->a.ndim == 1 && t->a.dim[0] == 0; }

bool infer_cat(gp_call *c, gp_meta *m) {
    const gp_value *v = &c->arg[0];
    if (!list_given(c, m)) return false;
    const gp_tensor *first = v->list[0];
    for (int i = 1; i < v->n && skipped(first); i++) first = v->list[i];
    int d;
    if (first->a.ndim == 0) return gp_fail("cat: 0-d tensors have no dim to join along; use stack");
    if (!gp_dim_wrap("cat", gp_given(c, 1) ? c->arg[1].i : 1, first->a.ndim, &d)) return false;
    gp_shape *s = &m->out[0].shape;
    *s = gp_tensor_shape(first);
    s->dim[d] = 0;
    for (int i = 0; i < v->n; i++) {
        const gp_tensor *t = v->list[i];
        if (skipped(t)) continue;
        if (t->a.ndim != first->a.ndim) return differ(c, i, t, first);
        for (int k = 0; k < s->ndim; k++)
            if (k != d && t->a.dim[k] != s->dim[k]) return differ(c, i, t, first);
        s->dim[d] += t->a.dim[d];
    }
    c->arg[1] = (gp_value){.kind = GP_INT, .i = d + 1};
    c->nargs = 2;
    return true;
}

bool infer_stack(gp_call *c, gp_meta *m) {
    const gp_value *v = &c->arg[0];
    if (!list_given(c, m)) return false;
    const gp_tensor *first = v->list[0];
    gp_shape s = gp_tensor_shape(first), *o = &m->out[0].shape;
    int d;
    if (s.ndim == GP_MAX_DIM) return gp_fail("stack: the result would have %d dims, more than %d", s.ndim + 1, GP_MAX_DIM);
    if (!gp_dim_wrap("stack", gp_given(c, 1) ? c->arg[1].i : 1, s.ndim + 1, &d)) return false;
    for (int i = 1; i < v->n; i++) {
        gp_shape si = gp_tensor_shape(v->list[i]);
        if (!gp_shape_equal(&s, &si)) return differ(c, i, v->list[i], first);
    }
    o->ndim = s.ndim + 1;
    for (int i = 0, j = 0; i < o->ndim; i++) o->dim[i] = i == d ? v->n : s.dim[j++];
    c->arg[1] = (gp_value){.kind = GP_INT, .i = d + 1};
    c->nargs = 2;
    return true;
}
