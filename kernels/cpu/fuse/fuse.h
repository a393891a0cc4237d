/* A program as the CPU runs it: in blocks that stay in the first-level cache. */
#ifndef GP_CPU_FUSE_H
#define GP_CPU_FUSE_H

#include "kernels/cpu/elementwise/elementwise.h"
#include "tensor/fuse/source.h"

/* An operand of a step. */
typedef struct fuse_operand {
    const void *number; /* a block of one number; or NULL, and it is */
    int16_t value;      /* a value of the program, perhaps */
    gp_load load;       /* converted to the step's type, */
    gp_store store;     /* and from there to that of the memory */
} fuse_operand;

/* A loop of several steps, compiled from their formulas: elements [first, end) of the block,
 * of which at[v] has value v's. */
typedef void (*fuse_loop_fn)(long first, long end, char *const *at, const char *numbers);

/* A step: its loop, and the conversions of what it reads and writes. */
typedef struct fuse_step {
    gp_block_fn fn; /* NULL: as form says */
    gp_fuse_form form;
    const gp_op *op;
    fuse_loop_fn loop; /* NULL; or it computes this step and those before `next`, which are */
    int16_t next;      /* the next step to run */
    uint8_t nin, fault;
    uint8_t size; /* bytes of an element of the result, as it is stored */
    uint8_t random;
    gp_ctype ct;
    int16_t slot;   /* where the result lies; -1: in no memory, as only its loop reads it */
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
    char *numbers;                  /* blocks */
    struct fuse_compiled *compiled; /* of the plan that gp_fuse_plan gives */
    fuse_step step[];
} fuse_plan;

/* The plan of p; NULL with a message when out of memory. */
#define gp_fuse_plan GP_NAME(gp_fuse_plan)
const fuse_plan *gp_fuse_plan(gp_program *p);

/* A plan whose steps run one by one, or, with a source, by its loops, whose functions are not set
 * yet. NULL with a message when out of memory. */
#define gp_fuse_make_plan GP_NAME(gp_fuse_make_plan)
fuse_plan *gp_fuse_make_plan(const gp_program *p, const gp_loops *source);
/* Frees a plan: the unprepare of its program. NULL is fine. */
#define gp_fuse_free_plan GP_NAME(gp_fuse_free_plan)
void gp_fuse_free_plan(void *ctx);

/* ---- compiled.c ---- */

/* Room for what compiling plan's program takes; NULL when out of memory. */
#define gp_fuse_compiled_new GP_NAME(gp_fuse_compiled_new)
struct fuse_compiled *gp_fuse_compiled_new(void);
#define gp_fuse_compiled_free GP_NAME(gp_fuse_compiled_free)
void gp_fuse_compiled_free(struct fuse_compiled *c);
/* The plan to run p with, over numel elements: the compiled one, if it is ready, or `plan`. A
 * program that ran often is compiled meanwhile. */
#define gp_fuse_best_plan GP_NAME(gp_fuse_best_plan)
const fuse_plan *gp_fuse_best_plan(const gp_program *p, const fuse_plan *plan, int64_t numel);

/* Bytes of a block, and some more, so that blocks do not all begin in the same cache set. */
enum { GP_FUSE_SLOT = GP_BLOCK * 8 + 320 };

/* How a block of an input is had. */
typedef enum fuse_layout { GP_FUSE_FLAT, GP_FUSE_CONSTANT, GP_FUSE_STRIDED } fuse_layout;

/* One call of a program. */
typedef struct fuse_job {
    const gp_call *call;
    const gp_program *p;
    const fuse_plan *plan;
    int64_t numel, block;
    int64_t width; /* of rows that are longer than a block: no block goes on to the next; or 0 */
    _Bool strided, stream, ahead;
    fuse_layout how[GP_PROGRAM_INPUTS];
    const char *data[GP_PROGRAM_INPUTS];
    int64_t size[GP_PROGRAM_INPUTS];
    char *out[GP_MAX_OUT];
    int ndim; /* of what follows: only if some input is strided */
    int64_t dim[GP_MAX_DIM], stride[GP_PROGRAM_INPUTS][GP_MAX_DIM]; /* bytes */
    _Bool repeats[GP_PROGRAM_INPUTS]; /* depends on the last dim only */
    _Atomic int fault, step;          /* FAULT_… and the step that noted it */
    _Atomic _Bool memory;             /* there was none */
} fuse_job;

/* A thread's own memory: a slot for each input and each result, and spare ones, all after it. */
typedef struct fuse_buffers {
    char *input, *slot, *spare;
    /* Of inputs that repeat where the block began, its length; of one number a row the row. */
    int64_t at[GP_PROGRAM_INPUTS], made[GP_PROGRAM_INPUTS];
} fuse_buffers;

/* Sets j, of which p and its own plan are there, up for the inputs of c over shape s: the plan to
 * run, how each input is read, and how long blocks are. */
#define gp_fuse_set_up GP_NAME(gp_fuse_set_up)
void gp_fuse_set_up(fuse_job *j, const gp_call *c, const gp_shape *s);
/* The calling thread's fuse_buffers for the job ctx, with the inputs of one element filled in;
 * until another kernel asks for GP_SCRATCH_PART. NULL when out of memory, which the job notes. */
#define gp_fuse_begin GP_NAME(gp_fuse_begin)
void *gp_fuse_begin(void *ctx);
/* Elements of the block that begins at element `first` and ends at element `end` at the latest. */
#define gp_fuse_block GP_NAME(gp_fuse_block)
int64_t gp_fuse_block(const fuse_job *j, int64_t first, int64_t end);
/* Sets at[k] to elements [first, first + n) of each input, a block or less: where they are, or
 * copied to the room. */
#define gp_fuse_read GP_NAME(gp_fuse_read)
void gp_fuse_read(const fuse_job *j, fuse_buffers *r, int64_t first, int64_t n, const char **at);

#endif
