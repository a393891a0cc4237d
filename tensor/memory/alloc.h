/* The caching, stream-ordered allocator: one per device; freed blocks are kept by stream and size
 * class, and reused. */
#ifndef GP_ALLOC_H
#define GP_ALLOC_H

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#include "tensor/device/device.h"

/* A block of at least bytes for use on stream s, with one reference and undefined contents. Climbs
 * the out-of-memory ladder (DESIGN 5) before it returns NULL; the message lists requested, in use,
 * cached and the largest live blocks by line. */
gp_storage *gp_storage_new(gp_stream *s, size_t bytes);
/* A storage over memory that others own (a mapped file), with one reference: release(st) is called
 * when the last one goes, and finds owner in st. NULL with a message when memory is short: release
 * is then not called. */
gp_storage *gp_storage_foreign(gp_device *dev, void *data, size_t bytes,
                               void (*release)(gp_storage *), void *owner);

/* Whether the process has only one thread. Built with a glibc before 2.32, it asks the one that it
 * runs with, which may be newer. */
static inline bool gp_single_threaded(void) {
#if __has_include(<sys/single_threaded.h>)
    return __libc_single_threaded;
#else
    extern char __libc_single_threaded __attribute__((weak));
    return &__libc_single_threaded && __libc_single_threaded;
#endif
}

/* Adds to the number of st's holders; returns what it was before. A locked addition costs a tenth
 * of x[i], and a process with only one thread needs none. */
static inline int gp_storage_count(gp_storage *st, int by) {
    if (!gp_single_threaded())
        return atomic_fetch_add_explicit(&st->refs, by, memory_order_acq_rel);
    int n = atomic_load_explicit(&st->refs, memory_order_relaxed);
    atomic_store_explicit(&st->refs, n + by, memory_order_relaxed);
    return n;
}
static inline gp_storage *gp_storage_ref(gp_storage *st) {
    gp_storage_count(st, 1);
    return st;
}
/* Gives up a reference to st, not NULL. With the last one the block returns to its device's free
 * lists, for reuse after the work queued on it: never waits on a stream, unless no event can be
 * made. */
void gp_storage_unref(gp_storage *st);

/* Records that work queued on s uses st, so that it is not reused before that work is done. */
static inline void gp_storage_use(gp_storage *st, gp_stream *s) {
    if (st->stream != s && st->dev == s->dev)
        atomic_fetch_or_explicit(&st->used_by, (uint64_t)1 << s->index, memory_order_relaxed);
}

typedef struct gp_mem_stats {
    int64_t in_use, peak, cached, limit; /* bytes; limit 0: none known */
    uint64_t allocs, reused, flushes;
} gp_mem_stats;
/* All counts at one moment; for the cpu they include the threads' magazines. Never blocks. */
void gp_alloc_stats(gp_device *dev, gp_mem_stats *out);
/* Bytes in use on dev, read without the lock. */
int64_t gp_alloc_in_use(gp_device *dev);
/* Blocks that are alive and were made at one line. */
typedef struct gp_live_line {
    gp_srcloc made;
    int64_t blocks, bytes;
} gp_live_line;
enum { GP_ALLOC_LARGE = 1 << 20 }; /* blocks from this size on are listed with their source line */
/* malloc'd, in no order; *n of them, -1 when out of memory, with a message. *small: bytes in use of
 * smaller blocks, whose lines are unknown. */
gp_live_line *gp_alloc_live(gp_device *dev, int *n, int64_t *small);
/* Begins the peak again at what is in use. */
void gp_alloc_reset_peak(gp_device *dev);
/* Frees cached blocks on the device, but for those that queued work on another stream may still
 * use. */
void gp_alloc_flush(gp_device *dev);
/* Asks dev again how much memory it has; what is in use beyond that stays. Whether it has more. */
bool gp_alloc_renew_limit(gp_device *dev);
/* Calls fn for each block that is cached, with the allocator's lock held. */
void gp_alloc_each_cached(gp_device *dev, void (*fn)(void *data, size_t bytes));
/* Gives all cached memory back to dev, for others who allocate there: waits for the device. False
 * with a message where that was refused or failed. */
bool gp_alloc_release(gp_device *dev, const char *what);
/* Gives a device that is being opened its allocator, which lives as long as the process. False
 * with a message when memory is short. */
bool gp_alloc_open(gp_device *dev);

/* Where dev lacks memory for `bytes` more beside what is in use: gives it more, and says whether it
 * did. Set by bindings/, for gpush fit. */
extern bool (*gp_alloc_more)(gp_device *dev, int64_t in_use, size_t bytes);
/* Runs a full collection of the calling thread's Lua state, before the last retry. Set by
 * bindings/. */
extern void (*gp_alloc_collect)(void);

#endif
