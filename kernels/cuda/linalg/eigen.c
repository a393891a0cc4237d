/* Eigenvalues and eigenvectors by cuSOLVER. A symmetric matrix is the same by rows and by columns;
 * only its triangles are exchanged. */
#include <limits.h>

#include "kernels/cuda/linalg/cusolver.h"

/* ---- symmetric ---- */

#define TEMPLATE "kernels/cuda/linalg/eigen_symmetric.inc"
#include "kernels/common/floats.inc"

/* Parameters of cuSOLVER's functions for any dtype; NULL with a message. */
static cusolverDnParams_t any_params(const gp_call *c) {
    static cusolverDnParams_t params; /* shared by all calls */
    bool ok = params ||
              gp_cusolver_ok(c, gp_solve.cusolverDnCreateParams(&params), "cusolverDnCreateParams");
    return ok ? params : NULL;
}

/* Two routines take all matrices in one call: Jacobi rotations, and cuSOLVER's of CUDA 12.6 and
 * later. */
#if CUSOLVER_VERSION >= 11701
static bool has_batched(const gp_solver *r) {
    return gp_cusolver_handle(r->c) && gp_solve.cusolverDnXsyevBatched &&
           gp_solve.cusolverDnXsyevBatched_bufferSize && r->count * r->n * r->n <= INT_MAX;
}

static bool batched(const gp_solver *r, void *a, void *w, bool vectors, bool lower) {
    cusolverDnHandle_t h = gp_cusolver_handle(r->c);
    cusolverDnParams_t params = any_params(r->c);
    cusolverEigMode_t job = vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
    cublasFillMode_t uplo = lower ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
    cudaDataType type = r->wide ? CUDA_R_64F : CUDA_R_32F;
    int64_t n = r->n;
    size_t on_device = 0, on_host = 0;
    if (!params || !gp_cusolver_ok(r->c,
                                   gp_solve.cusolverDnXsyevBatched_bufferSize(
                                       h, params, job, uplo, n, type, a, n, type, w, type,
                                       &on_device, &on_host, r->count),
                                   "cusolverDnXsyevBatched_bufferSize"))
        return false;
    void *work = gp_cuda_scratch(r->c, on_device),
         *host = on_host ? gp_cuda_table(r->c, on_host) : NULL;
    return work && (host || !on_host) &&
           gp_cusolver_ok(r->c,
                          gp_solve.cusolverDnXsyevBatched(h, params, job, uplo, n, type, a, n, type,
                                                          w, type, work, on_device, host, on_host,
                                                          r->info, r->count),
                          "cusolverDnXsyevBatched");
}
#else
static bool has_batched(const gp_solver *r) { return false; }
static bool batched(const gp_solver *r, void *a, void *w, bool vectors, bool lower) {
    return false;
}
#endif

static gp_route route_of(const gp_solver *r) {
    unsigned can = GP_CAN(syevd) | gp_solver_can_on_cpu();
    if (r->count <= INT_MAX) can |= GP_CAN(syevjBatched);
    gp_lib_lock();
    if (r->count > 1 && has_batched(r)) can |= GP_CAN(syevBatched);
    gp_lib_unlock();
    return gp_solver_route(r, GP_FOR_eigh, r->n, r->n, can, GP_BY_syevd);
}

/* a, matrices, becomes their vectors where asked for; w: the values. With gp_lib_lock held. */
static bool decompose(const gp_solver *r, gp_route by, void *a, void *w, bool vectors, bool lower) {
    if (by == GP_BY_syevjBatched)
        return r->wide ? jacobi_f64(r, a, w, vectors, lower) : jacobi_f32(r, a, w, vectors, lower);
    if (by == GP_BY_syevBatched) return batched(r, a, w, vectors, lower);
    return r->wide ? symmetric_f64(r, a, w, vectors, lower)
                   : symmetric_f32(r, a, w, vectors, lower);
}

static bool symmetric(const gp_call *c, const char *const *texts) {
    gp_solver r;
    bool vectors = c->nout == 2, lower = (c->arg[1].s[0] | 32) == 'l';
    if (!gp_solver_begin(&r, c, NULL)) return false;
    if (r.count == 0 || r.n == 0) return true;
    gp_route by = route_of(&r);
    if (by == GP_BY_cpu) return gp_solver_on_cpu(c);
    void *a = gp_solver_load(&r, gp_in(c, 0), false), *w = gp_out(c, 0)->data;
    if (!a || !gp_solver_check(&r, a, r.n, r.n, lower ? GP_LOWER : GP_UPPER)) return false;
    gp_lib_lock();
    bool ok = decompose(&r, by, a, w, vectors, lower);
    gp_lib_unlock();
    if (ok && vectors)
        ok = gp_solver_extract_columns(&r, gp_out(c, 1)->data, a, r.n, r.n, r.n, GP_ALL);
    return ok && gp_solver_report(&r, texts);
}

