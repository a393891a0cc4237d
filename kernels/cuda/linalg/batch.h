/* Batches of matrices for the factorizations on a CUDA device: copied to where cuSOLVER reads them
 * and back; and the report of a matrix's failure, which stays on the device until the next wait. */
#ifndef GP_CUDA_LAPACK_H
#define GP_CUDA_LAPACK_H

#include "kernels/cuda/linalg/routes.h"
#include "kernels/cuda/runtime/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One run of an op over a batch. Matrices in scratch are consecutive. */
typedef struct gp_solver {
    const gp_call *c;
    gp_dtype dtype; /* f32 or f64 */
    bool wide;      /* f64 */
    int64_t size, count;
    int batch; /* batch dims: the first of output 0, or of x where there are none; their sizes */
    const int64_t *dim;
    int m, n, k;     /* of x (or a), and the smaller of the two */
    int rows, cols;  /* of b, in equations */
    bool vectors;    /* b holds vectors */
    int32_t *info;   /* cuSOLVER's info for each matrix; initially zeros */
    int32_t *finite; /* the result of gp_solver_check; NULL if not called */
    int32_t *spoilt; /* the result of gp_solver_mark; NULL if not called */
} gp_solver;

/* The usual beginning of an op: x is argument 0. False with a message. gp_solver_equations: a is
 * argument 0, b argument 1, and the batch is that of output 0; where `vectors` are allowed, b may
 * hold one for each matrix, by PyTorch's rule. `info`: its destination, or NULL for scratch. */
bool gp_solver_begin(gp_solver *r, const gp_call *c, int32_t *info);
bool gp_solver_equations(gp_solver *r, const gp_call *c, bool vectors);

/* Copies all matrices of x, broadcast over the batch, to `to`: dense rows, or dense columns ld
 * apart. */
bool gp_solver_rows(const gp_solver *r, const gp_array *x, bool vectors, void *to);
bool gp_solver_columns(const gp_solver *r, const gp_array *x, bool vectors, int64_t ld,
                       int64_t step, void *to);
/* The same to scratch; NULL with a message. */
void *gp_solver_load(const gp_solver *r, const gp_array *x, bool columns);
void *gp_solver_scratch(const gp_solver *r, int64_t elements);

/* The part of a matrix that is copied; elsewhere 0, on the diagonal of GP_UNIT_LOWER 1. */
typedef enum gp_keep { GP_ALL, GP_UPPER, GP_LOWER, GP_UNIT_LOWER } gp_keep;
/* out (rows x cols, dense) = element (i, j) at from[i * rs + j * cs], in each of count matrices
 * `step` apart. */
bool gp_solver_extract(const gp_solver *r, void *out, const void *from, int64_t step, int64_t rows,
                       int64_t cols, int64_t rs, int64_t cs, gp_keep keep);
static inline bool gp_solver_extract_columns(const gp_solver *r, void *out, const void *from,
                                             int64_t ld, int64_t rows, int64_t cols, gp_keep keep) {
    return gp_solver_extract(r, out, from, ld * cols, rows, cols, 1, ld, keep);
}
/* Identities of rows x cols. */
bool gp_solver_identity(const gp_solver *r, void *out, int64_t rows, int64_t cols);
bool gp_solver_zero(const gp_solver *r, void *p, int64_t bytes);

/* NaN and infinities (finite.cu), all queued. An op either refuses them (gp_solver_check, then
 * gp_solver_report), or gives NaN (gp_solver_mark, then gp_solver_spoil). */
/* Records matrices with NaN or infinite elements in r->finite and replaces these by 0. rows x cols
 * of them dense; keep: which triangle counts. */
bool gp_solver_check(gp_solver *r, void *data, int64_t rows, int64_t cols, gp_keep keep);
/* What is recorded: matrices, or rows of each, with NaN or infinite elements, which become 0;
 * matrices with NaN, which stays. */
typedef enum gp_mark { GP_BAD_MATRICES, GP_BAD_ROWS, GP_NAN_MATRICES } gp_mark;
/* Records in r->spoilt; matrices of dense rows are `step` elements apart. Call it once. */
bool gp_solver_mark(gp_solver *r, void *data, int64_t step, int64_t rows, int64_t cols, gp_mark by);
/* Makes all `each` elements of out NaN in the matrices that are recorded, and their info 0. */
bool gp_solver_spoil(const gp_solver *r, void *out, int64_t each);
/* The same for QR, where r->spoilt has a mark for each of n columns: R (rows x n) is NaN in those
 * columns; Q (m x cols; NULL: none) and R are NaN from the first reflection of one on. */
