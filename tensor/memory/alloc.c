/* The caching, stream-ordered allocator: a storage that is freed gives its block to the cache
 * (cache.c), from where it is reused without a call to the device. */
#include "tensor/memory/alloc.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/intercept.h"
#include "tensor/device/offload.h"
#include "tensor/device/stream/failure.h"
#include "tensor/device/card/model.h"
#include "tensor/base/error.h"
#include "tensor/device/stream/thread.h"
#include "tensor/memory/cache.h"
#include "tensor/memory/magazine.h"

enum { LISTED = 8 };
static const int64_t cache_floor =
    64 << 20; /* bytes that may stay cached even when little is in use */

typedef struct gp_alloc gp_alloc;
struct gp_alloc {
    gp_device *dev;
    pthread_mutex_t lock;
    gp_cache cache;
    gp_storage *pending;  /* freed, but another stream may still use them */
    int foreign;          /* of pending: their owners want them back soon */
    gp_storage *returned; /* foreign memory that none uses any more */
    gp_storage live;      /* ring of live large blocks */
    gp_mem_stats stats;   /* but for `cached` and `limit`, which are the cache's */
};

void (*gp_alloc_collect)(void);
bool (*gp_alloc_more)(gp_device *dev, int64_t in_use, size_t bytes);

/* With the lock held: lists st, so that an out-of-memory error names it by its line. */
static void live_insert(gp_alloc *al, gp_storage *st) {
    st->made = gp_srcloc_here();
    st->prev = &al->live;
    st->next = al->live.next;
    st->next->prev = st->prev->next = st;
}

static void live_remove(gp_storage *st) {
    st->prev->next = st->next;
    st->next->prev = st->prev;
}

/* Whether every other stream has passed the point up to which it used st. The tickets are those of
 * the time of release. */
static bool settled(gp_storage *st) {
    gp_event **events = st->events;
    for (int i = 0; events[i]; i++)
        if (!st->dev->vt->event_done(events[i])) return false;
    for (int i = 0; events[i]; i++) st->dev->vt->event_free(events[i]);
    free(events);
    st->events = NULL;
    return true;
}

/* Returns foreign memory to its owner. */
static void release_foreign(gp_storage *st) {
    if (st->unlock) st->unlock(st->data);
    if (st->release) st->release(st);
    gp_cache_end(st);
}

/* Gives memory back to its owners. Without the lock: an owner may wait for another thread, as
 * Python's do, and that one for the lock. */
static void give_returned(gp_alloc *al) {
    gp_lock(&al->lock);
    gp_storage *list = al->returned;
    al->returned = NULL;
    gp_unlock(&al->lock);
    for (gp_storage *st = list, *next; st; st = next) {
        next = st->next;
        release_foreign(st);
    }
}

/* With the lock held: moves pending blocks that every stream is done with to their lists. */
static void reap(gp_alloc *al) {
    for (gp_storage **p = &al->pending; *p;) {
        gp_storage *st = *p;
        if (!settled(st)) {
            p = &st->next;
            continue;
        }
        *p = st->next;
        if (st->size_class < 0) st->next = al->returned, al->returned = st, al->foreign--;
        else gp_cache_give(&al->cache, st);
    }
}

/* Whether nothing is queued: work queued on its own stream may still read a cached block, so memory
 * goes back to the device only then. */
static bool idle(gp_device *dev) {
    for (int i = 0; i < dev->nstreams; i++)
        if (dev->vt->busy(dev->streams[i])) return false;
    return true;
}

void gp_alloc_flush(gp_device *dev) {
    gp_alloc *al = dev->alloc;
    if (dev->vt->shed) dev->vt->shed(dev);
    gp_lock(&al->lock);
    reap(al);
    if (idle(dev)) {
        gp_failure_trim();
        gp_cache_trim(&al->cache, 0);
        al->stats.flushes++;
    }
    gp_unlock(&al->lock);
    give_returned(al);
}

bool gp_alloc_release(gp_device *dev, const char *what) {
    if (!gp_wait_device(dev, GP_WHY_alloc, what)) return false;
    gp_alloc_flush(dev);
    return true;
}

