/* Order between streams, so that no script can read a value that another stream has not written
 * yet. */
#include "tensor/device/hazard.h"

#include "tensor/device/offload.h"

/* s goes on after what `first` has queued so far, unless it is known to do so already. */
static bool after(gp_stream *s, gp_stream *first) {
    uint64_t queued = atomic_load_explicit(&first->issued, memory_order_relaxed);
    if (first == s || atomic_load_explicit(&first->completed, memory_order_acquire) >= queued ||
        s->follows[first->index] >= queued)
        return true;
    const gp_device_vt *vt = first->dev->vt;
    gp_event *e = vt->event_record(first);
    if (!e) return false;
    bool ok = vt->event_wait(s, e);
    vt->event_free(e);
    if (ok) s->follows[first->index] = queued;
    return ok;
}

bool gp_order_read(gp_storage *st, gp_stream *s) {
    gp_stream *w = st->writer;
    if (!w || w == s || w->dev != s->dev) return true;
    if (atomic_load_explicit(&w->completed, memory_order_acquire) >= st->written ||
        s->follows[w->index] >= st->written)
        return true;
    return after(s, w);
}

bool gp_order_write(gp_storage *st, gp_stream *s) {
    if (st->dev != s->dev) return true;
    if (st->stream != s && !after(s, st->stream)) return false;
    uint64_t others = st->other & ~((uint64_t)1 << s->index);
    for (int i = 0; others >> i && i < st->dev->nstreams; i++)
        if ((others >> i & 1) && !after(s, st->dev->streams[i])) return false;
    return true;
}

void gp_order_written(gp_storage *st, gp_stream *s) {
    st->writer = s;
    st->written = atomic_load_explicit(&s->issued, memory_order_relaxed);
}

static void wait_for_copies(gp_device *dev, void *ctx) {
    const char **what = ctx;
    if (*what && dev->vt->async && !gp_wait_device(dev, GP_WHY_reuse, *what)) *what = NULL;
}

bool gp_order_host_write(gp_storage *st, const char *what) {
    if (atomic_load_explicit(&st->readers, memory_order_acquire) == 0) return true;
    if (st->pinned) gp_device_each(wait_for_copies, &what);
    return what && gp_offload_wait(what);
}
