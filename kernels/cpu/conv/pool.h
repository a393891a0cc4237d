/* The windows of an output, shared by pooling and its gradients. */
#ifndef GP_CPU_POOL_H
#define GP_CPU_POOL_H

#include "kernels/cpu/runtime/kernel.h"
#include "tensor/ops/conv/conv.h"

/* The inputs of output o in dim d: first, first + dilation … below last, all within the image. For
 * averages `size` is the number of elements in the window, padding included. */
typedef struct gp_window {
    int64_t first, last, size;
} gp_window;

static inline gp_window gp_pool_window(const gp_pool *p, int d, int64_t o) {
    int64_t in = p->in[d];
    if (p->adaptive) {
        int64_t first = o * in / p->out[d], last = ((o + 1) * in + p->out[d] - 1) / p->out[d];
        return (gp_window){first, last, last - first};
    }
    int64_t step = p->dilation[d], first = o * p->stride[d] - p->pad[d],
            last = first + step * (p->kernel[d] - 1) + 1;
    gp_window w = {first, last < in ? last : in, 0};
    w.size = (last < in + p->pad[d] ? last : in + p->pad[d]) - first;
    if (first < 0) w.first = first + (-first + step - 1) / step * step;
    return w;
}

/* Outputs lo … hi - 1 of a row whose tap `tap` lies within the image, at o stride + offset. */
typedef struct gp_tap {
    int64_t lo, hi, offset;
} gp_tap;

static inline gp_tap gp_pool_tap(const gp_pool *p, int64_t tap) {
    int64_t s = p->stride[2], offset = tap * p->dilation[2] - p->pad[2],
            lo = offset < 0 ? (-offset + s - 1) / s : 0,
            hi = p->in[2] > offset ? (p->in[2] - 1 - offset) / s + 1 : 0;
    return (gp_tap){lo, hi < p->out[2] ? hi : p->out[2], offset};
}

/* An average's divisor without the columns' factor, which is the window's size or extent. */
static inline int64_t gp_pool_extent(const gp_pool *p, gp_window w) {
    return p->include_pad && !p->adaptive ? w.size : w.last - w.first;
}

/* divisor[o] for the outputs of row window `rows`, in compute type; 1 where the window is empty. */
#define gp_pool_divisors GP_NAME(gp_pool_divisors)
void gp_pool_divisors(const gp_pool *p, gp_window rows, gp_ctype ct, void *divisor);

/* The steps in bytes of x's images, channels, rows and columns, and its first element of plane
 * i. */
typedef struct gp_plane_strides {
    const char *data;
    int64_t channels, image, channel, row, col;
} gp_plane_strides;
static inline gp_plane_strides gp_pool_plane_strides(const gp_array *x, const gp_pool *p) {
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)x->dtype);
    int n = x->ndim, at = n - p->rank - 1;
    return (gp_plane_strides){.data = x->data,
                              .channels = x->dim[at],
                              .image = p->batched ? x->stride[0] * size : 0,
                              .channel = x->stride[at] * size,
                              .row = p->rank == 2 ? x->stride[n - 2] * size : 0,
                              .col = x->stride[n - 1] * size};
}
static inline const char *gp_plane_at(const gp_plane_strides *s, int64_t plane) {
    return s->data + plane / s->channels * s->image + plane % s->channels * s->channel;
}

#endif
