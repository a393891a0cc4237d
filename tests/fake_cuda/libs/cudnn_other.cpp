// A stand-in for a cuDNN that was built for another major version of CUDA: its soname is the same,
// and nothing else of it may be called.
#include <stddef.h>

#include "cuda_runtime_api.h"

extern "C" {
__attribute__((visibility("default"))) size_t cudnnGetVersion(void) { return 91900; }
__attribute__((visibility("default"))) size_t cudnnGetCudartVersion(void) {
    return CUDART_VERSION - 1000;
}
}
