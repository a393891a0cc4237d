/* Small matrices are inverted in place by Gauss-Jordan elimination: each step clears a row but for
 * its pivot, the largest element, by subtracting multiples of the pivot's column from the others.
 * All elements of a row are treated alike, so that the loops are whole vectors. On one thread of
 * an AMD EPYC (AVX2), 4 rows take 0.29 to 0.39 of the time of LAPACK's getrf and getri, 16 rows
 * 0.64 to 0.75 (scripts/bench/RESULTS.md). */
#include "kernels/cpu/linalg/factors/inverse.h"

#define ALWAYS __attribute__((always_inline)) static inline
#define TEMPLATE "kernels/cpu/linalg/factors/inverse.inc"
#include "kernels/common/floats.inc"
