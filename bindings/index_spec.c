/* Index expressions: parsing, and reading and assigning through views and the ops that take masks
 * and index tensors. Knows no Lua. */
#include "bindings/index_spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/autograd/tape.h"
#include "tensor/intercept.h"
#include "tensor/overlap.h"

/* ---- parsing ---- */

bool gp_index_add(gp_index_spec *s, gp_index_item item) {
    if (s->n == GP_MAX_ITEMS) return gp_fail("index: more than %d items", GP_MAX_ITEMS);
    s->item[s->n++] = item;
    return true;
}

static const char *blanks(const char *p) { return p + strspn(p, " \t\n"); }

/* An integer at *p, if there is one. */
static bool number(const char **p, int64_t *out) {
    char *end;
    const char *s = *p + (**p == '-' || **p == '+');
    if (!isdigit((unsigned char)*s)) return false;
    errno = 0;
    *out = strtoll(*p, &end, 10);
    if (errno) return false;
    *p = blanks(end);
    return true;
}

/* Parses "...", "new", "3", "1:4", "::2", ":"; *p moves past it. False for anything else. */
static bool parse_item(const char **p, gp_index_item *item) {
    *item = (gp_index_item){.kind = GP_ITEM_RANGE, .first = 1, .last = -1, .step = 1};
    if (!strncmp(*p, "...", 3)) return item->kind = GP_ITEM_ELLIPSIS, *p = blanks(*p + 3), true;
    if (!strncmp(*p, "new", 3)) return item->kind = GP_ITEM_NEW, *p = blanks(*p + 3), true;
    bool first = number(p, &item->first);
    if (**p != ':') return item->kind = GP_ITEM_INT, first;
    *p = blanks(*p + 1);
    bool last = number(p, &item->last), step = false;
    if (**p == ':') {
        *p = blanks(*p + 1);
        step = number(p, &item->step);
    }
    if (!first && !last && !step) item->kind = GP_ITEM_ALL;
    return true;
}

bool gp_index_parse(gp_index_spec *s, const char *text) {
    for (const char *p = blanks(text);;) {
        const char *start = p;
        gp_index_item item;
        bool ok = parse_item(&p, &item);
        if (!ok || (*p && *p != ','))
            return gp_fail("index \"%s\": '%.*s' is not an index (expected integers, ranges "
                           "first:last:step, '...' or 'new', separated by commas)",
                           text, (int)(*start ? strcspn(start + 1, ",") + 1 : 0), start);
        if (!gp_index_add(s, item)) return false;
        if (!*p) return true;
        p = blanks(p + 1);
    }
}

/* ---- from items to a view, and its index tensors ---- */

/* The result of basic items: a view of x, and for each index tensor the dim of the view that it
 * indexes. */
typedef struct resolved {
    gp_tensor *view;
    int n;
    gp_tensor *t[GP_MAX_DIM]; /* owned */
    int64_t dim[GP_MAX_DIM];  /* from 1 */
    gp_tensor *mask; /* owned; the only tensor item, if that is a mask that is not counted yet */
    int mask_dim;    /* 0-based; its dims follow */
} resolved;

/* Releases what step, add_index and read_mask stored in r. */
static void release(resolved *r) {
    gp_tensor_unref(r->view);
    gp_tensor_unref(r->mask);
    for (int i = 0; i < r->n; i++) gp_tensor_unref(r->t[i]);
}

/* The number of x's dims that an item indexes. */
static int takes(const gp_index_item *it) {
    if (it->kind == GP_ITEM_NEW || it->kind == GP_ITEM_ELLIPSIS) return 0;
    return it->kind == GP_ITEM_MASK ? it->t->a.ndim : 1;
}

/* op(v, a, more …) with integers from 1, as called from Lua; a new reference. v may be NULL where
 * making it failed. */
static gp_tensor *on_view(gp_tensor *v, const gp_op *op, int64_t a, const int64_t *more,
                          int nmore) {
    gp_call c;
    gp_call_begin(&c, op);
    gp_call_tensor(&c, v);
    gp_call_int(&c, a);
    for (int i = 0; i < nmore; i++) gp_call_int(&c, more[i]);
    return gp_call_one(&c);
}

