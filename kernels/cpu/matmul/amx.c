/* Products with packed panels by AMX: blocks of up to two by two tiles stay in registers over the
 * whole inner dim. */
#include "kernels/cpu/matmul/amx.h"

#include <string.h>

#include "kernels/cpu/runtime/isa.h"
#include "kernels/cpu/runtime/widen.h"

#if GP_AMX
#ifdef GP_SOFT_AMX
bool gp_has_amx(void) { /* panels' results are rounded as AVX512-BF16 does */
    return gp_isa_most() == GP_ISA_ALL && (!GP_PAIRS || __builtin_cpu_supports("avx512bf16"));
}
#else
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The processor's instructions, and the system's leave to use their registers. */
static bool available(void) {
    enum { OSXSAVE = 1 << 27, BF16 = 1 << 22, TILE = 1 << 24, STATES = 3 << 17 };
    enum { REQUEST = 0x1023, TILE_DATA = 18 }; /* arch_prctl's ARCH_REQ_XCOMP_PERM */
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE)) return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & STATES) != STATES) return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & BF16) || !(d & TILE)) return false;
    return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
}

bool gp_has_amx(void) {
    static _Atomic int known; /* 1: no, 2: yes */
    if (!known) {
        __builtin_cpu_init();
        known = 1 + (gp_isa_most() == GP_ISA_ALL && __builtin_cpu_supports("avx512bf16") &&
                     available());
    }
    return known == 2;
}
#endif

/* Tiles 0 to 3 are sums, two by two; 4 and 5 rows of a, 6 and 7 vectors of the panel. */
typedef struct block {
    const char *a[2], *w;     /* rows of a; the panel, from its first vector on */
    const char *rest[2];      /* rows of a past the last whole tile, with zeros after them */
    const char *start;        /* of the first vector */
    int64_t lda, step, lanes; /* bytes between rows of a, and of the panel; in a vector */
    int64_t whole, chunks;    /* tiles of a's rows that are read in place; all */
    char *out[2];
} block;

static inline __attribute__((always_inline)) void multiply(const block *b, int64_t chunk, bool down,
                                                           bool across) {
    bool rest = chunk >= b->whole;
    int64_t at = chunk * GP_AMX_DEPTH * 2, lda = rest ? GP_AMX_DEPTH * 2 : b->lda;
    const char *w = b->w + chunk * (GP_AMX_DEPTH / 2) * b->step;
    gp_amx_load(4, rest ? b->rest[0] : b->a[0] + at, lda);
    gp_amx_load(6, w, b->step);
    gp_amx_multiply(0, 4, 6);
    if (across) {
        gp_amx_load(7, w + b->lanes, b->step);
        gp_amx_multiply(1, 4, 7);
    }
    if (down) {
        gp_amx_load(5, rest ? b->rest[1] : b->a[1] + at, lda);
        gp_amx_multiply(2, 5, 6);
        if (across) gp_amx_multiply(3, 5, 7);
    }
}

static inline __attribute__((always_inline)) void sums(const block *b, bool down, bool across) {
    gp_amx_load(0, b->start, 0);
    if (across) gp_amx_load(1, b->start + b->lanes, 0);
    if (down) gp_amx_load(2, b->start, 0);
    if (down && across) gp_amx_load(3, b->start + b->lanes, 0);
    for (int64_t c = 0; c < b->chunks; c++) multiply(b, c, down, across);
    gp_amx_store(0, b->out[0], b->step);
    if (across) gp_amx_store(1, b->out[0] + b->lanes, b->step);
    if (down) gp_amx_store(2, b->out[1], b->step);
    if (down && across) gp_amx_store(3, b->out[1] + b->lanes, b->step);
}

static void run_block(const block *b, bool down, bool across) {
    if (down && across) sums(b, true, true);
    else if (down) sums(b, true, false);
    else if (across) sums(b, false, true);
    else sums(b, false, false);
}

/* The last elements of a's rows, past whole tiles, and zeros. */
typedef uint16_t rests[2][GP_AMX_ROWS][GP_AMX_DEPTH];

static void copy_rest(block *b, int tile, int64_t rows, int64_t k, rests to) {
    int64_t at = b->whole * GP_AMX_DEPTH, n = k - at;
    for (int64_t r = 0; n && r < rows; r++) {
        memcpy(to[tile][r], b->a[tile] + r * b->lda + at * 2, (size_t)n * 2);
        memset(to[tile][r] + n, 0, (size_t)(GP_AMX_DEPTH - n) * 2);
    }
    b->rest[tile] = (const char *)to[tile];
}

