/* Moving data: contiguous and converted copies, copies between devices, and reading elements into
 * host memory. */
#include <string.h>

#include "tensor/autograd/tape.h"
#include "tensor/intercept.h"
#include "tensor/memory/alloc.h"
#include "tensor/device/stream/failure.h"
#include "tensor/device/form.h"
#include "tensor/op.h"
#include "tensor/device/stream/hazard.h"

_Thread_local const char *gp_wait_form;

static gp_tensor *copied(gp_tensor *x, gp_dtype dt) {
    gp_call c;
    gp_call_begin(&c, GP_OP(copy));
    gp_call_tensor(&c, x);
    c.arg[c.nargs++] = (gp_value){.kind = GP_DTYPE, .i = dt};
    return gp_call_one(&c);
}

gp_tensor *gp_contiguous(gp_tensor *x) {
    return x->a.contiguous ? gp_tensor_ref(x) : copied(x, (gp_dtype)x->a.dtype);
}

gp_tensor *gp_cast(gp_tensor *x, gp_dtype dt) {
    return x->a.dtype == dt ? gp_tensor_ref(x) : copied(x, dt);
}

/* After a copy to the host was queued on s that the host does not wait for: whatever reads dst
 * waits for its arrival. From now on the cpu's ops look for that. */
static bool arrives_later(gp_tensor *dst, gp_stream *s) {
    gp_storage *st = dst->storage;
    const gp_device_vt *vt = s->dev->vt;
    gp_event *e = vt->event_record(s, false);
    if (!e) return false;
    if (st->arrival) st->arrival->stream->dev->vt->event_free(st->arrival);
    st->arrival = e;
    atomic_store_explicit(&st->dev->streams[0]->alone, false, memory_order_relaxed);
    return true;
}

/* Whether a transfer on s may be queued now: its arrays' other readers and writers are ordered
 * before it. */
static bool ready(gp_tensor *dst, gp_tensor *src, gp_stream *s, gp_why why, const char *what) {
    if (src->storage->dev->vt->on_host && !gp_host_ready(src->storage, why, what)) return false;
    if (s->dev->vt->full(s) && !gp_wait_not_full(s)) return false;
    if (!gp_order_read(src->storage, s) || !gp_order_write(dst->storage, s)) return false;
    gp_storage_use(src->storage, s);
    gp_storage_use(dst->storage, s);
    return true;
}

/* The memory on the host's side of a copy of src, which is x's bytes made contiguous. */
static const char *form_of(const gp_tensor *dst, const gp_tensor *src, const gp_tensor *x) {
    if (!src->storage->dev->vt->on_host)
        return dst->storage->pinned ? "D2H pinned" : "D2H pageable";
    if (src->storage->pinned) return "H2D pinned";
    return x->storage->pinned ? "H2D strided" : "H2D pageable";
}

/* Queues the copy of src's bytes (contiguous) into dst and waits for it, unless the host need
 * not. */
static bool transfer_bytes(gp_tensor *dst, gp_tensor *src, bool may_return, gp_why why,
                           const char *what) {
    gp_device *from = src->storage->dev, *to = dst->storage->dev;
    gp_device *dev = to->vt->on_host ? from : to;
    gp_stream *s = gp_stream_current(dev);
    gp_copy_kind kind = from->vt->on_host ? GP_COPY_H2D
                        : to->vt->on_host ? GP_COPY_D2H
                                          : GP_COPY_D2D;
    size_t bytes = (size_t)src->a.numel * gp_dtype_size((gp_dtype)src->a.dtype);
    gp_storage *host = kind == GP_COPY_H2D   ? src->storage
                       : kind == GP_COPY_D2H ? dst->storage
                                             : NULL;
    bool pageable = host && !host->pinned;
    if (!gp_at(GP_AT_COPY, what, NULL)) return false;
    if (gp_thread_loader())
        return gp_fail(
            "%s: a loader's workers compute on the cpu, not on %s; the batch goes there as "
            "a whole",
            what, dev->name);
    bool returns = kind == GP_COPY_D2D || (may_return && !pageable);
    uint64_t (*hook)(gp_stream *, gp_copy_kind, size_t, bool) = GP_HOOK(copy);
    void (*launch)(gp_stream *) = GP_HOOK(launch);
    if (!ready(dst, src, s, why, what)) return false;
    if (!returns) dev->vt->busy(s); /* brings the count of queued commands up to date */
    if (!returns && !gp_wait_allowed(s, why, what))
        return false; /* error mode refuses before anything is queued */
    gp_clock_op();
    if (launch) launch(s);
    uint64_t id = hook ? hook(s, kind, bytes, pageable) : 0;
    uint64_t before = atomic_load_explicit(&s->issued, memory_order_relaxed);
    if (!dev->vt->copy(s, dst->a.data, src->a.data, bytes, kind, host, id))
        return false; /* keeps the host side alive, even after an interrupted wait */
    atomic_store_explicit(&s->last_id, id, memory_order_relaxed);
    gp_order_written(dst->storage, s);
    if (kind == GP_COPY_D2H && !(returns && arrives_later(dst, s)))
        return gp_wait_granted(s, why, what) && gp_failure_none(src->storage);
    gp_failure_log(s, before);
    gp_failure_log_read(src->storage);
    gp_failure_log_write(dst->storage, GP_WRITE_WHOLE);
    return gp_failure_log_end() && (returns || gp_wait_granted(s, why, what));
}

