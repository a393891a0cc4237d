/* Ops that make tensors or only move elements: creation, copies, joining, flip, roll, pad, tril,
 * triu, diag_embed; shape rules and gradients. Views are in view.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tensor/autograd/grad.h"
#include "tensor/infer.h"

/* ---- creation, copies ---- */

bool infer_fill(gp_call *c, gp_meta *m) {
    const gp_value *v = &c->arg[1];
    c->arg[0].unread = true;
    gp_meta_like(m, 0, c->arg[0].t, (gp_dtype)c->arg[0].t->a.dtype);
    if (v->is_float && v->f != floor(v->f) && gp_dtype_kind(m->out[0].dtype) == GP_KIND_INT)
        return gp_fail("fill: argument 'value' is %g, which %s cannot hold", v->f,
                       gp_dtype_name(m->out[0].dtype));
    return gp_infer_number(c, 1, "value", m->out[0].dtype);
}

static double number_f(const gp_value *v) { return v->is_float ? v->f : (double)v->i; }

bool infer_range(gp_call *c, gp_meta *m) {
    bool all_int = !c->arg[0].is_float && !c->arg[1].is_float && !c->arg[2].is_float;
    double first = number_f(&c->arg[0]), last = number_f(&c->arg[1]), step = number_f(&c->arg[2]);
    if (step == 0) return gp_fail("range: step is 0");
    /* An end that rounding has put just below last still counts: half a thousandth of a step. */
    double n = all_int ? 0 : floor((last - first) / step + 5e-4) + 1;
    int64_t count = (int64_t)(n > 0 && n < 0x1p62 ? n : 0);
    if (all_int) {
        int64_t a = c->arg[0].i, b = c->arg[1].i, s = c->arg[2].i;
        uint64_t way = s > 0 ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b,
                 by = s > 0 ? (uint64_t)s : 0 - (uint64_t)s;
        bool none = s > 0 ? b < a : a < b;
        if (!none && way / by >= (uint64_t)1 << 62)
            return gp_fail("range: %lld to %lld has more than 2^62 elements", (long long)a,
                           (long long)b);
        count = none ? 0 : (int64_t)(way / by) + 1;
    } else if (!(n < 0x1p62)) {
        return gp_fail("range: %g to %g by %g has no finite number of elements", first, last, step);
    }
    m->n = 1;
    m->dev = gp_arg_device(c, 4);
    m->out[0].dtype = gp_arg_dtype(c, 3, all_int ? GP_i64 : gp_default_dtype);
    m->out[0].shape = (gp_shape){.ndim = 1, .dim = {count}};
    return true;
}

/* Arguments: first, last, steps; dtype and device are at `at`. */
static bool spaced(gp_call *c, gp_meta *m, int at) {
    int64_t steps = c->arg[2].i;
    if (steps < 0)
        return gp_fail("%s: argument 'steps' is %lld (expected >= 0)", c->op->name,
                       (long long)steps);
    m->n = 1;
    m->dev = gp_arg_device(c, at + 1);
    m->out[0].dtype = gp_arg_dtype(c, at, gp_default_dtype);
    m->out[0].shape = (gp_shape){.ndim = 1, .dim = {steps}};
    return gp_infer_check(c, "dtype", m->out[0].dtype, GP_SET_FLOAT | GP_SET_INT);
}
bool infer_linspace(gp_call *c, gp_meta *m) {
    return spaced(c, m, 3) && gp_infer_number(c, 0, "first", m->out[0].dtype) &&
           gp_infer_number(c, 1, "last", m->out[0].dtype);
}
bool infer_logspace(gp_call *c, gp_meta *m) { return spaced(c, m, 4); }

bool infer_full(gp_call *c, gp_meta *m) {
    gp_dtype fallback = gp_value_dtype(&c->arg[1]);
    m->n = 1;
    m->dev = gp_arg_device(c, 3);
    m->out[0].dtype = gp_arg_dtype(c, 2, fallback);
    return gp_infer_number(c, 1, "value", m->out[0].dtype) && gp_arg_shape(c, 0, &m->out[0].shape);
}

