/* Small host blocks cached by each thread. Only the owner writes the counters; any thread may read
 * them. */
#include "tensor/memory/magazine.h"

#include <pthread.h>
#include <stdlib.h>

#include "tensor/device/stream/thread.h"

/* Enough for what one collection frees, in blocks and in bytes of a class. */
enum { ROOM = 4096, ROOM_BYTES = 512 << 10 };

typedef struct magazine {
    gp_storage *block[GP_SMALL_CLASSES];
    int held[GP_SMALL_CLASSES];
    _Atomic int64_t in_use, cached;
    _Atomic uint64_t allocs;
    struct magazine *next;
} magazine;

void (*gp_magazine_leave)(gp_storage *list, const gp_mem_stats *counts);

static _Thread_local magazine *mine;
static magazine *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

static void bump(_Atomic int64_t *v, int64_t by) {
    atomic_store_explicit(v, atomic_load_explicit(v, memory_order_relaxed) + by,
                          memory_order_relaxed);
}

static void add(gp_mem_stats *s, const magazine *m) {
    s->in_use += atomic_load_explicit(&m->in_use, memory_order_relaxed);
    s->cached += atomic_load_explicit(&m->cached, memory_order_relaxed);
    s->allocs += atomic_load_explicit(&m->allocs, memory_order_relaxed);
    s->reused += atomic_load_explicit(&m->allocs, memory_order_relaxed);
}

/* Called when a thread ends: its blocks and counts go to the shared allocator. */
static void leave(void *p) {
    magazine *m = p;
    gp_lock(&lock);
    magazine **at = &all;
    while (*at != m) at = &(*at)->next;
    *at = m->next;
    gp_unlock(&lock);
    gp_storage *list = NULL, *st;
    for (int k = 0; k < GP_SMALL_CLASSES; k++)
        while ((st = m->block[k])) m->block[k] = st->next, st->next = list, list = st;
    gp_mem_stats counts = {0};
    add(&counts, m);
    mine = NULL;
    free(m);
    gp_magazine_leave(list, &counts);
}

static void make_key(void) { pthread_key_create(&key, leave); }

/* This thread's magazine, listed for gp_magazine_stats. NULL without memory: then blocks go to the
 * shared lists. */
static magazine *open_magazine(void) {
    pthread_once(&once, make_key);
    magazine *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    pthread_setspecific(key, m);
    gp_lock(&lock);
    m->next = all;
    all = m;
    gp_unlock(&lock);
    return mine = m;
}

gp_storage *gp_magazine_pop(int size_class) {
    magazine *m = mine;
    gp_storage *st = m ? m->block[size_class] : NULL;
    if (!st) return NULL;
    m->block[size_class] = st->next;
    m->held[size_class]--;
    bump(&m->cached, -(int64_t)st->bytes);
    bump(&m->in_use, (int64_t)st->bytes);
    atomic_store_explicit(&m->allocs, atomic_load_explicit(&m->allocs, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    return st;
}

bool gp_magazine_push(gp_storage *st) {
    magazine *m = mine ? mine : open_magazine();
    if (!m || m->held[st->size_class] >= ROOM ||
        (size_t)m->held[st->size_class] * st->bytes >= ROOM_BYTES)
        return false;
    st->next = m->block[st->size_class];
    m->block[st->size_class] = st;
    m->held[st->size_class]++;
    bump(&m->cached, (int64_t)st->bytes);
    bump(&m->in_use, -(int64_t)st->bytes);
    return true;
}

void gp_magazine_stats(gp_mem_stats *s) {
    gp_lock(&lock);
    for (magazine *m = all; m; m = m->next) add(s, m);
    gp_unlock(&lock);
}
