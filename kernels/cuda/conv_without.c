/* Convolutions of a plug-in that was compiled without cuDNN's headers: an error that says so. */
#if !__has_include(<cudnn.h>)
#include "kernels/cuda/kernel.h"

static bool none(const gp_call *c) {
    return gp_fail("%s: this build has no cuDNN: there was no cudnn.h when it was compiled; use "
                   "x:to(\"cpu\"), or build again with cuDNN 9's headers",
                   c->op->name);
}

bool CUDA(conv1d)(const gp_call *c) { return none(c); }
bool CUDA(conv2d)(const gp_call *c) { return none(c); }
bool CUDA(conv3d)(const gp_call *c) { return none(c); }
bool CUDA(conv_transpose1d)(const gp_call *c) { return none(c); }
bool CUDA(conv_transpose2d)(const gp_call *c) { return none(c); }
bool CUDA(conv_transpose3d)(const gp_call *c) { return none(c); }
bool CUDA(conv_input_grad)(const gp_call *c) { return none(c); }
bool CUDA(conv_weight_grad)(const gp_call *c) { return none(c); }
#else
typedef int conv_has_cudnn; /* no empty file in ISO C */
#endif
