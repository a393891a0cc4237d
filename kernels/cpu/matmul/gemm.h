/* Products of row-major matrices in either precision, for blocked factorizations. */
#ifndef GP_CPU_GEMM_H
#define GP_CPU_GEMM_H

#include "kernels/blas/blas.h"
#include "kernels/cpu/runtime/kernel.h"

/* c = op(a) op(b) + beta c; ta, tb: op transposes. On as many threads as the caller set. */
#define GP_GEMM(T, t, gemm, first)                                                                 \
    static inline void gp_gemm_##t(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const T *a,  \
                                   int64_t lda, const T *b, int64_t ldb, T beta, T *c,             \
                                   int64_t ldc) {                                                  \
        if (first) return;                                                                         \
        gemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,        \
             (int)m, (int)n, (int)k, 1, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);              \
    }
/* oneDNN's is faster, but may refuse. */
GP_GEMM(float, f32, gp_blas->cblas_sgemm, gp_sgemm(ta, tb, m, n, k, a, lda, b, ldb, beta, c, ldc))
GP_GEMM(double, f64, gp_blas->cblas_dgemm, false)
#undef GP_GEMM

#endif
