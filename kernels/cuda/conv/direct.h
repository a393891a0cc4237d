/* Convolutions of few channels by kernels of our own, which keep tiles of images in shared memory:
 * f32, two dims, steps and dilations of 1, no groups. cuDNN pads few channels to the 32 or more
 * that its kernels are made for. */
#ifndef GP_CUDA_CONV_DIRECT_H
#define GP_CUDA_CONV_DIRECT_H

#include "kernels/cuda/runtime/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif
#include "tensor/ops/conv/conv.h"

/* Which of the three operands is the result. */
typedef enum gp_conv_part { GP_CONV_RESULT, GP_CONV_IMAGE, GP_CONV_WEIGHT } gp_conv_part;

/* Whether these kernels compute that product of k, whose other two operands are a and b. It depends
 * on nothing but shapes and the dtype: neither on the card nor on layouts. */
bool gp_conv_is_direct(const gp_conv *k, const gp_array *a, const gp_array *b, gp_conv_part part);
/* The same calls as in plain.h, for what is direct. Results have the same bits on every card. */
bool gp_conv_direct(const gp_call *c, const gp_conv *k);
bool gp_conv_direct_image(const gp_call *c, const gp_array *bias, const gp_conv *k);
bool gp_conv_direct_weight(const gp_call *c, const gp_conv *k);
#ifdef __cplusplus
}
#endif

#endif
