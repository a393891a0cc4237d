/* Backward of elementwise rows and reductions: the derivative columns of ops.def, run as one fused
 * op each; or, where the backward is recorded, composed of ops that have derivatives
 * (formula.c). */
#include <ctype.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "tensor/autograd/compose.h"
#include "tensor/autograd/formula.h"
#include "tensor/infer.h"

/* Whether the formula mentions variable c. */
static bool mentions(const char *formula, char c) {
    for (const char *p = formula; (p = strchr(p, c)); p++) {
        bool before =
            p > formula && (isalnum((unsigned char)p[-1]) || p[-1] == '_' || p[-1] == '.');
        if (!before && !isalnum((unsigned char)p[1]) && p[1] != '_') return true;
    }
    return false;
}

unsigned gp_formula_variables(const gp_op *d) {
    unsigned set = d->known->mentions;
    if (set) return set;
    set = 1u << 7; /* set once the formula was read */
    for (int i = 0; d->vars[i]; i++)
        if (mentions(d->formula, d->vars[i])) set |= 1u << i;
    d->known->mentions = (uint8_t)set;
    return set;
}

/* The value of variable i in a derivative of elementwise node n: operand i - 1, or the result. All
 * are of g's dtype, in which the op was computed: a bool or an integer becomes a number. A NULL
 * tensor: failed. */
static gp_value variable(gp_vjp *v, int i) {
    const gp_node *n = v->node;
    int operands = n->op->ntensors, in = 0, dtype = v->g[0]->a.dtype;
    for (int k = 0; k < i - 1 && i <= operands; k++) in += n->arg[k].kind == GP_TENSOR;
    if (i > 0 && i <= operands && n->arg[i - 1].kind != GP_TENSOR) return n->arg[i - 1];
    gp_tensor *t = i == 0 ? v->g[0] : i > operands ? v->y[0] : v->x[in];
    if (t && t->a.dtype != dtype) t = DO(to, "t-d", t, dtype);
    return (gp_value){.kind = GP_TENSOR, .t = t};
}

/* Runs the fused op with the row's parameters. g stands in for variables that the formula does not
 * mention. */
static gp_tensor *fused(gp_vjp *v, const gp_op *d) {
    const gp_node *n = v->node;
    unsigned mentioned = gp_formula_variables(d);
    gp_call c;
    gp_call_begin(&c, d);
    for (int i = 0; i < d->ntensors; i++)
        c.arg[c.nargs++] = variable(v, mentioned >> i & 1 ? i : 0);
    for (int i = n->op->ntensors; i < n->nargs; i++) c.arg[c.nargs++] = n->arg[i];
    return v->failed ? NULL : gp_keep(v, gp_call_one(&c));
}

/* The same composed of ops. Parameters are called p, q and r; an absent one is no limit. */
static gp_tensor *composed(gp_vjp *v, const gp_op *d) {
    const gp_node *n = v->node;
    unsigned mentioned = gp_formula_variables(d);
    gp_formula_vars vars = {.n = 0};
    for (int i = 0; i < d->ntensors; i++)
        if (!i || mentioned >> i & 1) gp_formula_set(&vars, d->vars[i], variable(v, i));
    for (int i = n->op->ntensors, k = 0; k < 3; i++, k++) {
        bool given = i < n->nargs && n->arg[i].kind != GP_NONE;
        gp_value limit = {.kind = GP_FLOAT, .f = k ? INFINITY : -INFINITY};
        gp_formula_set(&vars, "pqr"[k], given ? n->arg[i] : limit);
    }
    return v->failed ? NULL : gp_formula(v, d->formula, &vars);
}

/* The gradient of an operand by formula d of its row. */
static gp_tensor *derive(gp_vjp *v, const gp_op *d) {
    if (!strcmp(d->formula, "g")) return v->g[0];
    return gp_no_grad || !gp_formula_composes(d->formula) ? fused(v, d) : composed(v, d);
}

static bool elementwise(gp_vjp *v) {
    const gp_node *n = v->node;
    for (int k = 0, in = 0; k < n->op->ngrads; k++) {
        if (n->arg[k].kind != GP_TENSOR) continue;
        if (v->need[in] && n->op->no_derivative >> k & 1)
            return gp_fail("backward: %s has no derivative for its operand '%c'", n->op->name,
                           n->op->vars[k]);
        if (v->need[in] && !(v->dx[in] = derive(v, &gp_ops[n->op->grad + k]))) return false;
        in++;
    }
    return true;
}
const gp_rule gp_rule_elementwise = {elementwise, NULL};

