/* Linear algebra by LAPACK (in OpenBLAS): batches are shared out over the pool's threads, each matrix on one. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/scratch.h"
#include "kernels/kernel.h"

enum { UNIT_WORK = 1 << 15 };

/* LAPACK's divide and conquer SVD; the last argument is the length of jobz. */
#define GESDD(name, T)                                                                                                                          \
    void name(const char *jobz, const int *m, const int *n, T *a, const int *lda, T *s, T *u, const int *ldu, T *vt, const int *ldvt, T *work, \
              const int *lwork, int *iwork, int *info, size_t len);
GESDD(sgesdd_, float)
GESDD(dgesdd_, double)

typedef enum trouble { FINE, NOT_FINITE, NOT_CONVERGED, NO_MEMORY, TOO_LARGE, INTERRUPTED } trouble;

typedef struct run {
    const gp_array *x;
    int64_t count;      /* matrices */
    int rows, cols, k;  /* of a matrix, and the smaller of the two */
    char jobz;          /* 'A' full, 'S' economy, 'N' values only */
    char *u, *s, *vh;   /* dense outputs; u and vh NULL with 'N' */
    int ucols, vrows;
    _Atomic int trouble;
} run;

/* Rows of a matrix side by side; false if an element is not finite. */
#define GATHER(T, t, most)                                                                                      \
    static bool gather_##t(T *to, const char *from, int64_t rows, int64_t cols, int64_t rs, int64_t cs) {       \
        int bad = 0;                                                                                            \
        for (int64_t i = 0; i < rows; i++, to += cols) {                                                        \
            gp_load_fn(GP_##t, GP_CT_##t)(to, from + i * rs, cs, cols);                                         \
            for (int64_t j = 0; j < cols; j++) bad |= !(to[j] >= -most && to[j] <= most);                       \
        }                                                                                                       \
        return !bad;                                                                                            \
    }
GATHER(float, f32, FLT_MAX)
GATHER(double, f64, DBL_MAX)

static const char *matrix_at(const run *r, int64_t i) {
    const gp_array *x = r->x;
    int64_t at = 0;
    for (int d = x->ndim - 3; d >= 0; d--) at += i % x->dim[d] * x->stride[d], i /= x->dim[d];
    return x->data + at * (int64_t)gp_dtype_size((gp_dtype)x->dtype);
}

/* LAPACK stores by columns: what it is given is the transpose V S U', so its U is our Vh and its V' our U, both as they lie. */
#define SVD(T, t, gesdd)                                                                                        \
    static int svd_##t(const run *r, int64_t i, T *a, T *work, int lwork, int *iwork) {                         \
        int info = 0, ldvt = r->ucols > 0 ? r->ucols : 1;                                                       \
        T *u = r->u ? (T *)r->u + i * r->rows * r->ucols : NULL, *vh = r->vh ? (T *)r->vh + i * r->vrows * r->cols : NULL; \
        gesdd(&r->jobz, &r->cols, &r->rows, a, &r->cols, (T *)r->s + i * r->k, vh, &r->cols, u, &ldvt, work, &lwork, iwork, &info, 1); \
        return info;                                                                                            \
    }                                                                                                           \
    static int room_##t(const run *r) {                                                                         \
        int info = 0, ask = -1, ldvt = r->ucols > 0 ? r->ucols : 1, iwork;                                      \
        T a, best = 0;                                                                                          \
        gesdd(&r->jobz, &r->cols, &r->rows, &a, &r->cols, &a, &a, &r->cols, &a, &ldvt, &best, &ask, &iwork, &info, 1); \
        return info || best > 0x7ffffff0 ? -1 : (int)best + (int)(best / 8388608); /* f32 may have rounded it down */ \
    }                                                                                                           \
    static trouble some_##t(run *r, int64_t begin, int64_t end) {                                               \
        const gp_array *x = r->x;                                                                               \
        int64_t rs = x->stride[x->ndim - 2] * (int64_t)sizeof(T), cs = x->stride[x->ndim - 1] * (int64_t)sizeof(T); \
        int lwork = room_##t(r), info = 0;                                                                      \
        if (lwork < 0) return TOO_LARGE;                                                                        \
        size_t n = (size_t)r->rows * (size_t)r->cols;                                                           \
        T *a = gp_scratch(GP_SCRATCH_PART, (n + (size_t)lwork) * sizeof(T) + 8 * (size_t)r->k * sizeof(int));    \
        if (!a) return NO_MEMORY;                                                                               \
        for (int64_t i = begin; i < end && !info; i++) {                                                        \
            if (gp_interrupted && !gp_thread_worker()) info = INT_MIN;                                          \
            else if (!gather_##t(a, matrix_at(r, i), r->rows, r->cols, rs, cs)) info = -INT_MAX;                \
            else info = svd_##t(r, i, a, a + n, lwork, (int *)(a + n + lwork));                                 \
        }                                                                                                       \
        return info == 0 ? FINE : info == INT_MIN ? INTERRUPTED : info == -INT_MAX ? NOT_FINITE : NOT_CONVERGED; \
    }
