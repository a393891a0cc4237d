/* Changes of an edited text that need no terminal: indentation, pasted text, a query, undo. */
#ifndef GP_EDIT_H
#define GP_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

enum { GP_INDENT = 4 };

/* A text, malloc'ed, and a position in it. */
typedef struct gp_edit {
    char *text;
    size_t cursor; /* bytes */
} gp_edit;

/* text with a line end at the cursor: the line before it is unindented where it closes a block, the
 * new one is indented. */
gp_edit gp_edit_newline(const char *text, size_t cursor);

/* Unindents the last line of a finished block where it closes one; text is NULL where nothing
 * changes. */
gp_edit gp_edit_finish(const char *text);

/* text with a key's character at the cursor. */
gp_edit gp_edit_insert(const char *text, size_t cursor, wchar_t key);

/* Cleans pasted bytes in place: line ends become \n, none at the end; control characters are
 * removed; and when the first line starts with a prompt, of gpush, Python or IPython, prompts and
 * printed output (lines without a prompt after a complete chunk) are removed. */
void gp_edit_clean(char *pasted, bool complete(void *ctx, const char *text), void *ctx);

/* Whether a text starts so. */
bool gp_edit_is_session(const char *text);

/* The start of the line that contains byte `at`, and its end (its \n or the text's end). */
size_t gp_edit_line_start(const char *text, size_t at);
size_t gp_edit_line_end(const char *text, size_t at);

/* The number of characters (grapheme.h) in the first n bytes of text. */
int gp_edit_characters(const char *text, size_t n);
/* The position in the line that starts at `line` with the cursor's column, or its end. */
size_t gp_edit_same_column(const char *text, size_t cursor, size_t line);

/* Adds a key to the query or removes the last character; false for a key that does not belong to
 * it. */
bool gp_edit_query(char query[128], wchar_t key);

/* Records the text before each key; what was typed word by word is undone word by word. */
void gp_undo_note(const char *text, size_t cursor);
/* The text before the last change, or NULL; the caller frees it. */
gp_edit gp_undo_back(void);
/* Starts a new text. */
void gp_undo_reset(void);

#endif
