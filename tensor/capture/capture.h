/* Captured functions: the calls that gp_op_run resolved while a function ran, which are launched
 * again with other inputs without inference, allocation of intermediate results or a tape. */
#ifndef GP_CAPTURE_H
#define GP_CAPTURE_H

#include "tensor/autograd/tape.h"

typedef struct gp_capture gp_capture;

/* The recording that this thread's ops go to; NULL: none. */
extern _Thread_local gp_capture *gp_capturing;

/* ---- recording ---- */

/* Begins to record what is done with n inputs, at most 16, whose numbers among the arguments are
 * in `arg`. NULL with a message. */
gp_capture *gp_capture_begin(gp_tensor *const *inputs, const int *arg, int n);
/* Ends the recording, as does gp_capture_free: the function has run, or failed. */
void gp_capture_stop(gp_capture *k);
/* The storage of t, which the function reaches by itself, is the same in each replay, whether or
 * not it is an input's. */
void gp_capture_pin(gp_capture *k, const gp_tensor *t);
/* Plans the replays of what was recorded, which gave n results, at most 16; callers collect garbage
 * first. False with a message where a replay could not do what the function would; *again: its next
 * call might be recorded all the same, since it may find what this one made. */
bool gp_capture_plan(gp_capture *k, gp_tensor *const *results, int n, bool *again);
/* Frees k, once no queue holds it. NULL is fine. */
void gp_capture_free(gp_capture *k);

/* Refuses, of a captured or traced function, a number of Lua's own generator; false with a
 * message. */
bool gp_capture_refuse_draw(const char *what);

/* ---- replays ---- */

/* The argument called name of the last recorded call, which has that value, is one of the numbers
 * that replays are given, in the order of these calls. *found: there is such an argument. False
 * with a message. */
bool gp_capture_number(const char *name, double value, bool *found);

/* Launches k's calls on inputs like those of the recording, with these numbers; out gets a new
 * reference for each result. False with a message, which says what differs, and nothing ran; or
 * what failed. */
bool gp_capture_replay(gp_capture *k, gp_tensor *const *inputs, const double *numbers,
                       gp_tensor **out);

#endif
