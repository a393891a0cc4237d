/* Products of small matrices, in registers. */
#ifndef GP_CPU_TILE_H
#define GP_CPU_TILE_H

#include "kernels/cpu/runtime/kernel.h"

/* With 32 vector registers of 64 bytes, tiles are faster than the libraries up to sizes of about
 * 64; with fewer they are not. */
#if defined(__AVX512F__)
#define GP_TILES 1
#else
#define GP_TILES 0
#endif

/* Columns of b and c must be a multiple of this many elements of either type. */
enum { GP_TILE = 16 };

/* c (m x n, dense) = a (m x k, strides rs and cs) b (k x n, rows bs apart), in elements; n is a
 * multiple of GP_TILE. */
#define gp_tiles_f32 GP_NAME(gp_tiles_f32)
#define gp_tiles_f64 GP_NAME(gp_tiles_f64)
void gp_tiles_f32(int64_t m, int64_t n, int64_t k, const float *a, int64_t rs, int64_t cs,
                  const float *b, int64_t bs, float *c);
void gp_tiles_f64(int64_t m, int64_t n, int64_t k, const double *a, int64_t rs, int64_t cs,
                  const double *b, int64_t bs, double *c);

#endif
