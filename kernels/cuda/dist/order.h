/* The smallest and largest of floats by NCCL, whose own lose NaN. */
#ifndef GP_CUDA_ORDER_H
#define GP_CUDA_ORDER_H

#include "kernels/cuda/runtime/kernel.h"

/* x, contiguous f32 or f64, becomes unsigned integers of its size, in stream order: the largest of
 * several ranks' is that of the smallest float (least) or of the largest one, and of NaN where one
 * rank has NaN. False with a message. */
GP_C bool gp_nccl_encode(const gp_call *c, const gp_array *x, bool least);
/* And these floats again. -0 becomes 0. */
GP_C bool gp_nccl_decode(const gp_call *c, const gp_array *x, bool least);

#endif
