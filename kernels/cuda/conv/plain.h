/* Convolutions without a library: those that cuDNN lacks or refuses, and all of them without
 * cuDNN. */
#ifndef GP_CUDA_CONV_PLAIN_H
#define GP_CUDA_CONV_PLAIN_H

#include "kernels/cuda/runtime/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif
#include "tensor/ops/conv/conv.h"
/* conv1d to conv3d, with the call's arguments. Integers wrap. */
bool gp_conv_plain(const gp_call *c, const gp_conv *k);
/* The image from argument 0 (in the shape of k's results) and the weight, argument 1: transposed
 * convolutions, with a bias or NULL, and the image's gradients. */
bool gp_conv_plain_image(const gp_call *c, const gp_array *bias, const gp_conv *k);
/* The weight's gradients, from those of the results (argument 0) and the image (1); floats only. */
bool gp_conv_plain_weight(const gp_call *c, const gp_conv *k);
#ifdef __cplusplus
}
#endif

#endif
