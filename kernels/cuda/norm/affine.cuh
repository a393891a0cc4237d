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

/* Queues the sums of `chunks` chunks, each of which has all channels' gradients of weight, then
 * those of bias, into outputs 1 and 2 of c. False with a message. */
bool gp_norm_join_channels(const gp_call *c, const gp_norm_rows *r, const double *part,
                           int64_t chunks);

/* Whether gradients of rows like k are computed from sums of their channels, which have many
 * adjacent elements; and queues all three into the outputs of c. False with a message. */
bool gp_norm_by_channels(const gp_norm *k);
bool gp_norm_gradients_by_channels(const gp_call *c, const gp_norm_rows *r, bool wide);

#endif
