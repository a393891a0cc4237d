/* Shape rules of ops that put elements together or elsewhere: cat, stack, flip, tril, triu,
 * repeat_interleave. */
#include <math.h>
#include <stdio.h>

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

/* but: a dim, from 1, whose size may be another; 0: none may. */
static bool differ(const gp_call *c, int i, const gp_tensor *t, const gp_tensor *first, int but) {
    char a[200], b[200], dim[40] = "";
    if (but) snprintf(dim, sizeof dim, " but in dim %d", but);
    return gp_fail("%s: tensor %d is %s, which does not fit %s (expected the same sizes%s)",
                   c->op->name, i + 1, gp_tensor_text(t, a, sizeof a),
                   gp_tensor_text(first, b, sizeof b), dim);
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
        if (t->a.ndim != first->a.ndim) return differ(c, i, t, first, d + 1);
        for (int k = 0; k < s->ndim; k++)
            if (k != d && t->a.dim[k] != s->dim[k]) return differ(c, i, t, first, d + 1);
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
    if (s.ndim == GP_MAX_DIM)
        return gp_fail("stack: the result would have %d dims, more than %d", s.ndim + 1,
                       GP_MAX_DIM);
    if (!gp_dim_wrap("stack", gp_given(c, 1) ? c->arg[1].i : 1, s.ndim + 1, &d)) return false;
    for (int i = 1; i < v->n; i++) {
        gp_shape si = gp_tensor_shape(v->list[i]);
        if (!gp_shape_equal(&s, &si)) return differ(c, i, v->list[i], first, 0);
    }
    o->ndim = s.ndim + 1;
    for (int i = 0, j = 0; i < o->ndim; i++) o->dim[i] = i == d ? v->n : s.dim[j++];
    c->arg[1] = (gp_value){.kind = GP_INT, .i = d + 1};
    c->nargs = 2;
    return true;
}

/* The dims become a mask. */
bool infer_flip(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    uint64_t mask = 0;
    if (c->arg[1].n && !gp_infer_dims(c, 1, x->a.ndim, &mask)) return false;
    c->arg[1] = (gp_value){.kind = GP_INT, .i = (int64_t)mask};
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return true;
}

static bool matrices(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    if (x->a.ndim < 2)
        return gp_fail("%s: expected at least 2 dims, got %d", c->op->name, x->a.ndim);
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return true;
}

bool infer_tril(gp_call *c, gp_meta *m) { return matrices(c, m); }
bool infer_triu(gp_call *c, gp_meta *m) { return matrices(c, m); }

bool infer_diag_embed(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    int a, b, n = x->a.ndim + 1;
    if (x->a.ndim == 0 || n > GP_MAX_DIM)
        return gp_fail("diag_embed: expected 1 to %d dims, got %d", GP_MAX_DIM - 1, x->a.ndim);
    if (!gp_dim_wrap("diag_embed", c->arg[2].i, n, &a) ||
        !gp_dim_wrap("diag_embed", c->arg[3].i, n, &b))
        return false;
    if (a == b) return gp_fail("diag_embed: dim1 and dim2 are both %d", a + 1);
    int64_t off = c->arg[1].i, size;
    if (off == INT64_MIN ||
        __builtin_add_overflow(x->a.dim[x->a.ndim - 1], off < 0 ? -off : off, &size))
        return gp_fail("diag_embed: offset %lld is too large", (long long)off);
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    gp_shape *s = &m->out[0].shape;
    s->ndim = n;
    for (int i = 0, j = 0; i < n; i++) s->dim[i] = i == a || i == b ? size : x->a.dim[j++];
    c->arg[2].i = a + 1, c->arg[3].i = b + 1;
    return true;
}

/* ---- repeat_interleave ---- */

static gp_tensor *total_of(gp_tensor *repeats) {
    gp_call c;
    gp_call_begin(&c, GP_OP(sum));
    gp_call_tensor(&c, repeats);
    return gp_call_one(&c);
}

/* The size of the repeated dim, which had n elements: a wait where repeats is a tensor and
 * output_size does not tell. */
static bool repeated_size(gp_call *c, int64_t n, int64_t *size) {
    gp_value *r = &c->arg[1];
    gp_scalar s = {.i = 0};
    if (r->kind == GP_NUMBER) {
        if (r->is_float && r->f == floor(r->f) && fabs(r->f) < 0x1p62)
            *r = (gp_value){.kind = GP_NUMBER, .i = (int64_t)r->f};
        if (r->is_float || r->i < 0)
            return gp_fail("repeat_interleave: repeats is %g (expected an integer, not negative)",
                           r->is_float ? r->f : (double)r->i);
        if (__builtin_mul_overflow(n, r->i, size) || *size > (int64_t)1 << 58)
            return gp_fail("repeat_interleave: %lld times %lld elements are too many", (long long)n,
                           (long long)r->i);
        return !gp_given(c, 3) || c->arg[3].i == *size ||
               gp_fail("repeat_interleave: argument 'output_size' is %lld, but the result has %lld",
                       (long long)c->arg[3].i, (long long)*size);
    }
    if (!gp_infer_index(c, "repeats", r->t)) return false;
    if (r->t->a.ndim > 1 || (r->t->a.numel != n && r->t->a.numel != 1))
        return gp_fail("repeat_interleave: %lld repeats given for a dim of size %lld",
                       (long long)r->t->a.numel, (long long)n);
    if (gp_given(c, 3))
        return *size = c->arg[3].i,
               *size >= 0 || gp_fail("repeat_interleave: output_size is negative");
    gp_tensor *total = total_of(r->t);
    bool ok = total && gp_item(total, &s, GP_WHY_shape, "repeat_interleave");
    gp_tensor_unref(total);
    *size = r->t->a.numel == 1 ? s.i * n : s.i;
    return ok && (*size >= 0 || gp_fail("repeat_interleave: repeats are negative"));
}

/* Without dim the elements of x in one dim are meant: they are made the second temporary. */
bool infer_repeat_interleave(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t, *seen = x;
    int d = 0;
    int64_t size = 0;
    if (!(m->dev = gp_infer_device(c))) return false;
    if (gp_given(c, 2) && !gp_dim_wrap("repeat_interleave", c->arg[2].i, x->a.ndim, &d))
        return false;
    bool flat = !gp_given(c, 2) || x->a.ndim == 0;
    if (!repeated_size(c, flat ? x->a.numel : x->a.dim[d], &size)) return false;
    if (!(c->tmp[0] = gp_tensor_new(m->dev, GP_i64, &(gp_shape){.ndim = 1, .dim = {size}})))
        return false;
    c->ntmp = 1;
    if (flat) {
        gp_call r;
        gp_call_begin(&r, GP_OP(reshape));
        gp_call_tensor(&r, x);
        gp_call_ints(&r, &x->a.numel, 1);
        if (!(seen = c->tmp[1] = gp_call_one(&r))) return false;
        c->ntmp = 2;
    }
    gp_meta_like(m, 0, seen, (gp_dtype)x->a.dtype);
    m->out[0].shape.dim[d] = size;
    while (c->nargs < 3) gp_call_none(c);
    c->arg[2] = (gp_value){.kind = GP_INT, .i = d + 1};
    return true;
}
