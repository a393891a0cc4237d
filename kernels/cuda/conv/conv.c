/* Convolutions, transposed ones and their gradients by cuDNN: one of its three products of images,
 * weights and results, by an algorithm that is chosen once per shape. Target limit: 2 operations
 * per tap at the tensor cores' rate for f16 and bf16, at that of the cores for f32 (of TF32 where
 * allowed) and f64. Without cuDNN, or where it refuses, plain.cu runs them. */
#if __has_include(<cudnn.h>) /* else without_cudnn.c */
#include <limits.h>

#include "kernels/cuda/conv/plain.h"
#include "kernels/cuda/runtime/cudnn.h"
#include "kernels/cuda/runtime/dense.h"

enum { PLANS = 512, CHOICES = 10 };
static const size_t most_memory = (size_t)1
                                  << 30; /* of workspace, where other algorithms need less */

/* ---- plans ---- */

/* Which of the three operands is the result. */
typedef enum part { RESULT, IMAGE, WEIGHT } part;

/* The key of an algorithm; compared byte by byte. Sizes as in cuDNN: n dims with images and
 * channels. */
typedef struct shape {
    int32_t kind, dtype, n, groups, device;
    int32_t x[5], w[5], y[5], pad[3], stride[3], dilation[3];
    bool tf32, deterministic, benchmark;
} shape;

typedef struct plan {
    shape of;
    bool used, none; /* none: cuDNN has no algorithm for it */
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t conv;
    int algo;
    size_t memory;
} plan;
static plan plans[PLANS]; /* by hash; replaced on collision */

/* Dense arrays of one dtype. The one of `kind` is the result, which is added to where `add`. */
typedef struct operands {
    void *x, *w, *y;
    bool add;
} operands;

static plan *slot_of(const shape *s) {
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < sizeof *s; i++) h = (h ^ ((const unsigned char *)s)[i]) * 1099511628211u;
    return &plans[(h ^ h >> 32) % PLANS];
}

