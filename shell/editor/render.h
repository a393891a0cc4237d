/* The text that is edited and its picture on the terminal. Colours are painted over what libedit
 * draws; of a text with more rows than the terminal has those round the cursor are drawn here,
 * without it. */
#ifndef GP_PICTURE_H
#define GP_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

extern struct gp_picture {
    struct editline *el;
    const char *prompt;
    int rows, columns; /* of the terminal */
    int told;          /* rows that libedit has */
    bool overhangs;    /* the cursor was on the last character, below whose row the text ends, when
                          libedit got a key */
    bool painted;      /* in its colours, with no bracket marked */
    bool tall;         /* more rows than the terminal, which is filled with those from `top` on */
    bool hold;         /* not before the next key */
    int top;
    FILE *nowhere; /* where libedit draws meanwhile */
} gp_picture;

/* The text, until the next call, and the cursor's place in it, in bytes. */
const char *gp_text_get(size_t *cursor);
void gp_text_set(const char *text, size_t cursor);
void gp_text_insert(const char *text);
void gp_text_go(size_t to);

void gp_picture_measure(void);
/* Paints it in colours; pair: with the brackets that belong together marked. */
void gp_picture_paint(bool pair);
/* Puts what libedit believes of the screen in order, before a key goes to it. */
void gp_picture_settle(void);
/* The same after it. */
void gp_picture_check(void);
/* Clears the picture and puts the terminal's cursor where it began; gp_picture_redraw() follows. */
void gp_picture_erase(void);
void gp_picture_redraw(void);
/* The terminal's cursor goes to the line below the text, behind whose end stands mark. */
void gp_picture_leave(const char *mark);
/* Whether the terminal is filled by us with a part of the text, or drawn on by libedit. */
void gp_picture_fill(bool tall);
void gp_picture_resize(void);

#endif
