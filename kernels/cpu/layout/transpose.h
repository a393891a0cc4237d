/* Copies a matrix stored by columns into one stored by rows. */
#ifndef GP_CPU_TRANSPOSE_H
#define GP_CPU_TRANSPOSE_H

#include "kernels/cpu/runtime/kernel.h"

enum { GP_TRANSPOSE_TILE = 128 }; /* rows that are worth a call */

/* d (rows x cols) = s: element (r, c) lies at d + r dp + c size and at s + r size + c sp. size is
 * 1, 2, 4 or 8 bytes, the pitches dp and sp are in bytes. stream: d does not fit into the
 * caches. */
#define gp_transpose GP_NAME(gp_transpose)
void gp_transpose(char *d, int64_t dp, const char *s, int64_t sp, int64_t rows, int64_t cols,
                  size_t size, bool stream);

#endif
