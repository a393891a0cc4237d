/* Eigenvalues and eigenvectors by LAPACK. A symmetric matrix lies the same way by rows and by
 * columns; only its triangles change places. */
#include <string.h>

#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/reflectors.h"

/* The last arguments are the lengths of the strings. */
#define LAPACK(T, syevd, sytrd, stedc, geev)                                                       \
    void syevd(const char *jobz, const char *uplo, const int *n, T *a, const int *lda, T *w,       \
               T *work, const int *lwork, int *iwork, const int *liwork, int *info, size_t,        \
               size_t);                                                                            \
    void sytrd(const char *uplo, const int *n, T *a, const int *lda, T *d, T *e, T *tau, T *work,  \
               const int *lwork, int *info, size_t);                                               \
    void stedc(const char *compz, const int *n, T *d, T *e, T *z, const int *ldz, T *work,         \
               const int *lwork, int *iwork, const int *liwork, int *info, size_t);                \
    void geev(const char *jobvl, const char *jobvr, const int *n, T *a, const int *lda, T *wr,     \
              T *wi, T *vl, const int *ldvl, T *vr, const int *ldvr, T *work, const int *lwork,    \
              int *info, size_t, size_t);
LAPACK(float, ssyevd_, ssytrd_, sstedc_, sgeev_)
LAPACK(double, dsyevd_, dsytrd_, dstedc_, dgeev_)

/* Columns that LAPACK's blocked algorithms take at a time, at most; the size from which
 * eigenvectors are made of the tridiagonal form's here. */
enum { PANEL = 64, LARGE = 256 };

/* ---- symmetric ---- */

/* Source of the sizes: LAPACK's syevd. A large matrix has e, tau, z and, one after the other, what
 * sytrd, stedc and the way back work with. */
static int64_t symmetric_work(const gp_lapack *r) {
    int64_t n = r->n, most = r->flag == 'V' ? 1 + 6 * n + 2 * n * n : 2 * n + 1;
    if (r->flag == 'V' && n >= LARGE) return 2 * n * n + (GP_TRIDIAG_BLOCK + 6) * n + 1;
    return most > (PANEL + 2) * n ? most : (PANEL + 2) * n;
}
static int symmetric_integers(const gp_lapack *r) { return r->flag == 'V' ? 3 + 5 * r->n : 1; }

