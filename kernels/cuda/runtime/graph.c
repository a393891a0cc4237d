/* Captured functions as CUDA graphs: calls that are launched between begin and end become one
 * graph, with the scratch memory and the tables that they use. */
#include <cuda_runtime.h>

#include <stdlib.h>

#include "kernels/cuda/runtime/device.h"
#include "tensor/memory/alloc.h"

typedef struct cuda_graph {
    cudaGraphExec_t exec;
    bool unfit; /* a call needs what a graph has not */
    /* While it is built: the stream of each lane that it has, and events, of which the first is at
     * the beginning, and number 1 + i at the end of part i. */
    cudaStream_t lane[CUDA_LANES];
    int now, part, nevents, events_capacity; /* the lane, and the part, of the calls; -1: no part */
    void **event;
    int nscratch, ntables, scratch_capacity, tables_capacity;
    gp_storage **scratch;
    cuda_block **tables;
} cuda_graph;

static _Thread_local cuda_graph *building;

bool gp_cuda_building(void) { return building != NULL; }
void gp_cuda_unfit(void) { building->unfit = true; }

/* Makes room for one more in an array of pointers. */
static bool reserve(void *array, int n, int *capacity) {
    void **at = array;
    if (n < *capacity) return true;
    int more = *capacity ? 2 * *capacity : 16;
    void *to = realloc(*at, (size_t)more * sizeof(void *));
    if (!to) return building->unfit = true, false;
    *at = to;
    *capacity = more;
    return true;
}

bool gp_cuda_keep_scratch(gp_storage *st) {
    cuda_graph *g = building;
    if (!reserve(&g->scratch, g->nscratch, &g->scratch_capacity)) return false;
    g->scratch[g->nscratch++] = st;
    return true;
}

bool gp_cuda_keep_table(cuda_block *b) {
    cuda_graph *g = building;
    if (!reserve(&g->tables, g->ntables, &g->tables_capacity)) return false;
    g->tables[g->ntables++] = b;
    return true;
}

void *gp_cuda_graph_lane(void) { return building ? building->lane[building->now] : NULL; }

/* ---- parts ---- */

/* An event at the end of the work of stream s so far, as number `at` of the graph's. */
static bool record(cuda_graph *g, int at, cudaStream_t s) {
    while (g->nevents <= at) {
        if (!reserve(&g->event, g->nevents, &g->events_capacity)) return false;
        g->event[g->nevents++] = NULL;
    }
    cudaEvent_t e = NULL;
    if (cudaEventCreateWithFlags(&e, cudaEventDisableTiming) != cudaSuccess) return false;
    g->event[at] = e;
    return cudaEventRecord(e, s) == cudaSuccess;
}

static bool end_part(cuda_graph *g) {
    return g->part < 0 || record(g, 1 + g->part, g->lane[g->now]);
}

/* The streams of lanes stay with s: libraries keep a handle, with memory of its own, for each, and
 * graphs that are launched on one stream never run at the same time. */
static bool begin_lane(cuda_graph *g, gp_stream *s, int lane) {
    void **of = &gp_cuda_queue(s)->lane[lane];
    if (g->lane[lane]) return true;
    if (!*of && cudaStreamCreateWithFlags((cudaStream_t *)of, cudaStreamNonBlocking) != cudaSuccess)
        return *of = NULL, false;
    g->lane[lane] = (cudaStream_t)*of;
    return cudaStreamWaitEvent(g->lane[lane], (cudaEvent_t)g->event[0], 0) == cudaSuccess;
}

bool gp_cuda_graph_part(gp_stream *s, int part, int lane, const int *after, int n) {
    cuda_graph *g = building;
    bool ok = lane < CUDA_LANES && (g->nevents || record(g, 0, g->lane[0])) && end_part(g) &&
              begin_lane(g, s, lane);
    for (int i = 0; ok && i < n; i++) {
        void *e = 1 + after[i] < g->nevents ? g->event[1 + after[i]] : NULL;
        ok = !e || cudaStreamWaitEvent(g->lane[lane], (cudaEvent_t)e, 0) == cudaSuccess;
    }
    cudaGetLastError();
    if (ok) g->part = part, g->now = lane;
    else g->unfit = true;
    return ok;
}

/* Lane 0 follows all others, as CUDA asks of the end of a capture. */
static bool join_lanes(cuda_graph *g) {
    bool ok = end_part(g);
    for (int l = 1; ok && l < CUDA_LANES; l++)
        if (g->lane[l])
            ok = record(g, g->nevents, g->lane[l]) &&
                 cudaStreamWaitEvent(g->lane[0], (cudaEvent_t)g->event[g->nevents - 1], 0) ==
                     cudaSuccess;
    return ok;
}

static void free_events(cuda_graph *g) {
    for (int i = 0; i < g->nevents; i++)
        if (g->event[i]) cudaEventDestroy((cudaEvent_t)g->event[i]);
    free(g->event);
    g->event = NULL, g->nevents = 0;
}

/* ---- graphs ---- */

bool gp_cuda_graph_begin(gp_stream *s) {
    cuda_graph *g = calloc(1, sizeof *g);
    if (!g) return gp_fail("out of memory");
    g->part = -1;
    g->lane[0] = (cudaStream_t)gp_cuda_queue(s)->stream;
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
    gp_cuda_enter(s->dev);
    if (!join_lanes(g)) g->unfit = true;
    building = NULL;
    cudaError_t err = cudaStreamEndCapture((cudaStream_t)gp_cuda_queue(s)->stream, &made);
    if (err == cudaSuccess && made && !g->unfit) err = cudaGraphInstantiate(&g->exec, made, 0);
    if (made) cudaGraphDestroy(made);
    free_events(g);
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
