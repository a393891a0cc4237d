/* Where an edited text stands on the terminal, and painting it there in colour. Widths of
 * characters are those of the current locale. */
#ifndef GP_SCREEN_H
#define GP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* From 0, counted from the cell where the prompt starts. */
typedef struct gp_spot {
    int row, col;
} gp_spot;

/* The cell that the character at text[pos] has (the end's: the next one's), after the prompt, on a
 * terminal of so many columns, by the line editor's rules. */
gp_spot gp_screen_at(const char *prompt, const char *text, size_t pos, int columns);

/* How many columns the text takes on one line. */
int gp_screen_width(const char *text);
/* Rows and columns of the terminal on standard output; 24 and 80 where it does not say. */
void gp_screen_size(int *rows, int *columns);
int gp_screen_columns(void);

/* Writes to out what moves the cursor from one cell to another. */
void gp_screen_move(FILE *out, gp_spot from, gp_spot to);

/*
 * Paints text over its own cells, with a colour for each of its bytes (style, of gp_highlight), and
 * returns the cursor to `cursor`, where it was. The terminal must have room for all of
 * it. */
void gp_screen_paint(FILE *out, const char *prompt, const char *text, const unsigned char *style,
                     gp_spot cursor, int columns);
/* Fills the terminal with the rows of prompt and text from `top` on, and puts the cursor at
 * `cursor`, one of them. */
void gp_screen_window(FILE *out, const char *prompt, const char *text, const unsigned char *style,
                      gp_spot cursor, int top, int rows, int columns);

/* May colours be used? Not where NO_COLOR is set. */
bool gp_screen_colour(void);

/* The sequence for a style, or for nothing special: "" without colours. */
const char *gp_screen_style(int style);

#endif
