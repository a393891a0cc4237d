/* Singular value decompositions: by our own kernel where matrices are small, else by cuSOLVER. */
#include "kernels/cuda/solver.h"

/* Large matrices. cuSOLVER wants at least as many rows as columns and stores by columns: a wide
 * matrix is to it a tall one as it lies, whose U is our Vh and whose V our U. */
typedef struct large {
    const gp_solver *r;
    const gp_svd *d;
    cusolverDnHandle_t h;
    bool tall;
    int m, n, ucols; /* of what cuSOLVER sees; columns of its U */
    void *a, *u, *v;
} large;

#define SVD(T, t, gesvd, gesvdj)                                                                   \
    static bool gesvdj_##t(const large *l) {                                                       \
        const gp_solver *r = l->r;                                                                 \
        static gesvdjInfo_t params; /* the same for all */                                         \
        cusolverEigMode_t job = CUSOLVER_EIG_MODE_VECTOR;                                          \
        int m = l->m, n = l->n, need = 0, econ = !l->d->full;                                      \
        T *a = l->a, *u = l->u, *v = l->v, *s = l->d->s;                                           \
        if (!params &&                                                                             \
            !gp_cusolver_ok(r->c, gp_solve.cusolverDnCreateGesvdjInfo(&params), "gesvdj"))         \
            return false;                                                                          \
        if (!gp_cusolver_ok(r->c,                                                                  \
                            gp_solve.gesvdj##_bufferSize(l->h, job, econ, m, n, a, m, s, u, m, v,  \
                                                         n, &need, params),                        \
                            #gesvdj))                                                              \
            return false;                                                                          \
        T *work = (T *)gp_solver_scratch(r, need);                                                 \
        bool ok = work != NULL;                                                                    \
        for (int64_t i = 0; ok && i < r->count; i++)                                               \
            ok = gp_cusolver_ok(r->c,                                                              \
                                gp_solve.gesvdj(l->h, job, econ, m, n, a + i * m * n, m,           \
                                                s + i * n, u + i * m * l->ucols, m, v + i * n * n, \
                                                n, work, need, r->info + i, params),               \
                                #gesvdj);                                                          \
        return ok;                                                                                 \
    }                                                                                              \
    static bool gesvd_##t(const large *l) {                                                        \
        const gp_solver *r = l->r;                                                                 \
        int m = l->m, n = l->n, need = 0;                                                          \
        T *a = l->a, *s = l->d->s;                                                                 \
        if (!gp_cusolver_ok(r->c, gp_solve.gesvd##_bufferSize(l->h, m, n, &need), #gesvd))         \
            return false;                                                                          \
        T *work = (T *)gp_solver_scratch(r, need), *rwork = (T *)gp_solver_scratch(r, n);          \
        bool ok = work && rwork;                                                                   \
        for (int64_t i = 0; ok && i < r->count; i++)                                               \
            ok = gp_cusolver_ok(r->c,                                                              \
                                gp_solve.gesvd(l->h, 'N', 'N', m, n, a + i * m * n, m, s + i * n,  \
                                               NULL, m, NULL, n, work, need, rwork, r->info + i),  \
                                #gesvd);                                                           \
        return ok;                                                                                 \
    }
SVD(float, f32, cusolverDnSgesvd, cusolverDnSgesvdj)
SVD(double, f64, cusolverDnDgesvd, cusolverDnDgesvdj)

/* One of U and Vh is what cuSOLVER writes, the other its transpose. */
static bool vectors(large *l) {
    const gp_solver *r = l->r;
    const gp_svd *d = l->d;
    void *other = gp_solver_scratch(
        r, r->count * (l->tall ? (int64_t)l->m * l->ucols : (int64_t)l->n * l->n));
    if (!other) return false;
    l->u = l->tall ? other : d->vh;
    l->v = l->tall ? d->vh : other;
    if (!(r->wide ? gesvdj_f64(l) : gesvdj_f32(l))) return false;
    return l->tall ? gp_solver_turn(r, d->u, other, l->m, l->m, l->ucols, GP_ALL)
                   : gp_solver_turn(r, d->u, other, l->n, l->n, l->n, GP_ALL);
}

static bool by_library(gp_solver *r, const gp_svd *d) {
    large l = {.r = r, .d = d, .tall = d->rows > d->cols, .a = d->a};
    l.m = l.tall ? d->rows : d->cols, l.n = l.tall ? d->cols : d->rows;
    l.ucols = d->full ? l.m : l.n;
    if (!gp_solver_check(r, d->a, d->rows, d->cols, GP_ALL)) return false;
    if (l.tall) {
        int64_t each = (int64_t)d->rows * d->cols;
        l.a = gp_solver_scratch(r, r->count * each);
        /* columns of a: the rows of its transpose */
        if (!l.a || !gp_solver_take(r, l.a, d->a, each, d->cols, d->rows, 1, d->cols, GP_ALL))
            return false;
    }
    gp_lib_lock();
    l.h = gp_cusolver_handle(r->c);
    bool ok = l.h && (d->u ? vectors(&l) : r->wide ? gesvd_f64(&l) : gesvd_f32(&l));
    gp_lib_unlock();
    return ok && gp_solver_flag(r, d->texts);
}

const char *gp_cuda_svd_driver(const gp_call *c, gp_dtype dt, int64_t rows, int64_t cols,
                               int64_t count, bool vectors, bool full) {
    if (gp_cuda_jacobi_takes(c, dt, rows, cols, count, vectors && full)) return "jacobi";
    return vectors ? "gesvdj" : "gesvd";
}

bool gp_cuda_svd(gp_solver *r, const gp_svd *d) {
    if (gp_cuda_jacobi_takes(r->c, r->dtype, d->rows, d->cols, r->count, d->u && d->full))
        return gp_cuda_jacobi(r, d);
    return by_library(r, d);
}

/* ---- calls ---- */

static bool decompose(const gp_call *c, gp_svd d) {
    gp_solver r;
    if (!gp_solver_begin(&r, c, NULL)) return false;
    d.rows = r.m, d.cols = r.n;
    if (r.count == 0) return true;
    if (r.k == 0) /* the singular vectors of a matrix without rows or columns */
        return !d.full ||
               (gp_solver_identity(&r, d.u, r.m, r.m) && gp_solver_identity(&r, d.vh, r.n, r.n));
    d.a = gp_solver_get(&r, gp_in(c, 0), false);
    return d.a && gp_cuda_svd(&r, &d);
}

#define TEXTS(op)                                                                                  \
    { op ": the input contains NaN or infinite elements", op ": the iteration did not converge" }

bool CUDA(linalg_svd)(const gp_call *c) {
    static const char *const texts[] = TEXTS("linalg.svd");
    return decompose(c, (gp_svd){.full = c->arg[1].i,
                                 .u = gp_out(c, 0)->data,
                                 .s = gp_out(c, 1)->data,
                                 .vh = gp_out(c, 2)->data,
                                 .texts = texts});
}

bool CUDA(linalg_svdvals)(const gp_call *c) {
    static const char *const texts[] = TEXTS("linalg.svdvals");
    return decompose(c, (gp_svd){.s = gp_out(c, 0)->data, .texts = texts});
}
