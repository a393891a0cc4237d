/* The shape and dtype rule of the row `extension`: asks the library's own, or broadcasts and
 * promotes the operands. Kernels then find tensors that are contiguous and, of operands, of one
 * dtype: copies are made here where they are not. */
#include "tensor/infer.h"
#include "tensor/ops/extension/extension.h"

#include <stdio.h>
#include <string.h>

/* Replaces argument i by t, a new reference, which lives as long as the call; what it replaced
 * before is not needed any more. False: NULL. */
static bool replace(gp_call *c, int i, gp_tensor *t) {
    int at = 0;
    if (!t) return false;
    while (at < c->ntmp && c->tmp[at] != c->arg[i].t) at++;
    if (at < c->ntmp) gp_tensor_unref(c->tmp[at]);
    else c->ntmp++;
    c->tmp[at] = t;
    c->arg[i] = (gp_value){.kind = GP_TENSOR, .t = t};
    return true;
}

/* ---- arguments ---- */

static bool check_kernel(const gp_extension *e, const gp_device *dev) {
    if (gp_extension_kernel(e, dev)) return true;
    return gp_fail("%s: no kernel for %s: library '%s' has one for %s alone", e->op.name,
                   dev->vt->kind, e->library, e->row.cuda ? "cuda" : "cpu");
}

/* Whether the dtypes of the tensors in argument i are among those that the library takes. */
static bool check_dtypes(const gp_call *c, const gp_extension *e, int i) {
    const gp_value *v = &c->arg[i];
    int n = v->kind == GP_LIST ? v->n : v->kind == GP_TENSOR;
    for (int k = 0; k < n; k++) {
        const gp_tensor *t = v->kind == GP_LIST ? v->list[k] : v->t;
        if (!gp_infer_check(c, e->sig.p[i].name, (gp_dtype)t->a.dtype, e->op.types)) return false;
    }
    return true;
}

/* Lists are as they are given: of those written a copy would not do, and others may be long. */
static bool check_list(const gp_call *c, const gp_extension *e, int i) {
    const gp_value *v = &c->arg[i];
    for (int k = 0; k < v->n; k++)
        if (!v->list[k]->a.contiguous)
            return gp_fail("%s: tensor %d of argument '%s' is not contiguous; use :contiguous()",
                           c->op->name, k + 1, e->sig.p[i].name);
    return true;
}

static bool make_dense(gp_call *c, const gp_extension *e) {
    for (int i = 0; i < e->sig.n; i++) {
        if (!gp_given(c, i)) continue;
        gp_value *v = &c->arg[i];
        if (v->kind == GP_LIST) v->written = e->sig.p[i].written;
        if (e->row.flags & GPUSH_STRIDED) continue;
        if (v->kind == GP_LIST && !check_list(c, e, i)) return false;
        if (v->kind == GP_TENSOR && !v->t->a.contiguous && !replace(c, i, gp_contiguous(v->t)))
            return false;
    }
    return true;
}

/* ---- elementwise ---- */

/* The number in an operand's place as a tensor without dims. */
static gp_tensor *number(const gp_value *v, gp_dtype dt, gp_device *dev) {
    gp_call c;
    gp_call_begin(&c, GP_OP(full));
    gp_call_ints(&c, &(int64_t){0}, 0);
    gp_call_number(&c, gp_value_scalar(v));
    c.arg[c.nargs++] = (gp_value){.kind = GP_DTYPE, .i = dt};
    c.arg[c.nargs++] = (gp_value){.kind = GP_DEVICE, .dev = dev};
    return gp_call_one(&c);
}

static gp_tensor *expanded(gp_tensor *t, const gp_shape *s) {
    gp_call c;
    gp_call_begin(&c, GP_OP(expand));
    gp_call_tensor(&c, t);
    gp_call_ints(&c, s->dim, s->ndim);
    return gp_call_one(&c);
}

/* Makes operand i one of dtype dt and shape s, or of one element. */
static bool settle_operand(gp_call *c, const gp_extension *e, int i, gp_dtype dt, const gp_shape *s,
                           gp_device *dev) {
    gp_value *v = &c->arg[i];
    if (v->kind == GP_NUMBER) {
        const char *name = e->sig.p[i].name;
        if (!gp_infer_number(c, i, name, dt) || !replace(c, i, number(v, dt, dev))) return false;
    }
    if (v->t->a.dtype != dt && !replace(c, i, gp_cast(v->t, dt))) return false;
    gp_shape have = gp_tensor_shape(v->t);
    bool strided = e->row.flags & GPUSH_STRIDED;
    if (gp_shape_equal(&have, s) || (v->t->a.numel == 1 && !strided)) return true;
    return replace(c, i, expanded(v->t, s));
}

