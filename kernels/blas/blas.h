/* The libraries of linear algebra as a table of functions: BLAS, LAPACK and oneDNN. They are linked
 * to the plug-in libgpush_blas.so, which is loaded when an op first needs them: their symbols take
 * the dynamic linker longer than all else that happens when gpush starts. */
#ifndef GP_BLAS_H
#define GP_BLAS_H

#include <cblas.h>
#include <dnnl.h>
#include <stdbool.h>
#include <stddef.h>

/* LAPACK's functions of type T, whose names begin with p, as https://netlib.org/lapack describes
 * them. Matrices are column-major; the last arguments, of size_t, are the lengths of the strings.
 */
/* Eigenvalues of symmetric matrices, as a whole and in steps, and of others. */
#define EIGENVALUES(T, p)                                                                          \
    void p##syevd_(const char *jobz, const char *uplo, const int *n, T *a, const int *lda, T *w,   \
                   T *work, const int *lwork, int *iwork, const int *liwork, int *info, size_t,    \
                   size_t);                                                                        \
    void p##sytrd_(const char *uplo, const int *n, T *a, const int *lda, T *d, T *e, T *tau,       \
                   T *work, const int *lwork, int *info, size_t);                                  \
    void p##stedc_(const char *compz, const int *n, T *d, T *e, T *z, const int *ldz, T *work,     \
                   const int *lwork, int *iwork, const int *liwork, int *info, size_t);            \
    void p##geev_(const char *jobvl, const char *jobvr, const int *n, T *a, const int *lda, T *wr, \
                  T *wi, T *vl, const int *ldvl, T *vr, const int *ldvr, T *work,                  \
                  const int *lwork, int *info, size_t, size_t);
EIGENVALUES(float, s)
EIGENVALUES(double, d)
#undef EIGENVALUES

/* QR, Cholesky, LU, and what follows from that. */
#define FACTORS(T, p)                                                                              \
    void p##geqrf_(const int *m, const int *n, T *a, const int *lda, T *tau, T *work,              \
                   const int *lwork, int *info);                                                   \
    void p##orgqr_(const int *m, const int *n, const int *k, T *a, const int *lda, const T *tau,   \
                   T *work, const int *lwork, int *info);                                          \
    void p##potrf_(const char *uplo, const int *n, T *a, const int *lda, int *info, size_t);       \
    void p##getrf_(const int *m, const int *n, T *a, const int *lda, int *ipiv, int *info);        \
    void p##getri_(const int *n, T *a, const int *lda, const int *ipiv, T *work, const int *lwork, \
                   int *info);                                                                     \
    void p##getrs_(const char *trans, const int *n, const int *nrhs, const T *a, const int *lda,   \
                   const int *ipiv, T *b, const int *ldb, int *info, size_t);
FACTORS(float, s)
FACTORS(double, d)
#undef FACTORS

/* Singular values, those of a bidiagonal matrix, the product with its reflectors. */
#define SINGULAR_VALUES(T, p)                                                                      \
    void p##gesdd_(const char *jobz, const int *m, const int *n, T *a, const int *lda, T *s, T *u, \
                   const int *ldu, T *vt, const int *ldvt, T *work, const int *lwork, int *iwork,  \
                   int *info, size_t);                                                             \
    void p##bdsdc_(const char *uplo, const char *compq, const int *n, T *d, T *e, T *u,            \
                   const int *ldu, T *vt, const int *ldvt, T *q, int *iq, T *work, int *iwork,     \
                   int *info, size_t, size_t);                                                     \
    void p##ormbr_(const char *vect, const char *side, const char *trans, const int *m,            \
                   const int *n, const int *k, T *a, const int *lda, const T *tau, T *c,           \
                   const int *ldc, T *work, const int *lwork, int *info, size_t, size_t, size_t);
SINGULAR_VALUES(float, s)
SINGULAR_VALUES(double, d)
#undef SINGULAR_VALUES

/* Least squares by QR, and by QR with pivots. */
#define LEAST_SQUARES(T, p)                                                                        \
    void p##gels_(const char *trans, const int *m, const int *n, const int *k, T *a,               \
                  const int *lda, T *b, const int *ldb, T *work, const int *lwork, int *info,      \
                  size_t);                                                                         \
    void p##gelsy_(const int *m, const int *n, const int *k, T *a, const int *lda, T *b,           \
                   const int *ldb, int *jpvt, const T *rcond, int *rank, T *work,                  \
                   const int *lwork, int *info);
LEAST_SQUARES(float, s)
LEAST_SQUARES(double, d)
#undef LEAST_SQUARES

/* Least squares by singular values, in two ways. */
#define LEAST_SQUARES_SVD(T, p)                                                                    \
    void p##gelsd_(const int *m, const int *n, const int *k, T *a, const int *lda, T *b,           \
                   const int *ldb, T *s, const T *rcond, int *rank, T *work, const int *lwork,     \
                   int *iwork, int *info);                                                         \
    void p##gelss_(const int *m, const int *n, const int *k, T *a, const int *lda, T *b,           \
                   const int *ldb, T *s, const T *rcond, int *rank, T *work, const int *lwork,     \
                   int *info);
LEAST_SQUARES_SVD(float, s)
LEAST_SQUARES_SVD(double, d)
#undef LEAST_SQUARES_SVD

/* Choose OpenBLAS's kernels again; only in builds of it for many processors. */
void gotoblas_dynamic_init(void);
void gotoblas_dynamic_quit(void);
char *gotoblas_corename(void);

typedef struct gp_blas_table {
#define F(name) __typeof__(name) *name;
#define G(name) F(name)
#include "kernels/blas/blas.def"
} gp_blas_table;

/* What the plug-in exports, under the name "gp_blas_functions". */
extern const gp_blas_table gp_blas_functions;

/* The table; NULL until gp_blas_open has returned true. */
extern const gp_blas_table *gp_blas;

/* Loads the plug-in and chooses OpenBLAS's kernels; cheap once it is there. Every kernel that calls
 * gp_blas asks first. False, with the loader's reason as the error, where it cannot be loaded. */
bool gp_blas_open(void);

/* The function of LAPACK, or CBLAS, for the type with suffix t: LAPACK(getrf) is sgetrf or dgetrf.
 * For templates of kernels/common/floats.inc. */
#define GP_LETTER_f32 s
#define GP_LETTER_f64 d
#define GP_LAPACK2(letter, name) gp_blas->letter##name##_
#define GP_LAPACK1(letter, name) GP_LAPACK2(letter, name)
#define LAPACK(name) GP_LAPACK1(GP_TYPED(GP_LETTER, t), name)
#define GP_CBLAS2(letter, name) gp_blas->cblas_##letter##name
#define GP_CBLAS1(letter, name) GP_CBLAS2(letter, name)
#define CBLAS(name) GP_CBLAS1(GP_TYPED(GP_LETTER, t), name)

#endif
