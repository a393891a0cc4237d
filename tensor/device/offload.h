/* Calls of kernels that cannot be stopped, because one call of a library takes seconds: they run on
 * a thread of their own. Ctrl-C leaves that thread behind, with the memory that it uses; it goes on
 * to its end, and the program goes on without it. */
#ifndef GP_APART_H
#define GP_APART_H

#include <stdatomic.h>

#include "tensor/op.h"

/* Calls left behind that have not ended. While there are some, OpenBLAS runs on one thread for each
 * caller (gp_blas_threads): its own threads serve one caller at a time, and the others would
 * wait. */
extern atomic_int gp_offload_abandoned;

/* Should a kernel that does not look whether it is stopped for `work` operations, eight of which
 * take a nanosecond, run apart? Then it does nothing but return gp_offload_run(c, name). Not on a
 * thread that is apart already, or a device's; nor where results of earlier calls are written. */
bool gp_offload_wanted(const gp_call *c, double work);

/* Runs c's kernel apart and waits. False with the kernel's message, or "NAME: interrupted". */
bool gp_offload_run(const gp_call *c, const char *name);

/* Is this thread at work for a call that was left behind? For gp_stopped(). */
bool gp_offload_is_abandoned(void);

/* Waits until no call that was left behind is running: what they read may be written then, and
 * their memory is free. False with the message "NAME: interrupted …". */
bool gp_offload_wait(const char *name);

#endif
