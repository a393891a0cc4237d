/* Householder bidiagonalisation in one pass over the matrix per step, where gebrd needs several
 * and a call of gemv for each. Step i zeroes row i right of the superdiagonal (reflector v, from
 * the right) and column i below row i + 1 (reflector u, from the left). While a row is in the
 * cache, it gets the last step's update by u, then v's, and is added to y = x' A, x being column
 * i, from which u's own update w = u' A follows. On one thread of an AMD EPYC (AVX2), 64 and 256
 * rows take 0.34 to 0.73 of gebrd's time (scripts/bench/RESULTS.md). */
#include "kernels/cpu/linalg/factors/bidiagonal.h"

#include <string.h>

#include "kernels/cpu/matmul/packed.h"

/* A row is taken 64 bytes at a time, in PARTS registers: GCC 12 keeps wider vectors than the
 * processor's in memory. */
enum { STEP = 64, PARTS = STEP / GP_VB };

#define VECTOR(T, t) typedef T vec_##t __attribute__((vector_size(GP_VB), may_alias));
VECTOR(float, f32)
VECTOR(double, f64)

/* Reflector that maps (alpha, x) to (beta, 0), with |x|^2 = square: tau, and the scale of x.
 * Source: LAPACK's larfg. */
#define REFLECT(T, t, root, sign)                                                                  \
    static T reflect_##t(T alpha, T square, T *tau, T *scale) {                                    \
        if (square == 0) return *tau = *scale = 0, alpha;                                          \
        T beta = -sign(root(alpha * alpha + square), alpha);                                       \
        *tau = (beta - alpha) / beta;                                                              \
        *scale = 1 / (alpha - beta);                                                               \
        return beta;                                                                               \
    }
REFLECT(float, f32, sqrtf, copysignf)
REFLECT(double, f64, sqrt, copysign)

#define TEMPLATE "kernels/cpu/linalg/factors/bidiagonal.inc"
#include "kernels/common/floats.inc"
