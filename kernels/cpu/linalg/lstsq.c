/* Least squares by LAPACK: gels (QR, full rank), gelsy (QR with pivots), gelsd and gelss (SVD). */
#include <float.h>
#include <string.h>

#include "kernels/cpu/linalg/batch.h"

/* flag: 's' gels, 'y', 'd', 'S' gelss; r->k: the smaller of m and n. */
typedef struct parts {
    int64_t a, b, s, work; /* elements */
    int iwork;             /* integers */
} parts;

#define EPS_f32 FLT_EPSILON
#define EPS_f64 DBL_EPSILON
#define TEMPLATE "kernels/cpu/linalg/lstsq.inc"
#include "kernels/common/floats.inc"

static void clear(const gp_array *x) {
    memset(x->data, 0, (size_t)x->numel * gp_dtype_size((gp_dtype)x->dtype));
}

/* Without rows or columns of a, x is 0, and the residuals are b. */
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
                               : "does not have full rank, which driver 'gels' needs";
    r.flag = !c->arg[3].s[4] ? 's' : c->arg[3].s[4] == 's' ? 'S' : c->arg[3].s[4];
    if (r.k == 0) return nothing(&r);
    if (!gp_blas_open()) return false; /* it tells how much memory it needs */
    r.bytes = r.a.size == 4 ? bytes_f32(&r) : bytes_f64(&r);
    if (r.bytes < 0) return gp_fail("linalg.lstsq: the matrix is too large for LAPACK");
    r.flops *= 4;
    r.one = r.a.size == 4 ? lstsq_f32 : lstsq_f64;
    return gp_lapack_run(&r);
}
