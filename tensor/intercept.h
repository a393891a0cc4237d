/* Interceptors: what takes part in what a thread does without the core knowing it - autocast,
 * fuse's trace, capture's recording, nan.watch. Each has one gp_interceptor for each thread and
 * puts it into the thread's list while it is at work. gp_op_run runs a call by those of the list,
 * in its order, and the core tells them of each moment below. The list is empty for most programs,
 * which then pay a load and a branch. */
#ifndef GP_INTERCEPT_H
#define GP_INTERCEPT_H

#include "tensor/op.h"

/* Moments at which the list's interceptors are called: what is about to happen, or has. The type in
 * brackets is what it happens to. */
typedef enum gp_moment {
    GP_AT_LAUNCH, /* an op was launched and has its outputs; no view (gp_call) */
    GP_AT_WRITE,  /* an op is about to write a gp_storage that is there already */
    GP_AT_ORDER,  /* what a gp_stream has queued so far is about to be what others wait for */
    /* The script is about to do what a later run would not repeat: */
    GP_AT_READ, /* read the value of a tensor, or decide by it */
    GP_AT_WAIT, /* wait for a device, for that reason (gp_why) */
    GP_AT_COPY, /* copy between devices */
    GP_AT_DRAW, /* draw from Lua's generator, or seed it */
    GP_AT_SEED, /* set the generator (gp_rng) */
    /* The script reads */
    GP_AT_SHAPE, /* a size */
    GP_AT_RNG,   /* the generator's state */
    /* The gradient of a leaf (gp_leaf) is */
    GP_AT_GRAD_READ,
    GP_AT_GRAD_WRITE,
    /* A gp_storage */
    GP_AT_MAKE, /* was made */
    GP_AT_DROP  /* has no holder any more */
} gp_moment;

/* What an interceptor keeps in order to run it again. */
enum { GP_KEEPS_CALLS = 1 /* as given */, GP_KEEPS_LAUNCHES = 2 /* as launched */ };

typedef struct gp_interceptor {
    int order;      /* in the list, ascending; no two have the same */
    unsigned keeps; /* bits, as above */
    /* Runs c by gp_op_run_below(self, c); may change its arguments meanwhile. NULL: does only
     * that. */
    bool (*run)(const struct gp_interceptor *self, gp_call *c);
    /* what: who does it, for messages. False with a message ends the op, or what the script was
     * about to do; at the last two moments it says nothing. NULL: does nothing. */
    bool (*at)(gp_moment m, const char *what, void *of);
    struct gp_interceptor *next; /* gp_intercept's */
} gp_interceptor;

/* The first of this thread's list; NULL: it is empty. */
extern _Thread_local gp_interceptor *gp_intercepting;

/* Puts i, which is this thread's, into the list, or takes it out; no matter whether it is there. */
void gp_intercept(gp_interceptor *i, bool on);

/* For gp_interceptor.run: runs c by the interceptors after `self`, and the op. */
bool gp_op_run_below(const gp_interceptor *self, gp_call *c);

static inline bool gp_intercepted(void) { return __builtin_expect(gp_intercepting != NULL, 0); }

/* Tells the list's interceptors of a moment, up to one that says false, and returns that. */
bool gp_intercept_at(gp_moment m, const char *what, void *of);
static inline bool gp_at(gp_moment m, const char *what, void *of) {
    return !gp_intercepted() || gp_intercept_at(m, what, of);
}

/* What the list's interceptors keep, in bits. */
unsigned gp_intercept_keeps(void);
static inline unsigned gp_kept(void) { return gp_intercepted() ? gp_intercept_keeps() : 0; }

#endif
