/* Convolutions, transposed ones and their gradients by plain sums: a thread for each output, a
 * block for each weight. Integers are computed in i64 and truncated to their width, so that sums
 * wrap; f16 and bf16 in f32. Used for integers, without cuDNN, and for what cuDNN refuses: it is
 * correct for any layout, and not fast. */
#include "kernels/cuda/conv/plain.h"
#include "kernels/cuda/runtime/loop.cuh"
#include "kernels/cuda/runtime/rows.cuh"

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

template <class T> __device__ static T element(const side &s, const int64_t *at) {
    int64_t i = 0;
    for (int d = 0; d < 5; d++) i += at[d] * s.stride[d];
    return gp_load_as<T>(s.data + i * s.size, s.dtype);
}

/* A place in an operand: elements from its first. */
struct operand_offsets {
    int64_t x, w;
    __device__ operand_offsets on(const side &xs, const side &ws, int d, int64_t at,
                                  int64_t tap) const {
        return operand_offsets{x + at * xs.stride[d], w + tap * ws.stride[d]};
    }
};

/* s + a b; integers wrap. */
template <class T> __device__ static T added(T s, T a, T b) { return s + a * b; }
__device__ static int64_t added(int64_t s, int64_t a, int64_t b) {
    return (int64_t)((uint64_t)s + (uint64_t)a * (uint64_t)b);
}

/* Whether tap t of dim d for output o is within the input; its index is *at. A transposed
 * convolution's output gets the tap of those inputs that k, the convolution, computes from it. */
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

template <class T, bool transposed> __global__ static void convolve(plain p) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (i >= p.numel) return;
    const gp_conv &k = p.k;
    const int64_t *size = transposed ? k.in : k.out;
    int64_t to[3], rest = i;
    for (int d = 2; d >= 0; d--) to[d] = rest % size[d], rest /= size[d];
    int64_t outputs = transposed ? k.channels : k.filters,
            inputs = transposed ? k.filters : k.channels;
    int64_t o = rest % outputs, group = o / (outputs / k.groups), many = inputs / k.groups;
    int64_t image = rest / outputs, at[3];
    const gp_array &bias = p.bias;
    T sum = 0;
    if (bias.data)
        sum = gp_load_as<T>(bias.data + o * bias.stride[0] * gp_bytes_of((gp_dtype)bias.dtype),
                            (gp_dtype)bias.dtype);
    for (int64_t c = 0; c < many; c++) {
        int64_t input = group * many + c, out = o % (outputs / k.groups);
        operand_offsets first = operand_offsets{0, 0}
                                    .on(p.x, p.w, 0, image, transposed ? input : o)
                                    .on(p.x, p.w, 1, input, transposed ? out : c);
        for (int64_t t0 = 0; t0 < k.kernel[0]; t0++) {
            if (!reaches(k, transposed, 0, to[0], t0, &at[0])) continue;
            operand_offsets slice = first.on(p.x, p.w, 2, at[0], t0);
            for (int64_t t1 = 0; t1 < k.kernel[1]; t1++) {
                if (!reaches(k, transposed, 1, to[1], t1, &at[1])) continue;
                operand_offsets row = slice.on(p.x, p.w, 3, at[1], t1);
                for (int64_t t2 = 0; t2 < k.kernel[2]; t2++) {
                    if (!reaches(k, transposed, 2, to[2], t2, &at[2])) continue;
                    operand_offsets e = row.on(p.x, p.w, 4, at[2], t2);
                    sum = added(sum, gp_load_as<T>(p.x.data + e.x * p.x.size, p.x.dtype),
                                gp_load_as<T>(p.w.data + e.w * p.w.size, p.w.dtype));
                }
            }
        }
    }
    gp_store_as<T>(p.out + i * p.size, p.dtype, sum);
}

/* Computes the block's weight: the sum over all images and outputs of the gradient (p.x) times the
 * element of the image (p.w) that its tap reaches. */
template <class T> __global__ static void weigh(plain p) {
    const gp_conv &k = p.k;
    int64_t tap[3], rest = blockIdx.x, per = k.channels / k.groups,
                    positions = k.out[0] * k.out[1] * k.out[2];
    for (int d = 2; d >= 0; d--) tap[d] = rest % k.kernel[d], rest /= k.kernel[d];
    int64_t filter = rest / per, channel = filter / (k.filters / k.groups) * per + rest % per;
    T sum = 0;
    for (int64_t i = threadIdx.x; i < k.images * positions; i += blockDim.x) {
        int64_t y[5] = {i / positions, filter}, x[5] = {i / positions, channel}, at = i % positions;
        bool in = true;
        for (int d = 2; d >= 0; d--) {
            y[2 + d] = at % k.out[d], at /= k.out[d];
            in = reaches(k, false, d, y[2 + d], tap[d], &x[2 + d]) && in;
        }
        if (in) sum += element<T>(p.x, y) * element<T>(p.w, x);
    }
    sum = gp_group_reduce(sum, blockDim.x, gp_add());
    if (threadIdx.x == 0) gp_store_as<T>(p.out + blockIdx.x * p.size, p.dtype, sum);
}

static side side_of(const gp_array *a, int rank) {
    side s = {a->data, (gp_dtype)a->dtype, gp_dtype_sizes[a->dtype], {}};
    int lead = a->ndim - rank;
    for (int d = 0; d < lead; d++) s.stride[2 - lead + d] = a->stride[d];
    for (int d = 0; d < rank; d++) s.stride[5 - rank + d] = a->stride[lead + d];
    return s;
}

static plain plain_of(const gp_call *c, const gp_conv *k, const gp_array *bias) {
    const gp_array *out = gp_out(c, 0);
    plain p = {};
    p.k = *k;
    p.x = side_of(gp_in(c, 0), k->rank), p.w = side_of(gp_in(c, 1), k->rank);
    if (bias) p.bias = *bias;
    p.out = out->data, p.dtype = (gp_dtype)out->dtype, p.numel = out->numel;
    p.size = gp_dtype_sizes[out->dtype];
    return p;
}

template <class T>
static bool launch_convolution(const gp_call *c, const plain *p, bool transposed) {
    auto kernel = transposed ? convolve<T, true> : convolve<T, false>;
    return GP_LAUNCH(c, kernel, gp_blocks(p->numel), GP_THREADS, 0, *p);
}
static bool run_any(const gp_call *c, const plain *p, bool transposed) {
    if (!gp_is_float(p->dtype)) return launch_convolution<int64_t>(c, p, transposed);
    return p->dtype == GP_f64 ? launch_convolution<double>(c, p, transposed)
                              : launch_convolution<float>(c, p, transposed);
}

bool gp_conv_plain(const gp_call *c, const gp_conv *k) {
    plain p = plain_of(c, k, gp_in(c, 2));
    return run_any(c, &p, false);
}

bool gp_conv_plain_image(const gp_call *c, const gp_array *bias, const gp_conv *k) {
    plain p = plain_of(c, k, bias);
    return run_any(c, &p, true);
}

bool gp_conv_plain_weight(const gp_call *c, const gp_conv *k) {
    plain p = plain_of(c, k, NULL);
    auto kernel = p.dtype == GP_f64 ? weigh<double> : weigh<float>;
    return GP_LAUNCH(c, kernel, (uint32_t)p.numel, GP_THREADS, 0, p);
}
