/* Where a worker thread continues when code that it ran has crashed. shell/crash.c decides whether
 * it may; without the shell a crash always ends the program. */
#ifndef GP_RECOVERY_H
#define GP_RECOVERY_H

#include <setjmp.h>

/* On the stack of the function at the worker's top:
 *     gp_rescue r;
 *     if (sigsetjmp(r.out, 0)) … r.text says what happened: no frame above this one is left …
 *     gp_rescue_begin(&r);
 * The signal mask is as the fault's handler leaves it, unchanged. */
typedef struct gp_rescue {
    sigjmp_buf out;
    char text[512]; /* "crashed (SIGBUS, bus error) in the op add at FILE:LINE", written by the
                       jumper */
} gp_rescue;

/* This thread's, or NULL. */
extern _Thread_local gp_rescue *gp_rescue_here;

/* Makes r this thread's and gives the thread a stack for handlers (thread.h). Without memory for
 * one, a crash by an exhausted stack ends the program. gp_rescue_end is called before the function
 * that has r returns. */
void gp_rescue_begin(gp_rescue *r);
void gp_rescue_end(void);

#endif
