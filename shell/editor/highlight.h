/* Lua text as the prompt sees it: tokens for colours, brackets that belong together, and how deep
 * blocks are nested. */
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
    GP_STYLE_COMMAND, /* what is no Lua but the prompt's: :time, ?conv2d, !ls */
    GP_STYLE_BRACKET, /* the pair at the cursor */
    GP_STYLES
} gp_style;

/* The token that starts at text[0], n > 0 bytes: its length (at least 1) and, if not NULL, its
 * style. A string or a long comment that does not end goes on to the end of the text. */
size_t gp_highlight_token(const char *text, size_t n, gp_style *style);

/* Fills style[0 … n-1], a gp_style for each byte. */
void gp_highlight(const char *text, size_t n, unsigned char *style);

/* Finds the bracket at the cursor, or just before it, and its partner in text styled by
 * gp_highlight; false where there is no such pair. */
bool gp_highlight_pair(const char *text, size_t n, const unsigned char *style, size_t cursor,
                       size_t pair[2]);

/* How many blocks and brackets are open at the end of the text; 0 at least. */
int gp_highlight_depth(const char *text, size_t n);

/* Does the line, which may be indented, start with what closes or divides a block? */
bool gp_highlight_closes(const char *line, size_t n);

#endif
