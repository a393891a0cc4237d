/* A call of a CUDA kernel: what kernels use while they queue their work (stream, scratch memory,
 * tables), and its release afterwards. */
#include <stdlib.h>

#include "kernels/cuda/runtime/kernel.h"
#include "kernels/cuda/runtime/libs.h"
#include "kernels/cuda/runtime/table.h"
#include "tensor/memory/alloc.h"
#include "kernels/cuda/runtime/device.h"

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
static _Thread_local int nscratch, ntables, launched;

cudaStream_t gp_cuda_stream(const gp_call *c) {
    return (cudaStream_t)gp_cuda_queue(c->stream)->stream;
}
int gp_cuda_sms(const gp_call *c) { return gp_cuda_of(c->stream->dev)->sms; }
int gp_cuda_arch(const gp_call *c) { return gp_cuda_of(c->stream->dev)->arch; }

bool gp_cuda_ok(const gp_call *c, cudaError_t err) {
    if (err ==
        cudaSuccess) { /* a call is one item of the queue, and each further kernel one more */
        if (launched++) atomic_fetch_add(&gp_cuda_queue(c->stream)->items, 1);
        return true;
    }
    cudaGetLastError(); /* it is reported here */
    return gp_cuda_failed(c->stream, (int)err, c->op->name);
}

void *gp_cuda_scratch(const gp_call *c, size_t bytes) {
    if (nscratch == HELD) return gp_fail_null("%s: too many pieces of scratch memory", c->op->name);
    gp_storage *st = gp_storage_new(c->stream, bytes ? bytes : 1);
    gp_cuda_enter(
        c->stream->dev); /* when memory is short the collector may have run ops on another device */
    if (!st) return NULL;
    scratch[nscratch++] = st;
    return st->data;
}

void *gp_cuda_table(const gp_call *c, size_t bytes) {
    if (ntables == HELD) return gp_fail_null("%s: too many tables", c->op->name);
    cuda_block *b = gp_cuda_block_acquire(c->stream->dev, bytes);
    if (!b) return NULL;
    tables[ntables++] = b;
    return b->data;
}

/* The call has no slot for faults, and an error is set: it fails, whatever its kernels do. */
static _Thread_local bool no_slot;

gp_fault_at gp_cuda_fault(const gp_call *c, const char *const *texts, int n) {
    gp_fault *f = gp_cuda_fault_open(c->stream, c, texts, n);
    if (!f) no_slot = true;
    return (gp_fault_at){f};
}

/* The call is queued: its tables are needed until it is done, its scratch memory only by work
 * queued before its next user. */
static void settle(gp_stream *s, int nscratch0, int ntables0) {
    bool counted = false;
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

bool gp_cuda_launch(gp_stream *s, gp_call *c) {
    if (!gp_device_alive(s->dev, c->op->name)) return false;
    gp_kernel kernel = gp_cuda_kernels[gp_op_id(c->op)];
    gp_cuda_enter(s->dev);
    int nscratch0 = nscratch, ntables0 = ntables;
    _Atomic bool *used = &gp_cuda_of(s->dev)->used[gp_op_id(c->op)];
    uint64_t t0 = atomic_load_explicit(used, memory_order_relaxed) ? 0 : gp_now_ns();
    launched = 0;
    launching = s->dev;
    cuda_span span = {0};
    bool watched = atomic_load_explicit(&gp_cuda_watch, memory_order_relaxed);
    if (watched) gp_cuda_span_begin(&span, s, c->op, "kernel", c->id, 0);
    no_slot = false;
    bool ok = kernel(c) && !no_slot;
    if (watched) gp_cuda_span_end(&span);
    if (t0) { /* reports that its code was loaded, a library opened, a handle made */
        atomic_store(used, true);
        gp_cuda_called(s->dev, c->op->name, true, t0);
    }
    settle(s, nscratch0, ntables0);
    return ok;
}
