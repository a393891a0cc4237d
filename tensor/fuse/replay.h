/* What fuse runs in place of a traced function: programs, and single ops between them. */
#ifndef GP_REPLAY_H
#define GP_REPLAY_H

#include "tensor/fuse/program.h"
#include "tensor/fuse/trace.h"

/* A program, or (NULL) a single call. */
typedef struct gp_fuse_step {
    gp_program *program;
    int call;     /* in the trace */
    bool single;  /* the program runs as single ops */
    bool no_grad; /* unlike the caller, it records no gradients, or does */
    int nin, nout;
    int *in, *out; /* values */
} gp_fuse_step;

/* Immutable. Owns its programs and the trace, of whose tensors only those are left that were there
 * before. */
typedef struct gp_replay {
    gp_trace trace;
    int nparts, capacity;
    gp_fuse_step *part;
    int *last; /* the part that reads a value last; nparts: it is a result */
    int nresults;
    int *result; /* values */
} gp_replay;

/* Plans t, whose traced function gave the values results; takes over what t holds. NULL with a
 * message, and t is freed. */
gp_replay *gp_replay_new(gp_trace *t, const int *results, int n);
void gp_replay_free(gp_replay *r); /* NULL is fine */

/* Runs r on as many inputs as the trace had; out gets new references. False with a message. */
bool gp_replay_run(const gp_replay *r, gp_tensor *const *inputs, gp_tensor **out);

#endif
