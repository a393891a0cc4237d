/* Least squares by LAPACK: gels (QR, full rank), gelsy (QR with pivots), gelsd and gelss (SVD). */
#include <cblas.h>
#include <float.h>
#include <string.h>

#include "kernels/cpu/linalg/batch.h"

/* The last argument of gels is the length of the string. */
#define LAPACK(T, gels, gelsy, gelsd, gelss)                                                       \
    void gels(const char *trans, const int *m, const int *n, const int *k, T *a, const int *lda,   \
              T *b, const int *ldb, T *work, const int *lwork, int *info, size_t);                 \
    void gelsy(const int *m, const int *n, const int *k, T *a, const int *lda, T *b,               \
               const int *ldb, int *jpvt, const T *rcond, int *rank, T *work, const int *lwork,    \
               int *info);                                                                         \
    void gelsd(const int *m, const int *n, const int *k, T *a, const int *lda, T *b,               \
               const int *ldb, T *s, const T *rcond, int *rank, T *work, const int *lwork,         \
               int *iwork, int *info);                                                             \
    void gelss(const int *m, const int *n, const int *k, T *a, const int *lda, T *b,               \
               const int *ldb, T *s, const T *rcond, int *rank, T *work, const int *lwork,         \
               int *info);
LAPACK(float, sgels_, sgelsy_, sgelsd_, sgelss_)
LAPACK(double, dgels_, dgelsy_, dgelsd_, dgelss_)

/* flag: 's' gels, 'y', 'd', 'S' gelss; r->k: the smaller of m and n. */
typedef struct parts {
    int64_t a, b, s, work; /* elements */
    int iwork;             /* integers */
} parts;

/* Runs the driver, or with lwork -1 asks for the sizes of its working memory. */
#define LSTSQ(T, t, p, gels, gelsy, gelsd, gelss, eps)                                             \
    static int driver_##t(const gp_lapack *r, T *a, T *b, T *s, int *rank, T *tmp, int lwork,      \
                          int *iwork) {                                                            \
        int info = 0, m = r->m, n = r->n, sides = r->b.cols, ldb = m > n ? m : n;                  \
        T rcond = r->c->arg[2].kind == GP_NONE ? (T)(eps * ldb) : (T)r->c->arg[2].f;               \
        switch (r->flag) {                                                                         \
        case 's': gels("N", &m, &n, &sides, a, &m, b, &ldb, tmp, &lwork, &info, 1); break;         \
        case 'y':                                                                                  \
            gelsy(&m, &n, &sides, a, &m, b, &ldb, iwork, &rcond, rank, tmp, &lwork, &info);        \
            break;                                                                                 \
        case 'd':                                                                                  \
            gelsd(&m, &n, &sides, a, &m, b, &ldb, s, &rcond, rank, tmp, &lwork, iwork, &info);     \
            break;                                                                                 \
        default: gelss(&m, &n, &sides, a, &m, b, &ldb, s, &rcond, rank, tmp, &lwork, &info);       \
        }                                                                                          \
        return info;                                                                               \
    }                                                                                              \
    static bool sizes_##t(const gp_lapack *r, parts *to) {                                         \
        T none[1] = {0}, best = 0;                                                                 \
        int rank = 0, iwork[1] = {0}, ldb = r->m > r->n ? r->m : r->n;                             \
        if (driver_##t(r, none, none, none, &rank, &best, -1, iwork) || best > 0x7fffff00)         \
            return false;                                                                          \
        int64_t whole = (int64_t)best;                                                             \
        *to = (parts){(int64_t)r->m * r->n, (int64_t)ldb * r->b.cols, r->k,                        \
                      whole + whole / 8388608 + 1, r->flag == 'd' ? iwork[0] : r->n};              \
        return true;                                                                               \
    }                                                                                              \
    /* The drivers leave them for matrices of full rank only, so they are formed from b - a x. */  \
    static void residuals_##t(const gp_lapack *r, int64_t i, T *a, T *b, const T *x) {             \
        int64_t m = r->m, n = r->n, sides = r->b.cols;                                             \
        T *o = (T *)gp_out(r->c, 1)->data + i * sides;                                             \
        gp_gather(a, n, &r->a, i);                                                                 \
        gp_gather(b, sides, &r->b, i);                                                             \
        memset(o, 0, (size_t)sides * sizeof(T));                                                   \
        if (!sides) return;                                                                        \
        cblas_##p##gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)m, (int)sides, (int)n, -1, \
                        a, (int)n, x, (int)sides, 1, b, (int)sides);                               \
        for (int64_t k = 0; k < m * sides; k++) o[k % sides] += b[k] * b[k];                       \
    }                                                                                              \
    static gp_verdict lstsq_##t(const gp_lapack *r, int64_t i, char *work) {                       \
        int m = r->m, n = r->n, sides = r->b.cols, ldb = m > n ? m : n, rank = 0;                  \
        parts q;                                                                                   \
        if (!sizes_##t(r, &q)) return GP_REFUSED;                                                  \
        T *a = (T *)work, *b = a + q.a, *s = b + q.b, *tmp = s + q.s;                              \
        T *x = (T *)gp_out(r->c, 0)->data + (int64_t)i * n * sides;                                \
        int *iwork = (int *)(tmp + q.work);                                                        \
        memset(b, 0, (size_t)q.b * sizeof(T));                                                     \
        memset(iwork, 0, (size_t)q.iwork * sizeof(int));                                           \
        gp_gather_columns(a, m, &r->a, i);                                                         \
        gp_gather_columns(b, ldb, &r->b, i);                                                       \
        if (!gp_finite(a, q.a, sizeof(T)) || !gp_finite(b, q.b, sizeof(T))) return GP_NOT_FINITE;  \
        int info = driver_##t(r, a, b, s, &rank, tmp, (int)q.work, iwork);                         \
        if (info) return gp_verdict_of(info);                                                      \
        gp_transpose_copy(x, b, ldb, n, sides, sizeof(T));                                                   \
        if (r->flag != 's') ((int64_t *)gp_out(r->c, 2)->data)[i] = rank;                          \
        if (r->flag == 'd' || r->flag == 'S')                                                      \
            memcpy((T *)gp_out(r->c, 3)->data + (int64_t)i * r->k, s, (size_t)r->k * sizeof(T));   \
        if (m > n) residuals_##t(r, i, a, b, x);                                                   \
        return GP_FINE;                                                                            \
    }                                                                                              \
    static int64_t bytes_##t(const gp_lapack *r) {                                                 \
        parts q;                                                                                   \
        if (!sizes_##t(r, &q)) return -1;                                                          \
        return (q.a + q.b + q.s + q.work) * (int64_t)sizeof(T) + q.iwork * (int64_t)sizeof(int);   \
    }
