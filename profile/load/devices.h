/* Devices and streams of a loaded profile: only their names, kinds and numbers. */
#ifndef GP_LOAD_PLACES_H
#define GP_LOAD_PLACES_H

#include "tensor/device/device.h"

enum { GP_PLACES_MAX = 4096 }; /* streams of one profile */

/* NULL when out of memory. The places free all that they made. */
typedef struct gp_places gp_places;
gp_places *gp_places_new(void);
void gp_places_free(gp_places *p); /* NULL is fine */

/* The device of that name, made on demand; kind lives as long as p. NULL when out of memory, or
 * with GP_PLACES_MAX of them. */
gp_device *gp_places_device(gp_places *p, const char *kind, bool on_host, int index,
                            const char *name);
/* The stream of that number, made on demand; -1 is that of a wait for a whole device. NULL as
 * above. */
gp_stream *gp_places_stream(gp_places *p, gp_device *dev, int index);

#endif
