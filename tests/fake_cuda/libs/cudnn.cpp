// A stand-in for cuDNN's convolutions: plain loops, in stream order. The fastest algorithm that it
// names is not deterministic, so that a caller who asks for a deterministic one must not take it;
// the others need a workspace.
#include <cmath>
#include <cstring>
#include <vector>

#include "dnn.h"
#include "fake_cuda.h"
#include "hooks.h"

struct fake_filter : fake_tensor {};
struct fake_convolution {
    int n, pad[3], stride[3], dilation[3], groups = 1;
    cudnnDataType_t compute;
    cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

// The three products are one sum over (image, filter, output, channel, tap), added to the result's
// elements.
struct work {
    fake_tensor x, w, y;
    fake_convolution d;
    const void *px, *pw, *py;
    void *out;
    int result; // 0 y, 1 x, 2 w
    double alpha, beta;
    const void *bias = nullptr;

    // A tensor's elements as the products take them, or zeros for the result's sums.
    std::vector<double> numbers(const fake_tensor &t, int which, const void *p) const {
        if (which == result) return std::vector<double>((size_t)(t.dim[0] * t.stride[0]));
        int64_t n = 1;
        for (int i = 0; i < 5; i++) n += (t.dim[i] - 1) * t.stride[i];
        bool tf32 = t.type == CUDNN_DATA_FLOAT && d.math == CUDNN_DEFAULT_MATH;
        std::vector<double> all((size_t)n);
        for (int64_t i = 0; i < n; i++) {
            double v = load(p, i, t.type);
            all[(size_t)i] = tf32 ? to_tf32(v) : v;
        }
        return all;
    }
    int64_t place(int i, int64_t o, int64_t k) const {
        return o * d.stride[i] - d.pad[i] + k * d.dilation[i];
    }
    bool outside(int i, int64_t at) const { return at < 0 || at >= x.dim[2 + i]; }
    // Adds the products of an output (o0, o1, o2): of one image, filter and channel, whose elements
    // begin at vx, vw and vy.
    void taps(double *vx, double *vw, double *vy, int64_t o0, int64_t o1, int64_t o2) const {
        for (int64_t k0 = 0; k0 < w.dim[2]; k0++)
            for (int64_t k1 = 0; k1 < w.dim[3]; k1++)
                for (int64_t k2 = 0; k2 < w.dim[4]; k2++) {
                    int64_t i = place(0, o0, k0), j = place(1, o1, k1), l = place(2, o2, k2);
                    double *weight = vw + k0 * w.stride[2] + k1 * w.stride[3] + k2 * w.stride[4];
                    // Padding is zeros that are multiplied, as in an implicit GEMM: a NaN weight
                    // gives NaN.
                    bool padding = outside(0, i) || outside(1, j) || outside(2, l);
                    if (padding && result == 0) *vy += 0 * *weight;
                    if (padding) continue;
                    double *from = vx + i * x.stride[2] + j * x.stride[3] + l * x.stride[4];
                    if (result == 0) *vy += *from * *weight;
                    else if (result == 1) *from += *vy * *weight;
                    else *weight += *vy * *from;
                }
    }
    void operator()() const {
        const fake_tensor &t = result == 0 ? y : result == 1 ? x : w;
        std::vector<double> vx = numbers(x, 1, px), vw = numbers(w, 2, pw), vy = numbers(y, 0, py);
        int64_t per = w.dim[1], filters = w.dim[0] / d.groups;
        for (int64_t image = 0; image < x.dim[0]; image++)
            for (int64_t f = 0; f < w.dim[0]; f++)
                for (int64_t ch = 0; ch < per; ch++) {
                    double *at =
                        vx.data() + image * x.stride[0] + (f / filters * per + ch) * x.stride[1];
                    double *weight = vw.data() + f * w.stride[0] + ch * w.stride[1];
                    double *to = vy.data() + image * y.stride[0] + f * y.stride[1];
                    for (int64_t o0 = 0; o0 < y.dim[2]; o0++)
                        for (int64_t o1 = 0; o1 < y.dim[3]; o1++)
                            for (int64_t o2 = 0; o2 < y.dim[4]; o2++)
                                taps(at, weight,
                                     to + o0 * y.stride[2] + o1 * y.stride[3] + o2 * y.stride[4],
                                     o0, o1, o2);
                }
        const std::vector<double> &sum = result == 0 ? vy : result == 1 ? vx : vw;
        for (size_t i = 0; i < sum.size(); i++) {
            int64_t channel = (int64_t)i / t.stride[1] % t.dim[1];
            store(out, (int64_t)i, t.type,
                  alpha * sum[i] + (beta != 0 ? beta * load(out, (int64_t)i, t.type) : 0) +
                      (bias ? load(bias, channel, t.type) : 0));
        }
    }
};

// Whether channels are the fastest dim, where there are several.
static bool channels_last(const fake_tensor &t) { return t.dim[1] > 1 && t.stride[1] == 1; }
// One layout for all, as cuDNN's kernels for tensor cores want it.
static bool one_layout(const work &v) {
    bool last = channels_last(v.x) || channels_last(v.w) || channels_last(v.y);
    for (const fake_tensor *t : {&v.x, &v.w, &v.y})
        if (last && t->dim[1] > 1 && !channels_last(*t)) return false;
    return true;
}

static bool fits(const work &v) {
    bool ok = one_layout(v) && v.x.dim[0] == v.y.dim[0] && v.y.dim[1] == v.w.dim[0] &&
              v.x.dim[1] == v.w.dim[1] * v.d.groups && v.w.dim[0] % v.d.groups == 0 &&
              v.x.n == v.d.n + 2 && v.x.type == v.w.type && v.x.type == v.y.type;
    for (int i = 0; i < 3; i++) {
        int64_t room =
            v.x.dim[2 + i] + 2 * v.d.pad[i] - (v.d.dilation[i] * (v.w.dim[2 + i] - 1) + 1);
        ok = ok && room >= 0 && room / v.d.stride[i] + 1 == v.y.dim[2 + i];
    }
    return ok;
}

static double number(const fake_convolution &d, const void *p) {
    return d.compute == CUDNN_DATA_DOUBLE ? *(const double *)p : *(const float *)p;
}

static const size_t WORKSPACE = 1024;

template <class P>
static cudnnStatus_t answers_of(const work &v, int most, int *n, P *answers, bool tried) {
    if (!fits(v) || most < 2) return CUDNN_STATUS_BAD_PARAM;
    if (channels_last(v.x) && fakeFaulty("channels_last")) return CUDNN_STATUS_NOT_SUPPORTED;
    if (fakeFaulty("choice")) return *n = 0, CUDNN_STATUS_SUCCESS;
    if (!fakeLibraryMemory(1 << 20, false))
        return CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
    for (int i = 0; i < 2; i++) {
        answers[i] = {};
        answers[i].algo = (decltype(answers[i].algo))i;
        answers[i].time = tried ? 1 + (float)i : -1;
        answers[i].memory = WORKSPACE;
        answers[i].determinism = i ? CUDNN_DETERMINISTIC : CUDNN_NON_DETERMINISTIC;
        answers[i].mathType = v.d.math;
    }
    *n = 2;
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t queue(cudnnHandle_t h, const work &v, const void *room, size_t bytes,
                           const char *name = "fake_convolution") {
    if (fakeFaulty("refuse")) return CUDNN_STATUS_NOT_SUPPORTED;
    if (!fits(v) || !room || bytes < WORKSPACE || !aligned(v.px, v.pw, v.py, v.out))
        return CUDNN_STATUS_BAD_PARAM;
    if (channels_last(v.x) && !v.bias) name = "fake_convolution_channels_last";
    return fake::enqueue(h->stream, name, v) == cudaSuccess ? CUDNN_STATUS_SUCCESS
                                                            : CUDNN_STATUS_NOT_SUPPORTED;
}

// The product of a graph: groups are in the sizes.
static work work_of(const fake_conv_op &o) {
    static const int results[3] = {1, 2, 0}; // work.result, by x, w, y
    work v = {o.part[0], o.part[1], o.part[2], {}, nullptr, nullptr, nullptr, nullptr, 0, 1, 0};
    v.result = results[o.result];
    v.d.n = 2, v.d.compute = CUDNN_DATA_FLOAT;
    v.d.groups = (int)(v.x.dim[1] / v.w.dim[1]);
    for (int i = 0; i < 3; i++) {
        v.d.pad[i] = i < 2 ? (int)o.pad[i] : 0;
        v.d.stride[i] = i < 2 ? (int)o.stride[i] : 1;
        v.d.dilation[i] = i < 2 ? (int)o.dilation[i] : 1;
    }
    return v;
}
bool fake_conv_known(const fake_conv_op &o) {
    work v = work_of(o);
    return fits(v) && !fakeFaulty("refuse") && !fakeFaulty("choice") &&
           !(channels_last(v.x) && fakeFaulty("channels_last"));
}
cudnnStatus_t fake_conv_run(cudnnHandle_t h, const fake_conv_op &o, void *const *at) {
    work v = work_of(o);
    v.px = at[0], v.pw = at[1], v.py = at[2], v.out = at[o.result];
    if (fakeFaulty("refuse")) return CUDNN_STATUS_NOT_SUPPORTED;
    if (!aligned(v.px, v.pw, v.py)) return CUDNN_STATUS_BAD_PARAM;
    const char *name = channels_last(v.x) ? "fake_convolution_channels_last" : "fake_convolution";
    fakeCounted("convolution as a graph");
    return fake::enqueue(h->stream, name, v) == cudaSuccess ? CUDNN_STATUS_SUCCESS
                                                            : CUDNN_STATUS_NOT_SUPPORTED;
}

// Runs every algorithm on the data: cuDNN overwrites the result, and does not say with what.
static cudnnStatus_t try_all(cudnnHandle_t h, const work &v, const void *room, size_t bytes) {
    if (!fits(v) || !room || bytes < WORKSPACE || !aligned(v.px, v.pw, v.py, v.out))
        return CUDNN_STATUS_BAD_PARAM;
    const fake_tensor &t = v.result == 0 ? v.y : v.result == 1 ? v.x : v.w;
    int64_t n = t.dim[0] * t.stride[0];
    auto overwrite = [n, t, out = v.out] {
        for (int64_t i = 0; i < n; i++) store(out, i, t.type, NAN);
    };
    return fake::enqueue(h->stream, "fake_convolutions_tried", overwrite) == cudaSuccess
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_NOT_SUPPORTED;
}

struct fake_activation {
    cudnnActivationMode_t mode;
};

// One element for each channel of t.
static bool is_bias(const fake_tensor &b, const fake_tensor &t) {
    return b.type == t.type && b.n == t.n && b.dim[0] == 1 && b.dim[1] == t.dim[1] &&
           b.dim[2] * b.dim[3] * b.dim[4] == 1;
}

// A bias that is added to c.
struct sum {
    fake_tensor t;
    const void *bias;
    void *c;
    void operator()() const {
        for (int64_t i = 0; i < t.dim[0] * t.stride[0]; i++)
            store(c, i, t.type,
                  load(c, i, t.type) + load(bias, i / t.stride[1] % t.dim[1], t.type));
    }
};

static cudnnStatus_t set(fake_tensor *t, cudnnDataType_t type, int n, const int *dim,
                         const int *stride) {
    if (n < 3 || n > 5) return CUDNN_STATUS_BAD_PARAM;
    t->type = type, t->n = n;
    int64_t step = 1;
    for (int i = 4; i >= 0; i--) {
        t->dim[i] = i < n ? dim[i] : 1;
        t->stride[i] = i < n && stride ? stride[i] : step;
        if (i < n) step *= dim[i];
    }
    return CUDNN_STATUS_SUCCESS;
}

extern "C" {
size_t cudnnGetVersion(void) { return 91900; }
size_t cudnnGetCudartVersion(void) { return CUDART_VERSION; }
const char *cudnnGetErrorString(cudnnStatus_t s) {
    return s == CUDNN_STATUS_BAD_PARAM       ? "CUDNN_STATUS_BAD_PARAM"
           : s == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED"
                                             : "CUDNN_STATUS_ALLOC_FAILED";
}
cudnnStatus_t cudnnCreate(cudnnHandle_t *h) {
    if (!fakeLibraryMemory(2 << 20, true))
        return CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
    return *h = new cudnnContext, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t h, cudaStream_t s) {
    return h->stream = s, CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t *d) {
    return *d = new fake_tensor, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t d, cudnnDataType_t type, int n,
                                         const int *dim, const int *stride) {
    return set(d, type, n, dim, stride);
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t d) {
    return delete d, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t *d) {
    return *d = new fake_filter, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t d, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int n, const int *dim) {
    int stride[5] = {0, 1}, step = dim[1];
    for (int i = n - 1; i >= 2; step *= dim[i--]) stride[i] = step;
    stride[0] = step;
    return set(d, type, n, dim, format == CUDNN_TENSOR_NHWC ? stride : nullptr);
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t d) {
    return delete d, CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t *d) {
    return *d = new fake_convolution, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t d, int n, const int *pad,
                                              const int *stride, const int *dilation,
                                              cudnnConvolutionMode_t mode,
                                              cudnnDataType_t compute) {
    if (mode != CUDNN_CROSS_CORRELATION || n < 2 || n > 3) return CUDNN_STATUS_BAD_PARAM;
    d->n = n, d->compute = compute;
    for (int i = 0; i < 3; i++) {
        d->pad[i] = i < n ? pad[i] : 0;
        d->stride[i] = i < n ? stride[i] : 1, d->dilation[i] = i < n ? dilation[i] : 1;
    }
    return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t d, int groups) {
    return d->groups = groups, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t d, cudnnMathType_t math) {
    if (math == CUDNN_FMA_MATH && d->compute == CUDNN_DATA_DOUBLE)
        return CUDNN_STATUS_NOT_SUPPORTED;
    return d->math = math, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t d) {
    return delete d, CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t *d) {
    return *d = new fake_activation, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t d,
                                           cudnnActivationMode_t mode, cudnnNanPropagation_t,
                                           double) {
    return d->mode = mode, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t d) {
    return delete d, CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t h, const void *alpha, cudnnTensorDescriptor_t xd, const void *x,
    cudnnFilterDescriptor_t wd, const void *w, cudnnConvolutionDescriptor_t d,
    cudnnConvolutionFwdAlgo_t algo, void *room, size_t bytes, const void *alpha2,
    cudnnTensorDescriptor_t zd, const void *z, cudnnTensorDescriptor_t bd, const void *bias,
    cudnnActivationDescriptor_t a, cudnnTensorDescriptor_t yd, void *y) {
    if (a->mode != CUDNN_ACTIVATION_IDENTITY ||
        algo != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM || number(*d, alpha2) != 0 ||
        zd != yd || z != y)
        return CUDNN_STATUS_NOT_SUPPORTED;
    if (!is_bias(*bd, *yd) || !aligned(bias)) return CUDNN_STATUS_BAD_PARAM;
    return queue(h, work{*xd, *wd, *yd, *d, x, w, nullptr, y, 0, number(*d, alpha), 0, bias}, room,
                 bytes, "fake_convolution_and_bias");
}

cudnnStatus_t cudnnAddTensor(cudnnHandle_t h, const void *alpha, cudnnTensorDescriptor_t ad,
                             const void *a, const void *beta, cudnnTensorDescriptor_t cd, void *c) {
    bool wide = cd->type == CUDNN_DATA_DOUBLE;
    auto is_one = [&](const void *p) {
        return wide ? *(const double *)p == 1 : *(const float *)p == 1;
    };
    if (fakeFaulty("refuse")) return CUDNN_STATUS_NOT_SUPPORTED;
    if (!is_bias(*ad, *cd) || !aligned(a, c) || !is_one(alpha) || !is_one(beta))
        return CUDNN_STATUS_BAD_PARAM;
    return fake::enqueue(h->stream, "fake_bias", sum{*cd, a, c}) == cudaSuccess
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_NOT_SUPPORTED;
}

// WORK: the product as `work`, of the arguments' names.
#define DEFINE(known, tried, run, perf, algorithm, XD, YD, OD, WORK)                               \
    cudnnStatus_t known(cudnnHandle_t, XD xd, YD yd, cudnnConvolutionDescriptor_t d, OD od,        \
                        int most, int *n, perf *answers) {                                         \
        const void *x = nullptr, *y = nullptr;                                                     \
        void *o = nullptr;                                                                         \
        double a = 1, b = 0;                                                                       \
        fakeCounted("convolution plan");                                                           \
        return answers_of(work WORK, most, n, answers, false);                                     \
    }                                                                                              \
    cudnnStatus_t tried(cudnnHandle_t h, XD xd, const void *x, YD yd, const void *y,               \
                        cudnnConvolutionDescriptor_t d, OD od, void *o, int most, int *n,          \
                        perf *answers, void *room, size_t bytes) {                                 \
        double a = 1, b = 0;                                                                       \
        cudnnStatus_t s = try_all(h, work WORK, room, bytes);                                      \
        return s ? s : answers_of(work WORK, most, n, answers, true);                              \
    }                                                                                              \
    cudnnStatus_t run(cudnnHandle_t h, const void *alpha, XD xd, const void *x, YD yd,             \
                      const void *y, cudnnConvolutionDescriptor_t d, algorithm, void *room,        \
                      size_t bytes, const void *beta, OD od, void *o) {                            \
        double a = number(*d, alpha), b = number(*d, beta);                                        \
        return queue(h, work WORK, room, bytes);                                                   \
    }
#define RESULT                                                                                     \
    { *xd, *yd, *od, *d, x, y, nullptr, o, 0, a, b }
#define IMAGE                                                                                      \
    { *od, *xd, *yd, *d, nullptr, x, y, o, 1, a, b }
#define WEIGHT                                                                                     \
    { *xd, *od, *yd, *d, x, nullptr, y, o, 2, a, b }
DEFINE(cudnnGetConvolutionForwardAlgorithm_v7, cudnnFindConvolutionForwardAlgorithmEx,
       cudnnConvolutionForward, cudnnConvolutionFwdAlgoPerf_t, cudnnConvolutionFwdAlgo_t,
       cudnnTensorDescriptor_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t, RESULT)
DEFINE(cudnnGetConvolutionBackwardDataAlgorithm_v7, cudnnFindConvolutionBackwardDataAlgorithmEx,
       cudnnConvolutionBackwardData, cudnnConvolutionBwdDataAlgoPerf_t,
       cudnnConvolutionBwdDataAlgo_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t,
       cudnnTensorDescriptor_t, IMAGE)
DEFINE(cudnnGetConvolutionBackwardFilterAlgorithm_v7, cudnnFindConvolutionBackwardFilterAlgorithmEx,
       cudnnConvolutionBackwardFilter, cudnnConvolutionBwdFilterAlgoPerf_t,
       cudnnConvolutionBwdFilterAlgo_t, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t,
       cudnnFilterDescriptor_t, WEIGHT)
}
