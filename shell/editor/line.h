/* Reading chunks of Lua from the user. */
#ifndef GP_LINE_H
#define GP_LINE_H

#include "shell/editor/choices.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum gp_line { GP_LINE_TEXT, GP_LINE_END, GP_LINE_CANCEL } gp_line;

/* The editor's callbacks; any may be NULL. */
typedef struct gp_line_hooks {
    void *ctx;
    bool (*complete)(void *ctx, const char *text); /* whether the chunk needs no further line */
    void (*suggest)(void *ctx, const char *text, size_t cursor, gp_choices *out);
    bool (*grey)(
        void *ctx); /* whether the history is suggested as one types; asked for each chunk */
} gp_line_hooks;

/* Starts the editor if standard input and output are a terminal that it can control; otherwise
 * lines are just read. True if there is an editor: it reads whole chunks. */
bool gp_line_open(const gp_line_hooks *hooks);

/* Shows prompt and reads a chunk, or without an editor a line without its end, into *line, which is
 * malloc'ed; the caller frees it. CANCEL is Ctrl-C. */
gp_line gp_line_read(const char *prompt, char **line);

/* Adds a chunk of one or more lines to the history. */
void gp_line_save(const char *chunk);

/* Makes further output start on a new line, whoever wrote last; invisible where it does already.
 * Does nothing unless lines are edited on a terminal. */
void gp_line_fresh(void);

/* Restores the terminal. */
void gp_line_close(void);

#endif