LSTSQ(float, f32, s, sgels_, sgelsy_, sgelsd_, sgelss_, FLT_EPSILON)
LSTSQ(double, f64, d, dgels_, dgelsy_, dgelsd_, dgelss_, DBL_EPSILON)

static void clear(const gp_array *x) {
    memset(x->data, 0, (size_t)x->numel * gp_dtype_size((gp_dtype)x->dtype));
}

/* Without rows or columns of a: x is 0, and what is left over is b. */
static bool nothing(const gp_lapack *r) {
    const gp_array *left = gp_out(r->c, 1);
    for (int o = 0; o < 4; o++) clear(gp_out(r->c, o));
    for (int64_t i = 0; i < r->count && r->m > r->n; i++)
        for (int64_t k = 0; k < r->m; k++)
            for (int64_t j = 0; j < r->b.cols; j++) {
                gp_dtype dt = (gp_dtype)left->dtype;
                char *o = left->data + (i * r->b.cols + j) * r->b.size;
                double v = gp_scalar_load(dt, gp_matrix_at(&r->b, i) + k * r->b.rs + j * r->b.cs).f;
                gp_scalar sum = {.is_float = true, .f = gp_scalar_load(dt, o).f + v * v};
                gp_scalar_store(dt, o, sum);
            }
    return true;
}

bool CPU(linalg_lstsq)(const gp_call *c) {
    gp_lapack r = gp_lapack_equations(c, true);
    r.trouble = c->arg[3].s[4] ? "has singular values to which the iteration did not converge"
                               : "has not full rank, which driver 'gels' needs";
    r.flag = !c->arg[3].s[4] ? 's' : c->arg[3].s[4] == 's' ? 'S' : c->arg[3].s[4];
    if (r.k == 0) return nothing(&r);
    r.bytes = r.a.size == 4 ? bytes_f32(&r) : bytes_f64(&r);
    if (r.bytes < 0) return gp_fail("linalg.lstsq: the matrix is too large for LAPACK");
    r.flops *= 4;
    r.one = r.a.size == 4 ? lstsq_f32 : lstsq_f64;
    return gp_lapack_run(&r);
}
