/* What shape and dtype rules of several families share: promotion, dims, broadcasting, checks. The
 * rules themselves are in tensor/ops, a file for each family. */
#include "tensor/infer.h"

#include <stdio.h>

_Thread_local gp_device *gp_default_device;
_Thread_local gp_dtype gp_default_dtype = GP_f32;

gp_device *gp_infer_device(const gp_call *c) {
    gp_device *dev = NULL;
    for (int i = 0; i < c->nargs; i++) {
        const gp_value *v = &c->arg[i];
        int n = v->kind == GP_TENSOR ? 1 : v->kind == GP_LIST ? v->n : 0;
        for (int j = 0; j < n; j++) {
            gp_device *d = (v->kind == GP_TENSOR ? v->t : v->list[j])->storage->dev;
            if (!dev) dev = d;
            else if (dev != d)
                return gp_fail_null("%s: tensors are on different devices: %s and %s (argument %d)",
                                    c->op->name, dev->name, d->name, i + 1);
        }
    }
    return dev ? dev : gp_fail_null("%s: expected a tensor", c->op->name);
}

void gp_meta_like(gp_meta *m, int i, const gp_tensor *x, gp_dtype dt) {
    m->out[i].shape = gp_tensor_shape(x);
    m->out[i].dtype = dt;
    m->dev = x->storage->dev;
    m->n = i + 1;
}

bool gp_infer_dims(const gp_call *c, int i, int ndim, uint64_t *mask) {
    *mask = ndim ? ((uint64_t)1 << ndim) - 1 : 0;
    if (!gp_given(c, i)) return true;
    int n, dim;
    const int64_t *v = gp_ints(c, i, &n);
    if (n == 0) {
        if (c->op->empty_is_none) *mask = 0;
        return true;
    }
    uint64_t seen = 0;
    for (int k = 0; k < n; k++) {
        if (!gp_dim_wrap(c->op->name, v[k], ndim, &dim)) return false;
        if (seen >> dim & 1)
            return gp_fail("%s: dim %lld is given twice", c->op->name, (long long)v[k]);
        seen |= (uint64_t)1 << dim;
    }
    *mask = ndim ? seen : 0;
    return true;
}

bool gp_infer_dim(gp_call *c, int i, int64_t fallback, int *d) {
    if (!gp_dim_wrap(c->op->name, gp_given(c, i) ? c->arg[i].i : fallback, c->arg[0].t->a.ndim, d))
        return false;
    while (c->nargs <= i) gp_call_none(c);
    c->arg[i] = (gp_value){.kind = GP_INT, .i = *d + 1};
    return true;
}

bool gp_infer_reduced(const gp_tensor *x, uint64_t mask, bool keep, gp_shape *s) {
    bool nothing = false;
    s->ndim = 0;
    for (int d = 0; d < x->a.ndim; d++) {
        bool reduced = mask >> d & 1;
        if (!reduced) s->dim[s->ndim++] = x->a.dim[d];
        else if (keep) s->dim[s->ndim++] = 1;
        nothing |= reduced && x->a.dim[d] == 0;
    }
    return nothing;
}

bool gp_infer_broadcast(const gp_call *c, int first, int n, gp_shape *s) {
    s->ndim = 0;
    for (int i = first; i < first + n; i++) {
        if (c->arg[i].kind != GP_TENSOR) continue;
        gp_shape si = gp_tensor_shape(c->arg[i].t);
        if (!gp_shape_broadcast(c->op->name, s, &si)) return false;
    }
    return true;
}

bool gp_infer_dense(gp_call *c, int i) {
    gp_tensor *t = gp_contiguous(c->arg[i].t);
    if (!t) return false;
    c->tmp[c->ntmp++] = t;
    return true;
}

gp_dtype gp_arg_dtype(const gp_call *c, int i, gp_dtype fallback) {
    return gp_given(c, i) ? (gp_dtype)c->arg[i].i : fallback;
}

gp_device *gp_arg_device(const gp_call *c, int i) {
    if (gp_given(c, i)) return c->arg[i].dev;
    return gp_default_device ? gp_default_device : gp_device_cpu();
}

bool gp_arg_shape(const gp_call *c, int i, gp_shape *s) {
    int n;
    const int64_t *v = gp_ints(c, i, &n);
    if (n > GP_MAX_DIM)
        return gp_fail("%s: %d dims are more than the %d a tensor may have", c->op->name, n,
                       GP_MAX_DIM);
    s->ndim = n;
    for (int k = 0; k < n; k++) {
        if (v[k] < 0)
            return gp_fail("%s: dim %d has negative size %lld", c->op->name, k + 1,
                           (long long)v[k]);
        s->dim[k] = v[k];
    }
    return true;
}

