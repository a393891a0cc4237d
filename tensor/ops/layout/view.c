/* Zero-copy ops: the same storage under other dims and strides; and reshape, flatten, contiguous,
 * which copy where no view is possible. */
#include <stdio.h>
#include <string.h>

#include "tensor/infer.h"

/* Checks the element count: dims that grow by stride 0 or overlap may multiply to more than a
 * tensor can have. */
static bool countable(const gp_call *c, const gp_shape *s) {
    int64_t numel;
    char text[100];
    if (gp_shape_numel(s, &numel)) return true;
    snprintf(text, sizeof text, "%s", gp_error());
    return gp_fail("%s: %s", c->op->name, text);
}

/* Makes t (NULL: an error was set) an output of c, which takes over the reference. */
static bool give(gp_call *c, gp_tensor *t) {
    if (!t) return false;
    c->out[c->nout++] = t;
    return true;
}

/* The new shape of x's elements; one dim may be -1. False with a message if the counts differ. */
static bool target_shape(const gp_call *c, const gp_tensor *x, gp_shape *s) {
    int n, unknown = -1;
    const int64_t *v = gp_ints(c, 1, &n);
    if (n > GP_MAX_DIM)
        return gp_fail("%s: %d dims are more than the %d a tensor may have", c->op->name, n,
                       GP_MAX_DIM);
    int64_t known = 1;
    s->ndim = n;
    for (int i = 0; i < n; i++) {
        s->dim[i] = v[i];
        if (v[i] == -1 && unknown < 0) unknown = i;
        else if (v[i] < 0)
            return gp_fail("%s: dim %d has size %lld (expected >= 0, or -1 once)", c->op->name,
                           i + 1, (long long)v[i]);
        else if (__builtin_mul_overflow(known, v[i], &known))
            return gp_fail("%s: shape has more than 2^63 elements", c->op->name);
    }
    if (unknown >= 0 && known > 0 && x->a.numel % known == 0) s->dim[unknown] = x->a.numel / known;
    else if (unknown >= 0 || known != x->a.numel) {
        char a[160], b[160];
        gp_shape old = gp_tensor_shape(x);
        return gp_fail("%s: %lld elements of shape %s do not fill shape %s (expected %s%lld "
                       "elements)",
                       c->op->name, (long long)x->a.numel, gp_shape_text(&old, a, sizeof a),
                       gp_shape_text(s, b, sizeof b), unknown < 0 ? "" : "a multiple of ",
                       (long long)known);
    }
    return countable(c, s);
}

/* Strides with which x's memory has shape s, or false: each run of new dims must cover a run of old
 * dims that are contiguous with one another. Source: numpy's rule for reshape without a copy. */
static bool view_strides(const gp_array *x, const gp_shape *s, int64_t *stride) {
    if (x->numel == 0 || x->contiguous) return gp_shape_strides(s, stride), true;
    int64_t old_dim[GP_MAX_DIM], old_stride[GP_MAX_DIM];
    int n = 0;
    for (int i = 0; i < x->ndim; i++)
        if (x->dim[i] != 1) old_dim[n] = x->dim[i], old_stride[n++] = x->stride[i];
    int oi = 0, ni = 0;
    while (oi < n) {
        int o0 = oi, n0 = ni;
        int64_t have = old_dim[oi++], want = 1;
        do {
            while (ni < s->ndim && want < have) want *= s->dim[ni++];
            while (oi < n && have < want) have *= old_dim[oi++];
        } while (have != want);
        for (int i = o0; i + 1 < oi; i++)
            if (old_stride[i] != old_dim[i + 1] * old_stride[i + 1]) return false;
        int64_t step = old_stride[oi - 1];
        for (int i = ni - 1; i >= n0; i--) stride[i] = step, step *= s->dim[i];
    }
    for (; ni < s->ndim; ni++) stride[ni] = 1;
    return true;
}

/* x's elements in shape s, in row-major order: a view where strides can express it, else a copy, if
 * that is allowed. */
