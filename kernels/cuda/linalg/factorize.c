/* QR, Cholesky and LU by cuSOLVER, which stores by columns: matrices are copied to that order,
 * unless a transposed problem has the same answer. Batches of square matrices use batched calls,
 * others one call per matrix. */
#include "kernels/cuda/linalg/cusolver.h"

enum { BATCHED = 512 }; /* columns up to which Cholesky's batched call is faster */

#define TEMPLATE "kernels/cuda/linalg/factorize.inc"
#include "kernels/common/floats.inc"

/* ---- QR ---- */

static bool qr(gp_solver *r, cusolverDnHandle_t h, gp_route by, int q, bool only_r) {
    int64_t wide = r->n > q ? r->n : q, step = wide * r->m;
    const gp_array *Q = gp_out(r->c, 0), *R = gp_out(r->c, 1);
    void *a = gp_solver_scratch(r, r->count * step), *tau = gp_solver_scratch(r, r->count * r->k);
    if (!a || !tau || !gp_solver_columns(r, gp_in(r->c, 0), false, r->m, step, a) ||
        !gp_solver_mark(r, a, step, r->n, r->m, GP_BAD_ROWS)) /* a's columns */
        return false;
    if (!(r->wide ? geqrf_f64(r, h, by, a, tau, wide) : geqrf_f32(r, h, by, a, tau, wide)))
        return false;
    if (!gp_solver_extract(r, R->data, a, step, q, r->n, 1, r->m, GP_UPPER)) return false;
    if (only_r) return gp_solver_spoil_qr(r, NULL, 0, R->data, q);
    return (r->wide ? orgqr_f64(r, h, a, tau, wide, q) : orgqr_f32(r, h, a, tau, wide, q)) &&
           gp_solver_extract(r, Q->data, a, step, r->m, q, 1, r->m, GP_ALL) &&
           gp_solver_spoil_qr(r, Q->data, q, R->data, q);
}

bool CUDA(linalg_qr)(const gp_call *c) {
    gp_solver r;
    const gp_array *R = gp_out(c, 1);
    if (!gp_solver_begin(&r, c, NULL)) return false;
    int q = (int)R->dim[R->ndim - 2];
    bool only_r = !c->arg[1].s[1]; /* mode r */
    if (r.count == 0) return true;
    if (r.k == 0) /* without columns Q is the identity, or empty */
        return only_r || !q || gp_solver_identity(&r, gp_out(c, 0)->data, r.m, q);
    unsigned can = GP_CAN(geqrf) | gp_solver_can_on_cpu();
    if (r.count <= INT32_MAX) can |= GP_CAN(geqrfBatched);
    gp_route by = gp_solver_route(&r, GP_FOR_qr, r.m, r.n, can, GP_BY_geqrf);
    if (by == GP_BY_cpu) return gp_solver_on_cpu(c);
    gp_lib_lock();
    cusolverDnHandle_t h = gp_cusolver_handle(c);
    bool ok = h && qr(&r, h, by, q, only_r);
    gp_lib_unlock();
    return ok;
}

/* ---- Cholesky ---- */

static bool cholesky(gp_solver *r, bool upper) {
    int64_t n = r->n;
    void *a = gp_solver_load(r, gp_in(r->c, 0), !upper), *out = gp_out(r->c, 0)->data;
    if (!a) return false;
    gp_lib_lock();
    cusolverDnHandle_t h = gp_cusolver_handle(r->c);
    bool ok = h && (r->wide ? potrf_f64(r, h, a) : potrf_f32(r, h, a));
    gp_lib_unlock();
    return ok && gp_solver_nan_pivots(r, a) &&
           (upper ? gp_solver_extract(r, out, a, n * n, n, n, n, 1, GP_UPPER)
                  : gp_solver_extract_columns(r, out, a, n, n, n, GP_LOWER));
}

bool CUDA(linalg_cholesky)(const gp_call *c) {
    static const char *const texts[] =
        GP_MATRIX_TEXTS("linalg.cholesky", "is not positive definite");
    gp_solver r;
    bool ex = c->nout == 2;
    if (!gp_solver_begin(&r, c, ex ? (int32_t *)(void *)gp_out(c, 1)->data : NULL)) return false;
    if (r.count == 0 || r.n == 0) return true;
    return cholesky(&r, c->arg[1].i) && (ex || gp_solver_report(&r, texts));
}
bool CUDA(linalg_cholesky_ex)(const gp_call *c) { return CUDA(linalg_cholesky)(c); }

/* ---- LU ---- */

bool gp_solver_lu(gp_solver *r, void *a, int *pivots, gp_route by) {
    if (r->k == 0 || r->count == 0) return true;
    unsigned can = GP_CAN(getrf);
    if (r->m == r->n && r->count <= INT32_MAX) can |= GP_CAN(getrfBatched);
    if (!by) by = gp_solver_route(r, GP_FOR_lu, r->m, r->n, can, GP_BY_getrf);
    gp_lib_lock();
    bool ok;
    if (by == GP_BY_getrfBatched) {
        ok = r->wide ? getrf_batched_f64(r, a, pivots) : getrf_batched_f32(r, a, pivots);
    } else {
        cusolverDnHandle_t h = gp_cusolver_handle(r->c);
        ok = h && (r->wide ? getrf_f64(r, h, a, pivots) : getrf_f32(r, h, a, pivots));
    }
    gp_lib_unlock();
    return ok;
}

bool CUDA(linalg_lu_factor)(const gp_call *c) {
    gp_solver r;
    if (!gp_solver_begin(&r, c, NULL)) return false;
    if (r.count == 0 || r.k == 0) return true;
    void *a = gp_solver_load(&r, gp_in(c, 0), true), *out = gp_out(c, 0)->data;
    int64_t each = (int64_t)r.m * r.n;
    return a && gp_solver_mark(&r, a, each, r.n, r.m, GP_BAD_MATRICES) &&
           gp_solver_lu(&r, a, (int *)(void *)gp_out(c, 1)->data, GP_BY_auto) &&
           gp_solver_extract_columns(&r, out, a, r.m, r.m, r.n, GP_ALL) &&
           gp_solver_spoil(&r, out, each);
}

bool CUDA(linalg_lu)(const gp_call *c) {
    gp_solver r;
    if (!gp_solver_begin(&r, c, NULL)) return false;
    if (r.count == 0 || r.m == 0) return true;
    int64_t step = (int64_t)r.m * r.n;
    void *a = gp_solver_load(&r, gp_in(c, 0), true);
    int32_t *pivots =
        (int32_t *)gp_cuda_scratch(c, (size_t)(r.count * (r.k + r.m)) * sizeof *pivots);
    void *l = gp_out(c, 1)->data, *u = gp_out(c, 2)->data;
    return a && pivots && gp_solver_mark(&r, a, step, r.n, r.m, GP_BAD_MATRICES) &&
           gp_solver_lu(&r, a, pivots, GP_BY_auto) &&
           gp_solver_permutations(&r, gp_out(c, 0)->data, pivots, pivots + r.count * r.k) &&
           gp_solver_extract(&r, l, a, step, r.m, r.k, 1, r.m, GP_UNIT_LOWER) &&
           gp_solver_extract(&r, u, a, step, r.k, r.n, 1, r.m, GP_UPPER) &&
           gp_solver_spoil(&r, l, (int64_t)r.m * r.k) && gp_solver_spoil(&r, u, (int64_t)r.k * r.n);
}
