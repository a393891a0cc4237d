/* The search for one of NVIDIA's libraries (kernels/cuda/runtime/find.c). */
#ifndef GP_CUDA_FIND_H
#define GP_CUDA_FIND_H

#include <limits.h>
#include <stdbool.h>

#include "kernels/cuda/runtime/libs.h"

enum { GP_SEARCH_PARTS = 3 };

typedef struct gp_search {
    const char *file;
    /* patterns of files beside it that it opens by name, in the order of their dependencies */
    const char *parts[GP_SEARCH_PARTS];
    void *so;                       /* what was found, */
    char path[PATH_MAX], why[1024]; /* where, if not by the system's paths; or why not */
} gp_search;

/* Searches and opens s->file. */
bool gp_lib_find(gp_search *s);

/* How the search for lib ended, its name, and the function that gives its version. Opens it.
 * kernels/cuda/runtime/libs.c */
const gp_search *gp_lib_search(gp_lib lib, const char **name, const char **version);

#endif
