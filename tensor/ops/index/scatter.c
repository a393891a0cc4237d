/* Ops that write at indices given by tensors: scatter, scatter_reduce, scatter_nd, index_put,
 * index_add, index_copy, index_fill; shape rules and gradients. See index.c for the temporaries. */
#include <string.h>

#include "tensor/autograd/compose.h"
#include "tensor/infer.h"
#include "tensor/ops/index/index.h"

/* Turns argument i, the name of a reduction, into a gp_scatter_op; absent: values are written. */
static bool settle_how(gp_call *c, int i, const char *const *names, const uint8_t *hows,
                       const char *expected) {
    gp_value *v = &c->arg[i];
    if (!gp_given(c, i)) return true;
    for (int k = 0; names[k]; k++) {
        if (strcmp(v->s, names[k])) continue;
        *v = (gp_value){.kind = GP_INT, .i = hows[k]};
        return true;
    }
    return gp_fail("%s: argument 'reduce': expected %s, got '%s'", c->op->name, expected, v->s);
}

/* Checks x, dim, index and src, a number or a tensor that covers index. */
static bool scatter_along(gp_call *c, gp_meta *m) {
    int d;
    if (!gp_infer_along(c, m, &d)) return false;
    gp_tensor *x = c->arg[0].t, *index = c->arg[2].t;
    if (c->arg[3].kind == GP_TENSOR && index->a.numel) {
        gp_tensor *src = c->arg[3].t;
        bool fits = src->a.ndim == index->a.ndim;
        for (int i = 0; fits && i < index->a.ndim; i++) fits = index->a.dim[i] <= src->a.dim[i];
        char a[200], b[200];
        if (!fits)
            return gp_fail("%s: src %s does not cover index %s", c->op->name,
                           gp_tensor_text(src, a, sizeof a), gp_tensor_text(index, b, sizeof b));
    }
    gp_shape s = gp_tensor_shape(index);
    if (!gp_infer_offsets(c, m, &s) || !gp_infer_values(c, 3, (gp_dtype)x->a.dtype, 1))
        return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return true;
}

static const char *const short_names[] = {"add", "multiply", NULL};
static const uint8_t short_hows[] = {GP_ADD, GP_MUL};
_Static_assert(sizeof short_names / sizeof *short_names == sizeof short_hows + 1,
               "an operation for each name, which a NULL ends");

bool infer_scatter(gp_call *c, gp_meta *m) {
    return gp_infer_zero_dim(c, 3, 1) &&
           settle_how(c, 4, short_names, short_hows, "'add' or 'multiply'") && scatter_along(c, m);
}

bool infer_scatter_add(gp_call *c, gp_meta *m) { return scatter_along(c, m); }

bool infer_scatter_reduce(gp_call *c, gp_meta *m) {
    static const char *const names[] = {"sum", "prod", "mean", "amin", "amax", NULL};
    static const uint8_t hows[] = {GP_ADD, GP_MUL, GP_MEAN, GP_MIN, GP_MAX};
    _Static_assert(sizeof names / sizeof *names == sizeof hows + 1, "an operation for each name");
    if (!settle_how(c, 4, names, hows, "'sum', 'prod', 'mean', 'amin' or 'amax'")) return false;
    if (c->arg[4].i == GP_MEAN && c->arg[0].t->a.dtype == GP_bool)
        return gp_fail("scatter_reduce: dtype bool of argument 'x' has no mean");
    return scatter_along(c, m);
}

/* The rest of a rule for values put where an index of shape s points: argument 2, called name, has
 * that shape or broadcasts to it. */
static bool put_values(gp_call *c, gp_meta *m, const char *name, const gp_shape *s) {
    gp_tensor *x = c->arg[0].t;
    gp_shape all = *s;
    if (c->arg[2].kind == GP_TENSOR) {
        gp_shape v = gp_tensor_shape(c->arg[2].t);
        char a[200], b[160];
        if (!gp_shape_broadcast(c->op->name, &all, &v)) return false;
        if (!gp_shape_equal(&all, s))
            return gp_fail("%s: %s %s do not fit what is indexed, of shape %s", c->op->name, name,
                           gp_tensor_text(c->arg[2].t, a, sizeof a), gp_shape_text(s, b, sizeof b));
    }
    if (!gp_infer_values(c, 2, (gp_dtype)x->a.dtype, 1)) return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return true;
}

