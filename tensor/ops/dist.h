/* What the shape rules and the kernels of collectives share. */
#ifndef GP_OPS_DIST_H
#define GP_OPS_DIST_H

#include "tensor/dist/transport.h"
#include "tensor/op.h"

/* A reduction over ranks. */
typedef struct gp_rank_op {
    const char *name;
    gp_wire_op op;
    bool mean; /* then divided by the number of ranks */
    bool differentiable;
    uint32_t dtypes;
} gp_rank_op;

/* The reduction of that name: sum, mean, prod, min or max. NULL with a message for others. */
const gp_rank_op *gp_rank_op_named(const char *op, const char *name);

/* Arguments of a collective: its group, its tensor, and then the reduction, the root or both. */
static inline int gp_dist_group_of(const gp_call *c) { return (int)c->arg[0].i; }

#endif
