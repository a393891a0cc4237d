/* QR, Cholesky and LU by LAPACK, except for the QR of larger matrices. LAPACK stores by columns:
 * where a transposed problem has the same answer, matrices are passed in place. Blocked reflections
 * are worth 1.5 to 1.9 for QR of f32 from 128 to 1024 columns, 2.6 for 1024x128, 2.0 to 1.1 in f64
 * (one thread of an Emerald Rapids with AVX-512). */
#include <math.h>
#include <string.h>

#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/factors/lu.h"
#include "kernels/cpu/linalg/factors/qr.h"

/* ---- QR ---- */

/* QR_LEAST: reflections from which on they are blocked; LAPACK is faster for fewer. QR_ALONE: work
 * from which columns are divided among threads. */
enum { QR_LEAST = 96, QR_ALONE = 1 << 22 };

#define TEMPLATE "kernels/cpu/linalg/factorize_qr.inc"
#include "kernels/common/floats.inc"

/* Without columns Q is the identity, or empty. */
static bool empty_qr(const gp_lapack *r) {
    const gp_array *q = gp_out(r->c, 0);
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)q->dtype), n = r->k;
    memset(q->data, 0, (size_t)(q->numel * size));
    for (int64_t i = 0; i < r->count * n && q->numel; i++)
        gp_scalar_store((gp_dtype)q->dtype, q->data + (i / n * n * n + i % n * (n + 1)) * size,
                        (gp_scalar){.i = 1});
    return true;
}

bool CPU(linalg_qr)(const gp_call *c) {
    gp_lapack r = gp_lapack_begin(c);
    const gp_array *R = gp_out(c, 1);
    int64_t wide, low = r.k;
    r.flag = c->arg[1].s[1] ? 'q' : 'r'; /* mode r: only R */
    r.k = (int)R->dim[R->ndim - 2];
    if (low == 0) return empty_qr(&r);
    wide = r.n > r.k ? r.n : r.k;
    r.alone = QR_ALONE;
    r.bytes = (gp_lu_ld(r.m) * (wide + low) + GP_QR_BLOCK * (low + 2 * wide)) * r.a.size + r.n;
    r.one = r.a.size == 4 ? qr_f32 : qr_f64;
    return gp_lapack_run(&r);
}

/* ---- Cholesky ---- */

#define TEMPLATE "kernels/cpu/linalg/factorize_cholesky.inc"
#include "kernels/common/floats.inc"

bool CPU(linalg_cholesky)(const gp_call *c) {
    gp_lapack r = gp_lapack_begin(c);
    r.trouble = "is not positive definite";
    r.flag = c->arg[1].i ? 'U' : 'L';
    r.bytes = gp_lu_ld(r.n) * r.n * r.a.size;
    r.flops /= 3;
    r.one = r.a.size == 4 ? cholesky_f32 : cholesky_f64;
    return gp_lapack_run(&r);
}
bool CPU(linalg_cholesky_ex)(const gp_call *c) { return CPU(linalg_cholesky)(c); }

/* ---- LU ---- */

#define TEMPLATE "kernels/cpu/linalg/factorize_lu.inc"
#include "kernels/common/floats.inc"

bool CPU(linalg_lu_factor)(const gp_call *c) {
    gp_lapack r = gp_lapack_begin(c);
    if (r.k == 0) return true;
    r.bytes = (int64_t)r.m * r.n * r.a.size;
    r.alone = GP_LU_ALONE;
    r.spoilt = 1;
    r.one = r.a.size == 4 ? lu_factor_f32 : lu_factor_f64;
    return gp_lapack_run(&r);
}

bool CPU(linalg_lu)(const gp_call *c) {
    gp_lapack r = gp_lapack_begin(c);
    r.bytes = (int64_t)r.m * r.n * r.a.size + (r.m + r.k) * (int64_t)sizeof(int);
    r.alone = GP_LU_ALONE;
    r.spoilt = 2 | 4;
    r.one = r.a.size == 4 ? lu_f32 : lu_f64;
    return gp_lapack_run(&r);
}
