/* Starts threads that take no signals, and counts the locks that each holds. */
#include "tensor/device/thread.h"

#include <signal.h>
#include <stddef.h>

_Thread_local int gp_locks_held;

bool gp_thread_start(pthread_t *t, void *(*body)(void *), void *arg) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    sigset_t all, before;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* the new thread inherits it */
    bool ok = pthread_create(t, NULL, body, arg) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}
