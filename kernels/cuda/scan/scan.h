/* Running sums on a CUDA device, for other ops. */
#ifndef GP_CUDA_SCAN_H
#define GP_CUDA_SCAN_H

#include "kernels/cuda/runtime/kernel.h"

/* Replaces each of x's rows, contiguous and of n numbers each, by its running sums. Queued on c's
 * stream; below 2^31 numbers in all. False with a message. */
GP_C bool gp_cuda_running_sums(const gp_call *c, double *x, int64_t rows, int64_t n);

#endif
