/* One convolution, or a part of one, by cuDNN: one of its three products of images, weights and
 * results. Only where cuDNN's header is present. */
#ifndef GP_CUDA_CONV_CUDNN_H
#define GP_CUDA_CONV_CUDNN_H

#include "kernels/cuda/conv/direct.h"
#include "kernels/cuda/cudnn/cudnn.h"

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

/* ---- graph.c ---- */

typedef struct gp_conv_graph gp_conv_graph;

/* Whether s and o are of those that graphs are used for. */
bool gp_conv_graph_fits(const gp_conv_shape *s, const gp_conv_operands *o);
/* The graph of such a shape, with a plan that needs at most `most` bytes of workspace, which the
 * caller frees; NULL: cuDNN has none, or no memory for it. Call these with gp_lib_lock held. */
gp_conv_graph *gp_conv_graph_new(cudnnHandle_t h, const gp_conv_shape *s, size_t most,
                                 bool *no_memory);
/* The bytes of workspace that it needs. */
size_t gp_conv_graph_memory(const gp_conv_graph *g);
/* Queues it on the handle's stream. */
cudnnStatus_t gp_conv_graph_run(gp_conv_graph *g, cudnnHandle_t h, const gp_conv_operands *o,
                                void *workspace);
void gp_conv_graph_free(gp_conv_graph *g); /* NULL: nothing */

#endif
