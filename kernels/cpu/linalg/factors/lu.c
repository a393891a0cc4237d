/* LU factorization of a large matrix by rows: a panel of columns is transposed, so that its
 * columns are dense, and factored by halves; then each thread updates its part of the columns
 * after it. Rows are dense, which makes row exchanges and triangular solves fast; in OpenBLAS's
 * getrf they take as long as the products. On one thread of an AMD EPYC (AVX2), 512 and 1024 rows
 * take 0.84 to 0.92 of getrf's time, and inverses of 256 to 1024 rows 0.66 to 1.04 of the time of
 * getrf and getri (scripts/bench/RESULTS.md). */
#include "kernels/blas/blas.h"
#include "kernels/cpu/linalg/factors/lu.h"

#include <float.h>
#include <string.h>

#include "kernels/cpu/matmul/gemm.h"
#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/matmul/packed.h"

/* LEAF: columns that are eliminated one by one. VECTORS: vectors of a row that a triangle is solved
 * for at a time. CHUNK: right-hand sides that are solved for together. SHARE: columns worth a
 * thread. */
enum { BLOCK = GP_LU_BLOCK, HALF = BLOCK / 2, LEAF = 8, VECTORS = 4, CHUNK = 64, SHARE = 160 };
_Static_assert(HALF % LEAF == 0, "panels are halved down to leaves");

/* One panel: what the columns after it need. */
typedef struct step {
    void *a;           /* the matrix */
    const void *below; /* minus L's rows below the panel's triangle, k elements each */
    const int *pivot;
    int64_t n, ld, first, k; /* the panel's first column, and the number of its columns */
} step;

typedef struct equations {
    const void *lu;
    void *x; /* n x cols */
    const int *pivot;
    int64_t n, ld, cols;
} equations;

#define VECTOR(T, t)                                                                               \
    typedef T vec_##t __attribute__((vector_size(GP_VB), aligned(sizeof(T)), may_alias));
VECTOR(float, f32)
VECTOR(double, f64)

#define SWAP(T, t)                                                                                 \
    static inline void swap_rows_##t(T *x, T *y, int64_t n) {                                      \
        for (int64_t j = 0; x != y && j < n; j++) {                                                \
            const T was = x[j];                                                                    \
            x[j] = y[j];                                                                           \
            y[j] = was;                                                                            \
        }                                                                                          \
    }
SWAP(float, f32)
SWAP(double, f64)

/* ---- the panel, by columns ---- */

#define TINY_f32 FLT_MIN
#define TINY_f64 DBL_MIN
#define TEMPLATE "kernels/cpu/linalg/factors/lu_panel.inc"
#include "kernels/common/floats.inc"

/* ---- the rows ---- */

#define TEMPLATE "kernels/cpu/linalg/factors/lu.inc"
#include "kernels/common/floats.inc"

/* ---- equations ---- */

#define TEMPLATE "kernels/cpu/linalg/factors/lu_solve.inc"
#include "kernels/common/floats.inc"
