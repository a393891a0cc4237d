/* The text of a trace's file, unpacked where gzip packed it. */
#ifndef GP_LOAD_INPUT_H
#define GP_LOAD_INPUT_H

#include <stddef.h>
#include <stdint.h>

/* The file's bytes and a 0, malloc'd; *n is their number. NULL with a message that begins with
 * "profile.load": it cannot be read, is damaged, has more than max bytes, or interrupted. */
char *gp_load_text(const char *file, uint64_t max, size_t *n);

#endif
