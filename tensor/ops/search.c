/* Shape rules of ops that look for values or count them: topk, kthvalue, searchsorted, bucketize,
 * bincount, histc, one_hot. */
#include <math.h>
#include <string.h>

#include "tensor/infer.h"

/* ---- topk, kthvalue ---- */

/* Settles dim (argument 2) and checks k (argument 1). */
static bool some_of(gp_call *c, gp_meta *m, int *d) {
    gp_tensor *x = c->arg[0].t;
    const char *name = c->op->name;
    if (!gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_INT | GP_SET_FLOAT)) return false;
    if (!gp_dim_wrap(name, c->arg[2].i, x->a.ndim, d)) return false;
    int64_t n = x->a.ndim ? x->a.dim[*d] : 1, k = c->arg[1].i, least = c->op == GP_OP(kthvalue);
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
    if (!some_of(c, m, &d)) return false;
    for (int i = 0; i < 2; i++)
        if (m->out[i].shape.ndim) m->out[i].shape.dim[d] = c->arg[1].i;
        else if (c->arg[1].i == 0) m->out[i].shape = (gp_shape){.ndim = 1, .dim = {0}};
    return true;
}

bool infer_kthvalue(gp_call *c, gp_meta *m) {
    int d;
    if (!some_of(c, m, &d)) return false;
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

/* ---- searchsorted, bucketize ---- */

/* The dtype that both sides are compared in: integers beside floats in f64, which holds more of
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

/* Leaves the sequence (through sorter, if there is one) and the values of argument vi in one dtype,
 * without gaps. */
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
    gp_infer_zero_dim(c, vi, 1);
    if (!(m->dev = gp_infer_device(c)) || !gp_infer_check(c, name, (gp_dtype)lines->a.dtype, real))
        return false;
    return v->kind != GP_TENSOR ||
           gp_infer_check(c, vi ? "values" : "x", (gp_dtype)v->t->a.dtype, real);
}

/* side: 'left' or 'right', or NULL. Leaves `right` in argument 3. */
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

/* ---- counting ---- */

/* The largest element of x, at least `least`: a wait. */
static bool largest(gp_tensor *x, const char *what, int64_t least, int64_t *out) {
    gp_scalar s = {.i = least};
    if (x->a.numel) {
        gp_call c;
        gp_call_begin(&c, GP_OP(amax));
        gp_call_tensor(&c, x);
        gp_tensor *t = gp_call_one(&c);
        bool ok = t && gp_item(t, &s, GP_WHY_shape, what);
        gp_tensor_unref(t);
        if (!ok) return false;
    }
    *out = s.i > least ? s.i : least;
    return true;
}

bool infer_bincount(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t, *w = gp_given(c, 1) ? c->arg[1].t : NULL;
    int64_t n;
    char a[200], b[200];
    if (!gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_INT) || !gp_infer_device(c))
        return false;
    if (x->a.ndim != 1) return gp_fail("bincount: expected x of 1 dim, got %d dims", x->a.ndim);
    if (w && (w->a.ndim != 1 || w->a.numel != x->a.numel))
        return gp_fail("bincount: weights %s do not fit x %s (expected the same length)",
                       gp_tensor_text(w, a, sizeof a), gp_tensor_text(x, b, sizeof b));
    if (c->arg[2].i < 0)
        return gp_fail("bincount: minlength is %lld (expected 0 or more)", (long long)c->arg[2].i);
    if (!largest(x, "bincount", c->arg[2].i, &n)) return false;
    gp_meta_like(m, 0, x, !w ? GP_i64 : w->a.dtype == GP_f32 ? GP_f32 : GP_f64);
    m->out[0].shape.dim[0] = n;
    return true;
}

bool infer_histc(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    double lo = c->arg[2].is_float ? c->arg[2].f : (double)c->arg[2].i,
           hi = c->arg[3].is_float ? c->arg[3].f : (double)c->arg[3].i;
    if (!gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_FLOAT)) return false;
    if (c->arg[1].i < 1)
        return gp_fail("histc: bins is %lld (expected 1 or more)", (long long)c->arg[1].i);
    if (!isfinite(lo) || !isfinite(hi) || lo > hi)
        return gp_fail("histc: min is %g and max is %g (expected finite numbers, min <= max)", lo,
                       hi);
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    m->out[0].shape = (gp_shape){.ndim = 1, .dim = {c->arg[1].i}};
    return true;
}

bool infer_one_hot(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    int64_t n = c->arg[1].i;
    if (!gp_infer_index(c, "x", x)) return false;
    if (n < -1 || n == 0 || (n == -1 && x->a.numel == 0))
        return gp_fail("one_hot: num_classes is %lld (expected 1 or more; -1 takes the largest "
                       "label, if there is one)",
                       (long long)n);
    if (x->a.ndim == GP_MAX_DIM)
        return gp_fail("one_hot: the result would have %d dims, more than %d", GP_MAX_DIM + 1,
                       GP_MAX_DIM);
    if (n < 0 && !largest(x, "one_hot", 1, &n)) return false;
    gp_meta_like(m, 0, x, GP_i64);
    gp_shape *s = &m->out[0].shape;
    s->dim[s->ndim++] = n;
    if (!(c->tmp[0] = gp_contiguous(x))) return false;
    c->ntmp = 1;
    return true;
}
