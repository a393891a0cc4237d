/* Convolutions by products of matrices: weight x places, for each image. What one tap computes is
 * the result; what several compute is put together by a copy. Target limit: the operations at the
 * rate of matmul, and the bytes of images and results at the memory's speed, twice where they are
 * copied. */
#include "kernels/cuda/conv/product.h"

#include "kernels/common/batch.h"
#include "kernels/cuda/matmul/matmul.h"
#include "kernels/cuda/runtime/dense.h"
#include "kernels/cuda/runtime/device.h"
#include "kernels/cuda/runtime/libs.h"

/* Elements of 16 bits that tensor cores read at once. */
enum { AT_ONCE = 8 };

static int64_t taps_of(const gp_conv *k) { return k->kernel[0] * k->kernel[1] * k->kernel[2]; }
static int64_t positions_of(const gp_conv *k) { return k->out[0] * k->out[1] * k->out[2]; }

/* Whether windows are next to each other and fill the image. */
static bool is_tiled(const gp_conv *k) {
    for (int d = 0; d < GP_SPATIAL; d++)
        if (k->before[d] || k->behind[d] || k->kernel[d] != k->stride[d] ||
            (k->dilation[d] != 1 && k->kernel[d] != 1) || k->in[d] != k->out[d] * k->kernel[d])
            return false;
    return k->groups == 1;
}

bool gp_conv_is_product(const gp_call *c, const gp_conv *k, const gp_array *x, gp_conv_part part) {
    gp_dtype dt = (gp_dtype)x->dtype;
    if (part == GP_CONV_WEIGHT || !is_tiled(k) || !k->images || !k->channels || !k->filters ||
        !positions_of(k) || !gp_lib_there(GP_LIB_cublasLt))
        return false;
    if (taps_of(k) > 1) return part == GP_CONV_IMAGE && (dt == GP_f32 || dt == GP_f64);
    return (dt == GP_f16 || (dt == GP_bf16 && gp_cuda_arch(c) >= 80)) &&
           (k->channels | k->filters | positions_of(k)) % AT_ONCE == 0;
}

/* x as images of channels x places in *p; a dense copy where its memory is not so. */
static bool read_positions(const gp_call *c, const gp_conv *k, const gp_array *x, gp_product *p) {
    gp_array a = *x;
    int n = a.ndim, first = n - k->rank;
    bool trans, joined = true;
    int64_t ld;
    for (int d = first; d < n - 1; d++)
        joined = joined && a.stride[d] == a.stride[d + 1] * a.dim[d + 1];
    if (!joined || !gp_readable(p->k, p->n, a.stride[first - 1], a.stride[n - 1], &trans, &ld)) {
        if (!gp_cuda_dense(c, x, p->dtype, &a)) return false;
    }
    p->b = a.data, p->b_rs = a.stride[first - 1], p->b_cs = a.stride[n - 1];
    p->b_batch = k->batched ? a.stride[0] : 0;
    return true;
}

/* out as images x channels x taps x places, the last two of k's rank each. */
static gp_array by_taps(const gp_conv *k, const gp_array *out) {
    gp_array a = *out;
    int first = out->ndim - k->rank;
    a.ndim = (uint8_t)(first + 2 * k->rank), a.contiguous = false;
    for (int d = 0; d < k->rank; d++) {
        int64_t taps = k->kernel[GP_SPATIAL - k->rank + d];
        a.dim[first + d] = taps, a.stride[first + d] = out->stride[first + d];
        a.dim[first + k->rank + d] = out->dim[first + d] / taps;
        a.stride[first + k->rank + d] = out->stride[first + d] * taps;
    }
    return a;
}

/* Fills `to`, which begins with images and channels, with the bias of each channel. */
static bool spread_bias(const gp_call *c, const gp_conv *k, const gp_array *bias,
                        const gp_array *to) {
    gp_array from = *to;
    from.data = bias->data, from.dtype = bias->dtype, from.contiguous = false;
    for (int d = 0; d < from.ndim; d++) from.stride[d] = d == k->batched ? bias->stride[0] : 0;
    return gp_cuda_copy_array(c, to, &from);
}

/* image: the weight's dims are exchanged, and each place has k's taps. */
static bool convolve(const gp_call *c, const gp_conv *k, const gp_array *bias, bool image) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0);
    gp_dtype dt = (gp_dtype)x->dtype;
    int64_t taps = taps_of(k), rows = (image ? k->channels : k->filters) * taps,
            cols = positions_of(k), inner = image ? k->filters : k->channels;
    gp_product p = gp_product_of(dt, rows, cols, inner);
    gp_array w, whole = by_taps(k, out), to = whole;
    bool in_place = taps == 1 && out->contiguous && gp_cuda_aligned(out->data);
    if (!gp_cuda_dense(c, gp_in(c, 1), dt, &w) || !read_positions(c, k, x, &p)) return false;
    if (!in_place) {
        to = gp_dense_over(NULL, dt, whole.ndim, whole.dim);
        to.data = (char *)gp_cuda_scratch(c, (size_t)to.numel * gp_dtype_size(dt));
        if (!to.data) return false;
    }
    if (bias && !spread_bias(c, k, bias, &to)) return false;
    p.a = w.data, p.a_rs = image ? 1 : inner, p.a_cs = image ? rows : 1;
    p.out = to.data, p.beta.i = bias != NULL;
    p.batch = k->images, p.out_batch = rows * cols;
    gp_cuda_detail("product");
    return gp_cuda_product(c, &p) && (in_place || gp_cuda_copy_array(c, &whole, &to));
}

bool gp_conv_product(const gp_call *c, const gp_conv *k) {
    return convolve(c, k, gp_in(c, 2), false);
}
bool gp_conv_product_image(const gp_call *c, const gp_array *bias, const gp_conv *k) {
    return convolve(c, k, bias, true);
}
