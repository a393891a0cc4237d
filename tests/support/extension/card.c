/* A library whose op has a kernel for cuda, on the runtime of the stand-in: for
 * tests/cuda/extension.lua. */
#include <lua.h>
#include <string.h>

#include <cuda_runtime_api.h>
#include <gpush/op.h>

static int like(const gpush_call *c, gpush_result *r) {
    const gpush_tensor *x = c->arg[0].tensor;
    *r = (gpush_result){.dtype = x->dtype, .ndim = x->ndim};
    memcpy(r->size, x->size, (size_t)x->ndim * sizeof *x->size);
    return 0;
}

/* Copies x on the stream; how = 1: fails as a launch that CUDA refuses. */
static int copy(const gpush_call *c) {
    const gpush_tensor *x = c->arg[0].tensor;
    size_t bytes = (size_t)x->numel * sizeof(float);
    if (c->arg[1].i == 1)
        return gpush_fail(c, "%s", cudaGetErrorString(cudaErrorInvalidConfiguration));
    cudaError_t e = cudaMemcpyAsync(c->result[0].data, x->data, bytes, cudaMemcpyDeviceToDevice,
                                    (cudaStream_t)c->stream);
    return e ? gpush_fail(c, "%s", cudaGetErrorString(e)) : 0;
}

static const gpush_op ops[] = {{.name = "card_copy",
                                .signature = "tensor x, int how=0",
                                .help = "a copy of x",
                                .dtypes = "f32",
                                .shape = like,
                                .cuda = copy}};
GPUSH_LIBRARY(card, ops)