bool infer_scatter_nd(gp_call *c, gp_meta *m) {
    gp_shape s;
    return gp_infer_zero_dim(c, 2, 1) &&
           settle_how(c, 3, short_names, short_hows, "'add' or 'multiply'") &&
           gp_infer_tuples(c, m, 0, &s) && put_values(c, m, "updates", &s);
}

bool infer_index_put(gp_call *c, gp_meta *m) {
    gp_shape s;
    return gp_infer_zero_dim(c, 2, 1) && gp_infer_indexed(c, m, 4, &s) &&
           put_values(c, m, "values", &s);
}

/* ---- one index along a dim ---- */

/* Checks x, dim and index of at most one dim; makes the temporary of offsets. */
static bool one_index(gp_call *c, gp_meta *m, int *d) {
    gp_tensor *x = c->arg[0].t, *index = c->arg[2].t;
    const char *name = c->op->name;
    if (!gp_dim_wrap(name, c->arg[1].i, x->a.ndim, d)) return false;
    if (!gp_infer_index(c, "index", index) || !(m->dev = gp_infer_device(c))) return false;
    if (index->a.ndim > 1)
        return gp_fail("%s: expected an index of 1 dim, got %d dims", name, index->a.ndim);
    c->arg[1].i = *d + 1;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return gp_infer_offsets(c, m, &(gp_shape){.ndim = 1, .dim = {index->a.numel}});
}

/* Checks that source has x's shape, but in dim d one slice for each index. A 0-d x takes a source
 * of 0 dims or 1. */
static bool check_source(const gp_call *c, int d) {
    gp_tensor *x = c->arg[0].t, *index = c->arg[2].t, *source = c->arg[3].t;
    gp_shape want = gp_tensor_shape(x), have = gp_tensor_shape(source);
    if (want.ndim == 0 && (have.ndim || index->a.numel != 1)) want.ndim = 1;
    if (want.ndim) want.dim[d] = index->a.numel;
    char a[200], b[160];
    return gp_shape_equal(&want, &have) ||
           gp_fail("%s: source %s does not fit (expected shape %s)", c->op->name,
                   gp_tensor_text(source, a, sizeof a), gp_shape_text(&want, b, sizeof b));
}

bool infer_index_copy(gp_call *c, gp_meta *m) {
    int d;
    return one_index(c, m, &d) && check_source(c, d) &&
           gp_infer_values(c, 3, (gp_dtype)c->arg[0].t->a.dtype, 1);
}

bool infer_index_fill(gp_call *c, gp_meta *m) {
    int d;
    if (!gp_infer_zero_dim(c, 3, 1)) return false;
    if (c->arg[3].kind == GP_TENSOR && c->arg[3].t->a.ndim)
        return gp_fail("index_fill: expected a number or a 0-d tensor as value, got a %d-d tensor",
                       c->arg[3].t->a.ndim);
    return one_index(c, m, &d) && gp_infer_values(c, 3, (gp_dtype)c->arg[0].t->a.dtype, 1);
}

/* c->tmp[1] times alpha; for 16-bit floats in f32, in which the kernel adds. */
static bool times_alpha(gp_call *c, gp_dtype dt) {
    const gp_value *alpha = &c->arg[4];
    if (alpha->is_float && !gp_is_float(dt))
        return gp_fail("index_add: a float alpha does not fit in a %s tensor", gp_dtype_name(dt));
    gp_tensor *source = c->ntmp > 1 ? c->tmp[1] : c->arg[3].t;
    gp_tensor *wide =
        gp_is_float(dt) && gp_dtype_size(dt) == 2 ? gp_cast(source, GP_f32) : gp_tensor_ref(source);
    if (!wide) return false;
    gp_call mul;
    gp_call_begin(&mul, GP_OP(mul));
    gp_call_tensor(&mul, wide);
    gp_call_number(&mul, gp_value_scalar(alpha));
    gp_tensor *scaled = gp_call_one(&mul);
    gp_tensor_unref(wide);
    if (!scaled) return false;
    if (c->ntmp > 1) gp_tensor_unref(c->tmp[1]);
    c->tmp[1] = scaled;
    c->ntmp = 2;
    return true;
}

