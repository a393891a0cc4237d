/* Sizes of convolutions, pooling and interpolation, shared by their shape rules and kernels. */
#ifndef GP_CONV_H
#define GP_CONV_H

#include "tensor/op.h"

/* Spatial dims of the kernels: depth, rows, columns. Ops with fewer have leading sizes of 1. */
enum { GP_SPATIAL = 3 };

/* A convolution of images of `in` elements to images of `out` elements; paddings in elements. A
 * transposed convolution is described by the convolution whose input gradient it is: its own input
 * has size out and `filters` channels. */
typedef struct gp_conv {
    int rank;     /* spatial dims that the op has */
    bool batched; /* there is a batch dim */
    int64_t images, channels, filters, groups;
    int64_t in[GP_SPATIAL], kernel[GP_SPATIAL], stride[GP_SPATIAL], dilation[GP_SPATIAL],
        before[GP_SPATIAL], behind[GP_SPATIAL], out[GP_SPATIAL];
} gp_conv;

/* Reads a call with stride, padding, dilation and groups in arguments 3 to 6, for images of shape x
 * and a weight of shape w. False with a message where they do not match. */
bool gp_conv_read(const gp_call *c, const gp_shape *x, const gp_shape *w, gp_conv *k);
/* The same for a transposed convolution: arguments stride, padding, output_padding, groups,
 * dilation; x is its input, w is input channels x output channels per group x kernel. */
bool gp_conv_transpose_read(const gp_call *c, const gp_shape *x, const gp_shape *w, gp_conv *k);

/* A pooling over the last dims: rows and columns (of the three above; the first is unused). */
typedef struct gp_pool {
    int rank;
    bool batched, adaptive, include_pad;
    int64_t planes;  /* images x channels */
    int64_t divisor; /* of averages; 0: the window's size */
    int64_t in[GP_SPATIAL], kernel[GP_SPATIAL], stride[GP_SPATIAL], pad[GP_SPATIAL],
        dilation[GP_SPATIAL], out[GP_SPATIAL];
} gp_pool;

/* These read calls on images of shape x; false with a message where the arguments do not match. Max
 * pooling: kernel_size, stride, padding, dilation and ceil_mode in arguments from `first`. */
bool gp_pool_read_max(const gp_call *c, const gp_shape *x, int rank, int first, gp_pool *p);
/* Average pooling: kernel_size, stride, padding, ceil_mode, count_include_pad and divisor_override
 * in arguments from `first`. */
bool gp_pool_read_avg(const gp_call *c, const gp_shape *x, int rank, int first, gp_pool *p);
/* Adaptive pooling: windows that divide x among outputs of spatial size `out` (rank entries or
 * one). */
bool gp_pool_read_adaptive(const gp_call *c, const gp_shape *x, int rank, const int64_t *out, int n,
                           gp_pool *p);

/* Resampling of the spatial dims of images x channels x …: each output takes one input, or blends
   two neighbours in each dim. */
typedef struct gp_resize {
    int rank;
    bool linear, exact, align; /* exact: nearest-exact, which takes pixel centres */
    int64_t planes, in[GP_SPATIAL], out[GP_SPATIAL];
    double scale[GP_SPATIAL]; /* inputs per output */
} gp_resize;

/* Reads scale_factor, mode and align_corners in arguments 2 to 4 for images of shape x. `out`: the
 * spatial sizes of the result, or NULL where arguments 1 (size) and 2 give them. False with a
 * message where they do not match. */
bool gp_resize_read(const gp_call *c, const gp_shape *x, const int64_t *out, gp_resize *r);

/* Reads integer argument i into the last `rank` of three dims, one value being repeated; the
 * leading dims get `absent`. False with a message unless it has 1 or rank entries of at least
 * `least`. */
bool gp_spatial_ints(const gp_call *c, int i, const char *name, int rank, int64_t least,
                     int64_t absent, int64_t out[GP_SPATIAL]);
/* The last `rank` of three sizes as a shape. */
gp_shape gp_spatial_shape(int rank, const int64_t size[GP_SPATIAL]);

/* As gp_tensor_shape, for kernels, which have only the array. */
static inline gp_shape gp_array_shape(const gp_array *a) {
    gp_shape s;
    s.ndim = a->ndim;
    for (int d = 0; d < a->ndim; d++) s.dim[d] = a->dim[d];
    return s;
}
/* The shape in integer argument i. */
static inline gp_shape gp_ints_shape(const gp_call *c, int i) {
    gp_shape s;
    const int64_t *v = gp_ints(c, i, &s.ndim);
    for (int d = 0; d < s.ndim && d < GP_MAX_DIM; d++) s.dim[d] = v[d];
    return s;
}

#endif
