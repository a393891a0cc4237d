/* Convolutions of a plug-in compiled without cuDNN's headers: by our own kernels and
 * cuBLASLt. */
#if !__has_include(<cudnn.h>)
#include "kernels/cuda/conv/direct.h"
#include "kernels/cuda/conv/plain.h"
#include "kernels/cuda/conv/product.h"

static bool forward(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *w = gp_in(c, 1);
    gp_shape xs = gp_array_shape(x), ws = gp_array_shape(w);
    gp_conv k;
    if (gp_out(c, 0)->numel == 0) return true;
    if (!gp_conv_read(c, &xs, &ws, &k)) return false;
    return gp_conv_is_direct(&k, x, w, GP_CONV_RESULT)    ? gp_conv_direct(c, &k)
           : gp_conv_is_product(c, &k, x, GP_CONV_RESULT) ? gp_conv_product(c, &k)
                                                          : gp_conv_plain(c, &k);
}
static bool image(const gp_call *c, const gp_array *bias, const gp_conv *k) {
    const gp_array *x = gp_in(c, 0), *w = gp_in(c, 1);
    return gp_conv_is_direct(k, x, w, GP_CONV_IMAGE)    ? gp_conv_direct_image(c, bias, k)
           : gp_conv_is_product(c, k, x, GP_CONV_IMAGE) ? gp_conv_product_image(c, bias, k)
                                                        : gp_conv_plain_image(c, bias, k);
}
static bool transposed(const gp_call *c) {
    gp_shape x = gp_array_shape(gp_in(c, 0)), w = gp_array_shape(gp_in(c, 1));
    gp_conv k;
    return gp_out(c, 0)->numel == 0 ||
           (gp_conv_transpose_read(c, &x, &w, &k) && image(c, gp_in(c, 2), &k));
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
    return gp_out(c, 0)->numel == 0 || (gp_conv_read(c, &x, &w, &k) && image(c, NULL, &k));
}
bool CUDA(conv_weight_grad)(const gp_call *c) {
    const gp_array *grad = gp_in(c, 0), *x = gp_in(c, 1);
    gp_shape xs = gp_array_shape(x), ws = gp_ints_shape(c, 2);
    gp_conv k;
    if (gp_out(c, 0)->numel == 0) return true;
    if (!gp_conv_read(c, &xs, &ws, &k)) return false;
    return gp_conv_is_direct(&k, grad, x, GP_CONV_WEIGHT) ? gp_conv_direct_weight(c, &k)
                                                          : gp_conv_plain_weight(c, &k);
}
#else
typedef int conv_has_cudnn; /* ISO C forbids an empty file */
#endif
