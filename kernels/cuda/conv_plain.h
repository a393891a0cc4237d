/* Convolutions without a library: what cuDNN has not. */
#ifndef GP_CUDA_CONV_PLAIN_H
#define GP_CUDA_CONV_PLAIN_H

#include "kernels/cuda/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif
/* conv1d to conv3d of integers, and transposed ones: the call's arguments are theirs. */
bool gp_conv_plain(const gp_call *c);
bool gp_conv_plain_transposed(const gp_call *c);
#ifdef __cplusplus
}
#endif

#endif
