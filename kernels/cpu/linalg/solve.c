/* Inverses, determinants and systems of equations by LAPACK, lu.c and inverse.c. A matrix that lies
 * row by row is to LAPACK its transpose M = P L U: where that serves as well, nothing is copied in
 * another order. */
#include <cblas.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/linalg/inverse.h"
#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lu.h"

/* LAPACK's LU and what is done with it. The last argument of getrs is the length of the string. */
#define LAPACK(T, getrf, getri, getrs)                                                             \
    void getrf(const int *m, const int *n, T *a, const int *lda, int *ipiv, int *info);            \
    void getri(const int *n, T *a, const int *lda, const int *ipiv, T *work, const int *lwork,     \
               int *info);                                                                         \
    void getrs(const char *trans, const int *n, const int *nrhs, const T *a, const int *lda,       \
               const int *ipiv, T *b, const int *ldb, int *info, size_t);
LAPACK(float, sgetrf_, sgetri_, sgetrs_)
LAPACK(double, dgetrf_, dgetri_, dgetrs_)

/* Columns that getri takes at a time, at most; and the size from which lu.c's LU is quicker. */
enum { PANEL = 64, LARGE = 192 };

/* ---- inverse and determinant: of M' = A they are M's ---- */

/* Elements from row to row of a matrix that is factored, and what it is factored in: rows, panels
 * if it is large, and pivots. */
static int64_t row_length(int n) { return n < LARGE ? n : gp_lu_ld(n); }
static int64_t lu_bytes(const gp_lapack *r) {
    int64_t width = row_length(r->n) + (r->n < LARGE ? 0 : 2 * GP_LU_BLOCK);
    return r->n * (width * r->a.size + (int64_t)sizeof(int));
}

#define INVERSE(T, t, getrf, getri)                                                                \
    /* The identity's columns are shared out over the threads, which do not wait for each other    \
       as in getri; of a singular matrix what LU left. */                                          \
    static int inv_large_##t(const gp_lapack *r, int64_t i, T *x, T *lu) {                         \
        int64_t n = r->n, ld = row_length(r->n);                                                   \
        T *panels = lu + n * ld;                                                                   \
        int *pivot = (int *)(panels + 2 * n * GP_LU_BLOCK);                                        \
        gp_gather(lu, ld, &r->a, i);                                                               \
        int info = gp_lu_##t(r->n, lu, ld, pivot, panels);                                         \
        for (int64_t j = 0; j < n; j++, x += n) {                                                  \
            if (info) memcpy(x, lu + j * ld, (size_t)n * sizeof(T));                               \
            else memset(x, 0, (size_t)n * sizeof(T)), x[j] = 1;                                    \
        }                                                                                          \
        if (!info) gp_lu_solve_##t(r->n, lu, ld, pivot, x - n * n, r->n);                          \
        return info;                                                                               \
    }                                                                                              \
    static int inv_small_##t(const gp_lapack *r, int64_t i, T *x, T *work) {                       \
        int64_t n = r->n, ld = gp_small_ld(n);                                                     \
        if (n < ld) memset(work, 0, (size_t)(n * ld) * sizeof(T));                                 \
        gp_gather(work, ld, &r->a, i);                                                             \
        int info = gp_invert_##t(r->n, work);                                                      \
        for (int64_t j = 0; j < n; j++) memcpy(x + j * n, work + j * ld, (size_t)n * sizeof(T));   \
        return info;                                                                               \
    }                                                                                              \
    static gp_verdict inv_##t(const gp_lapack *r, int64_t i, char *work) {                         \
        int n = r->n, info = 0, lwork = PANEL * n;                                                 \
        T *a = (T *)gp_out(r->c, 0)->data + i * n * n, *tmp = (T *)work;                           \
        int *ipiv = (int *)(tmp + lwork);                                                          \
        if (n >= LARGE) {                                                                          \
            info = inv_large_##t(r, i, a, tmp);                                                    \
        } else if (n <= GP_SMALL) {                                                                \
            info = inv_small_##t(r, i, a, tmp);                                                    \
        } else {                                                                                   \
            gp_gather(a, n, &r->a, i);                                                             \
            getrf(&n, &n, a, &n, ipiv, &info);                                                     \
            if (!info) getri(&n, a, &n, ipiv, tmp, &lwork, &info);                                 \
        }                                                                                          \
        for (int64_t j = 0; j < (int64_t)n * n; j++)                                               \
            a[j] += 0; /* -0, of zeros below a diagonal */                                         \
        if (r->c->nout == 1) return gp_verdict_of(info);                                           \
        ((int32_t *)gp_out(r->c, 1)->data)[i] = info;                                              \
        return GP_FINE;                                                                            \
    }                                                                                              \
    /* flag 'l': sign and log |det|, else det. A zero pivot is no error: det is 0. */              \
    static gp_verdict det_##t(const gp_lapack *r, int64_t i, char *work) {                         \
        int n = r->n, info = 0, large = n >= LARGE;                                                \
        int64_t ld = row_length(n);                                                                \
        T *a = (T *)work, det = 1, log_det = 0, *panels = a + n * ld;                              \
        int *ipiv = (int *)(panels + (large ? 2 * (int64_t)n * GP_LU_BLOCK : 0));                  \
        gp_gather(a, ld, &r->a, i);                                                                \
        if (large) gp_lu_##t(n, a, ld, ipiv, panels);                                              \
        else if (n) getrf(&n, &n, a, &n, ipiv, &info);                                             \
        for (int64_t j = 0; j < n; j++) {                                                          \
            T u = a[j * (ld + 1)];                                                                 \
            if (ipiv[j] != j + !large) det = -det;                                                 \
            if (r->flag == 'l') {                                                                  \
                log_det += (T)log(fabs((double)u));                                                \
                u = u != u ? u : (T)((u > 0) - (u < 0));                                           \
            }                                                                                      \
            det *= u;                                                                              \
        }                                                                                          \
        ((T *)gp_out(r->c, 0)->data)[i] = det;                                                     \
        if (r->flag == 'l') ((T *)gp_out(r->c, 1)->data)[i] = log_det;                             \
        return GP_FINE;                                                                            \
    }
