/* A set of byte strings, each stored once, so that equal contents have equal addresses. */
#ifndef GP_INTERN_H
#define GP_INTERN_H

#include <stddef.h>
#include <stdint.h>

typedef struct gp_intern gp_intern;

/* NULL when out of memory. */
gp_intern *gp_intern_new(void);
void gp_intern_free(gp_intern *set); /* NULL is fine */

/* The set's copy of n bytes, 8-byte aligned and followed by a NUL; lives as long as the set. NULL
 * when out of memory. Any thread may call. */
const void *gp_intern_add(gp_intern *set, const void *bytes, size_t n);
/* Bytes of a stored string. */
size_t gp_intern_size(const void *stored);

/* A hash of n bytes. */
uint64_t gp_intern_hash(const char *p, size_t n);

/* The copy of text in the set of the process, which is never freed: names of files, ops and
 * arguments. NULL when out of memory. Any thread may call. */
const char *gp_intern_text(const char *text);

#endif
