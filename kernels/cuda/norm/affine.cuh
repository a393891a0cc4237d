/* What layer_norm, rms_norm, group_norm and batch_norm share: the sums from which rows or channels
 * are normalised and their gradients found, and what kernels of rows are given. */
#ifndef GP_CUDA_AFFINE_CUH
#define GP_CUDA_AFFINE_CUH

#include "kernels/cuda/norm/lines.cuh"
extern "C" {
#include "tensor/ops/norm.h"
}

typedef struct gp_norm_rows {
    gp_norm k;
    const char *weight, *bias; /* contiguous channels, or NULL */
    gp_dtype wt, bt;
    double *mean, *scale; /* of each row, for the gradients of weight and bias */
    int64_t row0;         /* the number of the launch's first row */
} gp_norm_rows;

/* Of elements x and their gradients v: x's number, mean and squared distances from it; the sum of
 * v, and of v times x's distance. Where all means are 0, that of v x. */
template <class T> struct gp_norm_sums {
    gp_moments<T> x;
    T v, vd;
    __device__ void join(const gp_norm_sums<T> &b) {
        gp_moments<T> all = x;
        all.join(b.x);
        vd += b.vd + v * (x.mean - all.mean) + b.v * (b.x.mean - all.mean);
        v += b.v, x = all;
    }
};

/* The sums of the first `many` of N elements, the others being 0; v: their gradients, or x. */
template <class T, int N>
__device__ static gp_norm_sums<T> gp_norm_sums_of(const T (&x)[N], const T (&v)[N], int many,
                                                  bool centred) {
    gp_norm_sums<T> a = {{(T)many, 0, 0}, 0, 0};
#pragma unroll
    for (int e = 0; e < N; e++) a.x.mean += x[e], a.v += v[e];
    a.x.mean = centred ? a.x.mean / (T)many : 0;
#pragma unroll
    for (int e = 0; e < N; e++) {
        T distance = e < many ? x[e] - a.x.mean : 0;
        a.x.m2 += distance * distance, a.vd += v[e] * distance;
    }
    return a;
}

/* `rows` rows of n of a's elements, which are contiguous, by their first ones. */
static inline gp_array gp_rows_at(const gp_array *a, int64_t rows, int64_t n) {
    gp_array r = {};
    r.data = a->data, r.dtype = a->dtype, r.ndim = 1;
    r.numel = r.dim[0] = rows, r.stride[0] = n;
    return r;
}

/* Queues the gradients of the weight and bias of layer_norm or rms_norm into outputs 1 and 2 of c,
 * from x, g, mean and scale of all rows. False with a message. */
bool gp_norm_affine_gradients(const gp_call *c, const gp_norm_rows *r, const gp_array *x,
                              const gp_array *g);

/* Queues the sums of `chunks` chunks, each of which has all channels' gradients of weight, then
 * those of bias, into outputs 1 and 2 of c. False with a message. */
bool gp_norm_join_channels(const gp_call *c, const gp_norm_rows *r, const double *part,
                           int64_t chunks);

/* Queues all three gradients of group_norm into the outputs of c. False with a message. */
bool gp_norm_group_gradients(const gp_call *c, const gp_norm_rows *r, const gp_array *out,
                             const gp_array *x, const gp_array *g);

#endif
