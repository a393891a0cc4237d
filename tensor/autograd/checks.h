/* Calls of check_finite by nan.watch: the results of ops, with these ops' operands, that one call
 * checks; and those of asynchronous devices that wait for theirs.
 *
 * A check is a launch, which on a device may take the host longer than the op itself. So results
 * wait until there are many, or until something is about to happen after which they could not be
 * checked any more, or not before what a script may expect: watch.c says when. They keep their
 * memory meanwhile, up to a limit. */
#ifndef GP_CHECKS_H
#define GP_CHECKS_H

#include "tensor/op.h"
#include "tensor/ops/finite.h"

/* Results that one call checks, each with its operands and the number of its note. An operand that
 * is absent is the result itself. */
typedef struct gp_checks {
    gp_stream *stream; /* on which they were made */
    gp_srcloc at;      /* of the last of them */
    int n, operands;   /* results; the most operands that one of them has */
    size_t bytes;      /* of memory that might be free, but for them */
    uint64_t held[4];  /* a bit for some storages each: of those that are held it is set */
    gp_tensor *of[1 + GP_CHECK_MOST][GP_CHECK_TOGETHER]; /* as arguments: from GP_CHECK_X on */
    uint32_t note[GP_CHECK_TOGETHER];
} gp_checks;

enum { GP_CHECK_GIVEN = -2 };
/* Adds t, a result of c, to *k, whose tensors stay the caller's; number: that of t in c's lists;
 * -1: it is in none; GP_CHECK_GIVEN: it is no result, but was given to c. Checks what is there
 * first where there is no room. */
bool gp_checks_add(gp_checks *k, const gp_call *c, gp_tensor *t, int number, uint32_t note);
/* Checks all of *k, which is empty from then on: false with a message where that fails at once. */
bool gp_checks_run(gp_checks *k);

/* Results of asynchronous devices that are not checked yet, on this thread. */
extern _Thread_local gp_checks gp_pending;

/* Adds t to them, as above. */
bool gp_pending_add(const gp_call *c, gp_tensor *t, int number, uint32_t note);
/* Queues their check. */
bool gp_pending_check(void);
/* The same before an op writes st, where they hold that. step: the op is an optimizer's, whose
 * parameters were checked as the results of its step before; as operands they are then not asked
 * any more. */
bool gp_pending_write(const gp_storage *st, bool step);
/* How often they hold st, besides those who count as its holders. */
int gp_pending_count(const gp_storage *st);
static inline int gp_pending_holds(const gp_storage *st) {
    return gp_pending.n ? gp_pending_count(st) : 0;
}

#endif