static gp_tensor *view_or_copy(gp_tensor *x, const gp_shape *s, bool may_copy) {
    int64_t stride[GP_MAX_DIM];
    if (view_strides(&x->a, s, stride)) return gp_tensor_view(x, s, stride, 0);
    if (!may_copy)
        return gp_fail_null(
            "view: this layout needs a copy; use :reshape(), or :contiguous() first");
    gp_tensor *copy = gp_contiguous(x);
    if (!copy) return NULL;
    gp_shape_strides(s, stride);
    gp_tensor *t = gp_tensor_view(copy, s, stride, 0);
    gp_tensor_unref(copy);
    return t;
}

bool view_view(gp_call *c) {
    gp_shape s;
    return target_shape(c, c->arg[0].t, &s) && give(c, view_or_copy(c->arg[0].t, &s, false));
}

bool view_reshape(gp_call *c) {
    gp_shape s;
    return target_shape(c, c->arg[0].t, &s) && give(c, view_or_copy(c->arg[0].t, &s, true));
}

bool view_flatten(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    int first, last;
    if (!gp_dim_wrap("flatten", c->arg[1].i, x->a.ndim, &first) ||
        !gp_dim_wrap("flatten", c->arg[2].i, x->a.ndim, &last))
        return false;
    if (first > last)
        return gp_fail("flatten: first dim %d is after last dim %d", first + 1, last + 1);
    gp_shape s = {.ndim = 0};
    if (x->a.ndim == 0) s = (gp_shape){.ndim = 1, .dim = {1}};
    for (int i = 0; i < x->a.ndim; i++)
        if (i <= first || i > last) s.dim[s.ndim++] = x->a.dim[i];
        else s.dim[s.ndim - 1] *= x->a.dim[i];
    return give(c, view_or_copy(x, &s, true));
}

bool view_permute(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    int n, dim;
    const int64_t *v = gp_ints(c, 1, &n);
    if (n != x->a.ndim)
        return gp_fail("permute: %d dims given for a %d-d tensor (expected each of its dims once)",
                       n, x->a.ndim);
    gp_shape s = {.ndim = n};
    int64_t stride[GP_MAX_DIM];
    unsigned seen = 0;
    for (int i = 0; i < n; i++) {
        if (!gp_dim_wrap("permute", v[i], n, &dim)) return false;
        if (seen >> dim & 1) return gp_fail("permute: dim %lld is given twice", (long long)v[i]);
        seen |= 1u << dim;
        s.dim[i] = x->a.dim[dim];
        stride[i] = x->a.stride[dim];
    }
    return give(c, gp_tensor_view(x, &s, stride, 0));
}

bool view_transpose(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    int a, b;
    if (!gp_dim_wrap("transpose", c->arg[1].i, x->a.ndim, &a) ||
        !gp_dim_wrap("transpose", c->arg[2].i, x->a.ndim, &b))
        return false;
    gp_shape s = gp_tensor_shape(x);
    int64_t stride[GP_MAX_DIM];
    memcpy(stride, x->a.stride, sizeof stride);
    if (x->a.ndim) {
        s.dim[a] = x->a.dim[b], s.dim[b] = x->a.dim[a];
        stride[a] = x->a.stride[b], stride[b] = x->a.stride[a];
    }
    return give(c, gp_tensor_view(x, &s, stride, 0));
}

bool view_t(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    if (x->a.ndim > 2)
        return gp_fail("t: expected at most 2 dims, got %d; use :transpose(a, b)", x->a.ndim);
    gp_shape s = gp_tensor_shape(x);
    int64_t stride[2] = {x->a.stride[0], x->a.stride[1]};
    if (s.ndim == 2) {
        s.dim[0] = x->a.dim[1], s.dim[1] = x->a.dim[0];
        stride[0] = x->a.stride[1], stride[1] = x->a.stride[0];
    }
    return give(c, gp_tensor_view(x, &s, stride, 0));
}

/* The dims of argument i of movedim, 0-based; repeated ones are refused. */
static bool distinct_dims(const gp_call *c, int i, int *dims, int *n) {
    uint64_t seen = 0;
    const int64_t *v = gp_ints(c, i, n);
    for (int k = 0; k < *n; k++) {
        if (!gp_dim_wrap(c->op->name, v[k], c->arg[0].t->a.ndim, &dims[k])) return false;
        if (seen >> dims[k] & 1)
            return gp_fail("%s: dim %lld is given twice", c->op->name, (long long)v[k]);
        seen |= (uint64_t)1 << dims[k];
    }
    return true;
}

