/* Batches of matrices as operands, and the loop over a batch, shared by the factorizations. */
#ifndef GP_CPU_LAPACK_H
#define GP_CPU_LAPACK_H

#include "kernels/blas/blas.h"
#include "kernels/cpu/runtime/kernel.h"

/* An operand: a batch of matrices, its dims broadcast to those of the result. Strides in bytes. */
typedef struct gp_matrices {
    const char *data;
    int rows, cols;
    int64_t rs, cs, size; /* size: of an element */
    int ndim;
    int64_t dim[GP_MAX_DIM], stride[GP_MAX_DIM];
} gp_matrices;

/* x as an operand; `vectors`: its last dim is a column. The batch has the first ndim dims of
 * `result`. */
#define gp_matrices_of GP_NAME(gp_matrices_of)
gp_matrices gp_matrices_of(const gp_array *x, bool vectors, const gp_array *result, int ndim);

/* Matrix i as dense rows, ld elements apart. */
#define gp_gather GP_NAME(gp_gather)
void gp_gather(void *to, int64_t ld, const gp_matrices *m, int64_t i);
/* Matrix i as dense columns: as LAPACK stores it. */
#define gp_gather_columns GP_NAME(gp_gather_columns)
void gp_gather_columns(void *to, int64_t ld, const gp_matrices *m, int64_t i);
/* to (rows x cols, rows dense) = the transpose of from, whose rows are ld elements apart. */
#define gp_transpose_copy GP_NAME(gp_transpose_copy)
void gp_transpose_copy(void *to, const void *from, int64_t ld, int64_t rows, int64_t cols,
                       int64_t size);
/* The address of matrix i's first element. */
#define gp_matrix_at GP_NAME(gp_matrix_at)
const char *gp_matrix_at(const gp_matrices *m, int64_t i);

/* Work from which LU, and what is computed from it, is faster on several threads: OpenBLAS's own
 * loop divides it into parts that seldom wait for each other. At 384 two threads lose a quarter, at
 * 448 they gain a third. */
enum { GP_LU_ALONE = 85000000 };

/* The outcome of one matrix. GP_TROUBLE: the op's `trouble` describes it. */
typedef enum gp_lapack_outcome {
    GP_FINE,
    GP_TROUBLE,
    GP_NOT_FINITE,
    GP_REFUSED,
    GP_INTERRUPTED
} gp_lapack_outcome;
static inline gp_lapack_outcome gp_lapack_outcome_of(int info) {
    return info == 0 ? GP_FINE : info > 0 ? GP_TROUBLE : GP_REFUSED;
}

/* One run of an op over a batch. The op fills in the first fields. */
typedef struct gp_lapack gp_lapack;
struct gp_lapack {
    const gp_call *c;
    const char
        *trouble; /* completes "the matrix …" where LAPACK's info is positive: "is singular" */
    gp_matrices a, b;
    int64_t count, flops; /* matrices; approximate work for one */
    int batch;            /* batch dims: the first of output 0, or of x where there are none */
    const int64_t *dim;   /* their sizes */
    int threads;          /* that one matrix can use; 0: all */
    int64_t alone;   /* work from which one uses several; 0: the default of most factorizations */
    int m, n, k;     /* sizes for `one` */
    char flag;       /* another argument of `one`: uplo, mode … */
    unsigned spoilt; /* outputs (bits) set to NaN, or 0 if integers, for an a with NaN or
                        infinities: LAPACKs differ in their results for these, and lose some */
    int64_t bytes;   /* workspace of one matrix */
    /* Processes matrix i. work: r->bytes, 64-byte aligned. */
    gp_lapack_outcome (*one)(const gp_lapack *r, int64_t i, char *work);
    _Atomic int64_t
        bad; /* set by the run: the first matrix that failed, times 8, plus its verdict; -1: none */
    _Atomic bool no_memory;
};

/* Runs the batch. False with a message that names the op and the first matrix that failed. */
#define gp_lapack_run GP_NAME(gp_lapack_run)
bool gp_lapack_run(gp_lapack *r);

/* The usual beginning of an op: x is argument 0, with its own batch. */
#define gp_lapack_begin GP_NAME(gp_lapack_begin)
gp_lapack gp_lapack_begin(const gp_call *c);

/* The same for equations: a is argument 0, b argument 1, and the batch is that of output 0. Where
 * `vectors` are allowed, b may hold one for each matrix, by PyTorch's rule: it has one dim, or all
 * of a's but the last. */
#define gp_lapack_equations GP_NAME(gp_lapack_equations)
gp_lapack gp_lapack_equations(const gp_call *c, bool vectors);

/* Whether n elements, all of one row, are finite. */
#define gp_finite GP_NAME(gp_finite)
bool gp_finite(const void *p, int64_t n, int64_t size);

#endif
