/* A call that outlives its caller: copied with the arrays that it names, for a queue or another
 * thread. */
#ifndef GP_CALL_H
#define GP_CALL_H

#include "tensor/op.h"

/* Arrays of room that a copy of c needs. */
int gp_call_arrays(const gp_call *c);

/* c as kernels see it, in *to; its arrays in room, their addresses anded with `address`. */
void gp_call_copy(gp_call *to, const gp_call *c, gp_array *room, uintptr_t address);

#endif
