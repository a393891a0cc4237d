/* A call of a CUDA kernel: what kernels use while they queue their work (stream, scratch memory,
 * tables), and its release afterwards. */
#include <stdlib.h>

#include "kernels/cuda/runtime/kernel.h"
#include "kernels/cuda/runtime/libs.h"
#include "tensor/memory/alloc.h"
#include "kernels/cuda/runtime/device.h"

#define ROW(n) bool CUDA(n)(const gp_call *c);
#define VIEW(...) /* needs none */
#include "tensor/ops/table/ops.def"
#define GRAD_ROW(n, ...) bool CUDA(n)(const gp_call *c);
#include "tensor/autograd/grad_rows.h"

/* NULL: a view, which needs none. */
static const gp_kernel kernels[GP_OPS] = {
#define ROW(n) [OP_##n] = CUDA(n),
#define VIEW(...) /* needs none */
#include "tensor/ops/table/ops.def"
#define GRAD_ROW(n, ...) [OP_##n] = CUDA(n),
#include "tensor/autograd/grad_rows.h"
};

gp_kernel gp_cuda_kernel(const gp_op *op) { return kernels[gp_op_id(op)]; }

enum { HELD = 32 };

static _Thread_local gp_device *launching;

/* Called when a library was opened or a handle made, for a call of this thread or for the
 * doctor. */
static void first_use(const char *what, int64_t begin_ns, int64_t end_ns) {
    if (launching) gp_cuda_called(launching, what, true, (uint64_t)begin_ns);
}

void gp_cuda_launch_open(void) { gp_lib_first_use = first_use; }

/* Scratch of the calls that this thread is making. An inner call (the collector, run for memory,
 * ran a finaliser that runs an op) uses what is above its own start. */
static _Thread_local gp_storage *scratch[HELD];
static _Thread_local cuda_block *tables[HELD];
static _Thread_local int nscratch, ntables;

/* What became of the call that this thread is making. */
static _Thread_local struct {
    int launched;  /* calls of CUDA that queued something */
    bool no_slot,  /* it has no slot for faults, and an error is set: it fails, whatever its kernels
                      do */
        no_memory, /* CUDA or a library had none when it failed */
        again;     /* it runs for the second time */
} now;

cudaStream_t gp_cuda_stream(const gp_call *c) {
    void *lane = gp_cuda_graph_lane();
    return (cudaStream_t)(lane ? lane : gp_cuda_queue(c->stream)->stream);
}
int gp_cuda_sms(const gp_call *c) { return gp_cuda_of(c->stream->dev)->sms; }
int gp_cuda_arch(const gp_call *c) { return gp_cuda_of(c->stream->dev)->arch; }

bool gp_cuda_ok(const gp_call *c, cudaError_t err) {
    if (err ==
        cudaSuccess) { /* a call is one item of the queue, and each further kernel one more */
        if (now.launched++) atomic_fetch_add(&gp_cuda_queue(c->stream)->items, 1);
        return true;
    }
    cudaGetLastError(); /* it is reported here */
    now.no_memory = err == cudaErrorMemoryAllocation;
    return gp_cuda_failed(c->stream, (int)err, c->op->name);
}

gp_storage *gp_cuda_storage(const gp_call *c, size_t bytes) {
    gp_storage *st = gp_storage_new(c->stream, bytes ? bytes : 1);
    gp_cuda_enter(
        c->stream->dev); /* when memory is short the collector may have run ops on another device */
    return st;
}

void *gp_cuda_hold(const gp_call *c, gp_storage *st) {
    if (nscratch == HELD) {
        gp_storage_unref(st);
        return gp_fail_null("%s: too many pieces of scratch memory", c->op->name);
    }
    scratch[nscratch++] = st;
    return st->data;
}

void *gp_cuda_scratch(const gp_call *c, size_t bytes) {
    gp_storage *st = gp_cuda_storage(c, bytes);
    return st ? gp_cuda_hold(c, st) : NULL;
}

void *gp_cuda_table(const gp_call *c, size_t bytes) {
    if (ntables == HELD) return gp_fail_null("%s: too many tables", c->op->name);
    cuda_block *b = gp_cuda_block_acquire(c->stream->dev, bytes);
    if (!b) return NULL;
    tables[ntables++] = b;
    return b->data;
}

gp_fault_at gp_cuda_fault_of(const gp_call *c, gp_srcloc loc, bool together,
                             const char *const *texts, int n) {
    gp_fault_at at = {0};
    cuda_note note = {.together = together, .loc = loc.file ? loc : c->loc, .n = n, .texts = texts};
    bool building = gp_cuda_building();
    if (building) gp_cuda_unfit(); /* of a graph, each launch would have to be told apart */
    if (building || !gp_cuda_fault_open(c->stream, c->op->name, note, &at)) now.no_slot = true;
    return at;
}

