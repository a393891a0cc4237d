/* DLPack: tensors that the libraries of a process share without a copy. The structs are written
 * here by their binary layout, of version 1.0 and of the form before that, which has no version.
 * Source: https://github.com/dmlc/dlpack, include/dlpack/dlpack.h. */
#ifndef GP_IO_DLPACK_H
#define GP_IO_DLPACK_H

#include "tensor/tensor.h"

enum { GP_DL_CPU = 1, GP_DL_CUDA = 2, GP_DL_CUDA_HOST = 3 };                   /* devices */
enum { GP_DL_INT, GP_DL_UINT, GP_DL_FLOAT, GP_DL_BFLOAT = 4, GP_DL_BOOL = 6 }; /* type codes */
enum { GP_DL_MAJOR = 1, GP_DL_READ_ONLY = 1 };                                 /* a bit of flags */

typedef struct gp_dl_tensor {
    void *data;
    int32_t device, device_id;
    int32_t ndim;
    uint8_t code, bits; /* of an element */
    uint16_t lanes;
    int64_t *shape, *strides; /* strides in elements; NULL: row-major */
    uint64_t byte_offset;     /* from data to the first element */
} gp_dl_tensor;

/* The older form, and that with a version. Whoever takes one over calls its deleter once, on any
 * thread. */
typedef struct gp_dl_plain {
    gp_dl_tensor t;
    void *ctx;
    void (*deleter)(struct gp_dl_plain *self); /* NULL: nothing to do */
} gp_dl_plain;
typedef struct gp_dl_versioned {
    uint32_t major, minor; /* of another major only these, ctx and deleter are known */
    void *ctx;
    void (*deleter)(struct gp_dl_versioned *self);
    uint64_t flags;
    gp_dl_tensor t;
} gp_dl_versioned;

/* Which work comes first where the memory is a card's. */
typedef struct gp_dl_order {
    bool given;     /* false: an export waits for the work; an import follows the legacy stream */
    int64_t stream; /* -1: the caller orders; 1 and 2: CUDA's legacy and per-thread default streams;
                       else a cudaStream_t */
} gp_dl_order;

/* x's memory as a gp_dl_versioned or a gp_dl_plain, which holds it until its deleter was called:
 * after a wait for the work that uses it, in the name of to_dlpack, or ordered before the stream.
 * NULL with a message for a tensor with gradients and for a device that DLPack has not. */
void *gp_dl_export(gp_tensor *x, bool versioned, gp_dl_order order);

/* A tensor over the memory of *managed, whose deleter is called once the last tensor of it is gone
 * and queued work is done. copy: 1: a copy, and the deleter is called as soon as it was made; 0:
 * none, so memory that may only be read is refused; -1: of such memory alone. NULL with a message;
 * *managed is then still the caller's. */
gp_tensor *gp_dl_import(void *managed, bool versioned, gp_dl_order order, int copy);

/* Calls its deleter. */
void gp_dl_delete(void *managed, bool versioned);

#endif
