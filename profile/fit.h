/* Text that fits the terminal: how wide that is, lines folded between words, names cut in the
 * middle. */
#ifndef GP_FIT_H
#define GP_FIT_H

#include <stdio.h>

/* Columns of the terminal that standard output is, or of the variable COLUMNS; 0: no limit, as in a
 * file. */
int gp_fit_columns(void);

/* Columns of the terminal that the file descriptor is; 0: it is none. */
int gp_fit_terminal(int fd);

/* Characters of UTF-8 text, each taken for one column wide. */
int gp_fit_width(const char *s);

/* Cuts text in place to at most `most` characters by dots in its middle; of its end, which tells
 * names apart, more stays. */
void gp_fit_shorten(char *s, int most);

/* Ends the line, of which `at` columns are filled, with text; what does not fit in `columns` (0:
 * any) goes on below, under the text's first word, or all of it a little way in where too little
 * room is left. */
void gp_fit_fold(FILE *f, const char *text, int at, int columns);

#endif