/* t as a view of these dims; a new reference. */
static gp_tensor *shaped(gp_tensor *t, const int64_t *dim, int n) {
    gp_call c;
    gp_call_begin(&c, GP_OP(view));
    gp_call_tensor(&c, t);
    gp_call_ints(&c, dim, n);
    return gp_call_one(&c);
}

/* Replaces r->view. */
static bool step(resolved *r, gp_tensor *v) {
    if (!v) return false;
    gp_tensor_unref(r->view);
    r->view = v;
    return true;
}

/* An index tensor moved to x's device; only from the cpu, where its elements can be read without a
 * wait. */
static gp_tensor *beside(gp_tensor *t, const gp_tensor *x) {
    if (t->storage->dev != gp_device_cpu()) return gp_tensor_ref(t);
    return gp_to_device(t, x->storage->dev, false, GP_WHY_index, "cpu index");
}

/* Takes over t, which may be NULL where making it failed; d: the first dim that it indexes,
 * 0-based. */
static bool add_index(resolved *r, gp_tensor *t, int d) {
    if (r->n == GP_MAX_DIM)
        return gp_tensor_unref(t), gp_fail("index: more than %d index tensors", GP_MAX_DIM);
    r->t[r->n] = t;
    r->dim[r->n++] = d + 1;
    return t != NULL;
}

/* Replaces a mask by the columns of its nonzero: a wait for their number. */
static bool add_mask(resolved *r, gp_tensor *mask, int d) {
    gp_call c;
    gp_call_begin(&c, GP_OP(nonzero));
    gp_call_tensor(&c, mask);
    gp_tensor *rows = gp_call_one(&c);
    bool ok = rows != NULL;
    for (int i = 0; ok && i < mask->a.ndim; i++)
        ok = add_index(r, on_view(rows, GP_OP(select), 2, &(int64_t){i + 1}, 1), d + i);
    gp_tensor_unref(rows);
    return ok;
}

/* Whether the mask has the sizes of v's dims from d (0-based) on. */
static bool mask_fits(const gp_tensor *v, const gp_tensor *mask, int d) {
    bool fits = d + mask->a.ndim <= v->a.ndim;
    for (int i = 0; fits && i < mask->a.ndim; i++) fits = mask->a.dim[i] == v->a.dim[d + i];
    char a[200], b[200];
    return fits ||
           gp_fail(
               "index: the mask %s does not fit %s at dim %d (expected the same sizes from there)",
               gp_tensor_text(mask, a, sizeof a), gp_tensor_text(v, b, sizeof b), d + 1);
}

/* alone: the mask is the only tensor among the items, so that its true elements need not be
 * counted. *d moves past its dims. */
static bool read_mask(resolved *r, const gp_index_item *it, int *d, bool alone) {
    gp_tensor *mask = beside(it->t, r->view);
    if (mask && mask->a.ndim == 0) { /* true: everything, as a dim of size 1; false: nothing */
        gp_tensor *one = on_view(mask, GP_OP(unsqueeze), 1, NULL, 0);
        gp_tensor_unref(mask);
        mask = one;
        if (!mask || !step(r, on_view(r->view, GP_OP(unsqueeze), *d + 1, NULL, 0)))
            return gp_tensor_unref(mask), false;
    }
    bool ok = mask && mask_fits(r->view, mask, *d);
    int at = *d;
    if (ok) *d += mask->a.ndim;
    if (ok && alone) return r->mask = mask, r->mask_dim = at, true;
    ok = ok && add_mask(r, mask, at);
    gp_tensor_unref(mask);
    return ok;
}

/* Applies one item: slices the view, or adds a tensor. *d, 0-based, moves to the view's next
 * dim. */
static bool read_item(resolved *r, const gp_index_item *it, int *d, bool alone) {
    switch ((gp_item_kind)it->kind) {
    case GP_ITEM_INT: return step(r, on_view(r->view, GP_OP(select), *d + 1, &it->first, 1));
    case GP_ITEM_RANGE: {
        int64_t bounds[3] = {it->first, it->last, it->step};
        return step(r, on_view(r->view, GP_OP(slice), ++*d, bounds, 3));
    }
    case GP_ITEM_NEW: return step(r, on_view(r->view, GP_OP(unsqueeze), ++*d, NULL, 0));
    case GP_ITEM_INDEX: return add_index(r, beside(it->t, r->view), (*d)++);
    case GP_ITEM_MASK: return read_mask(r, it, d, alone);
    default: ++*d; return true;
    }
}

