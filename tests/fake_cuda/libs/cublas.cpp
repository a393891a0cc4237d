// A stand-in for cuBLAS: the functions that gpush uses, by LAPACK, in stream order.
#include "cublas_v2.h"

#include <cstring>

#include "fake_cuda.h"
#include "lapack.h"

struct cublasContext {
    cudaStream_t stream = nullptr;
};

static cublasStatus_t queue(cublasHandle_t h, const char *name, std::function<void()> work) {
    return fake::enqueue(h->stream, name, work) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                                               : CUBLAS_STATUS_INVALID_VALUE;
}

// The options of a triangular solve besides its matrices.
struct how {
    char side, uplo, trans, diag;
    int m, n, lda, ldb;
};
static how how_of(cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,
                  cublasDiagType_t diag, int m, int n, int lda, int ldb) {
    return {side == CUBLAS_SIDE_LEFT ? 'L' : 'R',
            uplo == CUBLAS_FILL_MODE_LOWER ? 'L' : 'U',
            trans == CUBLAS_OP_N ? 'N' : 'T',
            diag == CUBLAS_DIAG_UNIT ? 'U' : 'N',
            m,
            n,
            lda,
            ldb};
}
template <class T> static void solve(const how &w, T alpha, const T *a, T *b) {
    lapack::trsm(w.side, w.uplo, w.trans, w.diag, w.m, w.n, alpha, a, w.lda, b, w.ldb);
}

template <class T>
static void inverse(int n, const T *a, int lda, const int *pivots, T *c, int ldc, int *info) {
    for (int j = 0; j < n; j++)
        memcpy(c + (size_t)j * ldc, a + (size_t)j * lda, (size_t)n * sizeof(T));
    lapack::getri(n, c, ldc, pivots, info);
}

extern "C" {
cublasStatus_t cublasCreate_v2(cublasHandle_t *h) {
    if (!fakeLibraryMemory(4 << 20, true)) return CUBLAS_STATUS_ALLOC_FAILED;
    *h = new cublasContext;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t s) {
    h->stream = s;
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetProperty(libraryPropertyType type, int *value) {
    *value = type == MAJOR_VERSION ? 13 : 0;
    return CUBLAS_STATUS_SUCCESS;
}

#define FAKE_CUBLAS(T, trsm, trsmBatched, getrfBatched, getriBatched)                              \
    cublasStatus_t trsm(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,            \
                        cublasOperation_t trans, cublasDiagType_t diag, int m, int n,              \
                        const T *alpha, const T *a, int lda, T *b, int ldb) {                      \
        how w = how_of(side, uplo, trans, diag, m, n, lda, ldb);                                   \
        return queue(h, "fake_trsm", [=, f = *alpha] { solve(w, f, a, b); });                      \
    }                                                                                              \
    cublasStatus_t trsmBatched(cublasHandle_t h, cublasSideMode_t side, cublasFillMode_t uplo,     \
                               cublasOperation_t trans, cublasDiagType_t diag, int m, int n,       \
                               const T *alpha, const T *const a[], int lda, T *const b[], int ldb, \
                               int count) {                                                        \
        how w = how_of(side, uplo, trans, diag, m, n, lda, ldb);                                   \
        return queue(h, "fake_trsm_batched", [=, f = *alpha] {                                     \
            for (int i = 0; i < count; i++) solve(w, f, a[i], b[i]);                               \
        });                                                                                        \
    }                                                                                              \
    cublasStatus_t getrfBatched(cublasHandle_t h, int n, T *const a[], int lda, int *pivots,       \
                                int *info, int count) {                                            \
        return queue(h, "fake_getrf_batched", [=] {                                                \
            for (int i = 0; i < count; i++)                                                        \
                lapack::getrf(n, n, a[i], lda, pivots + i * n, info + i);                          \
        });                                                                                        \
    }                                                                                              \
    cublasStatus_t getriBatched(cublasHandle_t h, int n, const T *const a[], int lda,              \
                                const int *pivots, T *const c[], int ldc, int *info, int count) {  \
        return queue(h, "fake_getri_batched", [=] {                                                \
            for (int i = 0; i < count; i++)                                                        \
                inverse(n, a[i], lda, pivots + i * n, c[i], ldc, info + i);                        \
        });                                                                                        \
    }
FAKE_CUBLAS(float, cublasStrsm_v2, cublasStrsmBatched, cublasSgetrfBatched, cublasSgetriBatched)
FAKE_CUBLAS(double, cublasDtrsm_v2, cublasDtrsmBatched, cublasDgetrfBatched, cublasDgetriBatched)

#undef FAKE_CUBLAS
#define FAKE_CUBLAS(T, getrsBatched, geqrfBatched)                                                 \
    cublasStatus_t getrsBatched(cublasHandle_t h, cublasOperation_t trans, int n, int sides,       \
                                const T *const a[], int lda, const int *pivots, T *const b[],      \
                                int ldb, int *arguments, int count) {                              \
        char op = trans == CUBLAS_OP_N ? 'N' : 'T';                                                \
        *arguments = 0; /* the host's: the matrices' own infos were getrf's */                     \
        return queue(h, "fake_getrs_batched", [=] {                                                \
            int info;                                                                              \
            for (int i = 0; i < count; i++)                                                        \
                lapack::getrs(op, n, sides, a[i], lda, pivots + i * n, b[i], ldb, &info);          \
        });                                                                                        \
    }                                                                                              \
    cublasStatus_t geqrfBatched(cublasHandle_t h, int m, int n, T *const a[], int lda,             \
                                T *const tau[], int *arguments, int count) {                       \
        *arguments = 0;                                                                            \
        return queue(h, "fake_geqrf_batched", [=] {                                                \
            int info;                                                                              \
            for (int i = 0; i < count; i++) lapack::geqrf(m, n, a[i], lda, tau[i], &info);         \
        });                                                                                        \
    }
FAKE_CUBLAS(float, cublasSgetrsBatched, cublasSgeqrfBatched)
FAKE_CUBLAS(double, cublasDgetrsBatched, cublasDgeqrfBatched)
}
