/* Text that fits the terminal: its width, lines folded between words, names shortened in the
 * middle. */
#ifndef GP_FIT_H
#define GP_FIT_H

#include <stdio.h>

/* Columns of standard output's terminal, or of the variable COLUMNS; 0: no limit, as in a file. */
int gp_fit_columns(void);

/* Columns of the file descriptor's terminal; 0: it is not a terminal. */
int gp_fit_terminal(int fd);

/* Characters of UTF-8 text, each counted as one column wide. */
int gp_fit_width(const char *s);

/* Shortens text in place to at most `most` characters by an ellipsis in its middle; more of its end
 * stays, which distinguishes names. */
void gp_fit_shorten(char *s, int most);

/* Ends the line, of which `at` columns are filled, with text. What does not fit in `columns` (0: no
 * limit) continues below, under the text's first word; where too little space is left, all of it
 * goes below, slightly indented. */
void gp_fit_fold(FILE *f, const char *text, int at, int columns);

#endif
