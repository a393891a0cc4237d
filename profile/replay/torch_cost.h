/* What the kernels of torch.profiler's traces cost, by the ops that launched them and the shapes of
 * their inputs (record_shapes=True), so that a replay can give them a card's times. */
#ifndef GP_TORCH_COST_H
#define GP_TORCH_COST_H

#include "profile/record/record.h"

/* The cost of a run of an op of PyTorch, by the rows of torch_cost.def. False where it has no row,
 * or its shapes are not on the record or do not fit. */
bool gp_torch_cost(const gp_rec *op, gp_cost *cost);

typedef struct gp_torch_costs gp_torch_costs;
/* Of a loaded trace; NULL with a message when out of memory. It reads p, which must outlive it. */
gp_torch_costs *gp_torch_costs_new(const gp_prof *p);
void gp_torch_costs_free(gp_torch_costs *c); /* NULL is fine */

/* The innermost op around the launch of a kernel, where its cost is known: then *cost is set, of
 * all the op's kernels together. Else NULL. */
const gp_rec *gp_torch_costs_of(const gp_torch_costs *c, const gp_rec *kernel,
                                const gp_cost **cost);
/* The share of the kernels' time whose cost is known, 0 to 1. */
double gp_torch_costs_share(const gp_torch_costs *c);

#endif
