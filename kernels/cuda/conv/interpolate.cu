/* interpolate and its gradient: an output blends up to two inputs per dim; backward, an input sums
 * the gradients of the outputs that it went into, in their order. Limit: images' bytes at the speed
 * of memory, adjacent ones coming from the caches. */
#include "kernels/cuda/runtime/rows.cuh"
extern "C" {
#include "tensor/ops/conv/conv.h"
}

/* Planes that a thread has the same pixel of: what it computes for one serves all. */
enum { PLANES = 8 };

/* Output i of a dim is w0 times input i0 plus w1 times input i1; nearest: input i0. */
template <class T> struct taps {
    int64_t i0, i1;
    T w0, w1;
};

typedef struct resize_params {
    gp_resize s;
    const char *x;
    char *out;                   /* contiguous */
    int64_t channels, stride[5]; /* x's, in bytes: image, channel, depth, row, column */
    bool flat;                   /* all planes of x are one channel's stride apart */
    gp_wide_divider by[3];       /* the sizes of a plane of the output */
    gp_dtype dt, xt;
} resize_params;

/* Positions are computed in the compute type, as PyTorch does: rounding decides which input is
 * nearest. */
template <class T> __device__ static taps<T> taps_of(const gp_resize &s, int d, int64_t o) {
    T scale = (T)s.scale[d];
    bool middle = s.linear ? !s.align : s.exact;
    T at = middle ? ((T)o + (T)0.5) * scale - (s.linear ? (T)0.5 : 0) : (T)o * scale;
    if (at < 0) at = 0;
    int64_t last = s.in[d] - 1, i0 = at < (T)last ? (int64_t)at : last;
    T w1 = at - (T)i0;
    if (!s.linear) return taps<T>{i0, i0, 1, 0};
    if (w1 > 1) w1 = 1;
    return taps<T>{i0, i0 < last ? i0 + 1 : i0, 1 - w1, w1};
}

/* This thread's pixel `e` of an image of the given sizes, its position, and its planes: `many` of
 * them from `first` on, many 0 where it has none. x: their data; where there are fewer, that of the
 * first again. */
struct gp_pixel_planes {
    int64_t e, size, at[3], first;
    int many;
    const char *x[PLANES];
    __device__ gp_pixel_planes(const resize_params &r, const int64_t *sizes, uint32_t blocks) {
        uint32_t group = blockIdx.x / blocks;
        e = (int64_t)(blockIdx.x - group * blocks) * GP_THREADS + threadIdx.x;
        size = sizes[0] * sizes[1] * sizes[2], first = (int64_t)group * PLANES, many = 0;
        if (e >= size) return;
        many = r.s.planes - first < PLANES ? (int)(r.s.planes - first) : (int)PLANES;
        int64_t i = e;
#pragma unroll
        for (int d = 2; d >= 0; d--) {
            at[d] = i;
            i = gp_divide(r.by[d], &at[d]);
        }
        int64_t image = 0;
#pragma unroll
        for (int k = 0; k < PLANES; k++) {
            int64_t plane = first + (k < many ? k : 0);
            if (!r.flat) image = gp_divided(plane, r.channels), plane -= image * r.channels;
            x[k] = r.x + image * r.stride[0] + plane * r.stride[1];
        }
    }
    /* The elements of all planes at `off` bytes from their beginning. */
    template <class T>
    __device__ void get(const resize_params &r, int64_t off, T (&v)[PLANES]) const {
        const char *p[PLANES];
#pragma unroll
        for (int k = 0; k < PLANES; k++) p[k] = x[k] + off;
        gp_load_at<T, PLANES>(p, r.xt, v);
    }
    template <class T> __device__ void store(const resize_params &r, const T (&v)[PLANES]) const {
#pragma unroll
        for (int k = 0; k < PLANES; k++)
            if (k < many)
                gp_store_as<T>(r.out + ((first + k) * size + e) * gp_bytes_of(r.dt), r.dt, v[k]);
    }
};

