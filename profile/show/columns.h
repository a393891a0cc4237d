/* The record in a compact form, for pages that a browser shows: a few bytes for each event. */
#ifndef GP_COLUMNS_H
#define GP_COLUMNS_H

#include "profile/record/record.h"

/* One thread's events, in the order in which they began, as numbers: class; start after the event
 * before it, in ns; duration in ns; then, by its kind,
 *   OP, COPY, KERNEL, MOVED, HELD: id, less the one before it
 *   WAIT, COPY, MOVED, ALLOC, SAMPLE: bytes, of a wait the commands that were queued
 *   SWITCH:                        the region's number on the thread, from 1 on; 0: none
 *   ALLOC:                         the block; the level afterwards, less the one before it + bytes
 * Each is an LEB128 number; signed ones (start, id, bytes, level) are zigzag. All in base64. */
typedef struct gp_column_track {
    const gp_track *track;
    size_t events;
    char *text; /* of len bytes; NULL: empty */
    size_t len;
} gp_column_track;

typedef struct gp_page_columns {
    const gp_rec **class; /* an event of each class: all that its events have in common */
    int nclasses;
    gp_column_track *track; /* the host's is the first */
    int ntracks;
} gp_page_columns;

/* NULL with a message when out of memory or interrupted. Events stay p's. */
gp_page_columns *gp_page_columns_new(const gp_prof *p);
void gp_page_columns_free(gp_page_columns *c); /* NULL is fine */

#endif
