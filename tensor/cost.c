/* Derives the cost of formulas and reductions from the text of their rows; asks the function that
 * the row names for the others. */
#include "tensor/cost.h"

#include <ctype.h>
#include <string.h>

/* ---- formulas ---- */

/* The end of the number at p: 1e-12 holds no operator. */
static const char *skip_number(const char *p) {
    while (isalnum((unsigned char)*p) || *p == '.') {
        bool exponent = (*p == 'e' || *p == 'E') && (p[1] == '-' || p[1] == '+');
        p += exponent ? 2 : 1;
    }
    return p;
}

static const char *skip_name(const char *p) {
    while (isalnum((unsigned char)*p) || *p == '_') p++;
    return p;
}

int gp_cost_of_formula(const char *text) {
    int n = 0;
    for (const char *p = text; *p;) {
        if (isdigit((unsigned char)*p)) {
            p = skip_number(p);
        } else if (isalpha((unsigned char)*p)) {
            p = skip_name(p);
            n += *p == '(';
        } else {
            bool twice = p[1] && strchr("=&|<>", p[1]) && strchr("=!<>&|", p[0]);
            n += strchr("+-*/%^&|~<>=!?", *p) != NULL;
            p += twice ? 2 : 1;
        }
    }
    return n;
}

/* Read once. */
int gp_cost_of_op(const gp_op *op) {
    int n = atomic_load_explicit(&op->known->ops, memory_order_relaxed);
    if (!n) {
        n = 1 + (op->formula ? gp_cost_of_formula(op->formula) : 0);
        atomic_store_explicit(&op->known->ops, (uint16_t)n, memory_order_relaxed);
    }
    return n - 1;
}

/* ---- bytes ---- */

double gp_cost_bytes(const gp_array *a) {
    double n = a->numel ? 1 : 0;
    for (int d = 0; d < a->ndim; d++)
        if (a->stride[d] || !a->dim[d]) n *= (double)a->dim[d];
    return n * (double)gp_dtype_size((gp_dtype)a->dtype);
}

/* What c reads and writes: all its operands and results. */
static double traffic(const gp_call *c) {
    double bytes = 0;
    for (int i = 0; i < c->nargs; i++) {
        const gp_value *v = &c->arg[i];
        double times = v->written ? 2 : 1;
        if (v->kind == GP_TENSOR && !v->unread) bytes += times * gp_cost_bytes(v->a);
        for (int k = 0; v->kind == GP_LIST && k < v->n; k++)
            bytes += times * gp_cost_bytes(v->arrays[k]);
    }
    for (int i = 0; i < c->nout; i++) bytes += gp_cost_bytes(c->outa[i]);
    return bytes;
}

/* ---- rows ---- */

/* The first tensor among the arguments; NULL: there is none. */
static const gp_array *first_tensor(const gp_call *c) {
    for (int i = 0; i < c->nargs; i++)
        if (c->arg[i].kind == GP_TENSOR) return c->arg[i].a;
    return NULL;
}

static void of_reduction(const gp_call *c, gp_cost *cost) {
    cost->ops = (double)gp_cost_of_op(c->op) * (double)c->arg[0].a->numel +
                (double)gp_cost_of_formula(c->op->finish) * (double)c->outa[0]->numel;
}

static gp_dtype computed_in(const gp_call *c) {
    const gp_array *x = first_tensor(c);
    if (c->op->kind < GP_REDUCE || c->op->kind == GP_GRAD) return (gp_dtype)c->compute;
    if (x && gp_is_float((gp_dtype)x->dtype)) return (gp_dtype)x->dtype;
    return c->nout ? (gp_dtype)c->outa[0]->dtype : GP_f32;
}

gp_family gp_op_family(const gp_op *op) {
    if (op->kind == GP_VIEW || op->kind == GP_FUNCTION) return GP_FAMILY_none;
    if (op->kind == GP_REDUCE) return GP_FAMILY_reduce;
    if (op->kind != GP_CUSTOM) return GP_FAMILY_elementwise;
    return (gp_family)op->cost.family;
}

gp_cost gp_call_cost(const gp_call *c) {
    gp_cost cost;
    memset(&cost, 0, sizeof cost);
    if (c->op->kind == GP_VIEW || c->op->kind == GP_FUNCTION) return cost;
    cost.bytes = traffic(c);
    cost.passes = 1;
    cost.dtype = (uint8_t)computed_in(c);
    cost.family = (uint8_t)gp_op_family(c->op);
    if (c->op->kind == GP_REDUCE) of_reduction(c, &cost);
    else if (c->op->kind != GP_CUSTOM)
        cost.ops = c->nout ? (double)gp_cost_of_op(c->op) * (double)c->outa[0]->numel : 0;
    else if (c->op->cost.fn) c->op->cost.fn(c, &c->op->cost, &cost);
    return cost;
}
