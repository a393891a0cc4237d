/* Shape rules of ops that order or scan along a dim: sort, argsort, argmax, max, cumsum,
 * and their kin. */
#include "tensor/infer.h"

/* Dim argument i (absent: fallback), 0-based, left as a GP_INT counted from 1. */
static bool settle_dim(gp_call *c, int i, int64_t fallback, int *d) {
    if (!gp_dim_wrap(c->op->name, gp_given(c, i) ? c->arg[i].i : fallback, c->arg[0].t->a.ndim, d))
        return false;
    while (c->nargs <= i) gp_call_none(c);
    c->arg[i] = (gp_value){.kind = GP_INT, .i = *d + 1};
    return true;
}

bool infer_sort(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    int d;
    if (!settle_dim(c, 1, -1, &d)) return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    gp_meta_like(m, 1, x, GP_i64);
    return true;
}

bool infer_argsort(gp_call *c, gp_meta *m) {
    int d;
    if (!settle_dim(c, 1, -1, &d)) return false;
    gp_meta_like(m, 0, c->arg[0].t, GP_i64);
    return true;
}

bool infer_msort(gp_call *c, gp_meta *m) {
    int d;
    gp_meta_like(m, 0, c->arg[0].t, (gp_dtype)c->arg[0].t->a.dtype);
    return settle_dim(c, 1, 1, &d);
}

/* c->tmp[0] is x without gaps. */
bool infer_argsort_rows(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    if (x->a.ndim != 2)
        return gp_fail("argsort_rows: expected a matrix, got a %d-d tensor", x->a.ndim);
    gp_meta_like(m, 0, x, GP_i64);
    m->out[0].shape = (gp_shape){.ndim = 1, .dim = {x->a.dim[0]}};
    c->tmp[0] = gp_contiguous(x);
    c->ntmp = c->tmp[0] != NULL;
    return c->ntmp;
}

/* ---- argmax, max ---- */

static bool arg_shape(gp_call *c, gp_meta *m, bool values) {
    gp_tensor *x = c->arg[0].t;
    bool keep = gp_given(c, 2) && c->arg[2].i;
    int d = -1;
    if (!values && !gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_FLOAT | GP_SET_INT))
        return false; /* PyTorch's rule: which of two truths is no question of size */
    if (gp_given(c, 1) && !settle_dim(c, 1, 1, &d)) return false;
    if (d >= 0 ? x->a.ndim && x->a.dim[d] == 0 : x->a.numel == 0)
        return gp_fail("%s: no elements to compare: a reduced dim has size 0", c->op->name);
    gp_shape s = {.ndim = 0};
    for (int i = 0; i < x->a.ndim; i++) {
        bool reduced = d < 0 || i == d;
        if (!reduced || keep) s.dim[s.ndim++] = reduced ? 1 : x->a.dim[i];
    }
    gp_meta_like(m, 0, x, values ? (gp_dtype)x->a.dtype : GP_i64);
    if (values) gp_meta_like(m, 1, x, GP_i64);
    for (int i = 0; i < m->n; i++) m->out[i].shape = s;
    if (d >= 0) return true;
    if (!(c->tmp[0] = gp_contiguous(x))) return false;
    c->ntmp = 1;
    return true;
}

bool infer_argmax(gp_call *c, gp_meta *m) { return arg_shape(c, m, false); }
bool infer_argmin(gp_call *c, gp_meta *m) { return arg_shape(c, m, false); }

/* As in PyTorch three ops in one: max(x) over everything, max(x, dim) with indices, max(x, other)
 * elementwise. */
static bool extreme(gp_call *c, gp_meta *m) {
    if (c->nargs > 1 && c->arg[1].kind == GP_TENSOR) return infer_binary(c, m);
    if (!gp_given(c, 1)) {
        while (c->nargs < 4) gp_call_none(c);
        if (c->arg[0].t->a.numel == 0)
            return gp_fail("%s: no elements to compare: the tensor is empty", c->op->name);
        return infer_reduce(c, m);
    }
    if (c->arg[1].is_bool)
        return gp_fail("%s: argument 'dim' is %s (expected an integer or a tensor)", c->op->name,
                       c->arg[1].i ? "true" : "false");
    if (c->arg[1].is_float) return gp_fail("%s: dim %g is no integer", c->op->name, c->arg[1].f);
    c->arg[1].kind = GP_INT;
    return arg_shape(c, m, true);
}

bool infer_max(gp_call *c, gp_meta *m) { return extreme(c, m); }
bool infer_min(gp_call *c, gp_meta *m) { return extreme(c, m); }

/* ---- scans ---- */

bool infer_cumsum(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    gp_dtype dt = (gp_dtype)x->a.dtype;
    int d;
    if (!settle_dim(c, 1, 1, &d)) return false;
    gp_meta_like(m, 0, x, gp_arg_dtype(c, 2, gp_is_float(dt) ? dt : GP_i64));
    return true;
}

bool infer_cumprod(gp_call *c, gp_meta *m) { return infer_cumsum(c, m); }

bool infer_logcumsumexp(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    int d;
    if (!gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_FLOAT) || !settle_dim(c, 1, 1, &d))
        return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return true;
}

bool infer_cummax(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    int d;
    if (!settle_dim(c, 1, 1, &d)) return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    gp_meta_like(m, 1, x, GP_i64);
    return true;
}

bool infer_cummin(gp_call *c, gp_meta *m) { return infer_cummax(c, m); }