gp_fault_at gp_cuda_fault(const gp_call *c, const char *const *texts, int n) {
    return gp_cuda_fault_of(c, c->loc, false, texts, n);
}

/* The call became part of a graph, which keeps what its kernels use. */
static void settle_in_graph(gp_stream *s, int nscratch0, int ntables0) {
    while (ntables > ntables0)
        if (!gp_cuda_keep_table(tables[--ntables])) gp_cuda_block_release(s->dev, tables[ntables]);
    while (nscratch > nscratch0)
        if (!gp_cuda_keep_scratch(scratch[--nscratch])) gp_storage_unref(scratch[nscratch]);
}

/* The call is queued: its tables are needed until it is done, its scratch memory only by work
 * queued before its next user. */
static void settle(gp_stream *s, int nscratch0, int ntables0) {
    bool counted = false;
    if (gp_cuda_building()) {
        settle_in_graph(s, nscratch0, ntables0);
        return;
    }
    while (ntables > ntables0) {
        cuda_later *l = calloc(1, sizeof *l);
        if (!l) { /* leaked: a queued kernel may read it */
            ntables--;
            continue;
        }
        l->block = tables[--ntables];
        gp_cuda_queued_then(s, l);
        counted = true;
    }
    if (!counted) gp_cuda_queued(s, false);
    while (nscratch > nscratch0) gp_storage_unref(scratch[--nscratch]);
}

/* ---- lack of memory ---- */

bool gp_lib_failed(const gp_call *c, bool no_memory) {
    gp_device *dev = c->stream->dev;
    cudaError_t err = cudaStreamQuery((cudaStream_t)gp_cuda_of(dev)->clock);
    cudaGetLastError();
    now.no_memory = no_memory;
    return err == cudaSuccess || err == cudaErrorNotReady
               ? false
               : gp_cuda_failed(c->stream, (int)err, c->op->name);
}

bool gp_lib_no_memory(void) { return now.no_memory; }

/* Whether c may be run again: nothing was queued, or it writes only what it does not read. */
static bool repeatable(const gp_call *c) {
    bool fresh = !c->into;
    for (int i = 0; i < c->nargs; i++) fresh &= !c->arg[i].written;
    return fresh || !now.launched;
}

bool gp_cuda_runs_again(const gp_call *c) {
    return now.no_memory && !now.again && repeatable(c) && !atomic_load(&c->stream->dev->dead);
}

static bool launch_call(gp_call *c) {
    now.launched = 0;
    now.no_slot = now.no_memory = false;
    return kernels[gp_op_id(c->op)](c) && !now.no_slot;
}

/* Runs c's kernel. Where CUDA or a library has no memory the device's cache may hold all of it: it
 * is given back, and the kernel runs again. */
static bool run_with_memory(gp_call *c) {
    int nscratch0 = nscratch;
    now.again = false;
    if (launch_call(c)) return true;
    if (!gp_cuda_runs_again(c) || gp_cuda_building()) return false;
    while (nscratch > nscratch0) gp_storage_unref(scratch[--nscratch]);
    if (!gp_alloc_release(c->stream->dev, c->name)) return false;
    gp_cuda_enter(c->stream->dev);
    now.again = true;
    return launch_call(c);
}

bool gp_cuda_launch(gp_stream *s, gp_call *c) {
    if (!gp_device_alive(s->dev, c->op->name)) return false;
    gp_cuda_enter(s->dev);
    int nscratch0 = nscratch, ntables0 = ntables;
    _Atomic bool *used = &gp_cuda_of(s->dev)->used[gp_op_id(c->op)];
    uint64_t t0 = atomic_load_explicit(used, memory_order_relaxed) ? 0 : gp_now_ns();
    __typeof__(now) outer = now; /* of a call whose scratch memory made the collector run c */
    launching = s->dev;
    cuda_span span = {0};
    if (atomic_load_explicit(&gp_cuda_lingers, memory_order_relaxed) && !gp_cuda_building())
        gp_cuda_trace_idle();
    bool watched = atomic_load_explicit(&gp_cuda_watch, memory_order_relaxed);
    if (watched) gp_cuda_span_begin(&span, s, c->op, "kernel", c->id, 0);
    bool ok = run_with_memory(c);
    now = outer;
    if (watched) gp_cuda_span_end(&span);
    if (t0) { /* reports that its code was loaded, a library opened, a handle made */
        atomic_store(used, true);
        gp_cuda_called(s->dev, c->op->name, true, t0);
    }
    settle(s, nscratch0, ntables0);
    return ok;
}
