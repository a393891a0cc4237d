/* Shape rules of unique and unique_consecutive: sorting makes equal elements adjacent, then the
 * runs are counted, which is the wait. Where the inverse is not asked for, distinct does both. */
#include "tensor/infer.h"

static gp_tensor *run2(const gp_op *op, gp_tensor *a, gp_tensor *b) {
    gp_call c;
    gp_call_begin(&c, op);
    gp_call_tensor(&c, a);
    if (b) gp_call_tensor(&c, b);
    return gp_call_one(&c);
}

static gp_tensor *reshaped(gp_tensor *x, const int64_t *dim, int n) {
    gp_call c;
    gp_call_begin(&c, GP_OP(reshape));
    gp_call_tensor(&c, x);
    gp_call_ints(&c, dim, n);
    gp_tensor *t = gp_call_one(&c), *out = t ? gp_contiguous(t) : NULL;
    gp_tensor_unref(t);
    return out;
}

/* The slices of x along dim d as the rows of a matrix; their other dims keep their order. */
static gp_tensor *slices(gp_tensor *x, int d) {
    gp_shape s = gp_tensor_shape(x);
    int64_t stride[GP_MAX_DIM], n = s.dim[d];
    s.dim[0] = n, stride[0] = x->a.stride[d];
    for (int i = 0, to = 1; i < s.ndim; i++)
        if (i != d) s.dim[to] = x->a.dim[i], stride[to++] = x->a.stride[i];
    gp_tensor *front = gp_tensor_view(x, &s, stride, 0);
    gp_tensor *out = front ? reshaped(front, (int64_t[]){n, n ? x->a.numel / n : 0}, 2) : NULL;
    gp_tensor_unref(front);
    return out;
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

/* Where rows (or elements) of x differ from the previous ones: bool, one shorter than x. */
static gp_tensor *steps(gp_tensor *x) {
    int64_t n = x->a.dim[0];
    gp_tensor *a = narrowed(x, 2, n - 1), *b = narrowed(x, 1, n - 1),
              *differ = a && b ? run2(GP_OP(ne), a, b) : NULL;
    gp_tensor_unref(a);
    gp_tensor_unref(b);
    if (!differ || x->a.ndim == 1) return differ;
    gp_call c;
    gp_call_begin(&c, GP_OP(any));
    gp_call_tensor(&c, differ);
    gp_call_ints(&c, &(int64_t){2}, 1);
    gp_tensor *out = gp_call_one(&c);
    gp_tensor_unref(differ);
    return out;
}

/* The number of runs of equal rows (or elements) in x: a wait. */
static bool count_runs(gp_tensor *x, const char *what, int64_t *n) {
    gp_scalar s = {.i = 0};
    *n = x->a.dim[0];
    if (*n < 2) return true;
    gp_tensor *differ = steps(x), *count = differ ? run2(GP_OP(count_nonzero), differ, NULL) : NULL;
    bool ok = count && gp_item(count, &s, GP_WHY_shape, what);
    gp_tensor_unref(differ);
    gp_tensor_unref(count);
    *n = s.i + 1;
    return ok;
}

/* Makes two temporaries: x sorted, and the indices that sort it. */
static bool sort_elements(gp_call *c, gp_tensor *x) {
    gp_call s;
    gp_call_begin(&s, GP_OP(sort));
    gp_call_tensor(&s, x);
    if (!gp_op_run(&s)) return false;
    for (int i = 0; i < s.nout; i++) c->tmp[i] = s.out[i];
    c->ntmp = s.nout;
    return true;
}

/* Makes two temporaries: the rows of x in order, and the indices that sort them. */
static bool sort_rows(gp_call *c, gp_tensor *x) {
    gp_tensor *order = run2(GP_OP(argsort_rows), x, NULL);
    if (!order) return false;
    gp_call s;
    gp_call_begin(&s, GP_OP(index_select));
    gp_call_tensor(&s, x);
    gp_call_int(&s, 1);
    gp_call_tensor(&s, order);
    c->tmp[1] = order;
    if (!(c->tmp[0] = gp_call_one(&s))) return gp_tensor_unref(order), false;
    c->ntmp = 2;
    return true;
}

/* Outputs: the distinct elements (d < 0) or slices along d; the inverse indices; the counts.
 * Arguments inverse_at and inverse_at + 1 say whether the last two are wanted. */
static bool runs_meta(gp_call *c, gp_meta *m, int inverse_at, int d) {
    gp_tensor *x = c->arg[0].t;
    int64_t n, all = d < 0 ? x->a.numel : x->a.dim[d];
    if (!count_runs(c->tmp[0], c->op->name, &n)) return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    if (d < 0) m->out[0].shape = (gp_shape){.ndim = 1};
    m->out[0].shape.dim[d < 0 ? 0 : d] = n;
    if (gp_given(c, inverse_at) && c->arg[inverse_at].i) {
        gp_meta_like(m, m->n, x, GP_i64);
        if (d >= 0) m->out[m->n - 1].shape = (gp_shape){.ndim = 1, .dim = {all}};
    }
    if (!gp_given(c, inverse_at + 1) || !c->arg[inverse_at + 1].i) return true;
    m->out[m->n].dtype = GP_i64;
    m->out[m->n++].shape = (gp_shape){.ndim = 1, .dim = {n}};
    return true;
}

/* Dim argument i, counted from 0; -1 without one. */
static bool settle_dim(gp_call *c, int i, int *d) {
    gp_tensor *x = c->arg[0].t;
    *d = -1;
    if (!gp_given(c, i)) return true;
    if (!gp_dim_wrap(c->op->name, c->arg[i].i, x->a.ndim, d)) return false;
    if (x->a.ndim == 0) return gp_fail("%s: a 0-d tensor has no dim", c->op->name);
    if (x->a.numel == 0 && x->a.dim[*d] != 0)
        return gp_fail("%s: slices along dim %d have no elements to compare", c->op->name, *d + 1);
    c->arg[i].i = *d + 1;
    return true;
}

/* Makes x contiguous as c->tmp[0]. */
bool infer_distinct(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    if (x->a.ndim != 1) return gp_fail("distinct: expected 1 dim, got %d dims", x->a.ndim);
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    m->out[1].dtype = GP_i64, m->out[1].shape = (gp_shape){.ndim = 0};
    m->n = 2;
    if (gp_given(c, 1) && c->arg[1].i) gp_meta_like(m, 2, x, GP_i64);
    c->tmp[0] = gp_contiguous(x);
    c->ntmp = c->tmp[0] != NULL;
    return c->ntmp;
}

/* Makes temporaries of x's size: the distinct elements of x and, if asked for, their counts; then
 * waits for their number. */
static bool distinct_meta(gp_call *c, gp_meta *m, gp_tensor *x) {
    bool counts = gp_given(c, 3) && c->arg[3].i;
    gp_scalar n = {.i = 0};
    gp_call s;
    gp_call_begin(&s, GP_OP(distinct));
    gp_call_tensor(&s, x);
    gp_call_int(&s, counts);
    if (!gp_op_run(&s)) return false;
    c->tmp[0] = s.out[0], c->tmp[1] = counts ? s.out[2] : NULL;
    c->ntmp = counts ? 2 : 1;
    bool ok = gp_item(s.out[1], &n, GP_WHY_shape, c->op->name);
    gp_tensor_unref(s.out[1]);
    if (!ok) return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    m->out[0].shape.dim[0] = n.i;
    if (counts) gp_meta_like(m, 1, x, GP_i64), m->out[1].shape.dim[0] = n.i;
    return true;
}

/* The result is sorted even where that is not asked for. */
bool infer_unique(gp_call *c, gp_meta *m) {
    int d;
    if (!settle_dim(c, 4, &d)) return false;
    gp_tensor *x = c->arg[0].t, *rows = d < 0 ? reshaped(x, &x->a.numel, 1) : slices(x, d);
    bool alone = d < 0 && !(gp_given(c, 2) && c->arg[2].i), ok = rows != NULL;
    if (ok && alone) ok = distinct_meta(c, m, rows);
    else if (ok) ok = d < 0 ? sort_elements(c, rows) : sort_rows(c, rows);
    gp_tensor_unref(rows);
    return ok && (alone || runs_meta(c, m, 2, d));
}

bool infer_unique_consecutive(gp_call *c, gp_meta *m) {
    int d;
    if (!settle_dim(c, 3, &d)) return false;
    gp_tensor *x = c->arg[0].t;
    if (!(c->tmp[0] = d < 0 ? reshaped(x, &x->a.numel, 1) : slices(x, d))) return false;
    c->ntmp = 1;
    return runs_meta(c, m, 1, d);
}
