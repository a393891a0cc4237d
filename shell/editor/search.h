/* Searching the history by keys. */
#ifndef GP_SEARCH_H
#define GP_SEARCH_H

#include <stdbool.h>
#include <wchar.h>

/* Reads keys by read, which returns false at the end of the input, and shows what the history has
 * for them (gp_history_search) in place of the text `before`: Ctrl-R goes to the next one, Ctrl-S
 * back. Returns the first key that does not belong to the search; the text found is the editor's.
 */
wchar_t gp_search(const char *before, bool read(wchar_t *key));

#endif
