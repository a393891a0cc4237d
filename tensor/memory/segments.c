/* Memory in segments: cudaMalloc takes tens of microseconds and cudaFree waits for the device, so
 * shapes that change must need neither. Sizes and rules are those of PyTorch's caching allocator
 * (c10/cuda/CUDACachingAllocator.cpp): requests of up to 1 MiB come from segments of 2 MiB, those
 * of up to 10 MiB from segments of 20 MiB, larger ones have segments of their own. A block is
 * divided, and a free one becomes one with its free neighbours. A block stays with its stream,
 * whose queue orders its users. */
#include "tensor/memory/segments.h"

#include <stdlib.h>

enum {
    MIB = 1 << 20,
    UNIT = 512,  /* sizes are multiples of it */
    SMALL = MIB, /* the largest request that a small segment serves */
    SMALL_SEGMENT = 2 * MIB,
    MIDDLE = 10 * MIB,
    MIDDLE_SEGMENT = 20 * MIB,
    FINE = 32, /* sizes of larger segments per doubling */
    STEPS = 8, /* lists of free blocks per doubling */
    LISTS = 48 * STEPS,
    LOOKED_AT = 16 /* blocks of a list, of which the smallest that fits is taken */
};
_Static_assert(LISTS % 64 == 0, "`filled` has a bit for each list");

/* The free blocks of a stream in segments of one kind: list k is of those from its size on. */
typedef struct gp_stream_blocks {
    int stream;
    bool small;
    gp_block *list[LISTS];
    uint64_t filled[LISTS / 64];
} stream_blocks;

struct gp_segments {
    gp_device *dev;
    stream_blocks *of[GP_MAX_STREAMS][2]; /* NULL until the first segment; [1]: small ones */
    gp_block *spare;                      /* structs without memory, by next */
    int64_t bytes, free_bytes;
};

gp_segments *gp_segments_new(gp_device *dev) {
    gp_segments *all = calloc(1, sizeof *all);
    if (all) all->dev = dev;
    return all;
}

int64_t gp_segments_bytes(const gp_segments *all) { return all->bytes; }
int64_t gp_segments_free_bytes(const gp_segments *all) { return all->free_bytes; }

