/* A walk over a mask in row-major order, in chunks that are counted first, so that each knows where
 * its part of the result begins. */
#ifndef GP_CPU_MASK_H
#define GP_CPU_MASK_H

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "kernels/cpu/sort/keys.h"

/* Elements of a chunk. */
enum { GP_MASK_CHUNK = 32768 };

typedef struct gp_mask_walk {
    gp_nd_loop loop; /* 0: nothing, in row-major order; 1: what is tested; 2: what is moved along,
                     if anything */
    gp_dtype tested;
    gp_nonzero truth; /* of that dtype */
    int64_t chunks;
    int64_t *before; /* chunks + 1: true elements before each chunk */
    const gp_array *x, *out, *values;
    size_t size;
} gp_mask_walk;

/* Sets up a walk over `tested` (and `moved`) broadcast to shape's dims, and counts. False with a
 * message; the caller frees w->before. */
#define gp_mask_walk_begin GP_NAME(gp_mask_walk_begin)
bool gp_mask_walk_begin(gp_mask_walk *w, const gp_array *shape, const gp_array *tested,
                        const gp_array *moved);

/* Called per piece of a row: p at the piece's first elements, at most GP_BLOCK of them, and their
 * truths; at: how many elements come before it. */
typedef void (*gp_mask_walk_fn)(const gp_mask_walk *w, char *const *p, const uint8_t *truth,
                                int64_t at, int64_t n, void *state);
#define gp_mask_walk_chunk GP_NAME(gp_mask_walk_chunk)
void gp_mask_walk_chunk(const gp_mask_walk *w, int64_t chunk, gp_mask_walk_fn fn, void *state);

/* True elements among begin … end - 1 in row-major order; needs loop and truth only. */
#define gp_mask_walk_count GP_NAME(gp_mask_walk_count)
int64_t gp_mask_walk_count(const gp_mask_walk *w, int64_t begin, int64_t end);

/* The count that shaped the output was taken from the same memory; what changed it since must not
 * make the kernel write further. False with a message. */
#define gp_mask_walk_count_is GP_NAME(gp_mask_walk_count_is)
bool gp_mask_walk_count_is(const gp_call *c, const gp_mask_walk *w, int64_t n);

#if defined(__SSE2__) && !defined(__AVX512F__)
/* Where the bits of a number below 16 are. */
static const _Alignas(16) int32_t gp_bits_at[16][4] = {
    {0}, {0},    {1},    {0, 1},    {2},    {0, 2},    {1, 2},    {0, 1, 2},
    {3}, {0, 3}, {1, 3}, {0, 1, 3}, {2, 3}, {0, 2, 3}, {1, 2, 3}, {0, 1, 2, 3}};
#endif

/* Where a piece's true elements are, from 0; found has room for n + 16. Returns how many. */
static inline int64_t gp_true_at(const uint8_t *truth, int64_t n, int32_t *found) {
    int64_t k = 0, i = 0;
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
    const __m512i step = _mm512_set1_epi32(16);
    __m512i at = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (; i + 16 <= n; i += 16, at = _mm512_add_epi32(at, step)) {
        __m128i t = _mm_loadu_si128((const __m128i *)(const void *)(truth + i));
        __mmask16 m = _mm_test_epi8_mask(t, t);
        _mm512_storeu_si512(found + k, _mm512_maskz_compress_epi32(m, at));
        k += __builtin_popcount(m);
    }
#elif defined(__SSE2__)
    for (; i + 16 <= n; i += 16) {
        __m128i t = _mm_loadu_si128((const __m128i *)(const void *)(truth + i));
        unsigned m = ~(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(t, _mm_setzero_si128()));
        for (int q = 0; q < 16; q += 4, m >>= 4) {
            __m128i bits = _mm_load_si128((const __m128i *)(const void *)gp_bits_at[m & 15]);
            _mm_storeu_si128((__m128i *)(void *)(found + k),
                             _mm_add_epi32(bits, _mm_set1_epi32((int)i + q)));
            k += __builtin_popcount(m & 15);
        }
    }
#endif
    for (; i < n; i++) {
        found[k] = (int32_t)i;
        k += truth[i];
    }
    return k;
}

#endif
