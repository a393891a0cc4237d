// Descriptors of tensors, and numbers in memory, shared by the files of the stand-in for cuDNN.
#ifndef FAKE_DNN_H
#define FAKE_DNN_H

#include "cudnn.h"
#include "half.h"

struct cudnnContext {
    cudaStream_t stream = nullptr;
};
// Up to three spatial dims; the missing ones are at the end, with size 1.
struct fake_tensor {
    cudnnDataType_t type;
    int n;
    int64_t dim[5], stride[5];
};

// A convolution as a graph of one operation (cudnn_graph.cpp), which cudnn.cpp runs.
struct fake_conv_op {
    fake_tensor part[3]; // x, w, y
    int result;          // which of them is computed
    int64_t pad[2], stride[2], dilation[2];
};
bool fake_conv_known(const fake_conv_op &o);
cudnnStatus_t fake_conv_run(cudnnHandle_t h, const fake_conv_op &o, void *const *at);

// Whether cuDNN's kernels, which read 16 bytes at once, can read and write these.
template <class... P> static inline bool aligned(const P *...p) {
    return (((uintptr_t)p % 16 == 0) && ...);
}

static inline double load(const void *p, int64_t i, cudnnDataType_t t) {
    switch (t) {
    case CUDNN_DATA_DOUBLE: return ((const double *)p)[i];
    case CUDNN_DATA_FLOAT: return ((const float *)p)[i];
    case CUDNN_DATA_HALF: return from_f16(((const uint16_t *)p)[i]);
    default: return from_bf16(((const uint16_t *)p)[i]);
    }
}
static inline void store(void *p, int64_t i, cudnnDataType_t t, double v) {
    switch (t) {
    case CUDNN_DATA_DOUBLE: ((double *)p)[i] = v; break;
    case CUDNN_DATA_FLOAT: ((float *)p)[i] = (float)v; break;
    case CUDNN_DATA_HALF: ((uint16_t *)p)[i] = to_f16((float)v); break;
    default: ((uint16_t *)p)[i] = to_bf16((float)v); break;
    }
}

#endif
