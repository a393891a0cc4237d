/* Convolutions by cuDNN, with an algorithm that is chosen once per shape. A bias is added by the
 * convolution's own kernel where cuDNN can (one pass over the result), or else after it. */
#if __has_include(<cudnn.h>) /* else without_cudnn.c */
#include "kernels/cuda/conv/cudnn.h"
#include "kernels/cuda/cudnn/cudnn.h"
#include "kernels/cuda/runtime/dense.h"
#include "kernels/cuda/runtime/device.h"
#include "kernels/cuda/runtime/plans.h"

enum { PLANS = 512, CHOICES = 10 };

/* Of workspace, where other algorithms need less: 1 GiB, and less on a small card. */
static size_t most_memory(const gp_call *c) {
    size_t share = gp_cuda_of(c->stream->dev)->bytes / 16, most = (size_t)1 << 30;
    return share < most ? share : most;
}

/* ---- plans ---- */

typedef gp_conv_shape shape;
typedef gp_conv_operands operands;

/* How a bias is added, the quickest first: by the convolution's kernel, by another one, or as what
 * the convolution adds to. */
typedef enum way { WITH, AFTER, BEFORE } way;

typedef struct plan {
    shape of;
    bool ready, none;     /* ready: described; none: cuDNN has no algorithm for it */
    bool tried;           /* whether its graph was asked for, */
    gp_conv_graph *graph; /* which it may have */
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnTensorDescriptor_t bias;
    cudnnActivationDescriptor_t identity; /* none, which cuDNN calls so */
    cudnnConvolutionDescriptor_t conv;
    int algo;
    size_t memory;
    way way; /* the first that was not refused */
} plan;
/* The array of those sizes at p, in s's layout. */
static gp_array laid_out(void *p, const shape *s, const int32_t *size) {
    int64_t dim[5] = {0};
    for (int d = 0; d < s->n; d++) dim[d] = size[d];
    gp_array a = gp_dense_over(p, (gp_dtype)s->dtype, s->n, dim);
    if (s->last) gp_channels_last(&a);
    return a;
}

static bool describe_images(const gp_call *c, cudnnTensorDescriptor_t *to, const shape *s,
                            const int32_t *size) {
    int dim[5], stride[5];
    gp_array a = laid_out(NULL, s, size);
    for (int d = 0; d < s->n; d++) dim[d] = size[d], stride[d] = (int)a.stride[d];
    return gp_dnn_ok(c, gp_dnn.cudnnCreateTensorDescriptor(to)) &&
           gp_dnn_ok(
               c, gp_dnn.cudnnSetTensorNdDescriptor(*to, gp_dnn_type(s->dtype), s->n, dim, stride));
}

/* FMA without tensor cores is there for f32 only. */
static cudnnMathType_t math_of(const shape *s) {
    return s->dtype == GP_f16 || s->dtype == GP_bf16 ? CUDNN_TENSOR_OP_MATH
           : s->dtype == GP_f64 || s->tf32           ? CUDNN_DEFAULT_MATH
                                                     : CUDNN_FMA_MATH;
}

/* One element for each channel of the result. */
static bool describe_bias(const gp_call *c, plan *p) {
    const shape *s = &p->of;
    int32_t size[5] = {1, (s->kind == GP_CONV_IMAGE ? s->x : s->y)[1], 1, 1, 1};
    return describe_images(c, &p->bias, s, size) &&
           gp_dnn_ok(c, gp_dnn.cudnnCreateActivationDescriptor(&p->identity)) &&
           gp_dnn_ok(c, gp_dnn.cudnnSetActivationDescriptor(p->identity, CUDNN_ACTIVATION_IDENTITY,
                                                            CUDNN_NOT_PROPAGATE_NAN, 0));
}

static bool describe(const gp_call *c, plan *p) {
    const shape *s = &p->of;
    cudnnDataType_t compute = s->dtype == GP_f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    return describe_images(c, &p->x, s, s->x) && describe_images(c, &p->y, s, s->y) &&
           describe_bias(c, p) && gp_dnn_ok(c, gp_dnn.cudnnCreateFilterDescriptor(&p->w)) &&
           gp_dnn_ok(c, gp_dnn.cudnnSetFilterNdDescriptor(
                            p->w, gp_dnn_type(s->dtype),
                            s->last ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW, s->n, s->w)) &&
           gp_dnn_ok(c, gp_dnn.cudnnCreateConvolutionDescriptor(&p->conv)) &&
           gp_dnn_ok(c, gp_dnn.cudnnSetConvolutionNdDescriptor(p->conv, s->n - 2, s->pad, s->stride,
                                                               s->dilation, CUDNN_CROSS_CORRELATION,
                                                               compute)) &&
           gp_dnn_ok(c, gp_dnn.cudnnSetConvolutionGroupCount(p->conv, s->groups)) &&
           gp_dnn_ok(c, gp_dnn.cudnnSetConvolutionMathType(p->conv, math_of(s)));
}

