/* Small matrices are inverted in place by Gauss-Jordan elimination: each step clears a row but for
 * its pivot, the largest element, by subtracting multiples of the pivot's column from the others.
 * All elements of a row are treated alike, so that the loops are whole vectors. */
#include "kernels/cpu/linalg/inverse.h"

#define ALWAYS __attribute__((always_inline)) static inline
#define T float
#define t f32
#include "kernels/cpu/linalg/inverse.inc"
#define T double
#define t f64
#include "kernels/cpu/linalg/inverse.inc"
