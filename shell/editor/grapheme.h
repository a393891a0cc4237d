/* User-perceived characters: a letter with its accents, an emoji sequence, a flag. Widths depend on
 * the current locale. */
#ifndef GP_CLUSTER_H
#define GP_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

/* The character that starts at s: its length in bytes (1 for an invalid one), and its width in
 * *width. */
size_t gp_cluster(const char *s, int *width);

/* Encodes text for the line editor, which counts columns by code point, and code points of no width
 * inconsistently. Each character of more than one plain code point becomes a single code point of
 * its width, valid until gp_cluster_forget. Both results are malloc'ed; NULL without memory. */
wchar_t *gp_cluster_encode(const char *text);
/* The text of n of the editor's code points; *at, an index of one, becomes an offset in bytes. */
char *gp_cluster_decode(const wchar_t *line, size_t n, size_t *at);
/* The same with the replacements as they are: what the editor believes is on the screen. */
char *gp_cluster_cells(const wchar_t *line, size_t n, size_t *at);
/* Whether any of n code points is a replacement or needs one: a control character that was
 * typed. */
bool gp_cluster_any(const wchar_t *line, size_t n);
void gp_cluster_forget(void);

/* Whether c, at text[at], would be part of a character of several code points. */
bool gp_cluster_joins(const char *text, size_t at, wchar_t c);

/* What to send to the terminal for the editor's code point c: NULL for c itself, "?" for one that
 * would control it or reverse the text. */
const char *gp_cluster_shown(wchar_t c);

#endif
