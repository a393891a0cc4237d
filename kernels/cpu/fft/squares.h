/* Shuffles in registers, only for 32-byte vectors, with which they were measured. Squares are
 * transposed: a pass of radix 8 over rows of one element writes its outputs through them, where
 * GCC's own interleaving of eight takes three times as many shuffles. Vectors are reversed, and
 * interleaved as pairs, for a real line's spectrum. */
#ifndef GP_CPU_FFT_SQUARES_H
#define GP_CPU_FFT_SQUARES_H

#include <string.h>

#if defined(__AVX__) && !defined(__AVX512F__)
#define GP_FFT_SQUARES 1
#else
#define GP_FFT_SQUARES 0
#endif

#if GP_FFT_SQUARES
#define UNROLLED _Pragma("GCC unroll 8")

typedef float gp_fft_v8 __attribute__((vector_size(32)));
typedef double gp_fft_v4 __attribute__((vector_size(32)));
#define GP_FFT_V_f32 gp_fft_v8
#define GP_FFT_V_f64 gp_fft_v4

/* y[8 j + k] = x[8 k + j] for k, j < 8. */
static inline void gp_fft_turn_f32(const float *x, float *y) {
    gp_fft_v8 a[8], b[8];
    UNROLLED for (int i = 0; i < 8; i++) memcpy(&a[i], x + 8 * i, sizeof a[i]);
    UNROLLED for (int i = 0; i < 8; i += 2) {
        b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
        b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
    }
    UNROLLED for (int i = 0; i < 8; i += 4) UNROLLED for (int k = 0; k < 2; k++) {
        gp_fft_v8 low = b[i + k], high = b[i + 2 + k];
        a[i + 2 * k] = __builtin_shufflevector(low, high, 0, 1, 8, 9, 4, 5, 12, 13);
        a[i + 2 * k + 1] = __builtin_shufflevector(low, high, 2, 3, 10, 11, 6, 7, 14, 15);
    }
    UNROLLED for (int i = 0; i < 4; i++) {
        b[i] = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        b[i + 4] = __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    UNROLLED for (int i = 0; i < 8; i++) memcpy(y + 8 * i, &b[i], sizeof b[i]);
}

/* y[8 j + k] = x[4 k + j] for k < 8, j < 4. */
static inline void gp_fft_turn_f64(const double *x, double *y) {
    UNROLLED for (int half = 0; half < 8; half += 4) {
        gp_fft_v4 a[4], b[4];
        UNROLLED for (int i = 0; i < 4; i++) memcpy(&a[i], x + 4 * (half + i), sizeof a[i]);
        UNROLLED for (int i = 0; i < 4; i += 2) {
            b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 4, 2, 6);
            b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 5, 3, 7);
        }
        UNROLLED for (int i = 0; i < 2; i++) {
            a[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 4, 5);
            a[i + 2] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 6, 7);
        }
        UNROLLED for (int j = 0; j < 4; j++) memcpy(y + 8 * j + half, &a[j], sizeof a[j]);
    }
}

/* x from its last element to its first. */
static inline gp_fft_v8 gp_fft_reverse_f32(gp_fft_v8 x) {
    return __builtin_shufflevector(x, x, 7, 6, 5, 4, 3, 2, 1, 0);
}

static inline gp_fft_v4 gp_fft_reverse_f64(gp_fft_v4 x) {
    return __builtin_shufflevector(x, x, 3, 2, 1, 0);
}

/* Pairs of x and y to out; back: from the last to the first. */
static inline void gp_fft_pairs_f32(gp_fft_v8 x, gp_fft_v8 y, float *out) {
    gp_fft_v8 a = __builtin_shufflevector(x, y, 0, 8, 1, 9, 4, 12, 5, 13),
              b = __builtin_shufflevector(x, y, 2, 10, 3, 11, 6, 14, 7, 15),
              low = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11),
              high = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    memcpy(out, &low, sizeof low), memcpy(out + 8, &high, sizeof high);
}

static inline void gp_fft_pairs_back_f32(gp_fft_v8 x, gp_fft_v8 y, float *out) {
    gp_fft_v8 a = __builtin_shufflevector(x, y, 0, 8, 1, 9, 4, 12, 5, 13),
              b = __builtin_shufflevector(x, y, 2, 10, 3, 11, 6, 14, 7, 15),
              high = __builtin_shufflevector(b, a, 4, 5, 6, 7, 12, 13, 14, 15),
              low = __builtin_shufflevector(b, a, 0, 1, 2, 3, 8, 9, 10, 11);
    high = __builtin_shufflevector(high, high, 2, 3, 0, 1, 6, 7, 4, 5);
    low = __builtin_shufflevector(low, low, 2, 3, 0, 1, 6, 7, 4, 5);
    memcpy(out, &high, sizeof high), memcpy(out + 8, &low, sizeof low);
}

static inline void gp_fft_pairs_f64(gp_fft_v4 x, gp_fft_v4 y, double *out) {
    gp_fft_v4 a = __builtin_shufflevector(x, y, 0, 4, 2, 6),
              b = __builtin_shufflevector(x, y, 1, 5, 3, 7),
              low = __builtin_shufflevector(a, b, 0, 1, 4, 5),
              high = __builtin_shufflevector(a, b, 2, 3, 6, 7);
    memcpy(out, &low, sizeof low), memcpy(out + 4, &high, sizeof high);
}

static inline void gp_fft_pairs_back_f64(gp_fft_v4 x, gp_fft_v4 y, double *out) {
    gp_fft_v4 a = __builtin_shufflevector(x, y, 0, 4, 2, 6),
              b = __builtin_shufflevector(x, y, 1, 5, 3, 7),
              high = __builtin_shufflevector(b, a, 2, 3, 6, 7),
              low = __builtin_shufflevector(b, a, 0, 1, 4, 5);
    memcpy(out, &high, sizeof high), memcpy(out + 4, &low, sizeof low);
}

#undef UNROLLED
#endif

#endif
