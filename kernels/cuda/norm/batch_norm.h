/* batch_norm by cuDNN, for batch_norm.cu: *done is false where cuDNN cannot or may not run it;
 * false with a message (cudnn.c). */
#ifndef GP_CUDA_NORM_H
#define GP_CUDA_NORM_H

#include "kernels/cuda/runtime/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For calls of batch_norm and batch_norm_grad, with their arguments. */
bool gp_norm_by_cudnn(const gp_call *c, bool *done);
bool gp_norm_grad_by_cudnn(const gp_call *c, bool *done);

#ifdef __cplusplus
}
#endif
#endif
