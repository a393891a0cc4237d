/* What kernels see of tensors: array views and one-element values. Plain data, which C++ (the CUDA
 * kernels) reads, too. */
#ifndef GP_ARRAY_H
#define GP_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/dtype.h"
#include "tensor/shape.h"

typedef struct gp_device gp_device;
typedef struct gp_stream gp_stream;
typedef struct gp_tensor gp_tensor;

/* An array as kernels see it, without ownership. `data` is an address of the array's device; only
 * kernels and the device may follow it. */
typedef struct gp_array {
    char *data;    /* the first element (offset included) */
    int64_t numel; /* product of dim */
    uint8_t dtype; /* gp_dtype */
    uint8_t ndim;
    bool contiguous; /* row-major without gaps; also true of empty and one-element arrays */
    int64_t dim[GP_MAX_DIM];
    int64_t stride[GP_MAX_DIM]; /* in elements; 0 where expanded */
} gp_array;

/* A one-element value in host memory: converts between C numbers and any dtype. Integers keep 64
 * bits. */
typedef struct gp_scalar {
    bool is_float;
    union {
        double f;
        int64_t i;
    };
} gp_scalar;
/* Reads and writes the element of dtype dt at the host address p, which is aligned to its size.
 * Storing rounds floats once, to nearest; integers and floats wrap to the range of a shorter
 * integer dtype; bool becomes whether it is nonzero. */
gp_scalar gp_scalar_load(gp_dtype dt, const void *p);
void gp_scalar_store(gp_dtype dt, void *p, gp_scalar s);

#endif