bool infer_empty(gp_call *c, gp_meta *m) {
    m->n = 1;
    m->dev = gp_arg_device(c, 2);
    m->out[0].dtype = gp_arg_dtype(c, 1, gp_default_dtype);
    return gp_arg_shape(c, 0, &m->out[0].shape);
}

bool infer_zeros(gp_call *c, gp_meta *m) { return infer_empty(c, m); }
bool infer_ones(gp_call *c, gp_meta *m) { return infer_empty(c, m); }

bool infer_eye(gp_call *c, gp_meta *m) {
    int64_t rows = c->arg[0].i, cols = gp_given(c, 1) ? c->arg[1].i : rows;
    if (rows < 0 || cols < 0)
        return gp_fail("eye: negative size %lld x %lld", (long long)rows, (long long)cols);
    m->n = 1;
    m->dev = gp_arg_device(c, 3);
    m->out[0].dtype = gp_arg_dtype(c, 2, gp_default_dtype);
    m->out[0].shape = (gp_shape){.ndim = 2, .dim = {rows, cols}};
    return true;
}

bool infer_copy(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    gp_meta_like(m, 0, x, gp_arg_dtype(c, 1, (gp_dtype)x->a.dtype));
    return true;
}

/* ---- joining ---- */

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

/* but: the dim, counted from 1, whose size may differ; 0: none. */
static bool differ(const gp_call *c, int i, const gp_tensor *t, const gp_tensor *first, int but) {
    char a[200], b[200], dim[40] = "";
    if (but) snprintf(dim, sizeof dim, " except in dim %d", but);
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

/* As in PyTorch, empty 1-d tensors match any shape and add nothing. */
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

/* ---- flip, roll, triangles, diagonals ---- */

/* Turns the dims into a mask. */
bool infer_flip(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    uint64_t mask = 0;
    if (c->arg[1].n && !gp_infer_dims(c, 1, x->a.ndim, &mask)) return false;
    c->arg[1] = (gp_value){.kind = GP_INT, .i = (int64_t)mask};
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return true;
}

static int64_t wrapped(int64_t shift, int64_t n) {
    if (n == 0) return 0;
    shift %= n;
    return shift < 0 ? shift + n : shift;
}

/* The shifts become one for each dim; without dims, one shift of the flattened elements, which are
 * the temporary. */
bool infer_roll(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    int n, k = 0, d;
    const int64_t *shift = gp_ints(c, 1, &n), *dims = NULL;
    int64_t by[GP_MAX_DIM] = {0};
    if (gp_given(c, 2) && c->arg[2].n) dims = gp_ints(c, 2, &k);
    if (dims ? n != k : n != 1)
        return gp_fail("roll: %d shifts and %d dims given (expected as many, or one shift and no "
                       "dims)",
                       n, k);
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    for (int i = 0; i < k; i++) {
        if (!gp_dim_wrap("roll", dims[i], x->a.ndim, &d)) return false;
        if (x->a.ndim) by[d] = wrapped(by[d] + wrapped(shift[i], x->a.dim[d]), x->a.dim[d]);
    }
    if (!dims) {
        by[0] = wrapped(shift[0], x->a.numel);
        if (!(c->tmp[0] = gp_contiguous(x))) return false;
        c->ntmp = 1;
    }
    memcpy(c->ints, by, sizeof by);
    c->nints = GP_MAX_DIM;
    c->arg[1] = (gp_value){.kind = GP_INTS, .n = GP_MAX_DIM};
    if (dims) c->arg[2] = (gp_value){.kind = GP_NONE};
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

/* ---- pad ---- */

static const char *const modes[] = {"constant", "reflect", "replicate", "circular"};
enum { CONSTANT, REFLECT, REPLICATE, CIRCULAR, MODES };
_Static_assert(sizeof modes / sizeof *modes == MODES, "a name for each mode");

/* The size of dim d of x with `before` and `after` more elements. */
static bool padded(const gp_tensor *x, int d, int mode, int64_t before, int64_t after,
                   int64_t *size) {
    int64_t n = x->a.dim[d], most = before > after ? before : after;
    if (__builtin_add_overflow(before, after, size) || __builtin_add_overflow(n, *size, size) ||
        *size < 0)
        return gp_fail("pad: %lld and %lld elements around the %lld of dim %d give no size",
                       (long long)before, (long long)after, (long long)n, d + 1);
    if (mode == CIRCULAR) n += (before < 0 ? before : 0) + (after < 0 ? after : 0); /* circular */
    if ((mode == REFLECT && most > 0 && most >= n) || (mode == CIRCULAR && most > 0 && most > n) ||
        (mode == REPLICATE && most > 0 && n == 0))
        return gp_fail("pad: %lld elements at dim %d of size %lld are too many for %s",
                       (long long)most, d + 1, (long long)n, modes[mode]);
    if (mode != CONSTANT && (before < -n || after < -n))
        return gp_fail("pad: %lld and %lld leave nothing of dim %d of size %lld to repeat",
                       (long long)before, (long long)after, d + 1, (long long)n);
    return true;
}

/* The list becomes the padding before each dim, the mode its number; the value is filled in. */
bool infer_pad(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    int n, mode = 0, nd = x->a.ndim;
    const int64_t *pad = gp_ints(c, 1, &n);
    const char *name = gp_given(c, 2) ? c->arg[2].s : modes[0];
    while (mode < MODES && strcmp(name, modes[mode])) mode++;
    if (mode == MODES)
        return gp_fail("pad: mode '%s' (expected constant, reflect, replicate or circular)", name);
    if (n % 2 || n / 2 > nd)
        return gp_fail("pad: %d numbers given for a %d-d tensor (expected two for each dim, the "
                       "last dim first, at most %d)",
                       n, nd, 2 * nd);
    if (mode != CONSTANT && gp_given(c, 3))
        return gp_fail("pad: mode %s takes no value", modes[mode]);
    int64_t before[GP_MAX_DIM] = {0};
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    for (int i = 0; i < n / 2; i++) {
        int d = nd - 1 - i;
        before[d] = pad[2 * i];
        if (!padded(x, d, mode, before[d], pad[2 * i + 1], &m->out[0].shape.dim[d])) return false;
    }
    while (c->nargs < 4) gp_call_none(c);
    if (!gp_given(c, 3)) c->arg[3] = (gp_value){.kind = GP_NUMBER};
    if (!gp_infer_number(c, 3, "value", (gp_dtype)x->a.dtype)) return false;
    memcpy(c->ints, before, sizeof before);
    c->nints = nd;
    c->arg[1] = (gp_value){.kind = GP_INTS, .n = nd};
    c->arg[2] = (gp_value){.kind = GP_INT, .i = mode};
    return true;
}

/* ---- gradients ---- */

static bool copy(gp_vjp *v) { return (v->dx[0] = v->g[0]) != NULL; }
const gp_rule vjp_copy = {copy, NULL};

/* The tensor is overwritten: its old values have no gradient. */
static bool nothing(gp_vjp *v) { return true; }
const gp_rule vjp_fill = {nothing, NULL};

static bool cat(gp_vjp *v) {
    int dim = 0;
    int64_t at = 1;
    if (!gp_dim_wrap("cat", gp_int_arg(v, 1), v->node->out[0].shape.ndim, &dim)) return false;
    for (int i = 0; i < v->node->nin; i++) {
        const gp_shape *s = gp_in_shape(v, i);
        int64_t n = s->ndim == v->node->out[0].shape.ndim ? s->dim[dim] : 0;
        if (v->need[i] && n) v->dx[i] = DO(narrow, "tiii", v->g[0], (int64_t)dim + 1, at, n);
        at += n;
    }
    return !v->failed;
}
const gp_rule vjp_cat = {cat, NULL};

static bool stack(gp_vjp *v) {
    for (int i = 0; i < v->node->nin; i++)
        if (v->need[i]) v->dx[i] = DO(select, "tii", v->g[0], gp_int_arg(v, 1), (int64_t)i + 1);
    return !v->failed;
}
const gp_rule vjp_stack = {stack, NULL};

static bool flip(gp_vjp *v) {
    int n;
    const int64_t *dims = gp_ints_arg(v, 1, &n);
    return (v->dx[0] = DO(flip, "tv", v->g[0], dims, n)) != NULL;
}
const gp_rule vjp_flip = {flip, NULL};

/* Rolls back by as much. */
static bool roll(gp_vjp *v) {
    int n;
    int64_t back[GP_MAX_INTS];
    const int64_t *by = gp_ints_arg(v, 1, &n);
    for (int i = 0; i < n; i++) back[i] = -by[i];
    v->dx[0] = DO(roll, "tva", v->g[0], back, n, 2);
    return !v->failed;
}
const gp_rule vjp_roll = {roll, NULL};

static bool tril(gp_vjp *v) {
    return (v->dx[0] = DO(tril, "ti", v->g[0], gp_int_arg(v, 1))) != NULL;
}
const gp_rule vjp_tril = {tril, NULL};

static bool triu(gp_vjp *v) {
    return (v->dx[0] = DO(triu, "ti", v->g[0], gp_int_arg(v, 1))) != NULL;
}
const gp_rule vjp_triu = {triu, NULL};

static bool diag_embed(gp_vjp *v) {
    v->dx[0] = DO(diagonal, "taaa", v->g[0], 1, 2, 3);
    return !v->failed;
}
const gp_rule vjp_diag_embed = {diag_embed, NULL};

/* x, which has n + pad[0] + pad[1] elements in dim d (0-based), without those of the padding;
 * zeros for what the padding left out. */
static gp_tensor *without_margins(gp_vjp *v, gp_tensor *x, int d, int64_t n, const int64_t *pad) {
    int64_t less[2 * GP_MAX_DIM] = {0};
    int before = 2 * (x->a.ndim - 1 - d);
    if (pad[0] >= 0 && pad[1] >= 0) return DO(narrow, "tiii", x, (int64_t)d + 1, pad[0] + 1, n);
    less[before] = -pad[0], less[before + 1] = -pad[1];
    return DO(pad, "tv", x, less, before + 2);
}

/* g with dim d (0-based) of the input's size n: what `mode` copied to a margin is added where it
 * came from. Only the margins are: an index for each element would cost far more. */
static gp_tensor *folded(gp_vjp *v, gp_tensor *g, int d, int64_t n, const int64_t *pad) {
    int64_t dim = d + 1, size = g->a.dim[d], many[2] = {pad[0], pad[1]};
    gp_tensor *sum = without_margins(v, g, d, n, pad), *from = gp_count_to(v, n, g->storage->dev);
    from = DO(pad, "tva", gp_reshape(v, from, &(gp_shape){.ndim = 1, .dim = {n}}), pad, 2, 2);
    for (int side = 0, sums = 0; side < 2; side++) {
        int64_t first = side ? size - many[1] + 1 : 1;
        if (many[side] <= 0) continue;
        gp_tensor *at = DO(narrow, "tiii", from, (int64_t)1, first, many[side]),
                  *margin = DO(narrow, "tiii", g, dim, first, many[side]);
        sum = sums++ ? gp_do_in(v, sum, GP_OP(index_add), "tittn", sum, dim, at, margin, 1.0)
                     : DO(index_add, "tittn", sum, dim, at, margin, 1.0);
    }
    return sum;
}

/* Arguments: x, pad, mode, value. */
static bool pad(gp_vjp *v) {
    const gp_shape *s = gp_in_shape(v, 0);
    int n;
    int64_t less[2 * GP_MAX_DIM];
    const int64_t *by = gp_ints_arg(v, 1, &n);
    gp_tensor *g = v->g[0];
    if (!gp_has(v, 2) || !strcmp(v->node->arg[2].s, "constant")) {
        for (int i = 0; i < n; i++) less[i] = -by[i];
        return (v->dx[0] = DO(pad, "tv", g, less, n)) != NULL;
    }
    for (int i = 0; i < n / 2 && g; i++) {
        int d = s->ndim - 1 - i;
        if (by[2 * i] || by[2 * i + 1]) g = folded(v, g, d, s->dim[d], by + 2 * i);
    }
    return (v->dx[0] = g) != NULL;
}
const gp_rule vjp_pad = {pad, NULL};
