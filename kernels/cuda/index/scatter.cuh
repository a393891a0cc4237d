/* Writing at indices: see scatter.cu. */
#ifndef GP_CUDA_SCATTER_CUH
#define GP_CUDA_SCATTER_CUH

#include "kernels/cuda/index/gather.cuh"
#include "tensor/infer.h"

/* A write: values broadcast over p's dims (or `number`) into target at p's indices. */
typedef struct gp_scatter_write {
    gp_scatter_op how; /* for GP_MEAN: the mean of the values */
    bool include_self; /* the target's own element counts */
    gp_array target, values;
    bool is_number;
    gp_scalar number;
} gp_scatter_write;

/* Of several writes to one element the last one in row-major order of p's dims stays; sums do not
 * depend on the order of threads. 16-bit floats are computed in f32 and rounded once. Where an
 * index is bad nothing is written. */
bool gp_cuda_scatter(const gp_call *c, const gp_indexed *p, const gp_scatter_write *w);

#endif
