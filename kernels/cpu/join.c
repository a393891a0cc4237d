/* Tensors put together: cat, stack. Each input is copied into its part of the output. */
#include "kernels/kernel.h"

/* `n` indices of dim d of a, from `first` (0-based). */
static gp_array part_of(const gp_array *a, int d, int64_t first, int64_t n) {
    gp_array p = *a;
    p.data += first * a->stride[d] * (int64_t)gp_dtype_size((gp_dtype)a->dtype);
    p.dim[d] = n;
    gp_array_update(&p);
    return p;
}

bool CPU(cat)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0);
    int d = (int)c->arg[1].i - 1;
    int64_t at = 0;
    for (int i = 0; i < c->arg[0].n; i++) {
        const gp_array *x = c->arg[0].arrays[i];
        if (x->ndim != out->ndim || x->numel == 0) continue;
        gp_array part = part_of(out, d, at, x->dim[d]);
        gp_copy_array(&part, x);
        at += x->dim[d];
    }
    return true;
}

bool CPU(stack)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0);
    int d = (int)c->arg[1].i - 1;
    for (int i = 0; i < c->arg[0].n; i++) {
        gp_array part = part_of(out, d, i, 1);
        for (int k = d; k + 1 < part.ndim; k++) part.dim[k] = part.dim[k + 1], part.stride[k] = part.stride[k + 1];
        part.ndim--;
        gp_array_update(&part);
        gp_copy_array(&part, c->arg[0].arrays[i]);
    }
    return true;
}
