/* Threads of the core: their signals, and their locks, counted. */
#ifndef GP_THREAD_H
#define GP_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* Starts a thread that takes no signals: Ctrl-C is for the thread that runs Lua. False, without a
 * message, if it cannot be started. Signals of its own faults are not blocked. */
bool gp_thread_start(pthread_t *t, void *(*body)(void *), void *arg);

/* Blocks the calling thread's signals but those of its own faults, which cannot be deferred.
 * *before, unless NULL, gets the mask until then. */
void gp_signals_block(sigset_t *before);

/* Gives the calling thread a stack for handlers set with SA_ONSTACK, if it has none; it is freed
 * with the thread. A handler there runs though the thread's own stack is exhausted, and writes
 * nothing where code made at run time has the stack pointer. False if there is no memory for it. */
bool gp_handler_stack(void);

/* Locks that this thread holds. A thread that crashes while it holds one cannot be abandoned
 * (recovery.h), since others would wait for the lock without end; so tests/house/layers.sh checks
 * that every lock is taken by gp_lock. A wait on a condition counts as holding its lock. */
extern _Thread_local int gp_locks_held;

static inline void gp_lock(pthread_mutex_t *m) {
    gp_locks_held++;
    pthread_mutex_lock(m);
}

static inline void gp_unlock(pthread_mutex_t *m) {
    pthread_mutex_unlock(m);
    gp_locks_held--;
}

#endif
