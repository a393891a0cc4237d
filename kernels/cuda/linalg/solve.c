/* Inverses, determinants and systems of equations by cuSOLVER and cuBLAS. A row-major matrix is to
 * them its transpose M: where that serves as well, nothing is reordered. */
#include "kernels/cuda/linalg/cusolver.h"

enum { BATCHED = 512 }; /* rows up to which the inverses of a batch are one call */

#define TEMPLATE "kernels/cuda/linalg/solve.inc"
#include "kernels/common/floats.inc"

/* ---- inverse and determinant of A, from those of M' = A ---- */

/* LU of argument 0 by rows, without a transpose, and its matrices recorded `by`; *pivots in
 * scratch. NULL with a message. */
static void *factored(gp_solver *r, gp_mark by, gp_route lu, int32_t **pivots) {
    int64_t n = r->n;
    void *a = gp_solver_load(r, gp_in(r->c, 0), false);
    *pivots = (int32_t *)gp_cuda_scratch(r->c, (size_t)(r->count * n) * sizeof **pivots);
    return a && *pivots && gp_solver_mark(r, a, n * n, n, n, by) && gp_solver_lu(r, a, *pivots, lu)
               ? a
               : NULL;
}

static int32_t *other_info(const gp_solver *r) {
    return (int32_t *)gp_cuda_scratch(r->c, (size_t)r->count * sizeof(int32_t));
}

bool CUDA(linalg_inv)(const gp_call *c) {
    static const char *const texts[] =
        GP_MATRIX_TEXTS("linalg.inv", "is singular: it has no inverse");
    gp_solver r;
    int32_t *pivots, *unused;
    bool ex = c->nout == 2;
    if (!gp_solver_begin(&r, c, ex ? (int32_t *)(void *)gp_out(c, 1)->data : NULL)) return false;
    if (r.count == 0 || r.n == 0) return true;
    void *a = factored(&r, GP_BAD_MATRICES, GP_BY_auto, &pivots), *out = gp_out(c, 0)->data;
    if (!a || !(unused = other_info(&r))) return false;
    gp_lib_lock();
    bool ok =
        r.wide ? inverse_f64(&r, a, pivots, out, unused) : inverse_f32(&r, a, pivots, out, unused);
    gp_lib_unlock();
    return ok && gp_solver_spoil(&r, out, (int64_t)r.n * r.n) &&
           (ex || gp_solver_report(&r, texts));
}
bool CUDA(linalg_inv_ex)(const gp_call *c) { return CUDA(linalg_inv)(c); }

bool CUDA(linalg_det)(const gp_call *c) {
    gp_solver r;
    int32_t *pivots = NULL;
    if (!gp_solver_begin(&r, c, NULL)) return false;
    if (r.count == 0) return true;
    void *a = r.n ? factored(&r, GP_NAN_MATRICES, GP_BY_auto, &pivots) : NULL;
    void *det = gp_out(c, 0)->data, *log_det = c->nout == 2 ? gp_out(c, 1)->data : NULL;
    if (r.n && !a) return false;
    if (!gp_solver_determinants(&r, a, pivots, det, log_det)) return false;
    return !a || (gp_solver_spoil(&r, det, 1) && (!log_det || gp_solver_spoil(&r, log_det, 1)));
}
bool CUDA(linalg_slogdet)(const gp_call *c) { return CUDA(linalg_det)(c); }

/* ---- equations ---- */

static bool solve(gp_solver *r, gp_route by, bool left, void *a, int32_t *pivots) {
    const gp_array *b = gp_in(r->c, 1);
    void *out = gp_out(r->c, 0)->data;
    bool turned = left && r->cols > 1;
    int64_t step = (int64_t)r->rows * r->cols;
    int32_t *unused = other_info(r);
    void *x = turned ? gp_solver_scratch(r, r->count * step) : out;
    if (!x || !unused) return false;
    if (!(turned ? gp_solver_columns(r, b, r->vectors, r->rows, step, x)
                 : gp_solver_rows(r, b, r->vectors, x)))
        return false;
    gp_lib_lock();
    bool ok = r->wide ? solve_f64(r, by, left, a, pivots, x, unused)
                      : solve_f32(r, by, left, a, pivots, x, unused);
    gp_lib_unlock();
    return ok &&
           (!turned || gp_solver_extract_columns(r, out, x, r->rows, r->rows, r->cols, GP_ALL));
}

bool CUDA(linalg_solve)(const gp_call *c) {
    static const char *const texts[] =
        GP_MATRIX_TEXTS("linalg.solve", "is singular: the equations have no unique solution");
    gp_solver r;
    int32_t *pivots;
    if (!gp_solver_equations(&r, c, true)) return false;
    if (r.count == 0 || r.n == 0) return true;
    const gp_array *x = gp_out(c, 0);
    bool left = c->arg[2].i;
    unsigned can = GP_CAN(getrf) | gp_solver_can_on_cpu();
    if (r.count <= INT32_MAX) can |= GP_CAN(getrfBatched);
    gp_route by = gp_solver_route(&r, GP_FOR_solve, r.n, left ? r.cols : r.rows, can, GP_BY_getrf);
    if (by == GP_BY_cpu) return gp_solver_on_cpu(c);
    void *a = factored(&r, GP_BAD_MATRICES, by, &pivots);
    if (!a || (x->numel && !solve(&r, by, left, a, pivots))) return false;
    return gp_solver_spoil(&r, x->data, x->numel / r.count) && gp_solver_report(&r, texts);
}

bool CUDA(linalg_solve_triangular)(const gp_call *c) {
    gp_solver r;
    void *x = gp_out(c, 0)->data;
    if (!gp_solver_equations(&r, c, false)) return false;
    if (gp_out(c, 0)->numel == 0) return true;
    void *a = gp_solver_load(&r, gp_in(c, 0), false);
    if (!a || !gp_solver_rows(&r, gp_in(c, 1), false, x)) return false;
    gp_lib_lock();
    cublasHandle_t h = gp_cublas_handle(c);
    bool ok = h && (r.wide ? triangular_f64(&r, h, a, x) : triangular_f32(&r, h, a, x));
    gp_lib_unlock();
    return ok;
}
