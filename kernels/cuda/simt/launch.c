/* Kernels of the user's are compiled for the processor alone so far. */
#include "kernels/cuda/runtime/kernel.h"

bool CUDA(kernel_launch)(const gp_call *c) {
    return gp_fail("%s: cuda.kernel runs on cpu and sim; on %s it is not there yet", c->name,
                   c->stream->dev->name);
}
