/* Sorting and prefix sums through CUB, each instance compiled once. */
#ifndef GP_CUDA_RADIX_H
#define GP_CUDA_RADIX_H

#include "kernels/cuda/runtime/kernel.h"

/* Sorts n pairs by the lowest `bits` bits of their keys, stably; *keys and *at (scratch memory of
 * c) are set to the result. False with a message. */
bool gp_cuda_sort32(const gp_call *c, uint32_t **keys, uint32_t **at, int64_t n, int bits);
bool gp_cuda_sort64(const gp_call *c, uint64_t **keys, uint32_t **at, int64_t n, int bits);
/* Replaces each of n numbers by the sum of those before it. */
bool gp_cuda_scan(const gp_call *c, int64_t *p, int64_t n);

/* Bits that the number n needs. */
static inline int gp_bits(uint64_t n) {
    int bits = 0;
    for (; n; n >>= 1) bits++;
    return bits;
}

#endif
