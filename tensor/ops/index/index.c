/* Shape rules of ops that read by index tensors: gather, gather_nd, take, index_select, index,
 * embedding, repeat_interleave; and of ops that count or mark indices: bincount, histc, one_hot.
 * Indices count from 1, or from -1 at the end. Rules of reads make an i64 temporary for the
 * kernel's byte offsets, one for each index tuple. */
#include <math.h>
#include <stdio.h>

#include "tensor/infer.h"
#include "tensor/ops/index/index.h"

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

/* A 0-d tensor counts as one dim of size 1. */
static int dims_or_one(const gp_tensor *t) { return t->a.ndim ? t->a.ndim : 1; }

bool gp_infer_along(gp_call *c, gp_meta *m, int *d) {
    gp_tensor *x = c->arg[0].t, *index = c->arg[2].t;
    if (!gp_dim_wrap(c->op->name, c->arg[1].i, x->a.ndim, d)) return false;
    if (!gp_infer_index(c, "index", index) || !(m->dev = gp_infer_device(c))) return false;
    c->arg[1].i = *d + 1;
    if (index->a.numel == 0) return true; /* of any shape, as in PyTorch: it points nowhere */
    if (dims_or_one(index) != dims_or_one(x))
        return gp_fail("%s: index has %d dims, x has %d (expected the same)", c->op->name,
                       index->a.ndim, x->a.ndim);
    for (int i = 0; i < x->a.ndim; i++)
        if (i != *d && index->a.dim[i] > x->a.dim[i])
            return gp_fail("%s: index has size %lld in dim %d, x has %lld (expected at most that)",
                           c->op->name, (long long)index->a.dim[i], i + 1, (long long)x->a.dim[i]);
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

/* Makes x contiguous as the second temporary; it is indexed as if it had one dim. */
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

/* The other dims of x and of indices are broadcast; without dim both are flattened. */
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

bool gp_infer_indexed(gp_call *c, gp_meta *m, int dims_at, gp_shape *out) {
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
    int rest = x->a.ndim - c->arg[1].n, position = gp_index_position(x->a.ndim, mask), kept = 0;
    if (s.ndim + rest > GP_MAX_DIM)
        return gp_fail("%s: the result would have %d dims, more than %d", c->op->name,
                       s.ndim + rest, GP_MAX_DIM);
    out->ndim = 0;
    for (int d = 0; d <= x->a.ndim; d++) {
        if (kept == position && out->ndim == position)
            for (int i = 0; i < s.ndim; i++) out->dim[out->ndim++] = s.dim[i];
        if (d == x->a.ndim || mask >> d & 1) continue;
        out->dim[out->ndim++] = x->a.dim[d];
        kept++;
    }
    return gp_infer_offsets(c, m, &s);
}

bool infer_index(gp_call *c, gp_meta *m) {
    gp_meta_like(m, 0, c->arg[0].t, (gp_dtype)c->arg[0].t->a.dtype);
    return gp_infer_indexed(c, m, 2, &m->out[0].shape);
}

/* ---- embedding ---- */

/* Arguments: index, weight, padding_idx. */
bool infer_embedding(gp_call *c, gp_meta *m) {
    const gp_tensor *index = c->arg[0].t, *w = c->arg[1].t;
    char text[160];
    if (!gp_infer_device(c) || !gp_infer_index(c, "index", index)) return false;
    if (w->a.ndim != 2)
        return gp_fail("embedding: argument 'weight' is %s (expected 2 dims)",
                       gp_tensor_text(w, text, sizeof text));
    if (index->a.ndim == GP_MAX_DIM)
        return gp_fail("embedding: argument 'index' has %d dims, and a result one more",
                       GP_MAX_DIM);
    int64_t rows = w->a.dim[0], pad = gp_given(c, 2) ? c->arg[2].i : 1;
    if (rows == 0 && (index->a.numel || gp_given(c, 2)))
        return gp_fail("embedding: argument 'weight' is %s: it has no rows to look up",
                       gp_tensor_text(w, text, sizeof text));
    if (gp_given(c, 2) && (pad == 0 || pad > rows || pad < -rows))
        return gp_fail("embedding: argument 'padding_idx' is %lld (%s)", (long long)pad,
                       gp_index_range(rows, text, sizeof text));
    gp_meta_like(m, 0, index, (gp_dtype)w->a.dtype);
    m->out[0].shape.dim[m->out[0].shape.ndim++] = w->a.dim[1];
    return gp_infer_dense(c, 0) && gp_infer_dense(c, 1);
}

/* Arguments: g, index, num_embeddings, padding_idx. */
bool infer_embedding_grad(gp_call *c, gp_meta *m) {
    const gp_tensor *g = c->arg[0].t, *index = c->arg[1].t;
    char a[160], b[160];
    if (!gp_infer_device(c) || !gp_infer_index(c, "index", index) ||
        !gp_infer_check(c, "g", (gp_dtype)g->a.dtype, GP_SET_FLOAT))
        return false;
    bool fits = g->a.ndim == index->a.ndim + 1;
    for (int d = 0; fits && d < index->a.ndim; d++) fits = g->a.dim[d] == index->a.dim[d];
    if (!fits)
        return gp_fail("embedding_grad: argument 'g' is %s, argument 'index' %s (expected its "
                       "shape and one more dim)",
                       gp_tensor_text(g, a, sizeof a), gp_tensor_text(index, b, sizeof b));
    if (c->arg[2].i < 0)
        return gp_fail("embedding_grad: argument 'num_embeddings' is %lld (expected >= 0)",
                       (long long)c->arg[2].i);
    gp_meta_like(m, 0, g, (gp_dtype)g->a.dtype);
    m->out[0].shape = (gp_shape){.ndim = 2, .dim = {c->arg[2].i, g->a.dim[g->a.ndim - 1]}};
    return gp_infer_dense(c, 0) && gp_infer_dense(c, 1);
}

/* ---- repeat_interleave ---- */

static gp_tensor *total_of(gp_tensor *repeats) {
    gp_call c;
    gp_call_begin(&c, GP_OP(sum));
    gp_call_tensor(&c, repeats);
    return gp_call_one(&c);
}

/* The size of the repeated dim, which had n elements: a wait where repeats is a tensor and
 * output_size is absent. */
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
        return gp_fail(
            "repeat_interleave: %lld repeats for a dim of size %lld (expected 1 or %lld)",
            (long long)r->t->a.numel, (long long)n, (long long)n);
    if (gp_given(c, 3))
        return *size = c->arg[3].i,
               *size >= 0 || gp_fail("repeat_interleave: output_size is negative");
    gp_tensor *total = total_of(r->t);
    bool ok = total && gp_item(total, &s, GP_WHY_shape, "repeat_interleave");
    gp_tensor_unref(total);
    *size = r->t->a.numel == 1 ? s.i * n : s.i;
    return ok && (*size >= 0 || gp_fail("repeat_interleave: repeats are negative"));
}

