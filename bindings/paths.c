/* Finds the Lua files that ship, relative to the program or the module. */
#include "bindings/paths.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tensor/io/own_file.h"

static bool is_dir(const char *path) {
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Tries own/UP/FOLDER and stores it in out. */
static bool try_folder(const char *own, const char *up, const char *folder, char out[PATH_MAX]) {
    char path[3 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/%s", own, up, folder);
    return is_dir(path) && realpath(path, out);
}

const char *gp_scripts_dir(void) {
    static char found[PATH_MAX];
    if (found[0]) return found;
    /* bin/gpush; lib/lua/5.4/gpush.so; lib/TRIPLET/lua/5.4/gpush.so */
    static const char *const up[] = {"..", "../../..", "../../../.."};
    /* in the build folder; in its folders lib and tests */
    static const char *const built[] = {".", ".."};
    char own[PATH_MAX];
    if (!gp_own_folder(own)) return found;
    for (size_t i = 0; i < sizeof up / sizeof *up; i++)
        if (try_folder(own, up[i], "share/gpush/lua", found)) return found;
    for (size_t i = 0; i < sizeof built / sizeof *built; i++)
        if (try_folder(own, built[i], GPUSH_SCRIPTS, found)) return found;
    /* what is read from it will say that it is not there */
    snprintf(found, sizeof found, "%.*s/share/gpush/lua", (int)(strrchr(own, '/') - own), own);
    return found;
}
