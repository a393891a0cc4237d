/* The edited text and its rendering on the terminal. Colours are painted over libedit's drawing; of
 * a text with more rows than the terminal, those around the cursor are drawn here, without
 * libedit. */
#ifndef GP_PICTURE_H
#define GP_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

extern struct gp_picture {
    struct editline *el;
    const char *prompt;
    int rows, columns; /* of the terminal */
    int told;          /* rows that libedit assumes */
    bool overhangs; /* before libedit got a key, the cursor was on the last character of a full row
                     */
    bool painted;   /* in colour, with no bracket marked */
    bool tall;      /* more rows than the terminal, which shows those from `top` on */
    bool hold;      /* do not draw before the next key */
    int top;
    FILE *nowhere; /* where libedit draws meanwhile */
} gp_picture;

/* The text, valid until the next call, and the cursor's offset in it, in bytes. */
const char *gp_text_get(size_t *cursor);
void gp_text_set(const char *text, size_t cursor);
void gp_text_insert(const char *text);
void gp_text_go(size_t to);

/* Reads the terminal's size again: at the start of a line, and after it was resized. */
void gp_picture_measure(void);
/* Paints it in colour; pair: with matching brackets marked. */
void gp_picture_paint(bool pair);
/* Shows rest, of one or more lines, in grey after the cursor, which is at the text's end: what fits
 * into the row. false: nothing is shown, as without colours. Before libedit gets a key,
 * gp_picture_unsuggest takes it away. */
bool gp_picture_suggest(const char *rest);
void gp_picture_unsuggest(void);
/* Corrects libedit's view of the screen before a key goes to it. */
void gp_picture_settle(void);
/* The same after it. */
void gp_picture_check(void);
/* Clears the text and moves the terminal's cursor to its start; gp_picture_redraw() follows. */
void gp_picture_erase(void);
void gp_picture_redraw(void);
/* Moves the terminal's cursor to the line below the text, and prints mark after the text's end. */
void gp_picture_leave(const char *mark);
/* Switches between our own drawing of a part of the text and libedit's. */
void gp_picture_fill(bool tall);
void gp_picture_resize(void);

#endif
