/* The memory that an allocator has from its device: blocks in use and free ones, which wait for
 * their next user by stream. Used by alloc.c only, under its lock. */
#ifndef GP_CACHE_H
#define GP_CACHE_H

#include "tensor/device/device.h"
#include "tensor/memory/segments.h"

enum { GP_SIZE_STEPS = 8, GP_SIZE_CLASSES = GP_SIZE_STEPS * 48 }; /* up to 2^53 bytes */

typedef struct gp_cache {
    gp_device *dev;
    int64_t bytes, cached; /* from the device; of these, free */
    int64_t limit;         /* of bytes; 0: none */
    /* One of the two: */
    gp_segments *segments;             /* for a device whose memory comes in segments; and */
    gp_storage *spare;                 /* structs for their blocks */
    gp_storage **free[GP_MAX_STREAMS]; /* per stream: a list for each size class */
} gp_cache;

/* Prepares *cache, which is zero but for `dev` and `limit`. False where memory is short. */
bool gp_cache_open(gp_cache *cache);
/* Size class of a request of at most 2^52 bytes: those of a doubling are equally far apart. */
int gp_size_class(size_t bytes);
/* A block that stream s freed, for a request of that class and size, or NULL. Those of other
 * streams are not taken: their queued work may still use them. */
gp_storage *gp_cache_reuse(gp_cache *cache, const gp_stream *s, int size_class, size_t bytes);
/* Bytes of a new block for such a request: a card's large ones are no larger than they need be. */
size_t gp_cache_block(const gp_cache *cache, int size_class, size_t bytes);
/* A new one from the device. NULL, without a message, beyond the limit or when it has no memory. */
gp_storage *gp_cache_add(gp_cache *cache, const gp_stream *s, int size_class, size_t bytes);
/* Whether what s frees can be remembered, from now on: false where the host has no memory for its
 * lists. */
bool gp_cache_ready(gp_cache *cache, const gp_stream *s);
/* Takes st back for its stream, which is ready, and whose queued work orders whatever reuses it. */
void gp_cache_give(gp_cache *cache, gp_storage *st);
/* Frees st's block on the device, and its struct. Not of a device with segments. */
void gp_cache_release(gp_cache *cache, gp_storage *st);
/* Whether queued work may have used blocks of dev: then the log of failures may name them. */
static inline bool gp_has_queues(const gp_device *dev) {
    return !atomic_load_explicit(&dev->streams[0]->alone, memory_order_relaxed);
}
/* Frees the struct of a storage, once the log of failures does not name it. */
void gp_cache_end(gp_storage *st);

/* Calls fn for each free block. Not of a device with segments. */
void gp_cache_each(gp_cache *cache, void (*fn)(void *data, size_t bytes));

/* The device must be idle for these: queued work may read a free block. */
/* Frees the largest cached blocks on the device, until at most `keep` bytes are cached. */
void gp_cache_trim(gp_cache *cache, int64_t keep);
/* Frees as little as makes room for such a request: the smallest block that does, or else the
 * largest ones. False where there is nothing to free. */
bool gp_cache_trim_for(gp_cache *cache, int size_class, size_t bytes);

#endif
