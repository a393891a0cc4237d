/* Characters as people see them: a letter with its accents, an emoji sequence, a flag. Widths are
 * those of the current locale. */
#ifndef GP_CLUSTER_H
#define GP_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

/* The character that starts at s: its length in bytes (1 for what is none), and the columns it
 * takes in *width. */
size_t gp_cluster(const char *s, int *width);

/*
 * The line editor counts columns by code point, and those without width here as one and there as
 * none. So it gets, for each character that is more than one plain code point, a single code point
 * of the same width that stands for it until gp_cluster_forget. Both results are malloc'ed; NULL
 * without
 * memory. */
wchar_t *gp_cluster_encode(const char *text);
/* The text of n of the editor's code points; *at, an index of one, becomes a place in it, in
 * bytes. */
char *gp_cluster_decode(const wchar_t *line, size_t n, size_t *at);
/* The same with the code points as they are: what the editor believes to be on the screen. */
char *gp_cluster_cells(const wchar_t *line, size_t n, size_t *at);
/* May any of n code points stand for another, or should it: a control character that was typed? */
bool gp_cluster_any(const wchar_t *line, size_t n);
void gp_cluster_forget(void);

/* Would c, at text[at], be part of a character of several code points? */
bool gp_cluster_joins(const char *text, size_t at, wchar_t c);

/* What the terminal gets for the editor's code point c: NULL for c itself, "?" for what would steer
 * it or turn the text. */
const char *gp_cluster_shown(wchar_t c);

#endif
