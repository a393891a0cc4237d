/* A profile as a Chrome trace: JSON that Perfetto and chrome://tracing open. */
#ifndef GP_TRACE_H
#define GP_TRACE_H

#include "profile/show/merge.h"

/* Writes the trace to path (gzip when it ends in .gz), through a temporary in its folder. False
 * with a message; path is then as it was. Host: a row with nested regions, ops and waits, and
 * overlapping regions in rows of their own. Each device: a row per stream, with an arrow to each
 * kernel or copy from the event that queued it; with opts.memory a counter per device. Times in
 * microseconds since the start. */
bool gp_trace_write(const gp_prof *p, const char *path);
/* The same in at most max bytes, before they are packed; 0: of any length. What does not fit is
 * merged as gp_prof_merge says, in *merged; the trace then has no arrows. False with a message also
 * where waits and regions alone need more. */
bool gp_trace_write_most(const gp_prof *p, const char *path, uint64_t max, gp_merged *merged);

#endif
