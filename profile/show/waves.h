/* How much of a device the kernels of a loaded trace fill, by name: what launched them says how
 * many blocks each has for every multiprocessor. */
#ifndef GP_WAVES_H
#define GP_WAVES_H

#include "profile/record/record.h"

/* How a kernel was launched; below 0: not given. */
typedef struct gp_geometry {
    int32_t grid[3], block[3]; /* blocks; threads of each */
    int32_t registers;         /* of a thread */
    int32_t shared;            /* bytes of shared memory of a block */
} gp_geometry;

/* Of a kernel's runs, each weighted by its time, as TensorBoard's plug-in of PyTorch's profiler
 * weights them. */
typedef struct gp_wave {
    const char *kernel; /* interned */
    double ns;          /* of the runs whose blocks are known */
    double blocks;      /* ns times blocks per multiprocessor */
    double small;       /* ns of the runs with fewer than one for two multiprocessors: half of these
                           or more had nothing; persistent kernels have about one for each */
    double occupied;    /* ns of the runs whose occupancy is known, */
    double occupancy;   /* and that times the share of warps that a multiprocessor can hold which
                           were there: Kineto's estimate from registers, shared memory and blocks */
    const gp_geometry *geometry; /* of its longest run; NULL: not known */
    uint64_t longest;            /* which took that, ns */
} gp_wave;

typedef struct gp_waves {
    gp_wave *of; /* by a hash of the kernel; free where kernel is NULL */
    size_t slots, n;
} gp_waves;

/* Adds a run of that kernel. blocks per multiprocessor in millionths, below 0: not known;
 * occupancy in percent, likewise; geometry: interned, NULL: not known. Kineto writes 0 % where it
 * cannot tell how many blocks a multiprocessor holds; half a block of a single warp would be 1 %.
 * False when out of memory. */
bool gp_waves_add(gp_prof *p, const char *kernel, uint64_t ns, int64_t blocks, int64_t occupancy,
                  const gp_geometry *geometry);
/* Adds those of a kernel's runs. False when out of memory. */
bool gp_waves_join(gp_prof *p, const gp_wave *runs);
/* "136x2", of at least one dim, without the last that are 1; "" where it is not given. */
char *gp_geometry_text(const int32_t dim[3], char *buf, size_t n);
/* NULL: nothing is known of that kernel. */
const gp_wave *gp_waves_of(const gp_prof *p, const char *kernel);
/* The sums of all kernels. */
gp_wave gp_waves_all(const gp_prof *p);

void gp_waves_free(gp_waves *w); /* NULL is fine */

#endif
