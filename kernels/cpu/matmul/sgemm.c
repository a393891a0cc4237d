/* Products of f32 by oneDNN, whose AVX2 kernels for few rows or columns read the operands where
 * they lie. Rows a multiple of 2 KiB apart fall into the same sets of the first-level cache, which
 * takes up to half of the speed; they are copied further apart first. Worth 1.6 at 512x512x512 on
 * Zen 3, and nothing with AVX2 on an Emerald Rapids, whose first-level cache is larger. */
#include <string.h>

#include "kernels/cpu/runtime/kernel.h"
#include "kernels/cpu/runtime/scratch.h"

#ifdef __AVX512F__ /* its kernels for that have not been measured so */
bool gp_sgemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
              const float *b, int64_t ldb, float beta, float *c, int64_t ldc) {
    return gp_onednn_sgemm(ta, tb, m, n, k, a, lda, b, ldb, beta, c, ldc);
}
#else
enum {
    CROWDED = 512, /* elements: rows a multiple of this apart share their sets */
    GAP = 16,      /* elements added to a row */
    USES = 64,     /* of each element on each thread, from which on a copy pays */
    FEW = 512,     /* rows or columns up to which oneDNN 2.6 reads in place */
    FEW_ROWS = 360 /* and rows, whatever the columns */
};

static void copy(const float *from, int64_t ld, float *to, int64_t rows, int64_t columns) {
    for (int64_t i = 0; i < rows; i++)
        memcpy(to + i * (columns + GAP), from + i * ld, (size_t)columns * sizeof *to);
}

bool gp_sgemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
              const float *b, int64_t ldb, float beta, float *c, int64_t ldc) {
    int64_t uses = (int64_t)USES * gp_blas_threads_now();
    bool spread_a = ta && lda % CROWDED == 0 && n >= uses && n <= FEW;
    bool spread_b =
        !tb && ldb % CROWDED == 0 && m >= uses && (m <= FEW_ROWS || (m <= FEW && n <= FEW));
    int64_t size_a = spread_a ? k * (m + GAP) : 0, size_b = spread_b ? k * (n + GAP) : 0;
    float *buffer = NULL;
    if (spread_a || spread_b)
        buffer = gp_scratch(GP_SCRATCH_GEMM, (size_t)(size_a + size_b) * sizeof *buffer);
    if (buffer && spread_a) copy(a, lda, buffer, k, m), a = buffer, lda = m + GAP;
    if (buffer && spread_b) copy(b, ldb, buffer + size_a, k, n), b = buffer + size_a, ldb = n + GAP;
    return gp_onednn_sgemm(ta, tb, m, n, k, a, lda, b, ldb, beta, c, ldc);
}
#endif
