/* Reading lines from the user. */
#ifndef GP_LINE_H
#define GP_LINE_H

typedef enum gp_line { GP_LINE_TEXT, GP_LINE_END, GP_LINE_CANCEL } gp_line;

/* Starts the editor where standard input and output are a terminal that it can drive; elsewhere
 * lines are just read. */
void gp_line_open(void);

/* Shows prompt and reads a line without its end into *line, which is malloc'ed and the caller's.
 * CANCEL is Ctrl-C. */
gp_line gp_line_read(const char *prompt, char **line);

/* Adds a chunk of one or more lines to the history. */
void gp_line_save(const char *chunk);

/* Leaves the terminal as it was and writes the history. */
void gp_line_close(void);

#endif
