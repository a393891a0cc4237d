/* AMX: eight tiles, registers of up to 16 rows of 64 bytes, and products of tiles of bf16 with sums
 * in f32. With GP_SOFT_AMX, C computes the same on every processor, for tests/kernels/cpu/amx.c and
 * scripts/dev/variants amx. */
#ifndef GP_CPU_AMX_H
#define GP_CPU_AMX_H

#include "kernels/cpu/matmul/packed.h"

#if defined(GP_SOFT_AMX) || GP_PAIRS
#define GP_AMX 1
#else
#define GP_AMX 0
#endif

/* Rows of a tile; bf16 elements of the inner dim in one. */
enum { GP_AMX_ROWS = 16, GP_AMX_DEPTH = 32 };

/* The sizes of tiles, as LDTILECFG reads them. */
typedef struct gp_amx_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16]; /* of a tile's row */
    uint8_t rows[16];
} gp_amx_config;
_Static_assert(sizeof(gp_amx_config) == 64, "the processor reads 64 bytes");

static inline void gp_amx_size(gp_amx_config *c, int tile, int64_t rows, int64_t bytes) {
    c->palette = 1;
    c->rows[tile] = (uint8_t)rows;
    c->bytes[tile] = (uint16_t)bytes;
}

#ifdef GP_SOFT_AMX
#include <math.h>
#include <string.h>

static _Thread_local struct gp_soft_amx {
    gp_amx_config size;
    char tile[8][GP_AMX_ROWS][64];
} gp_soft_amx;

/* Sizes that do not fit each other, where the processor raises a fault. */
static _Thread_local int gp_soft_amx_faults;
static inline bool gp_amx_need(bool fits) {
    gp_soft_amx_faults += !fits;
    return fits;
}
static inline void gp_amx_configure(const gp_amx_config *c) {
    memset(&gp_soft_amx, 0, sizeof gp_soft_amx);
    gp_soft_amx.size = *c;
    for (int t = 0; t < 8; t++)
        gp_amx_need(!c->rows[t] == !c->bytes[t] && c->rows[t] <= GP_AMX_ROWS && c->bytes[t] <= 64);
}
static inline void gp_amx_release(void) { gp_soft_amx.size = (gp_amx_config){0}; }
static inline void gp_amx_load(int t, const void *from, int64_t step) {
    memset(gp_soft_amx.tile[t], 0, sizeof gp_soft_amx.tile[t]);
    for (int r = 0; r < gp_soft_amx.size.rows[t]; r++)
        memcpy(gp_soft_amx.tile[t][r], (const char *)from + r * step, gp_soft_amx.size.bytes[t]);
}
static inline void gp_amx_store(int t, void *to, int64_t step) {
    for (int r = 0; r < gp_soft_amx.size.rows[t]; r++)
        memcpy((char *)to + r * step, gp_soft_amx.tile[t][r], gp_soft_amx.size.bytes[t]);
}
static inline float gp_amx_flush(float x) {
    return x != 0 && fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}
static inline float gp_amx_half(const char *p) {
    uint16_t half;
    memcpy(&half, p, sizeof half);
    uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return gp_amx_flush(x);
}
/* Even and odd elements of the inner dim each have a sum, which start at 0; theirs is added to c.
 * Subnormal numbers, read or computed, are zeros. Where sizes do not fit, sums are NaN. */
static inline void gp_amx_multiply(int c, int a, int b) {
    struct gp_soft_amx *s = &gp_soft_amx;
    bool fits = gp_amx_need(s->size.rows[c] && s->size.rows[c] == s->size.rows[a] &&
                            s->size.bytes[c] && s->size.bytes[c] == s->size.bytes[b] &&
                            s->size.bytes[a] % 4 == 0 && s->size.bytes[a] / 4 == s->size.rows[b]);
    for (int m = 0; m < s->size.rows[c]; m++)
        for (int n = 0; n < s->size.bytes[c] / 4; n++) {
            float sum[2] = {fits ? 0 : NAN}, to;
            for (int k = 0; k < s->size.bytes[a] / 2; k++)
                sum[k % 2] = gp_amx_flush(fmaf(gp_amx_half(s->tile[a][m] + 2 * k),
                                               gp_amx_half(s->tile[b][k / 2] + 4 * n + k % 2 * 2),
                                               sum[k % 2]));
            memcpy(&to, s->tile[c][m] + 4 * n, sizeof to);
            to = gp_amx_flush(gp_amx_flush(to) + gp_amx_flush(sum[0] + sum[1]));
            memcpy(s->tile[c][m] + 4 * n, &to, sizeof to);
        }
}

#elif GP_AMX
/* Each thread loads the sizes before its first tile, and releases the tiles after its last one.
 * GCC's own functions do not say that they read memory. */
static inline void gp_amx_configure(const gp_amx_config *c) {
    __asm__ volatile("ldtilecfg %0" ::"m"(*c) : "memory");
}
static inline void gp_amx_release(void) { __asm__ volatile("tilerelease"); }
/* t, c, a, b: numbers of tiles, as literals; step: bytes from row to row in memory. */
#define gp_amx_load(t, from, step)                                                                 \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t ::"r"((const void *)(from)),                  \
                     "r"((int64_t)(step))                                                          \
                     : "memory")
#define gp_amx_store(t, to, step)                                                                  \
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"((void *)(to)), "r"((int64_t)(step)) \
                     : "memory")
/* c[m][n] += the sums over k of a[m][k] b[k / 2][n][k % 2], of the even k and of the odd ones. */
#define gp_amx_multiply(c, a, b) __asm__ volatile("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #c ::)
#endif

/* out[row][line] = sums over k of `lines` rows of w, step elements apart, which are read in place,
 * and of x as gp_amx_columns leaves it; line counts up to GP_AMX_LINES, rows to GP_AMX_ROWS. */
enum { GP_AMX_LINES = 64 };
#define gp_amx_lines GP_NAME(gp_amx_lines)
void gp_amx_lines(const uint16_t *w, int64_t step, int64_t lines, int64_t k, const char *x,
                  int64_t rows, float *out);
/* The bytes of rows of x (elements from row to row, to the next of k) in pairs, with zeros after
 * them: [pair][row]. */
static inline int64_t gp_amx_columns_bytes(int64_t rows, int64_t k) {
    return (k + GP_AMX_DEPTH - 1) / GP_AMX_DEPTH * GP_AMX_DEPTH * 2 * rows;
}
#define gp_amx_columns GP_NAME(gp_amx_columns)
void gp_amx_columns(const uint16_t *x, int64_t row, int64_t next, int64_t rows, int64_t k,
                    char *to);

/* The same for adjacent columns of a matrix w whose rows are along them, `step` elements apart:
 * out[row][column] for GP_AMX_LINES columns from w on. x has rows of k and zeros up to whole
 * thirty-twos, `pitch` elements apart. */
#define gp_amx_across GP_NAME(gp_amx_across)
void gp_amx_across(const uint16_t *w, int64_t step, int64_t k, const uint16_t *x, int64_t pitch,
                   int64_t rows, float *out);

/* out[rows][width] = start + a[rows][k] times panel i of *p, which has p->amx. */
#define gp_amx_panel GP_NAME(gp_amx_panel)
void gp_amx_panel(const gp_panels *p, int64_t i, int64_t rows, const char *a, int64_t lda,
                  char *out);

#endif
