/* Captured functions as CUDA graphs: calls that are launched between begin and end become one
 * graph, with the scratch memory and the tables that they use. */
#include <cuda_runtime.h>

#include <stdlib.h>

#include "kernels/cuda/runtime/device.h"
#include "tensor/memory/alloc.h"

typedef struct cuda_graph {
    cudaGraphExec_t exec;
    bool unfit; /* a call needs what a graph has not */
    int nscratch, ntables, room_scratch, room_tables;
    gp_storage **scratch;
    cuda_block **tables;
} cuda_graph;

static _Thread_local cuda_graph *building;

bool gp_cuda_building(void) { return building != NULL; }
void gp_cuda_unfit(void) { building->unfit = true; }

/* Makes room for one more in an array of pointers. */
static bool make_room(void *array, int n, int *room) {
    void **at = array;
    if (n < *room) return true;
    int more = *room ? 2 * *room : 16;
    void *to = realloc(*at, (size_t)more * sizeof(void *));
    if (!to) return building->unfit = true, false;
    *at = to;
    *room = more;
    return true;
}

bool gp_cuda_keep_scratch(gp_storage *st) {
    cuda_graph *g = building;
    if (!make_room(&g->scratch, g->nscratch, &g->room_scratch)) return false;
    g->scratch[g->nscratch++] = st;
    return true;
}

bool gp_cuda_keep_table(cuda_block *b) {
    cuda_graph *g = building;
    if (!make_room(&g->tables, g->ntables, &g->room_tables)) return false;
    g->tables[g->ntables++] = b;
    return true;
}

bool gp_cuda_graph_begin(gp_stream *s) {
    cuda_graph *g = calloc(1, sizeof *g);
    if (!g) return gp_fail("out of memory");
    gp_cuda_enter(s->dev);
    cudaError_t err = cudaStreamBeginCapture((cudaStream_t)gp_cuda_queue(s)->stream,
                                             cudaStreamCaptureModeRelaxed);
    if (err != cudaSuccess) {
        cudaGetLastError();
        free(g);
        return gp_fail("%s: a graph cannot be begun: %s", s->dev->name, cudaGetErrorString(err));
    }
    building = g;
    return true;
}

void gp_cuda_graph_free(gp_stream *s, void *graph) {
    cuda_graph *g = graph;
    gp_cuda_enter(s->dev);
    if (g->exec) cudaGraphExecDestroy(g->exec);
    for (int i = 0; i < g->nscratch; i++) gp_storage_unref(g->scratch[i]);
    for (int i = 0; i < g->ntables; i++) gp_cuda_block_release(s->dev, g->tables[i]);
    free(g->scratch);
    free(g->tables);
    free(g);
}

void *gp_cuda_graph_end(gp_stream *s) {
    cuda_graph *g = building;
    cudaGraph_t made = NULL;
    building = NULL;
    gp_cuda_enter(s->dev);
    cudaError_t err = cudaStreamEndCapture((cudaStream_t)gp_cuda_queue(s)->stream, &made);
    if (err == cudaSuccess && made && !g->unfit) err = cudaGraphInstantiate(&g->exec, made, 0);
    if (made) cudaGraphDestroy(made);
    cudaGetLastError();
    if (err == cudaSuccess && g->exec) return g;
    return gp_cuda_graph_free(s, g), NULL;
}

bool gp_cuda_graph_launch(gp_stream *s, void *graph) {
    cuda_graph *g = graph;
    if (!gp_device_alive(s->dev, "capture")) return false;
    gp_cuda_enter(s->dev);
    cudaError_t err = cudaGraphLaunch(g->exec, (cudaStream_t)gp_cuda_queue(s)->stream);
    if (err != cudaSuccess) {
        cudaGetLastError();
        return gp_cuda_failed(s, (int)err, "capture");
    }
    gp_cuda_queued(s, false);
    return true;
}
