/* QR factorization: Householder reflections in blocks I - V F V', whose products with other
 * columns are matrix products; each thread computes its part of these columns. A block is factored
 * by halves, so that only a few columns at a time are reflected one by one. Source: Elmroth and
 * Gustavson, "Applying recursion to serial and parallel QR factorization", 2000. On one thread of
 * an AMD EPYC (AVX2), Q and R of 256 to 1024 columns take 0.77 to 0.95 of the time of LAPACK's
 * geqrf and orgqr (scripts/bench/RESULTS.md). */
#include "kernels/cpu/linalg/factors/qr.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/matmul/gemm.h"
#include "kernels/cpu/linalg/batch.h"

/* LEAF: columns that are reflected one by one. SHARE: columns worth a thread. LANES: sums of a dot
 * product. */
enum { BLOCK = GP_QR_BLOCK, HALF = BLOCK / 2, LEAF = 16, SHARE = 64, LANES = 32 };
_Static_assert(HALF % LEAF == 0, "panels are halved down to leaves");

/* A block of k reflections of m rows, and columns that it reflects. */
typedef struct block {
    const void *v, *f; /* m x k by columns, k x k by rows BLOCK apart */
    void *c, *work;    /* columns; 2 BLOCK elements for each */
    int64_t m, k, ld;  /* ld: between columns, of v as of c */
    bool transposed;   /* I - V F' V' */
} block;

/* SAFE: lengths from which on a column keeps full precision. */
#define SAFE_f32 0x1p-100
#define SAFE_f64 0x1p-960
#define TEMPLATE "kernels/cpu/linalg/factors/qr.inc"
#include "kernels/common/floats.inc"
