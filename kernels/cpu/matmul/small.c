/* Products of small matrices, tile by tile in registers: a library's call overhead is a good part
 * of their time. Worth 2.5 at 16x16x16, 1.3 at 64x64x64 of f32, nothing in f64; for a transposed b
 * in a batch of 64 2.0 at 32 and 1.4 at 64 (one thread of an Emerald Rapids with AVX-512). */
#include "kernels/cpu/matmul/small.h"

#include "kernels/cpu/layout/transpose.h"
#include "kernels/cpu/runtime/widen.h"

#if defined(__AVX2__)
/* Most rows and vectors of a tile. */
enum { ROWS = GP_VB == 64 ? 8 : 6, WIDE = GP_VB == 64 ? 4 : 2 };

#define TEMPLATE "kernels/cpu/matmul/small.inc"
#include "kernels/common/floats.inc"

/* Up to what size and of which columns tiles are faster than the libraries: measured on Zen 4 and 5
 * with AVX-512, on Zen 3 without. */
static bool suits(gp_ctype ct, int64_t m, int64_t n, int64_t k) {
#if defined(__AVX512F__)
    return n % 16 == 0 && m * n * k <= 64 * 64 * 64;
#else
    return n >= 8 && m * n * k <= (ct == GP_CT_f32 ? 80 * 80 * 80 : 100 * 100 * 100);
#endif
}

/* Whether b's rows fall into the same sets of the first-level cache, which holds too few to be read
 * again for the next rows of a. */
static bool crowded(const gp_matrix *a, const gp_matrix *b, int64_t size) {
    return b->rs * size % 4096 == 0 && a->cols > 48 && a->rows > ROWS;
}

static void multiply(gp_ctype ct, const gp_matrix *a, int64_t n, const void *b, int64_t bs,
                     void *c) {
    int64_t m = a->rows, k = a->cols;
    if (ct == GP_CT_f32) tiles_f32(m, n, k, (const float *)a->data, a->rs, a->cs, b, bs, c);
    else tiles_f64(m, n, k, (const double *)a->data, a->rs, a->cs, b, bs, c);
}

enum { TURNED = 4096 }; /* elements of a b that is copied by rows, where a's rows use it often */

/* b is stored by columns. A function of its own: its frame costs time. */
static __attribute__((noinline)) void multiply_turned(gp_ctype ct, const gp_matrix *a,
                                                      const gp_matrix *b, void *c) {
    _Alignas(64) char turned[TURNED * 8];
    int64_t n = b->cols, size = gp_ctype_size[ct];
    gp_transpose(turned, n * size, b->data, b->cs * size, b->rows, n, (size_t)size, false);
    multiply(ct, a, n, turned, n, c);
}

bool gp_small_product(gp_ctype ct, const gp_matrix *a, const gp_matrix *b, void *c) {
    if (!suits(ct, a->rows, b->cols, a->cols)) return false;
    if (b->cs != 1 && b->rs == 1 && b->rows * b->cols <= TURNED && a->rows >= ROWS)
        multiply_turned(ct, a, b, c);
    else if (b->cs != 1 || crowded(a, b, gp_ctype_size[ct])) return false;
    else multiply(ct, a, b->cols, b->data, b->rs, c);
    return true;
}
#else
bool gp_small_product(gp_ctype ct, const gp_matrix *a, const gp_matrix *b, void *c) {
    return false;
}
#endif
