/* Starting threads that take no signals: Ctrl-C is for the thread that runs Lua. */
#ifndef GP_THREAD_H
#define GP_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* False, without a message, if there is none to be had. Faults of the code itself are not held
 * back. */
bool gp_thread_start(pthread_t *t, void *(*body)(void *), void *arg);

#endif
