/* LU factorization of a large matrix by rows: a panel of columns is turned, so that its columns are
 * dense, and factored by halves; then each thread brings its share of the columns behind it up to
 * date. Rows are dense, so exchanges and triangles, which take as long as the products in
 * OpenBLAS's getrf, are quick. */
#include "kernels/cpu/linalg/lu.h"

#include <float.h>
#include <string.h>

#include "kernels/cpu/matmul/gemm.h"
#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/matmul/packed.h"

/* LEAF: columns that are eliminated one by one. VECTORS: of a row of those that a triangle is
 * solved for at a time. CHUNK: right sides that are solved for together. SHARE: columns worth a
 * thread. */
enum { BLOCK = GP_LU_BLOCK, HALF = BLOCK / 2, LEAF = 8, VECTORS = 4, CHUNK = 64, SHARE = 160 };

/* One panel: what the columns beside it need. */
typedef struct step {
    void *a;           /* the matrix */
    const void *below; /* minus L's rows below the panel's triangle, k elements each */
    const int *pivot;
    int64_t n, ld, first, k; /* the panel's first column, and how many it has */
} step;

typedef struct equations {
    const void *lu;
    void *x; /* n x cols */
    const int *pivot;
    int64_t n, ld, cols;
} equations;

#define VECTOR(T, t)                                                                               \
    typedef T vec_##t __attribute__((vector_size(GP_VB), aligned(sizeof(T)), may_alias));
VECTOR(float, f32)
VECTOR(double, f64)

#define SWAP(T, t)                                                                                 \
    static inline void swap_rows_##t(T *x, T *y, int64_t n) {                                      \
        for (int64_t j = 0; x != y && j < n; j++) {                                                \
            const T was = x[j];                                                                    \
            x[j] = y[j];                                                                           \
            y[j] = was;                                                                            \
        }                                                                                          \
    }
SWAP(float, f32)
SWAP(double, f64)

/* ---- the panel, by columns ---- */

#define PANEL(T, t, TINY)                                                                          \
    static int largest_##t(const T *c, int m) {                                                    \
        T most = -1;                                                                               \
        _Pragma("omp simd reduction(max : most)") for (int i = 0; i < m; i++) {                    \
            const T size = c[i] < 0 ? -c[i] : c[i];                                                \
            most = size > most ? size : most;                                                      \
        }                                                                                          \
        for (int i = 0; i < m; i++)                                                                \
            if (c[i] == most || -c[i] == most) return i;                                           \
        return 0; /* all are NaN */                                                                \
    }                                                                                              \
    /* n columns of m elements, ld apart. Returns the first column, from 1, that has no pivot. */  \
    static int leaf_##t(int m, int n, T *a, int64_t ld, int *pivot) {                              \
        int info = 0;                                                                              \
        for (int j = 0; j < n; j++) {                                                              \
            T *c = a + j * ld;                                                                     \
            int at = pivot[j] = j + largest_##t(c + j, m - j);                                     \
            if (c[at] == 0) {                                                                      \
                info = info ? info : j + 1;                                                        \
                continue;                                                                          \
            }                                                                                      \
            for (int l = 0; l < n; l++) swap_rows_##t(a + l * ld + j, a + l * ld + at, 1);         \
            const T by = c[j], small = by > -TINY && by < TINY, scale = 1 / (small ? 1 : by);      \
            if (small)                                                                             \
                for (int i = j + 1; i < m; i++) c[i] /= by;                                        \
            _Pragma("omp simd") for (int i = j + 1; i < m; i++) c[i] *= scale;                     \
            for (int l = j + 1; l < n; l++) {                                                      \
                T *to = a + l * ld;                                                                \
                const T u = to[j];                                                                 \
                _Pragma("omp simd") for (int i = j + 1; i < m; i++) to[i] -= u * c[i];             \
            }                                                                                      \
        }                                                                                          \
        return info;                                                                               \
    }                                                                                              \
    /* Row exchanges [from, to) in n columns. */                                                   \
    static void exchange_##t(T *a, int n, int64_t ld, const int *pivot, int from, int to) {        \
        for (T *c = a; c < a + n * ld; c += ld)                                                    \
            for (int i = from; i < to; i++) swap_rows_##t(c + i, c + pivot[i], 1);                 \
    }                                                                                              \
    static int panel_##t(int m, int n, T *a, int64_t ld, int *pivot) {                             \
        if (n <= LEAF) return leaf_##t(m, n, a, ld, pivot);                                        \
        int k = (n / 2 + LEAF - 1) / LEAF * LEAF, info = panel_##t(m, k, a, ld, pivot);            \
        T *right = a + k * ld, low[HALF * HALF];                                                   \
        exchange_##t(right, n - k, ld, pivot, 0, k);                                               \
        for (T *c = right; c < right + (n - k) * ld; c += ld)                                      \
            for (int j = 0; j < k; j++)                                                            \
                for (int i = j + 1; i < k; i++) c[i] -= a[j * ld + i] * c[j];                      \
        for (int j = 0; j < n - k; j++)                                                            \
            for (int i = 0; i < k; i++) low[j * HALF + i] = -right[j * ld + i];                    \
        if (m > k)                                                                                 \
            gp_gemm_##t(false, false, n - k, m - k, k, low, HALF, a + k, ld, 1, right + k, ld);    \
        int more = panel_##t(m - k, n - k, right + k, ld, pivot + k);                              \
        for (int i = k; i < n; i++) pivot[i] += k;                                                 \
        exchange_##t(a, k, ld, pivot, k, n);                                                       \
        return info ? info : more ? more + k : 0;                                                  \
    }