/* The same, where src is x made contiguous. */
static bool transfer(gp_tensor *dst, gp_tensor *src, const gp_tensor *x, bool may_return,
                     gp_why why, const char *what) {
    const char *form = gp_wait_form;
    if (!form) gp_wait_form = form_of(dst, src, x);
    bool ok = transfer_bytes(dst, src, may_return, why, what);
    gp_wait_form = form;
    return ok;
}

/* Orders work queued on `later` from now on after what is queued on `first`. */
static bool in_order(gp_stream *first, gp_stream *later) {
    const gp_device_vt *vt = first->dev->vt;
    gp_event *e = gp_at(GP_AT_ORDER, NULL, first) ? vt->event_record(first, false) : NULL;
    if (!e) return false;
    bool ok = gp_stream_wait_event(later, e);
    vt->event_free(e);
    return ok;
}

/* Between two asynchronous devices the copy is queued on the destination, after what the source has
 * queued. The source's stream, which may reuse src's memory, is ordered after the copy. */
static bool across(gp_tensor *dst, gp_tensor *src) {
    gp_stream *to = gp_stream_current(dst->storage->dev);
    gp_stream *from = src->storage->last_writer ? src->storage->last_writer
                                                : gp_stream_current(src->storage->dev);
    return in_order(from, to) && transfer(dst, src, src, true, GP_WHY_copy, "to") &&
           in_order(to, src->storage->stream);
}

gp_tensor *gp_to_device(gp_tensor *x, gp_device *dev, bool non_blocking, gp_why why,
                        const char *what) {
    gp_device *from = x->storage->dev;
    if (from == dev) return gp_tensor_ref(x);
    if (!from->vt->on_host && !dev->vt->on_host &&
        from->vt != dev->vt) { /* different kinds: through the host */
        gp_tensor *host = gp_to_device(x, gp_device_cpu(), false, why, what);
        gp_tensor *there = host ? gp_to_device(host, dev, false, why, what) : NULL;
        gp_tensor_unref(host);
        return there;
    }
    gp_tensor *src = gp_contiguous(x);
    if (!src) return NULL;
    gp_shape shape = gp_tensor_shape(x);
    gp_tensor *dst = dev->vt->on_host ? gp_tensor_new_host((gp_dtype)x->a.dtype, &shape)
                                      : gp_tensor_new(dev, (gp_dtype)x->a.dtype, &shape);
    bool ok = dst != NULL;
    if (ok && non_blocking && dev->vt->on_host) dst->storage->pinned = true;
    if (ok && x->a.numel)
        ok = !from->vt->on_host && !dev->vt->on_host
                 ? across(dst, src)
                 : transfer(dst, src, x, non_blocking, why, what);
    gp_tensor_unref(src);
    if (!ok) gp_tensor_unref(dst), dst = NULL;
    return dst;
}

gp_tensor *gp_to_device_recorded(gp_tensor *x, gp_device *dev, bool non_blocking, gp_why why,
                                 const char *what) {
    if (gp_no_grad || x->storage->dev == dev || !gp_tensor_wants_grad(x))
        return gp_to_device(x, dev, non_blocking, why, what);
    gp_call c;
    gp_call_begin(&c, GP_OP(to));
    gp_call_tensor(&c, x);
    c.arg[c.nargs++] = (gp_value){.kind = GP_DEVICE, .dev = dev};
    c.arg[c.nargs++] = (gp_value){.kind = GP_NONE};
    c.arg[c.nargs++] = (gp_value){.kind = GP_BOOL, .i = non_blocking};
    return gp_call_one(&c);
}

/* Whether autograd has to record, or to refuse, that src is written into dst. */
static bool is_recorded(gp_tensor *dst, gp_tensor *src) {
    return !gp_no_grad && (gp_tensor_wants_grad(dst) || gp_tensor_wants_grad(src));
}

/* Whether a copy of src's bytes is all that it takes to write dst, in pinned host memory. */
static bool is_plain(gp_tensor *dst, gp_tensor *src) {
    gp_shape to = gp_tensor_shape(dst), from = gp_tensor_shape(src);
    return dst->storage->dev->vt->on_host && dst->storage->pinned &&
           !src->storage->dev->vt->on_host && dst->a.contiguous && dst->a.dtype == src->a.dtype &&
           gp_shape_equal(&to, &from) && dst->a.numel && !is_recorded(dst, src);
}

