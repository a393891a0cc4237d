/* Convolutions of a plug-in compiled without cuDNN's headers: all by our own kernels. */
#if !__has_include(<cudnn.h>)
#include "kernels/cuda/conv/plain.h"

static bool forward(const gp_call *c) {
    gp_shape x = gp_array_shape(gp_in(c, 0)), w = gp_array_shape(gp_in(c, 1));
    gp_conv k;
    return gp_out(c, 0)->numel == 0 || (gp_conv_read(c, &x, &w, &k) && gp_conv_plain(c, &k));
}
static bool transposed(const gp_call *c) {
    gp_shape x = gp_array_shape(gp_in(c, 0)), w = gp_array_shape(gp_in(c, 1));
    gp_conv k;
    return gp_out(c, 0)->numel == 0 ||
           (gp_conv_transpose_read(c, &x, &w, &k) && gp_conv_plain_image(c, gp_in(c, 2), &k));
}

bool CUDA(conv1d)(const gp_call *c) { return forward(c); }
bool CUDA(conv2d)(const gp_call *c) { return forward(c); }
bool CUDA(conv3d)(const gp_call *c) { return forward(c); }
bool CUDA(conv_transpose1d)(const gp_call *c) { return transposed(c); }
bool CUDA(conv_transpose2d)(const gp_call *c) { return transposed(c); }
bool CUDA(conv_transpose3d)(const gp_call *c) { return transposed(c); }
bool CUDA(conv_input_grad)(const gp_call *c) {
    gp_shape x = gp_ints_shape(c, 2), w = gp_array_shape(gp_in(c, 1));
    gp_conv k;
    return gp_out(c, 0)->numel == 0 ||
           (gp_conv_read(c, &x, &w, &k) && gp_conv_plain_image(c, NULL, &k));
}
bool CUDA(conv_weight_grad)(const gp_call *c) {
    gp_shape x = gp_array_shape(gp_in(c, 1)), w = gp_ints_shape(c, 2);
    gp_conv k;
    return gp_out(c, 0)->numel == 0 || (gp_conv_read(c, &x, &w, &k) && gp_conv_plain_weight(c, &k));
}
#else
typedef int conv_has_cudnn; /* ISO C forbids an empty file */
#endif
