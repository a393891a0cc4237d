/* QR, Cholesky and LU by LAPACK, but for larger matrices' QR. It stores by columns: where a transposed
 * problem has the same answer, matrices go there as they lie. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lu.h"
#include "kernels/cpu/linalg/qr.h"

/* The last argument of potrf is the length of the string. */
#define LAPACK(T, geqrf, orgqr, potrf, getrf)                                                      \
    void geqrf(const int *m, const int *n, T *a, const int *lda, T *tau, T *work,                  \
               const int *lwork, int *info);                                                       \
    void orgqr(const int *m, const int *n, const int *k, T *a, const int *lda, const T *tau,       \
               T *work, const int *lwork, int *info);                                              \
    void potrf(const char *uplo, const int *n, T *a, const int *lda, int *info, size_t);           \
    void getrf(const int *m, const int *n, T *a, const int *lda, int *ipiv, int *info);
LAPACK(float, sgeqrf_, sorgqr_, spotrf_, sgetrf_)
LAPACK(double, dgeqrf_, dorgqr_, dpotrf_, dgetrf_)

/* ---- QR ---- */

/* QR_LEAST: reflections from which on they are gathered in blocks; fewer are quicker in LAPACK.
 * QR_ALONE: work from which columns are worth sharing out. */
enum { QR_LEAST = 48, QR_ALONE = 1 << 22 };

/* m x n; k: columns of Q; flag 'r': R alone. Work: the columns of x or of Q, whichever are more;
 * the reflections; their own. */
#define QR(T, t, geqrf, orgqr)                                                                     \
    static void triangle_##t(T *to, const T *a, int64_t ld, int64_t rows, int64_t cols) {          \
        gp_transpose_copy(to, a, ld, rows, cols, sizeof(T));                                                 \
        for (int64_t i = 1; i < rows; i++)                                                         \
            memset(to + i * cols, 0, (size_t)(i < cols ? i : cols) * sizeof(T));                   \
    }                                                                                              \
    /* The first column with NaN or infinities, low if none has: LAPACKs differ in what follows. */\
    static int clean_##t(const T *a, int64_t ld, int m, int low) {                                 \
        int first = 0;                                                                             \
        while (first < low && (first == m - 1 || gp_finite(a + first * ld, m, sizeof(T)))) first++;\
        return first;                                                                              \
    }                                                                                              \
    /* Its reflection and those that follow are of NaN. */                                         \
    static void spoil_##t(T *a, int64_t ld, int m, int n, int first, int low) {                    \
        for (int64_t j = first; first < low && j < n; j++)                                         \
            for (int64_t i = first; i < m && i <= j; i++) a[j * ld + i] = (T)NAN;                  \
    }                                                                                              \
    static gp_verdict qr_##t(const gp_lapack *r, int64_t i, char *work) {                          \
        int m = r->m, n = r->n, low = m < n ? m : n, info = 0, wide = n > r->k ? n : r->k;         \
        int ld = (int)gp_lu_ld(m), lwork = GP_QR_BLOCK * wide;                                     \
        T *a = (T *)work, *v = a + (int64_t)ld * wide, *s = v + (int64_t)ld * low,                 \
          *tmp = s + low * GP_QR_BLOCK;                                                            \
        gp_gather_columns(a, ld, &r->a, i);                                                        \
        const int clean = clean_##t(a, ld, m, low);                                                \
        if (low < QR_LEAST) geqrf(&m, &n, a, &ld, s, tmp, &lwork, &info);                          \
        else gp_qr_##t(m, n, a, ld, v, s, tmp);                                                    \
        if (info) return GP_REFUSED;                                                               \
        spoil_##t(a, ld, m, n, clean, low);                                                        \
        triangle_##t((T *)gp_out(r->c, 1)->data + i * r->k * n, a, ld, r->k, n);                   \
        if (r->flag == 'r') return GP_FINE;                                                        \
        if (low < QR_LEAST) orgqr(&m, &r->k, &low, a, &ld, s, tmp, &lwork, &info);                 \
        else gp_qr_q_##t(m, r->k, low, a, ld, v, s, tmp);                                          \
        for (int64_t j = clean; clean < low && j < r->k; j++)                                      \
            for (int64_t row = 0; row < m; row++) a[j * ld + row] = (T)NAN;                        \
        gp_transpose_copy((T *)gp_out(r->c, 0)->data + i * m * r->k, a, ld, m, r->k, sizeof(T));             \
        return gp_verdict_of(info);                                                                \
    }
