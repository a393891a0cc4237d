/* Where this program or module lies: its Lua files and plug-ins are found relative to it. */
#ifndef GP_OWN_FILE_H
#define GP_OWN_FILE_H

#include <limits.h>
#include <stdbool.h>

/* The folder of the file that this code was loaded from, links resolved. False where the system
 * does not say. */
bool gp_own_folder(char out[PATH_MAX]);

#endif
