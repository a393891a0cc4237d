/* Captures of functions that fork: the streams of a recording are its lanes, and its calls parts
 * that run concurrently in a replay, as far as what they read and write allows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/capture/list.h"
#include "tensor/device/stream/hazard.h"
#include "tensor/device/stream/queue.h"

/* ---- recording ---- */

static void find_home(gp_device *dev, void *k) {
    gp_capture *to = k;
    to->home[dev->slot] = gp_stream_current(dev);
}

void gp_capture_note_homes(gp_capture *k) { gp_device_each(find_home, k); }

void gp_capture_add_home(gp_capture *k, gp_device *dev) {
    gp_stream *s = k->home[dev->slot];
    k->lane[k->nlanes++] = gp_stream_retain(s ? s : dev->streams[0]);
}

/* The lane of s; where there are too many streams, the last fork's has several. Collectives run on
 * no other stream than theirs: one lane is kept for it. */
static int lane_of(gp_capture *k, gp_stream *s) {
    int last = 0, kept = !s->collective;
    for (int i = 0; i < k->nlanes; i++) {
        if (k->lane[i] == s) return i;
        if (k->lane[i]->collective) kept = 0;
        else last = i;
    }
    if (k->nlanes >= GP_CAPTURE_LANES - kept) return last;
    k->lane[k->nlanes] = gp_stream_retain(s);
    return k->nlanes++;
}

void gp_capture_begin_call(gp_capture *k, gp_recorded *r, gp_stream *s) {
    r->lane = lane_of(k, s);
    for (int i = 0; i < GP_CAPTURE_LANES; i++) r->after[i] = -1;
}

void gp_capture_follow(const gp_capture *k, gp_recorded *r, int call) {
    if (call < 0 || call >= k->ncalls) return;
    int lane = k->call[call]->lane;
    if (lane != r->lane && r->after[lane] < call) r->after[lane] = call;
}

/* ---- planning ---- */

typedef struct plan {
    gp_capture *k;
    int *part;                      /* of each call */
    bool *ends;                     /* by call: its part ends there */
    int (*needs)[GP_CAPTURE_LANES]; /* by call: the calls of other lanes that it must wait for */
} plan;

/* Leaves out the calls that an earlier one of the lane has waited for. */
static void find_needs(plan *p) {
    int known[GP_CAPTURE_LANES][GP_CAPTURE_LANES];
    memset(known, -1, sizeof known);
    for (int i = 0; i < p->k->ncalls; i++) {
        const gp_recorded *r = p->k->call[i];
        for (int l = 0; l < GP_CAPTURE_LANES; l++) {
            int after = r->after[l], *to = &known[r->lane][l];
            p->needs[i][l] = after > *to ? after : -1;
            if (after <= *to) continue;
            *to = after;
            p->ends[after] = true;
        }
    }
}

static bool waits(const int *needs) {
    for (int l = 0; l < GP_CAPTURE_LANES; l++)
        if (needs[l] >= 0) return true;
    return false;
}

/* Divides the calls: a part waits for others only before its first call, and what waits for it
 * needs its last. Parts are numbered by their first calls, so each waits for earlier ones only. */
static void divide(plan *p) {
    gp_capture *k = p->k;
    int open[GP_CAPTURE_LANES];
    memset(open, -1, sizeof open);
    for (int i = 0; i < k->ncalls; i++) {
        int lane = k->call[i]->lane;
        if (open[lane] < 0 || waits(p->needs[i])) {
            gp_capture_span *e = &k->part[open[lane] = k->nparts++];
            *e = (gp_capture_span){.lane = lane};
            for (int l = 0; l < GP_CAPTURE_LANES; l++)
                e->after[l] = p->needs[i][l] < 0 ? -1 : p->part[p->needs[i][l]];
        }
        p->part[i] = open[lane];
        k->part[open[lane]].n++;
        if (p->ends[i]) open[lane] = -1;
    }
}

/* Puts the calls of each part next to one another. One after the other in the new order, too, they
 * do what they did. */
