/* Where the dims of index tensors are in x[indices]: for the shape rule and every device's
 * kernels. */
#ifndef GP_INDEX_H
#define GP_INDEX_H

#include <stdbool.h>
#include <stdint.h>

/* NumPy's rule: in place of the indexed dims (bits of mask) where these are adjacent, else
 * first. */
static inline int gp_index_position(int ndim, uint64_t mask) {
    int first = 0, runs = 0;
    for (int d = ndim - 1; d >= 0; d--) {
        bool here = mask >> d & 1, next = mask >> (d + 1) & 1;
        runs += here && !next;
        if (here) first = d;
    }
    return runs == 1 ? first : 0;
}

#endif
