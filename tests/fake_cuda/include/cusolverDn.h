/* cuSOLVER's dense functions as gpush uses them (tests/fake_cuda). */
#ifndef FAKE_CUSOLVERDN_H
#define FAKE_CUSOLVERDN_H

#include <stdint.h>

#include "cublas_v2.h"

#define CUSOLVER_VERSION 12000

typedef enum {
    CUSOLVER_STATUS_SUCCESS = 0,
    CUSOLVER_STATUS_ALLOC_FAILED = 2,
    CUSOLVER_STATUS_INVALID_VALUE = 3
} cusolverStatus_t;
typedef enum { CUSOLVER_EIG_MODE_NOVECTOR = 0, CUSOLVER_EIG_MODE_VECTOR = 1 } cusolverEigMode_t;
typedef struct cusolverDnContext *cusolverDnHandle_t;
typedef struct cusolverDnParams *cusolverDnParams_t;
typedef struct gesvdjInfo *gesvdjInfo_t;
typedef struct syevjInfo *syevjInfo_t;

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif
cusolverStatus_t cusolverGetVersion(int *version);
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *h);
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t h, cudaStream_t s);
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *p);
cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t *p);
cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t *p);
#define FAKE_CUSOLVER(T, P)                                                                        \
    cusolverStatus_t cusolverDn##P##geqrf_bufferSize(cusolverDnHandle_t h, int m, int n, T *a,     \
                                                     int lda, int *lwork);                         \
    cusolverStatus_t cusolverDn##P##geqrf(cusolverDnHandle_t h, int m, int n, T *a, int lda,       \
                                          T *tau, T *work, int lwork, int *info);                  \
    cusolverStatus_t cusolverDn##P##orgqr_bufferSize(                                              \
        cusolverDnHandle_t h, int m, int n, int k, const T *a, int lda, const T *tau, int *lwork); \
    cusolverStatus_t cusolverDn##P##orgqr(cusolverDnHandle_t h, int m, int n, int k, T *a,         \
                                          int lda, const T *tau, T *work, int lwork, int *info);   \
    cusolverStatus_t cusolverDn##P##potrf_bufferSize(cusolverDnHandle_t h, cublasFillMode_t uplo,  \
                                                     int n, T *a, int lda, int *lwork);            \
    cusolverStatus_t cusolverDn##P##potrf(cusolverDnHandle_t h, cublasFillMode_t uplo, int n,      \
                                          T *a, int lda, T *work, int lwork, int *info);           \
    cusolverStatus_t cusolverDn##P##potrfBatched(cusolverDnHandle_t h, cublasFillMode_t uplo,      \
                                                 int n, T *a[], int lda, int *info, int count);    \
    cusolverStatus_t cusolverDn##P##getrf_bufferSize(cusolverDnHandle_t h, int m, int n, T *a,     \
                                                     int lda, int *lwork);                         \
    cusolverStatus_t cusolverDn##P##getrf(cusolverDnHandle_t h, int m, int n, T *a, int lda,       \
                                          T *work, int *pivots, int *info);                        \
    cusolverStatus_t cusolverDn##P##getrs(cusolverDnHandle_t h, cublasOperation_t trans, int n,    \
                                          int sides, const T *a, int lda, const int *pivots, T *b, \
                                          int ldb, int *info);                                     \
    cusolverStatus_t cusolverDn##P##syevd_bufferSize(cusolverDnHandle_t h, cusolverEigMode_t job,  \
                                                     cublasFillMode_t uplo, int n, const T *a,     \
                                                     int lda, const T *w, int *lwork);             \
    cusolverStatus_t cusolverDn##P##syevd(cusolverDnHandle_t h, cusolverEigMode_t job,             \
                                          cublasFillMode_t uplo, int n, T *a, int lda, T *w,       \
                                          T *work, int lwork, int *info);                          \
    cusolverStatus_t cusolverDn##P##syevjBatched_bufferSize(                                       \
        cusolverDnHandle_t h, cusolverEigMode_t job, cublasFillMode_t uplo, int n, const T *a,     \
        int lda, const T *w, int *lwork, syevjInfo_t params, int count);                           \
    cusolverStatus_t cusolverDn##P##syevjBatched(                                                  \
        cusolverDnHandle_t h, cusolverEigMode_t job, cublasFillMode_t uplo, int n, T *a, int lda,  \
        T *w, T *work, int lwork, int *info, syevjInfo_t params, int count);                       \
    cusolverStatus_t cusolverDn##P##gesvd_bufferSize(cusolverDnHandle_t h, int m, int n,           \
                                                     int *lwork);                                  \
    cusolverStatus_t cusolverDn##P##gesvd(                                                         \
        cusolverDnHandle_t h, signed char jobu, signed char jobvt, int m, int n, T *a, int lda,    \
        T *s, T *u, int ldu, T *vt, int ldvt, T *work, int lwork, T *rwork, int *info);            \
    cusolverStatus_t cusolverDn##P##gesvdj_bufferSize(                                             \
        cusolverDnHandle_t h, cusolverEigMode_t job, int econ, int m, int n, const T *a, int lda,  \
        const T *s, const T *u, int ldu, const T *v, int ldv, int *lwork, gesvdjInfo_t params);    \
    cusolverStatus_t cusolverDn##P##gesvdj(                                                        \
        cusolverDnHandle_t h, cusolverEigMode_t job, int econ, int m, int n, T *a, int lda, T *s,  \
        T *u, int ldu, T *v, int ldv, T *work, int lwork, int *info, gesvdjInfo_t params);         \
    cusolverStatus_t cusolverDn##P##gesvdjBatched_bufferSize(                                      \
        cusolverDnHandle_t h, cusolverEigMode_t job, int m, int n, const T *a, int lda,            \
        const T *s, const T *u, int ldu, const T *v, int ldv, int *lwork, gesvdjInfo_t params,     \
        int count);                                                                                \
    cusolverStatus_t cusolverDn##P##gesvdjBatched(                                                 \
        cusolverDnHandle_t h, cusolverEigMode_t job, int m, int n, T *a, int lda, T *s, T *u,      \
        int ldu, T *v, int ldv, T *work, int lwork, int *info, gesvdjInfo_t params, int count);    \
    cusolverStatus_t cusolverDn##P##gesvdaStridedBatched_bufferSize(                               \
        cusolverDnHandle_t h, cusolverEigMode_t job, int rank, int m, int n, const T *a, int lda,  \
        long long sa, const T *s, long long ss, const T *u, int ldu, long long su, const T *v,     \
        int ldv, long long sv, int *lwork, int count);                                             \
    cusolverStatus_t cusolverDn##P##gesvdaStridedBatched(                                          \
        cusolverDnHandle_t h, cusolverEigMode_t job, int rank, int m, int n, const T *a, int lda,  \
        long long sa, T *s, long long ss, T *u, int ldu, long long su, T *v, int ldv,              \
        long long sv, T *work, int lwork, int *info, double *residuals, int count);
