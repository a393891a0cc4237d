/* Starts threads that take no signals, gives others a stack for handlers, and counts the locks that
 * each holds. */
#include "tensor/device/stream/thread.h"

#include <stddef.h>
#include <stdlib.h>

_Thread_local int gp_locks_held;

void gp_signals_block(sigset_t *before) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    sigset_t all;
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_BLOCK, &all, before);
}

bool gp_thread_start(pthread_t *t, void *(*body)(void *), void *arg) {
    sigset_t before;
    gp_signals_block(&before); /* the new thread inherits it */
    bool ok = pthread_create(t, NULL, body, arg) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void free_stack(void *stack) {
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
    free(stack);
}

static void make_key(void) { pthread_key_create(&key, free_stack); }

/* A sanitizer has given the thread a stack, which it removes itself. */
bool gp_handler_stack(void) {
    enum { BYTES = 1 << 16 };
    stack_t has;
    if (sigaltstack(NULL, &has) == 0 && !(has.ss_flags & SS_DISABLE)) return true;
    pthread_once(&once, make_key);
    void *stack = malloc(BYTES);
    if (stack && pthread_setspecific(key, stack) == 0 &&
        sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = BYTES}, NULL) == 0)
        return true;
    pthread_setspecific(key, NULL);
    free(stack);
    return false;
}
