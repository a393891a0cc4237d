/* Numbers that kernels compute from their place in a grid, for grids too large to be run here. */
#include "kernels/cuda/runtime/rows.cuh"
#include "tap.h"

/* The group number of a thread, and what it is in 64 bits. */
static void group_number(uint32_t block, uint32_t thread, int group) {
    blockIdx.x = block, threadIdx.x = thread, blockDim.x = GP_THREADS;
    uint64_t want = ((uint64_t)block * GP_THREADS + thread) / (uint64_t)group;
    tap_ok(gp_group_number(group) == want, "group of thread %u of block %u, %d threads a group",
           thread, block, group);
}

int main(void) {
    for (int group = 1; group <= GP_THREADS; group *= 2) {
        group_number(0, GP_THREADS - 1, group);
        group_number((1u << 24) - 1, GP_THREADS - 1, group); /* the last thread below 2^32 */
        if (group > 1) group_number((1u << 24) + 3, 33, group);
        if (group >= 32) group_number(1u << 26, 32, group);
    }
    return tap_done();
}
