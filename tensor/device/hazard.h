/* Order between streams: work that reads what another stream is still writing starts after it, and
 * work that writes, after all readers. */
#ifndef GP_HAZARD_H
#define GP_HAZARD_H

#include "tensor/device/device.h"

/* Called before work that reads (or writes) st is queued on s. The streams wait for one another,
 * never the host. */
bool gp_order_read(gp_storage *st, gp_stream *s);
bool gp_order_write(gp_storage *st, gp_stream *s);
/* Work queued on s from now on starts after all that `first`, of the same device, has queued so
 * far. */
bool gp_order_after(gp_stream *s, gp_stream *first);
/* Work queued on s from now on starts after e, of a device of the same kind. */
bool gp_order_event(gp_stream *s, gp_event *e);
/* Called after work that writes st was queued on s. */
void gp_order_written(gp_storage *st, gp_stream *s);
/* Called before the host writes host memory: waits for its readers, which are queued copies of
 * pinned memory and abandoned calls (offload.h). */
bool gp_order_host_write(gp_storage *st, const char *what);

#endif
