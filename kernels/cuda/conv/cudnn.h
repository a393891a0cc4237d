/* One convolution, or a part of one, by cuDNN: one of its three products of images, weights and
 * results. Only where cuDNN's header is present. */
#ifndef GP_CUDA_CONV_CUDNN_H
#define GP_CUDA_CONV_CUDNN_H

#include "kernels/cuda/conv/direct.h"

/* What an algorithm is chosen for; compared byte by byte, so cleared before it is filled in. Sizes
 * as in cuDNN: n dims with images and channels. */
typedef struct gp_conv_shape {
    int32_t kind, dtype, n, groups, device;
    int32_t x[5], w[5], y[5], pad[3], stride[3], dilation[3];
    bool tf32, deterministic, benchmark;
    bool last; /* the layout of images, weights and results: gp_channels_last */
} gp_conv_shape;

/* Makes channels, dim 1, the fastest dim of a dense array. */
static inline void gp_channels_last(gp_array *a) {
    int64_t step = a->dim[1];
    for (int d = a->ndim - 1; d >= 2; step *= a->dim[d--]) a->stride[d] = step;
    a->stride[0] = step, a->stride[1] = 1;
    a->contiguous = false;
}

/* Dense arrays of one dtype. The one of `kind` is the result. */
typedef struct gp_conv_operands {
    void *x, *w, *y;
    const void *bias; /* added to each channel of the result, x or y; NULL: none */
    bool add;         /* the result is added to what is there */
} gp_conv_operands;

/* Queues it. False with a message: cuDNN refuses, or has no memory. */
bool gp_conv_by_cudnn(const gp_call *c, const gp_conv_shape *s, const gp_conv_operands *o);
/* Whether cuDNN refused s before. */
bool gp_conv_refused(const gp_conv_shape *s);

#endif
