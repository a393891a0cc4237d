/* Ops that sort, select by order, or search in sorted sequences: sort, argsort, topk, kthvalue,
 * median, mode, searchsorted, bucketize; shape rules and gradients. */
#include <string.h>

#include "tensor/autograd/compose.h"
#include "tensor/infer.h"

bool infer_sort(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    int d;
    if (!gp_infer_dim(c, 1, -1, &d)) return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    gp_meta_like(m, 1, x, GP_i64);
    return true;
}

bool infer_argsort(gp_call *c, gp_meta *m) {
    int d;
    if (!gp_infer_dim(c, 1, -1, &d)) return false;
    gp_meta_like(m, 0, c->arg[0].t, GP_i64);
    return true;
}

bool infer_msort(gp_call *c, gp_meta *m) {
    int d;
    gp_meta_like(m, 0, c->arg[0].t, (gp_dtype)c->arg[0].t->a.dtype);
    return gp_infer_dim(c, 1, 1, &d);
}

/* Makes x contiguous as c->tmp[0]. */
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

/* ---- topk, kthvalue ---- */

/* Settles dim (argument 2) and checks k (argument 1), which is `least` or more. */
static bool some_of(gp_call *c, gp_meta *m, int64_t least, int *d) {
    gp_tensor *x = c->arg[0].t;
    const char *name = c->op->name;
    if (!gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_INT | GP_SET_FLOAT)) return false;
    if (!gp_dim_wrap(name, c->arg[2].i, x->a.ndim, d)) return false;
    int64_t n = x->a.ndim ? x->a.dim[*d] : 1, k = c->arg[1].i;
    if (n < least) return gp_fail("%s: dim %d is empty: it has no element to choose", name, *d + 1);
    if (k < least || k > n)
        return gp_fail("%s: k is %lld, dim %d has size %lld (expected %lld to %lld)", name,
                       (long long)k, *d + 1, (long long)n, (long long)least, (long long)n);
    c->arg[2].i = *d + 1;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    gp_meta_like(m, 1, x, GP_i64);
    return true;
}

bool infer_topk(gp_call *c, gp_meta *m) {
    int d;
    if (!some_of(c, m, 0, &d)) return false;
    for (int i = 0; i < 2; i++)
        if (m->out[i].shape.ndim) m->out[i].shape.dim[d] = c->arg[1].i;
        else if (c->arg[1].i == 0) m->out[i].shape = (gp_shape){.ndim = 1, .dim = {0}};
    return true;
}

bool infer_kthvalue(gp_call *c, gp_meta *m) {
    int d;
    if (!some_of(c, m, 1, &d)) return false;
    bool keep = c->arg[3].i;
    for (int i = 0; i < 2; i++) {
        gp_shape *s = &m->out[i].shape;
        if (s->ndim == 0) continue;
        s->dim[d] = 1;
        if (keep) continue;
        s->ndim--;
        for (int k = d; k < s->ndim; k++) s->dim[k] = s->dim[k + 1];
    }
    return true;
}

/* ---- median, mode ---- */

/* Values and indices along one dim, which becomes 0-based in argument 1; -1: one value over all
 * elements. */
static bool choice(gp_call *c, gp_meta *m, bool whole) {
    gp_tensor *x = c->arg[0].t;
    uint64_t dims = x->a.ndim ? ((uint64_t)1 << x->a.ndim) - 1 : 0;
    int d = -1;
    if (!whole && !gp_dim_wrap(c->op->name, gp_given(c, 1) ? c->arg[1].i : -1, x->a.ndim, &d))
        return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    if (!whole) gp_meta_like(m, 1, x, GP_i64);
    if (!whole && x->a.ndim) dims = (uint64_t)1 << d;
    if (gp_infer_reduced(x, dims, gp_arg_bool(c, 2), &m->out[0].shape) && !whole)
        return gp_fail("%s: no elements to choose from: dim %d has size 0", c->op->name, d + 1);
    while (c->nargs < 2) gp_call_none(c);
    c->arg[1] = (gp_value){.kind = GP_INT, .i = d};
    if (!whole) return m->out[1].shape = m->out[0].shape, true;
    c->tmp[0] = gp_contiguous(x);
    c->ntmp = 1;
    return c->tmp[0] != NULL;
}

/* Integers have no NaN, the median of no elements. */
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

/* ---- searchsorted, bucketize ---- */

/* The dtype in which both sides are compared: integers with floats in f64, which represents more of
 * them than f32. */
static gp_dtype common(const gp_tensor *lines, const gp_value *v) {
    gp_dtype a = (gp_dtype)lines->a.dtype, b = v->kind == GP_TENSOR ? (gp_dtype)v->t->a.dtype
                                               : v->is_float        ? GP_f64
                                                                    : GP_i64;
    if (gp_is_float(a) != gp_is_float(b)) return GP_f64;
    if (v->kind != GP_TENSOR) return gp_is_float(a) ? GP_f64 : GP_i64;
    return gp_dtype_promote(a, b);
}

static gp_tensor *dense(gp_tensor *x, gp_dtype dt) {
    gp_tensor *same = gp_cast(x, dt), *out = same ? gp_contiguous(same) : NULL;
    gp_tensor_unref(same);
    return out;
}

/* A number as a 0-d tensor on dev. */
static gp_tensor *scalar(const gp_value *v, gp_dtype dt, gp_device *dev) {
    gp_call c;
    gp_tensor *x = gp_tensor_new(dev, dt, &(gp_shape){.ndim = 0});
    if (!x) return NULL;
    gp_call_begin(&c, GP_OP(fill));
    gp_call_tensor(&c, x);
    gp_call_number(&c, gp_value_scalar(v));
    gp_tensor *out = gp_call_one(&c);
    gp_tensor_unref(x);
    return out;
}

