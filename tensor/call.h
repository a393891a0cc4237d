/* A call that outlives its caller: copied with the arrays that it points to, for a queue or another
 * thread. */
#ifndef GP_CALL_H
#define GP_CALL_H

#include "tensor/op.h"

/* The number of arrays of `room` that a copy of c needs. */
int gp_call_arrays(const gp_call *c);

/* Copies c as kernels see it to *to, its arrays into room; their addresses are masked with
 * `address`. Room holds gp_call_arrays(c) arrays, belongs to the caller and stays until the copy
 * has run; so do the storages, of which no reference is taken. */
void gp_call_copy(gp_call *to, const gp_call *c, gp_array *arrays, uintptr_t address);

/* Whether c, with its outputs, takes less time than handing it to another thread: a formula over
 * few elements. */
bool gp_op_is_small(const gp_call *c);

#endif
