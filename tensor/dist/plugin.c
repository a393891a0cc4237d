/* Finds the plug-ins for many processes: of MPI and of NCCL. */
#include <dlfcn.h>
#include <stdio.h>

#include "tensor/dist/dist.h"
#include "tensor/base/env.h"
#include "tensor/io/library.h"
#include "tensor/io/own_file.h"

/* The one that the environment's variable names, or the one beside the program. */
static void *open_plugin(gp_env variable, const char *file, int flags, char *why, size_t size) {
    const char *env = gp_env_text(variable), *text;
    void *so = env ? gp_library_open(env, flags, &text) : gp_own_library(file, flags, &text);
    if (!so) snprintf(why, size, "%s", text);
    return so;
}

/* Opened once; a plug-in stays open: it is linked not to be unloaded. MPI's own plug-ins look for
 * its symbols among those of all libraries: RTLD_GLOBAL. */
void *gp_mpi_plugin(char *why, size_t size) {
    static void *so;
    if (!so)
        so = open_plugin(GP_ENV_GPUSH_MPI_PLUGIN, "libgpush_mpi.so", RTLD_NOW | RTLD_GLOBAL, why,
                         size);
    return so;
}

void *gp_nccl_plugin(char *why, size_t size) {
    static void *so;
    if (!so)
        so = open_plugin(GP_ENV_GPUSH_NCCL_PLUGIN, "libgpush_nccl.so", RTLD_NOW | RTLD_LOCAL, why,
                         size);
    return so;
}

bool gp_mpi_engine(char *text, size_t size) {
    void *so = gp_mpi_plugin(text, size);
    gp_mpi_version_fn *version = so ? (gp_mpi_version_fn *)dlsym(so, "gp_mpi_version") : NULL;
    if (version) version(text, size);
    else if (so) snprintf(text, size, "its plug-in is of another version");
    return version != NULL;
}
