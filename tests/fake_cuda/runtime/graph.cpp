/* Graphs: what a stream captures in place of running it, to be launched as one. */
#include "state.h"

using namespace fake;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t h, enum cudaStreamCaptureMode) {
    cudaError_t err = forbidden();
    if (err) return done(err);
    locked l(rt().lock);
    CUstream_st *s = stream_of(h);
    if (!s) return done(cudaErrorInvalidResourceHandle);
    if (s->legacy || capturing(s)) return done(cudaErrorStreamCaptureUnsupported);
    s->capture = new CUgraph_st();
    s->capture->dev = s->dev;
    return done(cudaSuccess);
}

cudaError_t cudaStreamEndCapture(cudaStream_t h, cudaGraph_t *graph) {
    cudaError_t err = forbidden();
    if (err) return done(err);
    locked l(rt().lock);
    CUstream_st *s = stream_of(h);
    *graph = NULL;
    if (!s) return done(cudaErrorInvalidResourceHandle);
    if (!s->capture) return done(cudaErrorInvalidValue);
    CUgraph_st *g = s->capture;
    s->capture = NULL;
    if (!g->invalid) return *graph = g, done(cudaSuccess);
    delete g;
    return done(cudaErrorStreamCaptureInvalidated);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t h, enum cudaStreamCaptureStatus *status) {
    locked l(rt().lock);
    CUstream_st *s = stream_of(h);
    if (!s) return done(cudaErrorInvalidResourceHandle);
    *status = !s->capture           ? cudaStreamCaptureStatusNone
              : s->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                    : cudaStreamCaptureStatusActive;
    return done(cudaSuccess);
}

/* Only their number. */
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *, size_t *n) {
    *n = graph->tasks.size();
    return done(cudaSuccess);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long) {
    cudaError_t err = forbidden();
    if (err) return done(err);
    *exec = new CUgraphExec_st{graph->dev, std::make_shared<std::vector<task>>(graph->tasks)};
    return done(cudaSuccess);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t h) {
    cudaError_t err = forbidden();
    if (err) return done(err);
    locked l(rt().lock);
    CUstream_st *s = stream_of(h);
    if (!s || s->dev != exec->dev) return done(cudaErrorInvalidResourceHandle);
    rt().counts["graph"]++;
    task t;
    int d = s->dev;
    t.kernel = true;
    t.run = [tasks = exec->tasks, d] {
        for (task &k : *tasks)
            if (k.run && !rt().devices[(size_t)d]->sticky) k.run();
    };
    submit(l, s, std::move(t));
    return done(cudaSuccess);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    delete graph;
    return done(cudaSuccess);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    delete exec; /* what is queued keeps its tasks */
    return done(cudaSuccess);
}
}