static bool infer_operands(gp_call *c, gp_meta *m, const gp_extension *e) {
    gp_shape s;
    gp_dtype dt = gp_infer_promote(c, 0, e->operands);
    if ((e->op.types & GP_T_TOFLOAT) && !gp_is_float(dt)) dt = gp_default_dtype;
    if (!gp_infer_check(c, e->sig.p[0].name, dt, e->op.types) ||
        !gp_infer_broadcast(c, 0, e->operands, &s))
        return false;
    for (int i = 0; i < e->operands; i++)
        if (!settle_operand(c, e, i, dt, &s, m->dev)) return false;
    m->n = e->results;
    for (int i = 0; i < m->n; i++) m->out[i].dtype = dt, m->out[i].shape = s;
    return true;
}

/* ---- by the library's rule ---- */

static bool nonsense(const gp_extension *e, int i, const char *what) {
    return gp_fail("%s: the shape rule of library '%s' gives result %d %s", e->op.name, e->library,
                   i + 1, what);
}

/* Takes over result i of the rule, if it is one. */
static bool take(gp_meta *m, const gp_extension *e, int i, const gpush_result *r) {
    char what[96];
    if (r->dtype < 0 || r->dtype >= GP_DTYPES) {
        snprintf(what, sizeof what, "dtype %d, which is none", (int)r->dtype);
        return nonsense(e, i, what);
    }
    if (r->ndim < 0 || r->ndim > GP_MAX_DIM) {
        snprintf(what, sizeof what, "%d dims (expected 0 to %d)", (int)r->ndim, GP_MAX_DIM);
        return nonsense(e, i, what);
    }
    m->out[i].dtype = (gp_dtype)r->dtype;
    m->out[i].shape.ndim = r->ndim;
    for (int d = 0; d < r->ndim; d++) {
        snprintf(what, sizeof what, "the size %lld in dim %d", (long long)r->size[d], d + 1);
        if (r->size[d] < 0) return nonsense(e, i, what);
        m->out[i].shape.dim[d] = r->size[d];
    }
    return true;
}

static bool infer_by_rule(gp_call *c, gp_meta *m, const gp_extension *e) {
    gp_extension_view v;
    gpush_result out[GPUSH_MAX_RESULTS];
    for (int i = 0; i < e->sig.n; i++)
        if (gp_given(c, i) && !check_dtypes(c, e, i)) return false;
    m->n = e->results;
    if (!e->row.shape) return true; /* it only writes */
    memset(out, 0, sizeof out);
    for (int i = 0; i < GPUSH_MAX_RESULTS; i++) out[i].dtype = out[i].ndim = -1;
    if (!gp_extension_see(&v, c, false) ||
        !gp_extension_ended(&v, e, e->row.shape(&v.call, out), "its shape rule"))
        return false;
    for (int i = 0; i < m->n; i++)
        if (!take(m, e, i, &out[i])) return false;
    return true;
}

/* In place the kernel writes into the tensor as it is. */
static bool check_into(const gp_call *c, const gp_meta *m, const gp_extension *e) {
    const gp_tensor *t = c->into;
    if (!t) return true;
    if (t->a.dtype != m->out[0].dtype)
        return gp_fail("%s_: the result is %s, the tensor that is written %s; use :copy_(%s(…))",
                       c->op->name, gp_dtype_name(m->out[0].dtype),
                       gp_dtype_name((gp_dtype)t->a.dtype), c->op->name);
    if (!t->a.contiguous && !(e->row.flags & GPUSH_STRIDED))
        return gp_fail("%s_: the tensor that is written is not contiguous; use :copy_(%s(…))",
                       c->op->name, c->op->name);
    return true;
}

bool infer_extension(gp_call *c, gp_meta *m) {
    const gp_extension *e = gp_extension_of(c->op);
    if (e->operands && !gp_infer_zero_dim(c, 0, e->operands)) return false;
    if (!(m->dev = gp_infer_device(c)) || !check_kernel(e, m->dev)) return false;
    return (e->operands ? infer_operands(c, m, e) : infer_by_rule(c, m, e)) &&
           check_into(c, m, e) && make_dense(c, e);
}
