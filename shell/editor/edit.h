/* Changes of an edited text that need no terminal: indentation, pasted text, a query, undo. */
#ifndef GP_EDIT_H
#define GP_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

enum { GP_INDENT = 4 };

/* A text, malloc'ed, and a place in it. */
typedef struct gp_edit {
    char *text;
    size_t cursor; /* bytes */
} gp_edit;

/* text with a line end at the cursor: the line that ends is brought out where it closes a block,
 * the new one is indented. */
gp_edit gp_edit_newline(const char *text, size_t cursor);

/* The last line of a finished block, brought out where it closes one; text is NULL where nothing
 * changes. */
gp_edit gp_edit_finish(const char *text);

/* text with a key's character at the cursor. */
gp_edit gp_edit_insert(const char *text, size_t cursor, wchar_t key);

/* Pasted bytes as they go into the text, changed in place: line ends are \n, none at the end; no
 * control characters; and when the first line starts with a prompt, no prompts, and nothing of what
 * was printed: lines without a prompt after a chunk that is complete. */
void gp_edit_clean(char *pasted, bool complete(void *ctx, const char *text), void *ctx);

/* Where the line that holds byte `at` starts, and where it ends (its \n or the text's end). */
size_t gp_edit_line_start(const char *text, size_t at);
size_t gp_edit_line_end(const char *text, size_t at);

/* How many characters (grapheme.h) the first n bytes of text are. */
int gp_edit_characters(const char *text, size_t n);
/* The place in the line that starts at `line` with the cursor's column, or its end. */
size_t gp_edit_same_column(const char *text, size_t cursor, size_t line);

/* Adds a key to the query or takes the last character off; false for a key that is not for it. */
bool gp_edit_query(char query[128], wchar_t key);

/* Notes the text before each key; what was typed word by word is undone word by word. */
void gp_undo_note(const char *text, size_t cursor);
/* The text before the last change, or NULL; the caller's. */
gp_edit gp_undo_back(void);
/* A new text begins. */
void gp_undo_reset(void);

#endif
