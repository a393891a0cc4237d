/* QR factorization: Householder's reflections, gathered in blocks I - V F V' whose products with
 * other columns are matrix products; each thread does its share of these columns. A block is
 * factored by halves, so that only a few columns at a time are reflected one by one. Source:
 * Elmroth and Gustavson, "Applying recursion to serial and parallel QR factorization", 2000. */
#include "kernels/cpu/linalg/qr.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/cpu/matmul/gemm.h"
#include "kernels/cpu/linalg/batch.h"

/* LEAF: columns that are reflected one by one. SHARE: columns worth a thread. LANES: sums of a dot
 * product. */
enum { BLOCK = GP_QR_BLOCK, HALF = BLOCK / 2, LEAF = 16, SHARE = 64, LANES = 32 };

/* A block of k reflections of m rows, and columns that it reflects. */
typedef struct block {
    const void *v, *f; /* m x k by columns, k x k by rows BLOCK apart */
    void *c, *work;    /* columns; 2 BLOCK elements for each */
    int64_t m, k, ld;  /* ld: between columns, of v as of c */
    bool transposed;   /* I - V F' V' */
} block;

#define REFLECT(T, t, SAFE)                                                                        \
    static T dot_##t(const T *x, const T *y, int64_t n) {                                          \
        T lane[LANES] = {0}, s = 0;                                                                \
        int64_t whole = n / LANES * LANES;                                                         \
        for (int64_t i = 0; i < whole; i += LANES)                                                 \
            for (int j = 0; j < LANES; j++) lane[j] += x[i + j] * y[i + j];                        \
        for (int j = 0; j < LANES; j++) s += lane[j];                                              \
        for (int64_t i = whole; i < n; i++) s += x[i] * y[i];                                      \
        return s;                                                                                  \
    }                                                                                              \
    static void subtract_##t(T *x, T by, const T *y, int64_t n) {                                  \
        for (int64_t i = 0; i < n; i++) x[i] -= by * y[i];                                         \
    }                                                                                              \
    /* A sum of squares within these bounds has lost none worth having. */                         \
    static double length_##t(const T *x, int64_t n) {                                              \
        double s = 0, most = 0;                                                                    \
        _Pragma("omp simd reduction(+ : s)") for (int64_t i = 0; i < n; i++) s +=                  \
            (double)x[i] * (double)x[i];                                                           \
        if (s > 0x1p-500 && s < 0x1p500) return sqrt(s);                                           \
        for (int64_t i = 0; i < n; i++) most = fmax(most, fabs((double)x[i]));                     \
        if (most == 0 || most > DBL_MAX) return s;                                                 \
        s = 0;                                                                                     \
        for (int64_t i = 0; i < n; i++) s += (double)x[i] / most * ((double)x[i] / most);          \
        return most * sqrt(s);                                                                     \
    }                                                                                              \
    /* The reflection I - tau v v' that takes column c to its first element, which it replaces;    \
     * v's first is 1. Small numbers are enlarged first: they have too few digits. */              \
    static T reflection_##t(T *c, T *v, int64_t n) {                                               \
        T up = 1;                                                                                  \
        double below = length_##t(c + 1, n - 1), all;                                              \
        v[0] = 1;                                                                                  \
        memset(v + 1, 0, (size_t)(n - 1) * sizeof(T));                                             \
        if (below == 0) return 0;                                                                  \
        all = hypot((double)c[0], below);                                                          \
        if (all < SAFE) {                                                                          \
            for (int64_t i = 0; i < n; i++) c[i] *= (T)(1 / SAFE);                                 \
            all = hypot((double)c[0], length_##t(c + 1, n - 1));                                   \
            up = (T)SAFE;                                                                          \
        }                                                                                          \
        T beta = (T)(signbit(c[0]) ? all : -all), far = c[0] - beta, tau = -far / beta;            \
        for (int64_t i = 1; i < n; i++) v[i] = c[i] / far;                                         \
        c[0] = beta * up;                                                                          \
        return tau;                                                                                \
    }                                                                                              \
    static void leaf_##t(int64_t m, int n, T *a, int64_t ld, T *v, T *f) {                         \
        for (int j = 0; j < n; j++) {                                                              \
            T *w = v + j * (ld + 1), *c = a + j * (ld + 1), x[LEAF];                               \
            const T tau = reflection_##t(c, w, m - j);                                             \
            for (int l = 1; l < n - j && tau != 0; l++)                                            \
                subtract_##t(c + l * ld, tau * dot_##t(c + l * ld, w, m - j), w, m - j);           \
            for (int i = 0; i < j; i++) x[i] = dot_##t(v + i * ld + j, w, m - j);                  \
            for (int i = 0; i < j; i++) {                                                          \
                T s = 0;                                                                           \
                for (int l = i; l < j; l++) s += f[i * BLOCK + l] * x[l];                          \
                f[i * BLOCK + j] = -tau * s;                                                       \
            }                                                                                      \
            f[j * BLOCK + j] = tau;                                                                \
        }                                                                                          \
    }                                                                                              \
    /* Of columns [begin, end): c -= V F V' c. By rows, as products are here, all is transposed. */\
    static void reflect_##t(void *ctx, int64_t begin, int64_t end) {                               \
        const block *b = ctx;                                                                      \
        int64_t n = end - begin, k = b->k;                                                         \
        T *c = (T *)b->c + begin * b->ld, *w = (T *)b->work + begin * 2 * BLOCK, *s = w + n * k;   \
        gp_blas_threads(1);                                                                        \
        gp_gemm_##t(false, true, n, k, b->m, c, b->ld, b->v, b->ld, 0, w, k);                      \
        gp_gemm_##t(false, !b->transposed, n, k, k, w, k, b->f, BLOCK, 0, s, k);                   \
        for (int64_t i = 0; i < n * k; i++) s[i] = -s[i];                                          \
        gp_gemm_##t(false, false, n, b->m, k, s, k, b->v, b->ld, 1, c, b->ld);                     \
    }                                                                                              \
    /* m x n, n <= BLOCK; v is zero above its diagonal, f all over. */                             \
    static void factor_##t(int64_t m, int n, T *a, int64_t ld, T *v, T *f, T *work) {              \
        if (n <= LEAF) {                                                                           \
            leaf_##t(m, n, a, ld, v, f);                                                           \
            return;                                                                                \
        }                                                                                          \
        int k = (n / 2 + LEAF - 1) / LEAF * LEAF, rest = n - k;                                    \
        T *right = a + k * ld, *low = v + k * (ld + 1), x[HALF * HALF], y[HALF * HALF];            \
        factor_##t(m, k, a, ld, v, f, work);                                                       \
        reflect_##t(&(block){v, f, right, work, m, k, ld, true}, 0, rest);                         \
        factor_##t(m - k, rest, right + k, ld, low, f + k * (BLOCK + 1), work);                    \
        /* F's upper right: -F1 (V1' V2) F2 */                                                     \
        gp_gemm_##t(false, true, k, rest, m - k, v + k, ld, low, ld, 0, x, rest);                  \
        gp_gemm_##t(false, false, k, rest, rest, x, rest, f + k * (BLOCK + 1), BLOCK, 0, y, rest); \
        for (int i = 0; i < k * rest; i++) y[i] = -y[i];                                           \
        gp_gemm_##t(false, false, k, rest, k, f, BLOCK, y, rest, 0, f + k, BLOCK);                 \
    }                                                                                              \
    void gp_qr_##t(int m, int n, T *a, int64_t ld, T *v, T *f, T *work) {                          \
        int low = m < n ? m : n;                                                                   \
        gp_blas_threads(1);                                                                        \
        for (int first = 0; first < low; first += BLOCK) {                                         \
            int k = low - first < BLOCK ? low - first : BLOCK;                                     \
            int64_t at = first * (ld + 1);                                                         \
            T *s = f + (int64_t)first * BLOCK;                                                     \
            memset(s, 0, (size_t)k * BLOCK * sizeof(T));                                           \
            for (int j = 0; j < k; j++) memset(v + at + j * ld, 0, (size_t)k * sizeof(T));         \
            factor_##t(m - first, k, a + at, ld, v + at, s, work);                                 \
            block b = {v + at, s, a + at + k * ld, work, m - first, k, ld, true};                  \
            gp_parallel(n - first - k, SHARE, reflect_##t, &b);                                    \
        }                                                                                          \
    }                                                                                              \
    void gp_qr_q_##t(int m, int k, int low, T *q, int64_t ld, const T *v, const T *f, T *work) {   \
        for (int64_t j = 0; j < k; j++) {                                                          \
            memset(q + j * ld, 0, (size_t)m * sizeof(T));                                          \
            q[j * (ld + 1)] = 1;                                                                   \
        }                                                                                          \
        gp_blas_threads(1);                                                                        \
        for (int first = (low - 1) / BLOCK * BLOCK; first >= 0; first -= BLOCK) {                  \
            int n = low - first < BLOCK ? low - first : BLOCK;                                     \
            int64_t at = first * (ld + 1);                                                         \
            block b = {v + at, f + (int64_t)first * BLOCK, q + at, work, m - first, n, ld, false}; \
            gp_parallel(k - first, SHARE, reflect_##t, &b);                                        \
        }                                                                                          \
    }
/* SAFE: lengths from which on a column keeps all its digits. */
REFLECT(float, f32, 0x1p-100)
REFLECT(double, f64, 0x1p-960)
