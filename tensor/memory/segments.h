/* Segments of a device's memory and the blocks that they are divided into, for devices where
 * allocating is slow. Used by cache.c only, under the allocator's lock. */
#ifndef GP_SEGMENTS_H
#define GP_SEGMENTS_H

#include "tensor/device/device.h"

/* All segments of a device. */
typedef struct gp_segments gp_segments;
/* A part of a segment, or all of one. */
typedef struct gp_block gp_block;
struct gp_block {
    char *data; /* device address, a multiple of 512 bytes from the segment's */
    size_t bytes;
    gp_block *before, *after;      /* in the segment, by address; NULL at its ends */
    gp_block *next, *prev;         /* in a list of free ones */
    struct gp_stream_blocks *home; /* the stream's blocks that it belongs to */
    bool used;
};

/* No segments yet. NULL where the host's memory is short. */
gp_segments *gp_segments_new(gp_device *dev);
/* A free block of at least `bytes` that belongs to that stream, divided where more would be left
 * over than it is worth; NULL where there is none. The caller gives it back by gp_segments_give. */
gp_block *gp_segments_allocate(gp_segments *all, int stream, size_t bytes);
/* The same in a segment that it allocates; with all segments it is of at most `limit` bytes (0: no
 * limit). NULL, without a message, beyond that or where the device has no memory. */
gp_block *gp_segments_add(gp_segments *all, int stream, size_t bytes, int64_t limit);
/* The block is free for work queued on its stream from now on, and one with free neighbours. */
void gp_segments_give(gp_segments *all, gp_block *b);
/* Frees segments of which no block is used, on the device, the largest first, until free blocks are
 * of at most `keep` bytes. No queued work may use them. */
void gp_segments_trim(gp_segments *all, int64_t keep);
/* Frees the smallest such segment of at least `bytes`, or else the largest ones, until they add up
 * to that. False where there is none. */
bool gp_segments_trim_for(gp_segments *all, size_t bytes);
/* Bytes of all segments, and of their free blocks. */
int64_t gp_segments_bytes(const gp_segments *all);
int64_t gp_segments_free_bytes(const gp_segments *all);

#endif