#define TROUBLE "has eigenvalues to which the iteration did not converge"
bool CUDA(linalg_eigh)(const gp_call *c) {
    static const char *const texts[] = GP_MATRIX_TEXTS("linalg.eigh", TROUBLE);
    return symmetric(c, texts);
}
bool CUDA(linalg_eigvalsh)(const gp_call *c) {
    static const char *const texts[] = GP_MATRIX_TEXTS("linalg.eigvalsh", TROUBLE);
    return symmetric(c, texts);
}

/* ---- any square matrix ---- */

#if CUSOLVER_VERSION >= 11702
/* w: real parts, then imaginary ones; v: the vectors as LAPACK's geev packs them. */
static bool general(const gp_solver *r, char *a, char *w, char *v, bool vectors) {
    cudaDataType type = r->wide ? CUDA_R_64F : CUDA_R_32F;
    cusolverEigMode_t none = CUSOLVER_EIG_MODE_NOVECTOR,
                      job = vectors ? CUSOLVER_EIG_MODE_VECTOR : none;
    cusolverDnHandle_t h = gp_cusolver_handle(r->c);
    int64_t n = r->n, size = r->size;
    size_t on_device = 0, on_host = 0;
    if (!h) return false;
    if (!gp_solve.cusolverDnXgeev || !gp_solve.cusolverDnXgeev_bufferSize)
        return gp_fail(
            "%s: needs the cuSOLVER of CUDA 12.8 or later; with an earlier one, use x:to(\"cpu\")",
            r->c->op->name);
    cusolverDnParams_t params = any_params(r->c);
    if (!params) return false;
    if (!gp_cusolver_ok(r->c,
                        gp_solve.cusolverDnXgeev_bufferSize(h, params, none, job, n, type, a, n,
                                                            type, w, type, NULL, n, type, v, n,
                                                            type, &on_device, &on_host),
                        "cusolverDnXgeev_bufferSize"))
        return false;
    on_host = (on_host + 63) / 64 * 64;
    void *work = gp_cuda_scratch(r->c, on_device);
    char *hosts = on_host ? (char *)gp_cuda_table(r->c, on_host * (size_t)r->count) : NULL;
    bool ok = work && (hosts || !on_host);
    for (int64_t i = 0; ok && i < r->count; i++) {
        void *host = on_host ? hosts + (size_t)i * on_host : NULL;
        ok = gp_cusolver_ok(r->c,
                            gp_solve.cusolverDnXgeev(
                                h, params, none, job, n, type, a + i * n * n * size, n, type,
                                w + 2 * i * n * size, type, NULL, n, type, v + i * n * n * size, n,
                                type, work, on_device, host, on_host, r->info + i),
                            "cusolverDnXgeev");
    }
    return ok;
}
#else
static bool general(const gp_solver *r, char *a, char *w, char *v, bool vectors) {
    return gp_fail(
        "%s: this build is for a CUDA before 12.8, whose cuSOLVER has no geev; use x:to(\"cpu\")",
        r->c->op->name);
}
#endif

static bool eigen(const gp_call *c, const char *const *texts) {
    gp_solver r;
    bool vectors = c->nout == 4;
    if (!gp_solver_begin(&r, c, NULL)) return false;
    if (r.count == 0 || r.n == 0) return true;
    int64_t n = r.n;
    void *a = gp_solver_load(&r, gp_in(c, 0), true);
    char *w = (char *)gp_solver_scratch(&r, 2 * n * r.count),
         *v = (char *)gp_solver_scratch(&r, vectors ? n * n * r.count : 1);
    if (!a || !w || !v || !gp_solver_check(&r, a, n, n, GP_ALL)) return false;
    gp_lib_lock();
    bool ok = general(&r, a, w, v, vectors);
    gp_lib_unlock();
    ok = ok && gp_solver_extract(&r, gp_out(c, 0)->data, w, 2 * n, 1, n, 0, 1, GP_ALL) &&
         gp_solver_extract(&r, gp_out(c, 1)->data, w + n * r.size, 2 * n, 1, n, 0, 1, GP_ALL);
    if (ok && vectors) ok = gp_solver_unpack(&r, v, w, gp_out(c, 2)->data, gp_out(c, 3)->data);
    return ok && gp_solver_report(&r, texts);
}

bool CUDA(linalg_eig)(const gp_call *c) {
    static const char *const texts[] = GP_MATRIX_TEXTS("linalg.eig", TROUBLE);
    return eigen(c, texts);
}
bool CUDA(linalg_eigvals)(const gp_call *c) {
    static const char *const texts[] = GP_MATRIX_TEXTS("linalg.eigvals", TROUBLE);
    return eigen(c, texts);
}