/* ---- reductions ---- */

/* t, which lacks the reduced dims, with those as size 1. */
static gp_tensor *kept(gp_vjp *v, gp_tensor *t, uint64_t mask) {
    gp_shape s = *gp_in_shape(v, 0);
    for (int i = 0; i < s.ndim; i++)
        if (mask >> i & 1) s.dim[i] = 1;
    return gp_reshape(v, t, &s);
}

static double count_of(const gp_shape *s, uint64_t mask) {
    double n = 1;
    for (int i = 0; i < s->ndim; i++)
        if (mask >> i & 1) n *= (double)s->dim[i];
    return n;
}

/* The number of elements over mask's dims that equal y. */
static gp_tensor *ties(gp_vjp *v, gp_tensor *y, uint64_t mask) {
    int64_t dims[GP_MAX_DIM];
    int n = 0;
    for (int i = 0; i < gp_in_shape(v, 0)->ndim; i++)
        if (mask >> i & 1) dims[n++] = i + 1;
    gp_tensor *equal = DO(eq, "tt", v->x[0], y);
    gp_tensor *m = n ? DO(sum, "tvb", equal, dims, n, 1) : equal;
    return DO(to, "t-d", m, (int)v->g[0]->a.dtype);
}

/* ---- the product of the other elements ---- */

/* For each element of x (n along dim, which counts from 1) the product of those before it. */
static gp_tensor *before(gp_vjp *v, gp_tensor *x, int64_t dim, int64_t n) {
    int64_t one[2 * GP_MAX_DIM] = {0};
    int last = x ? 2 * (x->a.ndim - (int)dim) : 0;
    one[last] = 1;
    gp_tensor *t = DO(narrow, "tiii", x, dim, (int64_t)1, n - 1);
    t = DO(pad, "tvsn", t, one, last + 2, "constant", 1.0);
    return DO(cumprod, "ti", t, dim);
}

/* For each element the product of the others along dim, of size n. */
static gp_tensor *others_along(gp_vjp *v, gp_tensor *x, int64_t dim, int64_t n) {
    gp_tensor *after = DO(flip, "tv", before(v, DO(flip, "tv", x, &dim, 1), dim, n), &dim, 1);
    return DO(mul, "tt", before(v, x, dim, n), after);
}

/* x with mask's dims moved to the end, by the permutation *order. */
static gp_tensor *dims_last(gp_vjp *v, gp_tensor *x, uint64_t mask, int64_t *order) {
    int n = 0;
    for (int last = 0; last < 2; last++)
        for (int i = 0; i < x->a.ndim; i++)
            if ((int)(mask >> i & 1) == last) order[n++] = i + 1;
    return DO(permute, "tv", x, order, n);
}

gp_tensor *gp_others(gp_vjp *v, gp_tensor *x, uint64_t mask) {
    int64_t order[GP_MAX_DIM], back[GP_MAX_DIM], n = 1;
    int d = 0;
    if (!x) return NULL;
    for (int i = 0; i < x->a.ndim; i++) n *= mask >> i & 1 ? x->a.dim[i] : 1;
    while (mask && !(mask >> d & 1)) d++;
    if (x->a.numel && mask == (uint64_t)1 << d) return others_along(v, x, d + 1, n);
    gp_tensor *t = dims_last(v, x, mask, order);
    if (!t || x->a.numel == 0) return x;
    gp_shape s = gp_tensor_shape(t), rows = {.ndim = 2, .dim = {x->a.numel / n, n}};
    t = gp_reshape(v, t, &rows);
    t = gp_reshape(v, others_along(v, t, 2, n), &s);
    for (int i = 0; i < s.ndim; i++) back[order[i] - 1] = i + 1;
    return DO(permute, "tv", t, back, s.ndim);
}

static bool mask_of(gp_vjp *v, uint64_t *mask) {
    gp_call c;
    gp_call_begin(&c, v->node->op);
    c.nargs = v->node->nargs;
    memcpy(c.arg, v->node->arg, (size_t)c.nargs * sizeof *c.arg);
    memcpy(c.ints, v->node->ints, (size_t)v->node->nints * sizeof *c.ints);
    return gp_infer_dims(&c, 1, gp_in_shape(v, 0)->ndim, mask);
}

/* The variables of a reduction's formula: g, x, y, m and o. */
static gp_tensor *operand(gp_vjp *v, int i, gp_tensor *g, uint64_t mask) {
    if (i == 0) return g;
    if (i == 1) return v->x[0];
    gp_tensor *y = i < 4 ? kept(v, v->y[0], mask) : NULL;
    return i == 4 ? gp_others(v, v->x[0], mask) : i == 3 ? ties(v, y, mask) : y;
}

