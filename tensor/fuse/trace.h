/* Tracing: the calls of gp_op_run while a function runs, as a graph of values. */
#ifndef GP_TRACE_H
#define GP_TRACE_H

#include "tensor/op.h"

/* A call as it was given. Tensors are values' numbers, in `i`; a list's are `values[i …]`. */
typedef struct gp_traced {
    const gp_op *op;
    gp_srcloc loc;
    int nargs, nints, nout;
    int first;    /* of its lists' and integers' places in the trace's arrays */
    int into;     /* the value written in place; -1 */
    bool no_grad; /* nothing was recorded for gradients, unlike at the beginning */
    bool barrier; /* it writes something that exists already */
    bool fusable; /* as far as its arguments go */
    uint8_t compute;
    gp_value arg[GP_MAX_ARGS];     /* as given */
    gp_value settled[GP_MAX_ARGS]; /* as the rule left them */
    int out[GP_MAX_OUT];
} gp_traced;

typedef struct gp_trace {
    int ncalls, nvalues, ninputs, nlists, nints;
    int calls_capacity, values_capacity, lists_capacity, ints_capacity;
    gp_traced *call;
    gp_tensor **value; /* references: no two values have one address */
    int *maker;        /* the call that made a value; -1: it was there before */
    int *list;
    int64_t *ints;
    int no_grad;       /* gp_no_grad at the beginning */
    bool shapes;       /* the function read sizes, or decided by them */
    gp_stream *stream; /* of the calls so far */
} gp_trace;

/* The trace that this thread's ops go to; NULL: none. Unset while an op runs, whose own ops and
 * waits are its business. */
extern _Thread_local gp_trace *gp_tracing;

/* Begins with the inputs as values 0 … n-1, which must differ. False with a message. */
bool gp_trace_begin(gp_trace *t, gp_tensor *const *inputs, int n);
/* The number of a tensor's value; added if it is new. -1 with a message without memory. */
int gp_trace_value(gp_trace *t, gp_tensor *x);
/* Ends it; t keeps what was traced. */
void gp_trace_end(gp_trace *t);
/* Releases all that t holds. */
void gp_trace_free(gp_trace *t);

#endif
