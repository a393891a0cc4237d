/* cuDNN's functions and handles. */
#if __has_include(<cudnn.h>)
#include "kernels/cuda/cudnn/cudnn.h"
#include "kernels/cuda/runtime/device.h"

gp_dnn_functions gp_dnn;
static const char *const names[] = {
#define F GP_LIB_NAME
#include "kernels/cuda/cudnn/cudnn.def"
};
_Static_assert(sizeof gp_dnn == sizeof names, "a pointer for each name");

bool gp_dnn_ok(const gp_call *c, cudnnStatus_t s) {
    if (s == CUDNN_STATUS_SUCCESS) return true;
    gp_fail("%s: cuDNN failed: %s", c->op->name, gp_dnn.cudnnGetErrorString(s));
    return gp_lib_failed(c, gp_dnn_no_memory(s));
}

bool gp_dnn_no_memory(cudnnStatus_t s) {
    return s == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
           s == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
}

static bool create(const gp_call *c, cudaStream_t s, void **handle) {
    enum { N = sizeof names / sizeof *names };
    if (!gp_dnn.cudnnCreate &&
        !gp_lib_functions(GP_LIB_cudnn, c->op->name, names, N, 0, (void **)&gp_dnn))
        return gp_dnn.cudnnCreate = NULL, false;
    cudnnHandle_t h;
    if (!gp_dnn_ok(c, gp_dnn.cudnnCreate(&h))) return false;
    *handle = h;
    return gp_dnn_ok(c, gp_dnn.cudnnSetStream(h, s));
}

cudnnHandle_t gp_dnn_handle(const gp_call *c) {
    return (cudnnHandle_t)gp_lib_handle(c, GP_LIB_cudnn, create);
}

bool gp_dnn_refused(const gp_call *c) {
    if (atomic_load(&c->stream->dev->dead) || gp_cuda_runs_again(c)) return false;
    gp_error_clear();
    gp_cuda_detail(gp_lib_there(GP_LIB_cudnn) ? "refused by cuDNN" : "without cuDNN");
    return true;
}

cudnnDataType_t gp_dnn_type(int dt) {
    return dt == GP_f64   ? CUDNN_DATA_DOUBLE
           : dt == GP_f32 ? CUDNN_DATA_FLOAT
           : dt == GP_f16 ? CUDNN_DATA_HALF
                          : CUDNN_DATA_BFLOAT16;
}
#else
typedef int dnn_has_cudnn; /* ISO C forbids an empty file */
#endif
