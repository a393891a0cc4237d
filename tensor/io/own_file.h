/* Where this program or module lies: its Lua files and plug-ins are found relative to it. */
#ifndef GP_OWN_FILE_H
#define GP_OWN_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* The folder of the file that this code was loaded from, links resolved. False where the system
 * does not say. */
bool gp_own_folder(char out[PATH_MAX]);

/* The path of one of gpush's own libraries, beside the program or module or where it is installed;
 * false, with the bare name for the linker to find, where there is none. */
bool gp_own_library_path(const char *file, char *path, size_t size);

/* gp_library_open of that path (tensor/io/library.h). */
void *gp_own_library(const char *file, int flags, const char **why);

#endif