/* Fills *r from x and the items; the caller releases it, also on failure. */
static bool resolve(resolved *r, gp_tensor *x, const gp_index_spec *s) {
    *r = (resolved){.view = gp_tensor_ref(x)};
    gp_at(GP_AT_SHAPE, NULL, NULL); /* ends and masks are resolved by the dims that x has now */
    int taken = 0, ellipses = 0, tensors = 0, d = 0;
    for (int i = 0; i < s->n; i++) {
        taken += takes(&s->item[i]);
        ellipses += s->item[i].kind == GP_ITEM_ELLIPSIS;
        tensors += s->item[i].t != NULL;
    }
    char text[200];
    if (taken > x->a.ndim)
        return gp_fail("index: %d dims are indexed, but the tensor is %s (expected at most %d)",
                       taken, gp_tensor_text(x, text, sizeof text), x->a.ndim);
    if (ellipses > 1) return gp_fail("index: '...' is given twice");
    for (int i = 0; i < s->n; i++) {
        if (s->item[i].kind == GP_ITEM_ELLIPSIS) d += x->a.ndim - taken;
        else if (!read_item(r, &s->item[i], &d, tensors == 1)) return false;
    }
    return true;
}

/* ---- reading ---- */

/* Runs index (neither number nor value), or index_put of one of them into the view; a new
 * reference. */
static gp_tensor *index_op(resolved *r, const gp_op *op, const gp_scalar *number,
                           gp_tensor *value) {
    gp_call c;
    gp_call_begin(&c, op);
    gp_call_tensor(&c, r->view);
    c.arg[c.nargs++] = (gp_value){.kind = GP_LIST, .n = r->n, .list = r->t};
    if (number) gp_call_number(&c, *number);
    if (value) gp_call_tensor(&c, value);
    if (number || value) gp_call_none(&c), c.into = r->view;
    gp_call_ints(&c, r->dim, r->n);
    return gp_call_one(&c);
}

/* The mask with trailing dims of size 1, so that it aligns with its dims of the view. */
static gp_tensor *mask_under(const resolved *r) {
    gp_shape s = gp_tensor_shape(r->mask);
    int64_t stride[GP_MAX_DIM];
    memcpy(stride, r->mask->a.stride, sizeof stride);
    for (int d = r->mask_dim + r->mask->a.ndim; d < r->view->a.ndim; d++)
        stride[s.ndim] = 1, s.dim[s.ndim++] = 1;
    return gp_tensor_view(r->mask, &s, stride, 0);
}

/* The number of the view's elements that one element of the mask selects. */
static int64_t part_size(const resolved *r) {
    int64_t n = 1;
    for (int d = r->mask->a.ndim; d < r->view->a.ndim; d++) n *= r->view->a.dim[d];
    return n;
}

/* A mask over the first dims: the selected parts, as rows of their shape. */
static gp_tensor *masked_parts(const resolved *r) {
    gp_tensor *mask = mask_under(r);
    if (!mask) return NULL;
    gp_call c;
    gp_call_begin(&c, GP_OP(masked_select));
    gp_call_tensor(&c, r->view);
    gp_call_tensor(&c, mask);
    gp_tensor *flat = gp_call_one(&c);
    gp_tensor_unref(mask);
    if (!flat || r->mask->a.ndim == r->view->a.ndim) return flat;
    int64_t dim[GP_MAX_DIM] = {flat->a.numel / part_size(r)};
    int n = 1;
    for (int d = r->mask->a.ndim; d < r->view->a.ndim; d++) dim[n++] = r->view->a.dim[d];
    gp_tensor *out = shaped(flat, dim, n);
    gp_tensor_unref(flat);
    return out;
}