gp_dtype gp_value_dtype(const gp_value *v) {
    return v->is_float ? gp_default_dtype : v->is_bool ? GP_bool : GP_i64;
}

/* A number or 0-d operand changes the result's dtype only if it is of a higher kind. */
static gp_dtype raise_kind(bool have, gp_dtype dt, bool other_have, gp_dtype other) {
    if (!other_have) return dt;
    if (!have) return other;
    return gp_dtype_kind(other) > gp_dtype_kind(dt) ? other : dt;
}

gp_dtype gp_infer_promote(const gp_call *c, int first, int n) {
    bool have[3] = {false, false, false}; /* dimensioned, 0-d, number */
    gp_dtype dt[3] = {GP_bool, GP_bool, GP_bool};
    for (int i = first; i < first + n; i++) {
        const gp_value *v = &c->arg[i];
        int level = v->kind == GP_TENSOR ? v->t->a.ndim == 0 : 2;
        gp_dtype d = v->kind == GP_TENSOR ? (gp_dtype)v->t->a.dtype : gp_value_dtype(v);
        dt[level] = have[level] ? gp_dtype_promote(dt[level], d) : d;
        have[level] = true;
    }
    gp_dtype zero = raise_kind(have[1], dt[1], have[2], dt[2]);
    return raise_kind(have[0], dt[0], have[1] || have[2], zero);
}

bool gp_infer_check(const gp_call *c, const char *arg, gp_dtype dt, uint32_t set) {
    if (set >> dt & 1) return true;
    char list[80];
    size_t at = 0;
    for (int i = GP_DTYPES - 1; i >= 0; i--)
        if (set >> i & 1)
            at += (size_t)snprintf(list + at, sizeof list - at, " %s", gp_dtype_name((gp_dtype)i));
    return gp_fail("%s: dtype %s of argument '%s' is not supported (expected%s)", c->op->name,
                   gp_dtype_name(dt), arg, list);
}

bool gp_infer_mask(const gp_call *c, int i, const char *arg) {
    return gp_infer_check(c, arg, (gp_dtype)c->arg[i].t->a.dtype, GP_SET_BOOL);
}

bool gp_infer_index(const gp_call *c, const char *arg, const gp_tensor *t) {
    return gp_infer_check(c, arg, (gp_dtype)t->a.dtype, GP_SET_INT);
}

bool gp_infer_number(const gp_call *c, int i, const char *arg, gp_dtype dt) {
    const gp_value *v = &c->arg[i];
    if (gp_is_float(dt) || dt == GP_bool) return true;
    bool whole = !v->is_float || (v->f > -0x1p63 && v->f < 0x1p63) || v->f == -0x1p63;
    int64_t n = v->is_float ? (whole ? (int64_t)v->f : 0) : v->i;
    char stored[8];
    gp_scalar_store(dt, stored, (gp_scalar){.i = n});
    if (whole && gp_scalar_load(dt, stored).i == n) return true;
    if (v->is_float)
        return gp_fail("%s: argument '%s' is %g, which %s cannot hold", c->op->name, arg, v->f,
                       gp_dtype_name(dt));
    return gp_fail("%s: argument '%s' is %lld, which %s cannot hold", c->op->name, arg,
                   (long long)v->i, gp_dtype_name(dt));
}

bool gp_infer_compute(gp_call *c, gp_dtype dt, gp_dtype *out) {
    uint32_t types = c->op->types;
    if ((types & GP_T_TOFLOAT) && !gp_is_float(dt)) dt = gp_default_dtype;
    if (!gp_infer_check(c, c->op->kind == GP_UNARY || c->op->kind == GP_REDUCE ? "x" : "a", dt,
                        types))
        return false;
    if ((types & GP_T_WIDEN) && !gp_is_float(dt)) dt = GP_i64;
    c->compute = (uint8_t)dt;
    *out = types & GP_T_BOOL ? GP_bool : dt;
    return true;
}

bool gp_infer_zero_dim(gp_call *c, int first, int n) {
    gp_device *cpu = gp_device_cpu();
    bool elsewhere = false;
    for (int i = 0; i < c->nargs; i++)
        elsewhere |= c->arg[i].kind == GP_TENSOR && c->arg[i].t->storage->dev != cpu;
    for (int i = first; elsewhere && i < first + n; i++) {
        gp_value *v = &c->arg[i];
        if (v->kind != GP_TENSOR || v->t->storage->dev != cpu || v->t->a.ndim) continue;
        gp_scalar s;
        if (!gp_item(v->t, &s, GP_WHY_copy, c->name)) return false;
        *v = (gp_value){.kind = GP_NUMBER, .is_float = s.is_float};
        if (s.is_float) v->f = s.f;
        else v->i = s.i;
    }
    return true;
}
