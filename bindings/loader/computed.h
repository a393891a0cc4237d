/* How much of a loader's time is computing, which processors bound, and how much is waiting, as for
 * a disk, which more workers do at the same time. */
#ifndef GP_COMPUTED_H
#define GP_COMPUTED_H

#include <stdbool.h>
#include <stdint.h>

/* A thread's clock of what it computes. */
typedef struct gp_computed {
    bool process; /* all of the process's threads compute for it */
    int waits;    /* file with the thread's waits for a processor; -1: none */
    uint64_t from;
} gp_computed;

/* That of the calling thread, which alone uses it; of the whole process, where its ops run on other
 * threads, too, of whose waits for a processor only its own count. Closed by gp_computed_close. */
gp_computed gp_computed_open(bool process);
void gp_computed_close(gp_computed *c);

/* Starts measuring, again where it has. */
void gp_computed_begin(gp_computed *c);
/* ns since the beginning in which it was on a processor, or waited for one that others had; at
 * least 1. With what child processes have taken, as those of io.popen: the system tells that of the
 * whole process once they have ended, so it counts where a part of a batch ends next.
 * How long children waited for a processor it does not tell. */
uint64_t gp_computed_end(const gp_computed *c);

#endif