bool view_movedim(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    int nfrom, nto, from[GP_MAX_INTS], to[GP_MAX_INTS], order[GP_MAX_DIM];
    if (!distinct_dims(c, 1, from, &nfrom) || !distinct_dims(c, 2, to, &nto)) return false;
    if (nfrom != nto)
        return gp_fail("movedim: %d dims of source, but %d of destination", nfrom, nto);
    if (x->a.ndim == 0) return give(c, gp_tensor_view(x, &(gp_shape){.ndim = 0}, x->a.stride, 0));
    uint64_t moved = 0;
    for (int i = 0; i < x->a.ndim; i++) order[i] = -1;
    for (int i = 0; i < nfrom; i++) order[to[i]] = from[i], moved |= (uint64_t)1 << from[i];
    for (int i = 0, next = 0; i < x->a.ndim; i++) {
        if (order[i] >= 0) continue;
        while (moved >> next & 1) next++;
        order[i] = next++;
    }
    gp_shape s = {.ndim = x->a.ndim};
    int64_t stride[GP_MAX_DIM];
    for (int i = 0; i < s.ndim; i++)
        s.dim[i] = x->a.dim[order[i]], stride[i] = x->a.stride[order[i]];
    return give(c, gp_tensor_view(x, &s, stride, 0));
}

bool view_expand(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    const char *name = c->op->name;
    int n;
    const int64_t *v = gp_ints(c, 1, &n);
    if (n > GP_MAX_DIM)
        return gp_fail("%s: %d dims are more than the %d a tensor may have", name, n, GP_MAX_DIM);
    if (n < x->a.ndim)
        return gp_fail("%s: %d dims given for a %d-d tensor (expected at least %d)", name, n,
                       x->a.ndim, x->a.ndim);
    gp_shape s = {.ndim = n};
    int64_t stride[GP_MAX_DIM];
    for (int i = 0; i < n; i++) {
        int j = i - (n - x->a.ndim);
        int64_t have = j >= 0 ? x->a.dim[j] : 1, want = v[i] == -1 && j >= 0 ? have : v[i];
        if (want < 0 || (have != want && have != 1))
            return gp_fail("%s: dim %d has size %lld and cannot become %lld", name, i + 1,
                           (long long)have, (long long)v[i]);
        s.dim[i] = want;
        stride[i] = have == want && j >= 0 ? x->a.stride[j] : 0;
    }
    if (!countable(c, &s)) return false;
    return give(c, gp_tensor_view(x, &s, stride, 0));
}

bool view_broadcast_to(gp_call *c) { return view_expand(c); }

bool view_squeeze(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    uint64_t mask;
    if (!gp_infer_dims(c, 1, x->a.ndim, &mask)) return false;
    gp_shape s = {.ndim = 0};
    int64_t stride[GP_MAX_DIM];
    for (int i = 0; i < x->a.ndim; i++)
        if (x->a.dim[i] != 1 || !(mask >> i & 1))
            stride[s.ndim] = x->a.stride[i], s.dim[s.ndim++] = x->a.dim[i];
    return give(c, gp_tensor_view(x, &s, stride, 0));
}

bool view_unsqueeze(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    int at;
    char range[80];
    if (x->a.ndim == GP_MAX_DIM)
        return gp_fail("unsqueeze: a tensor has at most %d dims", GP_MAX_DIM);
    int positions = x->a.ndim + 1; /* the new dim may also come after the last one */
    if (c->arg[1].i == 0 || c->arg[1].i > positions || c->arg[1].i < -positions)
        return gp_fail("unsqueeze: dim %lld is out of range for a %d-d tensor (%s)",
                       (long long)c->arg[1].i, x->a.ndim,
                       gp_index_range(positions, range, sizeof range));
    at = (int)(c->arg[1].i > 0 ? c->arg[1].i - 1 : c->arg[1].i + positions);
    gp_shape s = {.ndim = x->a.ndim + 1};
    int64_t stride[GP_MAX_DIM];
    for (int i = 0, j = 0; i < s.ndim; i++) {
        s.dim[i] = i == at ? 1 : x->a.dim[j];
        stride[i] = i == at ? 1 : x->a.stride[j];
        if (i != at) j++;
    }
    return give(c, gp_tensor_view(x, &s, stride, 0));
}

