/* A convolution as a graph of cuDNN's, which its host queues in a fifth of the time that the older
 * interface takes (on an H100's host 10 us and 55). In 16 bits alone: there the first of its plans
 * is what the older interface chooses; in f32 plans that round to TF32 come first. */
#if __has_include(<cudnn.h>)
#include <stdlib.h>

#include "kernels/cuda/conv/cudnn.h"
#include "kernels/cuda/cudnn/cudnn_graph.h"
#include "kernels/cuda/runtime/dense.h"

struct gp_conv_graph {
    gp_graph graph;
    int64_t number[3]; /* of x, w and y */
};

bool gp_conv_graph_fits(const gp_conv_shape *s, const gp_conv_operands *o) {
    return s->n == 4 && (s->dtype == GP_f16 || s->dtype == GP_bf16) && !s->benchmark && !o->bias &&
           !o->add;
}

/* A tensor of those sizes in s's layout. */
static gp_node_tensor *tensor_of(gp_graph *g, const gp_conv_shape *s, const int32_t *size) {
    int64_t dim[4];
    for (int d = 0; d < 4; d++) dim[d] = size[d];
    gp_array a = gp_dense_over(NULL, (gp_dtype)s->dtype, 4, dim);
    if (s->last) gp_channels_last(&a);
    return gp_graph_tensor(g, gp_dnn_type(s->dtype), dim, a.stride);
}

gp_conv_graph *gp_conv_graph_new(cudnnHandle_t h, const gp_conv_shape *s, size_t most,
                                 bool *no_memory) {
    gp_conv_graph *made = (gp_conv_graph *)calloc(1, sizeof *made);
    *no_memory = !made;
    if (!made) return NULL;
    gp_graph *g = &made->graph;
    g->handle = h;
    const int32_t *const size[3] = {s->x, s->w, s->y};
    gp_node_tensor *t[3];
    gp_graph_conv how = {.result = s->kind == GP_CONV_RESULT  ? 2
                                   : s->kind == GP_CONV_IMAGE ? 0
                                                              : 1};
    for (int d = 0; d < 2; d++)
        how.pad[d] = s->pad[d], how.stride[d] = s->stride[d], how.dilation[d] = s->dilation[d];
    for (int i = 0; i < 3; i++)
        if ((t[i] = tensor_of(g, s, size[i]))) made->number[i] = t[i]->number;
    if (gp_graph_convolution(g, &how, t[0], t[1], t[2]) &&
        gp_graph_plan(g, s->deterministic, NULL, NULL) && (size_t)g->memory <= most)
        return made;
    *no_memory = g->no_memory;
    gp_conv_graph_free(made);
    return NULL;
}

size_t gp_conv_graph_memory(const gp_conv_graph *g) { return (size_t)g->graph.memory; }

cudnnStatus_t gp_conv_graph_run(gp_conv_graph *g, cudnnHandle_t h, const gp_conv_operands *o,
                                void *workspace) {
    void *const memory[3] = {o->x, o->w, o->y};
    g->graph.handle = h;
    return gp_graph_run(&g->graph, 3, g->number, memory, workspace);
}

void gp_conv_graph_free(gp_conv_graph *g) {
    if (g) gp_graph_forget(&g->graph);
    free(g);
}
#else
typedef int conv_graph_has_cudnn; /* ISO C forbids an empty file */
#endif
