/* Stores that bypass the caches: data larger than these is not read soon, and a plain store would
 * first fetch the line that it overwrites. */
#ifndef GP_CPU_STREAM_H
#define GP_CPU_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX__)
#include <immintrin.h>
#endif

/* Results from this size on are streamed. */
enum { STREAM_BYTES = 16 << 20 };

/* Whether results of `all` bytes are streamed row by row: in rows of whole lines, or in long ones.
 * A line that two rows share is fetched, and written twice. */
static inline int stream_rows(int64_t row, int64_t all) {
    enum { LINE = 64, SHORT_ROW = 256, LONG_ROW = 8192 };
    return all >= STREAM_BYTES && row >= (row % LINE ? LONG_ROW : SHORT_ROW);
}

/* Whether a block's operands are prefetched where the result is not streamed. It pays with AVX-512,
 * as measured on Cooper Lake; on Zen 3 comparisons took 1.2 times as long. */
#if defined(__AVX512F__)
enum { FETCH_OPERANDS = 1 };
#else
enum { FETCH_OPERANDS = 0 };
#endif

/* Prefetches the next block: the hardware stops at the page's end. Prefetching past the last
 * element does no harm. */
static inline void fetch_block(const char *p, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(p + i);
}

/* Copies a block to dst. Meanwhile it prefetches the operands' next blocks, as long as this one:
 * else no loads would run while the stores drain. Call stream_end after the last block. */
static inline void stream_out(char *dst, const char *src, size_t bytes, const char *const *next,
                              int n) {
#if defined(__AVX__)
    size_t i = 0, head = -(uintptr_t)dst & 31;
    if (head > bytes) head = bytes;
    memcpy(dst, src, head);
    for (i = head; i + 64 <= bytes; i += 64) {
        for (int k = 0; k < n; k++) _mm_prefetch(next[k] + i, _MM_HINT_T0);
        __m256i a = _mm256_loadu_si256((const __m256i *)(src + i));
        __m256i b = _mm256_loadu_si256((const __m256i *)(src + i + 32));
        _mm256_stream_si256((__m256i *)(dst + i), a);
        _mm256_stream_si256((__m256i *)(dst + i + 32), b);
    }
    memcpy(dst + i, src + i, bytes - i);
#else
    memcpy(dst, src, bytes);
#endif
}

/* Makes streamed stores visible before the work is reported as done. */
static inline void stream_end(void) {
#if defined(__AVX__)
    _mm_sfence();
#endif
}

#endif
