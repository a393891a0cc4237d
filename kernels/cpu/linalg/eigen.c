/* Eigenvalues and eigenvectors by LAPACK. A symmetric matrix is the same by rows and by columns;
 * only its triangles are exchanged. */
#include <string.h>

#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/factors/reflectors.h"

/* The most columns that LAPACK's blocked algorithms take at a time; the size from which
 * eigenvectors are computed from the tridiagonal form here. */
enum { PANEL = 64, LARGE = 256 };

/* ---- symmetric ---- */

/* Source of the sizes: LAPACK's syevd. A large matrix needs e, tau, z and, in turn, the workspace
 * of sytrd, stedc and the back-transformation. */
static int64_t symmetric_work(const gp_lapack *r) {
    int64_t n = r->n, most = r->flag == 'V' ? 1 + 6 * n + 2 * n * n : 2 * n + 1;
    if (r->flag == 'V' && n >= LARGE) return 2 * n * n + (GP_TRIDIAG_BLOCK + 6) * n + 1;
    return most > (PANEL + 2) * n ? most : (PANEL + 2) * n;
}
static int symmetric_integers(const gp_lapack *r) { return r->flag == 'V' ? 3 + 5 * r->n : 1; }

#define TINY_f32 1e-30f
#define TINY_f64 1e-290
#define TEMPLATE "kernels/cpu/linalg/eigen_symmetric.inc"
#include "kernels/common/floats.inc"

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

#define TEMPLATE "kernels/cpu/linalg/eigen_general.inc"
#include "kernels/common/floats.inc"

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
