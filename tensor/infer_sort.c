/* Shape rules of ops that order or scan along a dim: sort, argsort, unique, argmax, max, cumsum,
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

/* ---- unique ---- */

static gp_tensor *flat(gp_tensor *x) {
    gp_call c;
    gp_call_begin(&c, GP_OP(reshape));
    gp_call_tensor(&c, x);
    gp_call_ints(&c, &x->a.numel, 1);
    gp_tensor *t = gp_call_one(&c), *out = t ? gp_contiguous(t) : NULL;
    gp_tensor_unref(t);
    return out;
}

/* Leaves x (1-d) sorted, and the indices that sort it where these are wanted. */
static bool sorted(gp_call *c, gp_tensor *x, bool indices) {
    gp_call s;
    gp_call_begin(&s, indices ? GP_OP(sort) : GP_OP(msort));
    gp_call_tensor(&s, x);
    if (!gp_op_run(&s)) return false;
    for (int i = 0; i < s.nout; i++) c->tmp[i] = s.out[i];
    c->ntmp = s.nout;
    return true;
}

static gp_tensor *narrowed(gp_tensor *x, int64_t start, int64_t length) {
    gp_call c;
    gp_call_begin(&c, GP_OP(narrow));
    gp_call_tensor(&c, x);
    gp_call_int(&c, 1);
    gp_call_int(&c, start);
    gp_call_int(&c, length);
    return gp_call_one(&c);
}

static gp_tensor *run2(const gp_op *op, gp_tensor *a, gp_tensor *b) {
    gp_call c;
    gp_call_begin(&c, op);
    gp_call_tensor(&c, a);
    if (b) gp_call_tensor(&c, b);
    return gp_call_one(&c);
}

/* How many runs of equal elements x (1-d) has: a wait. */
static bool count_runs(gp_tensor *x, const char *what, int64_t *n) {
    gp_scalar s = {.i = 0};
    *n = x->a.numel;
    if (*n < 2) return true;
    gp_tensor *a = narrowed(x, 2, *n - 1), *b = narrowed(x, 1, *n - 1),
              *differ = a && b ? run2(GP_OP(ne), a, b) : NULL;
    gp_tensor *count = differ ? run2(GP_OP(count_nonzero), differ, NULL) : NULL;
    bool ok = count && gp_item(count, &s, GP_WHY_shape, what);
    gp_tensor_unref(a);
    gp_tensor_unref(b);
    gp_tensor_unref(differ);
    gp_tensor_unref(count);
    *n = s.i + 1;
    return ok;
}

static bool runs_meta(gp_call *c, gp_meta *m, int inverse_at, int counts_at) {
    gp_tensor *x = c->arg[0].t;
    int64_t n;
    if (!count_runs(c->tmp[0], c->op->name, &n)) return false;
    gp_shape out = {.ndim = 1, .dim = {n}};
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    m->out[0].shape = out;
    if (gp_given(c, inverse_at) && c->arg[inverse_at].i) gp_meta_like(m, m->n, x, GP_i64);
    if (!gp_given(c, counts_at) || !c->arg[counts_at].i) return true;
    m->out[m->n].dtype = GP_i64;
    m->out[m->n++].shape = out;
    return true;
}

/* The result is sorted whether or not that is asked for. */
bool infer_unique(gp_call *c, gp_meta *m) {
    gp_tensor *x = flat(c->arg[0].t);
    bool ok = x && sorted(c, x, gp_given(c, 2) && c->arg[2].i);
    gp_tensor_unref(x);
    return ok && runs_meta(c, m, 2, 3);
}

bool infer_unique_consecutive(gp_call *c, gp_meta *m) {
    if (!(c->tmp[0] = flat(c->arg[0].t))) return false;
    c->ntmp = 1;
    return runs_meta(c, m, 1, 2);
}

/* ---- argmax, max ---- */

static bool arg_shape(gp_call *c, gp_meta *m, bool values) {
    gp_tensor *x = c->arg[0].t;
    bool keep = gp_given(c, 2) && c->arg[2].i;
    int d = -1;
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
    if (c->arg[1].is_float) return gp_fail("%s: dim %g is no integer", c->op->name, c->arg[1].f);
    c->arg[1].kind = GP_INT;
    return arg_shape(c, m, true);
}

bool infer_max(gp_call *c, gp_meta *m) { return extreme(c, m); }
bool infer_min(gp_call *c, gp_meta *m) { return extreme(c, m); }

/* ---- cumsum ---- */

bool infer_cumsum(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    gp_dtype dt = (gp_dtype)x->a.dtype;
    int d;
    if (!settle_dim(c, 1, 1, &d)) return false;
    gp_meta_like(m, 0, x, gp_arg_dtype(c, 2, gp_is_float(dt) ? dt : GP_i64));
    return true;
}
