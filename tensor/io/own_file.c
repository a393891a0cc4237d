/* Asks the loader and the kernel which file this code came from. */
#include "tensor/io/library.h"
#include "tensor/io/own_file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool gp_own_folder(char out[PATH_MAX]) {
    Dl_info info;
    /* The loader's name for a program may be relative to any directory of PATH, so for a program
     * the kernel is asked. */
    const char *name = dladdr((void *)gp_own_folder, &info) ? info.dli_fname : NULL;
    size_t n = name ? strlen(name) : 0;
    bool shared = n > 3 && !strcmp(name + n - 3, ".so");
    if (!realpath(shared ? name : "/proc/self/exe", out)) return false;
    *strrchr(out, '/') = 0;
    return true;
}

bool gp_own_library_path(const char *file, char *path, size_t size) {
    /* of a build's program and its tests; of an installed program and module */
    static const char *const folders[] = {"", "lib/", "../lib/", "../lib/gpush/", "../../gpush/"};
    char own[PATH_MAX];
    for (size_t k = 0; gp_own_folder(own) && k < sizeof folders / sizeof *folders; k++) {
        snprintf(path, size, "%s/%s%s", own, folders[k], file);
        if (!access(path, R_OK)) return true;
    }
    snprintf(path, size, "%s", file);
    return false;
}

void *gp_own_library(const char *file, int flags, const char **why) {
    char path[PATH_MAX + 64];
    gp_own_library_path(file, path, sizeof path);
    return gp_library_open(path, flags, why);
}
