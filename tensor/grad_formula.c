/* Backward of elementwise rows and reductions: the derivative columns of ops.def, run as one fused
 * op each. */
#include <ctype.h>
#include <string.h>

#include "tensor/grad.h"
#include "tensor/infer.h"

/* Is the letter c a variable of the formula? */
static bool mentions(const char *formula, char c) {
    for (const char *p = formula; (p = strchr(p, c)); p++) {
        bool before = p > formula && (isalnum((unsigned char)p[-1]) || p[-1] == '_' || p[-1] == '.');
        if (!before && !isalnum((unsigned char)p[1]) && p[1] != '_') return true;
    }
    return false;
}

/* A bit for each variable of d->sig that its formula (d->help) mentions; found once. */
static unsigned variables(const gp_op *d) {
    static _Atomic unsigned char known[GP_OPS];
    unsigned set = known[gp_op_id(d)];
    if (set) return set;
    set = 1u << 7; /* looked at */
    for (int i = 0; d->sig[i]; i++)
        if (mentions(d->help, d->sig[i])) set |= 1u << i;
    return known[gp_op_id(d)] = (unsigned char)set;
}

bool gp_formula_has(const gp_op *d, int i) { return variables(d) >> i & 1; }

/* What stands for variable i of a derivative of elementwise node n: operand i - 1, or the result. */
static gp_value variable(gp_vjp *v, int i) {
    const gp_node *n = v->node;
    int operands = n->op->ntensors, in = 0;
    if (i == 0) return (gp_value){.kind = GP_TENSOR, .t = v->g[0]};
    if (i > operands) return (gp_value){.kind = GP_TENSOR, .t = v->y[0]};
    for (int k = 0; k < i - 1; k++) in += n->arg[k].kind == GP_TENSOR;
    if (n->arg[i - 1].kind != GP_TENSOR) return n->arg[i - 1];
    return (gp_value){.kind = GP_TENSOR, .t = v->x[in]};
}

/* The gradient of operand k. Variables that the formula does not mention are g again. */
static gp_tensor *derive(gp_vjp *v, int k) {
    const gp_node *n = v->node;
    const gp_op *d = &gp_ops[n->op->grad + k];
    gp_call c;
    if (!strcmp(d->help, "g")) return v->g[0];
    gp_call_begin(&c, d);
    for (int i = 0; i < d->ntensors; i++) c.arg[c.nargs++] = variable(v, gp_formula_has(d, i) ? i : 0);
    for (int i = n->op->ntensors; i < n->nargs; i++) c.arg[c.nargs++] = n->arg[i];
    for (int i = 0; i < d->ntensors; i++)
        if (c.arg[i].kind == GP_TENSOR && c.arg[i].t->a.dtype != v->g[0]->a.dtype &&
            !(c.arg[i].t = DO(to, "t-d", c.arg[i].t, (int)v->g[0]->a.dtype)))
            return NULL;
    return gp_keep(v, gp_call_one(&c));
}

static bool elementwise(gp_vjp *v) {
    const gp_node *n = v->node;
    for (int k = 0, in = 0; k < n->op->ngrads; k++) {
        if (n->arg[k].kind != GP_TENSOR) continue;
        if (v->need[in] && !(v->dx[in] = derive(v, k))) return false;
        in++;
    }
    return true;
}
const gp_rule gp_rule_elementwise = {elementwise, NULL};

/* ---- reductions ---- */

/* t, which lacks the reduced dims, with them as size 1. */
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

/* How many elements over mask's dims equal y. */
static gp_tensor *ties(gp_vjp *v, gp_tensor *y, uint64_t mask) {
    int64_t dims[GP_MAX_DIM];
    int n = 0;
    for (int i = 0; i < gp_in_shape(v, 0)->ndim; i++)
        if (mask >> i & 1) dims[n++] = i + 1;
    gp_tensor *equal = DO(eq, "tt", v->x[0], y);
    gp_tensor *m = n ? DO(sum, "tvb", equal, dims, n, 1) : equal;
    return DO(to, "t-d", m, (int)v->g[0]->a.dtype);
}

static bool mask_of(gp_vjp *v, uint64_t *mask) {
    gp_call c = {.op = v->node->op, .nargs = v->node->nargs};
    memcpy(c.arg, v->node->arg, (size_t)c.nargs * sizeof *c.arg);
    memcpy(c.ints, v->node->ints, (size_t)v->node->nints * sizeof *c.ints);
    return gp_infer_dims(&c, 1, gp_in_shape(v, 0)->ndim, mask);
}

static bool reduce(gp_vjp *v) {
    const gp_node *n = v->node;
    const gp_op *d = &gp_ops[n->op->grad];
    const gp_shape *s = gp_in_shape(v, 0);
    uint64_t mask;
    if (!mask_of(v, &mask)) return false;
    gp_tensor *g = kept(v, v->g[0], mask), *x = v->x[0], *y = g;
    if (strcmp(d->help, "g")) {
        if (gp_formula_has(d, 2)) y = kept(v, v->y[0], mask);
        gp_tensor *m = gp_formula_has(d, 3) ? ties(v, y, mask) : g;
        double count = count_of(s, mask);
        g = gp_do(v, d, "ttttn", g, gp_formula_has(d, 1) ? x : g, y, m, count);
    }
    v->dx[0] = g ? gp_expand(v, g, s) : NULL;
    return v->dx[0] != NULL;
}
const gp_rule gp_rule_reduce = {reduce, NULL};
