/* Planes of images by their strides, and windows, shared by pooling and its gradients on a CUDA
 * device. */
#ifndef GP_CUDA_POOL_CUH
#define GP_CUDA_POOL_CUH

#include "kernels/cuda/runtime/rows.cuh"
extern "C" {
#include "tensor/ops/conv/conv.h"
}

/* Sizes of the last two dims: rows (0) and columns (1). */
struct gp_windows {
    bool adaptive, include_pad;
    int64_t divisor; /* of averages; 0: the window's size */
    int64_t in[2], kernel[2], stride[2], pad[2], dilation[2], out[2];
    gp_wide_divider by_in[2], by_out[2],
        by_stride[2]; /* by_stride: of places in the padded image */
};
static inline gp_windows gp_windows_of(const gp_pool *p) {
    gp_windows w;
    w.adaptive = p->adaptive, w.include_pad = p->include_pad, w.divisor = p->divisor;
    for (int d = 0; d < 2; d++) {
        w.in[d] = p->in[d + 1], w.kernel[d] = p->kernel[d + 1], w.stride[d] = p->stride[d + 1];
        w.pad[d] = p->pad[d + 1], w.dilation[d] = p->dilation[d + 1], w.out[d] = p->out[d + 1];
        int64_t most = (w.in[d] + 1) * (w.out[d] + 1); /* of what adaptive windows divide */
        w.by_in[d] = gp_divide_up_to(most, w.in[d]), w.by_out[d] = gp_divide_up_to(most, w.out[d]);
        w.by_stride[d] = gp_divide_up_to(w.in[d] + w.pad[d] + w.stride[d], w.stride[d]);
    }
    return w;
}

/* Elements of planes of rows x cols, n in all. */
struct gp_pixels {
    int64_t n;
    gp_wide_divider rows, cols;
};
static inline gp_pixels gp_pixels_of(int64_t n, const int64_t (&size)[2]) {
    return {n, gp_divide_up_to(n, size[0]), gp_divide_up_to(n, size[1])};
}
/* The plane, row and column of this thread's element, whose number it returns; -1 where it has
 * none. */
__device__ static inline int64_t gp_pixel(const gp_pixels &p, int64_t *plane, int64_t *y,
                                          int64_t *x) {
    int64_t i = *x = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (i >= p.n) return -1;
    *y = gp_divide(p.cols, x);
    *plane = gp_divide(p.rows, y);
    return i;
}

/* The inputs of output o in dim d: first, first + dilation … below last, all within the image.
 * size: the number of elements in the window, padding included. */
struct gp_span {
    int64_t first, last, size;
};
__device__ static inline gp_span gp_span_of(const gp_windows &p, int d, int64_t o) {
    int64_t in = p.in[d];
    gp_span w;
    if (p.adaptive) {
        w.first = gp_quotient(p.by_out[d], o * in);
        w.last = gp_quotient(p.by_out[d], (o + 1) * in + p.out[d] - 1);
        w.size = w.last - w.first;
        return w;
    }
    int64_t step = p.dilation[d], first = o * p.stride[d] - p.pad[d],
            last = first + step * (p.kernel[d] - 1) + 1;
    w.size = (last < in + p.pad[d] ? last : in + p.pad[d]) - first;
    w.first = first < 0 ? first + (-first + step - 1) / step * step : first;
    w.last = last < in ? last : in;
    return w;
}

/* The divisor of an average over this window; 1 where the window is empty. */
template <class T>
__device__ static inline T gp_divisor(const gp_windows &p, gp_span rows, gp_span cols) {
    if (rows.last <= rows.first || cols.last <= cols.first) return 1;
    if (p.divisor) return (T)p.divisor;
    bool padded = p.include_pad && !p.adaptive;
    return padded ? (T)(rows.size * cols.size)
                  : (T)((rows.last - rows.first) * (cols.last - cols.first));
}

/* Planes of an array: steps in elements. */
struct gp_plane {
    const char *data;
    gp_dtype dtype;
    int64_t size, channels, image, channel, row, col;
};
static inline gp_plane gp_plane_of(const gp_array *x, const gp_pool *p) {
    int n = x->ndim, at = n - p->rank - 1;
    gp_plane s;
    s.data = x->data, s.dtype = (gp_dtype)x->dtype, s.size = gp_dtype_sizes[x->dtype];
    s.channels = x->dim[at];
    s.image = p->batched ? x->stride[0] : 0, s.channel = x->stride[at];
    s.row = p->rank == 2 ? x->stride[n - 2] : 0, s.col = x->stride[n - 1];
    return s;
}
/* The first element of plane `plane`, and one of a plane's elements. */
__device__ static inline const char *gp_plane_at(const gp_plane &s, int64_t plane) {
    int64_t image = gp_divided(plane, s.channels), channel = plane - image * s.channels;
    return s.data + (image * s.image + channel * s.channel) * s.size;
}
template <class T>
__device__ static inline T gp_plane_get(const gp_plane &s, const char *plane, int64_t y,
                                        int64_t x) {
    return gp_load_as<T>(plane + (y * s.row + x * s.col) * s.size, s.dtype);
}

#endif
