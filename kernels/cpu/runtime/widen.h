/* Vectors of 16-bit elements, each as 32 bits. GCC 12 makes four instructions of a conversion that
 * the processor does in one. */
#ifndef GP_CPU_WIDEN_H
#define GP_CPU_WIDEN_H

#include <stdint.h>

#if defined(__AVX512F__)
#include <immintrin.h>
typedef uint32_t gp_wide __attribute__((vector_size(64), aligned(4), may_alias));
#elif defined(__AVX2__)
#include <immintrin.h>
typedef uint32_t gp_wide __attribute__((vector_size(32), aligned(4), may_alias));
#else
typedef uint32_t gp_wide __attribute__((vector_size(16), aligned(4), may_alias));
#endif
enum { GP_WIDE = sizeof(gp_wide) / 4 };

/* GP_WIDE elements from p on. */
static inline __attribute__((always_inline)) gp_wide gp_widen(const void *p) {
#if defined(__AVX512F__)
    return (gp_wide)_mm512_cvtepu16_epi32(_mm256_loadu_si256(p));
#elif defined(__AVX2__)
    return (gp_wide)_mm256_cvtepu16_epi32(_mm_loadu_si128(p));
#else
    typedef uint16_t half __attribute__((vector_size(8), aligned(1), may_alias));
    return __builtin_convertvector(*(const half *)p, gp_wide);
#endif
}
/* Pairs of elements, those from a on in the lower halves. */
static inline __attribute__((always_inline)) gp_wide gp_widen_pair(const void *a, const void *b) {
    return gp_widen(a) | gp_widen(b) << 16;
}

#endif
