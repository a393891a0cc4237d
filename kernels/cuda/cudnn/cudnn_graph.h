/* cuDNN's graph interface: a few operations on tensors of four dims that cuDNN runs as one kernel,
 * if it has one. For kernels/cuda/attention/cudnn.c and kernels/cuda/conv/graph.c. Only where its
 * header is present. */
#ifndef GP_CUDA_GRAPH_H
#define GP_CUDA_GRAPH_H

#include "kernels/cuda/cudnn/cudnn.h"

enum { GP_GRAPH_OPS = 32, GP_GRAPH_TENSORS = 48, GP_GRAPH_PLANS = 16, GP_GRAPH_TRIED = 5 };

/* A tensor in a graph. Its number is what gp_graph_run binds memory to. */
typedef struct gp_node_tensor {
    cudnnBackendDescriptor_t made;
    cudnnDataType_t type;
    int64_t number, dim[4], stride[4];
} gp_node_tensor;

/* While a graph is built, the functions below return NULL after a failure, and accept NULL
 * operands: check at the end. */
typedef struct gp_graph {
    cudnnHandle_t handle;
    gp_node_tensor tensor[GP_GRAPH_TENSORS];
    cudnnBackendDescriptor_t op[GP_GRAPH_OPS], detail[GP_GRAPH_OPS],
        all; /* detail: description of an op */
    int tensors, ops, details;
    cudnnBackendDescriptor_t config[GP_GRAPH_PLANS],
        plan;               /* whether the plan is one of the configurations */
    int64_t memory;         /* bytes of workspace that the plan needs */
    bool failed, no_memory; /* no_memory: for that reason, once or more */
} gp_graph;

/* A tensor in memory, one within the graph (row-major unless stride is given), and a number of
 * f32. */
gp_node_tensor *gp_graph_tensor(gp_graph *g, cudnnDataType_t type, const int64_t *dim,
                                const int64_t *stride);
gp_node_tensor *gp_graph_inner(gp_graph *g, cudnnDataType_t type, const int64_t *dim,
                               const int64_t *stride);
gp_node_tensor *gp_graph_number(gp_graph *g);

/* y = x op b, computed in f32 (NULL y: a new inner tensor of x's shape); b NULL: op x. */
gp_node_tensor *gp_graph_point(gp_graph *g, cudnnPointwiseMode_t op, gp_node_tensor *x,
                               gp_node_tensor *b, gp_node_tensor *y);
/* x where row number >= column number, else other. */
gp_node_tensor *gp_graph_lower(gp_graph *g, gp_node_tensor *x, gp_node_tensor *other);
/* The largest element, or the sum, of each row of x, into y or a new inner tensor. */
gp_node_tensor *gp_graph_rows(gp_graph *g, cudnnReduceTensorOp_t op, gp_node_tensor *x,
                              gp_node_tensor *y);
/* y = a b, of matrices in the last two dims. */
gp_node_tensor *gp_graph_product(gp_graph *g, gp_node_tensor *a, gp_node_tensor *b,
                                 gp_node_tensor *y);
/* x transposed in its last two dims, as an inner tensor of another type. */
gp_node_tensor *gp_graph_transposed(gp_graph *g, gp_node_tensor *x, cudnnDataType_t type);

/* A convolution in two dims. Groups are in the sizes. */
typedef struct gp_graph_conv {
    int result; /* which is computed from the other two: 0 the images x, 1 the weights w, 2 y */
    int64_t pad[2], stride[2], dilation[2];
} gp_graph_conv;
/* The convolution y of x with w, or the gradient that v->result asks for, summed in f32. */
bool gp_graph_convolution(gp_graph *g, const gp_graph_conv *v, gp_node_tensor *x, gp_node_tensor *w,
                          gp_node_tensor *y);

/* Asks for plans, best first, and makes the first possible one, in g->plan; `same`: only
 * deterministic ones. With `cost`, a few are made and the cheapest is kept; a cost below 0: it
 * cannot run. False where there is none. */
bool gp_graph_plan(gp_graph *g, bool same, float (*cost)(gp_graph *g, void *ctx), void *ctx);
/* Queues it on the handle's stream; memory[i] is bound to tensor number[i], for a number the
 * address on the host. */
cudnnStatus_t gp_graph_run(const gp_graph *g, int n, const int64_t *number, void *const *memory,
                           void *workspace);
void gp_graph_forget(gp_graph *g);

#endif
