/* What device code takes of kernels/cuda/runtime/kernel.h, for programs that NVRTC compiles: it
 * finds no header but those that it is given (headers.c). GP_MAX_DIM comes as an option. */
#ifndef GP_CUDA_DEVICE_ONLY_H
#define GP_CUDA_DEVICE_ONLY_H

#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tensor/base/dtype_enum.h"

#ifndef GP_DYNAMIC_SHARED /* the stand-in has its own */
#define GP_DYNAMIC_SHARED(T, name)                                                                 \
    extern __shared__ __align__(16) unsigned char name##_bytes[];                                  \
    T *const name = (T *)name##_bytes
#endif

#endif
