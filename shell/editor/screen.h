/* Positions of an edited text on the terminal, and painting it there in colour. Widths of
 * characters depend on the current locale. */
#ifndef GP_SCREEN_H
#define GP_SCREEN_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The characters of the user's locale. Where none is chosen, or "C", they are UTF-8's, as in Python
 * (PEP 540): else letters beyond ASCII could not be typed. The caller frees it; 0: none. */
locale_t gp_screen_locale(void);

/* From 0, relative to the cell where the prompt starts. */
typedef struct gp_spot {
    int row, col;
} gp_spot;

/* The cell of the character at text[pos] (at the end: the next one), after the prompt, on a
 * terminal of that many columns, by the line editor's rules. */
gp_spot gp_screen_at(const char *prompt, const char *text, size_t pos, int columns);

/* The number of columns that the text takes on one line. */
int gp_screen_width(const char *text);
/* How many bytes of s fit into that many columns, up to its first control character. */
size_t gp_screen_fits(const char *s, int columns);
/* Rows and columns of the terminal on standard output; 24 and 80 where unknown. */
void gp_screen_size(int *rows, int *columns);
int gp_screen_columns(void);

/* Writes to out the sequence that moves the cursor from one cell to another. */
void gp_screen_move(FILE *out, gp_spot from, gp_spot to);

/* Paints text in place, with a colour for each of its bytes (style, of gp_highlight), and returns
 * the cursor to `cursor`, where it was. All of it must fit on the terminal. */
void gp_screen_paint(FILE *out, const char *prompt, const char *text, const unsigned char *style,
                     gp_spot cursor, int columns);
/* Fills the terminal with the rows of prompt and text from `top` on, and moves the cursor to
 * `cursor`, in one of them. */
void gp_screen_window(FILE *out, const char *prompt, const char *text, const unsigned char *style,
                      gp_spot cursor, int top, int rows, int columns);

/* Whether colours may be used: not where NO_COLOR is set. */
bool gp_screen_colour(void);

/* The escape sequence for a style, or for none; "" without colours. */
const char *gp_screen_style(int style);

#endif
