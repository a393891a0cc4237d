/* Finds the MPI plug-in. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "tensor/dist/dist.h"
#include "tensor/io/own_file.h"

/* MPI's own plug-ins look for its symbols among those of all libraries: RTLD_GLOBAL. */
static void *open_file(const char *path) { return dlopen(path, RTLD_NOW | RTLD_GLOBAL); }

/* The one that GPUSH_MPI_PLUGIN names, the one in the folder of the program or module, or the
 * linker's. */
static void *open_plugin(void) {
    const char *env = getenv("GPUSH_MPI_PLUGIN");
    if (env) return open_file(env);
    char own[PATH_MAX], path[PATH_MAX + 64];
    static const char *const places[] = {"libgpush_mpi.so", "lib/libgpush_mpi.so",
                                         "../lib/gpush/libgpush_mpi.so",
                                         "../../gpush/libgpush_mpi.so"};
    for (size_t i = 0; gp_own_folder(own) && i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s/%s", own, places[i]);
        void *so = open_file(path);
        if (so) return so;
    }
    return open_file("libgpush_mpi.so");
}

void *gp_mpi_plugin(char *why, size_t size) {
    static void *so; /* stays open: it is linked not to be unloaded */
    if (!so && !(so = open_plugin())) snprintf(why, size, "%s", dlerror());
    return so;
}

bool gp_mpi_engine(char *text, size_t size) {
    void *so = gp_mpi_plugin(text, size);
    gp_mpi_version_fn *version = so ? (gp_mpi_version_fn *)dlsym(so, "gp_mpi_version") : NULL;
    if (version) version(text, size);
    else if (so) snprintf(text, size, "its plug-in is of another version");
    return version != NULL;
}
