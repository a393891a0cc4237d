/* Small host blocks cached by each thread: allocated and freed without a lock. Used by alloc.c
 * only. */
#ifndef GP_MAGAZINE_H
#define GP_MAGAZINE_H

#include "tensor/memory/alloc.h"

enum { GP_SMALL_CLASSES = 48 }; /* up to 16 KiB a block */

/* A cached block of that class, or NULL. The caller counts it as in use until gp_magazine_push. */
gp_storage *gp_magazine_pop(int size_class);
/* Caches st; false if this thread holds enough of its class. */
bool gp_magazine_push(gp_storage *st);
/* Adds the blocks that all threads' magazines have handed out and hold to s. */
void gp_magazine_stats(gp_mem_stats *s);
/* Takes the blocks of a thread that ends, and its count of bytes in use. Set by alloc.c. */
extern void (*gp_magazine_leave)(gp_storage *list, const gp_mem_stats *counts);

#endif
