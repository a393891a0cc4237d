// LAPACK and BLAS under one name for f32 and f64, for stand-in libraries.
#ifndef FAKE_LAPACK_H
#define FAKE_LAPACK_H

#include <cstddef>
#include <vector>

typedef const int *I;
typedef const char *C;
extern "C" {
#define DECLARE(T, p)                                                                              \
    void p##geqrf_(I m, I n, T *a, I lda, T *tau, T *work, I lwork, int *info);                    \
    void p##orgqr_(I m, I n, I k, T *a, I lda, const T *tau, T *work, I lwork, int *info);         \
    void p##potrf_(C uplo, I n, T *a, I lda, int *info, size_t);                                   \
    void p##getrf_(I m, I n, T *a, I lda, int *pivots, int *info);                                 \
    void p##getri_(I n, T *a, I lda, I pivots, T *work, I lwork, int *info);                       \
    void p##getrs_(C trans, I n, I sides, const T *a, I lda, I pivots, T *b, I ldb, int *info,     \
                   size_t);                                                                        \
    void p##syev_(C job, C uplo, I n, T *a, I lda, T *w, T *work, I lwork, int *info, size_t,      \
                  size_t);                                                                         \
    void p##gesvd_(C ju, C jv, I m, I n, T *a, I lda, T *s, T *u, I ldu, T *vt, I ldvt, T *work,   \
                   I lwork, int *info, size_t, size_t);                                            \
    void p##geev_(C jl, C jr, I n, T *a, I lda, T *wr, T *wi, T *vl, I ldvl, T *vr, I ldvr,        \
                  T *work, I lwork, int *info, size_t, size_t);                                    \
    void p##trsm_(C side, C uplo, C trans, C diag, I m, I n, const T *alpha, const T *a, I lda,    \
                  T *b, I ldb, size_t, size_t, size_t, size_t);
DECLARE(float, s)
DECLARE(double, d)
}

namespace lapack {
#define OVERLOADS(T, p)                                                                            \
    inline void geqrf(int m, int n, T *a, int lda, T *tau, int *info) {                            \
        int lwork = 64 * n + 64;                                                                   \
        std::vector<T> work((size_t)lwork);                                                        \
        p##geqrf_(&m, &n, a, &lda, tau, work.data(), &lwork, info);                                \
    }                                                                                              \
    inline void orgqr(int m, int n, int k, T *a, int lda, const T *tau, int *info) {               \
        int lwork = 64 * n + 64;                                                                   \
        std::vector<T> work((size_t)lwork);                                                        \
        p##orgqr_(&m, &n, &k, a, &lda, tau, work.data(), &lwork, info);                            \
    }                                                                                              \
    inline void potrf(char uplo, int n, T *a, int lda, int *info) {                                \
        p##potrf_(&uplo, &n, a, &lda, info, 1);                                                    \
    }                                                                                              \
    inline void getrf(int m, int n, T *a, int lda, int *pivots, int *info) {                       \
        p##getrf_(&m, &n, a, &lda, pivots, info);                                                  \
    }                                                                                              \
    inline void getri(int n, T *a, int lda, I pivots, int *info) {                                 \
        int lwork = 64 * n + 64;                                                                   \
        std::vector<T> work((size_t)lwork);                                                        \
        p##getri_(&n, a, &lda, pivots, work.data(), &lwork, info);                                 \
    }                                                                                              \
    inline void getrs(char trans, int n, int sides, const T *a, int lda, I pivots, T *b, int ldb,  \
                      int *info) {                                                                 \
        p##getrs_(&trans, &n, &sides, a, &lda, pivots, b, &ldb, info, 1);                          \
    }                                                                                              \
    inline void syev(char job, char uplo, int n, T *a, int lda, T *w, int *info) {                 \
        int lwork = 66 * n + 64;                                                                   \
        std::vector<T> work((size_t)lwork);                                                        \
        p##syev_(&job, &uplo, &n, a, &lda, w, work.data(), &lwork, info, 1, 1);                    \
    }                                                                                              \
    inline void gesvd(char ju, char jv, int m, int n, T *a, int lda, T *s, T *u, int ldu, T *vt,   \
                      int ldvt, int *info) {                                                       \
        int lwork = 64 * (m + n) + 64;                                                             \
        std::vector<T> work((size_t)lwork);                                                        \
        p##gesvd_(&ju, &jv, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work.data(), &lwork, info, 1,  \
                  1);                                                                              \
    }                                                                                              \
    inline void geev(char jr, int n, T *a, int lda, T *wr, T *wi, T *vr, int ldvr, int *info) {    \
        int lwork = 64 * n + 64, one = 1;                                                          \
        std::vector<T> work((size_t)lwork);                                                        \
        p##geev_("N", &jr, &n, a, &lda, wr, wi, vr, &one, vr, &ldvr, work.data(), &lwork, info, 1, \
                 1);                                                                               \
    }                                                                                              \
    inline void trsm(char side, char uplo, char trans, char diag, int m, int n, T alpha,           \
                     const T *a, int lda, T *b, int ldb) {                                         \
        p##trsm_(&side, &uplo, &trans, &diag, &m, &n, &alpha, a, &lda, b, &ldb, 1, 1, 1, 1);       \
    }
OVERLOADS(float, s)
OVERLOADS(double, d)
} // namespace lapack

#endif