QR(float, f32, sgeqrf_, sorgqr_)
QR(double, f64, dgeqrf_, dorgqr_)

/* Without columns Q has nothing to come from: the identity, or nothing. */
static bool empty_qr(const gp_lapack *r) {
    const gp_array *q = gp_out(r->c, 0);
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)q->dtype), n = r->k;
    memset(q->data, 0, (size_t)(q->numel * size));
    for (int64_t i = 0; i < r->count * n && q->numel; i++)
        gp_scalar_store((gp_dtype)q->dtype, q->data + (i / n * n * n + i % n * (n + 1)) * size,
                        (gp_scalar){.i = 1});
    return true;
}

bool CPU(linalg_qr)(const gp_call *c) {
    gp_lapack r = gp_lapack_begin(c);
    const gp_array *R = gp_out(c, 1);
    int64_t wide, low = r.k;
    r.flag = c->arg[1].s[1] ? 'q' : 'r'; /* mode r: R alone */
    r.k = (int)R->dim[R->ndim - 2];
    if (low == 0) return empty_qr(&r);
    wide = r.n > r.k ? r.n : r.k;
    r.alone = QR_ALONE;
    r.bytes = (gp_lu_ld(r.m) * (wide + low) + GP_QR_BLOCK * (low + 2 * wide)) * r.a.size;
    r.one = r.a.size == 4 ? qr_f32 : qr_f64;
    return gp_lapack_run(&r);
}

/* ---- Cholesky ---- */

/* The lower triangle is a's columns' own in a transposed copy; the upper one lies right as it is.
 * Only that triangle is read. */
#define CHOLESKY(T, t, potrf)                                                                      \
    static gp_verdict cholesky_##t(const gp_lapack *r, int64_t i, char *work) {                    \
        bool upper = r->flag == 'U';                                                               \
        int n = r->n, info = 0, ld = upper || n == 0 ? n : (int)gp_lu_ld(n);                       \
        T *o = (T *)gp_out(r->c, 0)->data + i * n * n, *a = (T *)work;                             \
        if (upper) gp_gather(a = o, n, &r->a, i);                                                  \
        else gp_gather_columns(a, ld, &r->a, i);                                                   \
        if (n) potrf("L", &n, a, &ld, &info, 1);                                                   \
        for (int j = 0; info == 0 && j < n; j++) /* OpenBLAS takes NaN for positive */             \
            if (a[j * ((int64_t)ld + 1)] != a[j * ((int64_t)ld + 1)]) info = j + 1;                \
        if (!upper) gp_transpose_copy(o, a, ld, n, n, sizeof(T));                                            \
        for (int64_t j = 0; j < n; j++)                                                            \
            if (upper) memset(o + j * n, 0, (size_t)j * sizeof(T));                                \
            else memset(o + j * n + j + 1, 0, (size_t)(n - 1 - j) * sizeof(T));                    \
        if (r->c->nout == 1) return gp_verdict_of(info);                                           \
        ((int32_t *)gp_out(r->c, 1)->data)[i] = info;                                              \
        return GP_FINE;                                                                            \
    }
CHOLESKY(float, f32, spotrf_)
CHOLESKY(double, f64, dpotrf_)

bool CPU(linalg_cholesky)(const gp_call *c) {
    gp_lapack r = gp_lapack_begin(c);
    r.trouble = "is not positive definite";
    r.flag = c->arg[1].i ? 'U' : 'L';
    r.bytes = gp_lu_ld(r.n) * r.n * r.a.size;
    r.flops /= 3;
    r.one = r.a.size == 4 ? cholesky_f32 : cholesky_f64;
    return gp_lapack_run(&r);
}
bool CPU(linalg_cholesky_ex)(const gp_call *c) { return CPU(linalg_cholesky)(c); }

