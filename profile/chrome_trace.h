/* A profile as a Chrome trace: JSON that Perfetto and chrome://tracing open. */
#ifndef GP_TRACE_H
#define GP_TRACE_H

#include "profile/record.h"

/* Writes the trace to path (gzip when it ends in .gz), by way of a temporary beside it. False with
   a message; path is then as it was. Host: a row with regions, ops and waits nested, and regions
   that overlap in rows of their own; each device: a row per stream, an arrow from what queued a
   kernel or copy to it; with opts.memory a counter per device. Times in microseconds since the
   start. */
bool gp_trace_write(const gp_prof *p, const char *path);

#endif