SVD(float, f32, sgesdd_)
SVD(double, f64, dgesdd_)

static void some(void *ctx, int64_t begin, int64_t end) {
    run *r = ctx;
    gp_blas_threads(1);
    trouble t = r->x->dtype == GP_f32 ? some_f32(r, begin, end) : some_f64(r, begin, end);
    if (t) r->trouble = t;
}

static bool tell(const char *name, trouble t) {
    switch (t) {
    case FINE: return true;
    case NOT_FINITE: return gp_fail("%s: the input contains NaN or infinite elements", name);
    case NOT_CONVERGED: return gp_fail("%s: the iteration did not converge", name);
    case NO_MEMORY: return gp_fail("%s: out of memory", name);
    case INTERRUPTED: return gp_fail("%s: interrupted", name);
    default: return gp_fail("%s: the matrix is too large for LAPACK's 32-bit sizes", name);
    }
}

/* Batches of n x n identities: the singular vectors of a matrix without rows or columns. */
static void identities(char *p, gp_dtype dt, int64_t count, int64_t n) {
    if (!p) return;
    int64_t size = (int64_t)gp_dtype_size(dt);
    memset(p, 0, (size_t)(count * n * n * size));
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < n; j++) gp_scalar_store(dt, p + (i * n * n + j * (n + 1)) * size, (gp_scalar){.i = 1});
}

static bool decompose(run *r, const char *name) {
    const gp_array *x = r->x;
    r->rows = (int)x->dim[x->ndim - 2];
    r->cols = (int)x->dim[x->ndim - 1];
    r->k = r->rows < r->cols ? r->rows : r->cols;
    r->count = 1;
    for (int d = 0; d < x->ndim - 2; d++) r->count *= x->dim[d];
    if (r->count == 0) return true;
    r->ucols = r->jobz == 'A' ? r->rows : r->k;
    r->vrows = r->jobz == 'A' ? r->cols : r->k;
    if (r->k == 0) {
        if (r->jobz != 'A') return true;
        identities(r->u, (gp_dtype)x->dtype, r->count, r->rows);
        identities(r->vh, (gp_dtype)x->dtype, r->count, r->cols);
        return true;
    }
    gp_parallel(r->count, 1 + UNIT_WORK / ((int64_t)r->rows * r->cols * r->k), some, r);
    return tell(name, (trouble)r->trouble);
}

bool CPU(linalg_svd)(const gp_call *c) {
    run r = {.x = gp_in(c, 0), .jobz = c->arg[1].i ? 'A' : 'S', .u = gp_out(c, 0)->data, .s = gp_out(c, 1)->data, .vh = gp_out(c, 2)->data};
    return decompose(&r, "linalg.svd");
}

bool CPU(linalg_svdvals)(const gp_call *c) {
    run r = {.x = gp_in(c, 0), .jobz = 'N', .s = gp_out(c, 0)->data};
    return decompose(&r, "linalg.svdvals");
}
