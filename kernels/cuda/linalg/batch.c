/* Batches of matrices for cuSOLVER and cuBLAS: handles, sizes, scratch, and copies in both
 * directions. */
#include "kernels/cuda/linalg/cusolver.h"

#include <stdio.h>

#include "kernels/cuda/runtime/dense.h"

gp_cusolver gp_solve;
gp_cublas gp_blas;

/* ---- handles ---- */

bool gp_cusolver_ok(const gp_call *c, int status, const char *what) {
    if (status == CUSOLVER_STATUS_SUCCESS) return true;
    gp_fail("%s: cuSOLVER's %s failed (%s)", c->op->name, what,
            gp_lib_status(GP_LIB_cusolver, status));
    return gp_lib_failed(c, status == CUSOLVER_STATUS_ALLOC_FAILED);
}
bool gp_cublas_ok(const gp_call *c, int status, const char *what) {
    if (status == CUBLAS_STATUS_SUCCESS) return true;
    gp_fail("%s: cuBLAS's %s failed (%s)", c->op->name, what, gp_lib_status(GP_LIB_cublas, status));
    return gp_lib_failed(c, status == CUBLAS_STATUS_ALLOC_FAILED);
}

static bool create_solver(const gp_call *c, cudaStream_t s, void **handle) {
    static const char *const names[] = {
#define F GP_LIB_NAME
#include "kernels/cuda/linalg/cusolver.def"
    };
    enum {
        N = sizeof names / sizeof *names,
        OPTIONAL = 0
#define F(name)
#define LATER(name) +1
#include "kernels/cuda/linalg/cusolver.def"
    };
    if (!gp_solve.cusolverDnCreate &&
        !gp_lib_functions(GP_LIB_cusolver, c->op->name, names, N, OPTIONAL, (void **)&gp_solve))
        return gp_solve.cusolverDnCreate = NULL, false;
    cusolverDnHandle_t h;
    if (!gp_cusolver_ok(c, gp_solve.cusolverDnCreate(&h), "cusolverDnCreate")) return false;
    *handle = h;
    return gp_cusolver_ok(c, gp_solve.cusolverDnSetStream(h, s), "cusolverDnSetStream");
}
cusolverDnHandle_t gp_cusolver_handle(const gp_call *c) {
    return (cusolverDnHandle_t)gp_lib_handle(c, GP_LIB_cusolver, create_solver);
}

static bool create_blas(const gp_call *c, cudaStream_t s, void **handle) {
    static const char *const names[] = {
#define F GP_LIB_NAME
#include "kernels/cuda/linalg/cublas.def"
    };
    enum { N = sizeof names / sizeof *names };
    if (!gp_blas.cublasCreate_v2 &&
        !gp_lib_functions(GP_LIB_cublas, c->op->name, names, N, 0, (void **)&gp_blas))
        return gp_blas.cublasCreate_v2 = NULL, false;
    cublasHandle_t h;
    if (!gp_cublas_ok(c, gp_blas.cublasCreate_v2(&h), "cublasCreate")) return false;
    *handle = h;
    return gp_cublas_ok(c, gp_blas.cublasSetStream_v2(h, s), "cublasSetStream");
}
cublasHandle_t gp_cublas_handle(const gp_call *c) {
    return (cublasHandle_t)gp_lib_handle(c, GP_LIB_cublas, create_blas);
}

/* ---- sizes ---- */

static bool open_info(gp_solver *r, int32_t *info) {
    r->count = 1;
    for (int d = 0; d < r->batch; d++) r->count *= r->dim[d];
    r->info = info ? info : (int32_t *)gp_cuda_scratch(r->c, (size_t)r->count * sizeof(int32_t));
    return r->info && gp_solver_zero(r, r->info, r->count * (int64_t)sizeof(int32_t));
}

static void open_matrix(gp_solver *r, const gp_call *c) {
    const gp_array *x = gp_in(c, 0);
    memset(r, 0, sizeof *r);
    r->c = c;
    r->dtype = (gp_dtype)x->dtype;
    r->wide = x->dtype == GP_f64;
    r->size = r->wide ? 8 : 4;
    r->batch = x->ndim - 2;
    r->dim = x->dim;
    r->m = (int)x->dim[x->ndim - 2];
    r->n = (int)x->dim[x->ndim - 1];
    r->k = r->m < r->n ? r->m : r->n;
}