/* With the lock held: a cached block for s, or NULL. */
static gp_storage *reuse_cached(gp_alloc *al, gp_stream *s, int size_class, size_t bytes) {
    gp_storage *st = gp_cache_reuse(&al->cache, s, size_class, bytes);
    if (st) al->stats.reused++;
    return st;
}

/* With the lock held: a new block for s after as little of the cache was freed as gives it one, or
 * NULL. */
static gp_storage *add_after_trim(gp_alloc *al, gp_stream *s, int size_class, size_t bytes) {
    gp_storage *st = NULL;
    while (!st && gp_cache_trim_for(&al->cache, size_class, bytes))
        st = gp_cache_add(&al->cache, s, size_class, bytes);
    return st;
}

/* A block for s, cached or new, after what it needs of the cache was freed; all of it, if `all`. */
static gp_storage *after_trim(gp_alloc *al, gp_stream *s, int size_class, size_t bytes, bool all) {
    if (all) gp_alloc_flush(al->dev);
    gp_lock(&al->lock);
    if (!all) reap(al);
    gp_storage *st = reuse_cached(al, s, size_class, bytes);
    if (!st && all) st = gp_cache_add(&al->cache, s, size_class, bytes);
    if (!st && !all && idle(al->dev)) st = add_after_trim(al, s, size_class, bytes);
    gp_unlock(&al->lock);
    if (!all) give_returned(al);
    return st;
}

/* Climbs the out-of-memory ladder: the device's memory, then what the cache and the collector can
 * free of it; what a device's cache need not give up it keeps, as changing shapes soon ask for it
 * again. The host's gives all: kernels and libraries need memory, too. Called without the lock. */
static gp_storage *climb(gp_alloc *al, gp_stream *s, int size_class, size_t bytes) {
    gp_device *dev = al->dev;
    if (!dev->vt->on_host && gp_alloc_renew_limit(dev)) { /* others have given some back */
        gp_lock(&al->lock);
        gp_storage *st = gp_cache_add(&al->cache, s, size_class, bytes);
        gp_unlock(&al->lock);
        if (st) return st;
    }
    for (int step = 0; step < 2; step++) {
        if (step == 1 && gp_alloc_collect) gp_alloc_collect();
        if (!gp_wait_device(dev, GP_WHY_alloc, "allocation")) return NULL;
        if (step == 1 && dev->vt->on_host && !gp_offload_wait("allocation")) return NULL;
        gp_storage *st = dev->vt->on_host ? NULL : after_trim(al, s, size_class, bytes, false);
        if (!st) st = after_trim(al, s, size_class, bytes, true);
        if (st) return st;
    }
    return NULL;
}

/* Whether the device's limit is what ended the climb, and it was raised. */
static bool raised(gp_alloc *al, int size_class, size_t bytes) {
    gp_lock(&al->lock);
    int64_t in_use = al->stats.in_use;
    size_t block = gp_cache_block(&al->cache, size_class, bytes);
    bool limited = al->cache.limit && al->cache.bytes + (int64_t)block > al->cache.limit;
    gp_unlock(&al->lock);
    return limited && gp_alloc_more && gp_alloc_more(al->dev, in_use, bytes);
}

/* With the lock held: writes the largest live blocks as lines of text, one line for each size;
 * returns the length. */
static size_t largest(gp_alloc *al, char *text, size_t size) {
    size_t at = 0;
    int64_t below = INT64_MAX;
    for (int shown = 0; shown < LISTED; shown++) {
        gp_storage *best = NULL;
        for (gp_storage *st = al->live.next; st != &al->live; st = st->next)
            if ((int64_t)st->bytes < below && (!best || st->bytes > best->bytes)) best = st;
        if (!best) break;
        int same = 0;
        for (gp_storage *st = al->live.next; st != &al->live; st = st->next)
            if (st->bytes == best->bytes) same++;
        below = (int64_t)best->bytes;
        int n = snprintf(text + at, size - at, "\n    %d x %.1f MiB, last at %s:%d", same,
                         (double)best->bytes / 1048576, best->made.file ? best->made.file : "?",
                         best->made.line);
        if (n < 0 || at + (size_t)n >= size) break;
        at += (size_t)n;
    }
    return at;
}

