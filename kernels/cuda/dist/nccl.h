/* NCCL, by its plug-in, and a communicator for each group of ranks; for collectives.c. */
#ifndef GP_CUDA_NCCL_H
#define GP_CUDA_NCCL_H

#include "kernels/cuda/runtime/kernel.h"
#include "kernels/nccl/nccl.h"
#include "tensor/dist/dist.h"

/* Tells the other ranks of call c on a group of several, and returns the group's communicator. The
 * first call of a group waits until all its ranks have come; others do not wait. NULL with a
 * message. */
void *gp_nccl_begin(const gp_dist_call *d);
/* Queues a collective on that communicator. Waits while the communicator says that it is not ready
 * for the next call. False with a message. */
bool gp_nccl_start(const gp_dist_call *d, void *comm, const gp_nccl_wire *w);

#endif
