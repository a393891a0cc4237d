/* Shape and dtype rules of the reductions that are no row of formulas: var, norms, logsumexp,
 * aminmax, median, mode. */
#include <math.h>

#include "tensor/infer.h"

/* Argument i becomes the mask of the dims it has; the result's shape. False on a bad dim. */
static bool reduced_shape(gp_call *c, int i, bool keep, gp_shape *s, bool *nothing) {
    const gp_tensor *x = c->arg[0].t;
    uint64_t mask;
    if (!gp_infer_dims(c, i, x->a.ndim, &mask)) return false;
    s->ndim = 0;
    bool empty = false;
    for (int d = 0; d < x->a.ndim; d++) {
        bool reduced = mask >> d & 1;
        if (!reduced) s->dim[s->ndim++] = x->a.dim[d];
        else if (keep) s->dim[s->ndim++] = 1;
        empty |= reduced && x->a.dim[d] == 0;
    }
    *nothing = empty;
    while (c->nargs <= i) gp_call_none(c);
    c->arg[i] = (gp_value){.kind = GP_INT, .i = (int64_t)mask};
    return true;
}

/* Optional boolean argument i, false by default. */
static bool flag(const gp_call *c, int i) { return gp_given(c, i) && c->arg[i].i; }

/* A reduction of floats: dims in argument dims, keepdim in the one at keep. */
static bool float_reduction(gp_call *c, gp_meta *m, int dims, int keep, bool *nothing) {
    gp_tensor *x = c->arg[0].t;
    if (!gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_FLOAT)) return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return reduced_shape(c, dims, flag(c, keep), &m->out[0].shape, nothing);
}

bool infer_var(gp_call *c, gp_meta *m) {
    bool nothing;
    if (gp_given(c, 4)) c->arg[2] = (gp_value){.kind = GP_NUMBER, .i = c->arg[4].i};
    return float_reduction(c, m, 1, 3, &nothing);
}

bool infer_std(gp_call *c, gp_meta *m) { return infer_var(c, m); }

/* The dtype in argument i becomes the result's. */
static bool float_dtype(gp_call *c, gp_meta *m, int i) {
    m->out[0].dtype = gp_arg_dtype(c, i, m->out[0].dtype);
    return gp_infer_check(c, "dtype", m->out[0].dtype, GP_SET_FLOAT);
}

/* As sum: integers and bool give i64, unless another dtype is asked for. */
bool infer_nansum(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    gp_dtype dt = (gp_dtype)x->a.dtype;
    bool nothing;
    gp_meta_like(m, 0, x, gp_arg_dtype(c, 3, gp_is_float(dt) ? dt : GP_i64));
    c->compute = (uint8_t)m->out[0].dtype;
    return reduced_shape(c, 1, flag(c, 2), &m->out[0].shape, &nothing);
}

bool infer_nanmean(gp_call *c, gp_meta *m) {
    bool nothing;
    return float_reduction(c, m, 1, 2, &nothing) && float_dtype(c, m, 3);
}

bool infer_linalg_vector_norm(gp_call *c, gp_meta *m) {
    const gp_value *v = &c->arg[1];
    double ord = gp_given(c, 1) ? (v->is_float ? v->f : (double)v->i) : 2;
    bool nothing;
    if (!float_reduction(c, m, 2, 3, &nothing) || !float_dtype(c, m, 4)) return false;
    if (nothing && (ord < 0 || ord == INFINITY))
        return gp_fail("linalg.vector_norm: no elements to compare: a reduced dim has size 0");
    c->arg[1] = (gp_value){.kind = GP_FLOAT, .f = ord};
    return true;
}

/* Integers give the default float, as in elementwise functions. */
bool infer_logsumexp(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    gp_dtype dt = (gp_dtype)x->a.dtype;
    bool nothing;
    gp_meta_like(m, 0, x, gp_is_float(dt) ? dt : gp_default_dtype);
    return reduced_shape(c, 1, flag(c, 2), &m->out[0].shape, &nothing);
}

/* Optional dim argument 1 (absent: all dims) as a list of one, which gp_infer_dims reads. */
static void dim_as_list(gp_call *c) {
    if (!gp_given(c, 1)) return;
    c->ints[c->nints] = c->arg[1].i;
    c->arg[1] = (gp_value){.kind = GP_INTS, .n = 1, .i = c->nints++};
}

bool infer_aminmax(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    bool nothing;
    dim_as_list(c);
    for (int i = 0; i < 2; i++) gp_meta_like(m, i, x, (gp_dtype)x->a.dtype);
    if (!reduced_shape(c, 1, flag(c, 2), &m->out[0].shape, &nothing)) return false;
    if (nothing) return gp_fail("aminmax: no elements to compare: a reduced dim has size 0");
    m->out[1].shape = m->out[0].shape;
    return true;
}

/* ---- median, mode ---- */

/* Values and indices along one dim, which is left 0-based in argument 1; -1: of all, the value
 * only. */
static bool choice(gp_call *c, gp_meta *m, bool whole) {
    gp_tensor *x = c->arg[0].t;
    bool nothing, keep = flag(c, 2);
    int d = -1;
    if (!whole && !gp_dim_wrap(c->op->name, gp_given(c, 1) ? c->arg[1].i : -1, x->a.ndim, &d))
        return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    if (!whole) gp_meta_like(m, 1, x, GP_i64);
    dim_as_list(c);
    if (!whole && !gp_given(c, 1)) c->ints[0] = -1, c->arg[1] = (gp_value){.kind = GP_INTS, .n = 1};
    if (!reduced_shape(c, 1, keep, &m->out[0].shape, &nothing)) return false;
    if (nothing && !whole)
        return gp_fail("%s: no elements to choose from: dim %d has size 0", c->op->name, d + 1);
    c->arg[1] = (gp_value){.kind = GP_INT, .i = d};
    if (!whole) return m->out[1].shape = m->out[0].shape, true;
    c->tmp[0] = gp_contiguous(x);
    c->ntmp = 1;
    return c->tmp[0] != NULL;
}

/* Integers have no NaN to stand for the median of nothing. */
static bool middle(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    bool whole = !gp_given(c, 1);
    if (!gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_FLOAT | GP_SET_INT)) return false;
    if (whole && x->a.numel == 0 && !gp_is_float((gp_dtype)x->a.dtype))
        return gp_fail("%s: no elements to choose from: the tensor is empty", c->op->name);
    return choice(c, m, whole);
}

bool infer_median(gp_call *c, gp_meta *m) { return middle(c, m); }
bool infer_nanmedian(gp_call *c, gp_meta *m) { return middle(c, m); }
bool infer_mode(gp_call *c, gp_meta *m) { return choice(c, m, false); }