/* What the device has in all, for an error; and whose memory it is that lacks where the device's
 * own would do: blocks are rounded up by at most an eighth. */
static const char *in_all(const gp_alloc *al, int64_t wanted, char *text, size_t n) {
    int64_t limit = al->cache.limit;
    *text = 0;
    if (!limit || al->dev->vt->on_host) return text;
    bool sim = !strcmp(al->dev->vt->kind, "sim"), host = sim && wanted <= limit / 9 * 8;
    const char *label = sim ? gp_model_label() : NULL;
    snprintf(text, n, ", of %.1f MiB %s%s%s%s%s", (double)limit / 1048576,
             sim ? "in all" : "that others leave", label ? " (" : "", label ? label : "",
             label ? ")" : "", host ? "; it lies in the host's memory, which has no more" : "");
    return text;
}

/* The error that ends the ladder of DESIGN 6; returns NULL. */
static gp_storage *out_of_memory(gp_alloc *al, size_t bytes) {
    char list[600] = "", all[120];
    gp_lock(&al->lock);
    largest(al, list, sizeof list);
    int64_t cached = al->cache.cached, in_use = al->stats.in_use;
    gp_unlock(&al->lock);
    return gp_fail_null(
        "out of memory on %s: requested %.1f MiB, in use %.1f MiB, cached %.1f "
        "MiB%s; largest live tensors:%s",
        al->dev->name, (double)bytes / 1048576, (double)in_use / 1048576, (double)cached / 1048576,
        in_all(al, in_use + (int64_t)bytes, all, sizeof all), *list ? list : " none");
}

/* With the lock held: counts st as in use. gp_alloc_in_use reads in_use without the lock. */
static void account(gp_alloc *al, gp_storage *st) {
    al->stats.allocs++;
    __atomic_store_n(&al->stats.in_use, al->stats.in_use + (int64_t)st->bytes, __ATOMIC_RELAXED);
    if (al->stats.in_use > al->stats.peak) al->stats.peak = al->stats.in_use;
    if (st->bytes >= GP_ALLOC_LARGE) live_insert(al, st);
}

/* Reports to the profiler's memory counter; bytes < 0 where st is freed. */
static void report_memory(const gp_storage *st, int64_t bytes) {
    void (*hook)(gp_device *, const gp_storage *, int64_t) = GP_HOOK(memory);
    if (hook) hook(st->dev, st, bytes);
}

/* Initialises a block, new or cached, with one reference, which the caller takes over. */
static gp_storage *begin_life(gp_storage *st, gp_stream *s, int size_class, size_t bytes) {
    atomic_store_explicit(&st->refs, 1, memory_order_relaxed);
    st->stream = s;
    st->size_class = size_class;
    st->asked = bytes;
    st->used_by = 0;
    st->last_writer = NULL;
    st->version = 0;
    atomic_store_explicit(&st->charged, false, memory_order_relaxed);
    report_memory(st, (int64_t)st->bytes);
    gp_at(GP_AT_MAKE, NULL, st);
    return st;
}

/* Whether blocks of this size go to the magazine: where ops run at once no queued work can touch a
 * freed block, so a thread's own small blocks need no lock. */
static bool for_magazine(const gp_stream *s, int size_class) {
    return size_class < GP_SMALL_CLASSES && !s->async;
}

gp_storage *gp_storage_new(gp_stream *s, size_t bytes) {
    gp_device *dev = s->dev;
    gp_alloc *al = dev->alloc;
    if (bytes > (size_t)1 << 52) return out_of_memory(al, bytes);
    int size_class = gp_size_class(bytes);
    gp_storage *small = for_magazine(s, size_class) ? gp_magazine_pop(size_class) : NULL;
    if (small) return begin_life(small, s, size_class, bytes);
    gp_lock(&al->lock);
    gp_storage *st = reuse_cached(al, s, size_class, bytes);
    bool reaps = al->pending && (!st || al->foreign);
    if (reaps) reap(al);
    if (reaps && !st) st = reuse_cached(al, s, size_class, bytes);
    if (!st) {
        int64_t keep = al->stats.peak > cache_floor ? al->stats.peak : cache_floor;
        if (al->cache.cached > keep && idle(dev)) gp_cache_trim(&al->cache, keep);
        st = gp_cache_add(&al->cache, s, size_class, bytes);
    }
    if (!st) {
        gp_unlock(&al->lock);
        gp_error_clear();
        do st = climb(al, s, size_class, bytes);
        while (!st && !*gp_error() && raised(al, size_class, bytes));
        if (!st) return *gp_error() ? NULL : out_of_memory(al, bytes);
        gp_lock(&al->lock);
    }
    account(al, st);
    bool owed = al->returned != NULL;
    gp_unlock(&al->lock);
    if (owed) give_returned(al);
    return begin_life(st, s, size_class, bytes);
}

