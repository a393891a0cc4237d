/* LU factorization with row exchanges of a large row-major matrix, and equations solved with it. */
#ifndef GP_CPU_LU_H
#define GP_CPU_LU_H

#include "kernels/cpu/runtime/kernel.h"

/* Columns that are factored before the rest is updated. */
enum { GP_LU_BLOCK = 64 };

/* The best row stride in elements: not a power of two, which would map the lines to few sets of a
 * cache. */
static inline int64_t gp_lu_ld(int64_t n) {
    int64_t ld = (n + 15) / 16 * 16;
    return ld % 64 ? ld : ld + 16;
}

/* a (n x n, rows ld apart) = P L U: U replaces its upper triangle, L, whose diagonal is 1, the part
 * below. Row i was exchanged with row pivot[i], in order. Returns 0, or the first i, counted from
 * 1, where U's diagonal is 0. work: 2 n GP_LU_BLOCK elements. Uses all threads, unless a pool
 * thread calls it. */
#define gp_lu_f32 GP_NAME(gp_lu_f32)
#define gp_lu_f64 GP_NAME(gp_lu_f64)
int gp_lu_f32(int n, float *a, int64_t ld, int *pivot, float *work);
int gp_lu_f64(int n, double *a, int64_t ld, int *pivot, double *work);

/* x (n x cols, dense rows) = the X of P L U X = x. */
#define gp_lu_solve_f32 GP_NAME(gp_lu_solve_f32)
#define gp_lu_solve_f64 GP_NAME(gp_lu_solve_f64)
void gp_lu_solve_f32(int n, const float *lu, int64_t ld, const int *pivot, float *x, int cols);
void gp_lu_solve_f64(int n, const double *lu, int64_t ld, const int *pivot, double *x, int cols);

/* x (n x n, rows ld apart, too) = the inverse of P L U. */
#define gp_lu_inverse_f32 GP_NAME(gp_lu_inverse_f32)
#define gp_lu_inverse_f64 GP_NAME(gp_lu_inverse_f64)
void gp_lu_inverse_f32(int n, const float *lu, int64_t ld, const int *pivot, float *x);
void gp_lu_inverse_f64(int n, const double *lu, int64_t ld, const int *pivot, double *x);

#endif