INVERSE(float, f32, sgetrf_, sgetri_)
INVERSE(double, f64, dgetrf_, dgetri_)

bool CPU(linalg_inv)(const gp_call *c) {
    gp_lapack r = gp_lapack_begin(c);
    r.trouble = "is singular: it has no inverse";
    r.bytes = r.n < LARGE ? r.n * (PANEL * r.a.size + (int64_t)sizeof(int)) : lu_bytes(&r);
    r.alone = GP_LU_ALONE;
    r.spoilt = c->nout == 2 ? 1 | 2 : 1;
    r.one = r.a.size == 4 ? inv_f32 : inv_f64;
    return gp_lapack_run(&r);
}
bool CPU(linalg_inv_ex)(const gp_call *c) { return CPU(linalg_inv)(c); }

bool CPU(linalg_det)(const gp_call *c) {
    gp_lapack r = gp_lapack_begin(c);
    r.flag = c->nout == 2 ? 'l' : 'd';
    r.bytes = lu_bytes(&r);
    r.alone = GP_LU_ALONE;
    r.one = r.a.size == 4 ? det_f32 : det_f64;
    return gp_lapack_run(&r);
}
bool CPU(linalg_slogdet)(const gp_call *c) { return CPU(linalg_det)(c); }

/* ---- equations ---- */

/* A X = B: X' M = B', and to LAPACK B's rows are B': two triangular solves from the right and the
   pivots, which exchange X's rows. X A = B: M X' = B'. Output 0 has m x k (left) or m x n elements.
   A large A is factored as it lies. */
