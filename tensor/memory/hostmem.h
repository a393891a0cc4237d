/* Host memory for tensors and for Lua's largest tables: 64-byte aligned, huge pages for large
 * blocks. */
#ifndef GP_HOSTMEM_H
#define GP_HOSTMEM_H

#include <stddef.h>

/* NULL when out of memory. Blocks of 2 MiB and more are mapped separately with huge pages, which
 * saves most page faults. */
void *gp_host_alloc(size_t bytes);
/* bytes as given to gp_host_alloc. */
void gp_host_free(void *p, size_t bytes);

/* For blocks of 2 MiB and more: */
/* Unmaps what follows the first `to` bytes (2 MiB or more, and no more than bytes), the block's new
 * size. */
void gp_host_shrink(void *p, size_t bytes, size_t to);
/* Moves the contents, by remapping pages, to the start of the larger block `to`; p is freed. */
void gp_host_move(void *p, size_t bytes, void *to);

/* Bytes that tensors may use: nine tenths of the memory of the machine, or of the container. */
size_t gp_host_capacity(void);

#endif
