/* Order between streams: work that reads what another stream is still writing starts after it, and
 * work that writes, after all readers. */
#ifndef GP_HAZARD_H
#define GP_HAZARD_H

#include "tensor/device/device.h"

/* Called before the host itself reads st, of a device whose memory is the host's: waits for what
 * queued last writes it, in the name of `what`. False with a message where the wait is refused or
 * interrupted, and where st's value was computed from a command that failed. */
bool gp_host_wait(gp_storage *st, gp_why why, const char *what);
static inline bool gp_host_ready(gp_storage *st, gp_why why, const char *what) {
    return !st->last_writer || gp_host_wait(st, why, what);
}
/* Called where the host reads, at once, what the host itself has computed: tells observers that it
 * would wait there for a device, in the name of `what`. */
void gp_host_reads(gp_device *dev, gp_why why, const char *what);
/* The same as gp_host_ready before it writes st: waits for all queued work that uses it. */
bool gp_host_may_write(gp_storage *st, gp_why why, const char *what);

/* Called before work that reads (or writes) st is queued on s. The streams wait for one another,
 * never the host. */
bool gp_order_read(gp_storage *st, gp_stream *s);
bool gp_order_write(gp_storage *st, gp_stream *s);
/* Work queued on s from now on starts after all that `first`, of the same device, has queued so
 * far. */
bool gp_order_after(gp_stream *s, gp_stream *first);
/* The same after `upto` commands of `first`, or later ones, and also where the host itself runs
 * what is queued on s: there it waits (why = join), in the name of `what`, and raises their
 * failures. */
bool gp_order_join(gp_stream *s, gp_stream *first, uint64_t upto, const char *what);
/* Work queued on s from now on starts after e, of a device of the same kind. */
bool gp_order_event(gp_stream *s, gp_event *e);
/* Called after work that writes st was queued on s. */
void gp_order_written(gp_storage *st, gp_stream *s);
/* Called before the host writes host memory: waits for its readers, which are queued copies of
 * pinned memory and abandoned calls (offload.h). */
bool gp_order_host_write(gp_storage *st, const char *what);

#endif
