/* Host memory for tensors and for Lua's largest tables: 64-byte aligned, huge pages for large
 * blocks. */
#ifndef GP_HOSTMEM_H
#define GP_HOSTMEM_H

#include <stdbool.h>
#include <stddef.h>

/* The address space that the program's libraries take with `threads` threads, in MiB: with 1 to 16,
 * a first product and a first convolution took 390, 590, 780, 1170 and 1760. */
static inline size_t gp_library_mib(int threads) { return 400 + 104 * (size_t)threads; }

/* NULL when out of memory, or where a limit of address space (ulimit -v) would leave too little for
 * the libraries: oneDNN crashes, and libgomp ends the program, where memory fails. Blocks of 2 MiB
 * and more are mapped separately with huge pages, which saves most page faults. */
void *gp_host_alloc(size_t bytes);
/* p: NULL is ignored; bytes as given to gp_host_alloc. */
void gp_host_free(void *p, size_t bytes);

/* For blocks of 2 MiB and more: */
/* Unmaps what follows the first `to` bytes (2 MiB or more, and no more than bytes), the block's new
 * size. */
void gp_host_shrink(void *p, size_t bytes, size_t to);
/* Moves the contents, by remapping pages, to the start of the larger block `to`; p is freed. */
void gp_host_move(void *p, size_t bytes, void *to);

/* Bytes that tensors may use: nine tenths of the memory of the machine, or of the container. */
size_t gp_host_capacity(void);

/* Bytes that the process may still write to for the first time before the memory of the machine, or
 * of the container, is short; reads the kernel's files. SIZE_MAX: they do not say. */
size_t gp_host_free_bytes(void);
/* How many of these bytes are in pages that were not written yet. */
size_t gp_host_untouched(const void *p, size_t bytes);
/* Gives the pages of a block of 2 MiB and more back; its contents are lost, the block stays.
 * Smaller ones are left. */
void gp_host_empty(void *p, size_t bytes);

/* Whether the process has a limit of address space (ulimit -v). */
bool gp_host_limited(void);

#endif