/* Makes the sequence (through sorter, if there is one) and the values of argument vi contiguous and
 * of one dtype. */
static bool two_sides(gp_call *c, gp_meta *m, gp_tensor *lines, int vi, gp_tensor *sorter) {
    const gp_value *v = &c->arg[vi];
    gp_dtype dt = common(lines, v);
    gp_tensor *ordered = gp_tensor_ref(lines);
    if (sorter) {
        gp_call g;
        gp_call_begin(&g, GP_OP(gather));
        gp_call_tensor(&g, lines);
        gp_call_int(&g, -1);
        gp_call_tensor(&g, sorter);
        gp_tensor_unref(ordered);
        if (!(ordered = gp_call_one(&g))) return false;
    }
    c->tmp[0] = dense(ordered, dt);
    gp_tensor_unref(ordered);
    if (!c->tmp[0]) return false;
    c->ntmp = 1;
    c->tmp[1] = v->kind == GP_TENSOR ? dense(v->t, dt) : scalar(v, dt, m->dev);
    if (!c->tmp[1]) return false;
    c->ntmp = 2;
    gp_meta_like(m, 0, c->tmp[1], gp_given(c, 2) && c->arg[2].i ? GP_i32 : GP_i64);
    return true;
}

static bool check_sides(gp_call *c, gp_meta *m, const char *name, gp_tensor *lines, int vi) {
    const gp_value *v = &c->arg[vi];
    uint32_t real = GP_SET_INT | GP_SET_FLOAT;
    if (!gp_infer_zero_dim(c, vi, 1)) return false;
    if (!(m->dev = gp_infer_device(c)) || !gp_infer_check(c, name, (gp_dtype)lines->a.dtype, real))
        return false;
    return v->kind != GP_TENSOR ||
           gp_infer_check(c, vi ? "values" : "x", (gp_dtype)v->t->a.dtype, real);
}

/* side: 'left' or 'right', or NULL. Sets argument 3 to `right`. */
static bool settle_side(gp_call *c) {
    if (!gp_given(c, 4)) return true;
    bool right = !strcmp(c->arg[4].s, "right");
    if (!right && strcmp(c->arg[4].s, "left"))
        return gp_fail("searchsorted: argument 'side': expected 'left' or 'right', got '%s'",
                       c->arg[4].s);
    if (c->arg[3].i && !right)
        return gp_fail("searchsorted: right = true and side = 'left' contradict each other");
    c->arg[3].i = right;
    return true;
}

bool infer_searchsorted(gp_call *c, gp_meta *m) {
    gp_tensor *lines = c->arg[0].t, *sorter = gp_given(c, 5) ? c->arg[5].t : NULL;
    char a[200], b[200];
    if (!settle_side(c) || !check_sides(c, m, "sorted_sequence", lines, 1)) return false;
    const gp_value *v = &c->arg[1];
    gp_shape ls = gp_tensor_shape(lines), ss = sorter ? gp_tensor_shape(sorter) : ls;
    if (ls.ndim == 0) return gp_fail("searchsorted: a 0-d sequence has nothing to search in");
    if (sorter && !gp_infer_index(c, "sorter", sorter)) return false;
    if (!gp_shape_equal(&ls, &ss))
        return gp_fail("searchsorted: sorter %s does not have the shape of the sequence %s",
                       gp_tensor_text(sorter, a, sizeof a), gp_tensor_text(lines, b, sizeof b));
    bool fits = ls.ndim == 1 || (v->kind == GP_TENSOR && v->t->a.ndim == ls.ndim);
    for (int d = 0; fits && ls.ndim > 1 && d < ls.ndim - 1; d++) fits = v->t->a.dim[d] == ls.dim[d];
    if (!fits)
        return gp_fail("searchsorted: the sequence %s has more than 1 dim, so values need the same "
                       "dims but for the last%s%s",
                       gp_tensor_text(lines, a, sizeof a), v->kind == GP_TENSOR ? ", not " : "",
                       v->kind == GP_TENSOR ? gp_tensor_text(v->t, b, sizeof b) : "");
    return two_sides(c, m, lines, 1, sorter);
}

bool infer_bucketize(gp_call *c, gp_meta *m) {
    gp_tensor *lines = c->arg[1].t;
    if (!check_sides(c, m, "boundaries", lines, 0)) return false;
    if (lines->a.ndim != 1)
        return gp_fail("bucketize: expected boundaries of 1 dim, got %d dims", lines->a.ndim);
    return two_sides(c, m, lines, 0, NULL);
}

/* ---- gradients ---- */

static bool sort(gp_vjp *v) { return gp_grad_to_indices(v, 1); }
const gp_rule vjp_sort = {sort, "y"};

static bool topk(gp_vjp *v) { return gp_grad_to_indices(v, 2); }
const gp_rule vjp_topk = {topk, "y"};

static bool msort(gp_vjp *v) {
    gp_tensor *order = DO(argsort, "tib", v->x[0], (int64_t)1, 0);
    return (v->dx[0] = order ? gp_scatter_back(v, order, 0, v->g[0]) : NULL) != NULL;
}
const gp_rule vjp_msort = {msort, "0"};

static bool kthvalue(gp_vjp *v) { return gp_grad_to_chosen(v, 2, 3); }
const gp_rule vjp_kthvalue = {kthvalue, "y"};

static bool median(gp_vjp *v) {
    return gp_has(v, 1) ? gp_grad_to_chosen(v, 1, 2) : gp_grad_to_equals(v);
}
const gp_rule vjp_median = {median, "0y"}, vjp_nanmedian = {median, "0y"};

static bool mode(gp_vjp *v) { return gp_grad_to_chosen(v, 1, 2); }
const gp_rule vjp_mode = {mode, "y"};
