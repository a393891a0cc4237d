/* A profile as a Chrome trace: JSON that Perfetto and chrome://tracing open. */
#ifndef GP_TRACE_H
#define GP_TRACE_H

#include "profile/record.h"

/* Writes the trace to path (gzip when it ends in .gz), through a temporary in its folder. False
 * with a message; path is then as it was. Host: a row with nested regions, ops and waits, and
 * overlapping regions in rows of their own. Each device: a row per stream, with an arrow to each
 * kernel or copy from the event that queued it; with opts.memory a counter per device. Times in
 * microseconds since the start. */
bool gp_trace_write(const gp_prof *p, const char *path);

#endif
