/* Singular value decomposition by LAPACK (in OpenBLAS): batches are divided among the pool's
 * threads, each matrix on one. Our bidiagonal form is worth 1.7 to 1.9 for svdvals of 16 to 256
 * rows, 1.2 to 1.3 for svd (one thread of an Emerald Rapids with AVX-512). */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "kernels/blas/blas.h"
#include "kernels/cpu/linalg/factors/bidiagonal.h"
#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/runtime/kernel.h"

enum { UNIT_WORK = 1 << 15, QUICK_BYTES = 512 << 10, BLOCK = 64 };

typedef enum trouble { FINE, NOT_FINITE, NOT_CONVERGED, NO_MEMORY, TOO_LARGE, INTERRUPTED } trouble;

typedef struct svd_job {
    const gp_array *x;
    int64_t count;     /* matrices */
    int rows, cols, k; /* of a matrix, and the smaller of the two */
    char jobz;         /* 'A' full, 'S' economy, 'N' values only */
    char *u, *s, *vh;  /* dense outputs; u and vh NULL with 'N' */
    int ucols, vrows;
    int ld;     /* row stride of LAPACK's padded copy */
    bool quick; /* bidiagonalised by gp_bidiag: nearly square, and fits the second-level cache */
    _Atomic int trouble;
} svd_job;

#define MOST_f32 FLT_MAX
#define MOST_f64 DBL_MAX
#define MAGNITUDE_f32 fabsf
#define MAGNITUDE_f64 fabs
#define TEMPLATE "kernels/cpu/linalg/svd_gather.inc"
#include "kernels/common/floats.inc"

static const char *matrix_at(const svd_job *r, int64_t i) {
    const gp_array *x = r->x;
    int64_t at = 0;
    for (int d = x->ndim - 3; d >= 0; d--) at += i % x->dim[d] * x->stride[d], i /= x->dim[d];
    return x->data + at * (int64_t)gp_dtype_size((gp_dtype)x->dtype);
}

/* Workspace of one matrix, in elements: the copy, then what either path needs. */
static int64_t padded(int64_t n) { return (n + 15) / 16 * 16; }
static int64_t quick_work(const svd_job *r) {
    return padded(3LL * r->k * r->k + 4 * r->k) + 4LL * r->ld +
           (int64_t)BLOCK * (r->cols + BLOCK + 1) + 5 * padded(r->k);
}

#define TINY_f32 1e-9f
#define TINY_f64 1e-90
#define HUGE_f32 1e9f
#define HUGE_f64 1e90
#define TEMPLATE "kernels/cpu/linalg/svd.inc"
#include "kernels/common/floats.inc"

static void some(void *ctx, int64_t begin, int64_t end) {
    svd_job *r = ctx;
    gp_blas_threads(1);
    trouble t = r->x->dtype == GP_f32 ? some_f32(r, begin, end) : some_f64(r, begin, end);
    if (t) r->trouble = t;
}

static bool report(const char *name, trouble t) {
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
        for (int64_t j = 0; j < n; j++)
            gp_scalar_store(dt, p + (i * n * n + j * (n + 1)) * size, (gp_scalar){.i = 1});
}

static bool decompose(const gp_call *c, svd_job *r, const char *name) {
    const gp_array *x = gp_in(c, 0);
    r->x = x;
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
    if (!gp_blas_open()) return false;
    r->ld = (r->cols + GP_BIDIAG_PAD - 1) / GP_BIDIAG_PAD * GP_BIDIAG_PAD;
    int64_t bytes = (int64_t)r->rows * r->ld * (int64_t)gp_dtype_size((gp_dtype)x->dtype);
    r->quick =
        r->rows <= r->cols && (int64_t)r->cols * 6 < (int64_t)r->rows * 11 && bytes <= QUICK_BYTES;
    if (gp_offload_wanted(c, 4.0 * r->rows * r->cols * r->k)) return gp_offload_run(c, name);
    gp_parallel(r->count, 1 + UNIT_WORK / ((int64_t)r->rows * r->cols * r->k), some, r);
    return report(name, (trouble)r->trouble);
}

bool CPU(linalg_svd)(const gp_call *c) {
    svd_job r = {.jobz = c->arg[1].i ? 'A' : 'S',
                 .u = gp_out(c, 0)->data,
                 .s = gp_out(c, 1)->data,
                 .vh = gp_out(c, 2)->data};
    return decompose(c, &r, "linalg.svd");
}

bool CPU(linalg_svdvals)(const gp_call *c) {
    svd_job r = {.jobz = 'N', .s = gp_out(c, 0)->data};
    return decompose(c, &r, "linalg.svdvals");
}