/* The sizes that dim d of x is split into, in s from dim d on, with the other dims before and
 * after. */
static bool split_sizes(const gp_call *c, const gp_tensor *x, int d, gp_shape *s) {
    int n, unknown = -1;
    const int64_t *v = gp_ints(c, 2, &n);
    int64_t known = 1, have = x->a.dim[d];
    if (n == 0 || x->a.ndim - 1 + n > GP_MAX_DIM)
        return gp_fail("unflatten: %d sizes given (expected 1 to %d)", n,
                       GP_MAX_DIM + 1 - x->a.ndim);
    *s = gp_tensor_shape(x);
    memmove(s->dim + d + n, s->dim + d + 1, (size_t)(s->ndim - d - 1) * sizeof *s->dim);
    s->ndim += n - 1;
    for (int i = 0; i < n; i++) {
        s->dim[d + i] = v[i];
        if (v[i] == -1 && unknown < 0) unknown = i;
        else if (v[i] < 0)
            return gp_fail("unflatten: size %d is %lld (expected >= 0, or -1 once)", i + 1,
                           (long long)v[i]);
        else if (__builtin_mul_overflow(known, v[i], &known))
            return gp_fail("unflatten: the sizes multiply to more than 2^63, dim %d has size %lld",
                           d + 1, (long long)have);
    }
    if (unknown >= 0 && known > 0 && have % known == 0)
        return s->dim[d + unknown] = have / known, true;
    return (unknown < 0 && known == have) ||
           gp_fail(
               "unflatten: the product of the sizes is %lld, but dim %d has size %lld (expected "
               "%s)",
               (long long)known, d + 1, (long long)have,
               unknown < 0 ? "the same" : "a multiple of the product");
}

bool view_unflatten(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    int d;
    if (!gp_dim_wrap("unflatten", c->arg[1].i, x->a.ndim, &d)) return false;
    if (x->a.ndim == 0) return gp_fail("unflatten: a 0-d tensor has no dim to split");
    gp_shape s;
    if (!split_sizes(c, x, d, &s)) return false;
    int64_t stride[GP_MAX_DIM], step = x->a.stride[d];
    int n = s.ndim - x->a.ndim + 1;
    for (int i = 0; i < s.ndim; i++)
        stride[i] = x->a.stride[i < d ? i : i - (i < d + n ? 0 : n - 1)];
    for (int i = d + n - 1; i >= d; i--) stride[i] = step, step *= s.dim[i];
    return give(c, gp_tensor_view(x, &s, stride, 0));
}

/* An index counted from 1, or from the end if negative, as 0 … size-1. */
static bool wrap_index(const char *op, const char *arg, int64_t i, int64_t size, int64_t *out) {
    char range[80];
    if (i == 0 || i > size || i < -size)
        return gp_fail("%s: %s %lld is out of range for a dim of size %lld (%s)", op, arg,
                       (long long)i, (long long)size, gp_index_range(size, range, sizeof range));
    *out = i > 0 ? i - 1 : i + size;
    return true;
}

/* x with dim d cut to `length` elements from `first` (0-based), `step` apart. */
static gp_tensor *cut(const gp_tensor *x, int d, int64_t first, int64_t length, int64_t step) {
    gp_shape s = gp_tensor_shape(x);
    int64_t stride[GP_MAX_DIM];
    memcpy(stride, x->a.stride, sizeof stride);
    s.dim[d] = length;
    if (length > 1) stride[d] *= step;
    return gp_tensor_view(x, &s, stride, length ? first * x->a.stride[d] : 0);
}

