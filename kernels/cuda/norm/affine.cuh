/* Arguments of the kernels of layer_norm, rms_norm and group_norm, and the gradients of their
 * weight and bias. */
#ifndef GP_CUDA_AFFINE_CUH
#define GP_CUDA_AFFINE_CUH

#include "kernels/cuda/norm/parts.cuh"
extern "C" {
#include "tensor/ops/norm.h"
}

typedef struct gp_norm_rows {
    const char *x, *g, *weight, *bias; /* weight and bias: contiguous channels, or NULL */
    char *out;
    gp_norm k;
    gp_dtype xt, gt, wt, bt, ot;
    double *mean, *scale; /* of each row, for the gradients of weight and bias */
} gp_norm_rows;

/* Queues the gradients of weight and bias into outputs 1 and 2 of c, from x, g, mean and scale of
 * all rows; wide: sums in f64. False with a message. */
bool gp_norm_affine_gradients(const gp_call *c, const gp_norm_rows *r, bool wide);

#endif