bool infer_index_add(gp_call *c, gp_meta *m) {
    gp_dtype dt = (gp_dtype)c->arg[0].t->a.dtype;
    const gp_value *alpha = &c->arg[4];
    bool one = !gp_given(c, 4) || (alpha->is_float ? alpha->f == 1 : alpha->i == 1);
    int d;
    return one_index(c, m, &d) && check_source(c, d) && gp_infer_values(c, 3, dt, 1) &&
           (one || times_alpha(c, dt));
}

/* ---- gradients along a dim: arguments x, dim, index, src ---- */

static gp_tensor *number_like(gp_vjp *v, gp_tensor *t, double x) { return DO(fill, "tn", t, x); }
static gp_tensor *as_float(gp_vjp *v, gp_tensor *t) {
    return DO(to, "t-d", t, (int)v->node->in[0].dtype);
}

/* t gathered at the index. */
static gp_tensor *taken(gp_vjp *v, gp_tensor *t) {
    return DO(gather, "tit", t, gp_int_arg(v, 1), v->x[1]);
}

/* t with a number written, or src added or multiplied, at the index. */
static gp_tensor *scatter_number(gp_vjp *v, gp_tensor *t, double number) {
    return DO(scatter, "titn", t, gp_int_arg(v, 1), v->x[1], number);
}
static gp_tensor *scatter_sum(gp_vjp *v, gp_tensor *t, gp_tensor *src) {
    return DO(scatter_add, "titt", t, gp_int_arg(v, 1), v->x[1], src);
}
static gp_tensor *scatter_product(gp_vjp *v, gp_tensor *t, gp_tensor *src) {
    return DO(scatter_reduce, "tittsb", t, gp_int_arg(v, 1), v->x[1], src, "prod", 1);
}

/* ---- writes that replace one another: the last to a place stays ---- */

/* 1, 2, … in shape s. */
static gp_tensor *numbers(gp_vjp *v, const gp_shape *s) {
    int64_t n = 1;
    for (int d = 0; d < s->ndim; d++) n *= s->dim[d];
    return gp_reshape(v, gp_count_to(v, n, v->g[0]->storage->dev), s);
}

/* Zeros of shape s for such numbers. */
static gp_tensor *no_numbers(gp_vjp *v, const gp_shape *s) {
    return DO(to, "t-d", gp_zeros_shaped(v, s, 0), GP_i64);
}

/* part, gradients of what was written, 0 for what a later write replaced: the numbers 1, 2, …,
 * written likewise, are not what is read at their place. `after` dims of part follow theirs. */
static gp_tensor *that_stayed(gp_vjp *v, gp_tensor *part, gp_tensor *written, gp_tensor *read,
                              int after) {
    gp_tensor *stayed = DO(eq, "tt", read, written);
    if (!stayed || !part) return NULL;
    gp_shape s = gp_tensor_shape(stayed);
    while (after-- > 0) s.dim[s.ndim++] = 1;
    return DO(where, "ttn", gp_reshape(v, stayed, &s), part, 0.0);
}

/* The part of src that index covers. */
static gp_tensor *used(gp_vjp *v, gp_tensor *src) {
    gp_shape none = gp_tensor_shape(v->x[1]); /* whatever src's dims are */
    if (src && !v->x[1]->a.numel) return DO(to, "t-d", gp_zeros_shaped(v, &none, 0), src->a.dtype);
    for (int d = 0; src && d < src->a.ndim; d++)
        if (src->a.dim[d] != v->x[1]->a.dim[d])
            src = DO(narrow, "tiii", src, (int64_t)d + 1, (int64_t)1, v->x[1]->a.dim[d]);
    return src;
}

