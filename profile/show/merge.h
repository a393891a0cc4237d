/* A shorter record for traces: short events merged, waits and regions kept. */
#ifndef GP_MERGE_H
#define GP_MERGE_H

#include "profile/record/record.h"

typedef struct gp_merged {
    uint64_t events, slices; /* events that are no longer there by themselves, and what is */
} gp_merged;

/* A copy of p in which up to `most` ops that follow one another, with no wait or region within or
 * between them, are one event that is named by them ("96 merged: mul 64, add 32"); so are up to
 * `most` kernels and copies of one stream. Of as many changes of memory the highest is left. Waits,
 * regions and what holds them are all there; samples and the arrows' ids are not. It reads p, which
 * must outlive it; gp_prof_free frees it. NULL with a message when out of memory. */
gp_prof *gp_prof_merge(const gp_prof *p, int most, gp_merged *what);

#endif
