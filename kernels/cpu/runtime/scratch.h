/* Working memory that a thread keeps from kernel to kernel, so that small calls pay neither malloc
 * nor page faults. */
#ifndef GP_CPU_SCRATCH_H
#define GP_CPU_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

/* Three blocks a thread: a kernel that shares work out holds CALL, the pieces that run (perhaps on
 * the same thread) hold PART, and a product that either asks for holds GEMM. */
typedef enum gp_scratch_slot {
    GP_SCRATCH_CALL,
    GP_SCRATCH_PART,
    GP_SCRATCH_GEMM,
    GP_SCRATCH_SLOTS
} gp_scratch_slot;

/* At least bytes, 64-byte aligned, contents undefined; the thread's own until its next call for the
 * same slot. NULL when out of memory. */
void *gp_scratch(gp_scratch_slot slot, size_t bytes);

/* Bytes up to the end of a line of the cache, for pieces of one block. */
static inline int64_t gp_whole_lines(int64_t bytes) { return (bytes + 63) / 64 * 64; }

#endif
