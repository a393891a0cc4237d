/* A launch alone, to measure what CUDA itself takes of the host for one. */
#ifndef GP_CUDA_LAUNCH_ADD_H
#define GP_CUDA_LAUNCH_ADD_H

#include "kernels/cuda/runtime/kernel.h"

/* Queues the kernel of `x + y` in f32, of no elements, on c's stream by the one call of CUDA that
 * gpush makes for it. */
GP_C bool gp_cuda_launch_add(const gp_call *c);

#endif