/* The gradient of src from that of the part that was used. */
static gp_tensor *src_grad(gp_vjp *v, gp_tensor *part) {
    gp_shape s = *gp_in_shape(v, 2);
    int64_t more[2 * GP_MAX_DIM];
    if (!part) return NULL;
    if (!part->a.numel) return gp_zeros_shaped(v, &s, 0);
    for (int d = 0; d < s.ndim; d++) {
        int k = s.ndim - 1 - d;
        more[2 * k] = 0, more[2 * k + 1] = s.dim[d] - part->a.dim[d];
    }
    return s.ndim ? DO(pad, "tv", part, more, 2 * s.ndim) : part;
}

static gp_tensor *scattered(gp_vjp *v) {
    gp_shape s = gp_tensor_shape(v->x[1]);
    gp_tensor *n = numbers(v, &s);
    gp_tensor *all =
        DO(scatter, "titt", no_numbers(v, gp_in_shape(v, 0)), gp_int_arg(v, 1), v->x[1], n);
    return that_stayed(v, taken(v, v->g[0]), n, taken(v, all), 0);
}

/* reduce: 'add' or none. */
static bool scatter(gp_vjp *v) {
    bool add = gp_has(v, 4);
    if (add && v->node->arg[4].s[0] == 'm')
        return gp_fail("backward: scatter with reduce = 'multiply' has no derivative; "
                       "scatter_reduce with 'prod' has");
    if (v->need[0]) v->dx[0] = add ? v->g[0] : scatter_number(v, v->g[0], 0);
    if (v->node->arg[3].kind == GP_TENSOR && v->need[2])
        v->dx[2] = src_grad(v, add ? taken(v, v->g[0]) : scattered(v));
    return !v->failed;
}
const gp_rule vjp_scatter = {scatter, "1"};

static bool scatter_add(gp_vjp *v) {
    if (v->need[0]) v->dx[0] = v->g[0];
    if (v->need[2]) v->dx[2] = src_grad(v, taken(v, v->g[0]));
    return !v->failed;
}
const gp_rule vjp_scatter_add = {scatter_add, "1"};

/* ---- gradients of scatter_reduce: arguments x, dim, index, src, reduce, include_self ---- */

/* The gradients of x, as if it took part everywhere, and of the used part of src. The formulas are
 * those of PyTorch's scatter_reduce_backward. */
typedef struct pair {
    gp_tensor *x, *src;
} pair;

/* self: whether x takes part where index points. */
static pair mean(gp_vjp *v, bool self, gp_tensor *src) {
    gp_tensor *one = number_like(v, v->g[0], 1);
    gp_tensor *n = scatter_sum(v, self ? one : scatter_number(v, one, 0), number_like(v, src, 1));
    gp_tensor *d = DO(div, "tt", v->g[0], DO(masked_fill, "ttn", n, DO(eq, "tn", n, 0.0), 1.0));
    return (pair){d, taken(v, d)};
}

/* Shared among the elements that equal the result. */
static pair extreme(gp_vjp *v, bool self, gp_tensor *src) {
    gp_tensor *y = v->y[0], *own = as_float(v, DO(eq, "tt", v->x[0], y));
    gp_tensor *from = as_float(v, DO(eq, "tt", src, taken(v, y)));
    if (!self) own = scatter_number(v, own, 0);
    gp_tensor *d = DO(div, "tt", v->g[0], scatter_sum(v, own, from));
    return (pair){mul(v, own, d), mul(v, from, taken(v, d))};
}

/* Refuses several zeros at one index: their second derivatives would not be 0. */
static bool single_zeros(gp_vjp *v, gp_tensor *several) {
    gp_scalar found = {.i = 0};
    if (gp_no_grad) return true;
    gp_tensor *t = DO(any, "t", several);
    if (!t || !gp_item(t, &found, GP_WHY_validate, "scatter_reduce's second derivative"))
        return false;
    return !found.i ||
           gp_fail("backward: scatter_reduce with 'prod' has no second derivative where "
                   "several zeros of src go to one place");
}

