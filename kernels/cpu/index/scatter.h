/* How elements are written at places of a table: put, added, multiplied, the smaller or the
 * larger. */
#ifndef GP_CPU_PUT_H
#define GP_CPU_PUT_H

#include "kernels/cpu/runtime/kernel.h"
#include "tensor/infer.h"

/* Element i: x + i * xs + t[i * ts] takes f + i * fs. Steps of x and f in bytes. */
typedef struct gp_put_at {
    char *x;
    const int64_t *t;
    const char *f;
    int64_t xs, ts, fs;
} gp_put_at;

/* Writes the elements 0 … n-1, in this order. */
typedef void (*gp_put_row)(const gp_put_at *p, int64_t n);
#define gp_put_fn GP_NAME(gp_put_fn)
gp_put_row gp_put_fn(gp_dtype dt, gp_scatter_op how);

/* Sums of many values in few places: whether that is what adding values (one, or one for each of
 * the index) to the target at index along its dim d is; and the adding, which is false, with
 * nothing written, if an index is out of range. */
#define gp_put_is_few GP_NAME(gp_put_is_few)
bool gp_put_is_few(const gp_array *target, int d, const gp_array *index, const gp_array *values);
#define gp_put_few GP_NAME(gp_put_few)
bool gp_put_few(const gp_array *target, int d, const gp_array *index, const gp_array *values);

#endif