static void forget(const gp_call *c, void *old) {
    const plan *p = old;
    (void)c;
    gp_conv_graph_free(p->graph);
    if (p->x) gp_dnn.cudnnDestroyTensorDescriptor(p->x);
    if (p->y) gp_dnn.cudnnDestroyTensorDescriptor(p->y);
    if (p->w) gp_dnn.cudnnDestroyFilterDescriptor(p->w);
    if (p->bias) gp_dnn.cudnnDestroyTensorDescriptor(p->bias);
    if (p->identity) gp_dnn.cudnnDestroyActivationDescriptor(p->identity);
    if (p->conv) gp_dnn.cudnnDestroyConvolutionDescriptor(p->conv);
}

static gp_plans plans = {
    .key = sizeof(shape), .size = sizeof(plan), .most = PLANS, .forget = forget};

/* ---- algorithms ---- */

/* cuDNN's report on an algorithm, for any of the three products. */
typedef struct answer {
    cudnnStatus_t status;
    int algo;
    size_t memory;
    cudnnDeterminism_t determinism;
    cudnnMathType_t math;
} answer;
#define ANSWER(perf)                                                                               \
    (answer) { (perf).status, (int)(perf).algo, (perf).memory, (perf).determinism, (perf).mathType }

/* Workspace in which all algorithms are tried, and at most that many bytes; p NULL: none is. */
typedef struct workspace {
    void *p;
    size_t bytes;
} workspace;

/* The algorithms for one product, best first: by cuDNN's heuristics or, with workspace, by running
 * all on o, whose result they overwrite, which waits for the device. n: their number. */
static cudnnStatus_t result_algorithms(cudnnHandle_t h, const plan *p, const operands *o,
                                       workspace w, answer *to, int *n) {
    cudnnConvolutionFwdAlgoPerf_t perf[CHOICES];
    cudnnStatus_t status =
        w.p ? gp_dnn.cudnnFindConvolutionForwardAlgorithmEx(
                  h, p->x, o->x, p->w, o->w, p->conv, p->y, o->y, CHOICES, n, perf, w.p, w.bytes)
            : gp_dnn.cudnnGetConvolutionForwardAlgorithm_v7(h, p->x, p->w, p->conv, p->y, CHOICES,
                                                            n, perf);
    for (int i = 0; i < *n; i++) to[i] = ANSWER(perf[i]);
    return status;
}

static cudnnStatus_t image_algorithms(cudnnHandle_t h, const plan *p, const operands *o,
                                      workspace w, answer *to, int *n) {
    cudnnConvolutionBwdDataAlgoPerf_t perf[CHOICES];
    cudnnStatus_t status =
        w.p ? gp_dnn.cudnnFindConvolutionBackwardDataAlgorithmEx(
                  h, p->w, o->w, p->y, o->y, p->conv, p->x, o->x, CHOICES, n, perf, w.p, w.bytes)
            : gp_dnn.cudnnGetConvolutionBackwardDataAlgorithm_v7(h, p->w, p->y, p->conv, p->x,
                                                                 CHOICES, n, perf);
    for (int i = 0; i < *n; i++) to[i] = ANSWER(perf[i]);
    return status;
}

static cudnnStatus_t weight_algorithms(cudnnHandle_t h, const plan *p, const operands *o,
                                       workspace w, answer *to, int *n) {
    cudnnConvolutionBwdFilterAlgoPerf_t perf[CHOICES];
    cudnnStatus_t status =
        w.p ? gp_dnn.cudnnFindConvolutionBackwardFilterAlgorithmEx(
                  h, p->x, o->x, p->y, o->y, p->conv, p->w, o->w, CHOICES, n, perf, w.p, w.bytes)
            : gp_dnn.cudnnGetConvolutionBackwardFilterAlgorithm_v7(h, p->x, p->y, p->conv, p->w,
                                                                   CHOICES, n, perf);
    for (int i = 0; i < *n; i++) to[i] = ANSWER(perf[i]);
    return status;
}

/* Takes the first answer that works, is as deterministic as asked, and does not need too much
 * memory, unless all do. False with a message. */