/* ---- LU ---- */

#define LU(T, t, getrf)                                                                            \
    static gp_verdict lu_factor_##t(const gp_lapack *r, int64_t i, char *work) {                   \
        int m = r->m, n = r->n, info = 0;                                                          \
        T *a = (T *)work;                                                                          \
        gp_gather_columns(a, m, &r->a, i);                                                         \
        getrf(&m, &n, a, &m, (int *)gp_out(r->c, 1)->data + i * r->k, &info);                      \
        gp_transpose_copy((T *)gp_out(r->c, 0)->data + i * m * n, a, m, m, n, sizeof(T));                    \
        return info < 0 ? GP_REFUSED : GP_FINE;                                                    \
    }                                                                                              \
    /* Row j of L U is row order[j] of x, so P has a one at (order[j], j). */                      \
    static void permutation_##t(T *p, const int *ipiv, int *order, int64_t m, int64_t k) {         \
        for (int64_t j = 0; j < m; j++) order[j] = (int)j;                                         \
        for (int64_t j = 0; j < k; j++) {                                                          \
            int other = ipiv[j] - 1, was = order[j];                                               \
            order[j] = order[other];                                                               \
            order[other] = was;                                                                    \
        }                                                                                          \
        memset(p, 0, (size_t)(m * m) * sizeof(T));                                                 \
        for (int64_t j = 0; j < m; j++) p[order[j] * m + j] = 1;                                   \
    }                                                                                              \
    static gp_verdict lu_##t(const gp_lapack *r, int64_t i, char *work) {                          \
        int m = r->m, n = r->n, k = r->k, info = 0;                                                \
        T *a = (T *)work, *l = (T *)gp_out(r->c, 1)->data + (int64_t)i * m * k,                    \
          *u = (T *)gp_out(r->c, 2)->data + (int64_t)i * k * n;                                    \
        int *ipiv = (int *)(a + (int64_t)m * n), *order = ipiv + k;                                \
        gp_gather_columns(a, m, &r->a, i);                                                         \
        if (k) getrf(&m, &n, a, &m, ipiv, &info);                                                  \
        permutation_##t((T *)gp_out(r->c, 0)->data + (int64_t)i * m * m, ipiv, order, m, k);       \
        gp_transpose_copy(l, a, m, m, k, sizeof(T));                                                         \
        for (int64_t j = 0; j < k; j++) {                                                          \
            memset(l + j * k + j, 0, (size_t)(k - j) * sizeof(T));                                 \
            l[j * k + j] = 1;                                                                      \
        }                                                                                          \
        gp_transpose_copy(u, a, m, k, n, sizeof(T));                                                         \
        for (int64_t j = 1; j < k; j++) memset(u + j * n, 0, (size_t)j * sizeof(T));               \
        return info < 0 ? GP_REFUSED : GP_FINE;                                                    \
    }
LU(float, f32, sgetrf_)
LU(double, f64, dgetrf_)

bool CPU(linalg_lu_factor)(const gp_call *c) {
    gp_lapack r = gp_lapack_begin(c);
    if (r.k == 0) return true;
    r.bytes = (int64_t)r.m * r.n * r.a.size;
    r.alone = GP_LU_ALONE;
    r.spoilt = 1;
    r.one = r.a.size == 4 ? lu_factor_f32 : lu_factor_f64;
    return gp_lapack_run(&r);
}

bool CPU(linalg_lu)(const gp_call *c) {
    gp_lapack r = gp_lapack_begin(c);
    r.bytes = (int64_t)r.m * r.n * r.a.size + (r.m + r.k) * (int64_t)sizeof(int);
    r.alone = GP_LU_ALONE;
    r.spoilt = 2 | 4;
    r.one = r.a.size == 4 ? lu_f32 : lu_f64;
    return gp_lapack_run(&r);
}