/* The last tile of rows overlaps the one before, where they do not all have as many. */
void gp_amx_panel(const gp_panels *p, int64_t i, int64_t rows, const char *a, int64_t lda,
                  char *out) {
    _Alignas(64) rests buffer;
    gp_amx_config size = {0};
    int64_t tiles = (rows + GP_AMX_ROWS - 1) / GP_AMX_ROWS, row = p->width * 4, lanes = GP_VB;
    if (rows == 0) return;
    int64_t each = (rows + tiles - 1) / tiles;
    for (int t = 0; t < 4; t++) gp_amx_size(&size, t, each, lanes);
    for (int t = 4; t < 6; t++) gp_amx_size(&size, t, each, GP_AMX_DEPTH * 2);
    for (int t = 6; t < 8; t++) gp_amx_size(&size, t, GP_AMX_DEPTH / 2, lanes);
    block b = {.lda = lda * 2,
               .step = row,
               .lanes = lanes,
               .whole = p->k / GP_AMX_DEPTH,
               .chunks = p->depth / (GP_AMX_DEPTH / 2)};
    gp_amx_configure(&size);
    for (int64_t t = 0; t < tiles; t += 2) {
        bool down = t + 1 < tiles;
        for (int d = 0; d <= down; d++) {
            int64_t from = (t + d) * each < rows - each ? (t + d) * each : rows - each;
            b.a[d] = a + from * b.lda;
            copy_rest(&b, d, each, p->k, buffer);
            b.out[d] = out + from * row;
        }
        for (int v = 0; v < p->vectors; v += 2) {
            block at = b;
            at.w = p->data + i * p->depth * row + v * lanes;
            at.start = p->start + i * row + v * lanes;
            for (int d = 0; d <= down; d++) at.out[d] += v * lanes;
            run_block(&at, down, v + 1 < p->vectors);
        }
    }
    gp_amx_release();
}

/* ---- lines in place ---- */

void gp_amx_columns(const uint16_t *x, int64_t row, int64_t next, int64_t rows, int64_t k,
                    char *to) {
    uint16_t *t = (uint16_t *)(void *)to;
    memset(to, 0, (size_t)gp_amx_columns_bytes(rows, k));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < k; i++) t[(i / 2 * rows + r) * 2 + i % 2] = x[r * row + i * next];
}

/* 32 of k: up to four tiles of lines. */
static inline __attribute__((always_inline)) void add_lines(const char *const *w, int64_t step,
                                                            const char *x, int64_t rows, int n) {
    gp_amx_load(6, x, rows * 4);
    gp_amx_load(4, w[0], step);
    gp_amx_multiply(0, 4, 6);
    if (n == 1) return;
    gp_amx_load(5, w[1], step);
    gp_amx_multiply(1, 5, 6);
    gp_amx_load(4, w[2], step);
    gp_amx_multiply(2, 4, 6);
    gp_amx_load(5, w[3], step);
    gp_amx_multiply(3, 5, 6);
}

/* n tiles of `each` lines. */
static inline __attribute__((always_inline)) void all_lines(const char *const *w, int64_t step,
                                                            int64_t each, int64_t k, const char *x,
                                                            int64_t rows, int n) {
    _Alignas(64) char rest[4][GP_AMX_ROWS][64];
    int64_t chunks = k / GP_AMX_DEPTH, last = k % GP_AMX_DEPTH * 2, wide = GP_AMX_DEPTH * 2;
    const char *at[4] = {rest[0][0], rest[1][0], rest[2][0], rest[3][0]};
    for (int64_t c = 0; c < chunks; c++) {
        const char *now[4] = {w[0] + c * wide, w[1] + c * wide, w[2] + c * wide, w[3] + c * wide};
        add_lines(now, step, x + c * wide * rows, rows, n);
    }
    if (!last) return;
    memset(rest, 0, sizeof rest);
    for (int i = 0; i < n; i++)
        for (int64_t l = 0; l < each; l++)
            memcpy(rest[i][l], w[i] + l * step + chunks * wide, (size_t)last);
    add_lines(at, 64, x + chunks * wide * rows, rows, n);
}

/* Up to 16 lines are one tile; of more, four, which overlap where they do not have 16 each. */
void gp_amx_lines(const uint16_t *w, int64_t step, int64_t lines, int64_t k, const char *x,
                  int64_t rows, float *out) {
    _Alignas(64) float sum[4][GP_AMX_ROWS][GP_AMX_ROWS] = {0};
    bool one = lines <= GP_AMX_ROWS;
    int64_t each = one ? lines : GP_AMX_ROWS, first[4];
    gp_amx_config size = {0};
    const char *at[4];
    for (int i = 0; i < 4; i++) {
        first[i] = one || i * each <= lines - each ? one ? 0 : i * each : lines - each;
        at[i] = (const char *)(w + first[i] * step);
    }
    for (int t = 0; t < 6; t++) gp_amx_size(&size, t, each, t < 4 ? rows * 4 : GP_AMX_DEPTH * 2);
    gp_amx_size(&size, 6, GP_AMX_DEPTH / 2, rows * 4);
    gp_amx_configure(&size);
    gp_amx_load(0, sum[0], 64);
    gp_amx_load(1, sum[1], 64);
    gp_amx_load(2, sum[2], 64);
    gp_amx_load(3, sum[3], 64);
    if (one) all_lines(at, step * 2, each, k, x, rows, 1);
    else all_lines(at, step * 2, each, k, x, rows, 4);
    gp_amx_store(0, sum[0], 64);
    gp_amx_store(1, sum[1], 64);
    gp_amx_store(2, sum[2], 64);
    gp_amx_store(3, sum[3], 64);
    gp_amx_release();
    for (int i = 0; i < (one ? 1 : 4); i++)
        for (int64_t l = 0; l < each; l++)
            for (int64_t r = 0; r < rows; r++) out[r * GP_AMX_LINES + first[i] + l] = sum[i][l][r];
}

