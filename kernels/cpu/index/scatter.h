/* Writing elements at a table's offsets: assigned, added, multiplied, the smaller or the larger. */
#ifndef GP_CPU_PUT_H
#define GP_CPU_PUT_H

#include "kernels/cpu/runtime/kernel.h"
#include "tensor/infer.h"

/* Element i: x + i * xs + t[i * ts] takes f + i * fs. Steps of x and f in bytes. */
typedef struct gp_scatter_at {
    char *x;
    const int64_t *t;
    const char *f;
    int64_t xs, ts, fs;
} gp_scatter_at;

/* Writes the elements 0 … n-1, in this order. */
typedef void (*gp_scatter_row)(const gp_scatter_at *p, int64_t n);
#define gp_scatter_fn GP_NAME(gp_scatter_fn)
gp_scatter_row gp_scatter_fn(gp_dtype dt, gp_scatter_op how);

/* Sums of many values in few elements. gp_scatter_is_few: whether adding values (one, or one per
 * index) to the target along its dim d is such a sum; gp_scatter_few adds them: false, with nothing
 * written, if an index is out of range. */
#define gp_scatter_is_few GP_NAME(gp_scatter_is_few)
bool gp_scatter_is_few(const gp_array *target, int d, const gp_array *index,
                       const gp_array *values);
#define gp_scatter_few GP_NAME(gp_scatter_few)
bool gp_scatter_few(const gp_array *target, int d, const gp_array *index, const gp_array *values);

#endif