static size_t rounded(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

/* The bytes of its segment that a block of that size takes. */
static size_t needed(size_t bytes) { return rounded(bytes ? bytes : 1, UNIT); }

/* The list of free blocks of that size, a multiple of UNIT. */
static int list_of(size_t bytes) {
    size_t n = bytes / UNIT;
    if (n < STEPS) return (int)n;
    int e = 63 - __builtin_clzll(n); /* n >= 8, so e >= 3 */
    return (e - 3) * STEPS + (int)(n >> (e - 3));
}

/* ---- free blocks ---- */

static void list_free(gp_segments *all, gp_block *b) {
    stream_blocks *home = b->home;
    int k = list_of(b->bytes);
    b->used = false;
    b->prev = NULL;
    b->next = home->list[k];
    if (b->next) b->next->prev = b;
    home->list[k] = b;
    home->filled[k / 64] |= (uint64_t)1 << k % 64;
    all->free_bytes += (int64_t)b->bytes;
}

static void unlist(gp_segments *all, gp_block *b) {
    stream_blocks *home = b->home;
    int k = list_of(b->bytes);
    if (b->next) b->next->prev = b->prev;
    if (b->prev) b->prev->next = b->next;
    else if (!(home->list[k] = b->next)) home->filled[k / 64] &= ~((uint64_t)1 << k % 64);
    all->free_bytes -= (int64_t)b->bytes;
}

/* The smallest of the list's first blocks that is large enough. */
static gp_block *smallest(gp_block *list, size_t bytes) {
    gp_block *best = NULL;
    for (int n = 0; list && n < LOOKED_AT; n++, list = list->next) {
        if (list->bytes == bytes) return list;
        if (list->bytes > bytes && (!best || list->bytes < best->bytes)) best = list;
    }
    return best;
}

/* The first list from k on with a block in it; LISTS: none. */
static int next_filled(const stream_blocks *home, int k) {
    for (int word = k / 64; word < LISTS / 64; word++) {
        uint64_t bits = home->filled[word];
        if (word == k / 64) bits &= ~(uint64_t)0 << k % 64;
        if (bits) return word * 64 + __builtin_ctzll(bits);
    }
    return LISTS;
}

static gp_block *find(const stream_blocks *home, size_t bytes) {
    int k = list_of(bytes);
    gp_block *b = smallest(home->list[k], bytes);
    if (b || (k = next_filled(home, k + 1)) == LISTS) return b;
    return smallest(home->list[k], bytes);
}

/* ---- blocks and segments ---- */

static gp_block *new_block(gp_segments *all, stream_blocks *home, char *data, size_t bytes) {
    gp_block *b = all->spare;
    if (b) all->spare = b->next;
    else if (!(b = malloc(sizeof *b))) return NULL;
    *b = (gp_block){.data = data, .bytes = bytes, .home = home};
    return b;
}

static void end_block(gp_segments *all, gp_block *b) {
    b->next = all->spare;
    all->spare = b;
}

/* Hands out b, no longer listed, as a block of that size: what is left over is free again, if
 * it is worth a block. */
static gp_block *hand_out(gp_segments *all, gp_block *b, size_t bytes) {
    size_t left = b->bytes - bytes;
    gp_block *rest = NULL;
    if (left >= (b->home->small ? (size_t)UNIT : (size_t)SMALL + 1))
        rest = new_block(all, b->home, b->data + bytes, left);
    if (rest) {
        rest->before = b;
        rest->after = b->after;
        if (rest->after) rest->after->before = rest;
        b->after = rest;
        b->bytes = bytes;
        list_free(all, rest);
    }
    b->used = true;
    return b;
}

/* Makes one block of b and the next one, neither of them listed. */
static gp_block *join(gp_segments *all, gp_block *b, gp_block *after) {
    b->bytes += after->bytes;
    b->after = after->after;
    if (b->after) b->after->before = b;
    end_block(all, after);
    return b;
}

gp_block *gp_segments_allocate(gp_segments *all, int stream, size_t bytes) {
    const stream_blocks *home = all->of[stream][bytes <= SMALL];
    gp_block *b = home ? find(home, needed(bytes)) : NULL;
    if (!b) return NULL;
    unlist(all, b);
    return hand_out(all, b, needed(bytes));
}

void gp_segments_give(gp_segments *all, gp_block *b) {
    if (b->after && !b->after->used) unlist(all, b->after), join(all, b, b->after);
    if (b->before && !b->before->used) {
        unlist(all, b->before);
        b = join(all, b->before, b);
    }
    list_free(all, b);
}

/* Bytes of a new segment for such a block. Of sizes that grow slowly only one in a few then needs a
 * new one. */
static size_t segment_for(size_t bytes, bool small) {
    if (small) return SMALL_SEGMENT;
    if (bytes <= MIDDLE) return MIDDLE_SEGMENT;
    size_t step = (size_t)1 << (63 - __builtin_clzll(bytes));
    step /= FINE;
    return rounded(bytes, step > SMALL_SEGMENT ? step : (size_t)SMALL_SEGMENT);
}

static stream_blocks *home_of(gp_segments *all, int stream, bool small) {
    stream_blocks **home = &all->of[stream][small];
    if (*home || !(*home = calloc(1, sizeof **home))) return *home;
    (*home)->stream = stream;
    (*home)->small = small;
    return *home;
}

/* A new segment as one block, not listed. */
static gp_block *new_segment(gp_segments *all, stream_blocks *home, size_t bytes, int64_t limit) {
    if (limit && all->bytes + (int64_t)bytes > limit) return NULL;
    char *data = all->dev->vt->mem_alloc(all->dev, bytes);
    gp_block *b = data ? new_block(all, home, data, bytes) : NULL;
    if (data && !b) all->dev->vt->mem_free(all->dev, data, bytes);
    if (!b) return NULL;
    all->bytes += (int64_t)bytes;
    return b;
}

gp_block *gp_segments_add(gp_segments *all, int stream, size_t bytes, int64_t limit) {
    size_t least = needed(bytes), usual = segment_for(least, bytes <= SMALL);
    stream_blocks *home = home_of(all, stream, bytes <= SMALL);
    gp_block *b = home ? new_segment(all, home, usual, limit) : NULL;
    /* On a device that is almost full. */
    if (home && !b && least < usual) b = new_segment(all, home, least, limit);
    return b ? hand_out(all, b, least) : NULL;
}

/* ---- giving memory back ---- */

static bool is_whole(const gp_block *b) { return !b->before && !b->after; }

static void drop(gp_segments *all, gp_block *b) {
    unlist(all, b);
    all->bytes -= (int64_t)b->bytes;
    all->dev->vt->mem_free(all->dev, b->data, b->bytes);
    end_block(all, b);
}

/* A free block of list k that is a segment of at least `bytes`, of any stream; NULL: there is none.
 */
static gp_block *whole_of(const gp_segments *all, int k, size_t bytes) {
    for (int i = 0; i < 2 * GP_MAX_STREAMS; i++) {
        const stream_blocks *home = all->of[i / 2][i % 2];
        for (gp_block *b = home ? home->list[k] : NULL; b; b = b->next)
            if (is_whole(b) && b->bytes >= bytes) return b;
    }
    return NULL;
}

void gp_segments_trim(gp_segments *all, int64_t keep) {
    gp_block *b;
    for (int k = LISTS - 1; k >= 0 && all->free_bytes > keep; k--)
        while (all->free_bytes > keep && (b = whole_of(all, k, 0))) drop(all, b);
}

bool gp_segments_trim_for(gp_segments *all, size_t bytes) {
    gp_block *b = NULL;
    int k = list_of(needed(bytes));
    while (!b && k < LISTS) b = whole_of(all, k++, bytes);
    if (b) return drop(all, b), true;
    int64_t before = all->free_bytes;
    gp_segments_trim(all, before - (int64_t)bytes);
    return all->free_bytes < before;
}
