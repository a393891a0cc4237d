/* batch_norm by cuDNN, for batch_norm.cu: *done is false where it cannot or may not; false with a
 * message (cudnn.c). */
#ifndef GP_CUDA_NORM_H
#define GP_CUDA_NORM_H

#include "kernels/cuda/runtime/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of the calls of batch_norm and batch_norm_grad, with their arguments. */
bool gp_norm_by_cudnn(const gp_call *c, bool *done);
bool gp_norm_grad_by_cudnn(const gp_call *c, bool *done);

#ifdef __cplusplus
}
#endif
#endif
