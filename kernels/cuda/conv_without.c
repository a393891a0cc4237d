/* Convolutions of a plug-in that was compiled without cuDNN's headers: an error that says so, but
 * for integers, which cuDNN has none of. */
#if !__has_include(<cudnn.h>)
#include "kernels/cuda/conv_plain.h"

static bool none(const gp_call *c) {
    return gp_fail("%s: this build has no cuDNN: there was no cudnn.h when it was compiled; use "
                   "x:to(\"cpu\"), or build again with cuDNN 9's headers",
                   c->op->name);
}
static bool is_float(const gp_call *c) { return gp_is_float((gp_dtype)gp_in(c, 0)->dtype); }
static bool forward(const gp_call *c) { return is_float(c) ? none(c) : gp_conv_plain(c); }
static bool transposed(const gp_call *c) {
    return is_float(c) ? none(c) : gp_conv_plain_transposed(c);
}

bool CUDA(conv1d)(const gp_call *c) { return forward(c); }
bool CUDA(conv2d)(const gp_call *c) { return forward(c); }
bool CUDA(conv3d)(const gp_call *c) { return forward(c); }
bool CUDA(conv_transpose1d)(const gp_call *c) { return transposed(c); }
bool CUDA(conv_transpose2d)(const gp_call *c) { return transposed(c); }
bool CUDA(conv_transpose3d)(const gp_call *c) { return transposed(c); }
bool CUDA(conv_input_grad)(const gp_call *c) { return none(c); }
bool CUDA(conv_weight_grad)(const gp_call *c) { return none(c); }
#else
typedef int conv_has_cudnn; /* no empty file in ISO C */
#endif
