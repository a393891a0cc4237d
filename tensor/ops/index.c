/* Shape rules of ops that read by index tensors: gather, gather_nd, take, index_select, index (and
   index_put, which shares its checks). Indices count from 1, or from -1 at the end. Each rule
   leaves an i64 temporary, where the kernel notes the byte offset that every index tuple stands
   for. */
#include <stdio.h>
#include <string.h>

#include "tensor/ops/index_place.h"
#include "tensor/infer.h"

bool gp_infer_index(const gp_call *c, const char *arg, const gp_tensor *t) {
    return gp_infer_check(c, arg, (gp_dtype)t->a.dtype, GP_SET_INT);
}

bool gp_infer_values(gp_call *c, int i, gp_dtype dt, int at) {
    const gp_value *v = &c->arg[i];
    if (v->kind != GP_TENSOR) {
        if (v->is_float && !gp_is_float(dt))
            return gp_fail("%s: a float value does not fit in a %s tensor", c->op->name,
                           gp_dtype_name(dt));
        return gp_infer_number(c, i, "value", dt);
    }
    gp_dtype have = (gp_dtype)v->t->a.dtype;
    bool itself =
        c->into && v->t->storage == c->into->storage; /* would be written while it is read */
    if (have == dt && !itself) return true;
    if (gp_dtype_kind(have) > gp_dtype_kind(dt))
        return gp_fail("%s: %s values do not fit in a %s tensor", c->op->name, gp_dtype_name(have),
                       gp_dtype_name(dt));
    gp_call copy;
    gp_call_begin(&copy, GP_OP(copy));
    gp_call_tensor(&copy, v->t);
    copy.arg[copy.nargs++] = (gp_value){.kind = GP_DTYPE, .i = dt};
    if (!(c->tmp[at] = gp_call_one(&copy))) return false;
    c->ntmp = at + 1;
    return true;
}

bool gp_infer_offsets(gp_call *c, const gp_meta *m, const gp_shape *s) {
    if (!(c->tmp[0] = gp_tensor_new(m->dev, GP_i64, s))) return false;
    c->ntmp = 1;
    return true;
}

bool gp_infer_along(gp_call *c, gp_meta *m, int *d) {
    gp_tensor *x = c->arg[0].t, *index = c->arg[2].t;
    if (!gp_dim_wrap(c->op->name, c->arg[1].i, x->a.ndim, d)) return false;
    if (!gp_infer_index(c, "index", index) || !(m->dev = gp_infer_device(c))) return false;
    if (index->a.ndim != x->a.ndim)
        return gp_fail("%s: index has %d dims, x has %d (expected the same)", c->op->name,
                       index->a.ndim, x->a.ndim);
    for (int i = 0; i < x->a.ndim; i++)
        if (i != *d && index->a.dim[i] > x->a.dim[i])
            return gp_fail("%s: index has size %lld in dim %d, x has %lld (expected at most that)",
                           c->op->name, (long long)index->a.dim[i], i + 1, (long long)x->a.dim[i]);
    c->arg[1].i = *d + 1;
    return true;
}

bool infer_gather(gp_call *c, gp_meta *m) {
    int d;
    if (!gp_infer_along(c, m, &d)) return false;
    gp_meta_like(m, 0, c->arg[2].t, (gp_dtype)c->arg[0].t->a.dtype);
    return gp_infer_offsets(c, m, &m->out[0].shape);
}

bool infer_index_select(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t, *index = c->arg[2].t;
    int d;
    if (!gp_dim_wrap("index_select", c->arg[1].i, x->a.ndim, &d)) return false;
    if (!gp_infer_index(c, "index", index) || !gp_infer_device(c)) return false;
    if (index->a.ndim > 1)
        return gp_fail("index_select: expected an index of 1 dim, got %d dims", index->a.ndim);
    if (x->a.ndim == 0 && index->a.numel != 1)
        return gp_fail("index_select: %lld indices into a 0-d tensor (expected 1)",
                       (long long)index->a.numel);
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    if (x->a.ndim) m->out[0].shape.dim[d] = index->a.numel;
    c->arg[1].i = d + 1;
    return gp_infer_offsets(c, m, &(gp_shape){.ndim = 1, .dim = {index->a.numel}});
}