bool gp_solver_begin(gp_solver *r, const gp_call *c, int32_t *info) {
    open_matrix(r, c);
    return open_info(r, info);
}

bool gp_solver_equations(gp_solver *r, const gp_call *c, bool vectors) {
    const gp_array *a = gp_in(c, 0), *b = gp_in(c, 1), *x = gp_out(c, 0);
    bool same = b->ndim == a->ndim - 1;
    for (int i = 0; same && i < b->ndim; i++) same = b->dim[i] == a->dim[i];
    open_matrix(r, c);
    r->vectors = vectors && (b->ndim == 1 || same);
    r->batch = x->ndim - (r->vectors ? 1 : 2);
    r->dim = x->dim;
    r->rows = (int)b->dim[b->ndim - (r->vectors ? 1 : 2)];
    r->cols = r->vectors ? 1 : (int)b->dim[b->ndim - 1];
    return open_info(r, NULL);
}

void *gp_solver_scratch(const gp_solver *r, int64_t elements) {
    return gp_cuda_scratch(r->c, (size_t)(elements * r->size));
}

bool gp_solver_zero(const gp_solver *r, void *p, int64_t bytes) {
    return bytes == 0 ||
           gp_cuda_ok(r->c, cudaMemsetAsync(p, 0, (size_t)bytes, gp_cuda_stream(r->c)));
}

void **gp_solver_addresses(const gp_solver *r, void *first, int64_t elements) {
    void **at = (void **)gp_cuda_table(r->c, (size_t)r->count * sizeof *at);
    for (int64_t i = 0; at && i < r->count; i++) at[i] = (char *)first + i * elements * r->size;
    return at;
}

gp_route gp_solver_route(const gp_solver *r, gp_routed op, int64_t rows, int64_t cols, unsigned can,
                         gp_route otherwise) {
    gp_route by = gp_route_for(op, r->wide, rows, cols, r->count, can, otherwise);
    gp_cuda_detail(gp_route_name(by));
    return by;
}

/* ---- copies ---- */

/* x as batch x rows x cols; a vector is one column. */
static gp_array matrices(const gp_array *x, bool vectors) {
    gp_array y = *x;
    if (!vectors) return y;
    y.dim[y.ndim] = 1, y.stride[y.ndim] = 1;
    y.ndim++;
    return y;
}

bool gp_solver_rows(const gp_solver *r, const gp_array *x, bool vectors, void *to) {
    int64_t dim[GP_MAX_DIM + 2];
    gp_array from = matrices(x, vectors);
    for (int d = 0; d < r->batch; d++) dim[d] = r->dim[d];
    for (int d = 0; d < 2; d++) dim[r->batch + d] = from.dim[from.ndim - 2 + d];
    gp_array out = gp_dense_over(to, r->dtype, r->batch + 2, dim);
    return gp_cuda_copy_array(r->c, &out, &from);
}

bool gp_solver_columns(const gp_solver *r, const gp_array *x, bool vectors, int64_t ld,
                       int64_t step, void *to) {
    int64_t dim[GP_MAX_DIM + 2];
    gp_array from = matrices(x, vectors);
    int n = r->batch;
    for (int d = 0; d < n; d++) dim[d] = r->dim[d];
    for (int d = 0; d < 2; d++) dim[n + d] = from.dim[from.ndim - 2 + d];
    gp_array out = gp_dense_over(to, r->dtype, n + 2, dim);
    out.contiguous = false;
    out.stride[n] = 1, out.stride[n + 1] = ld;
    for (int d = n - 1; d >= 0; d--) out.stride[d] = step, step *= out.dim[d];
    return gp_cuda_copy_array(r->c, &out, &from);
}

void *gp_solver_load(const gp_solver *r, const gp_array *x, bool columns) {
    int64_t each = (int64_t)r->m * r->n;
    void *p = gp_solver_scratch(r, r->count * each);
    if (!p) return NULL;
    if (columns) return gp_solver_columns(r, x, false, r->m, each, p) ? p : NULL;
    return gp_solver_rows(r, x, false, p) ? p : NULL;
}
