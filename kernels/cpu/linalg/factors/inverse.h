/* Inverses of small matrices, for which LAPACK's calls take longer than their work. */
#ifndef GP_CPU_INVERSE_H
#define GP_CPU_INVERSE_H

#include "kernels/cpu/runtime/kernel.h"

/* The most rows and columns. */
enum { GP_SMALL = 32 };

/* Row stride of the matrix, in elements: padded to full vectors. */
static inline int64_t gp_small_ld(int64_t n) { return (n + 7) / 8 * 8; }

/* Replaces a (n x n, rows gp_small_ld(n) apart, padded with zeros) by its inverse. Returns 0, or
 * the first row, counted from 1, without a pivot: a is then what the steps before have left. */
#define gp_invert_f32 GP_NAME(gp_invert_f32)
#define gp_invert_f64 GP_NAME(gp_invert_f64)
int gp_invert_f32(int n, float *a);
int gp_invert_f64(int n, double *a);

#endif
