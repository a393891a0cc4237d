/* Whether a thread that has crashed may continue at its gp_rescue. */
#ifndef GP_LEAVE_H
#define GP_LEAVE_H

#include <signal.h>
#include <stdbool.h>

/* Called in a fault's handler, with its arguments. May crash itself, where the stack is damaged. */
bool gp_may_leave(int sig, const siginfo_t *info, const void *context);

#endif
