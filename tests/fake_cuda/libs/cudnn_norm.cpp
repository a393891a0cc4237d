// A stand-in for cuDNN's batch normalization, from its documentation: two passes in double, in
// stream order.
#include <cmath>
#include <vector>

#include "dnn.h"
#include "fake_cuda.h"

enum what { INFER, TRAIN, BACK };
struct norm {
    what w;
    fake_tensor x;
    cudnnDataType_t pt; // of the tensors with one element per channel
    const void *px, *pg, *scale, *bias;
    void *out, *mean, *var, *dscale, *dbias;
    double factor, eps;

    // Calls f(offset) for each element of channel ch.
    template <class F> void each(int64_t ch, F f) const {
        for (int64_t n = 0; n < x.dim[0]; n++)
            for (int64_t i = 0; i < x.dim[2] * x.dim[3]; i++)
                f(n * x.stride[0] + ch * x.stride[1] + i);
    }
    void channel(int64_t ch) const {
        double n = (double)(x.dim[0] * x.dim[2] * x.dim[3]), m = 0, v = 0;
        if (w == INFER) m = load(mean, ch, pt), v = load(var, ch, pt);
        else {
            each(ch, [&](int64_t i) { m += load(px, i, x.type) / n; });
            each(ch, [&](int64_t i) {
                v += (load(px, i, x.type) - m) * (load(px, i, x.type) - m) / n;
            });
        }
        if (w == TRAIN && mean) { // the running variance is the unbiased one
            store(mean, ch, pt, (1 - factor) * load(mean, ch, pt) + factor * m);
            store(var, ch, pt, (1 - factor) * load(var, ch, pt) + factor * v * n / (n - 1));
        }
        double inv = 1 / std::sqrt(v + eps), k = load(scale, ch, pt), sum = 0, dot = 0;
        if (w != BACK) {
            each(ch, [&](int64_t i) {
                store(out, i, x.type, (load(px, i, x.type) - m) * inv * k + load(bias, ch, pt));
            });
            return;
        }
        each(ch, [&](int64_t i) {
            sum += load(pg, i, x.type);
            dot += load(pg, i, x.type) * (load(px, i, x.type) - m) * inv;
        });
        each(ch, [&](int64_t i) {
            double h = (load(px, i, x.type) - m) * inv;
            store(out, i, x.type, k * inv * (load(pg, i, x.type) - sum / n - h * dot / n));
        });
        store(dscale, ch, pt, dot), store(dbias, ch, pt, sum);
    }
    void operator()() const {
        for (int64_t ch = 0; ch < x.dim[1]; ch++) channel(ch);
    }
};

static cudnnStatus_t queue(cudnnHandle_t h, cudnnBatchNormMode_t mode, cudnnTensorDescriptor_t c,
                           const void *alpha, const void *beta, const norm &v) {
    bool wide = v.x.type == CUDNN_DATA_DOUBLE;
    double a = wide ? *(const double *)alpha : *(const float *)alpha,
           b = wide ? *(const double *)beta : *(const float *)beta;
    bool ok = a == 1 && b == 0 && v.eps >= 0 &&
              c->type == (wide ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT) && c->dim[0] == 1 &&
              c->dim[1] == v.x.dim[1] && c->dim[2] == 1 && v.x.stride[3] == 1 &&
              (mode == CUDNN_BATCHNORM_SPATIAL || v.x.dim[2] * v.x.dim[3] == 1) &&
              !v.mean == !v.var && aligned(v.px, v.pg, v.out);
    if (!ok) return CUDNN_STATUS_BAD_PARAM;
    if (fakeFaulty("refuse")) return CUDNN_STATUS_NOT_SUPPORTED;
    return fake::enqueue(h->stream, "fake_batch_norm", v) == cudaSuccess
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_NOT_SUPPORTED;
}

extern "C" {
cudnnStatus_t cudnnBatchNormalizationForwardInference(cudnnHandle_t h, cudnnBatchNormMode_t mode,
                                                      const void *alpha, const void *beta,
                                                      cudnnTensorDescriptor_t xd, const void *x,
                                                      cudnnTensorDescriptor_t, void *y,
                                                      cudnnTensorDescriptor_t cd, const void *scale,
                                                      const void *bias, const void *mean,
                                                      const void *var, double eps) {
    norm v = {INFER, *xd,          cd->type,    x,       nullptr, scale, bias,
              y,     (void *)mean, (void *)var, nullptr, nullptr, 0,     eps};
    return mean && var ? queue(h, mode, cd, alpha, beta, v) : CUDNN_STATUS_BAD_PARAM;
}
cudnnStatus_t cudnnBatchNormalizationForwardTraining(
    cudnnHandle_t h, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
    cudnnTensorDescriptor_t xd, const void *x, cudnnTensorDescriptor_t, void *y,
    cudnnTensorDescriptor_t cd, const void *scale, const void *bias, double factor, void *mean,
    void *var, double eps, void *saved_mean, void *saved_scale) {
    norm v = {TRAIN, *xd,  cd->type, x,       nullptr, scale,  bias,
              y,     mean, var,      nullptr, nullptr, factor, eps};
    return !saved_mean && !saved_scale ? queue(h, mode, cd, alpha, beta, v)
                                       : CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnBatchNormalizationBackward(
    cudnnHandle_t h, cudnnBatchNormMode_t mode, const void *alpha, const void *beta, const void *,
    const void *beta_param, cudnnTensorDescriptor_t xd, const void *x, cudnnTensorDescriptor_t,
    const void *g, cudnnTensorDescriptor_t, void *dx, cudnnTensorDescriptor_t cd, const void *scale,
    void *dscale, void *dbias, double eps, const void *saved_mean, const void *saved_scale) {
    norm v = {BACK, *xd,     cd->type, x,      g,     scale, nullptr,
              dx,   nullptr, nullptr,  dscale, dbias, 0,     eps};
    bool ok = !saved_mean && !saved_scale && beta_param;
    return ok ? queue(h, mode, cd, alpha, beta, v) : CUDNN_STATUS_NOT_SUPPORTED;
}
}