bool view_narrow(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    int d;
    if (!gp_dim_wrap("narrow", c->arg[1].i, x->a.ndim, &d)) return false;
    if (x->a.ndim == 0) return gp_fail("narrow: a 0-d tensor has no dim to narrow");
    int64_t size = x->a.dim[d], start = c->arg[2].i, length = c->arg[3].i;
    int64_t first = start > 0 ? start - 1 : start + size;
    if (start == 0 || first < 0 || first > size || length < 0 || length > size - first)
        return gp_fail("narrow: start %lld and length %lld do not lie in dim %d of size %lld",
                       (long long)start, (long long)length, d + 1, (long long)size);
    return give(c, cut(x, d, first, length, 1));
}

bool view_select(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    int d;
    int64_t i = 0;
    if (!gp_dim_wrap("select", c->arg[1].i, x->a.ndim, &d)) return false;
    if (x->a.ndim == 0)
        return gp_fail("select: a 0-d tensor cannot be indexed; use :item() for its number");
    if (!wrap_index("select", "index", c->arg[2].i, x->a.dim[d], &i)) return false;
    gp_shape s = {.ndim = x->a.ndim - 1};
    int64_t stride[GP_MAX_DIM];
    for (int k = 0; k < s.ndim; k++) {
        s.dim[k] = x->a.dim[k + (k >= d)];
        stride[k] = x->a.stride[k + (k >= d)];
    }
    return give(c, gp_tensor_view(x, &s, stride, i * x->a.stride[d]));
}

/* Ranges are inclusive; bounds past the end are clipped, as in string.sub; a range that ends before
 * it begins is empty. */
bool view_slice(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    int d;
    if (!gp_dim_wrap("slice", c->arg[1].i, x->a.ndim, &d)) return false;
    if (x->a.ndim == 0) return gp_fail("slice: a 0-d tensor has no dim to slice");
    int64_t size = x->a.dim[d], first = c->arg[2].i, last = c->arg[3].i, step = c->arg[4].i;
    if (step < 1)
        return gp_fail("slice: step %lld (expected >= 1; use :flip() to reverse)", (long long)step);
    if (first == 0 || last == 0)
        return gp_fail("slice: bound 0 (indices count from 1, or from -1 at the end)");
    first = first > 0 ? first : first + size + 1 < 1 ? 1 : first + size + 1;
    last = last > 0 ? (last < size ? last : size) : last + size + 1;
    int64_t length = last >= first ? (last - first) / step + 1 : 0;
    return give(c, cut(x, d, first - 1, length, step));
}

bool view_diagonal(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    int a, b;
    if (x->a.ndim < 2) return gp_fail("diagonal: expected at least 2 dims, got %d", x->a.ndim);
    if (!gp_dim_wrap("diagonal", c->arg[2].i, x->a.ndim, &a) ||
        !gp_dim_wrap("diagonal", c->arg[3].i, x->a.ndim, &b))
        return false;
    if (a == b) return gp_fail("diagonal: dim1 and dim2 are both %d", a + 1);
    int64_t off = c->arg[1].i;
    if (off < -x->a.dim[a]) off = -x->a.dim[a];
    if (off > x->a.dim[b]) off = x->a.dim[b];
    int64_t row = off < 0 ? -off : 0, col = off > 0 ? off : 0;
    int64_t rows = x->a.dim[a] - row, cols = x->a.dim[b] - col, n = rows < cols ? rows : cols;
    gp_shape s = {.ndim = 0};
    int64_t stride[GP_MAX_DIM];
    for (int i = 0; i < x->a.ndim; i++)
        if (i != a && i != b) stride[s.ndim] = x->a.stride[i], s.dim[s.ndim++] = x->a.dim[i];
    stride[s.ndim] = x->a.stride[a] + x->a.stride[b];
    s.dim[s.ndim++] = n > 0 ? n : 0;
    return give(
        c, gp_tensor_view(x, &s, stride, n > 0 ? row * x->a.stride[a] + col * x->a.stride[b] : 0));
}

