/* What sorting a line and sorting many share: see sort.c. */
#ifndef GP_CPU_SORT_H
#define GP_CPU_SORT_H

#include "kernels/cpu/sort/keys.h"

typedef struct gp_sorting {
    const gp_array *x, *values, *indices; /* values: NULL for argsort, indices: NULL for msort */
    int dim;
    int64_t n;          /* elements of a line */
    int64_t xs, vs, is; /* bytes between its elements, in x, values and indices */
    gp_key key;
    bool descending, is_float;
    uint64_t flip;    /* integers: key ^ flip is the element */
    gp_nd_loop lines; /* 0: order, 1: x, 2: indices, 3: values; without the sorted dim */
    _Atomic bool no_memory, interrupted;
} gp_sorting;

/* Keys of elements i … i + n of the line at x, complemented for descending order. */
#define gp_sort_keys GP_NAME(gp_sort_keys)
void gp_sort_keys(const gp_sorting *s, const char *x, int64_t i, int64_t n, uint64_t *keys);
/* Writes the line's i-th to i+n-th smallest: positions at[0 … n-1] as indices from 1, and the
 * elements, made from their keys, or with keys NULL fetched. p: order, x, indices, values. */
#define gp_sort_write GP_NAME(gp_sort_write)
void gp_sort_write(const gp_sorting *s, char *const *p, int64_t i, const int64_t *at,
                   const uint64_t *keys, int64_t n);
/* Notes Ctrl-C; true from then on. */
static inline bool gp_sort_stopped(gp_sorting *s) {
    if (gp_stopped()) s->interrupted = true;
    return s->interrupted;
}
/* Sorts the line at p (see gp_sort_write) on `parts` threads; errors set s's flags. */
#define gp_sort_line GP_NAME(gp_sort_line)
void gp_sort_line(gp_sorting *s, char *const *p, int64_t parts);
/* x, 1-d, in order to values. */
#define gp_sort_whole GP_NAME(gp_sort_whole)
bool gp_sort_whole(const gp_call *c, const gp_array *x, const gp_array *values);

#endif
