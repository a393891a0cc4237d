/* Devices and streams of a loaded profile: only their names, kinds and numbers. */
#include "profile/load/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256 };

typedef struct made_device {
    gp_device dev;
    gp_device_vt vt;
    struct made_device *next;
} made_device;

typedef struct made_stream {
    gp_stream s;
    struct made_stream *next;
} made_stream;

struct gp_loaded_devices {
    made_device *devices;
    made_stream *streams[BUCKETS];
    int ndevices, nstreams;
};

gp_loaded_devices *gp_loaded_devices_new(void) { return calloc(1, sizeof(gp_loaded_devices)); }

void gp_loaded_devices_free(gp_loaded_devices *p) {
    if (!p) return;
    for (made_device *d = p->devices, *next; d; d = next) {
        next = d->next;
        free(d);
    }
    for (int i = 0; i < BUCKETS; i++)
        for (made_stream *s = p->streams[i], *next; s; s = next) {
            next = s->next;
            free(s);
        }
    free(p);
}

gp_device *gp_loaded_device(gp_loaded_devices *p, const char *kind, bool on_host, int index,
                            const char *name) {
    for (made_device *d = p->devices; d; d = d->next)
        if (!strncmp(d->dev.name, name, sizeof d->dev.name - 1)) return &d->dev;
    made_device *d = p->ndevices < GP_LOADED_MAX ? calloc(1, sizeof *d) : NULL;
    if (!d) return NULL;
    d->vt = (gp_device_vt){.kind = kind, .on_host = on_host};
    d->dev.vt = &d->vt;
    d->dev.index = index;
    d->dev.slot = p->ndevices++;
    snprintf(d->dev.name, sizeof d->dev.name, "%s", name);
    d->next = p->devices;
    p->devices = d;
    return &d->dev;
}

gp_stream *gp_loaded_stream(gp_loaded_devices *p, gp_device *dev, int index) {
    made_stream **head = &p->streams[((unsigned)index + 31u * (unsigned)dev->slot) % BUCKETS];
    for (made_stream *s = *head; s; s = s->next)
        if (s->s.dev == dev && s->s.index == index) return &s->s;
    made_stream *s = p->nstreams < GP_LOADED_MAX ? calloc(1, sizeof *s) : NULL;
    if (!s) return NULL;
    p->nstreams++;
    s->s.dev = dev;
    s->s.index = index;
    s->s.async = !dev->vt->on_host || index != 0;
    s->next = *head;
    *head = s;
    return &s->s;
}