static bool choose(const gp_call *c, cudnnHandle_t h, plan *p, const operands *o, workspace w) {
    const shape *s = &p->of;
    answer answers[CHOICES];
    int n = 0;
    cudnnStatus_t status = s->kind == GP_CONV_RESULT  ? result_algorithms(h, p, o, w, answers, &n)
                           : s->kind == GP_CONV_IMAGE ? image_algorithms(h, p, o, w, answers, &n)
                                                      : weight_algorithms(h, p, o, w, answers, &n);
    if (!gp_dnn_ok(c, status)) return false;
    for (int i = 0; i < 2 * n; i++) {
        const answer *y = &answers[i % n];
        bool any_memory = i >= n;
        if (y->status != CUDNN_STATUS_SUCCESS) continue;
        if (s->deterministic && y->determinism != CUDNN_DETERMINISTIC) continue;
        if (!any_memory && y->memory > w.bytes) continue;
        p->algo = y->algo, p->memory = y->memory;
        bool fuses = s->kind == GP_CONV_RESULT &&
                     p->algo == (int)CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
        p->way = fuses ? WITH : AFTER;
        return gp_dnn_ok(c, gp_dnn.cudnnSetConvolutionMathType(p->conv, y->math));
    }
    return gp_fail("%s: cuDNN has no %salgorithm for this convolution", c->op->name,
                   s->deterministic ? "deterministic " : "");
}

/* ---- one convolution ---- */

/* What algorithms are tried on: o, but with memory of its own for a result that holds a summand.
 * False without memory. */
static bool trial_of(const gp_call *c, const shape *s, const operands *o, operands *to) {
    *to = *o;
    if (!o->add) return true;
    const int32_t *dim = s->kind == GP_CONV_RESULT ? s->y : s->kind == GP_CONV_IMAGE ? s->x : s->w;
    size_t bytes = gp_dtype_size((gp_dtype)s->dtype);
    for (int d = 0; d < s->n; d++) bytes *= (size_t)dim[d];
    void *result = gp_cuda_scratch(c, bytes);
    if (s->kind == GP_CONV_RESULT) to->y = result;
    else if (s->kind == GP_CONV_IMAGE) to->x = result;
    else to->w = result;
    return result != NULL;
}

static plan *plan_of(const gp_call *c, const shape *s) {
    plan *p = gp_plans_find(&plans, s);
    return p ? p : gp_plans_add(&plans, c, s);
}

/* Describes p's convolution and chooses its algorithm, the first time. False where cuDNN has none;
 * without memory it is asked again. */
static bool prepare(const gp_call *c, cudnnHandle_t h, plan *p, const operands *o) {
    if (p->ready || p->none) return p->ready;
    const shape *s = &p->of;
    operands trial = *o;
    bool try = s->benchmark && trial_of(c, s, o, &trial);
    workspace w = {NULL, most_memory(c)};
    if (try) w.p = gp_cuda_scratch(c, w.bytes);
    if (!w.p) gp_error_clear();
    p->ready = describe(c, p) && choose(c, h, p, &trial, w);
    p->none = !p->ready;
    if (p->ready) return true;
    if (gp_lib_no_memory()) gp_plans_drop(&plans, c, p);
    return false;
}

/* Runs p as a graph, if it is one; false, without a message, where it is not, or cuDNN refuses. */
static bool run_graph(const gp_call *c, cudnnHandle_t h, plan *p, const operands *o) {
    bool no_memory = false;
    if (!gp_conv_graph_fits(&p->of, o)) return false;
    if (!p->tried) p->graph = gp_conv_graph_new(h, &p->of, most_memory(c), &no_memory);
    p->tried = !no_memory;
    void *workspace = p->graph ? gp_cuda_scratch(c, gp_conv_graph_memory(p->graph)) : NULL;
    if (!workspace) return gp_error_clear(), false;
    if (gp_conv_graph_run(p->graph, h, o, workspace) == CUDNN_STATUS_SUCCESS) return true;
    gp_conv_graph_free(p->graph);
    p->graph = NULL;
    return false;
}

/* alpha or beta, in the type that cuDNN takes them in. */
typedef union factor {
    float narrow;
    double wide;
} factor;
static factor factor_of(const shape *s, int value) {
    return s->dtype == GP_f64 ? (factor){.wide = value} : (factor){.narrow = (float)value};
}

