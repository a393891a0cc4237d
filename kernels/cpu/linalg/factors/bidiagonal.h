/* Reduction of a matrix to bidiagonal form, as LAPACK's gebrd leaves it, for matrices that fit the
 * second-level cache. */
#ifndef GP_CPU_BIDIAG_H
#define GP_CPU_BIDIAG_H

#include "kernels/cpu/runtime/kernel.h"

/* Rows must be padded to a multiple of this: whole vectors. */
enum { GP_BIDIAG_PAD = 16 };
_Static_assert(GP_BIDIAG_PAD * sizeof(float) % 64 == 0, "rows are whole vectors of 64 bytes");

/* a: rows x ld elements, 64-byte aligned, ld a multiple of GP_BIDIAG_PAD; rows <= cols <= ld, zero
 * from column cols on, and small enough not to overflow when squared. To LAPACK it is a tall cols x
 * rows matrix. On return a, d (rows), e (rows - 1), tauq and taup (rows) are as gebrd gives them.
 * work: 4 ld + rows elements, 64-byte aligned. */
#define gp_bidiag_f32 GP_NAME(gp_bidiag_f32)
#define gp_bidiag_f64 GP_NAME(gp_bidiag_f64)
void gp_bidiag_f32(int rows, int cols, int ld, float *a, float *d, float *e, float *tauq,
                   float *taup, float *work);
void gp_bidiag_f64(int rows, int cols, int ld, double *a, double *d, double *e, double *tauq,
                   double *taup, double *work);

#endif
