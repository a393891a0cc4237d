/* A program as the CPU runs it: in blocks that stay in the first-level cache. */
#ifndef GP_CPU_FUSE_H
#define GP_CPU_FUSE_H

#include "kernels/cpu/elementwise/elementwise.h"
#include "tensor/fuse/program.h"

/* An operand of a step. */
typedef struct fuse_operand {
    const void *number; /* a block of one number; or NULL, and it is */
    int16_t value;      /* a value of the program, perhaps */
    gp_load load;       /* converted to the step's type, */
    gp_store store;     /* and from there to that of the memory */
} fuse_operand;

/* A step: its loop, and the conversions of what it reads and writes. */
typedef struct fuse_step {
    gp_block_fn fn; /* NULL: as form says */
    gp_fuse_form form;
    const gp_op *op;
    uint8_t nin, fault;
    uint8_t size; /* bytes of an element of the result, as it is stored */
    uint8_t random;
    gp_ctype ct;
    int16_t slot;   /* where the result lies */
    gp_store store; /* NULL: fn writes the result's dtype */
    gp_load drop_load;
    gp_store drop_store;
    float p;
    double scale;
    fuse_operand in[GP_MAX_IN];
    gp_scalar par[3];
} fuse_step;

/* Made once for each program; read by all threads. */
typedef struct fuse_plan {
    int nslots, nsteps;
    char *numbers; /* blocks */
    fuse_step step[];
} fuse_plan;

/* The plan of p; NULL with a message when out of memory. */
#define gp_fuse_plan GP_NAME(gp_fuse_plan)
const fuse_plan *gp_fuse_plan(gp_program *p);

#endif
