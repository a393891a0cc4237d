/* Whether arrays share elements: checked before an op writes in place. */
#ifndef GP_OVERLAP_H
#define GP_OVERLAP_H

#include "tensor/tensor.h"

/* Whether an element of a may be an element of b. Exact for slicing, transposing and expanding:
 * true without proof only after 1000 steps of search. Source: a bounded Diophantine equation, as in
 * NumPy's solve_may_share_memory. */
bool gp_arrays_overlap(const gp_array *a, const gp_array *b);

/* Whether two indices of a may name one element (expanded dims, overlapping windows). False only if
 * surely not. */
bool gp_array_self_overlaps(const gp_array *a);

#endif
