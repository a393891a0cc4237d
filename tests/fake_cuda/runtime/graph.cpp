/* Graphs: what a stream captures in place of running it, with what other streams do that wait for
 * its events, to be launched as one. */
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "state.h"

using namespace fake;

/* Whether every stream's work comes before what the origin does last. With the lock. */
static bool joined(const CUgraph_st &g) {
    std::vector<bool> before(g.all.size());
    for (size_t n : g.origin->ends) before[n] = true;
    for (size_t n = g.all.size(); n-- > 0;)
        for (size_t m : g.all[n].after)
            if (before[n]) before[m] = true;
    for (const CUstream_st *s : g.streams)
        for (size_t n : s->ends)
            if (!before[n]) return false;
    return true;
}

/* Runs the nodes one by one: of those whose turn it could be, the last, so that branches are not in
 * the order of the calls, and a dependency that is missing shows. */
static void run_nodes(std::vector<node> &all, int d) {
    std::vector<bool> done(all.size());
    for (size_t left = all.size(); left-- > 0;) {
        size_t next = all.size(), ready = 0;
        for (size_t n = 0; n < all.size(); n++) {
            const nodes &after = all[n].after;
            if (done[n] ||
                !std::all_of(after.begin(), after.end(), [&](size_t m) { return done[m]; }))
                continue;
            next = n, ready++;
        }
        done[next] = true;
        if (ready > 1) fakeCounted("branch");
        if (all[next].work.run && !rt().devices[(size_t)d]->sticky) all[next].work.run();
    }
}

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t h, enum cudaStreamCaptureMode) {
    cudaError_t err = forbidden();
    if (err) return done(err);
    locked l(rt().lock);
    CUstream_st *s = stream_of(h);
    if (!s) return done(cudaErrorInvalidResourceHandle);
    if (s->legacy || capturing(s)) return done(cudaErrorStreamCaptureUnsupported);
    s->capture = std::make_shared<CUgraph_st>();
    s->capture->dev = s->dev, s->capture->origin = s, s->capture->streams = {s};
    s->ends.clear();
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
    std::shared_ptr<CUgraph_st> g = s->capture;
    if (g->origin != s) return g->invalid = true, done((cudaError_t)STREAM_CAPTURE_UNMATCHED);
    bool whole = joined(*g);
    g->over = true;
    for (CUstream_st *of : g->streams) of->capture = NULL;
    if (g->invalid) return done(cudaErrorStreamCaptureInvalidated);
    if (!whole) return done((cudaError_t)STREAM_CAPTURE_UNJOINED);
    *graph = new CUgraph_st(*g);
    return done(cudaSuccess);
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
    *n = graph->all.size();
    return done(cudaSuccess);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long) {
    cudaError_t err = forbidden();
    if (err) return done(err);
    *exec = new CUgraphExec_st{graph->dev, std::make_shared<std::vector<node>>(graph->all)};
    fakeCounted("graph made");
    return done(cudaSuccess);
}

/* Of graphs with other nodes none: the caller makes a new one. What is queued keeps its nodes. */
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                cudaGraphExecUpdateResultInfo *) {
    cudaError_t err = forbidden();
    if (err) return done(err);
    if (exec->all->size() != graph->all.size()) return done(cudaErrorGraphExecUpdateFailure);
    exec->all = std::make_shared<std::vector<node>>(graph->all);
    fakeCounted("graph update");
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
    t.run = [all = exec->all, d] { run_nodes(*all, d); };
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
