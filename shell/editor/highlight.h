/* Lua text for the prompt: tokens for colours, matching brackets, and the nesting of blocks. */
#ifndef GP_HIGHLIGHT_H
#define GP_HIGHLIGHT_H

#include <stdbool.h>
#include <stddef.h>

typedef enum gp_style {
    GP_STYLE_PLAIN,
    GP_STYLE_KEYWORD,
    GP_STYLE_CONSTANT, /* nil, true, false */
    GP_STYLE_NUMBER,
    GP_STYLE_STRING,
    GP_STYLE_COMMENT,
    GP_STYLE_COMMAND,   /* not Lua, but a command of the prompt: :time, ?conv2d, !ls */
    GP_STYLE_BRACKET,   /* the pair of brackets at the cursor */
    GP_STYLE_SUGGESTED, /* not typed, but what the history has after it */
    GP_STYLES
} gp_style;

/* Whether c is a letter, a digit or _, or part of a character beyond ASCII. */
bool gp_highlight_in_word(char c);

/* The token that starts at text[0], n > 0 bytes: its length (at least 1) and, if not NULL, its
 * style. A string or a long comment that does not end extends to the end of the text. */
size_t gp_highlight_token(const char *text, size_t n, gp_style *style);

/* Fills style[0 … n-1], a gp_style for each byte. */
void gp_highlight(const char *text, size_t n, unsigned char *style);

/* Finds the bracket at the cursor, or just before it, and its partner in text styled by
 * gp_highlight; false where there is no such pair. */
bool gp_highlight_pair(const char *text, size_t n, const unsigned char *style, size_t cursor,
                       size_t pair[2]);

/* The number of blocks and brackets that are open at the end of the text; at least 0. */
int gp_highlight_depth(const char *text, size_t n);

/* Whether the line, which may be indented, starts with a token that closes or divides a block. */
bool gp_highlight_closes(const char *line, size_t n);

#endif