/* The product of the others: without a division where a src element is 0. */
static pair prod(gp_vjp *v, bool self, gp_tensor *src) {
    gp_tensor *g = v->g[0], *zero = DO(eq, "tn", src, 0.0), *none = number_like(v, g, 0);
    gp_tensor *zeros = taken(v, scatter_sum(v, none, as_float(v, zero)));
    gp_tensor *only = DO(logical_and, "tt", zero, DO(eq, "tn", zeros, 1.0));
    if (!zeros || !only || !single_zeros(v, DO(gt, "tn", zeros, 1.0)))
        return v->failed = true, (pair){0};
    gp_tensor *base = self ? v->x[0] : scatter_number(v, v->x[0], 1);
    gp_tensor *rest = scatter_product(v, base, DO(masked_fill, "ttn", src, only, 1.0));
    gp_tensor *divided =
        DO(div, "tt", taken(v, mul(v, g, v->y[0])), DO(masked_fill, "ttn", src, zero, 1.0));
    return (pair){mul(v, g, scatter_product(v, number_like(v, g, 1), src)),
                  DO(where, "ttt", only, taken(v, mul(v, g, rest)), divided)};
}

static bool scatter_reduce(gp_vjp *v) {
    const char *how = v->node->arg[4].s;
    bool self = gp_int_arg(v, 5);
    gp_tensor *src = used(v, v->x[2]);
    pair d = how[0] == 's'   ? (pair){v->g[0], taken(v, v->g[0])}
             : how[0] == 'm' ? mean(v, self, src)
             : how[0] == 'p' ? prod(v, self, src)
                             : extreme(v, self, src);
    if (v->need[0]) v->dx[0] = self || !d.x ? d.x : scatter_number(v, d.x, 0);
    if (v->need[2]) v->dx[2] = src_grad(v, d.src);
    return !v->failed;
}
const gp_rule vjp_scatter_reduce = {scatter_reduce, "*y"};

/* ---- gradients of scatter_nd: arguments x, indices, updates, reduce ---- */

/* The elements or slices of g that were written and stayed. */
static gp_tensor *scattered_nd(gp_vjp *v) {
    gp_tensor *indices = v->x[1];
    gp_shape s = gp_tensor_shape(indices), positions = *gp_in_shape(v, 0);
    positions.ndim = (int)s.dim[--s.ndim];
    gp_tensor *n = numbers(v, &s), *all = no_numbers(v, &positions);
    all = DO(scatter_nd, "ttt", all, indices, n);
    return that_stayed(v, DO(gather_nd, "tti", v->g[0], indices, (int64_t)0), n,
                       DO(gather_nd, "tti", all, indices, (int64_t)0),
                       gp_in_shape(v, 0)->ndim - positions.ndim);
}

static bool scatter_nd(gp_vjp *v) {
    bool add = gp_has(v, 3);
    if (add && v->node->arg[3].s[0] == 'm')
        return gp_fail(
            "backward: scatter_nd with reduce = 'multiply' has no derivative; use 'add', or "
            "multiply what gather_nd takes and put it back");
    if (v->need[0]) v->dx[0] = add ? v->g[0] : DO(scatter_nd, "ttn", v->g[0], v->x[1], 0.0);
    if (v->node->arg[2].kind == GP_TENSOR && v->need[2])
        v->dx[2] = add ? DO(gather_nd, "tti", v->g[0], v->x[1], (int64_t)0) : scattered_nd(v);
    return !v->failed;
}
const gp_rule vjp_scatter_nd = {scatter_nd, "1"};

/* ---- gradients of index_put and of one index along a dim ---- */

/* part, g at the indices, of the writes that stayed. Index i is for dim dims[i], or dim i + 1. */
static gp_tensor *put_slices(gp_vjp *v, gp_tensor *part, int ni, const int64_t *dims) {
    const gp_shape *s = gp_in_shape(v, 0);
    gp_shape positions = {.ndim = ni}, together = {.ndim = 0};
    uint64_t mask = 0;
    for (int i = 0; i < ni; i++) {
        gp_shape one = gp_tensor_shape(v->x[1 + i]);
        int64_t d = !dims ? i : dims[i] < 0 ? dims[i] + s->ndim : dims[i] - 1;
        positions.dim[i] = s->dim[d], mask |= (uint64_t)1 << d;
        if (!gp_shape_broadcast("index_put", &together, &one)) return NULL;
    }
    gp_tensor *n = numbers(v, &together), *all = no_numbers(v, &positions);
    all = DO(index_put, "tltb-", all, v->x + 1, ni, n, 0);
    return that_stayed(v, part, n, DO(index, "tl-", all, v->x + 1, ni),
                       s->ndim - ni - gp_index_position(s->ndim, mask));
}

