/* Singular value decompositions: by our own kernel, cuSOLVER or the CPU, as the table says. */
#include "kernels/cuda/linalg/cusolver.h"

#define VECTORS CUSOLVER_EIG_MODE_VECTOR

/* A decomposition by cuSOLVER, which needs at least as many rows as columns and stores by columns:
 * it reads a wide row-major matrix as a tall one, whose U is our Vh and whose V our U. */
typedef struct svd_job {
    const gp_solver *r;
    const gp_svd *d;
    cusolverDnHandle_t h;
    gesvdjInfo_t params;
    bool tall;
    int m, n, ucols; /* as cuSOLVER sees it; columns of its U */
    void *a, *u, *v;
} svd_job;

#define TEMPLATE "kernels/cuda/linalg/svd.inc"
#include "kernels/common/floats.inc"

static bool decompose_by(svd_job *l, gp_route driver) {
    static gesvdjInfo_t params; /* shared by all calls */
    bool wide = l->r->wide;
    if (!params && !gp_cusolver_ok(l->r->c, gp_solve.cusolverDnCreateGesvdjInfo(&params), "gesvdj"))
        return false;
    l->params = params;
    switch (driver) {
    case GP_BY_gesvd: return wide ? gesvd_f64(l) : gesvd_f32(l);
    case GP_BY_gesvdjBatched: return wide ? gesvdj_batched_f64(l) : gesvdj_batched_f32(l);
    case GP_BY_gesvdaStridedBatched: return wide ? gesvda_f64(l) : gesvda_f32(l);
    default: return wide ? gesvdj_f64(l) : gesvdj_f32(l);
    }
}

/* cuSOLVER writes one of U and Vh directly, and the transpose of the other; gesvd gives V
 * transposed. */
static bool vectors(svd_job *l, gp_route driver) {
    const gp_solver *r = l->r;
    const gp_svd *d = l->d;
    int64_t u = (int64_t)l->m * l->ucols, v = (int64_t)l->n * l->n;
    bool turned = driver == GP_BY_gesvd, turn_v = l->tall == turned;
    void *scratch_u = l->tall ? gp_solver_scratch(r, r->count * u) : NULL,
         *scratch_v = turn_v ? gp_solver_scratch(r, r->count * v) : NULL,
         *to_v = l->tall ? d->vh : d->u;
    if ((l->tall && !scratch_u) || (turn_v && !scratch_v)) return false;
    l->u = l->tall ? scratch_u : d->vh;
    l->v = turn_v ? scratch_v : to_v;
    return decompose_by(l, driver) &&
           (!l->tall ||
            gp_solver_extract_columns(r, d->u, scratch_u, l->m, l->m, l->ucols, GP_ALL)) &&
           (!turn_v || gp_solver_extract_columns(r, to_v, scratch_v, l->n, l->n, l->n, GP_ALL));
}

static bool by_cusolver(gp_solver *r, const gp_svd *d, gp_route driver) {
    svd_job l = {.r = r, .d = d, .tall = d->rows > d->cols, .a = d->a};
    l.m = l.tall ? d->rows : d->cols, l.n = l.tall ? d->cols : d->rows;
    l.ucols = d->full ? l.m : l.n;
    if (!gp_solver_check(r, d->a, d->rows, d->cols, GP_ALL)) return false;
    if (l.tall) {
        int64_t each = (int64_t)d->rows * d->cols;
        l.a = gp_solver_scratch(r, r->count * each);
        /* columns of a: the rows of its transpose */
        if (!l.a || !gp_solver_extract(r, l.a, d->a, each, d->cols, d->rows, 1, d->cols, GP_ALL))
            return false;
    }
    gp_lib_lock();
    l.h = gp_cusolver_handle(r->c);
    bool ok = l.h && (d->u ? vectors(&l, driver) : decompose_by(&l, driver));
    gp_lib_unlock();
    return ok && gp_solver_flag(r, d->texts);
}

/* What can decompose such matrices. cuSOLVER's batched Jacobi takes up to 32 rows and gives all of
 * U, gesvda only the first columns; where values alone are wanted it has gesvd. */
