/* The discrete-event engine of modelled cards and of replays on them. */
#include "tensor/device/card/schedule.h"

#include <stdlib.h>

#include "tensor/device/stream/queue.h"

#define NEVER UINT64_MAX

/* What a lane's first item is at. */
typedef enum phase { QUEUED, FIXED, WORKING } phase;

struct gp_lane {
    gp_stream *s;
    phase at;
    uint64_t begun, until; /* FIXED: its end */
    uint64_t left;         /* WORKING: ns of the whole card, or of the copy engine */
    uint64_t each;         /* what passes of that, while time does */
    uint64_t free_at;      /* the end of the item before */
    gp_lane_item item[GP_LANE_CAPACITY];
};

gp_lane *gp_lane_open(gp_schedule *all, gp_stream *s) {
    if (all->nlanes == all->capacity) {
        int capacity = all->capacity ? 2 * all->capacity : 16;
        gp_lane **more = realloc(all->lane, (size_t)capacity * sizeof *more);
        if (!more) return NULL;
        all->lane = more;
        all->capacity = capacity;
    }
    gp_lane *lane = calloc(1, sizeof *lane);
    if (!lane) return NULL;
    lane->s = s;
    all->lane[all->nlanes++] = lane;
    return lane;
}

void gp_lane_close(gp_schedule *all, gp_lane *lane) {
    int i = 0;
    while (i < all->nlanes && all->lane[i] != lane) i++;
    for (all->nlanes--; i < all->nlanes; i++) all->lane[i] = all->lane[i + 1];
    free(lane);
    if (all->nlanes) return;
    free(all->lane);
    all->lane = NULL;
    all->capacity = 0;
}

static uint64_t done(const gp_stream *s) {
    return atomic_load_explicit(&s->completed, memory_order_relaxed);
}

void gp_lane_add(gp_lane *lane, const gp_lane_item *item) {
    uint64_t at = atomic_load_explicit(&lane->s->issued, memory_order_relaxed);
    lane->item[at % GP_LANE_CAPACITY] = *item;
    atomic_store_explicit(&lane->s->issued, at + 1, memory_order_release);
}

/* The lane's first item; NULL: it has none. */
static gp_lane_item *head(gp_lane *lane) {
    uint64_t at = done(lane->s);
    return atomic_load_explicit(&lane->s->issued, memory_order_relaxed) > at
               ? &lane->item[at % GP_LANE_CAPACITY]
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
static uint64_t sharers(const gp_schedule *all, gp_lane *lane, const gp_lane_item *item) {
    uint64_t n = 0;
    for (int i = 0; i < all->nlanes; i++)
        n += all->lane[i]->at == WORKING && shares(lane, item, all->lane[i], head(all->lane[i]));
    return n;
}

/* Whether the copy engine is at another lane's copy. */
static bool engine_busy(const gp_schedule *all, gp_lane *lane, const gp_lane_item *item) {
    return item->kind == GP_LANE_COPY && sharers(all, lane, item) > 0;
}

/* When the lane's first item goes on to its next phase, if no other does before. */
static uint64_t next_change(const gp_schedule *all, gp_lane *lane) {
    const gp_lane_item *item = head(lane);
    if (!item) return NEVER;
    if (lane->at == WORKING) return all->now + lane->left * sharers(all, lane, item);
    if (lane->at == FIXED)
        return engine_busy(all, lane, item) ? NEVER : later(all->now, lane->until);
    if (item->kind == GP_LANE_WAIT && done(item->on) < item->ticket) return NEVER;
    return later(all->now, later(lane->free_at, item->ready));
}

/* Lets time pass until t, before which nothing changes. */
static void pass(gp_schedule *all, uint64_t t) {
    for (int i = 0; i < all->nlanes; i++) {
        gp_lane *lane = all->lane[i];
        lane->each = lane->at == WORKING ? (t - all->now) / sharers(all, lane, head(lane)) : 0;
    }
    for (int i = 0; i < all->nlanes; i++) {
        gp_lane *lane = all->lane[i];
        lane->left -= lane->each < lane->left ? lane->each : lane->left;
    }
    all->now = t;
}

/* The first item is done, now. */
static void finish(gp_schedule *all, gp_lane *lane, gp_lane_item *item, gp_released *released) {
    lane->at = QUEUED;
    lane->free_at = all->now;
    item->ran.t0 = lane->begun;
    item->ran.t1 = all->now;
    if (item->kind == GP_LANE_RECORD) gp_queue_stamp(item->stamp, all->now);
    if (item->kind == GP_LANE_COPY && item->pinned) released->storage[released->n++] = item->pinned;
    if (item->kind == GP_LANE_KERNEL || item->kind == GP_LANE_COPY) all->done(all->ctx, &item->ran);
    atomic_fetch_add_explicit(&lane->s->completed, 1, memory_order_release);
}

/* The first item goes on to its next phase, now. */
static void change(gp_schedule *all, gp_lane *lane, gp_released *released) {
    gp_lane_item *item = head(lane);
    bool timed = item->kind == GP_LANE_KERNEL || item->kind == GP_LANE_COPY;
    if (lane->at == QUEUED && timed) {
        lane->at = FIXED;
        lane->begun = all->now;
        lane->until = all->now + item->fixed;
    } else if (lane->at == FIXED && item->work) {
        lane->at = WORKING;
        lane->left = item->work;
    } else {
        finish(all, lane, item, released);
    }
}

bool gp_schedule_run(gp_schedule *all, uint64_t t, gp_stream *on, uint64_t ticket,
                     gp_released *released) {
    for (;;) {
        if (on && done(on) >= ticket) return true;
        if (released->n == sizeof released->storage / sizeof *released->storage) return false;
        gp_lane *first = NULL;
        uint64_t when = NEVER;
        for (int i = 0; i < all->nlanes; i++) {
            uint64_t change_at = next_change(all, all->lane[i]);
            if (change_at < when) first = all->lane[i], when = change_at;
        }
        if (!first || when > t) {
            if (!on && t > all->now && t != NEVER) pass(all, t);
            return true;
        }
        pass(all, when);
        change(all, first, released);
    }
}
