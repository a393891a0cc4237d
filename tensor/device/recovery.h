/* Where a worker's thread goes on when the code that it runs has crashed. Who decides whether it
 * may is shell/crash.c; without the shell nobody does, and a crash ends the program. */
#ifndef GP_RECOVERY_H
#define GP_RECOVERY_H

#include <setjmp.h>
#include <signal.h>

/* On the stack of the function at the worker's top:
 *     gp_rescue r;
 *     if (sigsetjmp(r.out, 0)) … r.text says what happened: no frame above this one is left …
 *     gp_rescue_begin(&r);
 * The signal mask is as the fault's handler leaves it, unchanged. */
typedef struct gp_rescue {
    sigjmp_buf out;
    char text[512]; /* "crashed (SIGBUS, bus error) in the op add at FILE:LINE", by who jumps */
    stack_t before;
    void *stack; /* of the handler's: there may be none left on the thread's own */
} gp_rescue;

/* This thread's, or NULL. */
extern _Thread_local gp_rescue *gp_rescue_here;

void gp_rescue_begin(gp_rescue *r);
/* Before the function that has r returns. */
void gp_rescue_end(gp_rescue *r);

#endif
