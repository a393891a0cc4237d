/* Products of small matrices, in registers. */
#ifndef GP_CPU_TILE_H
#define GP_CPU_TILE_H

#include "kernels/cpu/matmul/half.h"

/* c (dense rows) = a b in compute type ct, f32 or f64, which a and b have, too; one sum in the
 * inner dim's order for each element. False, with nothing done, where that is not the fastest
 * way. */
#define gp_small_product GP_NAME(gp_small_product)
bool gp_small_product(gp_ctype ct, const gp_matrix *a, const gp_matrix *b, void *c);

#endif
