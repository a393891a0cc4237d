/* Calls of a device's runtime that may block, by source line: which did, and for how long. */
#ifndef GP_CALLS_H
#define GP_CALLS_H

#include "tensor/device/device.h"

/* A call that took longer made the host stand still; the others could have, but did not: they take
 * a few us. */
enum { GP_CALL_BLOCKED_NS = 20000 };

typedef struct gp_call_line {
    const char *file; /* NULL: no Lua line */
    int line;
    const char *what; /* the function, or the op whose code was loaded; lives for ever */
    bool first;       /* something was set up on its first use */
    char device[16];
    uint64_t times, blocked;         /* of these times, how often the host stood still */
    uint64_t ns, blocked_ns, max_ns; /* host time of all, of those that blocked, of the longest */
} gp_call_line;

/* Books every call from now on. */
void gp_calls_open(void);
/* Copies, malloc'd, in the order of first appearance; *n is 0 and NULL is given where there is
 * none. */
gp_call_line *gp_calls_lines(int *n);
void gp_calls_reset(void);
/* The books are again what gp_calls_lines gave; what came since is forgotten. */
void gp_calls_put_back(const gp_call_line *lines, int n);

#endif
