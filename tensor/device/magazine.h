/* Small host blocks kept by each thread: handed out and taken back without a lock. Used by alloc.c
 * only. */
#ifndef GP_MAGAZINE_H
#define GP_MAGAZINE_H

#include "tensor/device/alloc.h"

enum { GP_SMALL_CLASSES = 48 }; /* up to 15 KiB a block */

/* A block of the class that this thread has put aside, or NULL. The caller counts it as in use
 * until gp_magazine_put. */
gp_storage *gp_magazine_take(int size_class);
/* Puts st aside; false if this thread holds enough of its class. */
bool gp_magazine_put(gp_storage *st);
/* Adds what all threads' magazines have handed out and hold to s. */
void gp_magazine_stats(gp_mem_stats *s);
/* Set by alloc.c: where a thread that ends leaves its blocks, and its count of bytes in use. */
extern void (*gp_magazine_leave)(gp_storage *list, const gp_mem_stats *counts);

#endif
