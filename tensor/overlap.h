/* Do arrays share elements? Asked before an op writes in place. */
#ifndef GP_OVERLAP_H
#define GP_OVERLAP_H

#include "tensor/tensor.h"

/* May an element of a be an element of b? Exact for what slicing, transposing and expanding make:
   true is said without proof only after 1000 steps of search. Source: a bounded Diophantine
   equation, as in NumPy's solve_may_share_memory. */
bool gp_arrays_overlap(const gp_array *a, const gp_array *b);

/* May two indices of a name one element (expanded dims, overlapping windows)? False only if surely
 * not. */
bool gp_array_self_overlaps(const gp_array *a);

#endif
