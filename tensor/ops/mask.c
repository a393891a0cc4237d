/* Shape rules of ops that take a mask, and of nonzero: where, masked_fill, masked_select,
 * masked_put, masked_scatter, nonzero, count_nonzero. */
#include "tensor/infer.h"

bool gp_infer_mask(const gp_call *c, int i, const char *arg) {
    return gp_infer_check(c, arg, (gp_dtype)c->arg[i].t->a.dtype, GP_SET_BOOL);
}

/* Broadcast of the tensor arguments among first … first + n - 1. */
static bool broadcast(const gp_call *c, int first, int n, gp_shape *s) {
    s->ndim = 0;
    for (int i = first; i < first + n; i++) {
        if (c->arg[i].kind != GP_TENSOR) continue;
        gp_shape si = gp_tensor_shape(c->arg[i].t);
        if (!gp_shape_broadcast(c->op->name, s, &si)) return false;
    }
    return true;
}

bool infer_where(gp_call *c, gp_meta *m) {
    if (!gp_infer_mask(c, 0, "cond")) return false;
    m->out[0].dtype = gp_infer_promote(c, 1, 2);
    gp_infer_zero_dim(c, 1, 2);
    m->n = 1;
    return (m->dev = gp_infer_device(c)) && broadcast(c, 0, 3, &m->out[0].shape);
}

bool infer_masked_fill(gp_call *c, gp_meta *m) {
    gp_dtype dt = (gp_dtype)c->arg[0].t->a.dtype;
    const gp_value *v = &c->arg[2];
    if (!gp_infer_mask(c, 1, "mask")) return false;
    if (v->kind == GP_TENSOR && v->t->a.ndim)
        return gp_fail("masked_fill: expected a number or a 0-d tensor as value, got a %d-d tensor",
                       v->t->a.ndim);
    gp_dtype vt = v->kind == GP_TENSOR ? (gp_dtype)v->t->a.dtype : v->is_float ? GP_f32 : GP_i64;
    if (gp_dtype_kind(vt) > gp_dtype_kind(dt) && !(v->kind == GP_NUMBER && !v->is_float))
        return gp_fail("masked_fill: a %s value does not fit in a %s tensor",
                       v->kind == GP_NUMBER ? "float" : gp_dtype_name(vt), gp_dtype_name(dt));
    gp_infer_zero_dim(c, 2, 1);
    if (c->arg[2].kind == GP_NUMBER && !gp_infer_number(c, 2, "value", dt)) return false;
    m->n = 1;
    m->out[0].dtype = dt;
    return (m->dev = gp_infer_device(c)) && broadcast(c, 0, 2, &m->out[0].shape);
}

/* Runs count_nonzero on x and reads its result: the wait that the shape costs. */
static bool count(gp_tensor *x, const char *what, int64_t *n) {
    gp_call c;
    gp_scalar s = {.i = 0};
    gp_call_begin(&c, GP_OP(count_nonzero));
    gp_call_tensor(&c, x);
    gp_tensor *t = gp_call_one(&c);
    bool ok = t && gp_item(t, &s, GP_WHY_shape, what);
    gp_tensor_unref(t);
    *n = s.i;
    return ok;
}

/* t with dims of size 1 where it is expanded: each element once. NULL with a message. */
static gp_tensor *unexpanded(gp_tensor *t) {
    gp_shape s = gp_tensor_shape(t);
    for (int d = 0; d < s.ndim; d++)
        if (t->a.stride[d] == 0 && s.dim[d] > 1) s.dim[d] = 1;
    return gp_tensor_view(t, &s, t->a.stride, 0);
}

/* Each true element of the mask stands for as many elements as broadcasting repeats it. */
bool infer_masked_select(gp_call *c, gp_meta *m) {
    gp_shape s;
    int64_t n, all;
    gp_tensor *mask = c->arg[1].t;
    if (!gp_infer_mask(c, 1, "mask") || !(m->dev = gp_infer_device(c)) || !broadcast(c, 0, 2, &s))
        return false;
    if (!gp_shape_numel(&s, &all) || !(mask = unexpanded(mask))) return false;
    bool ok = count(mask, "masked_select", &n);
    n = mask->a.numel ? n * (all / mask->a.numel) : 0;
    gp_tensor_unref(mask);
    if (!ok) return false;
    m->n = 1;
    m->out[0].dtype = (gp_dtype)c->arg[0].t->a.dtype;
    m->out[0].shape = (gp_shape){.ndim = 1, .dim = {n}};
    return true;
}

static bool bad_values(const gp_tensor *x, const gp_tensor *mask, const gp_tensor *v) {
    char a[200], b[200], d[200];
    return gp_fail("masked_put: values %s do not fit %s under the mask %s (expected one per true "
                   "element, times the dims behind the mask's)",
                   gp_tensor_text(v, a, sizeof a), gp_tensor_text(x, b, sizeof b),
                   gp_tensor_text(mask, d, sizeof d));
}

/* The mask covers x's first dims; values are (true elements, the rest of x's dims), or broadcast to
 * that. How many there are is checked by the kernel. */
bool infer_masked_put(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t, *mask = c->arg[1].t, *v = c->arg[2].t;
    if (!gp_infer_mask(c, 1, "mask") || !gp_infer_device(c)) return false;
    if (mask->a.ndim > x->a.ndim) return bad_values(x, mask, v);
    for (int i = 0; i < mask->a.ndim; i++)
        if (mask->a.dim[i] != x->a.dim[i]) return bad_values(x, mask, v);
    int rest = x->a.ndim - mask->a.ndim;
    if (v->a.ndim > rest + 1) return bad_values(x, mask, v);
    for (int i = 1; i <= rest && i <= v->a.ndim; i++) {
        int64_t d = v->a.dim[v->a.ndim - i];
        if (d != 1 && d != x->a.dim[x->a.ndim - i]) return bad_values(x, mask, v);
    }
    return gp_infer_values(c, 2, (gp_dtype)x->a.dtype, 0) &&
           (gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype), true);
}

/* x and mask are broadcast; how many elements of source are taken is checked by the kernel. */
bool infer_masked_scatter(gp_call *c, gp_meta *m) {
    m->n = 1;
    m->out[0].dtype = (gp_dtype)c->arg[0].t->a.dtype;
    if (!gp_infer_mask(c, 1, "mask") || !(m->dev = gp_infer_device(c)) ||
        !broadcast(c, 0, 2, &m->out[0].shape) || !gp_infer_values(c, 2, m->out[0].dtype, 0))
        return false;
    if (!c->ntmp && !(c->tmp[0] = gp_contiguous(c->arg[2].t))) return false;
    c->ntmp = 1;
    return true;
}

bool infer_nonzero(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    int64_t n;
    if (!count(x, "nonzero", &n)) return false;
    gp_meta_like(m, 0, x, GP_i64);
    m->out[0].shape = (gp_shape){.ndim = 2, .dim = {n, x->a.ndim}};
    return true;
}

/* The dims to count over become a mask, as for the rows of kind REDUCE. */
bool infer_count_nonzero(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    uint64_t mask;
    if (!gp_infer_dims(c, 1, x->a.ndim, &mask)) return false;
    gp_meta_like(m, 0, x, GP_i64);
    gp_shape *s = &m->out[0].shape;
    s->ndim = 0;
    for (int d = 0; d < x->a.ndim; d++)
        if (!(mask >> d & 1)) s->dim[s->ndim++] = x->a.dim[d];
    c->arg[1] = (gp_value){.kind = GP_INT, .i = (int64_t)mask};
    c->nargs = 2;
    return true;
}
