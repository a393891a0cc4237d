/* Calls of a device's runtime that may block, by source line: which did, and for how long. */
#ifndef GP_CALLS_H
#define GP_CALLS_H

#include "tensor/device/device.h"

/* A call that took longer blocked the host; shorter ones could have, but did not: they take a few
 * us. */
enum { GP_CALL_BLOCKED_NS = 20000 };

typedef struct gp_call_line {
    gp_srcloc loc;    /* of the script */
    const char *what; /* the function, or the op whose code was loaded; never freed */
    bool first;       /* whether something was set up on its first use */
    char device[16];
    uint64_t times, blocked;         /* of these, the calls that blocked the host */
    uint64_t ns, blocked_ns, max_ns; /* host time of all, of those that blocked, of the longest */
} gp_call_line;

/* Records every call from now on. */
void gp_calls_open(void);
/* Copies, malloc'd, in the order of first appearance; *n is 0 and the result NULL where there is
 * none. */
gp_call_line *gp_calls_lines(int *n);
void gp_calls_reset(void);
/* Restores the record to what gp_calls_lines returned; later calls are dropped. */
void gp_calls_restore(const gp_call_line *lines, int n);

#endif
