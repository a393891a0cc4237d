/* QR factorization by blocked reflections of a column-major matrix. */
#ifndef GP_CPU_QR_H
#define GP_CPU_QR_H

#include "kernels/cpu/runtime/kernel.h"

/* Columns that are factored before the rest is updated. */
enum { GP_QR_BLOCK = 32 };

/* a (m x n, columns ld apart) = Q R: R replaces its upper triangle, signed as LAPACK's; the part
 * below is undefined. The reflections of a block of columns are I - V F V': v (low columns ld
 * apart, low = the lesser of m and n) holds V's columns, f F's rows, GP_QR_BLOCK apart, in
 * consecutive blocks. work: 2 GP_QR_BLOCK elements for each column of a. Uses all threads, unless a
 * pool thread calls it. */
#define gp_qr_f32 GP_NAME(gp_qr_f32)
#define gp_qr_f64 GP_NAME(gp_qr_f64)
void gp_qr_f32(int m, int n, float *a, int64_t ld, float *v, float *f, float *work);
void gp_qr_f64(int m, int n, double *a, int64_t ld, double *v, double *f, double *work);

/* q (m x k, columns ld apart) = the first k columns of Q, made of low reflections; work: for k
 * columns. */
#define gp_qr_q_f32 GP_NAME(gp_qr_q_f32)
#define gp_qr_q_f64 GP_NAME(gp_qr_q_f64)
void gp_qr_q_f32(int m, int k, int low, float *q, int64_t ld, const float *v, const float *f,
                 float *work);
void gp_qr_q_f64(int m, int k, int low, double *q, int64_t ld, const double *v, const double *f,
                 double *work);

#endif
