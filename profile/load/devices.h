/* Devices and streams of a loaded profile: only their names, kinds and numbers. */
#ifndef GP_LOAD_DEVICES_H
#define GP_LOAD_DEVICES_H

#include "tensor/device/device.h"

enum { GP_LOADED_MAX = 4096 }; /* streams of one profile */

/* NULL when out of memory. The free function frees the devices and streams, too. */
typedef struct gp_loaded_devices gp_loaded_devices;
gp_loaded_devices *gp_loaded_devices_new(void);
void gp_loaded_devices_free(gp_loaded_devices *p); /* NULL is fine */

/* The device of that name, made on demand; kind lives as long as p. NULL when out of memory, or
 * with GP_LOADED_MAX of them. */
gp_device *gp_loaded_device(gp_loaded_devices *p, const char *kind, bool on_host, int index,
                            const char *name);
/* The stream of that number, made on demand; -1 is that of a wait for a whole device. NULL as
 * above. */
gp_stream *gp_loaded_stream(gp_loaded_devices *p, gp_device *dev, int index);

#endif
