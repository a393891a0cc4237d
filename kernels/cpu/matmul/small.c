/* Products of small matrices, tile by tile in registers: a library's call overhead is a good part
 * of their time. */
#include "kernels/cpu/matmul/small.h"

#if GP_TILES
enum { BYTES = 64, ROWS = 8, WIDE = 4 }; /* bytes of a vector; most rows and vectors of a tile */

#define T float
#define t f32
#include "kernels/cpu/matmul/small.inc"
#define T double
#define t f64
#include "kernels/cpu/matmul/small.inc"
#endif