FAKE_CUSOLVER(float, S)
FAKE_CUSOLVER(double, D)
#undef FAKE_CUSOLVER
cusolverStatus_t cusolverDnXsyevBatched_bufferSize(cusolverDnHandle_t h, cusolverDnParams_t p,
                                                   cusolverEigMode_t job, cublasFillMode_t uplo,
                                                   int64_t n, cudaDataType ta, const void *a,
                                                   int64_t lda, cudaDataType tw, const void *w,
                                                   cudaDataType compute, size_t *on_device,
                                                   size_t *on_host, int64_t count);
cusolverStatus_t cusolverDnXsyevBatched(cusolverDnHandle_t h, cusolverDnParams_t p,
                                        cusolverEigMode_t job, cublasFillMode_t uplo, int64_t n,
                                        cudaDataType ta, void *a, int64_t lda, cudaDataType tw,
                                        void *w, cudaDataType compute, void *device,
                                        size_t on_device, void *host, size_t on_host, int *info,
                                        int64_t count);
cusolverStatus_t cusolverDnXgeev_bufferSize(cusolverDnHandle_t h, cusolverDnParams_t p,
                                            cusolverEigMode_t left, cusolverEigMode_t right,
                                            int64_t n, cudaDataType ta, const void *a, int64_t lda,
                                            cudaDataType tw, const void *w, cudaDataType tl,
                                            const void *vl, int64_t ldvl, cudaDataType tr,
                                            const void *vr, int64_t ldvr, cudaDataType compute,
                                            size_t *on_device, size_t *on_host);
cusolverStatus_t cusolverDnXgeev(cusolverDnHandle_t h, cusolverDnParams_t p, cusolverEigMode_t left,
                                 cusolverEigMode_t right, int64_t n, cudaDataType ta, void *a,
                                 int64_t lda, cudaDataType tw, void *w, cudaDataType tl, void *vl,
                                 int64_t ldvl, cudaDataType tr, void *vr, int64_t ldvr,
                                 cudaDataType compute, void *device, size_t on_device, void *host,
                                 size_t on_host, int *info);
#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
