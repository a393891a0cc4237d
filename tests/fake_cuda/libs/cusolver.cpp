// A stand-in for cuSOLVER: the functions that gpush uses, by LAPACK, in stream order. The workspace
// must be as large as was asked for; matrices wider than tall are refused where the real one
// refuses them.
#include "cusolverDn.h"

#include <cstring>

#include "fake_cuda.h"
#include "lapack.h"

struct cusolverDnContext {
    cudaStream_t stream = nullptr;
};

static cusolverStatus_t queue(cusolverDnHandle_t h, const char *name, bool fits,
                              std::function<void()> work) {
    return fits && fake::enqueue(h->stream, name, work) == cudaSuccess
               ? CUSOLVER_STATUS_SUCCESS
               : CUSOLVER_STATUS_INVALID_VALUE;
}
static cusolverStatus_t ask(int *lwork, int n) {
    *lwork = n;
    return CUSOLVER_STATUS_SUCCESS;
}
static char fill(cublasFillMode_t uplo) { return uplo == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U'; }

// gesvdj gives V, LAPACK its transpose.
template <class T>
static void jacobi(bool econ, int m, int n, T *a, int lda, T *s, T *u, int ldu, T *v, int ldv,
                   int *info) {
    std::vector<T> vt((size_t)n * n);
    lapack::gesvd(econ ? 'S' : 'A', econ ? 'S' : 'A', m, n, a, lda, s, u, ldu, vt.data(), n, info);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) v[i + (size_t)j * ldv] = vt[j + (size_t)i * n];
}

template <class T>
static void symmetric(cusolverEigMode_t job, cublasFillMode_t uplo, int n, T *a, int lda, T *w,
                      int *info, int64_t count) {
    char j = job == CUSOLVER_EIG_MODE_VECTOR ? 'V' : 'N';
    for (int64_t i = 0; i < count; i++)
        lapack::syev(j, fill(uplo), n, a + i * n * lda, lda, w + i * n, info + i);
}

template <class T>
static void general(bool vectors, int n, void *a, int lda, void *w, void *v, int ldv, int *info) {
    T *at = (T *)w;
    lapack::geev(vectors ? 'V' : 'N', n, (T *)a, lda, at, at + n, (T *)v, ldv, info);
}

