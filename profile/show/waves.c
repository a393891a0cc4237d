/* How much of a device kernels fill: a hash table of them, with linear probing, at most half full.
 */
#include "profile/show/waves.h"

#include <stdio.h>
#include <stdlib.h>

enum { HALF = 500000, BLOCK = 1000000 }; /* in millionths of a block */

/* The place of that kernel, or the free one for it. */
static gp_wave *slot_of(const gp_waves *w, const char *kernel) {
    size_t at = (size_t)((uint64_t)(uintptr_t)kernel * 0x9e3779b97f4a7c15u >> 20);
    while (w->of[at % w->slots].kernel && w->of[at % w->slots].kernel != kernel) at++;
    return &w->of[at % w->slots];
}

static bool grow(gp_waves *w) {
    gp_waves more = {.slots = w->slots ? 2 * w->slots : 64, .n = w->n};
    if (!(more.of = calloc(more.slots, sizeof *more.of))) return false;
    for (size_t i = 0; i < w->slots; i++)
        if (w->of[i].kernel) *slot_of(&more, w->of[i].kernel) = w->of[i];
    free(w->of);
    *w = more;
    return true;
}

bool gp_waves_join(gp_prof *p, const gp_wave *more) {
    if (!p->waves && !(p->waves = calloc(1, sizeof *p->waves))) return false;
    gp_waves *w = p->waves;
    if (2 * w->n >= w->slots && !grow(w)) return false;
    gp_wave *of = slot_of(w, more->kernel);
    w->n += !of->kernel;
    of->kernel = more->kernel;
    if (more->geometry && (!of->geometry || more->longest > of->longest))
        of->geometry = more->geometry, of->longest = more->longest;
    of->ns += more->ns, of->blocks += more->blocks, of->small += more->small;
    of->occupied += more->occupied, of->occupancy += more->occupancy;
    return true;
}

bool gp_waves_add(gp_prof *p, const char *kernel, uint64_t ns, int64_t blocks, int64_t occupancy,
                  const gp_geometry *geometry) {
    if (blocks < 0 && !geometry) return true;
    gp_wave run = {.kernel = kernel, .geometry = geometry, .longest = ns};
    double time = (double)ns;
    bool filled = blocks >= 0 && occupancy >= 0 && (occupancy || blocks < HALF);
    if (blocks >= 0) run.ns = time, run.blocks = time * (double)blocks / BLOCK;
    if (blocks >= 0 && blocks < HALF) run.small = time;
    if (filled) run.occupied = time, run.occupancy = time * (double)occupancy / 100;
    return gp_waves_join(p, &run);
}

char *gp_geometry_text(const int32_t dim[3], char *buf, size_t n) {
    if (dim[0] < 0 || dim[1] < 0 || dim[2] < 0) snprintf(buf, n, "%s", "");
    else if (dim[2] != 1) snprintf(buf, n, "%dx%dx%d", dim[0], dim[1], dim[2]);
    else if (dim[1] != 1) snprintf(buf, n, "%dx%d", dim[0], dim[1]);
    else snprintf(buf, n, "%d", dim[0]);
    return buf;
}

const gp_wave *gp_waves_of(const gp_prof *p, const char *kernel) {
    if (!p->waves || !p->waves->n || !kernel) return NULL;
    const gp_wave *of = slot_of(p->waves, kernel);
    return of->kernel ? of : NULL;
}

gp_wave gp_waves_all(const gp_prof *p) {
    gp_wave all = {0};
    for (size_t i = 0; p->waves && i < p->waves->slots; i++) {
        const gp_wave *of = &p->waves->of[i];
        all.ns += of->ns, all.blocks += of->blocks, all.small += of->small;
        all.occupied += of->occupied, all.occupancy += of->occupancy;
    }
    return all;
}

void gp_waves_free(gp_waves *w) {
    if (w) free(w->of);
    free(w);
}
