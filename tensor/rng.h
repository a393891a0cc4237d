/* Philox4x32-10: counter-based random numbers, the same on every device and for any number of threads. */
#ifndef GP_RNG_H
#define GP_RNG_H

#include <stdint.h>

/* Four random words for counter (hi, lo) under key. Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. */
static inline void gp_philox(uint64_t key, uint64_t hi, uint64_t lo, uint32_t out[4]) {
    uint32_t c0 = (uint32_t)lo, c1 = (uint32_t)(lo >> 32), c2 = (uint32_t)hi, c3 = (uint32_t)(hi >> 32);
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int i = 0; i < 10; i++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

#endif