static bool index_put(gp_vjp *v) {
    const gp_node *n = v->node;
    int nd = 0, ni = n->arg[1].n;
    bool accumulate = gp_has(v, 3) && gp_int_arg(v, 3), tensor = n->arg[2].kind == GP_TENSOR;
    const int64_t *dims = gp_has(v, 4) ? gp_ints_arg(v, 4, &nd) : NULL;
    if (v->need[0] && accumulate) v->dx[0] = v->g[0];
    else if (v->need[0])
        v->dx[0] = dims ? DO(index_put, "tlnbv", v->g[0], v->x + 1, ni, 0.0, 0, dims, nd)
                        : DO(index_put, "tlnb-", v->g[0], v->x + 1, ni, 0.0, 0);
    if (tensor && v->need[ni + 1]) {
        gp_tensor *part = dims ? DO(index, "tlv", v->g[0], v->x + 1, ni, dims, nd)
                               : DO(index, "tl-", v->g[0], v->x + 1, ni);
        v->dx[ni + 1] = accumulate ? part : put_slices(v, part, ni, dims);
    }
    return !v->failed;
}
const gp_rule vjp_index_put = {index_put, "12345678"};

/* Slices at index along dim; for a 0-d tensor the element, as often as the input has it. */
static gp_tensor *slices(gp_vjp *v) {
    if (v->g[0]->a.ndim == 0 && v->x[1]->a.numel) return gp_expand(v, v->g[0], gp_in_shape(v, 2));
    if (v->g[0]->a.ndim == 0) return gp_zeros_shaped(v, gp_in_shape(v, 2), 0);
    return DO(index_select, "tit", v->g[0], gp_int_arg(v, 1), v->x[1]);
}

static bool index_add(gp_vjp *v) {
    if (v->need[0]) v->dx[0] = v->g[0];
    if (v->need[2]) v->dx[2] = DO(mul, "tn", slices(v), gp_has(v, 4) ? gp_float_arg(v, 4) : 1.0);
    return !v->failed;
}
const gp_rule vjp_index_add = {index_add, "1"};

static gp_tensor *emptied(gp_vjp *v) {
    return DO(index_fill, "titn", v->g[0], gp_int_arg(v, 1), v->x[1], 0.0);
}

/* The slices that were written and stayed. */
static gp_tensor *last_slices(gp_vjp *v) {
    gp_tensor *part = slices(v);
    if (!part || part->a.ndim == 0 || v->g[0]->a.ndim == 0) return part;
    const int64_t first = 1;
    int d = gp_dim_arg(v, 1, part->a.ndim);
    gp_shape line = {.ndim = 1, .dim = {v->x[1]->a.numel}};
    gp_shape positions = {.ndim = 1, .dim = {v->g[0]->a.dim[d]}};
    gp_tensor *n = numbers(v, &line), *index = gp_reshape(v, v->x[1], &line);
    gp_tensor *all = DO(index_copy, "titt", no_numbers(v, &positions), first, index, n);
    gp_tensor *read = DO(index_select, "tit", all, first, index);
    return that_stayed(v, part, n, read, part->a.ndim - d - 1);
}

static bool index_copy(gp_vjp *v) {
    if (v->need[0]) v->dx[0] = emptied(v);
    if (v->need[2]) v->dx[2] = last_slices(v);
    return !v->failed;
}
const gp_rule vjp_index_copy = {index_copy, "1"};

static bool index_fill(gp_vjp *v) {
    if (v->need[0]) v->dx[0] = emptied(v);
    if (v->node->nin > 2 && v->need[2]) v->dx[2] = DO(sum, "t", last_slices(v));
    return !v->failed;
}
const gp_rule vjp_index_fill = {index_fill, "1"};
