/* Temporaries: files that take what is written until it is complete. A process locks each of its
 * own while it lives, so that later ones recognise and remove those that a killed one left. */
#ifndef GP_IO_TEMPORARY_H
#define GP_IO_TEMPORARY_H

#include <limits.h>
#include <stdbool.h>

enum { GP_TEMPORARY_TAG = 32 }; /* bytes, the terminator among them */

/* What a temporary of this process is called by: the running system, the process and a number, as
 * "1f2e3d4c-1234-0", of which no two calls give the same. */
void gp_temporary_tag(char tag[GP_TEMPORARY_TAG]);

/* Creates the temporary of the file `target`, beside it, and locks it; first removes those that
 * killed processes left in the folder. mode: permissions, -1 for a new file's. Returns the
 * descriptor, with the name in `name`; -1 with errno. The lock is held as long as the descriptor or
 * a duplicate of it is open. */
int gp_temporary_make(char name[PATH_MAX], const char *target, int mode);

/* Locks the file that fd has just created. False where another process took it for one that was
 * left; it is gone then. */
bool gp_temporary_hold(int fd);

/* Removes the file `name`, which has that tag, from the folder dir if its process has ended;
 * returns whether it did. A file of another system counts as left when nobody has written to it for
 * a day, as locks may not reach from one system to another. */
bool gp_temporary_remove_left(int dir, const char *name, const char *tag);

#endif
