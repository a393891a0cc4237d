/* Asks the loader and the kernel which file this code came from. */
#include "tensor/io/own_file.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

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
