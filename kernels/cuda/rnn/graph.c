/* Keeps cuDNN's recurrent layers as CUDA graphs, some for each stream and shape. A graph is
 * captured on a stream of its own: another thread may ask for the state of the call's stream
 * meanwhile, which would end the capture. */
#if __has_include(<cudnn.h>)
#include "kernels/cuda/rnn/graph.h"
#include "kernels/cuda/runtime/kernel.h"
#include "kernels/cuda/runtime/device.h"

enum {
    GRAPHS = 256, /* the one that was not used for longest is replaced */
    ALIKE = 16,   /* of one stream and head: layers of one shape in turn */
    KEY = 128
};

typedef struct graph {
    void *stream; /* NULL: none is kept here */
    cudaGraphExec_t exec;
    bool never; /* it cannot be captured */
    size_t head, size;
    uint64_t used;
    char key[KEY];
} graph;
static graph graphs[GRAPHS]; /* with gp_lib_lock held */
static uint64_t uses;

static void forget(graph *g) {
    if (g->exec) cudaGraphExecDestroy(g->exec); /* what is queued of it still runs */
    memset(g, 0, sizeof *g);
}

static bool has_head(const graph *g, const gp_rnn_key *k) {
    return g->stream && g->head == k->head && !memcmp(g->key, k->bytes, k->head);
}

static bool is_same(const graph *g, const gp_rnn_key *k) {
    return g->exec && g->size == k->size && !memcmp(g->key, k->bytes, k->size);
}

static void set_key(graph *g, void *stream, const gp_rnn_key *k) {
    g->stream = stream, g->head = k->head, g->size = k->size;
    memcpy(g->key, k->bytes, k->size);
}

static graph *older(graph *a, graph *b) { return !a || b->used < a->used ? b : a; }

/* The graph for k: the same one, or one to be made or made again. *first: nothing of its head has
 * run, on whatever stream, as a fork's is another one in each call; or nothing on this stream: what
 * cuDNN then sets up need not be possible in a capture. */
static graph *find(void *stream, const gp_rnn_key *k, bool *first) {
    graph *oldest = NULL, *alike = NULL;
    int n = 0;
    bool head = false, on_stream = false;
    for (int i = 0; i < GRAPHS; i++) {
        graph *g = &graphs[i];
        oldest = older(oldest, g);
        on_stream |= g->stream == stream;
        if (!has_head(g, k)) continue;
        head = true;
        if (g->stream != stream) continue;
        if (is_same(g, k)) return *first = false, g;
        n++;
        alike = older(alike, g);
    }
    *first = !head || !on_stream;
    if (n == ALIKE || (alike && !alike->exec)) return alike;
    forget(oldest);
    if (*first) set_key(oldest, stream, k);
    return oldest;
}

/* What `queue` queues, as a graph; NULL: that cannot be captured. */
static cudaGraph_t capture(const gp_call *c, cudnnHandle_t h,
                           cudnnStatus_t (*queue)(cudnnHandle_t h, void *ctx), void *ctx) {
    cudaGraph_t made = NULL;
    void **side = &gp_cuda_queue(c->stream)->side;
    if (!*side &&
        cudaStreamCreateWithFlags((cudaStream_t *)side, cudaStreamNonBlocking) != cudaSuccess)
        return *side = NULL, NULL;
    cudaStream_t on = (cudaStream_t)*side;
    bool ok = gp_dnn.cudnnSetStream(h, on) == CUDNN_STATUS_SUCCESS &&
              cudaStreamBeginCapture(on, cudaStreamCaptureModeRelaxed) == cudaSuccess;
    if (ok) {
        bool queued = queue(h, ctx) == CUDNN_STATUS_SUCCESS;
        ok = cudaStreamEndCapture(on, &made) == cudaSuccess && queued;
    }
    gp_dnn.cudnnSetStream(h, gp_cuda_stream(c));
    if (!ok && made) cudaGraphDestroy(made), made = NULL;
    return made;
}

/* Makes g's executable graph, or updates it, which leaves what is queued of it as it is. */
static bool instantiate(graph *g, cudaGraph_t from) {
    cudaGraphExecUpdateResultInfo why;
    if (g->exec && cudaGraphExecUpdate(g->exec, from, &why) == cudaSuccess) return true;
    if (g->exec) cudaGraphExecDestroy(g->exec);
    g->exec = NULL;
    return cudaGraphInstantiate(&g->exec, from, 0) == cudaSuccess;
}

static bool make(graph *g, const gp_call *c, cudnnHandle_t h, const gp_rnn_key *k,
                 cudnnStatus_t (*queue)(cudnnHandle_t h, void *ctx), void *ctx) {
    cudaGraph_t made = capture(c, h, queue, ctx);
    bool ok = made && instantiate(g, made);
    if (made) cudaGraphDestroy(made);
    cudaGetLastError();
    set_key(g, gp_cuda_stream(c), k);
    g->never = !ok;
    return ok;
}

cudnnStatus_t gp_rnn_queue(const gp_call *c, cudnnHandle_t h, const gp_rnn_key *k,
                           cudnnStatus_t (*queue)(cudnnHandle_t h, void *ctx), void *ctx) {
    void *stream = gp_cuda_stream(c);
    bool first;
    if (gp_cuda_building() ||
        (atomic_load_explicit(&gp_cuda_watch, memory_order_relaxed) & CUDA_WATCH_WORK) ||
        k->size > KEY)
        return queue(h, ctx);
    graph *g = find(stream, k, &first);
    g->used = ++uses;
    if (first || g->never) return queue(h, ctx);
    if (!is_same(g, k) && !make(g, c, h, k, queue, ctx)) return queue(h, ctx);
    if (cudaGraphLaunch(g->exec, (cudaStream_t)stream) == cudaSuccess) return CUDNN_STATUS_SUCCESS;
    cudaGetLastError();
    forget(g);
    return queue(h, ctx);
}
#else
typedef int rnn_graph_has_cudnn; /* ISO C forbids an empty file */
#endif