bool gp_infer_tuples(gp_call *c, gp_meta *m, int64_t batch, gp_shape *s) {
    gp_tensor *x = c->arg[0].t, *idx = c->arg[1].t;
    const char *name = c->op->name;
    char a[200], b[200];
    if (!gp_infer_index(c, "indices", idx) || !(m->dev = gp_infer_device(c))) return false;
    int64_t depth = idx->a.ndim ? idx->a.dim[idx->a.ndim - 1] : 0;
    if (batch < 0 || batch > GP_MAX_DIM)
        return gp_fail("%s: argument 'batch_dims' is %lld (expected 0 to %d)", name,
                       (long long)batch, GP_MAX_DIM);
    if (idx->a.ndim == 0 || batch >= idx->a.ndim || batch + depth > x->a.ndim)
        return gp_fail("%s: indices %s with %lld batch dims do not index x %s (expected "
                       "tuples of at most %lld in the last dim)",
                       name, gp_tensor_text(idx, a, sizeof a), (long long)batch,
                       gp_tensor_text(x, b, sizeof b), (long long)(x->a.ndim - batch));
    for (int i = 0; i < batch; i++)
        if (idx->a.dim[i] != x->a.dim[i])
            return gp_fail("%s: batch dim %d is %lld in indices and %lld in x", name, i + 1,
                           (long long)idx->a.dim[i], (long long)x->a.dim[i]);
    int rest = x->a.ndim - (int)(batch + depth), lead = idx->a.ndim - 1;
    if (lead + rest > GP_MAX_DIM)
        return gp_fail("%s: the result would have %d dims, more than %d", name, lead + rest,
                       GP_MAX_DIM);
    gp_shape t = {.ndim = lead};
    for (int i = 0; i < lead; i++) s->dim[i] = t.dim[i] = idx->a.dim[i];
    for (int i = 0; i < rest; i++) s->dim[lead + i] = x->a.dim[x->a.ndim - rest + i];
    s->ndim = lead + rest;
    return gp_infer_offsets(c, m, &t);
}

bool infer_gather_nd(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    int64_t batch = gp_given(c, 2) ? c->arg[2].i : 0;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    c->arg[2] = (gp_value){.kind = GP_INT, .i = batch};
    c->nargs = 3;
    return gp_infer_tuples(c, m, batch, &m->out[0].shape);
}

/* x without gaps is the second temporary; it is indexed as if it had one dim. */
static bool flat(gp_call *c, gp_meta *m, const gp_shape *s) {
    gp_tensor *x = c->arg[0].t;
    if (!gp_infer_index(c, "index", c->arg[1].t) || !(m->dev = gp_infer_device(c)) ||
        !gp_infer_offsets(c, m, s) || !(c->tmp[1] = gp_contiguous(x)))
        return false;
    c->ntmp = 2;
    return true;
}

bool infer_take(gp_call *c, gp_meta *m) {
    gp_shape s = gp_tensor_shape(c->arg[1].t);
    gp_meta_like(m, 0, c->arg[1].t, (gp_dtype)c->arg[0].t->a.dtype);
    return flat(c, m, &s);
}

/* The other dims are broadcast, of x and of indices; without dim both are taken as one row. */
bool infer_take_along_dim(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t, *indices = c->arg[1].t;
    gp_shape *s = &m->out[0].shape, xs = gp_tensor_shape(x), is = gp_tensor_shape(indices);
    int d;
    gp_meta_like(m, 0, indices, (gp_dtype)x->a.dtype);
    if (!gp_given(c, 2)) {
        *s = (gp_shape){.ndim = 1, .dim = {indices->a.numel}};
        return flat(c, m, &is);
    }
    if (!gp_infer_index(c, "indices", indices) || !(m->dev = gp_infer_device(c)) ||
        !gp_dim_wrap("take_along_dim", c->arg[2].i, xs.ndim, &d))
        return false;
    if (is.ndim != xs.ndim)
        return gp_fail("take_along_dim: indices has %d dims, x has %d (expected the same)", is.ndim,
                       xs.ndim);
    c->arg[2].i = d + 1;
    if (xs.ndim) xs.dim[d] = is.dim[d];
    return gp_shape_broadcast("take_along_dim", s, &xs) && gp_infer_offsets(c, m, s);
}

