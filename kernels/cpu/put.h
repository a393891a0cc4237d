/* How elements are written at places of a table: put, added, multiplied, the smaller or the larger.
 */
#ifndef GP_CPU_PUT_H
#define GP_CPU_PUT_H

#include "kernels/kernel.h"
#include "tensor/infer.h"

/* Element i: x + i * xs + t[i * ts] takes f + i * fs. Steps of x and f in bytes. */
typedef struct gp_put_at {
    char *x;
    const int64_t *t;
    const char *f;
    int64_t xs, ts, fs;
} gp_put_at;

/* Writes the elements sel[0 … n-1], or with sel NULL 0 … n-1, in this order. */
typedef void (*gp_put_row)(const gp_put_at *p, const int32_t *sel, int64_t n);
#define gp_put_fn GP_NAME(gp_put_fn)
gp_put_row gp_put_fn(gp_dtype dt, gp_how how);

#endif
