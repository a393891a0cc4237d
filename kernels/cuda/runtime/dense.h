/* Dense arrays for libraries on a CUDA device. */
#ifndef GP_CUDA_DENSE_H
#define GP_CUDA_DENSE_H

#include "kernels/cuda/layout/copy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether p is a multiple of 16 bytes: many of the libraries' kernels read that much at once
 * without checking, and a view may begin anywhere. */
static inline bool gp_cuda_aligned(const void *p) { return (uintptr_t)p % 16 == 0; }
/* x as a dense, aligned row-major array of dtype dt in *to: x itself where it is one, else scratch
 * of this call. */
bool gp_cuda_dense(const gp_call *c, const gp_array *x, gp_dtype dt, gp_array *to);

/* A dense array of `ndim` dims at p. */
static inline gp_array gp_dense_over(void *p, gp_dtype dt, int ndim, const int64_t *dim) {
    gp_array a;
    memset(&a, 0, sizeof a);
    a.data = (char *)p, a.dtype = (uint8_t)dt, a.ndim = (uint8_t)ndim, a.contiguous = true;
    a.numel = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        a.dim[d] = dim[d];
        a.stride[d] = a.numel;
        a.numel *= dim[d];
    }
    return a;
}

#ifdef __cplusplus
}
#endif
#endif