extern "C" {
cusolverStatus_t cusolverGetVersion(int *version) { return ask(version, CUSOLVER_VERSION); }
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t *h) {
    if (!fakeLibraryMemory(4 << 20, true)) return CUSOLVER_STATUS_ALLOC_FAILED;
    *h = new cusolverDnContext;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t h, cudaStream_t s) {
    h->stream = s;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t *p) {
    *p = (cusolverDnParams_t) new int;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t *p) {
    *p = (gesvdjInfo_t) new int;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnCreateSyevjInfo(syevjInfo_t *p) {
    *p = (syevjInfo_t) new int;
    return CUSOLVER_STATUS_SUCCESS;
}

#define FAKE_CUSOLVER(T, P)                                                                        \
    cusolverStatus_t cusolverDn##P##geqrf_bufferSize(cusolverDnHandle_t, int, int n, T *, int,     \
                                                     int *lwork) {                                 \
        return ask(lwork, n);                                                                      \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##geqrf(cusolverDnHandle_t h, int m, int n, T *a, int lda,       \
                                          T *tau, T *work, int lwork, int *info) {                 \
        return queue(h, "fake_geqrf", work && lwork >= n,                                          \
                     [=] { lapack::geqrf(m, n, a, lda, tau, info); });                             \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##orgqr_bufferSize(cusolverDnHandle_t, int, int n, int,          \
                                                     const T *, int, const T *, int *lwork) {      \
        return ask(lwork, n);                                                                      \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##orgqr(cusolverDnHandle_t h, int m, int n, int k, T *a,         \
                                          int lda, const T *tau, T *work, int lwork, int *info) {  \
        return queue(h, "fake_orgqr", work && lwork >= n,                                          \
                     [=] { lapack::orgqr(m, n, k, a, lda, tau, info); });                          \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##potrf_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int n,  \
                                                     T *, int, int *lwork) {                       \
        return ask(lwork, n);                                                                      \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##potrf(cusolverDnHandle_t h, cublasFillMode_t uplo, int n,      \
                                          T *a, int lda, T *work, int lwork, int *info) {          \
        return queue(h, "fake_potrf", work && lwork >= n,                                          \
                     [=] { lapack::potrf(fill(uplo), n, a, lda, info); });                         \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##potrfBatched(cusolverDnHandle_t h, cublasFillMode_t uplo,      \
                                                 int n, T *a[], int lda, int *info, int count) {   \
        return queue(h, "fake_potrf_batched", true, [=] {                                          \
            for (int i = 0; i < count; i++) lapack::potrf(fill(uplo), n, a[i], lda, info + i);     \
        });                                                                                        \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##getrf_bufferSize(cusolverDnHandle_t, int, int n, T *, int,     \
                                                     int *lwork) {                                 \
        return ask(lwork, n);                                                                      \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##getrf(cusolverDnHandle_t h, int m, int n, T *a, int lda,       \
                                          T *work, int *pivots, int *info) {                       \
        return queue(h, "fake_getrf", work, [=] { lapack::getrf(m, n, a, lda, pivots, info); });   \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##getrs(cusolverDnHandle_t h, cublasOperation_t trans, int n,    \
                                          int sides, const T *a, int lda, const int *pivots, T *b, \
                                          int ldb, int *info) {                                    \
        char t = trans == CUBLAS_OP_N ? 'N' : 'T';                                                 \
        return queue(h, "fake_getrs", true,                                                        \
                     [=] { lapack::getrs(t, n, sides, a, lda, pivots, b, ldb, info); });           \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##syevd_bufferSize(cusolverDnHandle_t, cusolverEigMode_t,        \
                                                     cublasFillMode_t, int n, const T *, int,      \
                                                     const T *, int *lwork) {                      \
        return ask(lwork, n);                                                                      \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##syevd(cusolverDnHandle_t h, cusolverEigMode_t job,             \
                                          cublasFillMode_t uplo, int n, T *a, int lda, T *w,       \
                                          T *work, int lwork, int *info) {                         \
        char j = job == CUSOLVER_EIG_MODE_VECTOR ? 'V' : 'N';                                      \
        return queue(h, "fake_syevd", work && lwork >= n,                                          \
                     [=] { lapack::syev(j, fill(uplo), n, a, lda, w, info); });                    \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##syevjBatched_bufferSize(                                       \
        cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int n, const T *, int, const T *, \
        int *lwork, syevjInfo_t, int count) {                                                      \
        return ask(lwork, n * count);                                                              \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##syevjBatched(                                                  \
        cusolverDnHandle_t h, cusolverEigMode_t job, cublasFillMode_t uplo, int n, T *a, int lda,  \
        T *w, T *work, int lwork, int *info, syevjInfo_t params, int count) {                      \
        return queue(h, "fake_syevj_batched", work && lwork >= n * count && params,                \
                     [=] { symmetric(job, uplo, n, a, lda, w, info, count); });                    \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##gesvd_bufferSize(cusolverDnHandle_t, int, int n, int *lwork) { \
        return ask(lwork, n);                                                                      \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##gesvd(cusolverDnHandle_t h, signed char ju, signed char jv,    \
                                          int m, int n, T *a, int lda, T *s, T *u, int ldu, T *vt, \
                                          int ldvt, T *work, int lwork, T *, int *info) {          \
        return queue(h, "fake_gesvd", work && lwork >= n && m >= n, [=] {                          \
            T none;                                                                                \
            lapack::gesvd(ju, jv, m, n, a, lda, s, u ? u : &none, ldu, vt ? vt : &none, ldvt,      \
                          info);                                                                   \
        });                                                                                        \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##gesvdj_bufferSize(                                             \
        cusolverDnHandle_t, cusolverEigMode_t, int, int, int n, const T *, int, const T *,         \
        const T *, int, const T *, int, int *lwork, gesvdjInfo_t) {                                \
        return ask(lwork, n);                                                                      \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##gesvdj(                                                        \
        cusolverDnHandle_t h, cusolverEigMode_t job, int econ, int m, int n, T *a, int lda, T *s,  \
        T *u, int ldu, T *v, int ldv, T *work, int lwork, int *info, gesvdjInfo_t params) {        \
        bool fits = params && work && lwork >= n && m >= n && job == CUSOLVER_EIG_MODE_VECTOR;     \
        return queue(h, "fake_gesvdj", fits,                                                       \
                     [=] { jacobi(econ != 0, m, n, a, lda, s, u, ldu, v, ldv, info); });           \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##gesvdjBatched_bufferSize(                                      \
        cusolverDnHandle_t, cusolverEigMode_t, int, int n, const T *, int, const T *, const T *,   \
        int, const T *, int, int *lwork, gesvdjInfo_t, int) {                                      \
        return ask(lwork, n);                                                                      \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##gesvdjBatched(                                                 \
        cusolverDnHandle_t h, cusolverEigMode_t job, int m, int n, T *a, int lda, T *s, T *u,      \
        int ldu, T *v, int ldv, T *work, int lwork, int *info, gesvdjInfo_t params, int count) {   \
        bool fits = params && work && lwork >= n && m <= 32 && n <= m && lda == m && ldu == m &&   \
                    ldv == n && job == CUSOLVER_EIG_MODE_VECTOR;                                   \
        return queue(h, "fake_gesvdjBatched", fits, [=] {                                          \
            for (int i = 0; i < count; i++)                                                        \
                jacobi(false, m, n, a + i * m * n, m, s + i * n, u + i * m * m, m, v + i * n * n,  \
                       n, info + i);                                                               \
        });                                                                                        \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##gesvdaStridedBatched_bufferSize(                               \
        cusolverDnHandle_t, cusolverEigMode_t, int, int, int n, const T *, int, long long,         \
        const T *, long long, const T *, int, long long, const T *, int, long long, int *lwork,    \
        int) {                                                                                     \
        return ask(lwork, n);                                                                      \
    }                                                                                              \
    cusolverStatus_t cusolverDn##P##gesvdaStridedBatched(                                          \
        cusolverDnHandle_t h, cusolverEigMode_t job, int rank, int m, int n, const T *a, int lda,  \
        long long sa, T *s, long long ss, T *u, int ldu, long long su, T *v, int ldv,              \
        long long sv, T *work, int lwork, int *info, double *residuals, int count) {               \
        bool fits = work && lwork >= n && m >= n && rank == n && lda == m && !residuals &&         \
                    job == CUSOLVER_EIG_MODE_VECTOR;                                               \
        return queue(h, "fake_gesvdaStridedBatched", fits, [=] {                                   \
            for (int i = 0; i < count; i++) {                                                      \
                std::vector<T> kept(a + i * sa, a + i * sa + (size_t)m * n);                       \
                jacobi(true, m, n, kept.data(), m, s + i * ss, u + i * su, ldu, v + i * sv, ldv,   \
                       info + i);                                                                  \
            }                                                                                      \
        });                                                                                        \
    }