bool view_unfold(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    int d;
    if (!gp_dim_wrap("unfold", c->arg[1].i, x->a.ndim, &d)) return false;
    int64_t size = c->arg[2].i, step = c->arg[3].i, length = x->a.ndim ? x->a.dim[d] : 1;
    if (x->a.ndim == GP_MAX_DIM)
        return gp_fail("unfold: expected at most %d dims, got %d", GP_MAX_DIM - 1, x->a.ndim);
    if (size < 0 || size > length || step < 1)
        return gp_fail("unfold: windows of %lld, %lld apart, do not fit in dim %d of size %lld",
                       (long long)size, (long long)step, d + 1, (long long)length);
    gp_shape s = gp_tensor_shape(x);
    int64_t stride[GP_MAX_DIM];
    memcpy(stride, x->a.stride, sizeof stride);
    stride[s.ndim] = x->a.ndim ? stride[d] : 1; /* 0-d: one window, and no dim of windows */
    s.dim[s.ndim++] = size;
    if (x->a.ndim) s.dim[d] = (length - size) / step + 1;
    if (x->a.ndim && s.dim[d] > 1) stride[d] *= step;
    if (!countable(c, &s)) return false;
    return give(c, gp_tensor_view(x, &s, stride, 0));
}

bool view_detach(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    gp_shape s = gp_tensor_shape(x);
    return give(c, gp_tensor_view(x, &s, x->a.stride, 0));
}

bool view_contiguous(gp_call *c) { return give(c, gp_contiguous(c->arg[0].t)); }

bool view_to(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    gp_device *dev = gp_given(c, 1) ? c->arg[1].dev : x->storage->dev;
    gp_dtype dt = gp_arg_dtype(c, 2, (gp_dtype)x->a.dtype);
    /* Converts on the side where fewer bytes are copied. */
    bool before = gp_dtype_size(dt) <= gp_dtype_size((gp_dtype)x->a.dtype);
    gp_tensor *a = before ? gp_cast(x, dt) : gp_tensor_ref(x);
    gp_tensor *b =
        a ? gp_to_device(a, dev, gp_given(c, 3) && c->arg[3].i, GP_WHY_copy, "to") : NULL;
    gp_tensor *out = b ? gp_cast(b, dt) : NULL;
    gp_tensor_unref(a);
    gp_tensor_unref(b);
    return give(c, out);
}

/* Whether the elements from offset to last, from x's first one, are x's own or those of the tensor
 * that x is a view of. In numbers: a pointer to what lies outside of them is undefined. */
static bool strided_fits(const gp_tensor *x, int64_t offset, int64_t last) {
    const char *first, *end, *at = x->a.data;
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)x->a.dtype);
    gp_array_extent(x->base ? &x->base->a : &x->a, &first, &end);
    return offset * size >= first - at && last * size <= end - at - size;
}

/* Whether every element's offset can be counted in bytes; the last one's in *last, in elements. */
static bool strided_counts(const gp_shape *s, const int64_t *stride, int64_t offset,
                           int64_t *last) {
    int64_t far, most = INT64_MAX / 8;
    *last = offset;
    if (offset < -most || offset > most) return false;
    for (int i = 0; i < s->ndim; i++)
        if (stride[i] > most ||
            (s->dim[i] > 1 && (__builtin_mul_overflow(s->dim[i] - 1, stride[i], &far) ||
                               __builtin_add_overflow(*last, far, last) || *last > most)))
            return false;
    return true;
}

bool view_as_strided(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    int n, k;
    gp_shape s;
    const int64_t *stride = gp_ints(c, 2, &k);
    if (!gp_arg_shape(c, 1, &s) || !countable(c, &s)) return false;
    n = s.ndim;
    if (k != n) return gp_fail("as_strided: %d strides for %d dims", k, n);
    for (int i = 0; i < n; i++)
        if (stride[i] < 0)
            return gp_fail("as_strided: stride %lld is negative", (long long)stride[i]);
    int64_t offset = c->arg[3].i, last, numel;
    if (!gp_shape_numel(&s, &numel)) return false;
    if (offset == INT64_MIN || !strided_counts(&s, stride, offset - 1, &last) ||
        (numel > 0 && !strided_fits(x, offset - 1, last)))
        return gp_fail(
            "as_strided: shape, strides and offset %lld reach beyond the tensor's memory",
            (long long)offset);
    return give(c, gp_tensor_view(x, &s, stride, offset - 1));
}
