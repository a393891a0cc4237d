/* The text of a trace's file, or of standard input, unpacked where gzip packed it. */
#ifndef GP_LOAD_INPUT_H
#define GP_LOAD_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The file's bytes and a 0, malloc'd; *n is their number. file "-": standard input. *cut: the
 * packed data end early, and these are what came before. NULL with a message that begins with
 * "profile.load": it cannot be read, is damaged, has more than max bytes, or interrupted. */
char *gp_load_text(const char *file, uint64_t max, size_t *n, bool *cut);

#endif
