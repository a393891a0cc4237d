/* LU factorization with row exchanges of a large matrix that lies row by row, and equations solved
 * with it. */
#ifndef GP_CPU_LU_H
#define GP_CPU_LU_H

#include "kernels/cpu/runtime/kernel.h"

/* Columns that are factored before the rest follows. */
enum { GP_LU_BLOCK = 64 };

/* Elements from row to row at which rows lie best: not a power of two, whose lines would be put in
 * a few sets of a cache. */
static inline int64_t gp_lu_ld(int64_t n) {
    int64_t ld = (n + 15) / 16 * 16;
    return ld % 64 ? ld : ld + 16;
}

/* a (n x n, rows ld apart) = P L U: U replaces its upper triangle, L, whose diagonal is 1, what is
 * below. Row i changed places with row pivot[i], from the first on. Returns 0, or the first i,
 * counted from 1, where U's diagonal is 0. work: 2 n GP_LU_BLOCK elements. On all threads, unless
 * one of several runs it. */
#define gp_lu_f32 GP_NAME(gp_lu_f32)
#define gp_lu_f64 GP_NAME(gp_lu_f64)
int gp_lu_f32(int n, float *a, int64_t ld, int *pivot, float *work);
int gp_lu_f64(int n, double *a, int64_t ld, int *pivot, double *work);

/* x (n x cols, dense rows) = the X of P L U X = x. */
#define gp_lu_solve_f32 GP_NAME(gp_lu_solve_f32)
#define gp_lu_solve_f64 GP_NAME(gp_lu_solve_f64)
void gp_lu_solve_f32(int n, const float *lu, int64_t ld, const int *pivot, float *x, int cols);
void gp_lu_solve_f64(int n, const double *lu, int64_t ld, const int *pivot, double *x, int cols);

#endif
