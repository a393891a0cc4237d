/* Free memory by stream: in lists by size class, or, where a device's memory comes in segments, as
 * parts of those. */
#include "tensor/memory/cache.h"

#include <stdlib.h>

#include "tensor/device/card/model.h"
#include "tensor/device/stream/failure.h"
#include "tensor/memory/magazine.h"

/* At most an eighth of a block is waste. */
enum { STEPS = GP_SIZE_STEPS, CLASSES = GP_SIZE_CLASSES, SMALLEST = 64 };
/* A modelled card's are multiples of this, as those of a card's segments are: an eighth of 16 GB
 * would be the difference between fitting and not. */
static const size_t LARGE_UNIT = (size_t)2 << 20;
_Static_assert((int)GP_SMALL_CLASSES <= (int)CLASSES,
               "magazines hold the first of the size classes");
_Static_assert(SMALLEST == 64 && STEPS == 8, "gp_size_class shifts by 6 and 3 bits");
_Static_assert(sizeof(size_t) == 8, "gp_size_class counts the leading zeros of 64 bits");

/* AddressSanitizer checks the ends of blocks that are malloc's, as the stand-in for CUDA has them.
 * Parts of a segment cannot be poisoned: queued work may use a block that is free already. */
#if defined(__SANITIZE_ADDRESS__)
static const bool divides = false;
#else
static const bool divides = true;
#endif

bool gp_cache_open(gp_cache *cache) {
    return !divides || !cache->dev->vt->segments || (cache->segments = gp_segments_new(cache->dev));
}

/* Class k of a doubling [2^e, 2^(e+1)) is of requests up to 2^e * (1 + (k + 1)/8) bytes. */
int gp_size_class(size_t bytes) {
    if (bytes <= SMALLEST) return 0;
    size_t n = (bytes - 1) >> 6; /* in units of SMALLEST, rounded up later */
    int e = 63 - __builtin_clzll(n);
    if (e < 3) return (int)n;
    size_t top = n >> (e - 3); /* 8 … 15 */
    return (e - 2) * STEPS + (int)(top - 8);
}

/* Bytes of the blocks of a class. */
static size_t class_bytes(int size_class) {
    if (size_class < STEPS) return ((size_t)size_class + 1) << 6;
    int e = size_class / STEPS + 2;
    return ((size_t)(size_class % STEPS) + STEPS + 1) << (e - 3) << 6;
}

/* ---- structs ---- */

void gp_cache_end(gp_storage *st) {
    if (gp_has_queues(st->dev)) gp_failure_bury(st);
    else free(st);
}

static gp_storage *new_storage(gp_cache *cache) {
    gp_storage *st = cache->spare;
    if (st) cache->spare = st->next;
    else if (!(st = calloc(1, sizeof *st))) return NULL;
    st->dev = cache->dev;
    return st;
}

static void keep_spare(gp_cache *cache, gp_storage *st) {
    st->next = cache->spare;
    cache->spare = st;
}

/* ---- segments ---- */

static void count_segments(gp_cache *cache) {
    cache->bytes = gp_segments_bytes(cache->segments);
    cache->cached = gp_segments_free_bytes(cache->segments);
}

/* A storage for a block of the segments, cached or new. */
static gp_storage *from_segments(gp_cache *cache, const gp_stream *s, size_t bytes, bool cached) {
    gp_storage *st = new_storage(cache);
    if (!st) return NULL;
    st->block = cached ? gp_segments_allocate(cache->segments, s->index, bytes)
                       : gp_segments_add(cache->segments, s->index, bytes, cache->limit);
    if (!st->block) return keep_spare(cache, st), NULL;
    st->data = st->block->data;
    st->bytes = st->block->bytes;
    count_segments(cache);
    return st;
}

static void give_to_segments(gp_cache *cache, gp_storage *st) {
    gp_segments_give(cache->segments, st->block);
    st->block = NULL;
    keep_spare(cache, st);
    count_segments(cache);
}

static void trim_segments(gp_cache *cache, int64_t keep) {
    gp_segments_trim(cache->segments, keep);
    count_segments(cache);
    gp_storage *st;
    while (keep == 0 && (st = cache->spare)) {
        cache->spare = st->next;
        gp_cache_end(st);
    }
}

