/* Dims and strides: pure functions on small arrays, no allocation. Dims and indices are 0-based
 * here; bindings/ converts Lua's 1-based ones. */
#ifndef GP_SHAPE_H
#define GP_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GP_MAX_DIM 8

typedef struct gp_shape {
    int ndim;
    int64_t dim[GP_MAX_DIM];
} gp_shape;

/* Product of dims; 1 for a 0-d shape. False with a message when it exceeds 2^58 or a dim is
 * negative. */
bool gp_shape_numel(const gp_shape *s, int64_t *numel);

/* Row-major strides in elements. */
void gp_shape_strides(const gp_shape *s, int64_t *stride);

/* The same number of dims and the same sizes. */
bool gp_shape_equal(const gp_shape *a, const gp_shape *b);

/* Broadcasts *into with s, NumPy's rule. False with a message that begins with op. */
bool gp_shape_broadcast(const char *op, gp_shape *into, const gp_shape *s);

/* "2x3x4", "scalar" for 0-d; writes at most n bytes and returns buf. */
char *gp_shape_text(const gp_shape *s, char *buf, size_t n);

/* The valid indices of `size` elements, for a message: "expected 1 to 3, or -3 to -1", or that
 * there are none. Writes at most n bytes and returns buf. */
char *gp_index_range(int64_t size, char *buf, size_t n);

/* Turns a dim counted from 1, or from the end if negative, into 0 … ndim-1; 0-d tensors take 1
 * and -1. False with a message. */
bool gp_dim_wrap(const char *op, int64_t dim, int ndim, int *out);

#endif