gp_tensor *gp_index_read(gp_tensor *x, const gp_index_spec *s) {
    resolved r;
    gp_tensor *out = NULL;
    if (resolve(&r, x, s)) {
        if (r.mask && r.mask_dim == 0 && part_size(&r) > 0) out = masked_parts(&r);
        else if (!r.mask || add_mask(&r, r.mask, r.mask_dim))
            out = r.n ? index_op(&r, GP_OP(index), NULL, NULL) : gp_tensor_ref(r.view);
    }
    if (out && out == x) { /* x[":"] and similar: a tensor of its own, as every view is */
        out = shaped(x, x->a.dim, x->a.ndim);
        gp_tensor_unref(x);
    }
    release(&r);
    return out;
}

/* ---- assigning ---- */

/* Ends an op that writes: releases the reference to its output, which is the target. */
static bool done(gp_tensor *out) {
    gp_tensor_unref(out);
    return out != NULL;
}

/* Writes a number where the mask is true: no count, so no wait. */
static bool fill_masked(resolved *r, gp_scalar value) {
    gp_tensor *mask = mask_under(r);
    if (!mask) return false;
    gp_call c;
    gp_call_begin(&c, GP_OP(masked_fill));
    gp_call_tensor(&c, r->view);
    gp_call_tensor(&c, mask);
    gp_call_number(&c, value);
    c.into = r->view;
    bool ok = done(gp_call_one(&c));
    gp_tensor_unref(mask);
    return ok;
}

/* Checks that the dtype can hold the number, which is an error otherwise. */
static bool fits(gp_dtype dt, gp_scalar *v) {
    char buf[8];
    if (gp_is_float(dt)) return true;
    if (v->is_float) {
        if (!(v->f >= -0x1p63 && v->f < 0x1p63) || v->f != (double)(int64_t)v->f)
            return gp_fail("index: the value %g does not fit in a %s tensor", v->f,
                           gp_dtype_name(dt));
        *v = (gp_scalar){.i = (int64_t)v->f};
    }
    if (dt == GP_bool) return true;
    gp_scalar_store(dt, buf, *v);
    return gp_scalar_load(dt, buf).i == v->i ||
           gp_fail("index: the value %lld does not fit in a %s tensor", (long long)v->i,
                   gp_dtype_name(dt));
}

/* Whether x's elements are distinct: what is written to one must not appear in another. */
static bool separate(const gp_tensor *x) {
    return !gp_array_self_overlaps(&x->a) || gp_fail("index: several elements of the tensor share "
                                                     "one place in memory (it was expanded or "
                                                     "unfolded); assign to x:clone()");
}

/* Whether x's dtype can hold v's: fractions are not truncated silently. */
static bool holds(const gp_tensor *x, const gp_tensor *value) {
    gp_dtype to = (gp_dtype)x->a.dtype, from = (gp_dtype)value->a.dtype;
    return gp_is_float(to) || !gp_is_float(from) ||
           gp_fail("index: %s values do not fit in a %s tensor (convert them with :to)",
                   gp_dtype_name(from), gp_dtype_name(to));
}

bool gp_index_fill(gp_tensor *x, const gp_index_spec *s, gp_scalar value) {
    resolved r;
    if (!separate(x) || !fits((gp_dtype)x->a.dtype, &value)) return false;
    bool ok = resolve(&r, x, s);
    if (ok && r.mask) {
        ok = fill_masked(&r, value);
    } else if (ok && r.n) {
        ok = done(index_op(&r, GP_OP(index_put), &value, NULL));
    } else if (ok) {
        gp_call c;
        gp_call_begin(&c, GP_OP(fill));
        gp_call_tensor(&c, r.view);
        gp_call_number(&c, value);
        c.into = r.view;
        ok = done(gp_call_one(&c));
    }
    release(&r);
    return ok;
}

/* t with dims first … first + n - 1 moved first. */
static gp_tensor *to_front(gp_tensor *t, int first, int n) {
    int64_t order[GP_MAX_DIM];
    for (int i = 0; i < t->a.ndim; i++)
        order[i] = 1 + (i < n ? first + i : i < first + n ? i - n : i);
    gp_call c;
    gp_call_begin(&c, GP_OP(permute));
    gp_call_tensor(&c, t);
    gp_call_ints(&c, order, t->a.ndim);
    return gp_call_one(&c);
}

