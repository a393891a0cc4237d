/* Products with many Householder reflections, in blocks: H(k) ... H(1) = I - V T V', V's columns
 * being their vectors and T lower triangular (LAPACK's larft, backward and by columns). LAPACK's
 * ormtr takes them 32 at a time and multiplies by triangles, at a quarter of the speed that large
 * products have; here columns of z are shared out, which wait for nothing. */
#include "kernels/cpu/linalg/reflectors.h"

#include <string.h>

#include "kernels/cpu/matmul/gemm.h"

enum { BLOCK = GP_TRIDIAG_BLOCK, PIECE = 128 /* columns of z, at most */ };

/* What LAPACK stores by columns is here a matrix of as many rows: vector i of V is row i of v, and
 * row i of tri is column i of -T. */
typedef struct reflections {
    const void *a, *tau;
    void *v, *tri, *z;
    int n, blocks, piece; /* piece: rows of z that are done together */
} reflections;

/* Reflection i has n - 1 > i: its vector's last element, of i + 1, is 1, and the others are above
 * the diagonal of a's column i + 1. */
#define BACK(T, t)                                                                                 \
    /* The lower triangle of -T (k x k, by columns) replaces that of the vectors' products with    \
     * each other: column i is -tau[i] T times theirs with vector i. */                            \
    static void triangle_##t(T *s, const T *tau, int k) {                                          \
        for (int i = k - 1; i >= 0; i--) {                                                         \
            T *col = s + i * BLOCK, sum[BLOCK] = {0};                                              \
            for (int j = i + 1; j < k; j++) {                                                      \
                const T by = tau[i] * col[j], *left = s + j * BLOCK;                               \
                for (int r = j; r < k; r++) sum[r] -= left[r] * by;                                \
            }                                                                                      \
            for (int r = 0; r < k; r++) col[r] = r < i ? 0 : r > i ? sum[r] : -tau[i];             \
        }                                                                                          \
    }                                                                                              \
    static void blocks_##t(void *ctx, int64_t begin, int64_t end) {                                \
        const reflections *f = ctx;                                                                \
        gp_blas_threads(1);                                                                        \
        for (int64_t b = begin; b < end; b++) {                                                    \
            int64_t n = f->n, first = b * BLOCK, rest = n - 1 - first,                             \
                    k = rest < BLOCK ? rest : BLOCK, len = first + k;                              \
            T *v = (T *)f->v + first * n, *s = (T *)f->tri + first * BLOCK;                        \
            for (int64_t i = first; i < len; i++) {                                                \
                T *row = (T *)f->v + i * n;                                                        \
                memcpy(row, (const T *)f->a + (i + 1) * n, (size_t)i * sizeof(T));                 \
                row[i] = 1;                                                                        \
                memset(row + i + 1, 0, (size_t)(len - i - 1) * sizeof(T));                         \
            }                                                                                      \
            gp_gemm_##t(false, true, k, k, len, v, n, v, n, 0, s, BLOCK);                          \
            triangle_##t(s, (const T *)f->tau + first, (int)k);                                    \
        }                                                                                          \
    }                                                                                              \
    /* Rows of z, from the first reflection to the last: z += ((z V) (-T)') V'. */                 \
    static void pieces_##t(void *ctx, int64_t begin, int64_t end) {                                \
        const reflections *f = ctx;                                                                \
        T w[2][PIECE * BLOCK];                                                                     \
        gp_blas_threads(1);                                                                        \
        for (int64_t u = begin; u < end; u++) {                                                    \
            int64_t n = f->n, at = u * f->piece, m = n - at < f->piece ? n - at : f->piece;        \
            T *z = (T *)f->z + at * n;                                                             \
            for (int64_t first = 0; first < n - 1; first += BLOCK) {                               \
                int64_t k = n - 1 - first < BLOCK ? n - 1 - first : BLOCK;                         \
                const T *v = (T *)f->v + first * n, *s = (T *)f->tri + first * BLOCK;              \
                gp_gemm_##t(false, true, m, k, first + k, z, n, v, n, 0, w[0], BLOCK);             \
                gp_gemm_##t(false, false, m, k, k, w[0], BLOCK, s, BLOCK, 0, w[1], BLOCK);         \
                gp_gemm_##t(false, false, m, first + k, k, w[1], BLOCK, v, n, 1, z, n);            \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    void gp_tridiag_back_##t(int n, const T *a, const T *tau, T *z, T *work) {                     \
        int count = (n + PIECE - 1) / PIECE;                                                       \
        reflections f = {.a = a, .tau = tau, .v = work, .tri = work + (int64_t)n * n, .z = z};     \
        f.n = n;                                                                                   \
        f.blocks = (n - 1 + BLOCK - 1) / BLOCK;                                                    \
        f.piece = (n + count - 1) / count;                                                         \
        gp_parallel(f.blocks, 1, blocks_##t, &f);                                                  \
        gp_parallel(count, 1, pieces_##t, &f);                                                     \
    }
BACK(float, f32)
BACK(double, f64)
