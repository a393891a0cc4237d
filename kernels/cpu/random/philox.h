/* Philox's words for many counters at once: compilers do not turn the loop of gp_philox in
 * tensor/rng.h into the processor's widening multiplications. */
#ifndef GP_CPU_PHILOX_H
#define GP_CPU_PHILOX_H

#include "tensor/rng.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
enum { PHILOX_GROUPS = 4, PHILOX_LANES = 8 };
typedef __m512i philox_vec;
#define PHILOX(f) _mm512_##f
#define PHILOX_XOR(a, b, c) _mm512_ternarylogic_epi64(a, b, c, 0x96)
#define PHILOX_ODD(a, b) _mm512_mask_shuffle_epi32(a, 0xAAAA, b, _MM_PERM_CCAA)
#define PHILOX_FIRST _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7)
#define PHILOX_PLAIN _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7)
#define PHILOX_PUT(p, v) _mm512_storeu_si512(p, v)
#elif defined(__AVX2__)
enum { PHILOX_GROUPS = 2, PHILOX_LANES = 4 };
typedef __m256i philox_vec;
#define PHILOX(f) _mm256_##f
#define PHILOX_XOR(a, b, c) _mm256_xor_si256(_mm256_xor_si256(a, c), b)
#define PHILOX_ODD(a, b) _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xAA)
#define PHILOX_FIRST _mm256_setr_epi64x(0, 2, 1, 3)
#define PHILOX_PLAIN _mm256_setr_epi64x(0, 1, 2, 3)
#define PHILOX_PUT(p, v) _mm256_storeu_si256((__m256i *)(p), v)
#endif

#if defined(__AVX2__)
#if defined(__AVX512F__)
#define PHILOX_ALL(x) _mm512_set1_epi64((int64_t)(x))
#define PHILOX_HIGH(x) _mm512_shuffle_epi32(x, _MM_PERM_DDBB)
#else
#define PHILOX_ALL(x) _mm256_set1_epi64x((int64_t)(x))
#define PHILOX_HIGH(x) _mm256_shuffle_epi32(x, 0xF5)
#endif
/* A counter in each 64-bit lane: only the lower half of a lane counts, and multiplications read
 * nothing else. Lanes hold the counters in the order in which the words are interleaved at the end.
 * Several groups of lanes hide the latency of a multiplication. With `second`, every second word
 * goes there, and only the others to w. */
static inline void philox_some(uint64_t key, uint64_t hi, uint64_t at, uint32_t *w,
                               uint32_t *second) {
    philox_vec c0[PHILOX_GROUPS], c1[PHILOX_GROUPS], c2[PHILOX_GROUPS], c3[PHILOX_GROUPS];
    const philox_vec m0 = PHILOX_ALL(0xD2511F53u), m1 = PHILOX_ALL(0xCD9E8D57u);
    for (int j = 0; j < PHILOX_GROUPS; j++) {
        c0[j] = PHILOX(add_epi64)(second ? PHILOX_PLAIN : PHILOX_FIRST,
                                  PHILOX_ALL(at + (uint64_t)(j * PHILOX_LANES)));
        c1[j] = PHILOX_HIGH(c0[j]);
        c2[j] = PHILOX_ALL((uint32_t)hi), c3[j] = PHILOX_ALL(hi >> 32);
    }
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
#pragma GCC unroll 10
    for (int i = 0; i < 10; i++) {
        philox_vec a = PHILOX_ALL(k0), b = PHILOX_ALL(k1);
#pragma GCC unroll 4
        for (int j = 0; j < PHILOX_GROUPS; j++) {
            philox_vec p0 = PHILOX(mul_epu32)(c0[j], m0), p1 = PHILOX(mul_epu32)(c2[j], m1);
            c0[j] = PHILOX_XOR(PHILOX_HIGH(p1), c1[j], a);
            c2[j] = PHILOX_XOR(PHILOX_HIGH(p0), c3[j], b);
            c1[j] = p1, c3[j] = p0;
        }
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    for (int j = 0; second && j < PHILOX_GROUPS; j++) {
        PHILOX_PUT(w + 2 * j * PHILOX_LANES, PHILOX_ODD(c0[j], c2[j]));
        PHILOX_PUT(second + 2 * j * PHILOX_LANES, PHILOX_ODD(c1[j], c3[j]));
    }
    for (int j = 0; !second && j < PHILOX_GROUPS; j++) {
        philox_vec l = PHILOX_ODD(c0[j], c1[j]), h = PHILOX_ODD(c2[j], c3[j]);
        uint32_t *o = w + 4 * j * PHILOX_LANES;
        PHILOX_PUT(o, PHILOX(unpacklo_epi64)(l, h));
        PHILOX_PUT(o + 2 * PHILOX_LANES, PHILOX(unpackhi_epi64)(l, h));
    }
}
enum { PHILOX_SOME = PHILOX_GROUPS * PHILOX_LANES };
#else
/* Words are interleaved, so that the compiler may take several counters at a time. */
enum { PHILOX_SOME = 64 };
static inline void philox_some(uint64_t key, uint64_t hi, uint64_t at, uint32_t *w,
                               uint32_t *second) {
    uint32_t c0[PHILOX_SOME], c1[PHILOX_SOME], c2[PHILOX_SOME], c3[PHILOX_SOME];
    for (int i = 0; i < PHILOX_SOME; i++) {
        uint64_t lo = at + (uint64_t)i;
        c0[i] = (uint32_t)lo, c1[i] = (uint32_t)(lo >> 32);
        c2[i] = (uint32_t)hi, c3[i] = (uint32_t)(hi >> 32);
    }
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int r = 0; r < 10; r++) {
        for (int i = 0; i < PHILOX_SOME; i++) {
            uint64_t p0 = (uint64_t)0xD2511F53u * c0[i], p1 = (uint64_t)0xCD9E8D57u * c2[i];
            c0[i] = (uint32_t)(p1 >> 32) ^ c1[i] ^ k0;
            c2[i] = (uint32_t)(p0 >> 32) ^ c3[i] ^ k1;
            c1[i] = (uint32_t)p1;
            c3[i] = (uint32_t)p0;
        }
        k0 += 0x9E3779B9u, k1 += 0xBB67AE85u;
    }
    for (int i = 0; second && i < PHILOX_SOME; i++)
        w[2 * i] = c0[i], w[2 * i + 1] = c2[i], second[2 * i] = c1[i], second[2 * i + 1] = c3[i];
    for (int i = 0; !second && i < PHILOX_SOME; i++)
        w[4 * i] = c0[i], w[4 * i + 1] = c1[i], w[4 * i + 2] = c2[i], w[4 * i + 3] = c3[i];
}
#endif

/* Four words each for n counters (hi, at) … under key; n is a multiple of 64. */
static inline void philox_block(uint64_t key, uint64_t hi, uint64_t at, int64_t n, uint32_t *w) {
    for (int64_t i = 0; i < n; i += PHILOX_SOME)
        philox_some(key, hi, at + (uint64_t)i, w + 4 * i, NULL);
}

/* The same words in pairs: the first of each, and the second. */
static inline void philox_pairs(uint64_t key, uint64_t hi, uint64_t at, int64_t n, uint32_t *first,
                                uint32_t *second) {
    for (int64_t i = 0; i < n; i += PHILOX_SOME)
        philox_some(key, hi, at + (uint64_t)i, first + 2 * i, second + 2 * i);
}

#endif
