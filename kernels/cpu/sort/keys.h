/* What kernels that work line by line along a dim share: order-preserving keys, and arrays without
 * a dim. */
#ifndef GP_CPU_KEYS_H
#define GP_CPU_KEYS_H

#include "kernels/cpu/runtime/kernel.h"

/* Writes unsigned keys of n elements, step bytes apart: a < b as elements where key(a) < key(b).
 * The zeros have one key; NaN has the largest. */
typedef void (*gp_key)(uint64_t *o, const char *p, int64_t step, int64_t n);
#define gp_key_fn GP_NAME(gp_key_fn)
gp_key gp_key_fn(gp_dtype dt);

/* Whether each of n elements differs from the one `lag` before it, as numbers: the zeros do not, a
 * NaN differs even from itself. */
typedef void (*gp_differ)(uint8_t *o, const char *x, int64_t lag, int64_t n);
#define gp_differ_fn GP_NAME(gp_differ_fn)
gp_differ gp_differ_fn(gp_dtype dt);

/* a without dim d (0-d arrays stay as they are). */
static inline gp_array gp_without_dim(const gp_array *a, int d) {
    gp_array r = *a;
    if (r.ndim == 0) return r;
    r.ndim--;
    for (int i = d; i < r.ndim; i++) r.dim[i] = r.dim[i + 1], r.stride[i] = r.stride[i + 1];
    gp_array_update(&r);
    return r;
}

/* Makes an array of a's shape without memory: as a loop's first array it makes the order row-major.
 */
static inline void gp_row_major(gp_array *a) {
    int64_t n = 1;
    a->data = NULL;
    a->dtype = GP_u8;
    for (int d = a->ndim - 1; d >= 0; d--) a->stride[d] = n, n *= a->dim[d];
}

#endif
