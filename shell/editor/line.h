/* Reading chunks of Lua from the user. */
#ifndef GP_LINE_H
#define GP_LINE_H

#include "shell/editor/choices.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum gp_line { GP_LINE_TEXT, GP_LINE_END, GP_LINE_CANCEL } gp_line;

/* What the editor asks of the shell; any may be NULL. */
typedef struct gp_line_hooks {
    void *ctx;
    bool (*complete)(void *ctx, const char *text); /* does the chunk need no further line? */
    void (*suggest)(void *ctx, const char *text, size_t cursor, gp_choices *out);
} gp_line_hooks;

/* Starts the editor where standard input and output are a terminal that it can drive; elsewhere
 * lines are just read. True if there is an editor: it reads whole chunks. */
bool gp_line_open(const gp_line_hooks *hooks);

/* Shows prompt and reads a chunk, or without an editor a line, without its end into *line, which is
 * malloc'ed and the caller's. CANCEL is Ctrl-C. */
gp_line gp_line_read(const char *prompt, char **line);

/* Adds a chunk of one or more lines to the history. */
void gp_line_save(const char *chunk);

/* What is printed next begins a line, whoever wrote last; where that is so already, nothing is seen
 * of it. Does nothing without a terminal that lines are edited on. */
void gp_line_fresh(void);

/* Leaves the terminal as it was. */
void gp_line_close(void);

#endif
