/* Convolutions, transposed ones and their gradients: of few channels by direct.cu and
 * direct_weight.cu, products of matrices by product.c, else by cuDNN (cudnn.c), in parts of the
 * images that it takes at once. Target limit: 2 operations per tap at the tensor cores' rate for
 * f16 and bf16, at that of the cores for f32 (of TF32 where allowed) and f64. Without cuDNN, or
 * where it refuses, plain.cu runs them. */
#if __has_include(<cudnn.h>) /* else without_cudnn.c */
#include "kernels/cuda/conv/cudnn.h"
#include "kernels/cuda/conv/plain.h"
#include "kernels/cuda/conv/product.h"
#include "kernels/cuda/runtime/dense.h"
#include "kernels/cuda/cudnn/cudnn.h"
#include "kernels/cuda/runtime/device.h"

typedef gp_conv_shape shape;
typedef gp_conv_operands operands;

/* ---- sizes ---- */

/* cuDNN's convolutions have equal padding on both sides: any excess at the end is added to the
 * image. */
static int64_t extra(const gp_conv *k, int d) { return k->behind[d] - k->before[d]; }
static bool is_even(const gp_conv *k) { return !extra(k, 0) && !extra(k, 1) && !extra(k, 2); }

/* At least two spatial dims: cuDNN does not take one. */
static void shape_of(const gp_conv *k, gp_conv_part kind, gp_dtype dt, bool last, shape *s) {
    int first = k->rank == 3 ? 0 : 1;
    memset(s, 0, sizeof *s);
    s->kind = kind, s->dtype = (int32_t)dt, s->n = k->rank == 3 ? 5 : 4,
    s->groups = (int32_t)k->groups, s->last = last;
    s->tf32 = gp_libs.tf32, s->deterministic = gp_libs.deterministic,
    s->benchmark = gp_libs.benchmark;
    cudaGetDevice(&s->device);
    int64_t x[5] = {k->images, k->channels}, w[5] = {k->filters, k->channels / k->groups},
            y[5] = {k->images, k->filters};
    for (int d = first, i = 2; d < GP_SPATIAL; d++, i++) {
        x[i] = k->in[d] + extra(k, d), w[i] = k->kernel[d], y[i] = k->out[d];
        s->pad[i - 2] = (int32_t)k->before[d];
        s->stride[i - 2] = (int32_t)k->stride[d], s->dilation[i - 2] = (int32_t)k->dilation[d];
    }
    for (int i = 0; i < s->n; i++)
        s->x[i] = (int32_t)x[i], s->w[i] = (int32_t)w[i], s->y[i] = (int32_t)y[i];
}

/* Images that cuDNN takes at once; 0, with a message: not even one. */
static int64_t at_once(const gp_call *c, const gp_conv *k) {
    int64_t x = k->channels, w = k->filters * (k->channels / k->groups), y = k->filters,
            most = gp_libs.conv_elements;
    for (int d = 0; d < GP_SPATIAL; d++)
        x *= k->in[d] + extra(k, d), w *= k->kernel[d], y *= k->out[d];
    int64_t each = x > y ? x : y, n = w > most ? 0 : each ? most / each : k->images;
    if (!n) gp_fail("%s: cuDNN's convolutions take at most 2^31 - 1 elements", c->op->name);
    return n;
}

/* ---- layouts: images x channels x depth x rows x columns ---- */

/* Tensor cores multiply 16 bits with channels as the fastest dim, eight of them at once. cuDNN
 * copies other layouts to that one and back for each convolution; our own copies do the same, and
 * an image whose memory is so already needs none. */
static bool wants_channels_last(const gp_conv *k, gp_dtype dt) {
    return (dt == GP_f16 || dt == GP_bf16) && k->groups == 1 && k->channels % 8 == 0 &&
           k->filters % 8 == 0;
}

/* A dense array of those dims at p. */
static gp_array dense_over(void *p, gp_dtype dt, const int64_t *dim, bool last) {
    gp_array a = gp_dense_over(p, dt, 5, dim);
    if (last) gp_channels_last(&a);
    return a;
}

