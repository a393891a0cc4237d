/* Helpers that layer_norm, rms_norm and group_norm share with their gradients, and with that of
 * batch_norm. */
#ifndef GP_CPU_LAYER_NORM_H
#define GP_CPU_LAYER_NORM_H

#include "kernels/cpu/runtime/kernel.h"
#include "tensor/ops/norm.h"

/* a's channels in compute type ct at memory + slot * (channels + 8) * 8; NULL where a is NULL. */
#define gp_norm_affine GP_NAME(gp_norm_affine)
void *gp_norm_affine(const gp_array *a, gp_ctype ct, int64_t channels, char *memory, int slot);

/* Stores n numbers from element i of a contiguous array on. */
static inline void gp_norm_store(const gp_array *a, int64_t i, const double *v, int64_t n) {
    int64_t size = gp_dtype_sizes[a->dtype];
    gp_store_fn(GP_CT_f64, (gp_dtype)a->dtype)(a->data + i * size, size, v, n);
}

/* Row `row` of a contiguous tensor of rows of k->n elements. */
static inline char *gp_norm_row(const gp_array *a, const gp_norm *k, int64_t row) {
    return a->data + row * k->n * (int64_t)gp_dtype_sizes[a->dtype];
}

#endif