static cudnnStatus_t convolve(cudnnHandle_t h, const shape *s, const operands *o, const plan *p,
                              void *workspace) {
    factor a = factor_of(s, 1), b = factor_of(s, o->add);
    switch (s->kind) {
    case GP_CONV_RESULT:
        return gp_dnn.cudnnConvolutionForward(h, &a, p->x, o->x, p->w, o->w, p->conv,
                                              (cudnnConvolutionFwdAlgo_t)p->algo, workspace,
                                              p->memory, &b, p->y, o->y);
    case GP_CONV_IMAGE:
        return gp_dnn.cudnnConvolutionBackwardData(h, &a, p->w, o->w, p->y, o->y, p->conv,
                                                   (cudnnConvolutionBwdDataAlgo_t)p->algo,
                                                   workspace, p->memory, &b, p->x, o->x);
    default:
        return gp_dnn.cudnnConvolutionBackwardFilter(h, &a, p->x, o->x, p->y, o->y, p->conv,
                                                     (cudnnConvolutionBwdFilterAlgo_t)p->algo,
                                                     workspace, p->memory, &b, p->w, o->w);
    }
}

/* The result and its bias by one kernel. */
static cudnnStatus_t run_fused(cudnnHandle_t h, const shape *s, const operands *o, const plan *p,
                               void *workspace) {
    factor a = factor_of(s, 1), none = factor_of(s, 0);
    return gp_dnn.cudnnConvolutionBiasActivationForward(
        h, &a, p->x, o->x, p->w, o->w, p->conv, (cudnnConvolutionFwdAlgo_t)p->algo, workspace,
        p->memory, &none, p->y, o->y, p->bias, o->bias, p->identity, p->y, o->y);
}

static bool add_bias(const gp_call *c, cudnnHandle_t h, const shape *s, const operands *o,
                     const plan *p) {
    factor one = factor_of(s, 1);
    bool image = s->kind == GP_CONV_IMAGE;
    return gp_dnn_ok(c, gp_dnn.cudnnAddTensor(h, &one, p->bias, o->bias, &one, image ? p->x : p->y,
                                              image ? o->x : o->y));
}

/* Fills the result with its bias, which run then adds to. */
static bool spread_bias(const gp_call *c, const shape *s, const operands *o) {
    bool image = s->kind == GP_CONV_IMAGE;
    gp_array to = laid_out(image ? o->x : o->y, s, image ? s->x : s->y), from = to;
    from.data = (char *)o->bias, from.contiguous = false;
    for (int d = 0; d < s->n; d++) from.stride[d] = d == 1;
    return gp_cuda_copy_array(c, &to, &from);
}

/* Runs o with its bias in the way that p has; false, with a message, where cuDNN refuses that. */
static bool run_biased(const gp_call *c, cudnnHandle_t h, const shape *s, const operands *o,
                       const plan *p, void *workspace) {
    operands sum = *o;
    sum.add = true;
    switch (p->way) {
    case WITH: return gp_dnn_ok(c, run_fused(h, s, o, p, workspace));
    case AFTER: return gp_dnn_ok(c, convolve(h, s, o, p, workspace)) && add_bias(c, h, s, o, p);
    default: return spread_bias(c, s, o) && gp_dnn_ok(c, convolve(h, s, &sum, p, workspace));
    }
}

static bool run_all(const gp_call *c, cudnnHandle_t h, const shape *s, const operands *o, plan *p) {
    void *workspace = p->memory ? gp_cuda_scratch(c, p->memory) : NULL;
    if (p->memory && !workspace) return false;
    if (!o->bias) return gp_dnn_ok(c, convolve(h, s, o, p, workspace));
    while (!run_biased(c, h, s, o, p, workspace)) {
        if (p->way == BEFORE || gp_lib_no_memory() || !gp_device_alive(c->stream->dev, c->name))
            return false;
        gp_error_clear();
        p->way++;
    }
    return true;
}

bool gp_conv_by_cudnn(const gp_call *c, const gp_conv_shape *s, const gp_conv_operands *o) {
    gp_lib_lock();
    cudnnHandle_t h = gp_dnn_handle(c);
    plan *p = h ? plan_of(c, s) : NULL;
    bool ok = p && (run_graph(c, h, p, o) || (prepare(c, h, p, o) && run_all(c, h, s, o, p)));
    gp_lib_unlock();
    return ok;
}

bool gp_conv_refused(const gp_conv_shape *s) {
    gp_lib_lock();
    const plan *p = gp_plans_find(&plans, s);
    bool known = p && p->none;
    gp_lib_unlock();
    return known;
}
#else
typedef int conv_cudnn_has_header; /* ISO C forbids an empty file */
#endif