static unsigned can_of(const gp_solver *r, const gp_svd *d) {
    int most = d->rows > d->cols ? d->rows : d->cols;
    bool square = d->rows == d->cols, full = d->u && d->full, batch = r->count <= INT32_MAX;
    unsigned can = GP_CAN(gesvd);
    if (gp_cuda_jacobi_takes(d->rows, d->cols, r->count, full)) can |= GP_CAN(jacobi);
    if (!d->u) return can;
    if (batch && most <= 32 && (full || square)) can |= GP_CAN(gesvdjBatched);
    if (batch && (!full || square)) can |= GP_CAN(gesvdaStridedBatched);
    return can | GP_CAN(gesvdj);
}

/* The driver that was asked for, of gesvdj its batched form where that can; else the table's. */
static gp_route driver_of(const gp_solver *r, const gp_svd *d, unsigned also) {
    unsigned can = can_of(r, d);
    int64_t most = d->rows > d->cols ? d->rows : d->cols, least = r->k;
    bool many = r->count > 1 && can & GP_CAN(gesvdjBatched);
    if (d->driver) return d->driver == GP_BY_gesvdj && many ? GP_BY_gesvdjBatched : d->driver;
    return gp_solver_route(r, d->u ? GP_FOR_svd : GP_FOR_svdvals, most, least, can | also,
                           d->u ? GP_BY_gesvdj : GP_BY_gesvd);
}

static bool by_driver(gp_solver *r, const gp_svd *d, gp_route driver) {
    if (driver == GP_BY_gesvdaStridedBatched && !(can_of(r, d) & GP_CAN(gesvdaStridedBatched)))
        return gp_fail("%s: driver gesvda gives no full matrices; use linalg.svd(x, false)",
                       "linalg.svd");
    gp_libs.svd_used = driver;
    gp_cuda_detail(gp_route_name(driver));
    return driver == GP_BY_jacobi ? gp_cuda_jacobi(r, d) : by_cusolver(r, d, driver);
}

bool gp_cuda_svd(gp_solver *r, const gp_svd *d) { return by_driver(r, d, driver_of(r, d, 0)); }

/* ---- calls ---- */

static bool decompose(const gp_call *c, gp_svd d) {
    gp_solver r;
    if (!gp_solver_begin(&r, c, NULL)) return false;
    d.rows = r.m, d.cols = r.n;
    if (r.count == 0) return true;
    if (r.k == 0) /* the singular vectors of a matrix without rows or columns */
        return !d.full ||
               (gp_solver_identity(&r, d.u, r.m, r.m) && gp_solver_identity(&r, d.vh, r.n, r.n));
    gp_route driver = driver_of(&r, &d, gp_solver_can_on_cpu());
    if (driver == GP_BY_cpu) return gp_libs.svd_used = driver, gp_solver_on_cpu(c);
    d.a = gp_solver_load(&r, gp_in(c, 0), false);
    return d.a && by_driver(&r, &d, driver);
}

/* The call's own driver, or the global setting. */
static gp_route asked_for(const gp_value *v) {
    if (v->kind == GP_NONE) return (gp_route)gp_libs.svd_driver;
    return !strcmp(v->s, "gesvd")    ? GP_BY_gesvd
           : !strcmp(v->s, "gesvdj") ? GP_BY_gesvdj
                                     : GP_BY_gesvdaStridedBatched;
}

#define TEXTS(op)                                                                                  \
    { op ": the input contains NaN or infinite elements", op ": the iteration did not converge" }

bool CUDA(linalg_svd)(const gp_call *c) {
    static const char *const texts[] = TEXTS("linalg.svd");
    return decompose(c, (gp_svd){.full = c->arg[1].i,
                                 .u = gp_out(c, 0)->data,
                                 .s = gp_out(c, 1)->data,
                                 .vh = gp_out(c, 2)->data,
                                 .driver = asked_for(&c->arg[2]),
                                 .texts = texts});
}

bool CUDA(linalg_svdvals)(const gp_call *c) {
    static const char *const texts[] = TEXTS("linalg.svdvals");
    return decompose(c, (gp_svd){.s = gp_out(c, 0)->data, .texts = texts});
}