/* Without dim, x is flattened into the second temporary. */
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

/* Labels that count_labels counts; elements from which on bincount begins with it. */
enum { LABELS = 4096, MANY = 1 << 16 };

/* The device and dtype of integers x, of 1 dim. */
static bool infer_labels(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    if (!gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_INT) || !gp_infer_device(c))
        return false;
    return x->a.ndim == 1 ||
           gp_fail("%s: expected x of 1 dim, got %d dims", c->op->name, x->a.ndim);
}

bool infer_count_labels(gp_call *c, gp_meta *m) {
    if (!infer_labels(c)) return false;
    gp_meta_like(m, 0, c->arg[0].t, GP_i64);
    m->out[0].shape.dim[0] = LABELS;
    m->out[1].dtype = GP_i64, m->out[1].shape = (gp_shape){.ndim = 0};
    m->n = 2;
    return true;
}

/* The size of a result, at least `least`, of which c->tmp[0] becomes the counts where they are of
 * so few labels: x is read once for both. A wait. */
static bool counted(gp_call *c, int64_t least, int64_t *out) {
    gp_scalar s = {.i = 0};
    gp_call labels;
    gp_call_begin(&labels, GP_OP(count_labels));
    gp_call_tensor(&labels, c->arg[0].t);
    if (!gp_op_run(&labels)) return false;
    c->tmp[0] = labels.out[0], c->ntmp = 1;
    bool ok = gp_item(labels.out[1], &s, GP_WHY_shape, "bincount");
    gp_tensor_unref(labels.out[1]);
    *out = s.i > least ? s.i : least;
    if (ok && *out > LABELS) gp_tensor_unref(c->tmp[0]), c->tmp[0] = NULL, c->ntmp = 0;
    return ok;
}

bool infer_bincount(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t, *w = gp_given(c, 1) ? c->arg[1].t : NULL;
    int64_t n;
    char a[200], b[200];
    if (!infer_labels(c)) return false;
    if (w && (w->a.ndim != 1 || w->a.numel != x->a.numel))
        return gp_fail("bincount: weights %s do not fit x %s (expected the same length)",
                       gp_tensor_text(w, a, sizeof a), gp_tensor_text(x, b, sizeof b));
    if (c->arg[2].i < 0)
        return gp_fail("bincount: minlength is %lld (expected 0 or more)", (long long)c->arg[2].i);
    if (w || x->a.numel < MANY ? !largest(x, "bincount", c->arg[2].i, &n)
                               : !counted(c, c->arg[2].i, &n))
        return false;
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