/* ---- columns in place ---- */

typedef uint32_t across[GP_AMX_DEPTH / 2][GP_AMX_LINES];

/* Pairs of adjacent rows of w, of n rows and zeros after them, with the rows of the next tiles
 * prefetched: those lie too far apart for the hardware to do so. */
static void pair_rows_of(const uint16_t *w, int64_t step, int64_t n, across to) {
    for (int64_t i = 0; i < GP_AMX_DEPTH; i += 2, w += 2 * step) {
        const char *next = (const char *)(w + GP_AMX_DEPTH * step);
        bool first = i < n, both = i + 1 < n;
        for (int r = 0; both && r < 2; r++) {
            __builtin_prefetch(next + r * step * 2);
            __builtin_prefetch(next + r * step * 2 + 64);
        }
        for (int64_t j = 0; j < GP_AMX_LINES; j += GP_WIDE)
            *(gp_wide *)(to[i / 2] + j) = both    ? gp_widen_pair(w + j, w + step + j)
                                          : first ? gp_widen(w + j)
                                                  : (gp_wide){0};
    }
}

static inline __attribute__((always_inline)) void add_columns(const across w, const uint16_t *x,
                                                              int64_t pitch) {
    enum { STEP = GP_AMX_LINES * 4 };
    gp_amx_load(4, x, pitch * 2);
    gp_amx_load(5, w[0], STEP);
    gp_amx_multiply(0, 4, 5);
    gp_amx_load(6, w[0] + 16, STEP);
    gp_amx_multiply(1, 4, 6);
    gp_amx_load(5, w[0] + 32, STEP);
    gp_amx_multiply(2, 4, 5);
    gp_amx_load(6, w[0] + 48, STEP);
    gp_amx_multiply(3, 4, 6);
}

/* Rows are paired a tile ahead: tiles are not read from stores that are under way. */
void gp_amx_across(const uint16_t *w, int64_t step, int64_t k, const uint16_t *x, int64_t pitch,
                   int64_t rows, float *out) {
    _Alignas(64) across buffer[2];
    gp_amx_config size = {0};
    int64_t chunks = (k + GP_AMX_DEPTH - 1) / GP_AMX_DEPTH, wide = GP_AMX_LINES * 4;
    for (int t = 0; t < 5; t++) gp_amx_size(&size, t, rows, 64);
    for (int t = 5; t < 7; t++) gp_amx_size(&size, t, GP_AMX_DEPTH / 2, 64);
    memset(out, 0, (size_t)(rows * wide));
    gp_amx_configure(&size);
    gp_amx_load(0, out, wide);
    gp_amx_load(1, out + 16, wide);
    gp_amx_load(2, out + 32, wide);
    gp_amx_load(3, out + 48, wide);
    if (chunks) pair_rows_of(w, step, k, buffer[0]);
    for (int64_t c = 0; c < chunks; c++) {
        int64_t next = (c + 1) * GP_AMX_DEPTH;
        if (next < k) pair_rows_of(w + next * step, step, k - next, buffer[(c + 1) % 2]);
        add_columns(buffer[c % 2], x + c * GP_AMX_DEPTH, pitch);
    }
    gp_amx_store(0, out, wide);
    gp_amx_store(1, out + 16, wide);
    gp_amx_store(2, out + 32, wide);
    gp_amx_store(3, out + 48, wide);
    gp_amx_release();
}

#else
bool gp_has_amx(void) { return false; }
void gp_amx_lines(const uint16_t *w, int64_t step, int64_t lines, int64_t k, const char *x,
                  int64_t rows, float *out) {}
void gp_amx_columns(const uint16_t *x, int64_t row, int64_t next, int64_t rows, int64_t k,
                    char *to) {}
void gp_amx_across(const uint16_t *w, int64_t step, int64_t k, const uint16_t *x, int64_t pitch,
                   int64_t rows, float *out) {}
void gp_amx_panel(const gp_panels *p, int64_t i, int64_t rows, const char *a, int64_t lda,
                  char *out) {}
#endif