/* g, the gradient of the result, expanded over mask's dims: kept and gp_expand in one view. */
static gp_tensor *expanded(gp_vjp *v, uint64_t mask) {
    const gp_shape *s = gp_in_shape(v, 0);
    const gp_tensor *g = v->g[0];
    bool keep = g->a.ndim == s->ndim;
    int64_t stride[GP_MAX_DIM];
    for (int i = 0, k = 0; i < s->ndim; i++) {
        bool gone = mask >> i & 1;
        stride[i] = gone ? 0 : g->a.stride[keep ? i : k];
        k += !gone;
    }
    return gp_keep(v, gp_tensor_view(g, s, stride, 0));
}

/* Whether every element of t is a normal number. Only for the CPU, where reading is no wait. */
static bool normal(gp_vjp *v, gp_tensor *t, double least, double most) {
    gp_tensor *size = DO(abs, "t", t);
    gp_tensor *end[2] = {DO(amin, "t", size), DO(amax, "t", size)};
    gp_scalar low, high;
    return !v->failed && gp_item(end[0], &low, GP_WHY_item, "prod") &&
           gp_item(end[1], &high, GP_WHY_item, "prod") && low.f >= least && high.f <= most;
}

bool gp_may_divide(const gp_tensor *y) {
    return gp_no_grad && y->storage->dev == gp_device_cpu() &&
           (y->a.dtype == GP_f32 || y->a.dtype == GP_f64);
}

gp_tensor *gp_dividend(gp_vjp *v, gp_tensor *y, gp_tensor *g) {
    bool wide = y && y->a.dtype == GP_f64;
    double least = wide ? DBL_MIN : FLT_MIN, most = wide ? DBL_MAX : FLT_MAX;
    gp_tensor *gy = DO(mul, "tt", g, y);
    return normal(v, y, least, most) && normal(v, gy, least, most) ? gy : NULL;
}

/* The gradient of a product as g y / x, in one pass; NULL where that cannot be. */
static gp_tensor *by_quotient(gp_vjp *v, uint64_t mask) {
    gp_tensor *x = v->x[0];
    if (x->a.numel == 0 || !gp_may_divide(x)) return NULL;
    int64_t dims[GP_MAX_DIM];
    int n = 0;
    for (int i = 0; i < x->a.ndim; i++)
        if (mask >> i & 1) dims[n++] = i + 1;
    if (!n) return NULL;
    gp_tensor *y = DO(prod, "tvb", x, dims, n, 1), *g = gp_dividend(v, y, kept(v, v->g[0], mask));
    return g ? DO(div, "tt", g, x) : NULL;
}

static bool reduce(gp_vjp *v) {
    const gp_op *d = &gp_ops[v->node->op->grad];
    unsigned mentioned = gp_formula_variables(d);
    const gp_shape *s = gp_in_shape(v, 0);
    uint64_t mask;
    if (!mask_of(v, &mask)) return false;
    if (gp_no_grad && !strcmp(d->formula, "g")) return (v->dx[0] = expanded(v, mask)) != NULL;
    if (v->node->op->by_quotient && (v->dx[0] = by_quotient(v, mask))) return true;
    gp_tensor *g = kept(v, v->g[0], mask), *of[5];
    /* of no elements: not g / 0, whose own gradient would be NaN */
    if (count_of(s, ~(uint64_t)0) == 0) return (v->dx[0] = gp_expand(v, g, s)) != NULL;
    gp_formula_vars vars = {.n = 0};
    for (int i = 0; i < 5; i++) {
        of[i] = operand(v, mentioned >> i & 1 ? i : 0, g, mask);
        if (!of[i]) return false;
        if (!i || mentioned >> i & 1)
            gp_formula_set(&vars, d->vars[i], (gp_value){.kind = GP_TENSOR, .t = of[i]});
    }
    double n = count_of(s, mask);
    gp_formula_set(&vars, 'n', (gp_value){.kind = GP_FLOAT, .f = n});
    if (!gp_no_grad) g = gp_formula(v, d->formula, &vars);
    else g = gp_do(v, d, "tttttn", g, of[1], of[2], of[3], of[4], n);
    v->dx[0] = g ? gp_expand(v, g, s) : NULL;
    return v->dx[0] != NULL;
}
const gp_rule gp_rule_reduce = {reduce, NULL};