bool gp_solver_spoil_qr(const gp_solver *r, void *q, int64_t cols, void *R, int64_t rows);
/* The info of a Cholesky factor in a (n x n, dense) with NaN on its diagonal: the first such row,
 * unless another failed before it. */
bool gp_solver_nan_pivots(const gp_solver *r, const void *a);

/* Raises, at the next wait, the failure of the first matrix that has one. texts: GP_MATRIX_TEXTS of
 * the op. */
bool gp_solver_report(const gp_solver *r, const char *const *texts);
/* The same with two texts that do not name the matrix: not finite, any other failure. */
bool gp_solver_flag(const gp_solver *r, const char *const *texts);
enum { GP_WHICH_TEXTS = 5 };
#define GP_WHICH(op, what)                                                                         \
    op ": the matrix " what, op ": matrix [%lld] of the batch " what,                              \
        op ": matrix [%lld][%lld] of the batch " what,                                             \
        op ": matrix [%lld][%lld][%lld] of the batch " what, op ": matrix %lld of the batch " what
#define GP_MATRIX_TEXTS(op, trouble)                                                               \
    { GP_WHICH(op, trouble), GP_WHICH(op, "contains NaN or infinite elements") }

/* Addresses of `count` matrices `elements` apart, in memory that kernels can read; for the
 * libraries' batched calls. */
void **gp_solver_addresses(const gp_solver *r, void *first, int64_t elements);

/* Queued work (batch.cu): the permutations P (m x m) from pivots (k of each matrix); determinants
 * from the LU in a (n x n): the sign and the logarithm unless log_det is NULL. */
bool gp_solver_permutations(const gp_solver *r, void *p, const int32_t *pivots, int32_t *order);
bool gp_solver_determinants(const gp_solver *r, const void *a, const int32_t *pivots, void *det,
                            void *log_det);

/* The first q columns of Q in place of the k reflectors in a (columns of m rows, matrices `step`
 * elements apart) with factors tau, as LAPACK's orgqr. */
bool gp_solver_form_q(const gp_solver *r, void *a, const void *tau, int64_t step, int q);

/* Splits eigenvectors as geev packs them (v: n x n, columns dense; a conjugate pair's real and
 * imaginary parts in two columns), with the values in w (n real parts, n imaginary ones), into real
 * and imaginary parts. */
bool gp_solver_unpack(const gp_solver *r, const void *v, const void *w, void *re, void *im);

/* LU of count dense matrices (m x n as cuSOLVER counts, columns m apart) in place, info filled
 * (factorize.c). by: getrf or getrfBatched, which is for square ones; auto: as lu's rows say. */
bool gp_solver_lu(gp_solver *r, void *a, int *pivots, gp_route by);

/* The routine for this shape, which becomes the record's detail, too. */
gp_route gp_solver_route(const gp_solver *r, gp_routed op, int64_t rows, int64_t cols, unsigned can,
                         gp_route otherwise);
/* Queues c as a whole for the CPU's kernel, with copies (on_cpu.c). GP_CAN(cpu) where that is
 * possible: not in a graph. */
bool gp_solver_on_cpu(const gp_call *c);
unsigned gp_solver_can_on_cpu(void);

/* Singular values of dense matrices. */
typedef struct gp_svd {
    void *a; /* count x rows x cols, dense; overwritten */
    int rows, cols;
    bool full;
    void *u, *s, *vh;         /* dense, as linalg_svd gives them; u and vh NULL: values only */
    const char *const *texts; /* not finite, not converged */
    gp_route driver;          /* the driver asked for, or auto */
} gp_svd;
/* Queues the decomposition by d->driver, or the device's best routine for the shape: into d->s, and
 * d->u and d->vh where wanted. False with a message; d->texts come up at the next wait.
 * gp_cuda_jacobi: by our own kernel (jacobi.cu), for shapes that gp_cuda_jacobi_takes. */
bool gp_cuda_svd(gp_solver *r, const gp_svd *d);
void gp_cuda_detail(const char *text); /* kernels/cuda/runtime/device.h: for the record */
bool gp_cuda_jacobi(const gp_solver *r, const gp_svd *d);
bool gp_cuda_jacobi_takes(int64_t rows, int64_t cols, int64_t count, bool full);

#ifdef __cplusplus
}
#endif
#endif
