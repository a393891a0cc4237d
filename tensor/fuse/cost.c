/* What a fused program costs: its steps' operations for each element of what its inputs broadcast
 * to, and its reduction's. */
#include <string.h>

#include "tensor/cost.h"
#include "tensor/fuse/program.h"

/* Operations for each element of a step, whose row may have no formula. */
static double step_ops(const gp_step *s) {
    switch ((gp_fuse_form)s->op->fuses) {
    case GP_FUSE_NONE: return gp_cost_of_op(s->op);
    case GP_FUSE_CONVERT: return 0;
    case GP_FUSE_WHERE: return 1;
    case GP_FUSE_DROP: return GP_OP(dropout)->cost.b;
    }
    return 0;
}

/* Elements of what a program's inputs broadcast to. */
static double broadcast_numel(const gp_value *xs) {
    gp_shape all = {.ndim = 0};
    double n = 1;
    for (int i = 0; i < xs->n; i++) {
        const gp_array *a = xs->arrays[i];
        for (; all.ndim < a->ndim; all.ndim++) {
            memmove(all.dim + 1, all.dim, (size_t)all.ndim * sizeof *all.dim);
            all.dim[0] = 1;
        }
        for (int d = 0; d < a->ndim; d++)
            if (a->dim[d] != 1) all.dim[d + all.ndim - a->ndim] = a->dim[d];
    }
    for (int d = 0; d < all.ndim; d++) n *= (double)all.dim[d];
    return n;
}

void gp_cost_program(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    const gp_program *p = c->arg[0].program;
    double n = broadcast_numel(&c->arg[1]), each = 0;
    for (int i = 0; i < p->nsteps; i++) each += step_ops(&p->step[i]);
    if (p->fold.op) {
        each += gp_cost_of_op(p->fold.op);
        cost->ops += (double)gp_cost_of_formula(p->fold.op->finish) * (double)c->outa[0]->numel;
    }
    cost->ops += each * n;
}
