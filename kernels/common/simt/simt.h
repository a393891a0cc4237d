/* Kernels in CUDA C and C++ that run on the processor: a block's threads are fibers of one thread,
 * blocks are spread over the pool's. Checked kernels look at each access, and run on one thread, so
 * that what they say is the same each time. */
#ifndef GP_SIMT_H
#define GP_SIMT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/common/simt/abi.h"
#include "kernels/common/simt/counts.h"

enum {
    GP_SIMT_TENSORS = 16,      /* of a call */
    GP_SIMT_PARAMS = 32,       /* of a kernel */
    GP_SIMT_VARIABLES = 64,    /* of a module */
    GP_SIMT_SHARED = 227 << 10 /* bytes of a block's shared memory, as on compute capability 9.0 */
};

typedef enum gp_simt_kind {
    GP_SIMT_FLOAT,
    GP_SIMT_SIGNED,
    GP_SIMT_UNSIGNED,
    GP_SIMT_HALF,
    GP_SIMT_BFLOAT16
} gp_simt_kind;

typedef struct gp_simt_param {
    const char *name, *type; /* "x", "const float *"; interned */
    bool pointer, constant;
    uint8_t kind, size; /* of a number, gp_simt_kind and its bytes */
    int dtype;          /* what a pointer points to; -1: anything */
} gp_simt_param;

/* A compiled text and a kernel of one. They live as long as the program. */
typedef struct gp_simt_module gp_simt_module;
typedef struct gp_simt_kernel gp_simt_kernel;

typedef struct gp_simt_text {
    const char *name; /* for messages */
    const char *text; /* with functions gp_entry_0, …, which take the arguments' addresses of a
                         kernel, and gp_global_0, … which give a variable's address and size */
    const char *file; /* that it stands in, interned; NULL: there is none */
    int line;         /* of the text's first line there; 0: not known */
    bool counted;     /* with checked: launches are counted */
    bool checked, cxx;
    bool half;       /* with CUDA's half types */
    bool only_found; /* if it is on disk */
    int nglobals;
    uint64_t constants; /* by bit: which of them the kernels only read */
} gp_simt_text;

/* A text for a card, which compiles it when a kernel is prepared there; t: its text and counts.
 * expressions: as gp_card_text has them; copied. NULL with a message. */
struct gp_card_kernel;
gp_simt_module *gp_simt_card(const struct gp_simt_text *t, int nkernels,
                             const char *const *expressions);

typedef enum gp_simt_outcome {
    GP_SIMT_BUILT,
    GP_SIMT_ABSENT,  /* not on disk */
    GP_SIMT_REFUSED, /* the message is the compiler's own text */
    GP_SIMT_FAILED
} gp_simt_outcome;

/* Compiles a text, or loads it from disk; waits for the compiler. NULL with a message. */
gp_simt_module *gp_simt_build(const gp_simt_text *t, gp_simt_outcome *outcome);
/* Bytes of its static shared memory. */
size_t gp_simt_static_shared(const gp_simt_module *m);
/* How many variables it has. */
int gp_simt_variables(const gp_simt_module *m);
/* They are kept in two blocks of memory, one of those that kernels only read, and one of
 * the others. Bytes of one; and of variable i, where it is in its block, and its size. */
size_t gp_simt_block_bytes(const gp_simt_module *m, bool read);
size_t gp_simt_in_block(const gp_simt_module *m, int i, size_t *bytes);
/* Writes the values that the text gives them to a block. */
void gp_simt_first_values(gp_simt_module *m, bool read, char *to);

typedef struct gp_simt_source {
    const char *name; /* of the kernel; interned */
    int nparams;
    gp_simt_param param[GP_SIMT_PARAMS];
} gp_simt_source;

/* Adds the module's kernel i, whose entry is gp_entry_i. NULL with a message. */
gp_simt_kernel *gp_simt_add(gp_simt_module *m, int i, const gp_simt_source *s);
/* What its last counted launch cost; rows are the caller's to free. False: none was counted. */
bool gp_simt_last_counts(const gp_simt_kernel *k, gp_simt_counts *to);
/* The kernel of a number, and the number of a kernel: what a call that is queued holds. */
gp_simt_kernel *gp_simt_kernel_of(int64_t number);
int64_t gp_simt_number(const gp_simt_kernel *k);
const gp_simt_source *gp_simt_source_of(const gp_simt_kernel *k);
gp_simt_module *gp_simt_module_of(const gp_simt_kernel *k);
/* The kernel as a card takes it; NULL: it is the processor's. */
struct gp_card_kernel *gp_simt_card_of(gp_simt_kernel *k);
/* Whether variable i is one that kernels only read. */
bool gp_simt_constant(const gp_simt_module *m, int i);

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
    bool has_values;           /* the module has variables, whose values are */
    char *values[2];           /* here: of those that are written, and only read */
} gp_simt_launch;

/* Runs body(ctx, begin, end) over [0, n), on the threads that there are. */
typedef void (*gp_simt_body)(void *ctx, int64_t begin, int64_t end);
typedef void (*gp_simt_loop)(int64_t n, int64_t grain, gp_simt_body body, void *ctx);

/* Runs a grid. False with a message: a finding of the checks, a trap, or interrupted. A checked one
 * has then written nothing. */
bool gp_simt_run(const gp_simt_launch *l, gp_simt_loop loop);

#endif
