/* Calls: what a parameter of a signature takes, and its default; and a call that outlives its
 * caller, copied with the arrays that it points to, for a queue or another thread. */
#ifndef GP_CALL_H
#define GP_CALL_H

#include "tensor/op.h"
#include "tensor/sig.h"

/* The number of arrays of `room` that a copy of c needs. */
int gp_call_arrays(const gp_call *c);

/* Copies c as kernels see it to *to, its arrays into room; their addresses are masked with
 * `address`. Room holds gp_call_arrays(c) arrays, belongs to the caller and stays until the copy
 * has run; so do the storages, of which no reference is taken. */
void gp_call_copy(gp_call *to, const gp_call *c, gp_array *arrays, uintptr_t address);

/* Whether c, with its outputs, takes less time than handing it to another thread: a formula over
 * few elements. */
bool gp_op_is_small(const gp_call *c);

/* Appends the default of p, which lives as long as the call; none: that the argument is absent. */
void gp_call_default(gp_call *c, const gp_param *p);
/* Whether p takes a value of this kind, which is not absent. False for parameters that C code does
 * not call ops with. */
bool gp_call_takes(const gp_param *p, const gp_value *v);

#endif
