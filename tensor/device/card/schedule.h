/* When a card would have run what its streams hold: a discrete-event engine, for the modelled card
 * and for replays of records. Kernels' work shares the card equally between the streams that have
 * some, copies of one direction follow one another, and everything else overlaps. Times are ns on
 * the host's clock (clock.h) or a record's. The caller holds one lock for all calls of a
 * schedule. */
#ifndef GP_SCHEDULE_H
#define GP_SCHEDULE_H

#include "tensor/device/device.h"

enum { GP_LANE_CAPACITY = 1024 }; /* that a stream holds at a time */

typedef enum gp_lane_kind {
    GP_LANE_KERNEL,
    GP_LANE_COPY,
    GP_LANE_RECORD,
    GP_LANE_WAIT
} gp_lane_kind;

/* A command of a stream. */
typedef struct gp_lane_item {
    gp_lane_kind kind;
    gp_copy_kind direction; /* COPY */
    uint64_t ready;         /* it begins no earlier */
    uint64_t fixed, work;   /* KERNEL, COPY: what overlaps with others, and what is shared */
    gp_stream *on;          /* WAIT: for `ticket` commands of it */
    uint64_t ticket;
    void *stamp;        /* RECORD: of queue.h */
    gp_storage *pinned; /* COPY: the host's side, held until it is done; NULL: none */
    gp_activity ran;    /* KERNEL, COPY: reported when it is done */
} gp_lane_item;

/* The streams of a card, or of several; zeroes, with `done`. */
typedef struct gp_schedule {
    struct gp_lane **lane; /* open ones, in the order in which they were opened */
    int nlanes, capacity;
    uint64_t now;                                    /* up to which everything has run */
    void (*done)(void *ctx, const gp_activity *ran); /* a kernel or a copy has run; not NULL */
    void *ctx;
} gp_schedule;

/* A stream's items; s->issued and s->completed count them. */
typedef struct gp_lane gp_lane;
/* NULL when out of memory. A lane is closed when nothing is queued. */
gp_lane *gp_lane_open(gp_schedule *all, gp_stream *s);
/* The last one to close gives the schedule's memory back, too. */
void gp_lane_close(gp_schedule *all, gp_lane *lane);
/* Adds *item; there is room for it. */
void gp_lane_add(gp_lane *lane, const gp_lane_item *item);

/* Host memory whose copies are done, to be let go of without the lock. */
typedef struct gp_released {
    int n;
    gp_storage *storage[64];
} gp_released;
/* Runs all streams up to time t; or, with `on`, until it has completed `ticket` items, where t is
 * the limit. Stops early where `released` takes no more, and then returns false: call it again. */
bool gp_schedule_run(gp_schedule *all, uint64_t t, gp_stream *on, uint64_t ticket,
                     gp_released *released);

#endif
