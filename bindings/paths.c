/* Finds the Lua files that ship, relative to the program or the module. */
#include "bindings/paths.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The file this code was loaded from, links resolved. The loader's name for a program may be
 * relative to any directory of PATH, so for a program the kernel is asked. */
static bool own_file(char out[PATH_MAX]) {
    Dl_info info;
    const char *name = dladdr((void *)gp_scripts_dir, &info) ? info.dli_fname : NULL;
    size_t n = name ? strlen(name) : 0;
    bool shared = n > 3 && !strcmp(name + n - 3, ".so");
    return realpath(shared ? name : "/proc/self/exe", out) != NULL;
}

static bool is_dir(const char *path) {
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Tries own/UP/share/gpush/lua and stores it in out. */
static bool try_prefix(const char *own, const char *up, char out[PATH_MAX]) {
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/share/gpush/lua", own, up);
    return is_dir(path) && realpath(path, out);
}

const char *gp_scripts_dir(void) {
    static char found[PATH_MAX];
    if (found[0]) return found;
    /* bin/gpush; lib/lua/5.4/gpush.so; lib/TRIPLET/lua/5.4/gpush.so */
    static const char *const up[] = {"..", "../../..", "../../../.."};
    char own[PATH_MAX];
    if (own_file(own)) {
        *strrchr(own, '/') = 0;
        for (size_t i = 0; i < sizeof up / sizeof *up; i++)
            if (try_prefix(own, up[i], found)) return found;
    }
    snprintf(found, sizeof found, "%s", GPUSH_SCRIPTS);
    return found;
}
