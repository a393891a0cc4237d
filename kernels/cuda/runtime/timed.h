/* Times the plug-in's own blocking calls of the CUDA runtime and reports them to the profiler. For
 * device.c, copy.c and pinned.c, which make them all. */
#ifndef GP_CUDA_TIMED_H
#define GP_CUDA_TIMED_H

#include <cuda_runtime.h>

#include "kernels/cuda/runtime/device.h"

/* Makes a call that may block, sets err (a cudaError_t) to its result, and reports the call's time.
 * first: whether the call sets something up on its first use. args: in parentheses. */
#define GP_CUDA_TIMED(dev, err, first, function, args)                                             \
    do {                                                                                           \
        uint64_t t0_ = gp_now_ns();                                                                \
        gp_cuda_own_calls++;                                                                       \
        err = function args;                                                                       \
        gp_cuda_own_calls--;                                                                       \
        gp_cuda_called(dev, #function, first, t0_);                                                \
    } while (0)

#endif