template <class T>
static __global__ void __launch_bounds__(GP_THREADS) forward(resize_params r, uint32_t blocks) {
    gp_pixel_planes own(r, r.s.out, blocks);
    if (!own.many) return;
    taps<T> p[3];
    T sum[PLANES] = {}, v[PLANES];
    for (int d = 0; d < 3; d++) p[d] = taps_of<T>(r.s, d, own.at[d]);
    for (int k = 0; k < 8; k++) {
        T w = (k & 4 ? p[0].w1 : p[0].w0) * (k & 2 ? p[1].w1 : p[1].w0);
        if ((!r.s.linear && k) || (k & 6 && w == 0) || (k & 1 && p[2].w1 == 0)) continue;
        own.get(r,
                (k & 4 ? p[0].i1 : p[0].i0) * r.stride[2] +
                    (k & 2 ? p[1].i1 : p[1].i0) * r.stride[3] +
                    (k & 1 ? p[2].i1 : p[2].i0) * r.stride[4],
                v);
        T by = w * (k & 1 ? p[2].w1 : p[2].w0);
#pragma unroll
        for (int q = 0; q < PLANES; q++) sum[q] = r.s.linear ? sum[q] + by * v[q] : v[q];
    }
    own.store(r, sum);
}

/* The first output of dim d whose i0 is at least i: i0 never decreases. */
template <class T> __device__ static int64_t first_from(const gp_resize &s, int d, int64_t i) {
    int64_t lo = 0, hi = s.out[d];
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (taps_of<T>(s, d, mid).i0 < i) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

/* The weight of input i in output o of dim d. */
template <class T> __device__ static T weight(const gp_resize &s, int d, int64_t o, int64_t i) {
    taps<T> p = taps_of<T>(s, d, o);
    return (p.i0 == i ? p.w0 : 0) + (p.i1 == i ? p.w1 : 0);
}

/* x is the incoming gradient, out the image's. */
template <class T>
static __global__ void __launch_bounds__(GP_THREADS) backward(resize_params r, uint32_t blocks) {
    gp_pixel_planes own(r, r.s.in, blocks);
    int64_t from[3], end[3];
    T sum[PLANES] = {}, v[PLANES];
    if (!own.many) return;
    for (int d = 0; d < 3; d++) {
        from[d] = first_from<T>(r.s, d, own.at[d] - r.s.linear);
        end[d] = first_from<T>(r.s, d, own.at[d] + 1);
    }
    for (int64_t z = from[0]; z < end[0]; z++)
        for (int64_t y = from[1]; y < end[1]; y++) {
            T w = weight<T>(r.s, 0, z, own.at[0]) * weight<T>(r.s, 1, y, own.at[1]);
            if (w == 0) continue;
            for (int64_t k = from[2]; k < end[2]; k++) {
                T by = w * weight<T>(r.s, 2, k, own.at[2]);
                own.get(r, z * r.stride[2] + y * r.stride[3] + k * r.stride[4], v);
#pragma unroll
                for (int q = 0; q < PLANES; q++) sum[q] += by * v[q];
            }
        }
    own.store(r, sum);
}

static resize_params resize_params_of(const gp_array *x, const gp_array *out) {
    resize_params r = {};
    r.x = x->data, r.out = out->data, r.channels = x->dim[1];
    r.xt = (gp_dtype)x->dtype, r.dt = (gp_dtype)out->dtype;
    r.stride[0] = gp_step(x, 0), r.stride[1] = gp_step(x, 1);
    for (int d = 2; d < x->ndim; d++) r.stride[5 - (x->ndim - d)] = gp_step(x, d);
    return r;
}

/* sizes: of a plane of the output. */
static bool launch(const gp_call *c, resize_params *r, const int64_t *sizes,
                   void (*kernel)(resize_params, uint32_t)) {
    int64_t size = sizes[0] * sizes[1] * sizes[2];
    uint32_t blocks = gp_blocks(size);
    for (int d = 0; d < 3; d++) r->by[d] = gp_divide_up_to(size, sizes[d]);
    r->flat = r->s.planes == r->channels || r->stride[0] == r->channels * r->stride[1];
    return GP_LAUNCH(c, kernel, (uint32_t)((r->s.planes + PLANES - 1) / PLANES) * blocks,
                     GP_THREADS, 0, *r, blocks);
}

GP_C bool CUDA(interpolate)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0);
    resize_params r = resize_params_of(x, out);
    gp_shape shape = gp_array_shape(x);
    if (out->numel == 0) return true;
    return gp_resize_read(c, &shape, NULL, &r.s) &&
           launch(c, &r, r.s.out, r.xt == GP_f64 ? forward<double> : forward<float>);
}

GP_C bool CUDA(interpolate_grad)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0);
    resize_params r = resize_params_of(x, out);
    gp_shape size = gp_ints_shape(c, 1);
    if (out->numel == 0) return true;
    return gp_resize_read(c, &size, x->dim + 2, &r.s) &&
           launch(c, &r, r.s.in, r.xt == GP_f64 ? backward<double> : backward<float>);
}
