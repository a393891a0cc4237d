/* Shared by the readers of profile/load: texts, stacks and shapes of a profile. */
#ifndef GP_LOAD_READER_H
#define GP_LOAD_READER_H

#include "profile/load/json.h"
#include "profile/record/record.h"

/* Reads a text at j; NULL after a failure. */
const char *gp_load_intern(gp_json *j, gp_intern *names);
/* The text t, without its escapes; NULL after a failure. */
const char *gp_load_intern_text(gp_json *j, gp_intern *names, const gp_json_text *t);

/* A stack while it is read: all of it is set to 0 first. */
typedef struct gp_load_stack {
    int n;
    const char *module;
    gp_frame frame[GP_STACK_DEPTH];
} gp_load_stack;
_Static_assert(offsetof(gp_load_stack, frame) == offsetof(gp_stack, frame), "read as a gp_stack");
/* NULL when out of memory. */
const gp_stack *gp_load_intern_stack(gp_intern *names, const gp_load_stack *s);

/* The shapes of an op's tensors while they are read, as gp_rec has them. */
typedef struct gp_load_shapes {
    char bytes[GP_MAX_ARGS * (2 + 8 * GP_MAX_DIM)];
    int n, last, tensors; /* bytes; where the last tensor begins */
} gp_load_shapes;
/* Both are false where an op has no more of them. */
bool gp_load_add_tensor(gp_load_shapes *s, gp_dtype dtype);
bool gp_load_add_dim(gp_load_shapes *s, int64_t dim);
/* NULL when out of memory. */
const char *gp_load_intern_shapes(gp_intern *names, const gp_load_shapes *s);

/* Fails for a file of another program: the message says what it is and how to get one that is read.
 * unread: it was read, and has no event that is known. False, without a message: it is not known,
 * or may be one that is read. */
bool gp_load_refuse(gp_json *j, bool unread);

/* Reads a number from lo to hi. False with a message. */
bool gp_load_range(gp_json *j, int64_t lo, int64_t hi, int64_t *v);

/* The numbers of a saved profile. */
typedef struct gp_load_numbers {
    int64_t t0, done, t1, stack, memory, shapes, flops, foreign, cut, ranks, dropped, lost, others;
    int64_t cost_begin, cost_end, line, lua, period, blocked;
    int64_t job_rank, job_size, unknown_orders, guessed_orders, no_device, unpaired, no_clock,
        processors, midway, starved, usual, beside, frames;
} gp_load_numbers;
/* Reads the number that key names, and sets the fields of p to all of n: the lists that follow need
 * them. *known: whether key names one. False with a message. */
bool gp_load_number(gp_json *j, const gp_json_text *key, gp_load_numbers *n, gp_prof *p,
                    bool *known);

/* Reads the card that sim stood in for into p. False with a message. */
bool gp_load_card(gp_json *j, gp_prof *p);

/* Reads the rest of a list of how a kernel fills devices, after its name, into p. False with a
 * message. */
bool gp_load_waves(gp_json *j, gp_prof *p, const char *kernel);

/* Reads what follows the first pair of a saved profile into p, which has devices. joins: it is one
 * of several ranks, whose number the file gives; its threads are added to those of p, with that
 * rank, and "r1/" is put before the names of its devices. False with a message. */
bool gp_load_own(gp_json *j, gp_prof *p, bool joins);
/* Makes p of several of them, of the ranks of one job, as gp_load_ranks does. Their clocks are
 * compared by their collectives, and p->how says how well. False with a message. */
bool gp_load_own_ranks(gp_json *j, int n, gp_prof *p);

/* Makes p of the traces that the n readers stand at, one for each rank. False with a message. */
bool gp_load_ranks(gp_json *j, int n, gp_prof *p);

/* What to write instead of a wait in PyTorch's op or the runtime's call `what`; never NULL. */
const char *gp_load_advice(const char *what);
/* The same where the host reads a result in that op; NULL: it reads none. */
const char *gp_load_reads(const char *op);
/* What to do about the time that `name`, of Python or a library, takes; NULL: it is none of those
 * of frames.def. */
const char *gp_load_library_advice(const char *name);

#endif