#define SOLVE(T, t, p, getrf, getrs)                                                               \
    static void exchange_##t(T *x, const int *ipiv, int64_t n, int64_t k) {                        \
        for (int64_t j = n - 1; j >= 0; j--) {                                                     \
            T *one = x + j * k, *other = x + (int64_t)(ipiv[j] - 1) * k;                           \
            for (int64_t l = 0; l < k && one != other; l++) {                                      \
                T was = one[l];                                                                    \
                one[l] = other[l];                                                                 \
                other[l] = was;                                                                    \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static gp_verdict solve_large_##t(const gp_lapack *r, int64_t i, T *x, char *work) {           \
        int n = r->n, info;                                                                        \
        int64_t ld = gp_lu_ld(n);                                                                  \
        T *a = (T *)work, *panels = a + n * ld;                                                    \
        int *pivot = (int *)(panels + 2 * (int64_t)n * GP_LU_BLOCK);                               \
        gp_gather(a, ld, &r->a, i);                                                                \
        info = gp_lu_##t(n, a, ld, pivot, panels);                                                 \
        if (!info) gp_lu_solve_##t(n, a, ld, pivot, x, r->b.cols);                                 \
        return gp_verdict_of(info);                                                                \
    }                                                                                              \
    static gp_verdict solve_##t(const gp_lapack *r, int64_t i, char *work) {                       \
        int n = r->n, info = 0, rows = r->b.rows, cols = r->b.cols;                                \
        T *a = (T *)work, *x = (T *)gp_out(r->c, 0)->data + (int64_t)i * rows * cols;              \
        int *ipiv = (int *)(a + (int64_t)n * n);                                                   \
        gp_gather(x, cols, &r->b, i);                                                              \
        if (n >= LARGE && r->flag == 'L') return solve_large_##t(r, i, x, work);                   \
        gp_gather(a, n, &r->a, i);                                                                 \
        if (n) getrf(&n, &n, a, &n, ipiv, &info);                                                  \
        if (info || !n || !rows || !cols) return gp_verdict_of(info);                              \
        if (r->flag == 'R') {                                                                      \
            getrs("N", &n, &rows, a, &n, ipiv, x, &n, &info, 1);                                   \
            return gp_verdict_of(info);                                                            \
        }                                                                                          \
        if (cols == 1) {                                                                           \
            cblas_##p##trsv(CblasColMajor, CblasUpper, CblasTrans, CblasNonUnit, n, a, n, x, 1);   \
            cblas_##p##trsv(CblasColMajor, CblasLower, CblasTrans, CblasUnit, n, a, n, x, 1);      \
        } else {                                                                                   \
            cblas_##p##trsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit,     \
                            cols, n, 1, a, n, x, cols);                                            \
            cblas_##p##trsm(CblasColMajor, CblasRight, CblasLower, CblasNoTrans, CblasUnit, cols,  \
                            n, 1, a, n, x, cols);                                                  \
        }                                                                                          \
        exchange_##t(x, ipiv, n, cols);                                                            \
        return GP_FINE;                                                                            \
    }
SOLVE(float, f32, s, sgetrf_, sgetrs_)
SOLVE(double, f64, d, dgetrf_, dgetrs_)

bool CPU(linalg_solve)(const gp_call *c) {
    gp_lapack r = gp_lapack_equations(c, true);
    r.trouble = "is singular: the equations have no unique solution";
    r.flag = c->arg[2].i ? 'L' : 'R';
    r.bytes = lu_bytes(&r);
    r.flops += (int64_t)r.n * r.b.rows * r.b.cols;
    r.alone = GP_LU_ALONE;
    r.spoilt = 1;
    r.one = r.a.size == 4 ? solve_f32 : solve_f64;
    return gp_lapack_run(&r);
}

/* flag: 'U' or 'L' the triangle. a is read where it lies if its rows or columns are dense. */
#define TRIANGULAR(T, t, p)                                                                        \
    static gp_verdict triangular_##t(const gp_lapack *r, int64_t i, char *work) {                  \
        int n = r->n, rows = r->b.rows, cols = r->b.cols;                                          \
        int64_t size = (int64_t)sizeof(T);                                                         \
        bool turned = r->a.cs != size && r->a.rs == size;                                          \
        int64_t ld = (turned ? r->a.cs : r->a.rs) / size;                                          \
        const T *a = (const T *)gp_matrix_at(&r->a, i);                                            \
        T *x = (T *)gp_out(r->c, 0)->data + (int64_t)i * rows * cols;                              \
        if ((!turned && r->a.cs != size) || ld < n || ld > INT32_MAX) {                            \
            gp_gather(work, ld = n, &r->a, i);                                                     \
            a = (const T *)work;                                                                   \
            turned = false;                                                                        \
        }                                                                                          \
        gp_gather(x, cols, &r->b, i);                                                              \
        if (!rows || !cols) return GP_FINE;                                                        \
        cblas_##p##trsm(CblasRowMajor, r->c->arg[3].i ? CblasLeft : CblasRight,                    \
                        (r->flag == 'U') != turned ? CblasUpper : CblasLower,                      \
                        turned ? CblasTrans : CblasNoTrans,                                        \
                        r->c->arg[4].i ? CblasUnit : CblasNonUnit, rows, cols, 1, a, (int)ld, x,   \
                        cols);                                                                     \
        return GP_FINE;                                                                            \
    }
TRIANGULAR(float, f32, s)
TRIANGULAR(double, f64, d)

bool CPU(linalg_solve_triangular)(const gp_call *c) {
    gp_lapack r = gp_lapack_equations(c, false);
    r.flag = c->arg[2].i ? 'U' : 'L';
    r.bytes = (int64_t)r.n * r.n * r.a.size;
    r.flops = (int64_t)r.n * r.b.rows * r.b.cols;
    r.one = r.a.size == 4 ? triangular_f32 : triangular_f64;
    return gp_lapack_run(&r);
}
