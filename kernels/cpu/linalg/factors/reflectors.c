/* Products with many Householder reflections, in blocks: H(k) ... H(1) = I - V T V', V's columns
 * being their vectors and T lower triangular (LAPACK's larft, backward and by columns). LAPACK's
 * ormtr takes them 32 at a time and multiplies by triangles, at a quarter of the speed of large
 * products; here the columns of z are divided among threads, which do not wait for each other. On
 * one thread of an AMD EPYC (AVX2), 256 to 1024 columns take 0.69 to 0.92 of ormtr's time
 * (scripts/bench/RESULTS.md). */
#include "kernels/cpu/linalg/factors/reflectors.h"

#include <string.h>

#include "kernels/cpu/matmul/gemm.h"

enum { BLOCK = GP_TRIDIAG_BLOCK, PIECE = 128 /* the most columns of z at a time */ };

/* A column-major matrix of LAPACK is a row-major one here: vector i of V is row i of v, and row i
 * of tri is column i of -T. */
typedef struct reflections {
    const void *a, *tau;
    void *v, *tri, *z;
    int n, blocks, piece; /* piece: rows of z that are processed together */
} reflections;

#define TEMPLATE "kernels/cpu/linalg/factors/reflectors.inc"
#include "kernels/common/floats.inc"
