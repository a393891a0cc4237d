/* The one place that makes text from outside (names of files and regions, messages, keys of a file)
 * safe to print: what a terminal would obey instead of showing, and what it would not show, becomes
 * an escape, as in Lua. */
#ifndef GP_SAFE_TEXT_H
#define GP_SAFE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

enum { GP_SAFE_MAX = 12 }; /* bytes of one piece, with its end */

/* Takes the next character from *s, which ends at `end`, and writes it to out as a string: as it
 * is, or escaped. Escaped are control characters (\x1b, \u{9b}), those of gp_hides_text
 * (\u{202e}) and bytes that are control characters outside UTF-8 (\x9b); line feeds and tabs only
 * if !lines. Returns the bytes written, 0 at the end. Safe in signal handlers. */
size_t gp_safe_next(const char **s, const char *end, bool lines, char out[GP_SAFE_MAX]);

/* Whether the code point is a mark, embedding, override or isolate of the writing direction: text
 * is shown in another order than it is stored. */
bool gp_turns_text(unsigned c);
/* The same, and code points that show nothing, or a new line that no one wrote: separators of
 * lines, characters of no width, tags. Not the joiners U+200C and U+200D, which emoji and Persian
 * need. */
bool gp_hides_text(unsigned c);

/* The code point at text, of n bytes, in *code, also where it is written with too many bytes.
 * Returns its length in bytes, 0 if it is not UTF-8. */
size_t gp_text_code(const char *text, size_t n, unsigned *code);

/* text as one line in buf, which has n bytes: as many whole pieces as fit. Returns buf. */
char *gp_safe_text(const char *text, char *buf, size_t n);

#endif