gp_storage *gp_storage_foreign(gp_device *dev, void *data, size_t bytes,
                               void (*release)(gp_storage *), void *owner) {
    gp_storage *st = calloc(1, sizeof *st);
    if (!st) return gp_fail_null("out of memory");
    atomic_store(&st->refs, 1);
    st->dev = dev;
    st->stream = dev->streams[0]; /* the host may write it at once */
    st->data = data;
    st->bytes = bytes;
    st->size_class = -1;
    st->release = release;
    st->owner = owner;
    return st;
}

/* Events on the streams that used st besides its own, with that where its memory is foreign, in
 * *out; NULL if none is needed. False when there was no memory for them and the wait in their place
 * was refused: then it is unknown when the block is free. */
static bool other_uses(gp_storage *st, gp_event ***out) {
    gp_device *dev = st->dev;
    gp_event **events = NULL;
    int n = 0;
    bool known = true;
    for (int i = 0; i < dev->nstreams; i++) {
        gp_stream *s = dev->streams[i];
        bool own = s == st->stream && st->size_class < 0; /* its queue orders no outsider */
        if (!(st->used_by >> i & 1 || own) || !dev->vt->busy(s)) continue;
        if (!events) events = calloc(65, sizeof *events);
        if (events && (events[n] = dev->vt->event_record(s, false))) n++;
        else if (!gp_wait(s, GP_WHY_alloc, "free")) known = false;
    }
    if (events && n == 0) free(events), events = NULL;
    *out = events;
    return known;
}

/* Foreign memory goes back to its owner, once the streams that use it have passed. Where that
 * cannot be known, it stays. */
static void foreign_free(gp_storage *st) {
    gp_alloc *al = st->dev->alloc;
    if ((st->used_by || st->stream->async) && !other_uses(st, &st->events)) return;
    if (!st->events) {
        release_foreign(st);
        return;
    }
    gp_lock(&al->lock);
    st->next = al->pending;
    al->pending = st;
    al->foreign++;
    gp_unlock(&al->lock);
}

/* Called when the last reference is gone: the block goes to the magazine, to its stream's list, or
 * to `pending` until the other streams that used it have passed. */
static void storage_free(gp_storage *st) {
    if (st->arrival) st->arrival->stream->dev->vt->event_free(st->arrival), st->arrival = NULL;
    gp_at(GP_AT_DROP, NULL, st);
    if (st->size_class < 0) {
        foreign_free(st);
        return;
    }
    gp_alloc *al = st->dev->alloc;
    report_memory(st, -(int64_t)st->bytes);
    if (for_magazine(st->stream, st->size_class) && !st->used_by && !st->pinned &&
        gp_magazine_push(st))
        return;
    if (gp_has_queues(st->dev)) gp_failure_forget(st);
    gp_event **events = NULL;
    bool known = !st->used_by || other_uses(st, &events);
    gp_lock(&al->lock);
    if (st->bytes >= GP_ALLOC_LARGE) live_remove(st);
    __atomic_store_n(&al->stats.in_use, al->stats.in_use - (int64_t)st->bytes, __ATOMIC_RELAXED);
    st->events = events;
    st->pinned = false;
    if (!known || !gp_cache_ready(&al->cache, st->stream)) {
        if (known && !events && !st->stream->async)
            gp_cache_release(&al->cache, st); /* else lost: no memory even for a list head */
    } else if (events) {
        st->next = al->pending;
        al->pending = st;
    } else {
        gp_cache_give(&al->cache, st);
    }
    gp_unlock(&al->lock);
}