#define SYMMETRIC(T, t, syevd, sytrd, stedc, TINY)                                                 \
    static bool triangle_finite_##t(const T *a, int64_t n) {                                       \
        bool ok = true;                                                                            \
        for (int64_t j = 0; j < n; j++) ok &= gp_finite(a + j * n, j + 1, sizeof(T));              \
        return ok;                                                                                 \
    }                                                                                              \
    /* Far enough from overflow and underflow that syevd would not scale the triangle. */          \
    static bool moderate_##t(const T *a, int64_t n) {                                              \
        T most = 0;                                                                                \
        for (int64_t j = 0; j < n; j++)                                                            \
            _Pragma("omp simd reduction(max : most)") for (int64_t i = 0; i <= j; i++) {           \
                const T v = a[j * n + i], size = v < 0 ? -v : v;                                   \
                most = size > most ? size : most;                                                  \
            }                                                                                      \
        return most * most > TINY && most * most < 1 / TINY;                                       \
    }                                                                                              \
    /* The upper triangle a into eigenvectors, by columns, at *z. */                               \
    static int large_##t(int n, T *a, T *w, T *tmp, int *iwork, int liwork, T **z) {               \
        T *e = tmp, *tau = e + n, *work = tau + n;                                                 \
        int64_t all = (int64_t)n * n;                                                              \
        int lwork = PANEL * n, info = 0;                                                           \
        *z = work;                                                                                 \
        sytrd("U", &n, a, &n, w, e, tau, work, &lwork, &info, 1);                                  \
        work += all;                                                                               \
        lwork = (int)all + 4 * n + 1;                                                              \
        if (!info) stedc("I", &n, w, e, *z, &n, work, &lwork, iwork, &liwork, &info, 1);           \
        if (!info) gp_tridiag_back_##t(n, a, tau, *z, work);                                       \
        return info;                                                                               \
    }                                                                                              \
    static gp_verdict symmetric_##t(const gp_lapack *r, int64_t i, char *work) {                   \
        int n = r->n, info = 0, lwork = (int)symmetric_work(r), liwork = symmetric_integers(r);    \
        bool lower = (r->c->arg[1].s[0] | 32) == 'l';                                              \
        T *w = (T *)gp_out(r->c, 0)->data + (int64_t)i * n, *a = (T *)work,                        \
          *tmp = a + (int64_t)n * n, *z = a;                                                       \
        int *iwork = (int *)(tmp + lwork);                                                         \
        /* By columns the lower triangle is the upper one. */                                      \
        if (lower) gp_gather(a, n, &r->a, i);                                                      \
        else gp_gather_columns(a, n, &r->a, i);                                                    \
        if (!triangle_finite_##t(a, n)) return GP_NOT_FINITE;                                      \
        if (r->flag == 'V' && n >= LARGE && moderate_##t(a, n))                                    \
            info = large_##t(n, a, w, tmp, iwork, liwork, &z);                                     \
        else syevd(&r->flag, "U", &n, a, &n, w, tmp, &lwork, iwork, &liwork, &info, 1, 1);         \
        if (r->flag == 'V')                                                                        \
            gp_transpose_copy((T *)gp_out(r->c, 1)->data + (int64_t)i * n * n, z, n, n, n, sizeof(T));       \
        return gp_verdict_of(info);                                                                \
    }
SYMMETRIC(float, f32, ssyevd_, ssytrd_, sstedc_, 1e-30f)
SYMMETRIC(double, f64, dsyevd_, dsytrd_, dstedc_, 1e-290)

static bool too_large(const gp_lapack *r, int64_t work) {
    return work > INT32_MAX &&
           !gp_fail("%s: the matrix is too large for LAPACK's 32-bit sizes", r->c->op->name);
}

bool CPU(linalg_eigh)(const gp_call *c) {
    gp_lapack r = gp_lapack_begin(c);
    if (r.n == 0) return true;
    r.flag = c->nout == 2 ? 'V' : 'N';
    if (too_large(&r, symmetric_work(&r))) return false;
    r.trouble = "has eigenvalues to which the iteration did not converge";
    r.bytes = ((int64_t)r.n * r.n + symmetric_work(&r)) * r.a.size +
              symmetric_integers(&r) * (int64_t)sizeof(int);
    r.threads = r.flops > (int64_t)1 << 30 ? 0 : 1; /* mostly products with vectors */
    r.flops *= 4;
    r.one = r.a.size == 4 ? symmetric_f32 : symmetric_f64;
    return gp_lapack_run(&r);
}
bool CPU(linalg_eigvalsh)(const gp_call *c) { return CPU(linalg_eigh)(c); }

/* ---- any square matrix ---- */

/* geev packs a conjugate pair's vectors into two columns, real and imaginary parts; v is those
 * columns. */
#define GENERAL(T, t, geev)                                                                        \
    static void unpack_##t(const T *v, const T *wi, int64_t n, T *re, T *im) {                     \
        memset(im, 0, (size_t)(n * n) * sizeof(T));                                                \
        gp_transpose_copy(re, v, n, n, n, sizeof(T));                                                        \
        for (int64_t j = 0; j + 1 < n; j++) {                                                      \
            if (wi[j] == 0) continue;                                                              \
            for (int64_t i = 0; i < n; i++) {                                                      \
                T *pair = re + i * n + j, part = pair[1];                                          \
                pair[1] = pair[0];                                                                 \
                im[i * n + j] = part;                                                              \
                im[i * n + j + 1] = -part;                                                         \
            }                                                                                      \
            j++;                                                                                   \
        }                                                                                          \
    }                                                                                              \
    static gp_verdict general_##t(const gp_lapack *r, int64_t i, char *work) {                     \
        int n = r->n, info = 0, lwork = PANEL * n, one = 1;                                        \
        int64_t all = (int64_t)n * n;                                                              \
        T *wr = (T *)gp_out(r->c, 0)->data + (int64_t)i * n,                                       \
          *wi = (T *)gp_out(r->c, 1)->data + (int64_t)i * n;                                       \
        T *a = (T *)work, *v = a + all, *tmp = v + (r->flag == 'V' ? all : 0);                     \
        gp_gather_columns(a, n, &r->a, i);                                                         \
        if (!gp_finite(a, all, sizeof(T))) return GP_NOT_FINITE;                                   \
        geev("N", &r->flag, &n, a, &n, wr, wi, v, &one, v, &n, tmp, &lwork, &info, 1, 1);          \
        if (r->flag == 'V' && !info)                                                               \
            unpack_##t(v, wi, n, (T *)gp_out(r->c, 2)->data + i * all,                             \
                       (T *)gp_out(r->c, 3)->data + i * all);                                      \
        return gp_verdict_of(info);                                                                \
    }
GENERAL(float, f32, sgeev_)
GENERAL(double, f64, dgeev_)

bool CPU(linalg_eig)(const gp_call *c) {
    gp_lapack r = gp_lapack_begin(c);
    if (r.n == 0) return true;
    r.flag = c->nout == 4 ? 'V' : 'N';
    if (too_large(&r, (int64_t)PANEL * r.n)) return false;
    r.trouble = "has eigenvalues to which the iteration did not converge";
    r.bytes = ((r.flag == 'V' ? 2 : 1) * (int64_t)r.n * r.n + (int64_t)PANEL * r.n) * r.a.size;
    r.flops *= 10;
    r.one = r.a.size == 4 ? general_f32 : general_f64;
    return gp_lapack_run(&r);
}
bool CPU(linalg_eigvals)(const gp_call *c) { return CPU(linalg_eig)(c); }
