/* Order between streams, so that no script can read a value that another stream has not written
 * yet. */
#include "tensor/device/form.h"
#include "tensor/device/stream/hazard.h"

#include "tensor/device/stream/failure.h"
#include "tensor/device/offload.h"
#include "tensor/intercept.h"

/* Whether what s queues now is known to come after `upto` commands of `first`. */
static bool is_synced(gp_stream *s, const gp_stream *first, uint64_t upto) {
    return atomic_load_explicit(&s->synced_to[first->index], memory_order_relaxed) >= upto;
}

static void note(gp_stream *s, int index, uint64_t upto) {
    if (atomic_load_explicit(&s->synced_to[index], memory_order_relaxed) < upto)
        atomic_store_explicit(&s->synced_to[index], upto, memory_order_relaxed);
}

/* Records that s is ordered after `upto` commands of `first`, and so after what `first` was ordered
 * after: all that it is synced to with `all`, else only the finished part. */
static void note_all(gp_stream *s, gp_stream *first, uint64_t upto, bool all) {
    gp_device *dev = s->dev;
    note(s, first->index, upto);
    for (int i = 0; i < dev->nstreams; i++) {
        uint64_t n = atomic_load_explicit(&first->synced_to[i], memory_order_relaxed);
        uint64_t done = atomic_load_explicit(&dev->streams[i]->completed, memory_order_acquire);
        note(s, i, all || n < done ? n : done);
    }
}

static void tell(gp_stream *s, gp_stream *first, uint64_t id, bool done) {
    void (*hook)(gp_stream *, gp_stream *, uint64_t, bool) = GP_HOOK(order);
    if (hook) hook(s, first, id, done);
}

static uint64_t last_id(const gp_stream *s) {
    return atomic_load_explicit(&s->last_id, memory_order_relaxed);
}

/* Whether s is ordered after `upto` commands of `first`: it was made to wait for them, or they are
 * done. */
static bool is_after(gp_stream *s, gp_stream *first, uint64_t upto) {
    if (is_synced(s, first, upto)) return true;
    if (atomic_load_explicit(&first->completed, memory_order_acquire) < upto) return false;
    note_all(s, first, upto, false);
    tell(s, first, last_id(first), true);
    return true;
}

/* Does nothing where s is known to be after it already. */
bool gp_order_after(gp_stream *s, gp_stream *first) {
    if (first == s) return true;
    if (!gp_at(GP_AT_ORDER, NULL, first)) return false;
    uint64_t queued = atomic_load_explicit(&first->issued, memory_order_relaxed);
    if (is_after(s, first, queued)) return true;
    const gp_device_vt *vt = first->dev->vt;
    gp_event *e = vt->event_record(first, false);
    if (!e) return false;
    bool ok = vt->event_wait(s, e);
    vt->event_free(e);
    if (!ok) return false;
    note_all(s, first, queued, true);
    tell(s, first, last_id(first), false);
    return true;
}

bool gp_order_join(gp_stream *s, gp_stream *first, uint64_t upto, const char *what) {
    if (first == s) return true;
    if (!s->async) return gp_wait_ticket(first, upto, GP_WHY_join, what);
    if (is_after(s, first, upto)) return true;
    if (!s->dev->vt->on_host) return gp_order_after(s, first);
    gp_event event = {.stream = first, .ticket = upto};
    return gp_order_event(s, &event);
}

bool gp_order_event(gp_stream *s, gp_event *e) {
    if (!s->dev->vt->event_wait(s, e)) return false;
    if (e->stream->dev == s->dev) note(s, e->stream->index, e->ticket);
    tell(s, e->stream, e->id ? e->id : last_id(e->stream), false);
    return true;
}

/* Whether a copy from a device is in st; a device that stages it moves it there when it is asked.
 */
static bool has_arrived(const gp_storage *st) {
    gp_stream *w = st->last_writer;
    if (atomic_load_explicit(&w->completed, memory_order_acquire) >= st->write_seq) return true;
    w->dev->vt->busy(w);
    return atomic_load_explicit(&w->completed, memory_order_acquire) >= st->write_seq;
}

/* The same for the host. Where the device cannot say how far it is, its stream must end. */
static bool wait_arrival(gp_storage *st, gp_why why, const char *what) {
    if (has_arrived(st)) return true;
    if (why == GP_WHY_join) why = GP_WHY_copy; /* there is no fork, but a device that is behind */
    const char *form = gp_wait_form;
    if (!form) gp_wait_form = "arrival";
    bool ok = (!st->arrival || gp_wait_event(st->arrival, why, what)) &&
              (has_arrived(st) || gp_wait(st->last_writer, why, what));
    gp_wait_form = form;
    return ok;
}

bool gp_host_wait(gp_storage *st, gp_why why, const char *what) {
    gp_stream *w = st->last_writer;
    if (w->dev != st->dev) return wait_arrival(st, why, what) && gp_failure_none(st);
    return gp_wait_ticket(w, st->write_seq, why, what) && gp_failure_none(st);
}

void gp_host_reads(gp_device *dev, gp_why why, const char *what) {
    void (*end)(gp_stream *, gp_why, const char *, uint64_t, uint64_t, uint64_t) =
        GP_HOOK(wait_end);
    if (end && dev->vt->on_host && !gp_thread_loader()) end(dev->streams[0], why, what, 0, 0, 0);
}

bool gp_host_may_write(gp_storage *st, gp_why why, const char *what) {
    gp_device *dev = st->dev;
    uint64_t used = st->used_by;
    if (st->stream->async) used |= (uint64_t)1 << st->stream->index;
    for (int i = 0; used >> i && i < dev->nstreams; i++) {
        gp_stream *s = dev->streams[i];
        uint64_t queued = atomic_load_explicit(&s->issued, memory_order_relaxed);
        if ((used >> i & 1) && !gp_wait_ticket(s, queued, why, what)) return false;
    }
    return true;
}

bool gp_order_read(gp_storage *st, gp_stream *s) {
    gp_stream *w = st->last_writer;
    if (!w || w == s) return true;
    if (w->dev != s->dev) /* host memory that a device writes, for a worker of the host */
        return st->dev != s->dev || gp_host_wait(st, GP_WHY_join, s->last_op ? s->last_op : "op");
    return is_after(s, w, st->write_seq) || gp_order_after(s, w);
}

bool gp_order_write(gp_storage *st, gp_stream *s) {
    if (st->dev != s->dev) return true;
    if (st->stream != s && !gp_order_after(s, st->stream)) return false;
    uint64_t others = st->used_by & ~((uint64_t)1 << s->index);
    for (int i = 0; others >> i && i < st->dev->nstreams; i++)
        if ((others >> i & 1) && !gp_order_after(s, st->dev->streams[i])) return false;
    return true;
}

void gp_order_written(gp_storage *st, gp_stream *s) {
    st->last_writer = s;
    st->write_seq = atomic_load_explicit(&s->issued, memory_order_relaxed);
}

static void wait_for_copies(gp_device *dev, void *ctx) {
    const char **what = ctx;
    if (*what && !dev->vt->on_host && !gp_wait_device(dev, GP_WHY_reuse, *what)) *what = NULL;
}

bool gp_order_host_write(gp_storage *st, const char *what) {
    if (atomic_load_explicit(&st->readers, memory_order_acquire) == 0) return true;
    if (st->pinned) gp_device_each(wait_for_copies, &what);
    return what && gp_offload_wait(what);
}