/* The image with its trailing padding. */
static gp_array padded_image(const gp_conv *k, gp_dtype dt, bool last) {
    int64_t dim[5] = {k->images, k->channels};
    for (int d = 0; d < GP_SPATIAL; d++) dim[2 + d] = k->in[d] + extra(k, d);
    return dense_over(NULL, dt, dim, last);
}
/* The part of it that is the image. */
static gp_array inside(const gp_conv *k, const gp_array *padded) {
    gp_array a = *padded;
    a.numel = k->images * k->channels;
    a.contiguous = false;
    for (int d = 0; d < GP_SPATIAL; d++) a.numel *= a.dim[2 + d] = k->in[d];
    return a;
}
/* x with dims of size 1 for those that it lacks; batched: it has images, or filters. */
static gp_array five(const gp_conv *k, bool batched, const gp_array *x) {
    gp_array a = *x;
    int n = x->ndim, at = 0;
    int64_t dim[5], stride[5];
    for (int d = 0; d < 5; d++) {
        bool has = d == 0 ? batched : d == 1 ? true : d - 2 >= GP_SPATIAL - k->rank;
        dim[d] = has && at < n ? x->dim[at] : 1;
        stride[d] = has && at < n ? x->stride[at] : 0;
        at += has;
    }
    a.ndim = 5;
    memcpy(a.dim, dim, sizeof dim);
    memcpy(a.stride, stride, sizeof stride);
    return a;
}

/* Whether a is such a dense array, aligned. */
static bool is_laid_out(const gp_array *a, gp_dtype dt, bool last) {
    gp_array dense = dense_over(a->data, dt, a->dim, last);
    for (int d = 0; d < 5; d++)
        if (a->dim[d] != 1 && a->stride[d] != dense.stride[d]) return false;
    return a->dtype == dt && gp_cuda_aligned(a->data);
}

static bool zero(const gp_call *c, const gp_array *a) {
    size_t bytes = (size_t)a->numel * gp_dtype_size((gp_dtype)a->dtype);
    return !bytes || gp_cuda_ok(c, cudaMemsetAsync(a->data, 0, bytes, gp_cuda_stream(c)));
}

/* The dtype in which the products are computed: bf16 has no convolutions before 8.0. */
static gp_dtype work_dtype(const gp_call *c, gp_dtype dt) {
    return dt == GP_bf16 && gp_cuda_arch(c) < 80 ? GP_f32 : dt;
}

/* x in the layout that cuDNN gets: in place, or copied to scratch. */
static bool dense_in(const gp_call *c, const gp_array *x, gp_dtype dt, bool last, void **to) {
    *to = x->data;
    if (is_laid_out(x, dt, last)) return true;
    gp_array dense = dense_over(NULL, dt, x->dim, last);
    dense.data = *to = gp_cuda_scratch(c, (size_t)dense.numel * gp_dtype_size(dt));
    return *to && gp_cuda_copy_array(c, &dense, x);
}

/* The image x with its trailing padding. */
static bool image_in(const gp_call *c, const gp_conv *k, const gp_array *x, gp_dtype dt, bool last,
                     void **to) {
    if (is_even(k)) return dense_in(c, x, dt, last, to);
    gp_array padded = padded_image(k, dt, last);
    padded.data = *to = gp_cuda_scratch(c, (size_t)padded.numel * gp_dtype_size(dt));
    gp_array part = inside(k, &padded);
    return padded.data && zero(c, &padded) && gp_cuda_copy_array(c, &part, x);
}

/* Where cuDNN may write `out`: in place, or in scratch that is then copied to it. */
static bool destination_of(const gp_call *c, const gp_array *out, gp_dtype dt, bool last,
                           gp_array *to) {
    *to = *out;
    if (is_laid_out(out, dt, last)) return true;
    *to = dense_over(NULL, dt, out->dim, last);
    to->data = (char *)gp_cuda_scratch(c, (size_t)to->numel * gp_dtype_size(dt));
    return to->data != NULL;
}

