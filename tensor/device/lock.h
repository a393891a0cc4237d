/* The locks of the core, counted: a thread that crashes while it holds one cannot be left behind
 * (recovery.h), since others would wait for it for ever. tests/house/layers.sh sees that no lock is taken
 * otherwise. */
#ifndef GP_LOCK_H
#define GP_LOCK_H

#include <pthread.h>

/* Locks that this thread holds. A wait on a condition counts as holding its lock. */
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
