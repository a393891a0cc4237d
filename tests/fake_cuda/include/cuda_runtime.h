/* What a .cu file includes: the runtime API, and for C++ the device side as host code (tests/fake_cuda). */
#ifndef FAKE_CUDA_RUNTIME_H
#define FAKE_CUDA_RUNTIME_H

#include "cuda_runtime_api.h"

#ifdef __cplusplus
#include "fake/device.h"
#include "fake/intrinsics.h"
#include "fake/launch.h"

template <class T> static inline cudaError_t cudaMalloc(T **p, size_t bytes) { return cudaMalloc((void **)p, bytes); }
template <class T>
static inline cudaError_t cudaMallocAsync(T **p, size_t bytes, cudaStream_t s) {
    return cudaMallocAsync((void **)p, bytes, s);
}
template <class T> static inline cudaError_t cudaMallocHost(T **p, size_t bytes) {
    return cudaMallocHost((void **)p, bytes);
}
template <class F>
static inline cudaError_t cudaFuncSetAttribute(F *func, enum cudaFuncAttribute attr, int value) {
    return cudaFuncSetAttribute((const void *)func, attr, value);
}
template <class F> static inline cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, F *func) {
    return cudaFuncGetAttributes(a, (const void *)func);
}
template <class F>
static inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, F *func, int block, size_t shared) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(n, (const void *)func, block, shared);
}
#endif
#endif
