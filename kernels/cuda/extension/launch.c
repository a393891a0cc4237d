/* Lets a library queue its op's work on the call's stream. */
#include "kernels/cuda/runtime/kernel.h"
#include "tensor/ops/extension/run.h"

/* Failed launches are the library's to report: it may have a runtime of its own. */
bool CUDA(extension)(const gp_call *c) {
    return gp_extension_run(c, gp_cuda_stream(c), NULL) && gp_cuda_ok(c, cudaGetLastError());
}
