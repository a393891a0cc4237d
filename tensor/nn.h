/* What the shape rules of neural-network ops and their kernels share: the sizes of a convolution.
 */
#ifndef GP_NN_H
#define GP_NN_H

#include "tensor/op.h"

/* A 2-d convolution; pairs are (rows, columns), paddings and sizes in elements. */
typedef struct gp_conv {
    int64_t images, channels, filters, groups;
    int64_t in[2], kernel[2], stride[2], dilation[2], before[2], behind[2], out[2];
} gp_conv;

/* Fills k from a conv2d call with image x (3 or 4 dims) and weight w (4 dims). False with a message
 * where they do not go together. */
bool gp_conv_read(const gp_call *c, const gp_array *x, const gp_array *w, gp_conv *k);

#endif
