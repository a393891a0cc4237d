/* Convolutions that are products of matrices, because each element of an image is in one place of
 * one window: of one tap, or with steps as large as the kernel. */
#ifndef GP_CUDA_CONV_PRODUCT_H
#define GP_CUDA_CONV_PRODUCT_H

#include "kernels/cuda/conv/direct.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether these compute k's results, or its image, from x: of one tap and 16 bits, with channels
 * and places that tensor cores take; or the image of several taps, in f32 or f64. */
bool gp_conv_is_product(const gp_call *c, const gp_conv *k, const gp_array *x, gp_conv_part part);
/* The same calls as in plain.h, by cuBLASLt, for what is a product. False with a message. */
bool gp_conv_product(const gp_call *c, const gp_conv *k);
bool gp_conv_product_image(const gp_call *c, const gp_array *bias, const gp_conv *k);

#ifdef __cplusplus
}
#endif
#endif
