/* One product of matrices on a CUDA device, for the ops that are made of them. */
#ifndef GP_CUDA_MATMUL_H
#define GP_CUDA_MATMUL_H

#include "kernels/cuda/runtime/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Workspace that calls of one op share; initially {NULL, 0}. */
typedef struct gp_scratch_block {
    void *data;
    size_t bytes;
} gp_scratch_block;

/* out (m x n, rows ld apart) = alpha a b + beta out + bias, for each of `batch` matrices; a is m x
 * k, b is k x n, by strides in elements. dtype: of a and b; to: of out and bias (n elements, or
 * NULL), the same, or f32 where a and b have 16 bits. f16 and bf16 are accumulated in f32 and
 * rounded once. With beta 0 out is not read. */
typedef struct gp_product {
    gp_dtype dtype, to;
    int64_t m, n, k, batch;
    const char *a, *b, *bias;
    int64_t a_rs, a_cs, a_batch, b_rs, b_cs, b_batch;
    char *out;
    int64_t ld, out_batch, size, to_size; /* bytes of an element of a and b; of out */
    gp_scalar alpha, beta;
    gp_scratch_block *scratch; /* for several consecutive products; else NULL */
} gp_product;

/* Queues it: by cuBLASLt where that can read the operands in place, else by a plain kernel. */
bool gp_cuda_product(const gp_call *c, const gp_product *p);
/* The plain kernel, for any dtype and strides: 16 x 16 tiles, 2 k m n operations at the rate of the
 * cores without tensor cores. */
bool gp_cuda_plain_product(const gp_call *c, const gp_product *p);
/* A product of dense matrices of one dtype with alpha 1; the caller fills in the rest. */
static inline gp_product gp_product_of(gp_dtype dt, int64_t m, int64_t n, int64_t k) {
    gp_product p;
    memset(&p, 0, sizeof p);
    p.dtype = p.to = dt, p.m = m, p.n = n, p.k = k, p.batch = 1, p.ld = n;
    p.a_rs = k, p.a_cs = 1, p.b_rs = n, p.b_cs = 1;
    p.size = p.to_size = (int64_t)gp_dtype_size(dt);
    p.alpha.i = 1;
    return p;
}

#ifdef __cplusplus
}
#endif
#endif
