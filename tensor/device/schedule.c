/* The discrete-event engine of modelled cards. */
#include "tensor/device/schedule.h"

#include <stdlib.h>

#include "tensor/device/queue.h"

enum { LANES = GP_MAX_DEVICES * GP_MAX_STREAMS, NEVER_RUN = 0 };
#define NEVER UINT64_MAX

/* What a lane's first item is at. */
typedef enum phase { QUEUED, FIXED, WORKING } phase;

struct gp_lane {
    gp_stream *s;
    phase at;
    uint64_t begun, until; /* FIXED: its end */
    uint64_t left;         /* WORKING: ns of the whole card, or of the copy engine */
    uint64_t free_at;      /* the end of the item before */
    gp_lane_item item[GP_LANE_ROOM];
};

static gp_lane *lanes[LANES]; /* open ones, in the order in which they were opened */
static int nlanes;
static uint64_t now;

uint64_t gp_schedule_now(void) { return now; }

gp_lane *gp_lane_open(gp_stream *s) {
    gp_lane *lane = nlanes < LANES ? calloc(1, sizeof *lane) : NULL;
    if (!lane) return NULL;
    lane->s = s;
    lanes[nlanes++] = lane;
    return lane;
}

void gp_lane_close(gp_lane *lane) {
    int i = 0;
    while (i < nlanes && lanes[i] != lane) i++;
    for (nlanes--; i < nlanes; i++) lanes[i] = lanes[i + 1];
    free(lane);
}

static uint64_t done(const gp_stream *s) {
    return atomic_load_explicit(&s->completed, memory_order_relaxed);
}

void gp_lane_add(gp_lane *lane, const gp_lane_item *item) {
    uint64_t at = atomic_load_explicit(&lane->s->issued, memory_order_relaxed);
    lane->item[at % GP_LANE_ROOM] = *item;
    atomic_store_explicit(&lane->s->issued, at + 1, memory_order_release);
}

/* The lane's first item; NULL: it has none. */
static gp_lane_item *head(gp_lane *lane) {
    uint64_t at = done(lane->s);
    return atomic_load_explicit(&lane->s->issued, memory_order_relaxed) > at
               ? &lane->item[at % GP_LANE_ROOM]
               : NULL;
}

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Whether two lanes' items share what works on them. */
static bool shares(const gp_lane *a, const gp_lane_item *x, const gp_lane *b,
                   const gp_lane_item *y) {
    return a->s->dev == b->s->dev && x->kind == y->kind &&
           (x->kind != GP_LANE_COPY || x->direction == y->direction);
}

/* The lanes that work beside this one on the same, itself included. */
static uint64_t sharers(gp_lane *lane, const gp_lane_item *item) {
    uint64_t n = 0;
    for (int i = 0; i < nlanes; i++)
        n += lanes[i]->at == WORKING && shares(lane, item, lanes[i], head(lanes[i]));
    return n;
}

/* Whether the copy engine is at another lane's copy. */
static bool engine_busy(gp_lane *lane, const gp_lane_item *item) {
    return item->kind == GP_LANE_COPY && sharers(lane, item) > 0;
}

/* When the lane's first item goes on to its next phase, if no other does before. */
static uint64_t next_change(gp_lane *lane) {
    const gp_lane_item *item = head(lane);
    if (!item) return NEVER;
    if (lane->at == WORKING) return now + lane->left * sharers(lane, item);
    if (lane->at == FIXED) return engine_busy(lane, item) ? NEVER : later(now, lane->until);
    if (item->kind == GP_LANE_WAIT && done(item->on) < item->ticket) return NEVER;
    return later(now, later(lane->free_at, item->ready));
}

/* Lets time pass until t, before which nothing changes. */
static void pass(uint64_t t) {
    uint64_t each[LANES];
    for (int i = 0; i < nlanes; i++)
        each[i] = lanes[i]->at == WORKING ? (t - now) / sharers(lanes[i], head(lanes[i])) : 0;
    for (int i = 0; i < nlanes; i++)
        lanes[i]->left -= each[i] < lanes[i]->left ? each[i] : lanes[i]->left;
    now = t;
}

/* The first item is done, now. */
static void finish(gp_lane *lane, gp_lane_item *item, gp_released *released) {
    void (*hook)(const gp_activity *) = GP_HOOK(device);
    lane->at = QUEUED;
    lane->free_at = now;
    item->ran.t0 = lane->begun;
    item->ran.t1 = now;
    if (item->kind == GP_LANE_RECORD) gp_queue_stamp(item->stamp, now);
    if (item->kind == GP_LANE_COPY && item->pinned) released->storage[released->n++] = item->pinned;
    if (hook && (item->kind == GP_LANE_KERNEL || item->kind == GP_LANE_COPY)) hook(&item->ran);
    atomic_fetch_add_explicit(&lane->s->completed, 1, memory_order_release);
}

/* The first item goes on to its next phase, now. */
static void change(gp_lane *lane, gp_released *released) {
    gp_lane_item *item = head(lane);
    bool timed = item->kind == GP_LANE_KERNEL || item->kind == GP_LANE_COPY;
    if (lane->at == QUEUED && timed) {
        lane->at = FIXED;
        lane->begun = now;
        lane->until = now + item->fixed;
    } else if (lane->at == FIXED && item->work) {
        lane->at = WORKING;
        lane->left = item->work;
    } else {
        finish(lane, item, released);
    }
}

bool gp_schedule_run(uint64_t t, gp_stream *on, uint64_t ticket, gp_released *released) {
    for (;;) {
        if (on && done(on) >= ticket) return true;
        if (released->n == sizeof released->storage / sizeof *released->storage) return false;
        gp_lane *first = NULL;
        uint64_t when = NEVER;
        for (int i = 0; i < nlanes; i++) {
            uint64_t change_at = next_change(lanes[i]);
            if (change_at < when) first = lanes[i], when = change_at;
        }
        if (!first || when > t) {
            if (!on && t > now && t != NEVER) pass(t);
            return true;
        }
        pass(when);
        change(first, released);
    }
}