/* The indexed dims in argument `at`, as 0-based ints in the order of the index tensors; by default
 * the first ones. */
static bool indexed_dims(gp_call *c, int at, int *dims) {
    int n = c->arg[1].n, given = n, nd = c->arg[0].t->a.ndim;
    const int64_t *v = gp_given(c, at) ? gp_ints(c, at, &given) : NULL;
    if (n == 0) return gp_fail("%s: no index tensors given", c->op->name);
    if (n > nd) return gp_fail("%s: %d index tensors for a tensor of %d dims", c->op->name, n, nd);
    if (given != n) return gp_fail("%s: %d index tensors but %d dims", c->op->name, n, given);
    unsigned seen = 0;
    for (int i = 0; i < n; i++) {
        if (!gp_dim_wrap(c->op->name, v ? v[i] : i + 1, nd, &dims[i])) return false;
        if (seen >> dims[i] & 1)
            return gp_fail("%s: dim %d is indexed twice", c->op->name, dims[i] + 1);
        seen |= 1u << dims[i];
    }
    if (c->nints + n > GP_MAX_INTS) return gp_fail("%s: too many dims", c->op->name);
    for (int i = 0; i < n; i++) c->ints[c->nints + i] = dims[i];
    while (c->nargs <= at) gp_call_none(c);
    c->arg[at] = (gp_value){.kind = GP_INTS, .n = n, .i = c->nints};
    c->nints += n;
    return true;
}

/* Checks indices, leaves the temporary, and gives the shape of x[indices] (NumPy's rule: see
 * gp_index_place). */
static bool index_shape(gp_call *c, gp_meta *m, int dims_at, gp_shape *out) {
    gp_tensor *x = c->arg[0].t;
    int dims[GP_MAX_DIM];
    gp_shape s = {.ndim = 0};
    if (!indexed_dims(c, dims_at, dims) || !(m->dev = gp_infer_device(c))) return false;
    uint64_t mask = 0;
    for (int i = 0; i < c->arg[1].n; i++) {
        gp_shape si = gp_tensor_shape(c->arg[1].list[i]);
        if (!gp_infer_index(c, "indices", c->arg[1].list[i]) ||
            !gp_shape_broadcast(c->op->name, &s, &si))
            return false;
        mask |= (uint64_t)1 << dims[i];
    }
    int rest = x->a.ndim - c->arg[1].n, place = gp_index_place(x->a.ndim, mask), kept = 0;
    if (s.ndim + rest > GP_MAX_DIM)
        return gp_fail("%s: the result would have %d dims, more than %d", c->op->name,
                       s.ndim + rest, GP_MAX_DIM);
    out->ndim = 0;
    for (int d = 0; d <= x->a.ndim; d++) {
        if (kept == place && out->ndim == place)
            for (int i = 0; i < s.ndim; i++) out->dim[out->ndim++] = s.dim[i];
        if (d == x->a.ndim || mask >> d & 1) continue;
        out->dim[out->ndim++] = x->a.dim[d];
        kept++;
    }
    return gp_infer_offsets(c, m, &s);
}

bool infer_index(gp_call *c, gp_meta *m) {
    gp_meta_like(m, 0, c->arg[0].t, (gp_dtype)c->arg[0].t->a.dtype);
    return index_shape(c, m, 2, &m->out[0].shape);
}

bool infer_index_put(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    gp_shape s, all;
    gp_infer_zero_dim(c, 2, 1);
    if (!index_shape(c, m, 4, &s)) return false;
    all = s;
    if (c->arg[2].kind == GP_TENSOR) {
        gp_shape v = gp_tensor_shape(c->arg[2].t);
        char a[200], b[160];
        if (!gp_shape_broadcast("index_put", &all, &v)) return false;
        if (!gp_shape_equal(&all, &s))
            return gp_fail("index_put: values %s do not fit what is indexed, of shape %s",
                           gp_tensor_text(c->arg[2].t, a, sizeof a),
                           gp_shape_text(&s, b, sizeof b));
    }
    if (!gp_infer_values(c, 2, (gp_dtype)x->a.dtype, 1)) return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return true;
}
