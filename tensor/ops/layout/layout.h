/* The views that data-moving ops are made of, for every device's kernels: slices, reversed dims,
 * diagonals. */
#ifndef GP_LAYOUT_H
#define GP_LAYOUT_H

#include "tensor/array.h"

/* Computes numel and contiguous from dim and stride. */
static inline void gp_array_finish(gp_array *a) {
    bool gaps = false;
    a->numel = 1;
    for (int d = a->ndim - 1; d >= 0; d--) {
        gaps = gaps || (a->dim[d] != 1 && a->stride[d] != a->numel);
        a->numel *= a->dim[d];
    }
    a->contiguous = !gaps || a->numel <= 1;
}

/* Moves index 0 of dim d by n indices. */
static inline void gp_array_shift(gp_array *a, int d, int64_t n) {
    a->data += n * a->stride[d] * (int64_t)gp_dtype_size((gp_dtype)a->dtype);
}

/* `n` indices of dim d of a, from `first` (0-based). */
static inline gp_array gp_part_of(const gp_array *a, int d, int64_t first, int64_t n) {
    gp_array p = *a;
    gp_array_shift(&p, d, first);
    p.dim[d] = n;
    gp_array_finish(&p);
    return p;
}

/* Index i (0-based) of dim d, without that dim. */
static inline gp_array gp_slice_of(const gp_array *a, int d, int64_t i) {
    gp_array p = gp_part_of(a, d, i, 1);
    for (int k = d; k + 1 < p.ndim; k++) p.dim[k] = p.dim[k + 1], p.stride[k] = p.stride[k + 1];
    p.ndim--;
    gp_array_finish(&p);
    return p;
}

/* x, which is not empty, with the dims in mask reversed: read with negative strides from their last
 * element. */
static inline gp_array gp_reversed(const gp_array *x, uint64_t mask) {
    gp_array y = *x;
    for (int d = 0; d < y.ndim; d++) {
        if (!(mask >> d & 1)) continue;
        gp_array_shift(&y, d, y.dim[d] - 1);
        y.stride[d] = -y.stride[d];
    }
    gp_array_finish(&y);
    return y;
}

/* The diagonals of dims a and b of x as a last dim that replaces them; off: columns to the right of
 * the main one. */
static inline gp_array gp_diagonals(const gp_array *x, int64_t off, int a, int b) {
    gp_array line = *x;
    gp_array_shift(&line, off < 0 ? a : b, off < 0 ? -off : off);
    line.ndim = 0;
    for (int i = 0; i < x->ndim; i++)
        if (i != a && i != b)
            line.dim[line.ndim] = x->dim[i], line.stride[line.ndim++] = x->stride[i];
    line.dim[line.ndim] = x->dim[a] - (off < 0 ? -off : off);
    line.stride[line.ndim++] = x->stride[a] + x->stride[b];
    gp_array_finish(&line);
    return line;
}

#endif
