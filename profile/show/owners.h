/* Whose memory it was: what ops allocated, what of it was alive at the peak and at the end. */
#ifndef GP_OWNERS_H
#define GP_OWNERS_H

#include "profile/record/record.h"

/* Memory of one device that one op allocated at one line; bytes are of blocks, as the allocator
 * rounds them. */
typedef struct gp_owner {
    const gp_rec *op; /* one of its events, for its name and line; NULL: outside of any op, or on a
                         device's thread */
    const gp_device *dev;
    uint64_t blocks;
    int64_t allocated;  /* by all of them; */
    int64_t peak, kept; /* of these, alive at the device's peak, and at the profile's end */
    int64_t alive;      /* while they are counted */
} gp_owner;

typedef struct gp_owned_device {
    const gp_device *dev;
    int64_t before, peak, after; /* bytes in use at the start, at most, at the end */
    int64_t old; /* of those before, freed meanwhile: at the end they are not there any more */
    int64_t old_at_peak; /* of those before, still there at the peak */
} gp_owned_device;

typedef struct gp_owners {
    gp_owner *owner; /* in the order of their first allocation */
    int n;
    gp_owned_device device[GP_MAX_DEVICES];
    int ndevices;
} gp_owners;

/* NULL with a message when out of memory, and where p has no memory events or, as some loaded
 * traces, does not say which block was freed. It reads p, which must outlive it. */
gp_owners *gp_owners_new(const gp_prof *p);
void gp_owners_free(gp_owners *o); /* NULL is fine */

#endif
