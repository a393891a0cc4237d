/* Products with many Householder reflections, in blocks: H(k) ... H(1) = I - V T V', V's columns
 * being their vectors and T lower triangular (LAPACK's larft, backward and by columns). LAPACK's
 * ormtr takes them 32 at a time and multiplies by triangles, at a quarter of the speed that large
 * products have; here columns of z are shared out, which wait for nothing. */
#include "kernels/cpu/linalg/reflectors.h"

#include <string.h>

#include "kernels/cpu/matmul/gemm.h"

enum { BLOCK = GP_TRIDIAG_BLOCK, PIECE = 128 /* columns of z, at most */ };

/* What LAPACK stores by columns is here a matrix of as many rows: vector i of V is row i of v, and
 * row i of tri is column i of -T. */
typedef struct reflections {
    const void *a, *tau;
    void *v, *tri, *z;
    int n, blocks, piece; /* piece: rows of z that are done together */
} reflections;

#define T float
#define t f32
#include "kernels/cpu/linalg/reflectors.inc"
#define T double
#define t f64
#include "kernels/cpu/linalg/reflectors.inc"
