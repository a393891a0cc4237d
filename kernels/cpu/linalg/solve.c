/* Inverses, determinants and systems of equations by LAPACK, lu.c and inverse.c. A row-major matrix
 * is to LAPACK its transpose M = P L U: where that serves as well, nothing is reordered. Our
 * inverse is worth 1.8 at 256 and 512 rows of f32, 1.6 and 1.25 of f64; of small matrices 3.4 at 4
 * rows, 2.8 at 8, 1.5 at 16 (one thread of an Emerald Rapids with AVX-512). */
#include <math.h>
#include <string.h>

#include "kernels/cpu/linalg/factors/inverse.h"
#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/factors/lu.h"

/* PANEL: the most columns that getri takes at a time. LARGE: size from which lu.c's LU is faster
 * than getrf; INV_LARGE: from which its inverse is faster than getri. */
enum { PANEL = 64, LARGE = 384, INV_LARGE = 192 };

/* ---- inverse and determinant of A, from those of M' = A ---- */

/* Row stride of a matrix that is factored, in elements, and its workspace: rows, panels if it is
 * large, and pivots. */
static int64_t row_length(int n) { return n < LARGE ? n : gp_lu_ld(n); }
static int64_t lu_bytes(const gp_lapack *r) {
    int64_t width = row_length(r->n) + (r->n < LARGE ? 0 : 2 * GP_LU_BLOCK);
    return r->n * (width * r->a.size + (int64_t)sizeof(int));
}
/* The same for an inverse, which small matrices have in their result's place. The panels are the
 * most that any way works with. */
static int64_t inv_bytes(const gp_lapack *r) {
    int64_t width = (r->n < INV_LARGE ? 0 : 2 * gp_lu_ld(r->n)) + 2 * GP_LU_BLOCK;
    return r->n * (width * r->a.size + (int64_t)sizeof(int));
}

#define TEMPLATE "kernels/cpu/linalg/inverse_det.inc"
#include "kernels/common/floats.inc"

bool CPU(linalg_inv)(const gp_call *c) {
    gp_lapack r = gp_lapack_begin(c);
    r.trouble = "is singular: it has no inverse";
    r.bytes = inv_bytes(&r);
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

#define TEMPLATE "kernels/cpu/linalg/solve.inc"
#include "kernels/common/floats.inc"

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

#define TEMPLATE "kernels/cpu/linalg/solve_triangular.inc"
#include "kernels/common/floats.inc"

bool CPU(linalg_solve_triangular)(const gp_call *c) {
    gp_lapack r = gp_lapack_equations(c, false);
    r.flag = c->arg[2].i ? 'U' : 'L';
    r.bytes = (int64_t)r.n * r.n * r.a.size;
    r.flops = (int64_t)r.n * r.b.rows * r.b.cols;
    r.one = r.a.size == 4 ? triangular_f32 : triangular_f64;
    return gp_lapack_run(&r);
}
