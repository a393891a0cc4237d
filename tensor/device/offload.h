/* Runs kernels that cannot be stopped, because one library call takes seconds, on threads of their
 * own. Ctrl-C abandons such a thread with the memory that it uses: it runs to its end, and the
 * program continues without it. */
#ifndef GP_APART_H
#define GP_APART_H

#include <stdatomic.h>

#include "tensor/op.h"

/* Abandoned calls that have not ended. While there are any, OpenBLAS runs on one thread for each
 * caller (gp_blas_threads): its thread pool serves one caller at a time, and the others would
 * wait. */
extern atomic_int gp_offload_abandoned;

/* Whether to offload a kernel that does not check for interrupts during `work` operations, eight of
 * which take a nanosecond. If so, the kernel only returns gp_offload_run(c, name). False on an
 * offload thread or a device's worker, and where results of earlier calls are overwritten. */
bool gp_offload_wanted(const gp_call *c, double work);

/* Runs c's kernel on an offload thread and waits. False with the kernel's message, or "NAME:
 * interrupted". */
bool gp_offload_run(const gp_call *c, const char *name);

/* Whether this thread runs an abandoned call. For gp_stopped(). */
bool gp_offload_is_abandoned(void);

/* Waits until no abandoned call is running: then what they read may be written, and their memory is
 * free. False with the message "NAME: interrupted …". */
bool gp_offload_wait(const char *name);

#endif
