/* Convolutions of integers, and transposed ones: a thread for each output, computed in i64 and cut to
 * its width, so that sums wrap. Rarely wanted: correct on any layout comes before speed. */
#include "kernels/cuda/conv_plain.h"
#include "kernels/cuda/loop.cuh"
extern "C" {
#include "tensor/nn.h"
}

/* An operand: its first two dims (image or filter, channel), then depth, rows, columns; strides in
 * elements, 0 where it lacks the dim. */
struct side {
    const char *data;
    gp_dtype dtype;
    int64_t size, stride[5];
};
struct plain {
    gp_conv k;
    side x, w;
    gp_array bias; /* data NULL: none */
    char *out;
    gp_dtype dtype;
    int64_t numel, size;
};

__device__ static int64_t element(const side &s, const int64_t *at) {
    int64_t i = 0;
    for (int d = 0; d < 5; d++) i += at[d] * s.stride[d];
    return gp_load_as<int64_t>(s.data + i * s.size, s.dtype);
}

/* Where tap t of dim d lies for output o: within the input (true) at *at. A transposed convolution's
 * output gets the tap of those inputs that k, the convolution, makes from it. */
__device__ static bool reaches(const gp_conv &k, bool transposed, int d, int64_t o, int64_t t,
                               int64_t *at) {
    if (!transposed) {
        *at = o * k.stride[d] - k.before[d] + t * k.dilation[d];
        return *at >= 0 && *at < k.in[d];
    }
    int64_t up = o + k.before[d] - t * k.dilation[d];
    *at = up / k.stride[d];
    return up >= 0 && up % k.stride[d] == 0 && *at < k.out[d];
}

template <bool transposed> __global__ static void convolve(plain p) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (i >= p.numel) return;
    const gp_conv &k = p.k;
    const int64_t *size = transposed ? k.in : k.out;
    int64_t to[3], rest = i;
    for (int d = 2; d >= 0; d--) to[d] = rest % size[d], rest /= size[d];
    int64_t outputs = transposed ? k.channels : k.filters, inputs = transposed ? k.filters : k.channels;
    int64_t o = rest % outputs, group = o / (outputs / k.groups), many = inputs / k.groups;
    int64_t x[5] = {rest / outputs}, w[5];
    uint64_t sum = p.bias.data ? (uint64_t)gp_load_as<int64_t>(
                                     p.bias.data + o * p.bias.stride[0] * p.size, p.dtype)
                               : 0;
    for (int64_t c = 0; c < many; c++) {
        x[1] = group * many + c;
        w[0] = transposed ? x[1] : o;
        w[1] = transposed ? o % (outputs / k.groups) : c;
        for (w[2] = 0; w[2] < k.kernel[0]; w[2]++)
            for (w[3] = 0; w[3] < k.kernel[1]; w[3]++)
                for (w[4] = 0; w[4] < k.kernel[2]; w[4]++) {
                    bool in = true;
                    for (int d = 0; d < 3; d++)
                        in = in && reaches(k, transposed, d, to[d], w[2 + d], &x[2 + d]);
                    if (in) sum += (uint64_t)element(p.x, x) * (uint64_t)element(p.w, w);
                }
    }
    gp_store_as<int64_t>(p.out + i * p.size, p.dtype, (int64_t)sum);
}

/* lead: dims before the spatial ones, 1 or 2. */
static side side_of(const gp_array *a, int rank) {
    side s = {a->data, (gp_dtype)a->dtype, gp_dtype_sizes[a->dtype], {}};
    int lead = a->ndim - rank;
    for (int d = 0; d < lead; d++) s.stride[2 - lead + d] = a->stride[d];
    for (int d = 0; d < rank; d++) s.stride[5 - rank + d] = a->stride[lead + d];
    return s;
}

static plain plain_of(const gp_call *c, const gp_conv &k) {
    const gp_array *out = gp_out(c, 0);
    plain p = {};
    p.k = k;
    p.x = side_of(gp_in(c, 0), k.rank), p.w = side_of(gp_in(c, 1), k.rank);
    if (gp_in(c, 2)) p.bias = *gp_in(c, 2);
    p.out = out->data, p.dtype = (gp_dtype)out->dtype, p.numel = out->numel;
    p.size = gp_dtype_sizes[out->dtype];
    return p;
}

bool gp_conv_plain(const gp_call *c) {
    gp_shape x = gp_array_shape(gp_in(c, 0)), w = gp_array_shape(gp_in(c, 1));
    gp_conv k;
    if (!gp_conv_read(c, &x, &w, &k)) return false;
    plain p = plain_of(c, k);
    return GP_LAUNCH(c, convolve<false>, gp_blocks(p.numel), GP_THREADS, 0, p);
}

bool gp_conv_plain_transposed(const gp_call *c) {
    gp_shape x = gp_array_shape(gp_in(c, 0)), w = gp_array_shape(gp_in(c, 1));
    gp_conv k;
    if (!gp_conv_transpose_read(c, &x, &w, &k)) return false;
    plain p = plain_of(c, k);
    return GP_LAUNCH(c, convolve<true>, gp_blocks(p.numel), GP_THREADS, 0, p);
}
