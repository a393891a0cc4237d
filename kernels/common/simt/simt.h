/* Kernels in CUDA C that run on the processor: a block's threads are fibers of one thread, blocks
 * are spread over the pool's. Checked kernels look at each access, and run on one thread, so that
 * what they say is the same each time. */
#ifndef GP_SIMT_H
#define GP_SIMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/common/simt/abi.h"

enum {
    GP_SIMT_TENSORS = 16, /* of a call */
    GP_SIMT_PARAMS = 32,  /* of a kernel */
    GP_SIMT_BLOCK = 1024, /* threads */
    GP_SIMT_WARP = 32,
    GP_SIMT_SHARED = 227 << 10 /* bytes of a block's shared memory, as on compute capability 9.0 */
};

typedef enum gp_simt_kind { GP_SIMT_FLOAT, GP_SIMT_SIGNED, GP_SIMT_UNSIGNED } gp_simt_kind;

typedef struct gp_simt_param {
    const char *name, *type; /* "x", "const float *"; interned */
    bool pointer, constant;
    uint8_t kind, size; /* of a number, gp_simt_kind and its bytes */
    int dtype;          /* what a pointer points to; -1: anything */
} gp_simt_param;

/* A compiled kernel. It lives as long as the program. */
typedef struct gp_simt_kernel gp_simt_kernel;

typedef struct gp_simt_source {
    const char *name; /* of the kernel; interned */
    const char *text; /* with the function gp_entry, which takes the arguments' addresses */
    const char *file; /* that it stands in, interned; NULL: there is none */
    int line;         /* of the text's first line there; 0: not known */
    bool checked;
    int nparams;
    gp_simt_param param[GP_SIMT_PARAMS];
} gp_simt_source;

/* Compiles a kernel, or loads it from disk; waits for the compiler. NULL with a message, which is
 * the compiler's own text where that refused the source (*refused). */
gp_simt_kernel *gp_simt_build(const gp_simt_source *s, bool *refused);
/* Bytes of its static shared memory. */
size_t gp_simt_static_shared(const gp_simt_kernel *k);
/* The kernel of a number, and the number of a kernel: what a call that is queued holds. */
gp_simt_kernel *gp_simt_kernel_of(int64_t number);
int64_t gp_simt_number(const gp_simt_kernel *k);
const gp_simt_source *gp_simt_source_of(const gp_simt_kernel *k);

/* A tensor argument. */
typedef struct gp_simt_tensor {
    char *data;
    size_t bytes;
    int size; /* of an element */
    bool written;
    const char *name;
} gp_simt_tensor;

typedef struct gp_simt_launch {
    const gp_simt_kernel *kernel;
    gp_uint3 grid, block;
    size_t shared; /* bytes of dynamic shared memory */
    int ntensors;
    gp_simt_tensor tensor[GP_SIMT_TENSORS];
    void *arg[GP_SIMT_PARAMS]; /* the address of each argument */
} gp_simt_launch;

/* Runs body(ctx, begin, end) over [0, n), on the threads that there are. */
typedef void (*gp_simt_body)(void *ctx, int64_t begin, int64_t end);
typedef void (*gp_simt_loop)(int64_t n, int64_t grain, gp_simt_body body, void *ctx);

/* Runs a grid. False with a message: a finding of the checks, a trap, or interrupted. A checked one
 * has then written nothing. */
bool gp_simt_run(const gp_simt_launch *l, gp_simt_loop loop);

#endif
