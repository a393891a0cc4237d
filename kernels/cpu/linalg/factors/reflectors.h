/* Transforms the eigenvectors of a symmetric matrix's tridiagonal form back to those of the
 * matrix. */
#ifndef GP_CPU_TRIDIAG_H
#define GP_CPU_TRIDIAG_H

#include "kernels/cpu/runtime/kernel.h"

/* Reflections that are applied together. */
enum { GP_TRIDIAG_BLOCK = 64 };

/* z (n x n, by columns) = Q z, where a (n x n) and tau (n - 1) hold Q as LAPACK's sytrd leaves it
 * with uplo 'U'. work: n (n + GP_TRIDIAG_BLOCK) elements. */
#define gp_tridiag_back_f32 GP_NAME(gp_tridiag_back_f32)
#define gp_tridiag_back_f64 GP_NAME(gp_tridiag_back_f64)
void gp_tridiag_back_f32(int n, const float *a, const float *tau, float *z, float *work);
void gp_tridiag_back_f64(int n, const double *a, const double *tau, double *z, double *work);

#endif
