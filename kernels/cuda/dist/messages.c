/* send and recv on cuda go through pinned host memory and MPI, in stream order: a callback of the
 * stream sends, and returns at once, or waits for what the other rank sent. NCCL's sends hold up
 * their stream until the other end has come: two ranks that both send first would stop each other.
 */
#include <stdlib.h>

#include "kernels/cuda/runtime/dense.h"
#include "kernels/cuda/runtime/device.h"
#include "tensor/device/stream/failure.h"
#include "tensor/dist/dist.h"
#include "tensor/ops/dist.h"

/* What the callback needs, which frees it. */
typedef struct message {
    gp_call call; /* name, line and stream alone */
    gp_array x;
    gp_dist_call d;
    uint64_t ticket; /* of the call on its stream */
    bool sends;
    void *host; /* pinned */
    size_t bytes;
} message;

static void CUDART_CB deliver(void *p) {
    message *m = p;
    bool ok = m->sends ? gp_dist_send(&m->d, m->host, m->bytes)
                       : gp_dist_receive(&m->d, m->host, m->bytes);
    if (!ok) gp_failure_add(m->call.stream, m->ticket, m->ticket, true, gp_error());
    if (!ok) gp_error_clear();
    free(m);
}

/* NULL with a message. */
static message *new_message(const gp_call *c, bool sends) {
    const gp_array *x = gp_in(c, 1);
    if (gp_cuda_building()) {
        gp_cuda_unfit();
        return gp_fail_null("%s: not in a captured graph on cuda", c->name);
    }
    message *m = calloc(1, sizeof *m);
    if (!m) return gp_fail_null("%s: out of memory", c->name);
    m->call.name = c->name, m->call.loc = c->loc, m->call.stream = c->stream;
    m->x = *x;
    m->d = (gp_dist_call){.call = &m->call, .x = &m->x, .how = "", .root = (int)c->arg[2].i};
    m->d.group = gp_dist_group_of(c);
    m->ticket = atomic_load(&c->stream->issued) + 1;
    m->sends = sends;
    m->bytes = (size_t)x->numel * gp_dtype_size((gp_dtype)x->dtype);
    if (!(m->host = gp_cuda_table(c, m->bytes))) return free(m), NULL;
    return m;
}

static bool queue(const gp_call *c, message *m) {
    cudaError_t err = cudaLaunchHostFunc(gp_cuda_stream(c), deliver, m);
    if (err != cudaSuccess) free(m);
    return gp_cuda_ok(c, err);
}

bool CUDA(dist_send)(const gp_call *c) {
    const gp_array *x = gp_in(c, 1);
    gp_array from;
    message *m = new_message(c, true);
    if (!m) return false;
    if (gp_cuda_dense(c, x, (gp_dtype)x->dtype, &from) &&
        gp_cuda_ok(c, cudaMemcpyAsync(m->host, from.data, m->bytes, cudaMemcpyDeviceToHost,
                                      gp_cuda_stream(c))))
        return queue(c, m);
    return free(m), false;
}

bool CUDA(dist_recv)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0);
    gp_array to = gp_dense_over(out->data, (gp_dtype)out->dtype, out->ndim, out->dim);
    message *m = new_message(c, false);
    if (!m) return false;
    void *host = m->host;
    size_t bytes = m->bytes;
    if (!out->contiguous && !(to.data = gp_cuda_scratch(c, bytes))) return free(m), false;
    return queue(c, m) &&
           gp_cuda_ok(c, cudaMemcpyAsync(to.data, host, bytes, cudaMemcpyHostToDevice,
                                         gp_cuda_stream(c))) &&
           (out->contiguous || gp_cuda_copy_array(c, out, &to));
}
