/* Vectors of 16-bit elements, each as 32 bits, and of f32 rounded to bf16. GCC 12 makes four
 * instructions of a conversion that the processor does in one. */
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
/* Bytes of a vector, and elements of 32 bits in one. */
enum { GP_VB = sizeof(gp_wide), GP_WIDE = GP_VB / 4 };

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
/* The bits of f32 that is not NaN, rounded to bf16. */
static inline __attribute__((always_inline)) gp_wide gp_rounded_number(gp_wide u) {
    return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}
/* Of any f32, as gp_f32_to_bf16 does. */
static inline __attribute__((always_inline)) gp_wide gp_rounded(gp_wide u) {
    typedef float vec __attribute__((vector_size(sizeof(gp_wide)), may_alias));
    gp_wide nan = (gp_wide)((vec)u != (vec)u);
    return (nan & (u | 0x400000)) >> 16 | (~nan & gp_rounded_number(u));
}
/* Stores two vectors of f32 as bf16; to may be any address. */
static inline __attribute__((always_inline)) void gp_store_rounded(void *to, gp_wide a, gp_wide b) {
#if defined(__AVX2__) && !defined(__AVX512F__)
    if (!_mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_UNORD_Q)))
        a = gp_rounded_number(a), b = gp_rounded_number(b);
    else
#endif
        a = gp_rounded(a), b = gp_rounded(b);
#if defined(__AVX512F__)
    _mm256_storeu_si256(to, _mm512_cvtepi32_epi16((__m512i)a));
    _mm256_storeu_si256((void *)((char *)to + 32), _mm512_cvtepi32_epi16((__m512i)b));
#elif defined(__AVX2__)
    __m256i both = _mm256_packus_epi32((__m256i)a, (__m256i)b);
    _mm256_storeu_si256(to, _mm256_permute4x64_epi64(both, 0xd8));
#else
    typedef uint16_t halves __attribute__((vector_size(16), aligned(1), may_alias));
    *(halves *)to = __builtin_shufflevector((halves)a, (halves)b, 0, 2, 4, 6, 8, 10, 12, 14);
#endif
}
/* Pairs of elements, those from a on in the lower halves. */
static inline __attribute__((always_inline)) gp_wide gp_widen_pair(const void *a, const void *b) {
    return gp_widen(a) | gp_widen(b) << 16;
}

#endif
