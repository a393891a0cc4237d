/* How tiles store bands as long rows without the elements between their rows: tile.inc stores by
 * FOLDED_t where FOLDS. Worth 1.65 at 1 to 32 channels, 32x28x28, and 1.06 at 128 to 128, 8x28x28
 * (one thread of an Emerald Rapids with AVX-512). */
#ifndef GP_CPU_CONV_FOLD_H
#define GP_CPU_CONV_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/cpu/runtime/widen.h"

/* A band as one long row: the first `width` of every `line` elements are outputs; 0: not folded. */
typedef struct gp_row_fold {
    int64_t line, width;
} gp_row_fold;

/* Vectors of a fold: lanes at the end of one row, and those at the start of the next. */
#if defined(__AVX512F__)
enum { FOLDS = true };
static inline unsigned first_lanes(int64_t n, int64_t all) {
    return n <= 0 ? 0 : (1u << (n < all ? n : all)) - 1;
}
#define FOLDED(T, store, M, V)                                                                     \
    EACH_V {                                                                                       \
        const int64_t position = at + v * L, col = position % f.line, gap = f.line - f.width;      \
        const unsigned all = first_lanes(len - position, L);                                       \
        const M end = (M)(first_lanes(f.width - col, L) & all),                                    \
                begin = (M)(~first_lanes(f.line - col, L) & all);                                  \
        T *row = (T *)to + position / f.line * f.width + col;                                      \
        EACH_O {                                                                                   \
            store(row + o * ystep, end, (V)acc[o][v]);                                             \
            if (begin) store(row + o * ystep - gap, begin, (V)acc[o][v]);                          \
        }                                                                                          \
    }
/* Lanes of m as bf16. */
static inline void store_lanes(void *to, __mmask16 m, gp_wide v) {
    _mm512_mask_cvtepi32_storeu_epi16(to, m, (__m512i)gp_rounded(v));
}
#define FOLDED_bf16 FOLDED(uint16_t, store_lanes, __mmask16, gp_wide)
#define FOLDED_f32 FOLDED(float, _mm512_mask_storeu_ps, __mmask16, __m512)
#define FOLDED_f64 FOLDED(double, _mm512_mask_storeu_pd, __mmask8, __m512d)
#define FOLDED_i64 FOLDED(int64_t, _mm512_mask_storeu_epi64, __mmask8, __m512i)
#else
enum { FOLDS = false };
#define FOLDED_bf16
#define FOLDED_f32
#define FOLDED_f64
#define FOLDED_i64
#endif

#endif
