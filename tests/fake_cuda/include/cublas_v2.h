/* cuBLAS as gpush uses it (tests/fake_cuda). */
#ifndef FAKE_CUBLAS_H
#define FAKE_CUBLAS_H

#include "cuda_runtime_api.h"
#include "library_types.h"

typedef enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_NOT_SUPPORTED = 15
} cublasStatus_t;
typedef enum { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1 } cublasFillMode_t;
typedef enum { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 } cublasDiagType_t;
typedef enum { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 } cublasSideMode_t;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 } cublasOperation_t;
typedef enum {
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
    CUBLAS_COMPUTE_64F = 70
} cublasComputeType_t;
typedef struct cublasContext *cublasHandle_t;

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif
cublasStatus_t cublasCreate_v2(cublasHandle_t *h);
cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t s);
cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value);
#define FAKE_CUBLAS(T, trsm, trsmBatched, getrfBatched, getriBatched)                              \
    cublasStatus_t trsm(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,            \
                        cublasOperation_t trans, cublasDiagType_t diag, int m, int n,              \
                        const T *alpha, const T *a, int lda, T *b, int ldb);                       \
    cublasStatus_t trsmBatched(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,     \
                               cublasOperation_t trans, cublasDiagType_t diag, int m, int n,       \
                               const T *alpha, const T *const a[], int lda, T *const b[], int ldb, \
                               int count);                                                         \
    cublasStatus_t getrfBatched(cublasHandle_t h, int n, T *const a[], int lda, int *pivots,       \
                                int *info, int count);                                             \
    cublasStatus_t getriBatched(cublasHandle_t h, int n, const T *const a[], int lda,              \
                                const int *pivots, T *const c[], int ldc, int *info, int count);
FAKE_CUBLAS(float, cublasStrsm_v2, cublasStrsmBatched, cublasSgetrfBatched, cublasSgetriBatched)
FAKE_CUBLAS(double, cublasDtrsm_v2, cublasDtrsmBatched, cublasDgetrfBatched, cublasDgetriBatched)
#undef FAKE_CUBLAS
#define FAKE_CUBLAS(T, getrsBatched, geqrfBatched)                                                 \
    cublasStatus_t getrsBatched(cublasHandle_t h, cublasOperation_t trans, int n, int sides,       \
                                const T *const a[], int lda, const int *pivots, T *const b[],      \
                                int ldb, int *arguments, int count);                               \
    cublasStatus_t geqrfBatched(cublasHandle_t h, int m, int n, T *const a[], int lda,             \
                                T *const tau[], int *arguments, int count);
FAKE_CUBLAS(float, cublasSgetrsBatched, cublasSgeqrfBatched)
FAKE_CUBLAS(double, cublasDgetrsBatched, cublasDgeqrfBatched)
#undef FAKE_CUBLAS
#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