/* Values for x[…, mask, …] with the dim of the true elements moved first, and dims of size 1 for
 * those missing before the mask; values without that dim are left as they are. */
static gp_tensor *values_to_front(const resolved *r, gp_tensor *v) {
    int behind = r->view->a.ndim - r->mask_dim - r->mask->a.ndim, at = v->a.ndim - behind - 1;
    if (at < 0 || at > r->mask_dim || r->mask_dim == 0) return gp_tensor_ref(v);
    gp_shape s = gp_tensor_shape(v);
    int64_t dim[GP_MAX_DIM];
    int n = 0;
    while (n < r->mask_dim - at) dim[n++] = 1;
    for (int d = 0; d < s.ndim; d++) dim[n++] = s.dim[d];
    gp_tensor *whole = gp_contiguous(v), *wide = whole ? shaped(whole, dim, n) : NULL,
              *front = wide ? to_front(wide, r->mask_dim, 1) : NULL;
    gp_tensor_unref(whole);
    gp_tensor_unref(wide);
    return front;
}

/* Writes values in the mask's row-major order, each a part of the view, into the view's memory. */
static bool assign_masked(resolved *r, gp_tensor *value) {
    gp_tensor *view = to_front(r->view, r->mask_dim, r->mask->a.ndim),
              *v = view ? values_to_front(r, value) : NULL;
    bool ok = v != NULL;
    if (ok) {
        gp_call c;
        gp_call_begin(&c, GP_OP(masked_put));
        gp_call_tensor(&c, view);
        gp_call_tensor(&c, r->mask);
        gp_call_tensor(&c, v);
        c.into = view;
        ok = done(gp_call_one(&c));
    }
    gp_tensor_unref(view);
    gp_tensor_unref(v);
    return ok;
}

/* value without the leading dims of size 1 that view lacks; a new reference. */
static gp_tensor *without_ones(gp_tensor *value, const gp_tensor *view) {
    gp_shape s = gp_tensor_shape(value);
    int n = 0;
    while (s.ndim - n > view->a.ndim && s.dim[n] == 1) n++;
    if (n == 0) return gp_tensor_ref(value);
    gp_call c;
    gp_call_begin(&c, GP_OP(squeeze));
    gp_call_tensor(&c, value);
    int64_t front[GP_MAX_DIM];
    for (int d = 0; d < n; d++) front[d] = d + 1;
    gp_call_ints(&c, front, n);
    return gp_call_one(&c);
}

/* value on x's device, of x's dtype, sharing no memory with x. */
static gp_tensor *ready(gp_tensor *value, const gp_tensor *x) {
    gp_tensor *here = gp_to_device_recorded(value, x->storage->dev, false, GP_WHY_copy, "index");
    gp_tensor *cast = here ? gp_cast(here, (gp_dtype)x->a.dtype) : NULL;
    gp_tensor_unref(here);
    if (!cast || cast->storage != x->storage) return cast;
    gp_call c;
    gp_call_begin(&c, GP_OP(copy));
    gp_call_tensor(&c, cast);
    here = gp_call_one(&c);
    gp_tensor_unref(cast);
    return here;
}

bool gp_index_assign(gp_tensor *x, const gp_index_spec *s, gp_tensor *value) {
    gp_scalar number;
    if (value->a.ndim == 0 && value->storage->dev->vt->on_host &&
        !x->storage->dev->vt->on_host) /* its number is in host memory: nothing to copy */
        return gp_item(value, &number, GP_WHY_copy, "index") && gp_index_fill(x, s, number);
    resolved r;
    if (!separate(x) || !holds(x, value)) return false;
    bool ok = resolve(&r, x, s);
    if (ok && !r.mask && !r.n) {
        gp_tensor *v = without_ones(value, r.view);
        ok = v && gp_copy_into(r.view, v, GP_WHY_copy, "index");
        gp_tensor_unref(v);
    } else if (ok) {
        gp_tensor *v = ready(value, x);
        ok = v && (r.mask ? assign_masked(&r, v) : done(index_op(&r, GP_OP(index_put), NULL, v)));
        gp_tensor_unref(v);
    }
    release(&r);
    return ok;
}
