/* The loops that run: where a line that waits many times is repeated from. */
#ifndef GP_LOOPS_H
#define GP_LOOPS_H

#include <stddef.h>

#include "tensor/base/srcloc.h"

/* Where the innermost loop that runs begins: around the user's running line, or around the call of
 * its function, up to some calls further out. Without a file: there is none, or its text cannot be
 * read. It reads the chunk's file; nothing is raised. */
gp_srcloc gp_lua_loop_here(void);

/* The line on which the innermost loop around `line` begins in the Lua text, within the same
 * function; 0: there is none. */
int gp_loop_around(const char *text, size_t len, int line);

#endif
