/* Products of small matrices, tile by tile in registers: a library's call costs them a good part of
 * their time. */
#include "kernels/cpu/matmul/small.h"

#if GP_TILES
enum { BYTES = 64, ROWS = 8, WIDE = 4 }; /* of a vector; most rows and vectors of a tile */

/* c (rows x 4 vectors, or fewer) = a b: every element of a meets the vectors of one row of b, and
 * the sums stay in registers. */
#define TILE(T, t)                                                                                 \
    typedef T vec_##t __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias));          \
    static inline __attribute__((always_inline)) void tile_##t(                                    \
        int rows, int vectors, const T *a, int64_t rs, int64_t cs, const T *b, int64_t bs, T *c,   \
        int64_t n, int64_t k) {                                                                    \
        enum { L = BYTES / sizeof(T) };                                                            \
        vec_##t s[ROWS][WIDE] = {0}, v[WIDE];                                                      \
        for (int64_t l = 0; l < k; l++, b += bs) {                                                 \
            _Pragma("GCC unroll 8") for (int j = 0; j < vectors; j++) v[j] =                       \
                *(const vec_##t *)(b + j * L);                                                     \
            _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++) {                               \
                T f = a[r * rs + l * cs];                                                          \
                _Pragma("GCC unroll 8") for (int j = 0; j < vectors; j++) s[r][j] += f * v[j];     \
            }                                                                                      \
        }                                                                                          \
        _Pragma("GCC unroll 8") for (int r = 0; r < rows; r++)                                     \
                _Pragma("GCC unroll 8") for (int j = 0; j < vectors; j++) *                        \
            (vec_##t *)(c + r * n + j * L) = s[r][j];                                              \
    }                                                                                              \
    static inline __attribute__((always_inline)) void strip_##t(                                   \
        int rows, int vectors, int64_t m, int64_t n, int64_t k, const T *a, int64_t rs,            \
        int64_t cs, const T *b, int64_t bs, T *c) {                                                \
        int64_t i = 0;                                                                             \
        for (; i + rows <= m; i += rows)                                                           \
            tile_##t(rows, vectors, a + i * rs, rs, cs, b, bs, c + i * n, n, k);                   \
        for (; i + 2 <= m; i += 2)                                                                 \
            tile_##t(2, vectors, a + i * rs, rs, cs, b, bs, c + i * n, n, k);                      \
        if (i < m) tile_##t(1, vectors, a + i * rs, rs, cs, b, bs, c + i * n, n, k);               \
    }                                                                                              \
    void gp_tiles_##t(int64_t m, int64_t n, int64_t k, const T *a, int64_t rs, int64_t cs,         \
                      const T *b, int64_t bs, T *c) {                                              \
        enum { L = BYTES / sizeof(T) };                                                            \
        int64_t j = 0;                                                                             \
        for (; j + 4 * L <= n; j += 4 * L) strip_##t(6, 4, m, n, k, a, rs, cs, b + j, bs, c + j);  \
        for (; j + 2 * L <= n; j += 2 * L) strip_##t(8, 2, m, n, k, a, rs, cs, b + j, bs, c + j);  \
        for (; j + L <= n; j += L) strip_##t(8, 1, m, n, k, a, rs, cs, b + j, bs, c + j);          \
    }
TILE(float, f32)
TILE(double, f64)
#endif
