/* Reads what a saved profile says of how kernels fill devices; save.c describes it. */
#include <math.h>
#include <string.h>

#include "profile/load/reader.h"
#include "profile/show/waves.h"

/* A sum of times, or of times and shares, as the bits of a double. */
static bool read_sum(gp_json *j, double *sum) {
    int64_t bits;
    if (!gp_json_next(j) || !gp_json_int(j, &bits)) return false;
    memcpy(sum, &bits, sizeof *sum);
    return (isfinite(*sum) && *sum >= 0) || gp_json_fail(j, "a sum of times that is out of range");
}

static bool read_count(gp_json *j, int32_t *count) {
    int64_t v;
    if (!gp_json_next(j) || !gp_load_range(j, -1, INT32_MAX, &v)) return false;
    *count = (int32_t)v;
    return true;
}

bool gp_load_waves(gp_json *j, gp_prof *p, const char *kernel) {
    gp_wave of = {.kernel = kernel};
    gp_geometry g;
    int64_t longest;
    double *sums[] = {&of.ns, &of.blocks, &of.small, &of.occupied, &of.occupancy};
    int32_t *counts[] = {&g.grid[0],  &g.grid[1],  &g.grid[2],   &g.block[0],
                         &g.block[1], &g.block[2], &g.registers, &g.shared};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        if (!read_sum(j, sums[i])) return false;
    if (!gp_json_next(j) || !gp_load_range(j, -1, (int64_t)1 << 61, &longest)) return false;
    if (longest >= 0) {
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            if (!read_count(j, counts[i])) return false;
        of.longest = (uint64_t)longest;
        of.geometry = gp_intern_add(p->names, &g, sizeof g);
    }
    if (!gp_json_close(j)) return false;
    return ((longest < 0 || of.geometry) && gp_waves_join(p, &of)) ||
           gp_json_fail(j, "out of memory");
}