static bool describe_images(const gp_call *c, cudnnTensorDescriptor_t *to, const shape *s,
                            const int32_t *size) {
    int dim[5], stride[5], step = 1;
    for (int d = s->n - 1; d >= 0; d--) dim[d] = size[d], stride[d] = step, step *= dim[d];
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

static bool describe(const gp_call *c, plan *p) {
    const shape *s = &p->of;
    cudnnDataType_t compute = s->dtype == GP_f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    return describe_images(c, &p->x, s, s->x) && describe_images(c, &p->y, s, s->y) &&
           gp_dnn_ok(c, gp_dnn.cudnnCreateFilterDescriptor(&p->w)) &&
           gp_dnn_ok(c, gp_dnn.cudnnSetFilterNdDescriptor(p->w, gp_dnn_type(s->dtype),
                                                          CUDNN_TENSOR_NCHW, s->n, s->w)) &&
           gp_dnn_ok(c, gp_dnn.cudnnCreateConvolutionDescriptor(&p->conv)) &&
           gp_dnn_ok(c, gp_dnn.cudnnSetConvolutionNdDescriptor(p->conv, s->n - 2, s->pad, s->stride,
                                                               s->dilation, CUDNN_CROSS_CORRELATION,
                                                               compute)) &&
           gp_dnn_ok(c, gp_dnn.cudnnSetConvolutionGroupCount(p->conv, s->groups)) &&
           gp_dnn_ok(c, gp_dnn.cudnnSetConvolutionMathType(p->conv, math_of(s)));
}

static void forget(plan *p) {
    if (p->x) gp_dnn.cudnnDestroyTensorDescriptor(p->x);
    if (p->y) gp_dnn.cudnnDestroyTensorDescriptor(p->y);
    if (p->w) gp_dnn.cudnnDestroyFilterDescriptor(p->w);
    if (p->conv) gp_dnn.cudnnDestroyConvolutionDescriptor(p->conv);
    memset(p, 0, sizeof *p);
}

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

/* The algorithms for one product, best first: by cuDNN's heuristics or, with `room`, by running all
 * on o, whose result they overwrite, which waits for the device. n: their number. */
static cudnnStatus_t result_algorithms(cudnnHandle_t h, const plan *p, const operands *o,
                                       void *room, answer *to, int *n) {
    cudnnConvolutionFwdAlgoPerf_t perf[CHOICES];
    cudnnStatus_t status =
        room ? gp_dnn.cudnnFindConvolutionForwardAlgorithmEx(h, p->x, o->x, p->w, o->w, p->conv,
                                                             p->y, o->y, CHOICES, n, perf, room,
                                                             most_memory)
             : gp_dnn.cudnnGetConvolutionForwardAlgorithm_v7(h, p->x, p->w, p->conv, p->y, CHOICES,
                                                             n, perf);
    for (int i = 0; i < *n; i++) to[i] = ANSWER(perf[i]);
    return status;
}

static cudnnStatus_t image_algorithms(cudnnHandle_t h, const plan *p, const operands *o, void *room,
                                      answer *to, int *n) {
    cudnnConvolutionBwdDataAlgoPerf_t perf[CHOICES];
    cudnnStatus_t status =
        room ? gp_dnn.cudnnFindConvolutionBackwardDataAlgorithmEx(h, p->w, o->w, p->y, o->y,
                                                                  p->conv, p->x, o->x, CHOICES, n,
                                                                  perf, room, most_memory)
             : gp_dnn.cudnnGetConvolutionBackwardDataAlgorithm_v7(h, p->w, p->y, p->conv, p->x,
                                                                  CHOICES, n, perf);
    for (int i = 0; i < *n; i++) to[i] = ANSWER(perf[i]);
    return status;
}

static cudnnStatus_t weight_algorithms(cudnnHandle_t h, const plan *p, const operands *o,
                                       void *room, answer *to, int *n) {
    cudnnConvolutionBwdFilterAlgoPerf_t perf[CHOICES];
    cudnnStatus_t status =
        room ? gp_dnn.cudnnFindConvolutionBackwardFilterAlgorithmEx(h, p->x, o->x, p->y, o->y,
                                                                    p->conv, p->w, o->w, CHOICES, n,
                                                                    perf, room, most_memory)
             : gp_dnn.cudnnGetConvolutionBackwardFilterAlgorithm_v7(h, p->x, p->y, p->conv, p->w,
                                                                    CHOICES, n, perf);
    for (int i = 0; i < *n; i++) to[i] = ANSWER(perf[i]);
    return status;
}

/* Takes the first answer that works, is as deterministic as asked, and does not need too much
 * memory, unless all do. False with a message. */
static bool choose(const gp_call *c, cudnnHandle_t h, plan *p, const operands *o, void *room) {
    const shape *s = &p->of;
    answer answers[CHOICES];
    int n = 0;
    cudnnStatus_t status = s->kind == RESULT  ? result_algorithms(h, p, o, room, answers, &n)
                           : s->kind == IMAGE ? image_algorithms(h, p, o, room, answers, &n)
                                              : weight_algorithms(h, p, o, room, answers, &n);
    if (!gp_dnn_ok(c, status)) return false;
    for (int i = 0; i < 2 * n; i++) {
        const answer *y = &answers[i % n];
        bool any_memory = i >= n;
        if (y->status != CUDNN_STATUS_SUCCESS) continue;
        if (s->deterministic && y->determinism != CUDNN_DETERMINISTIC) continue;
        if (!any_memory && y->memory > most_memory) continue;
        p->algo = y->algo, p->memory = y->memory;
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
    const int32_t *dim = s->kind == RESULT ? s->y : s->kind == IMAGE ? s->x : s->w;
    size_t bytes = gp_dtype_size((gp_dtype)s->dtype);
    for (int d = 0; d < s->n; d++) bytes *= (size_t)dim[d];
    void *result = gp_cuda_scratch(c, bytes);
    if (s->kind == RESULT) to->y = result;
    else if (s->kind == IMAGE) to->x = result;
    else to->w = result;
    return result != NULL;
}

static plan *plan_of(const gp_call *c, cudnnHandle_t h, const shape *s, const operands *o) {
    plan *p = slot_of(s);
    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): zeroed before it is filled
    if (p->used && !memcmp(&p->of, s, sizeof *s)) return p;
    forget(p);
    memcpy(&p->of, s, sizeof *s);
    operands trial = *o;
    bool try = s->benchmark && trial_of(c, s, o, &trial);
    void *room = try ? gp_cuda_scratch(c, most_memory) : NULL; /* NULL: chosen without trying */
    if (!room) gp_error_clear();
    p->none = !describe(c, p) || !choose(c, h, p, &trial, room);
    p->used = !p->none || !gp_lib_no_memory();
    return p;
}

static bool run(const gp_call *c, cudnnHandle_t h, const shape *s, const operands *o,
                const plan *p) {
    double one = 1, beta = o->add;
    float one32 = 1, beta32 = o->add;
    bool wide = s->dtype == GP_f64;
    const void *a = wide ? (void *)&one : (void *)&one32,
               *b = wide ? (void *)&beta : (void *)&beta32;
    void *room = p->memory ? gp_cuda_scratch(c, p->memory) : NULL;
    if (p->memory && !room) return false;
    switch (s->kind) {
    case RESULT:
        return gp_dnn_ok(c, gp_dnn.cudnnConvolutionForward(h, a, p->x, o->x, p->w, o->w, p->conv,
                                                           (cudnnConvolutionFwdAlgo_t)p->algo, room,
                                                           p->memory, b, p->y, o->y));
    case IMAGE:
        return gp_dnn_ok(c,
                         gp_dnn.cudnnConvolutionBackwardData(h, a, p->w, o->w, p->y, o->y, p->conv,
                                                             (cudnnConvolutionBwdDataAlgo_t)p->algo,
                                                             room, p->memory, b, p->x, o->x));
    default:
        return gp_dnn_ok(
            c, gp_dnn.cudnnConvolutionBackwardFilter(h, a, p->x, o->x, p->y, o->y, p->conv,
                                                     (cudnnConvolutionBwdFilterAlgo_t)p->algo, room,
                                                     p->memory, b, p->w, o->w));
    }
}

static bool convolve(const gp_call *c, const shape *s, const operands *o) {
    gp_lib_lock();
    cudnnHandle_t h = gp_dnn_handle(c);
    plan *p = h ? plan_of(c, h, s, o) : NULL;
    bool ok = p && !p->none && run(c, h, s, o, p);
    gp_lib_unlock();
    return ok;
}

/* ---- sizes ---- */

/* cuDNN's convolutions have equal padding on both sides: any excess at the end is added to the
 * image. */
static int64_t extra(const gp_conv *k, int d) { return k->behind[d] - k->before[d]; }
static bool is_even(const gp_conv *k) { return !extra(k, 0) && !extra(k, 1) && !extra(k, 2); }

/* At least two spatial dims: cuDNN does not take one. */
static bool shape_of(const gp_call *c, const gp_conv *k, part kind, gp_dtype dt, shape *s) {
    int first = k->rank == 3 ? 0 : 1;
    memset(s, 0, sizeof *s);
    s->kind = kind, s->dtype = (int32_t)dt, s->n = k->rank == 3 ? 5 : 4,
    s->groups = (int32_t)k->groups;
    s->tf32 = gp_libs.tf32, s->deterministic = gp_libs.deterministic,
    s->benchmark = gp_libs.benchmark;
    cudaGetDevice(&s->device);
    int64_t x[5] = {k->images, k->channels}, w[5] = {k->filters, k->channels / k->groups},
            y[5] = {k->images, k->filters}, all[3] = {1, 1, 1};
    for (int d = first, i = 2; d < GP_SPATIAL; d++, i++) {
        x[i] = k->in[d] + extra(k, d), w[i] = k->kernel[d], y[i] = k->out[d];
        s->pad[i - 2] = (int32_t)k->before[d];
        s->stride[i - 2] = (int32_t)k->stride[d], s->dilation[i - 2] = (int32_t)k->dilation[d];
    }
    for (int i = 0; i < s->n; i++) {
        s->x[i] = (int32_t)x[i], s->w[i] = (int32_t)w[i], s->y[i] = (int32_t)y[i];
        all[0] *= x[i], all[1] *= w[i], all[2] *= y[i];
    }
    return (all[0] <= INT_MAX && all[1] <= INT_MAX && all[2] <= INT_MAX) ||
           gp_fail("%s: cuDNN's convolutions take at most 2^31 - 1 elements", c->op->name);
}

/* The image with its trailing padding, dense: images x channels x depth x rows x columns. */
static gp_array padded_image(const gp_conv *k, gp_dtype dt) {
    int64_t dim[5] = {k->images, k->channels};
    for (int d = 0; d < GP_SPATIAL; d++) dim[2 + d] = k->in[d] + extra(k, d);
    return gp_dense_over(NULL, dt, 5, dim);
}
/* The part of it that is the image. */
static gp_array inside(const gp_conv *k, const gp_array *padded) {
    gp_array a = *padded;
    a.numel = k->images * k->channels;
    a.contiguous = false;
    for (int d = 0; d < GP_SPATIAL; d++) a.numel *= a.dim[2 + d] = k->in[d];
    return a;
}
/* x with dims of size 1 for those that it lacks. */
static gp_array five(const gp_conv *k, const gp_array *x) {
    gp_array a = *x;
    int n = x->ndim, at = 0;
    int64_t dim[5], stride[5];
    for (int d = 0; d < 5; d++) {
        bool has = d == 0 ? k->batched : d == 1 ? true : d - 2 >= GP_SPATIAL - k->rank;
        dim[d] = has && at < n ? x->dim[at] : 1;
        stride[d] = has && at < n ? x->stride[at] : 0;
        at += has;
    }
    a.ndim = 5;
    memcpy(a.dim, dim, sizeof dim);
    memcpy(a.stride, stride, sizeof stride);
    return a;
}

static bool zero(const gp_call *c, const gp_array *a) {
    size_t bytes = (size_t)a->numel * gp_dtype_size((gp_dtype)a->dtype);
    return !bytes || gp_cuda_ok(c, cudaMemsetAsync(a->data, 0, bytes, gp_cuda_stream(c)));
}

/* The dtype in which the products are computed: bf16 has no convolutions before 8.0. */
static gp_dtype work_dtype(const gp_call *c, gp_dtype dt) {
    return dt == GP_bf16 && gp_cuda_arch(c) < 80 ? GP_f32 : dt;
}

/* The image x, dense and with its trailing padding. */
static bool image_in(const gp_call *c, const gp_conv *k, const gp_array *x, gp_dtype dt,
                     void **to) {
    gp_array dense;
    if (is_even(k)) {
        if (!gp_cuda_dense(c, x, dt, &dense)) return false;
        *to = dense.data;
        return true;
    }
    gp_array padded = padded_image(k, dt), from = five(k, x);
    padded.data = (char *)gp_cuda_scratch(c, (size_t)padded.numel * gp_dtype_size(dt));
    gp_array part = inside(k, &padded);
    *to = padded.data;
    return padded.data && zero(c, &padded) && gp_cuda_copy_array(c, &part, &from);
}

static bool dense_in(const gp_call *c, const gp_array *x, gp_dtype dt, void **to) {
    gp_array dense;
    if (!gp_cuda_dense(c, x, dt, &dense)) return false;
    *to = dense.data;
    return true;
}

/* Where cuDNN may write `out`: in place where that is dense and aligned, or in scratch that is then
 * copied to it. */
static bool place_of(const gp_call *c, const gp_array *out, gp_dtype dt, gp_array *to) {
    *to = *out;
    if (out->dtype == dt && out->contiguous && gp_cuda_aligned(out->data)) return true;
    *to = gp_dense_over(NULL, dt, out->ndim, out->dim);
    to->data = (char *)gp_cuda_scratch(c, (size_t)to->numel * gp_dtype_size(dt));
    return to->data != NULL;
}

/* Fills `to` with the bias of each channel (channels are dim `at`); true in *added if there is
 * one. */
static bool add_bias(const gp_call *c, const gp_array *bias, const gp_array *to, int at,
                     bool *added) {
    *added = bias != NULL;
    if (!bias) return true;
    gp_array b = *to;
    b.data = bias->data, b.dtype = bias->dtype, b.contiguous = false;
    for (int d = 0; d < b.ndim; d++) b.stride[d] = d == at ? bias->stride[0] : 0;
    return gp_cuda_copy_array(c, to, &b);
}

/* ---- calls ---- */

/* These run by cuDNN; false where it refuses. */
static bool forward_there(const gp_call *c, const gp_conv *k) {
    const gp_array *x = gp_in(c, 0), *w = gp_in(c, 1), *out = gp_out(c, 0);
    gp_dtype dt = work_dtype(c, (gp_dtype)x->dtype);
    gp_array to;
    shape s;
    operands o;
    if (!shape_of(c, k, RESULT, dt, &s) || !place_of(c, out, dt, &to) ||
        !add_bias(c, gp_in(c, 2), &to, k->batched, &o.add))
        return false;
    o.y = to.data;
    if (x->numel == 0 || w->numel == 0) {
        if (!o.add && !zero(c, &to)) return false;
    } else if (!image_in(c, k, x, dt, &o.x) || !dense_in(c, w, dt, &o.w) || !convolve(c, &s, &o)) {
        return false;
    }
    return to.data == out->data || gp_cuda_copy_array(c, out, &to);
}

/* x has the shape of the convolution's results; out is its image. */
static bool image_there(const gp_call *c, const gp_array *x, const gp_array *bias,
                        const gp_conv *k) {
    const gp_array *w = gp_in(c, 1), *out = gp_out(c, 0);
    gp_dtype dt = work_dtype(c, (gp_dtype)x->dtype);
    gp_array to, padded;
    shape s;
    operands o;
    if (!shape_of(c, k, IMAGE, dt, &s) || !place_of(c, out, dt, &to) ||
        !add_bias(c, bias, &to, k->batched, &o.add))
        return false;
    o.x = to.data;
    if (x->numel == 0 || w->numel == 0) {
        if (!o.add && !zero(c, &to)) return false;
        return to.data == out->data || gp_cuda_copy_array(c, out, &to);
    }
    if (!is_even(k)) {
        padded = padded_image(k, dt);
        o.x = padded.data = (char *)gp_cuda_scratch(c, (size_t)padded.numel * gp_dtype_size(dt));
        if (!o.x) return false;
    }
    if (!dense_in(c, x, dt, &o.y) || !dense_in(c, w, dt, &o.w) || !convolve(c, &s, &o))
        return false;
    if (!is_even(k)) {
        gp_array part = inside(k, &padded), all = five(k, &to);
        if (!gp_cuda_copy_array(c, &all, &part)) return false;
    }
    return to.data == out->data || gp_cuda_copy_array(c, out, &to);
}

static bool weight_there(const gp_call *c, const gp_conv *k) {
    const gp_array *grad = gp_in(c, 0), *x = gp_in(c, 1), *out = gp_out(c, 0);
    gp_dtype dt = work_dtype(c, (gp_dtype)x->dtype);
    gp_array to;
    shape s;
    operands o = {.add = false};
    if (!shape_of(c, k, WEIGHT, dt, &s) || !place_of(c, out, dt, &to)) return false;
    o.w = to.data;
    return image_in(c, k, x, dt, &o.x) && dense_in(c, grad, dt, &o.y) && convolve(c, &s, &o) &&
           (to.data == out->data || gp_cuda_copy_array(c, out, &to));
}

/* Whether cuDNN may be asked: it does not take integers. */
static bool theirs(const gp_array *x) {
    return gp_is_float((gp_dtype)x->dtype) && gp_lib_there(GP_LIB_cudnn);
}

/* Whether our own kernels may run it. */
static bool ours(const gp_call *c, const gp_array *x) {
    return !gp_is_float((gp_dtype)x->dtype) || gp_dnn_refused(c);
}

static bool forward(const gp_call *c) {
    const gp_array *x = gp_in(c, 0);
    gp_shape xs = gp_array_shape(x), ws = gp_array_shape(gp_in(c, 1));
    gp_conv k;
    if (gp_out(c, 0)->numel == 0) return true;
    if (!gp_conv_read(c, &xs, &ws, &k)) return false;
    if (theirs(x) && forward_there(c, &k)) return true;
    return ours(c, x) && gp_conv_plain(c, &k);
}

static bool image(const gp_call *c, const gp_array *bias, const gp_conv *k) {
    const gp_array *x = gp_in(c, 0);
    if (gp_out(c, 0)->numel == 0 || (theirs(x) && image_there(c, x, bias, k))) return true;
    return ours(c, x) && gp_conv_plain_image(c, bias, k);
}

static bool transposed(const gp_call *c) {
    gp_shape xs = gp_array_shape(gp_in(c, 0)), ws = gp_array_shape(gp_in(c, 1));
    gp_conv k;
    return gp_conv_transpose_read(c, &xs, &ws, &k) && image(c, gp_in(c, 2), &k);
}

bool CUDA(conv_input_grad)(const gp_call *c) {
    gp_shape xs = gp_ints_shape(c, 2), ws = gp_array_shape(gp_in(c, 1));
    gp_conv k;
    return gp_conv_read(c, &xs, &ws, &k) && image(c, NULL, &k);
}

bool CUDA(conv_weight_grad)(const gp_call *c) {
    const gp_array *grad = gp_in(c, 0), *x = gp_in(c, 1), *out = gp_out(c, 0);
    gp_shape xs = gp_array_shape(x), ws = gp_ints_shape(c, 2);
    gp_conv k;
    if (out->numel == 0) return true;
    if (!gp_conv_read(c, &xs, &ws, &k)) return false;
    if (x->numel == 0 || grad->numel == 0) return zero(c, out);
    if (theirs(x) && weight_there(c, &k)) return true;
    return ours(c, x) && gp_conv_plain_weight(c, &k);
}

bool CUDA(conv1d)(const gp_call *c) { return forward(c); }
bool CUDA(conv2d)(const gp_call *c) { return forward(c); }
bool CUDA(conv3d)(const gp_call *c) { return forward(c); }
bool CUDA(conv_transpose1d)(const gp_call *c) { return transposed(c); }
bool CUDA(conv_transpose2d)(const gp_call *c) { return transposed(c); }
bool CUDA(conv_transpose3d)(const gp_call *c) { return transposed(c); }
#endif