PANEL(float, f32, FLT_MIN)
PANEL(double, f64, DBL_MIN)

/* ---- the rows ---- */

/* x (k x w) = what unit lower L (k x k) takes to x, or upper U. */
#define ROWS(T, t)                                                                                 \
    static inline __attribute__((always_inline)) void chunk_##t(                                   \
        const T *l, int64_t ldl, int k, bool lower, T *x, int64_t ldx, int vectors, int w) {       \
        enum { LANES = GP_VB / sizeof(T) };                                                        \
        for (int s = 0; s < k; s++) {                                                              \
            int i = lower ? s : k - 1 - s, from = lower ? 0 : i + 1, to = lower ? i : k;           \
            const T *f = l + i * ldl, by = lower ? 1 : f[i];                                       \
            T *row = x + i * ldx;                                                                  \
            vec_##t sum[VECTORS];                                                                  \
            for (int v = 0; v < vectors; v++) sum[v] = *(vec_##t *)(row + v * LANES);              \
            for (int j = from; j < to; j++)                                                        \
                for (int v = 0; v < vectors; v++)                                                  \
                    sum[v] -= f[j] * *(vec_##t *)(x + j * ldx + v * LANES);                        \
            for (int v = 0; v < vectors; v++) *(vec_##t *)(row + v * LANES) = sum[v] / by;         \
            for (int c = 0; c < w; c++) {                                                          \
                T rest = row[c];                                                                   \
                for (int j = from; j < to; j++) rest -= f[j] * x[j * ldx + c];                     \
                row[c] = lower ? rest : rest / by;                                                 \
            }                                                                                      \
        }                                                                                          \
    }                                                                                              \
    static void triangle_##t(const T *l, int64_t ldl, int k, bool lower, T *x, int64_t ldx,        \
                             int64_t w) {                                                          \
        int64_t c = 0, lanes = GP_VB / sizeof(T);                                                  \
        for (; c + VECTORS * lanes <= w; c += VECTORS * lanes)                                     \
            chunk_##t(l, ldl, k, lower, x + c, ldx, VECTORS, 0);                                   \
        for (; c + lanes <= w; c += lanes) chunk_##t(l, ldl, k, lower, x + c, ldx, 1, 0);          \
        if (c < w) chunk_##t(l, ldl, k, lower, x + c, ldx, 0, (int)(w - c));                       \
    }                                                                                              \
    /* Columns [begin, end) of those behind the panel. */                                          \
    static void behind_##t(void *ctx, int64_t begin, int64_t end) {                                \
        const step *s = ctx;                                                                       \
        int64_t ld = s->ld, first = s->first, k = s->k, next = first + k, w = end - begin;         \
        T *a = (T *)s->a + next + begin, *u = a + first * ld;                                      \
        gp_blas_threads(1);                                                                        \
        for (int64_t i = first; i < next; i++) swap_rows_##t(a + i * ld, a + s->pivot[i] * ld, w); \
        triangle_##t((T *)s->a + first * (ld + 1), ld, (int)k, true, u, ld, w);                    \
        gp_gemm_##t(false, false, s->n - next, w, k, s->below, k, u, ld, 1, a + next * ld, ld);    \
    }                                                                                              \
    int gp_lu_##t(int n, T *a, int64_t ld, int *pivot, T *work) {                                  \
        T *columns = work, *rows = work + (int64_t)n * BLOCK;                                      \
        int info = 0;                                                                              \
        gp_blas_threads(1); /* columns are shared out, not the panels' small products */           \
        for (int first = 0; first < n; first += BLOCK) {                                           \
            int m = n - first, k = m < BLOCK ? m : BLOCK, *p = pivot + first;                      \
            T *at = a + first * (ld + 1), *below = rows + k * k;                                   \
            gp_transpose_copy(columns, at, ld, k, m, sizeof(T));                                             \
            int bad = panel_##t(m, k, columns, m, p);                                              \
            if (bad && !info) info = first + bad;                                                  \
            gp_transpose_copy(rows, columns, m, m, k, sizeof(T));                                            \
            for (int i = 0; i < m; i++) memcpy(at + i * ld, rows + i * k, (size_t)k * sizeof(T));  \
            for (int i = 0; i < k; i++) {                                                          \
                p[i] += first;                                                                     \
                swap_rows_##t(a + (first + i) * ld, a + p[i] * ld, first);                         \
            }                                                                                      \
            for (int64_t i = 0; i < (int64_t)(m - k) * k; i++) below[i] = -below[i];               \
            step s = {.a = a, .below = below, .pivot = pivot, .n = n, .ld = ld};                   \
            s.first = first;                                                                       \
            s.k = k;                                                                               \
            gp_parallel(m - k, SHARE, behind_##t, &s);                                             \
        }                                                                                          \
        return info;                                                                               \
    }
ROWS(float, f32)
ROWS(double, f64)

/* ---- equations ---- */

#define EQUATIONS(T, t, trsv)                                                                      \
    /* The block of rows that begins at `first` is known: its share goes off rows [from, to). */   \
    static void spread_##t(const equations *e, T *x, int64_t w, int64_t first, int64_t k,          \
                           int64_t from, int64_t to, T *minus) {                                   \
        int64_t ld = e->cols;                                                                      \
        if (from >= to) return;                                                                    \
        for (int64_t i = 0; i < k; i++)                                                            \
            for (int64_t c = 0; c < w; c++) minus[i * w + c] = -x[(first + i) * ld + c];           \
        gp_gemm_##t(false, false, to - from, w, k, (const T *)e->lu + from * e->ld + first, e->ld, \
                    minus, w, 1, x + from * ld, ld);                                               \
    }                                                                                              \
    static void columns_##t(const equations *e, T *x, int64_t w) {                                 \
        T minus[BLOCK * CHUNK];                                                                    \
        const T *lu = e->lu;                                                                       \
        int64_t n = e->n, ld = e->cols, last = (n - 1) / BLOCK * BLOCK, next = e->ld + 1;          \
        for (int64_t i = 0; i < n; i++) swap_rows_##t(x + i * ld, x + e->pivot[i] * ld, w);        \
        for (int64_t i = 0, k; i < n; i += BLOCK) {                                                \
            k = n - i < BLOCK ? n - i : BLOCK;                                                     \
            triangle_##t(lu + i * next, e->ld, (int)k, true, x + i * ld, ld, w);                   \
            spread_##t(e, x, w, i, k, i + k, n, minus);                                            \
        }                                                                                          \
        for (int64_t i = last, k; i >= 0; i -= BLOCK) {                                            \
            k = n - i < BLOCK ? n - i : BLOCK;                                                     \
            triangle_##t(lu + i * next, e->ld, (int)k, false, x + i * ld, ld, w);                  \
            spread_##t(e, x, w, i, k, 0, i, minus);                                                \
        }                                                                                          \
    }                                                                                              \
    static void some_columns_##t(void *ctx, int64_t begin, int64_t end) {                          \
        const equations *e = ctx;                                                                  \
        gp_blas_threads(1);                                                                        \
        for (int64_t c = begin; c < end; c += CHUNK)                                               \
            columns_##t(e, (T *)e->x + c, end - c < CHUNK ? end - c : CHUNK);                      \
    }                                                                                              \
    void gp_lu_solve_##t(int n, const T *lu, int64_t ld, const int *pivot, T *x, int cols) {       \
        if (cols == 1) {                                                                           \
            exchange_##t(x, 1, n, pivot, 0, n);                                                    \
            trsv(CblasRowMajor, CblasLower, CblasNoTrans, CblasUnit, n, lu, (int)ld, x, 1);        \
            trsv(CblasRowMajor, CblasUpper, CblasNoTrans, CblasNonUnit, n, lu, (int)ld, x, 1);     \
            return;                                                                                \
        }                                                                                          \
        equations e = {.lu = lu, .x = x, .pivot = pivot, .n = n, .ld = ld, .cols = cols};          \
        gp_parallel(cols, CHUNK, some_columns_##t, &e);                                            \
    }
EQUATIONS(float, f32, cblas_strsv)
EQUATIONS(double, f64, cblas_dtrsv)
