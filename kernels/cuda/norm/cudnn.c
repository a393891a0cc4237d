/* batch_norm and its gradients by cuDNN, for dense images with weight and bias in cuDNN's dtype for
 * them. batch_norm.cu runs the rest: what cuDNN refuses, and the gradient with given statistics,
 * which it lacks. Limit: as there. */
#include "kernels/cuda/norm/batch_norm.h"
#if __has_include(<cudnn.h>)
#include <limits.h>

#include "kernels/cuda/runtime/dense.h"
#include "kernels/cuda/cudnn/cudnn.h"

/* x and arrays of its shape, and one element per channel. */
typedef struct shapes {
    cudnnTensorDescriptor_t x, channel;
    cudnnBatchNormMode_t mode;
    bool wide;
} shapes;

static bool describe(const gp_call *c, const gp_array *x, shapes *s) {
    int n = (int)x->dim[0], channels = (int)x->dim[1],
        rest = (int)(x->numel / (x->dim[0] * x->dim[1]));
    int dim[4] = {n, channels, rest, 1}, stride[4] = {channels * rest, rest, 1, 1},
        one[4] = {1, channels, 1, 1}, step[4] = {channels, 1, 1, 1};
    s->wide = x->dtype == GP_f64;
    s->mode = x->ndim == 2 ? CUDNN_BATCHNORM_PER_ACTIVATION : CUDNN_BATCHNORM_SPATIAL;
    return gp_dnn_ok(c, gp_dnn.cudnnCreateTensorDescriptor(&s->x)) &&
           gp_dnn_ok(
               c, gp_dnn.cudnnSetTensorNdDescriptor(s->x, gp_dnn_type(x->dtype), 4, dim, stride)) &&
           gp_dnn_ok(c, gp_dnn.cudnnCreateTensorDescriptor(&s->channel)) &&
           gp_dnn_ok(c,
                     gp_dnn.cudnnSetTensorNdDescriptor(
                         s->channel, s->wide ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT, 4, one, step));
}

static void forget(shapes *s) {
    if (s->x) gp_dnn.cudnnDestroyTensorDescriptor(s->x);
    if (s->channel) gp_dnn.cudnnDestroyTensorDescriptor(s->channel);
}

/* Dense, and of images that cuDNN has kernels for (PyTorch's limits); bf16 from 8.0 on. */
static bool image_fits(const gp_call *c, const gp_array *x, bool training) {
    return x->contiguous && gp_cuda_aligned(x->data) && x->numel > 0 && x->numel < INT_MAX &&
           (x->dtype != GP_bf16 || gp_cuda_arch(c) >= 80) &&
           x->dim[0] <= (training ? 880801 : 65535);
}
static bool same(const gp_array *a, const gp_array *x) {
    return a->contiguous && gp_cuda_aligned(a->data) && a->dtype == x->dtype;
}
/* One element per channel, as cuDNN expects it for x. */
static bool channel_fits(const gp_array *a, const gp_array *x) {
    return a && a->contiguous && a->dtype == (x->dtype == GP_f64 ? GP_f64 : GP_f32);
}

static bool forward(const gp_call *c, cudnnHandle_t h, const shapes *s) {
    const double one = 1, zero = 0;
    const float one32 = 1, zero32 = 0;
    const void *a = s->wide ? (const void *)&one : &one32,
               *b = s->wide ? (const void *)&zero : &zero32;
    const gp_array *mean = gp_in(c, 1), *var = gp_in(c, 2);
    const void *x = gp_in(c, 0)->data, *w = gp_in(c, 3)->data, *bias = gp_in(c, 4)->data;
    void *y = gp_out(c, 0)->data;
    double eps = c->arg[7].f;
    if (!c->arg[5].i)
        return gp_dnn_ok(c, gp_dnn.cudnnBatchNormalizationForwardInference(
                                h, s->mode, a, b, s->x, x, s->x, y, s->channel, w, bias, mean->data,
                                var->data, eps));
    return gp_dnn_ok(c, gp_dnn.cudnnBatchNormalizationForwardTraining(
                            h, s->mode, a, b, s->x, x, s->x, y, s->channel, w, bias, c->arg[6].f,
                            mean ? mean->data : NULL, mean ? var->data : NULL, eps, NULL, NULL));
}

static bool backward(const gp_call *c, cudnnHandle_t h, const shapes *s) {
    const double one = 1, zero = 0;
    const float one32 = 1, zero32 = 0;
    const void *a = s->wide ? (const void *)&one : &one32,
               *b = s->wide ? (const void *)&zero : &zero32;
    return gp_dnn_ok(c, gp_dnn.cudnnBatchNormalizationBackward(
                            h, s->mode, a, b, a, b, s->x, c->tmpa[0]->data, s->x, c->tmpa[1]->data,
                            s->x, gp_out(c, 0)->data, s->channel, gp_in(c, 4)->data,
                            gp_out(c, 1)->data, gp_out(c, 2)->data, c->arg[6].f, NULL, NULL));
}

static bool by_cudnn(const gp_call *c, const gp_array *x,
                     bool (*part)(const gp_call *, cudnnHandle_t, const shapes *), bool *done) {
    if (!gp_lib_there(GP_LIB_cudnn)) return true;
    shapes s = {0};
    gp_lib_lock();
    cudnnHandle_t h = gp_dnn_handle(c);
    bool ok = h && describe(c, x, &s) && part(c, h, &s);
    if (h) forget(&s);
    gp_lib_unlock();
    if (!ok) return gp_dnn_refused(c);
    gp_cuda_detail("cuDNN");
    return *done = true;
}

bool gp_norm_by_cudnn(const gp_call *c, bool *done) {
    const gp_array *x = gp_in(c, 0), *mean = gp_in(c, 1), *var = gp_in(c, 2);
    bool training = c->arg[5].i;
    *done = false;
    if (!image_fits(c, x, training) || !same(gp_out(c, 0), x) || !channel_fits(gp_in(c, 3), x) ||
        !channel_fits(gp_in(c, 4), x) ||
        ((mean || !training) && (!channel_fits(mean, x) || !channel_fits(var, x))))
        return true;
    return by_cudnn(c, x, forward, done);
}

bool gp_norm_grad_by_cudnn(const gp_call *c, bool *done) {
    const gp_array *x = c->tmpa[0], *g = c->tmpa[1], *gw = gp_out(c, 1), *gb = gp_out(c, 2);
    *done = false;
    if (!c->arg[5].i || !image_fits(c, x, true) || !same(g, x) || !same(gp_out(c, 0), x) ||
        !channel_fits(gp_in(c, 4), x) || !channel_fits(gw, x) || !channel_fits(gb, x))
        return true;
    return by_cudnn(c, x, backward, done);
}
#else
bool gp_norm_by_cudnn(const gp_call *c, bool *done) { return *done = false, true; }
bool gp_norm_grad_by_cudnn(const gp_call *c, bool *done) { return *done = false, true; }
#endif