static bool trim_segments_for(gp_cache *cache, size_t bytes) {
    int64_t beyond = cache->limit ? cache->bytes + (int64_t)bytes - cache->limit : 0;
    bool some = gp_segments_trim_for(cache->segments, beyond > 0 ? (size_t)beyond : bytes);
    count_segments(cache);
    return some;
}

/* ---- both ---- */

gp_storage *gp_cache_reuse(gp_cache *cache, const gp_stream *s, int size_class, size_t bytes) {
    if (cache->segments) return from_segments(cache, s, bytes, true);
    gp_storage **lists = cache->free[s->index], **at = lists ? &lists[size_class] : NULL, *st;
    while (at && *at && (*at)->bytes < bytes) at = &(*at)->next;
    if (!at || !(st = *at)) return NULL;
    *at = st->next;
    cache->cached -= (int64_t)st->bytes;
    return st;
}

size_t gp_cache_block(const gp_cache *cache, int size_class, size_t bytes) {
    size_t block = class_bytes(size_class), needed = (bytes + LARGE_UNIT - 1) & ~(LARGE_UNIT - 1);
    bool card = !cache->dev->vt->on_host && gp_model_card();
    return card && needed < block ? needed : block;
}

gp_storage *gp_cache_add(gp_cache *cache, const gp_stream *s, int size_class, size_t bytes) {
    if (cache->segments) return from_segments(cache, s, bytes, false);
    size_t block = gp_cache_block(cache, size_class, bytes);
    if (cache->limit && cache->bytes + (int64_t)block > cache->limit) return NULL;
    char *data = cache->dev->vt->mem_alloc(cache->dev, block);
    gp_storage *st = data ? new_storage(cache) : NULL;
    if (data && !st) cache->dev->vt->mem_free(cache->dev, data, block);
    if (!st) return NULL;
    st->data = data;
    st->bytes = block;
    cache->bytes += (int64_t)block;
    return st;
}

bool gp_cache_ready(gp_cache *cache, const gp_stream *s) {
    gp_storage ***lists = &cache->free[s->index];
    return cache->segments || *lists || (*lists = calloc(CLASSES, sizeof **lists));
}

void gp_cache_give(gp_cache *cache, gp_storage *st) {
    if (cache->segments) {
        give_to_segments(cache, st);
        return;
    }
    gp_storage **list = &cache->free[st->stream->index][st->size_class];
    st->next = *list;
    *list = st;
    cache->cached += (int64_t)st->bytes;
}

void gp_cache_release(gp_cache *cache, gp_storage *st) {
    if (st->unlock) st->unlock(st->data);
    cache->dev->vt->mem_free(cache->dev, st->data, st->bytes);
    cache->bytes -= (int64_t)st->bytes;
    gp_cache_end(st);
}

void gp_cache_each(gp_cache *cache, void (*fn)(void *data, size_t bytes)) {
    for (int s = 0; s < cache->dev->nstreams; s++)
        for (int k = 0; cache->free[s] && k < CLASSES; k++)
            for (gp_storage *st = cache->free[s][k]; st; st = st->next) fn(st->data, st->bytes);
}

/* Frees the first block of that stream's list. */
static void release_first(gp_cache *cache, gp_storage **list) {
    gp_storage *st = *list;
    *list = st->next;
    cache->cached -= (int64_t)st->bytes;
    gp_cache_release(cache, st);
}

void gp_cache_trim(gp_cache *cache, int64_t keep) {
    if (cache->segments) {
        trim_segments(cache, keep);
        return;
    }
    for (int k = CLASSES - 1; k >= 0 && cache->cached > keep; k--)
        for (int s = 0; s < cache->dev->nstreams; s++)
            while (cache->free[s] && cache->cached > keep && cache->free[s][k])
                release_first(cache, &cache->free[s][k]);
}

bool gp_cache_trim_for(gp_cache *cache, int size_class, size_t bytes) {
    if (cache->segments) return trim_segments_for(cache, bytes);
    for (int k = size_class; k < CLASSES; k++)
        for (int s = 0; s < cache->dev->nstreams; s++)
            if (cache->free[s] && cache->free[s][k])
                return release_first(cache, &cache->free[s][k]), true;
    int64_t before = cache->cached;
    gp_cache_trim(cache, before - (int64_t)class_bytes(size_class));
    return cache->cached < before;
}
