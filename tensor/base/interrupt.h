/* Whom Ctrl-C tells, besides setting gp_interrupted (error.h): code that cannot poll it. And what a
 * device's thread has stopped for it, which whoever pressed the key knows. */
#ifndef GP_INTERRUPT_H
#define GP_INTERRUPT_H

#include <stdbool.h>

/* Called in the signal handler; NULL: nobody. */
extern void (*volatile gp_on_interrupt)(void);

/* Set where a kernel of this thread's fails as Ctrl-C has stopped it. */
extern _Thread_local bool gp_was_interrupted;

#endif
