/* Events of streams with queues: a stamp, which their recorder and the worker that reaches it
 * share, takes the time. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tensor/device/stream/queue.h"
#include "tensor/base/error.h"

typedef struct stamp {
    atomic_int refs;
    _Atomic uint64_t ns; /* 0 until reached */
} stamp;

static void stamp_unref(stamp *st) {
    if (atomic_fetch_sub(&st->refs, 1) == 1) free(st);
}

void gp_queue_stamp(void *stamp_of, uint64_t ns) {
    atomic_store(&((stamp *)stamp_of)->ns, ns);
    stamp_unref(stamp_of);
}

gp_event *gp_queue_event_new(gp_stream *s, int holders) {
    gp_event *e = calloc(1, sizeof *e);
    stamp *st = calloc(1, sizeof *st);
    if (!e || !st) return free(e), free(st), gp_fail_null("out of memory");
    atomic_store(&st->refs, holders);
    e->stream = s;
    e->impl = st;
    return e;
}

gp_event *gp_queue_event_now(gp_stream *s) {
    gp_event *e = gp_queue_event_new(s, 1);
    if (e) atomic_store(&((stamp *)e->impl)->ns, gp_now_ns());
    return e;
}

double gp_queue_event_time(gp_event *e) {
    uint64_t ns = atomic_load(&((stamp *)e->impl)->ns);
    return ns ? gp_seconds(ns) : NAN;
}

void gp_queue_event_free(gp_event *e) {
    stamp_unref(e->impl);
    free(e);
}
