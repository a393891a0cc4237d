/* Copies between arrays of any layout and dtype on a CUDA device. */
#ifndef GP_CUDA_COPY_H
#define GP_CUDA_COPY_H

#include "kernels/cuda/runtime/kernel.h"

/* out = in, converted, in stream order; shapes are equal or in is broadcast. Strides of either may
 * be negative. False with a message. */
GP_C bool gp_cuda_copy_array(const gp_call *c, const gp_array *out, const gp_array *in);

#endif
