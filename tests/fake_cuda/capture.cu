/* Tests of the stand-in's captures: forks and joins by events, as CUDA's guide has them, and what
 * makes a capture invalid. */
#include <vector>

#include "cuda_runtime.h"
#include "fake_cuda.h"
#include "tap.h"

struct call {
    cudaStream_t stream;
};
static cudaStream_t gp_cuda_stream(const call *c) { return c->stream; }
static bool gp_cuda_ok(call *, cudaError_t err) { return err == cudaSuccess; }

enum { MERGE = 902, UNMATCHED, UNJOINED, ISOLATION, IMPLICIT, CAPTURED };

static int order[8], *next; /* what ran, and how many */
__global__ void note(int what) { order[(*next)++] = what; }
static void run(cudaStream_t s, int what) {
    call c = {s};
    GP_LAUNCH(&c, note, 1, 1, 0, what);
}

static cudaStream_t a, b;
static cudaEvent_t e, f;
static void begin(void) { cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed); }
static int end(cudaStream_t s, cudaGraph_t *g) {
    int err = cudaStreamEndCapture(s, g);
    cudaGetLastError();
    return err;
}
static int last(cudaError_t err) { return cudaGetLastError(), (int)err; }

/* a: 0, then 1; b: 2 and 3 after 0; a: 4 after all. */
static void diamond(void) {
    cudaGraph_t g;
    cudaGraphExec_t exec;
    begin();
    run(a, 0);
    cudaEventRecord(e, a);
    cudaStreamWaitEvent(b, e, 0);
    run(a, 1), run(b, 2), run(b, 3);
    cudaEventRecord(f, b);
    cudaStreamWaitEvent(a, f, 0);
    run(a, 4);
    tap_ok(end(a, &g) == 0 && g, "a fork that is joined becomes a graph");
    tap_ok(*next == 0, "and nothing has run");
    cudaGraphInstantiate(&exec, g, 0);
    cudaGraphDestroy(g);
    cudaGraphLaunch(exec, a);
    cudaStreamSynchronize(a);
    tap_ok(*next == 5 && order[0] == 0 && order[4] == 4, "the ends are first and last");
    tap_ok(order[1] == 2 && order[2] == 3 && order[3] == 1, "branches are not in the calls' order");
    run(b, 5);
    cudaStreamSynchronize(b);
    tap_ok(*next == 6, "the fork's stream runs what it is given after the capture");
    cudaGraphExecDestroy(exec);
}

static void invalid(void) {
    cudaGraph_t g;
    begin();
    cudaEventRecord(e, a);
    cudaStreamWaitEvent(b, e, 0);
    run(b, 1);
    tap_ok(end(b, &g) == UNMATCHED && !g, "a capture ends on the stream where it began");
    tap_ok(end(a, &g) != 0 && !g, "and is invalid after another stream's end");
    begin();
    cudaEventRecord(e, a);
    cudaStreamWaitEvent(b, e, 0);
    run(b, 1);
    tap_ok(end(a, &g) == UNJOINED && !g, "a fork must be joined");
    begin();
    cudaEventRecord(e, a);
    tap_ok(last(cudaEventQuery(e)) == CAPTURED, "the host cannot ask for a captured event");
    tap_ok(end(a, &g) != 0, "which makes the capture invalid");
    cudaEventRecord(e, b);
    begin();
    tap_ok(last(cudaStreamWaitEvent(a, e, 0)) == ISOLATION, "nor can a capture wait for others'");
    tap_ok(end(a, &g) != 0, "which does so, too");
    begin();
    cudaStreamBeginCapture(b, cudaStreamCaptureModeRelaxed);
    cudaEventRecord(e, a);
    tap_ok(last(cudaStreamWaitEvent(b, e, 0)) == MERGE, "two captures do not become one");
    end(a, &g), end(b, &g);
}

int main(void) {
    static int count;
    next = &count;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&f, cudaEventDisableTiming);
    diamond();
    invalid();
    return tap_done();
}
