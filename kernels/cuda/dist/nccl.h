/* NCCL: its functions, and a communicator for each group of ranks. Only where its header is
 * present; for collectives.c. */
#ifndef GP_CUDA_NCCL_H
#define GP_CUDA_NCCL_H

#include <nccl.h>

#include "kernels/cuda/runtime/kernel.h"
#include "kernels/cuda/runtime/libs.h"
#include "tensor/dist/dist.h"

typedef struct gp_nccl_functions {
#define F GP_LIB_POINTER
#include "kernels/cuda/dist/nccl.def"
} gp_nccl_functions;
extern gp_nccl_functions gp_nccl; /* filled when the first communicator is made */

/* Tells the other ranks of call c on a group of several, and returns the group's communicator. The
 * first call of a group waits until all its ranks have come; others do not wait. NULL with a
 * message. */
ncclComm_t gp_nccl_begin(const gp_dist_call *d);
/* What a function of NCCL returned for c, which has queued something: true if it succeeded. Waits
 * while the communicator says that it is not ready for the next call. */
bool gp_nccl_ok(const gp_dist_call *d, ncclComm_t comm, ncclResult_t result);

#endif
