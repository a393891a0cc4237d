/* Linear algebra of a CUDA device's matrices by the CPU's kernels, where copies and they take less
 * than the device would: a callback of the stream computes in pinned memory between a copy there
 * and one back. All of it is queued: the host does not wait, and what the CPU finds wrong comes up
 * at the next wait, as a kernel's fault does. Ctrl-C ends such a computation, too. */
#include "kernels/cuda/linalg/batch.h"

#include <stdlib.h>

#include "kernels/cuda/runtime/dense.h"
#include "kernels/cuda/runtime/device.h"
#include "tensor/device/plugin_api.h"

enum { OPERANDS = 2, ALIGNED = 64 };

/* What the callback needs, which frees it. */
typedef struct host_call {
    gp_call call;
    uint64_t ticket; /* of the call on its stream */
    gp_array array[OPERANDS + GP_MAX_OUT];
} host_call;

static void CUDART_CB compute(void *p) {
    host_call *h = p;
    if (!gp_cpu_run_here(&h->call)) {
        gp_cuda_found(h->call.stream, h->ticket, h->call.loc, gp_error());
        gp_error_clear();
    }
    free(h);
}

static size_t bytes_of(const gp_array *a) {
    return (size_t)a->numel * gp_dtype_size((gp_dtype)a->dtype);
}

static bool copy(const gp_call *c, void *to, const void *from, size_t bytes,
                 enum cudaMemcpyKind kind) {
    return !bytes || gp_cuda_ok(c, cudaMemcpyAsync(to, from, bytes, kind, gp_cuda_stream(c)));
}

/* Replaces the arrays of h->call by dense ones that lie `at` bytes into host memory, one after the
 * other; returns their number. */
static int lay_out(host_call *h, size_t *at, size_t *bytes) {
    gp_call *c = &h->call;
    int n = 0;
    *bytes = 0;
    for (int i = 0; i < c->nargs + c->nout; i++) {
        bool out = i >= c->nargs;
        if (!out && c->arg[i].kind != GP_TENSOR) continue;
        const gp_array *x = out ? c->outa[i - c->nargs] : c->arg[i].a;
        h->array[n] = gp_dense_over(NULL, (gp_dtype)x->dtype, x->ndim, x->dim);
        if (out) c->outa[i - c->nargs] = &h->array[n];
        else c->arg[i].a = &h->array[n];
        at[n++] = *bytes;
        *bytes += (bytes_of(x) + ALIGNED - 1) / ALIGNED * ALIGNED;
    }
    return n;
}

static bool bring(const gp_call *c, host_call *h) {
    for (int i = 0; i < c->nargs; i++) {
        const gp_array *x = gp_in(c, i), *to = h->call.arg[i].a;
        gp_array from;
        if (c->arg[i].kind != GP_TENSOR || !x->numel) continue;
        if (!gp_cuda_dense(c, x, (gp_dtype)x->dtype, &from) ||
            !copy(c, to->data, from.data, bytes_of(x), cudaMemcpyDeviceToHost))
            return false;
    }
    return true;
}

unsigned gp_solver_can_on_cpu(void) { return gp_cuda_building() ? 0 : GP_CAN(cpu); }

bool gp_solver_on_cpu(const gp_call *c) {
    size_t at[OPERANDS + GP_MAX_OUT], bytes;
    host_call *h = calloc(1, sizeof *h);
    if (!h) return gp_fail("%s: out of memory", c->name);
    h->call = *c;
    h->ticket = atomic_load(&c->stream->issued) + 1;
    int n = lay_out(h, at, &bytes);
    char *host = gp_cuda_table(c, bytes), *results[GP_MAX_OUT] = {0};
    for (int i = 0; host && i < n; i++) h->array[i].data = host + at[i];
    for (int i = 0; i < c->nout; i++) results[i] = h->call.outa[i]->data;
    cudaError_t err = cudaSuccess;
    bool ok = host && bring(c, h);
    if (ok) err = cudaLaunchHostFunc(gp_cuda_stream(c), compute, h);
    if (!ok || err != cudaSuccess) free(h);
    if (!ok || !gp_cuda_ok(c, err)) return false;
    for (int i = 0; ok && i < c->nout; i++)
        ok =
            copy(c, gp_out(c, i)->data, results[i], bytes_of(gp_out(c, i)), cudaMemcpyHostToDevice);
    return ok;
}