/* Images `first` to `first + n` of a. */
static gp_array images_of(const gp_conv *k, const gp_array *a, int64_t first, int64_t n) {
    gp_array part = *a;
    part.data += first * a->stride[0] * (int64_t)gp_dtype_size((gp_dtype)a->dtype);
    part.dim[0] = n;
    part.numel = k->images ? a->numel / k->images * n : 0;
    return part;
}

/* `to`, without an image to compute it from: the bias of each channel (dim `at`), or zeros. */
static bool only_bias(const gp_call *c, const gp_array *bias, const gp_array *to, int at) {
    if (!bias) return zero(c, to);
    gp_array b = *to;
    b.data = bias->data, b.dtype = bias->dtype, b.contiguous = false;
    for (int d = 0; d < b.ndim; d++) b.stride[d] = d == at ? bias->stride[0] : 0;
    return gp_cuda_copy_array(c, to, &b);
}

/* ---- calls ---- */

/* What a call multiplies: its operands, of which each run takes some images. Arrays have five
 * dims. */
typedef struct job {
    const gp_call *c;
    gp_conv k; /* of the images of one run */
    gp_conv_part kind;
    gp_dtype dt;
    bool last;        /* the layout */
    gp_array x, w, y; /* images, weights, and results or their gradients, of all runs */
    operands o;       /* its weight and bias are those of every run */
} job;

/* Runs j->o, whose result is `to`, a place of `out`. */
static bool run_to(job *j, const gp_array *out, const gp_array *to) {
    shape s;
    shape_of(&j->k, j->kind, j->dt, j->last, &s);
    return gp_conv_by_cudnn(j->c, &s, &j->o) &&
           (to->data == out->data || gp_cuda_copy_array(j->c, out, to));
}

static bool run_result(job *j, const gp_array *x, const gp_array *y) {
    gp_array to;
    if (!destination_of(j->c, y, j->dt, j->last, &to) ||
        !image_in(j->c, &j->k, x, j->dt, j->last, &j->o.x))
        return false;
    j->o.y = to.data;
    return run_to(j, y, &to);
}

static bool run_image(job *j, const gp_array *x, const gp_array *y) {
    gp_array to;
    const gp_conv *k = &j->k;
    if (is_even(k)) {
        if (!destination_of(j->c, x, j->dt, j->last, &to)) return false;
    } else {
        to = padded_image(k, j->dt, j->last);
        to.data = (char *)gp_cuda_scratch(j->c, (size_t)to.numel * gp_dtype_size(j->dt));
    }
    j->o.x = to.data;
    if (!to.data || !dense_in(j->c, y, j->dt, j->last, &j->o.y)) return false;
    if (!is_even(k)) to = inside(k, &to);
    return run_to(j, x, &to);
}

/* The weight's gradients of all runs are added in o.w. */
static bool run_weight(job *j, const gp_array *x, const gp_array *y) {
    return image_in(j->c, &j->k, x, j->dt, j->last, &j->o.x) &&
           dense_in(j->c, y, j->dt, j->last, &j->o.y) && run_to(j, &j->w, &j->w);
}

typedef bool run_of(job *, const gp_array *x, const gp_array *y);

/* Runs all images in as few parts as cuDNN takes them; false where it refuses. */
static bool run_parts(job *j, run_of *run) {
    gp_conv whole = j->k;
    int64_t n = at_once(j->c, &whole);
    bool ok = n > 0;
    for (int64_t first = 0; ok && first < whole.images; first += n) {
        j->k.images = n < whole.images - first ? n : whole.images - first;
        gp_array x = images_of(&whole, &j->x, first, j->k.images),
                 y = images_of(&whole, &j->y, first, j->k.images);
        ok = run(j, &x, &y);
        j->o.add = j->kind == GP_CONV_WEIGHT;
    }
    return ok;
}

/* The same in one layout, with the weight, or the place of its gradients, in it. */
static bool run_laid_out(const job *all, run_of *run) {
    job j = *all;
    if (j.kind != GP_CONV_WEIGHT)
        return dense_in(j.c, &j.w, j.dt, j.last, &j.o.w) && run_parts(&j, run);
    gp_array to;
    if (!destination_of(j.c, &all->w, j.dt, j.last, &to)) return false;
    j.w = to, j.o.w = to.data;
    return run_parts(&j, run) && (to.data == all->w.data || gp_cuda_copy_array(j.c, &all->w, &to));
}