FAKE_CUSOLVER(float, S)
FAKE_CUSOLVER(double, D)

cusolverStatus_t cusolverDnXsyevBatched_bufferSize(cusolverDnHandle_t, cusolverDnParams_t,
                                                   cusolverEigMode_t, cublasFillMode_t, int64_t n,
                                                   cudaDataType, const void *, int64_t,
                                                   cudaDataType, const void *, cudaDataType,
                                                   size_t *on_device, size_t *on_host, int64_t) {
    *on_device = *on_host = (size_t)n * 8;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnXsyevBatched(cusolverDnHandle_t h, cusolverDnParams_t p,
                                        cusolverEigMode_t job, cublasFillMode_t uplo, int64_t n,
                                        cudaDataType ta, void *a, int64_t lda, cudaDataType tw,
                                        void *w, cudaDataType compute, void *device,
                                        size_t on_device, void *host, size_t on_host, int *info,
                                        int64_t count) {
    bool fits = p && device && host && on_device >= (size_t)n * 8 && on_host >= (size_t)n * 8 &&
                ta == tw && tw == compute;
    return queue(h, "fake_syev_batched", fits, [=] {
        if (ta == CUDA_R_64F)
            symmetric(job, uplo, (int)n, (double *)a, (int)lda, (double *)w, info, count);
        else symmetric(job, uplo, (int)n, (float *)a, (int)lda, (float *)w, info, count);
    });
}

cusolverStatus_t cusolverDnXgeev_bufferSize(cusolverDnHandle_t, cusolverDnParams_t,
                                            cusolverEigMode_t, cusolverEigMode_t, int64_t n,
                                            cudaDataType, const void *, int64_t, cudaDataType,
                                            const void *, cudaDataType, const void *, int64_t,
                                            cudaDataType, const void *, int64_t, cudaDataType,
                                            size_t *on_device, size_t *on_host) {
    *on_device = *on_host = (size_t)n * 8;
    return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnXgeev(cusolverDnHandle_t h, cusolverDnParams_t, cusolverEigMode_t left,
                                 cusolverEigMode_t right, int64_t n, cudaDataType ta, void *a,
                                 int64_t lda, cudaDataType tw, void *w, cudaDataType, void *,
                                 int64_t, cudaDataType tr, void *vr, int64_t ldvr,
                                 cudaDataType compute, void *device, size_t on_device, void *host,
                                 size_t on_host, int *info) {
    bool vectors = right == CUSOLVER_EIG_MODE_VECTOR,
         fits = left == CUSOLVER_EIG_MODE_NOVECTOR && device && host &&
                on_device >= (size_t)n * 8 && on_host >= (size_t)n * 8 && ta == tw && tw == tr &&
                tr == compute;
    memset(host, 0, on_host);
    return queue(h, "fake_geev", fits, [=] {
        memset(host, 1, on_host); // it is still there
        if (ta == CUDA_R_64F) general<double>(vectors, (int)n, a, (int)lda, w, vr, (int)ldvr, info);
        else general<float>(vectors, (int)n, a, (int)lda, w, vr, (int)ldvr, info);
    });
}
}
