/* The line reader used without an editor. */
#ifndef GP_PLAIN_H
#define GP_PLAIN_H

#include "shell/editor/line.h"

/* As gp_line_read, for a single line. */
gp_line gp_plain_read(const char *prompt, char **line);

#endif
