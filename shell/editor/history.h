/* Typed input: chunks of one or more lines, kept in a file that shells share. */
#ifndef GP_HISTORY_H
#define GP_HISTORY_H

#include <stddef.h>

/* Reads $XDG_STATE_HOME/gpush/history or ~/.local/state/gpush/history, which is made with mode
 * 0600; where that is impossible, the history lasts for this session only. */
void gp_history_open(void);

/* Adds a chunk, in memory and immediately in the file; not an empty one, one that starts with a
 * space, or one equal to the last. The first time that the file cannot be written, stderr says
 * why. */
void gp_history_add(const char *chunk);

/* Why the file is not written, or NULL; *path: the file's, NULL where neither variable names a
 * folder for it. */
const char *gp_history_error(const char **path);

/* The number of chunks, and the i-th, 0 being the oldest. */
int gp_history_count(void);
const char *gp_history_get(int i);

/* The index of the newest chunk before index `before` (or the oldest after it, with step 1) that
 * starts with the first n bytes of text and differs from `not_this`; -1 for none. */
int gp_history_find(int before, int step, const char *text, size_t n, const char *not_this);

/* The chunks that have the characters of text in this order: first those that have it as one piece,
 * then by how many others stand between; among equals this session's first, then the newest. Upper
 * and lower case are the same unless text has a letter in upper case. Returns their number; *order
 * has their indices, and the caller frees it (NULL: none). */
int gp_history_search(const char *text, int **order);

/* Frees all chunks and closes the file, which has every entry already. */
void gp_history_close(void);

#endif
