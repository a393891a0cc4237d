/* How long a thread had work but no processor, since others had them all. */
#ifndef GP_READY_H
#define GP_READY_H

#include <stdint.h>

/* The system's account of a thread of this process, by its number, 0: of the calling one; -1: it
 * keeps none, or the thread has ended. The caller closes it. */
int gp_ready_open(int thread);
/* ns of it so far; 0 where file is -1. */
uint64_t gp_ready_ns(int file);
/* Both, once. */
uint64_t gp_ready_of(int thread);

#endif