/* Runs a job by cuDNN in the layout that it should like, or else in the other. False with a
 * message: it refuses, or has no memory. */
static bool run_job(job *j, run_of *run) {
    shape s;
    j->last = wants_channels_last(&j->k, j->dt);
    shape_of(&j->k, j->kind, j->dt, true, &s);
    if (j->last && !gp_conv_refused(&s)) {
        if (run_laid_out(j, run)) return true;
        if (gp_cuda_runs_again(j->c) || !gp_device_alive(j->c->stream->dev, j->c->name))
            return false;
        gp_error_clear();
    }
    j->last = false;
    return run_laid_out(j, run);
}

/* The bias, dense and of the products' dtype. */
static bool bias_in(job *j, const gp_array *bias) {
    gp_array dense;
    if (bias && !gp_cuda_dense(j->c, bias, j->dt, &dense)) return false;
    j->o.bias = bias ? dense.data : NULL;
    return true;
}

static job job_of(const gp_call *c, const gp_conv *k, gp_conv_part kind, const gp_array *x,
                  const gp_array *w, const gp_array *y) {
    return (job){.c = c,
                 .k = *k,
                 .kind = kind,
                 .dt = work_dtype(c, (gp_dtype)x->dtype),
                 .x = five(k, k->batched, x),
                 .w = five(k, true, w),
                 .y = five(k, k->batched, y)};
}

static bool forward_there(const gp_call *c, const gp_conv *k) {
    const gp_array *x = gp_in(c, 0), *w = gp_in(c, 1), *out = gp_out(c, 0);
    if (x->numel == 0 || w->numel == 0) return only_bias(c, gp_in(c, 2), out, k->batched);
    job j = job_of(c, k, GP_CONV_RESULT, x, w, out);
    return bias_in(&j, gp_in(c, 2)) && run_job(&j, run_result);
}

/* x has the shape of the convolution's results; out is its image. */
static bool image_there(const gp_call *c, const gp_array *x, const gp_array *bias,
                        const gp_conv *k) {
    const gp_array *w = gp_in(c, 1), *out = gp_out(c, 0);
    if (x->numel == 0 || w->numel == 0) return only_bias(c, bias, out, k->batched);
    job j = job_of(c, k, GP_CONV_IMAGE, out, w, x);
    return bias_in(&j, bias) && run_job(&j, run_image);
}

static bool weight_there(const gp_call *c, const gp_conv *k) {
    job j = job_of(c, k, GP_CONV_WEIGHT, gp_in(c, 1), gp_out(c, 0), gp_in(c, 0));
    return run_job(&j, run_weight);
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
    const gp_array *x = gp_in(c, 0), *w = gp_in(c, 1);
    gp_shape xs = gp_array_shape(x), ws = gp_array_shape(w);
    gp_conv k;
    if (gp_out(c, 0)->numel == 0) return true;
    if (!gp_conv_read(c, &xs, &ws, &k)) return false;
    if (gp_conv_is_direct(&k, x, w, GP_CONV_RESULT)) return gp_conv_direct(c, &k);
    if (gp_conv_is_product(c, &k, x, GP_CONV_RESULT)) return gp_conv_product(c, &k);
    if (theirs(x) && forward_there(c, &k)) return true;
    return ours(c, x) && gp_conv_plain(c, &k);
}

static bool image(const gp_call *c, const gp_array *bias, const gp_conv *k) {
    const gp_array *x = gp_in(c, 0);
    if (gp_out(c, 0)->numel == 0) return true;
    if (gp_conv_is_direct(k, x, gp_in(c, 1), GP_CONV_IMAGE))
        return gp_conv_direct_image(c, bias, k);
    if (gp_conv_is_product(c, k, x, GP_CONV_IMAGE)) return gp_conv_product_image(c, bias, k);
    if (theirs(x) && image_there(c, x, bias, k)) return true;
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
    if (gp_conv_is_direct(&k, grad, x, GP_CONV_WEIGHT)) return gp_conv_direct_weight(c, &k);
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