void gp_storage_unref(gp_storage *st) {
    /* The last holder needs no read-modify-write: no other holder is left. */
    if (atomic_load_explicit(&st->refs, memory_order_acquire) == 1 || gp_storage_count(st, -1) == 1)
        storage_free(st);
}

/* Takes over what a thread's magazine held when the thread ended. */
static void adopt(gp_storage *list, const gp_mem_stats *counts) {
    gp_alloc *al = gp_device_cpu()->alloc;
    gp_lock(&al->lock);
    __atomic_store_n(&al->stats.in_use, al->stats.in_use + counts->in_use, __ATOMIC_RELAXED);
    al->stats.allocs += counts->allocs;
    al->stats.reused += counts->reused;
    while (list) {
        gp_storage *st = list;
        list = st->next;
        if (gp_cache_ready(&al->cache, st->stream)) gp_cache_give(&al->cache, st);
        else gp_cache_release(&al->cache, st);
    }
    gp_unlock(&al->lock);
}

bool gp_alloc_open(gp_device *dev) {
    gp_alloc *al = calloc(1, sizeof *al);
    if (!al) return gp_fail("out of memory");
    al->dev = dev;
    al->cache.dev = dev;
    al->cache.limit = (int64_t)dev->vt->capacity(dev);
    if (!gp_cache_open(&al->cache)) return free(al), gp_fail("out of memory");
    al->live.next = al->live.prev = &al->live;
    pthread_mutex_init(&al->lock, NULL);
    gp_magazine_leave = adopt;
    dev->alloc = al;
    return true;
}

bool gp_alloc_renew_limit(gp_device *dev) {
    gp_alloc *al = dev->alloc;
    int64_t limit = (int64_t)dev->vt->capacity(dev);
    gp_lock(&al->lock);
    bool more = limit > al->cache.limit;
    al->cache.limit = limit;
    gp_unlock(&al->lock);
    return more;
}

void gp_alloc_each_cached(gp_device *dev, void (*fn)(void *data, size_t bytes)) {
    gp_alloc *al = dev->alloc;
    gp_lock(&al->lock);
    gp_cache_each(&al->cache, fn);
    gp_unlock(&al->lock);
}

void gp_alloc_stats(gp_device *dev, gp_mem_stats *out) {
    gp_alloc *al = dev->alloc;
    gp_lock(&al->lock);
    *out = al->stats;
    out->cached = al->cache.cached;
    out->limit = al->cache.limit;
    gp_unlock(&al->lock);
    if (dev->vt->on_host) gp_magazine_stats(out);
    if (out->in_use > out->peak) out->peak = out->in_use;
}

/* Adds a block to the n lines; returns how many there are then. */
static int add_line(gp_live_line *lines, int n, const gp_storage *st) {
    int i = 0;
    while (i < n && !gp_srcloc_same(lines[i].made, st->made)) i++;
    if (i == n) lines[n] = (gp_live_line){.made = st->made};
    lines[i].blocks++, lines[i].bytes += (int64_t)st->bytes;
    return i == n ? n + 1 : n;
}

gp_live_line *gp_alloc_live(gp_device *dev, int *n, int64_t *small) {
    gp_alloc *al = dev->alloc;
    size_t capacity = 1;
    gp_mem_stats stats;
    gp_alloc_stats(dev, &stats);
    *small = stats.in_use;
    gp_lock(&al->lock);
    for (gp_storage *st = al->live.next; st != &al->live; st = st->next) capacity++;
    gp_live_line *lines = malloc(capacity * sizeof *lines);
    *n = lines ? 0 : -1;
    for (gp_storage *st = al->live.next; lines && st != &al->live; st = st->next) {
        *n = add_line(lines, *n, st);
        *small -= (int64_t)st->bytes;
    }
    gp_unlock(&al->lock);
    if (!lines) gp_fail("alive: out of memory");
    return lines;
}

int64_t gp_alloc_in_use(gp_device *dev) {
    return __atomic_load_n(&dev->alloc->stats.in_use, __ATOMIC_RELAXED);
}

void gp_alloc_reset_peak(gp_device *dev) {
    gp_alloc *al = dev->alloc;
    gp_lock(&al->lock);
    al->stats.peak = al->stats.in_use;
    gp_unlock(&al->lock);
}
