/* Programs: chains of elementwise ops, perhaps with a final reduction, that run as one op. */
#ifndef GP_PROGRAM_H
#define GP_PROGRAM_H

#include "tensor/autograd/tape.h"
#include "tensor/ops/elementwise.h"

enum {
    GP_PROGRAM_INPUTS = 24,
    GP_PROGRAM_STEPS = 900,
    GP_PROGRAM_ARGS = 8, /* of a step: operands of a derivative and its parameters */
    GP_PROGRAM_OUTS =
        GP_PROGRAM_INPUTS /* as a list of steps; the op `fused` gives GP_MAX_OUT at most */
};
_Static_assert(GP_PROGRAM_INPUTS <= 32, "a bit for each input");

/* One call in a program. Values are numbered: the inputs, then the steps' results. */
typedef struct gp_step {
    const gp_op *op;
    uint8_t compute, dtype;        /* gp_dtype of the formula and of the result */
    uint8_t nin, nargs;            /* operands, which come first; all arguments */
    uint8_t random;                /* which of the program's random steps, from 0 */
    uint32_t inputs;               /* those that it depends on, a bit each */
    gp_value arg[GP_PROGRAM_ARGS]; /* GP_TENSOR: i is a value's number */
} gp_step;

/* A reduction of the one output. */
typedef struct gp_fold {
    const gp_op *op; /* NULL: none */
    uint8_t compute, dtype;
    bool keep, typed; /* typed: the call asked for the dtype */
    uint64_t mask;    /* dims */
} gp_fold;

typedef struct gp_derivative gp_derivative;

/* Who has a form of its own of a program; sim has the processor's. */
enum { GP_PREPARED_CPU, GP_PREPARED_CUDA, GP_PREPARED };

/* Immutable but for what is made on demand. A queued call needs its program until it has run: dead
 * programs are freed when all streams are past what was queued before. */
typedef struct gp_program {
    atomic_int refs;
    const char *name; /* "mul+add+relu", interned: for messages and records */
    int ninputs, nsteps, nout, nrandom;
    uint16_t out[GP_PROGRAM_OUTS];    /* values */
    uint8_t dtype[GP_PROGRAM_INPUTS]; /* of the inputs */
    bool ready_made; /* it is never compiled: a device has its kernel, or its ops run one by one */
    gp_fold fold;
    struct gp_program *values, *ties; /* see gp_program_values; of the thread that differentiates */
    void *_Atomic prepared[GP_PREPARED];            /* kernels' own forms of the steps */
    void (*_Atomic unprepare[GP_PREPARED])(void *); /* which free them */
    gp_derivative *derivatives; /* made so far; of the thread that differentiates */
    struct gp_program *next;    /* among the dead */
    uint64_t *issued;           /* dead: commands queued on each stream by then */
    gp_step step[];
} gp_program;

/* A reference more. Any thread may call. */
gp_program *gp_program_ref(gp_program *p);
/* Gives one back, as does a node of the tape; of a thread that may free it. */
void gp_program_unref(void *program); /* NULL is fine */

/* A program while it is written. Functions that add give the new value's number, or -1 where the
 * limits above are reached; nothing is left to free. */
typedef struct gp_draft {
    int ninputs, nsteps, nrandom;
    uint8_t dtype[GP_PROGRAM_INPUTS];
    bool ready_made;
    gp_fold fold;
    gp_step step[GP_PROGRAM_STEPS];
} gp_draft;
/* Empties it. */
void gp_draft_begin(gp_draft *d);
/* Appends an input of dtype dt; it may follow steps. */
int gp_draft_input(gp_draft *d, gp_dtype dt);
/* Appends a step; arg has nargs values, of which the first nin are operands. */
int gp_draft_step(gp_draft *d, const gp_op *op, gp_dtype compute, gp_dtype dt, int nin, int nargs,
                  const gp_value *arg);
/* dt of value v. */
gp_dtype gp_draft_dtype(const gp_draft *d, int v);

/* The program that computes values out (steps, not inputs; none twice) of d, without the steps and
 * inputs that they do not need; used gets the numbers of the inputs that are left. NULL when out of
 * memory, with a message. */
gp_program *gp_draft_finish(const gp_draft *d, const uint16_t *out, int nout, uint8_t *used);

/* The sum or mean, fold, of the losses of two inputs of a 16-bit dtype dt by the row `term`, whose
 * third operand, where it has one, is number. NULL when out of memory, with a message. */
gp_program *gp_program_loss(const gp_op *term, const gp_op *fold, gp_dtype dt, double number);

/* Whether each output has the shape of all inputs together, as the op `fused` needs. False too
 * where the inputs do not broadcast, without a message. */
bool gp_program_fits(const gp_program *p, gp_tensor *const *in);

/* Runs p on its inputs by the op `fused`, or where that cannot by its single ops: out gets p->nout
 * new references. seed, counter: of the forward program, for a derivative that has random steps.
 * False with a message. */
bool gp_program_run(gp_program *p, gp_tensor *const *in, gp_tensor **out, const gp_rng *forward);
/* By single ops, which autograd records. derive, where given, runs steps that are derivatives. */
typedef gp_tensor *(*gp_derive)(void *ctx, const gp_step *s, const gp_value *arg);
bool gp_program_run_steps(const gp_program *p, gp_tensor *const *in, gp_tensor **out,
                          const gp_rng *forward, gp_derive derive, void *ctx);

/* p without its reduction: what is reduced. Made once; NULL with a message when out of memory. */
gp_program *gp_program_values(gp_program *p);
/* How many of these equal the result, which is one more input, with dims of size 1 for those that
 * are reduced. The same. */
gp_program *gp_program_ties(gp_program *p);

/* What a reduction's derivative reads of gp_formula_variables besides g, as a bit mask. */
enum { GP_READS_RESULT = 1 << 2, GP_READS_TIES = 1 << 3, GP_READS_OTHERS = 1 << 4 };
unsigned gp_fold_reads(const gp_fold *f);

/* The gradients of a program's inputs: programs of their own, whose inputs are those of p, then the
 * gradients of its outputs. Of a reduction that is g, and after it what its derivative reads: the
 * result, the number of elements that equal it, the product of the others. */
struct gp_derivative {
    uint32_t need, have; /* gradients wanted, of inputs; and given, of outputs */
    bool divides;        /* g comes times the product, and is divided by each element */
    gp_program *whole;   /* all of them, as a list of steps; NULL: there are none */
    int nparts;          /* the same in programs for the op */
    struct gp_derivative_part {
        gp_program *p;
        uint8_t used[GP_PROGRAM_INPUTS], dx[GP_MAX_OUT];
    } part[GP_PROGRAM_INPUTS];
    int8_t same[GP_PROGRAM_INPUTS];  /* the output whose gradient it is as it is; -1 */
    int8_t like[GP_PROGRAM_INPUTS];  /* the input before it that has the same gradient; -1 */
    int8_t at[GP_PROGRAM_INPUTS];    /* of whole, the output; -1 */
    uint8_t used[GP_PROGRAM_INPUTS]; /* by whole */
    gp_derivative *next;
};
/* p's derivative, made once. NULL with a message when out of memory, or where it would have too
 * many steps: p may have 40. */
const gp_derivative *gp_program_derivative(gp_program *p, uint32_t need, uint32_t have,
                                           bool divides);

/* Whether op can be a step. */
static inline bool gp_op_fuses(const gp_op *op) {
    return (op->kind < GP_REDUCE && !op->no_derivative) || op->kind == GP_GRAD || op->fuses;
}

#endif