static bool reorder(plan *p) {
    gp_capture *k = p->k;
    gp_recorded **to = malloc((size_t)k->calls_capacity * sizeof *to);
    int *at = malloc((size_t)k->ncalls * sizeof *at);
    for (int i = 1; i < k->nparts; i++) k->part[i].first = k->part[i - 1].first + k->part[i - 1].n;
    for (int i = 0; i < k->nparts; i++) k->part[i].n = 0;
    for (int i = 0; to && at && i < k->ncalls; i++) {
        gp_capture_span *e = &k->part[p->part[i]];
        at[i] = e->first + e->n++;
        to[at[i]] = k->call[i];
    }
    for (int i = 0; to && at && i < k->nslots; i++) {
        gp_capture_slot *s = &k->slot[i];
        if (s->first >= 0) s->first = at[s->first], s->last = at[s->last];
    }
    bool ok = to && at;
    free(at);
    if (!ok) return free(to), gp_fail("capture: out of memory");
    free(k->call);
    k->call = to;
    return true;
}

bool gp_capture_divide(gp_capture *k) {
    size_t n = (size_t)k->ncalls;
    if (!(k->part = calloc(n + 1, sizeof *k->part))) return gp_fail("capture: out of memory");
    if (k->nlanes <= 1) {
        k->part[0].n = k->ncalls;
        k->nparts = n > 0;
        return true;
    }
    plan p = {.k = k,
              .part = malloc(n * sizeof *p.part),
              .ends = calloc(n, sizeof *p.ends),
              .needs = malloc(n * sizeof *p.needs)};
    bool ok = p.part && p.ends && p.needs;
    if (ok) find_needs(&p), divide(&p);
    else gp_fail("capture: out of memory");
    ok = ok && reorder(&p);
    free(p.part);
    free(p.ends);
    free(p.needs);
    return ok;
}

void gp_capture_free_lanes(gp_capture *k) {
    for (int i = 0; i < k->nlanes; i++) gp_stream_release(k->lane[i]);
    free(k->part);
}

/* ---- replays ---- */

/* The stream of a lane in a replay on `home`. */
static gp_stream *lane_stream(const gp_capture *k, int lane, gp_stream *home) {
    return lane ? k->lane[lane] : home;
}

static uint64_t issued(gp_stream *s) {
    return atomic_load_explicit(&s->issued, memory_order_relaxed);
}

/* The lanes follow what `home` was made to wait for. */
static bool begin_lanes(const gp_capture *k, gp_stream *home) {
    for (int l = 1; home->async && l < k->nlanes; l++)
        if (!gp_order_after(k->lane[l], home)) return false;
    return true;
}

/* What follows on `home` follows the lanes and `own`, which stands in for it; the host, where it
 * runs home's calls itself, waits, also where it was interrupted. */
static bool end_lanes(const gp_capture *k, gp_stream *home, gp_stream *own) {
    bool ok = true;
    char text[900];
    for (int l = 0; l < k->nlanes; l++) {
        gp_stream *s = lane_stream(k, l, own);
        if (s == home || gp_order_join(home, s, issued(s), "capture")) continue;
        if (ok) snprintf(text, sizeof text, "%s", gp_error());
        ok = false;
        if (!home->async) gp_queue_finish(s);
    }
    return ok || gp_fail("%s", text);
}

bool gp_capture_run_parts(const gp_replay_values *v, gp_stream *home, gp_run_part run) {
    const gp_capture *k = v->capture;
    if (k->nlanes <= 1) return run(v, &k->part[0], home);
    uint64_t few[64], *upto = k->nparts <= 64 ? few : malloc((size_t)k->nparts * sizeof *upto);
    if (!upto) return gp_fail("capture: out of memory");
    bool defers = !home->async && gp_defer_begin(home->dev); /* else its calls hold up the rest */
    gp_stream *own = gp_defer_stream(home);
    bool ok = begin_lanes(k, home);
    for (int i = 0; ok && i < k->nparts; i++) {
        const gp_capture_span *e = &k->part[i];
        gp_stream *s = lane_stream(k, e->lane, own);
        for (int l = 0; ok && l < k->nlanes; l++) {
            gp_stream *first = lane_stream(k, l, own);
            if (e->after[l] >= 0 && first->async)
                ok = gp_order_join(s, first, upto[e->after[l]], "capture");
        }
        ok = ok && run(v, e, s);
        upto[i] = issued(s);
    }
    char text[900];
    if (!ok) snprintf(text, sizeof text, "%s", gp_error());
    bool ended = end_lanes(k, home, own);
    if (defers) gp_defer_end();
    if (upto != few) free(upto);
    return ok ? ended : gp_fail("%s", text);
}