/* Counts a write and its line, which backward names where it needs what was there. */
static void note_write(gp_storage *st) {
    gp_srcloc at = gp_grad_live ? gp_srcloc_here() : (gp_srcloc){0};
    st->version++;
    atomic_store_explicit(&st->write_file, at.file, memory_order_relaxed);
    atomic_store_explicit(&st->write_line, at.line, memory_order_relaxed);
}

bool gp_copy_later(gp_tensor *dst, gp_tensor *src, const char *what, bool *done) {
    *done = is_plain(dst, src);
    if (!*done) return true;
    gp_tensor *flat = gp_contiguous(src);
    if (!flat) return false;
    note_write(dst->storage);
    bool ok = gp_order_host_write(dst->storage, what) &&
              transfer(dst, flat, src, true, GP_WHY_copy, what);
    gp_tensor_unref(flat);
    return ok;
}

static bool fits(const gp_tensor *src, const gp_tensor *dst, const char *what) {
    int more = dst->a.ndim - src->a.ndim;
    bool ok = more >= 0;
    for (int d = 0; ok && d < src->a.ndim; d++)
        ok = src->a.dim[d] == 1 || src->a.dim[d] == dst->a.dim[d + more];
    char a[200], b[200];
    return ok || gp_fail("%s: %s does not fit in %s (expected a shape that broadcasts to it)", what,
                         gp_tensor_text(src, a, sizeof a), gp_tensor_text(dst, b, sizeof b));
}

/* src expanded to dst's shape; a new reference. */
static gp_tensor *broadcast_to(gp_tensor *src, const gp_tensor *dst, const char *what) {
    if (!fits(src, dst, what)) return NULL;
    gp_call c;
    gp_call_begin(&c, GP_OP(expand));
    gp_call_tensor(&c, src);
    gp_call_ints(&c, dst->a.dim, dst->a.ndim);
    return gp_call_one(&c);
}

bool gp_copy_into(gp_tensor *dst, gp_tensor *src, gp_why why, const char *what) {
    gp_tensor *here = gp_to_device_recorded(src, dst->storage->dev, false, why, what);
    if (here && here->storage == dst->storage) { /* reading what is being written: copy first */
        gp_tensor *copy = copied(here, (gp_dtype)here->a.dtype);
        gp_tensor_unref(here);
        here = copy;
    }
    gp_tensor *full = here ? broadcast_to(here, dst, what) : NULL;
    gp_tensor_unref(here);
    if (!full) return false;
    gp_call c;
    gp_call_begin(&c, GP_OP(copy));
    gp_call_tensor(&c, full);
    c.into = dst;
    gp_tensor *out = gp_call_one(&c);
    gp_tensor_unref(full);
    gp_tensor_unref(out);
    return out != NULL;
}

gp_tensor *gp_to_host(gp_tensor *x, gp_why why, const char *what) {
    gp_tensor *flat = gp_contiguous(x);
    gp_tensor *host = flat ? gp_to_device(flat, gp_device_cpu(), false, why, what) : NULL;
    gp_tensor_unref(flat);
    if (host && !gp_host_ready(host->storage, why, what)) gp_tensor_unref(host), host = NULL;
    if (host) gp_host_reads(x->storage->dev, why, what);
    return host;
}

bool gp_read(gp_tensor *x, void *dst, gp_why why, const char *what) {
    if (!gp_at(GP_AT_READ, what, NULL)) return false;
    size_t bytes = (size_t)x->a.numel * gp_dtype_size((gp_dtype)x->a.dtype);
    gp_tensor *host = gp_to_host(x, why, what);
    if (!host) return false;
    memcpy(dst, host->a.data, bytes);
    gp_tensor_unref(host);
    return true;
}

bool gp_item(gp_tensor *x, gp_scalar *out, gp_why why, const char *what) {
    char buf[8];
    if (!gp_at(GP_AT_READ, what, NULL)) return false;
    if (x->a.numel != 1) {
        char text[200];
        return gp_fail("%s: expected a tensor with one element, got %s", what,
                       gp_tensor_text(x, text, sizeof text));
    }
    if (x->storage->dev->vt->on_host) {
        if (!gp_host_ready(x->storage, why, what)) return false;
        *out = gp_scalar_load((gp_dtype)x->a.dtype, x->a.data);
        gp_host_reads(x->storage->dev, why, what);
        return true;
    }
    if (!gp_read(x, buf, why, what)) return false;
    *out = gp_scalar_load((gp_dtype)x->a.dtype, buf);
    return true;
}
