/* nan.watch: names the op that first made a NaN or an infinity, forward or backward.
 *
 * While a thread watches, each result that may hold a new NaN is given to the op check_finite. It
 * reads the result where it is, and fails as any op that meets bad data (device/stream/failure.h):
 * at once on the cpu, else at the next wait, whichever that is. Nothing waits for it. On a device
 * one call checks many results (checks.h). */
#ifndef GP_WATCH_H
#define GP_WATCH_H

#include "tensor/autograd/tape.h"

/* Of this thread, so loaders' threads are not watched. */
typedef struct gp_watch_state {
    bool on;             /* by gp_watch_set */
    const char *module;  /* the path of the module that is called; interned; NULL: none */
    const gp_node *step; /* the step of backward that runs; NULL: none does */
    /* Not NULL: given the results of ops that compute, in place of the check; false with a message
     * where that failed. Unwatched while it runs. */
    bool (*see)(const gp_call *c, gp_tensor *result);
} gp_watch_state;
extern _Thread_local gp_watch_state gp_watch;

/* The module whose op runs now: in backward, that of the forward op. NULL: none, or not watched. */
static inline const char *gp_watch_module(void) {
    return gp_watch.step ? gp_watch.step->module : gp_watch.module;
}

/* The step of backward is n from here on; returns the one before. */
static inline const gp_node *gp_watch_step(const gp_node *n) {
    const gp_node *before = gp_watch.step;
    gp_watch.step = n;
    return before;
}

/* Begins or ends this thread's watch: the results of ops are checked. The check only queues where
 * the op did; an op fails where a result is NaN or infinite already. What still waits for its check
 * gets it at the end; false with a message where that fails. */
bool gp_watch_set(bool on);

#endif
