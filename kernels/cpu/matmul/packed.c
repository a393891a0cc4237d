/* Products with packed panels: a tile of rows times a panel stays in registers over the whole inner
 * dim. */
#include "kernels/cpu/matmul/packed.h"

#include <string.h>

#if GP_PAIRS
#include <immintrin.h>
#endif

#include "kernels/cpu/layout/transpose.h"
#include "kernels/cpu/matmul/amx.h"
#include "kernels/cpu/runtime/isa.h"

#define VECTOR(T, t)                                                                               \
    typedef T vec_##t __attribute__((vector_size(GP_VB), aligned(sizeof(T)), may_alias));
VECTOR(float, f32)
VECTOR(double, f64)

/* Bytes of a panel that meet all rows before the next ones do: they stay in the second-level cache,
 * beside those that are prefetched. */
#if defined(__AVX512F__)
enum { PIECE = 256 << 10 };
#else
enum { PIECE = 64 << 10 };
#endif
enum { LINE = 64 };

/* out[r][v] = start[r * start_row + v] + sum over k of a[r][k] w[k][v]. Prefetches `stride` bytes
 * from `ahead` on for each k, of the next piece: weights of a large layer do not fit the
 * second-level cache, and are read at each time step. */
typedef void (*tile_fn)(const void *a, int64_t lda, const void *w, const void *start,
                        int64_t start_row, int64_t k, void *out, const char *ahead, int64_t stride);

#define EACH_R _Pragma("GCC unroll 6") for (int r = 0; r < R; r++)
#define EACH_V _Pragma("GCC unroll 4") for (int v = 0; v < V; v++)
/* The tile functions of one type, V vectors by 1 to GP_PANEL_ROWS rows, for its table. */
#define TILE(t, V, R)                                                                              \
    static TARGET void tile_##t##_##V##_##R(const void *a, int64_t lda, const void *w,             \
                                            const void *start, int64_t start_row, int64_t k,       \
                                            void *out, const char *ahead, int64_t stride) {        \
        tile_##t(R, V, a, lda, w, start, start_row, k, out, ahead, stride);                        \
    }
#ifdef __AVX512F__
#define EACH(M, t, V) M(t, V, 1) M(t, V, 2) M(t, V, 3) M(t, V, 4) M(t, V, 5) M(t, V, 6)
#else
#define EACH(M, t, V) M(t, V, 1) M(t, V, 2) M(t, V, 3)
#endif
#define TILES(t) EACH(TILE, t, 1) EACH(TILE, t, 2) EACH(TILE, t, 3) EACH(TILE, t, 4)
#define NAME(t, V, R) tile_##t##_##V##_##R,
#define VECTORS_OF(t)                                                                              \
    {                                                                                              \
        {EACH(NAME, t, 1)}, {EACH(NAME, t, 2)}, {EACH(NAME, t, 3)}, { EACH(NAME, t, 4) }           \
    }

#define T float
#define t f32
#define A float
#define STEP 1
#define AT(p) (*(p))
#define ADD(sum, w, a) (sum) + (w) * (a)
#define TARGET
#include "kernels/cpu/matmul/tile.inc"
TILES(f32)
#define T double
#define t f64
#define A double
#define STEP 1
#define AT(p) (*(p))
#define ADD(sum, w, a) (sum) + (w) * (a)
#include "kernels/cpu/matmul/tile.inc"
TILES(f64)
#undef TARGET

#if GP_PAIRS
typedef vec_f32 vec_pairs;
static inline uint32_t two(const uint16_t *p) {
    uint32_t u;
    memcpy(&u, p, sizeof u);
    return u;
}
#define T float
#define t pairs
#define A uint16_t
#define STEP 2
#define AT(p) two(p)
#define ADD(sum, w, a)                                                                             \
    (vec_pairs)                                                                                    \
        _mm512_dpbf16_ps((__m512)(sum), (__m512bh)(w), (__m512bh)_mm512_set1_epi32((int)(a)))
#define TARGET __attribute__((target("avx512bf16")))
#include "kernels/cpu/matmul/tile.inc"
TILES(pairs)
#define ALL_PAIRS VECTORS_OF(pairs)

static __attribute__((target("avx512bf16"))) void store_rounded(char *dst, int64_t step,
                                                                const void *src, int64_t n) {
    const float *s = src;
    int64_t i = 0;
    if (step != 2) {
        gp_store_fn(GP_CT_f32, GP_bf16)(dst, step, src, n);
        return;
    }
    for (; i + 16 <= n; i += 16) {
        __m256bh v = _mm512_cvtneps_pbh(_mm512_loadu_ps(s + i));
        memcpy(dst + 2 * i, &v, sizeof v);
    }
    if (i == n) return;
    __mmask16 rest = (__mmask16)((1u << (n - i)) - 1);
    __m256bh v = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(rest, s + i));
    memcpy(dst + 2 * i, &v, (size_t)(n - i) * 2);
}

gp_store gp_pairs_store_fn(bool pairs, gp_dtype dtype) {
    return pairs && dtype == GP_bf16 ? store_rounded : gp_store_fn(GP_CT_f32, dtype);
}

/* Not on Intel's, which have AMX: there an instruction of pairs takes as long as two, so that
 * products of bf16 took 1.2 to 2.1 times as long as f32's (a Xeon of the 4th generation).
 * GPUSH_ISA=bf16 asks for them there, too. */
bool gp_has_pairs(void) {
    static _Atomic int known; /* 1: no, 2: yes */
    if (!known) {
        __builtin_cpu_init();
        gp_isa most = gp_isa_most();
        bool fast = most == GP_ISA_ALL && !__builtin_cpu_is("intel");
        known = 1 + ((fast || most == GP_ISA_BF16) && __builtin_cpu_supports("avx512bf16"));
    }
    return known == 2;
}
#else
#define ALL_PAIRS                                                                                  \
    {                                                                                              \
        { NULL }                                                                                   \
    }
bool gp_has_pairs(void) { return false; }
gp_store gp_pairs_store_fn(bool pairs, gp_dtype dtype) { return gp_store_fn(GP_CT_f32, dtype); }
#endif
/* By type (f32, f64, pairs), vectors, rows. */
static const tile_fn tiles[3][4][GP_PANEL_ROWS] = {VECTORS_OF(f32), VECTORS_OF(f64), ALL_PAIRS};

void gp_panels_init(gp_panels *p, gp_ctype ct, bool pairs, int gates, int64_t units, int64_t k) {
    *p = (gp_panels){.ct = ct,
                     .pairs = pairs,
                     .amx = pairs && gp_has_amx(),
                     .gates = gates,
                     .vectors = gates == 1 ? 4 : gates,
                     .units = units,
                     .k = k,
                     .depth = gp_panels_depth(pairs, k)};
    p->lanes = GP_VB / gp_ctype_size[ct];
    p->width = p->vectors * p->lanes;
    p->each = gates == 1 ? p->width : p->lanes;
    p->count = (units + p->each - 1) / p->each;
}

/* ---- packing ---- */

/* Some columns of a panel, from adjacent rows of w: column j, row i is w[j * rs + i * cs]. */
typedef struct columns {
    char *to;
    const char *w;
    int64_t n, k, rs, cs, width; /* width: elements of a panel's row */
} columns;

/* Pairs of adjacent weights are elements of 4 bytes. */
static void pair_rows(const columns *c) {
    int64_t whole = c->k / 2;
    gp_transpose(c->to, c->width * 4, c->w, c->rs, whole, c->n, 4, false);
    uint32_t *last = (uint32_t *)(void *)c->to + whole * c->width;
    for (int64_t j = 0; c->k % 2 && j < c->n; j++)
        last[j] = *(const uint16_t *)(c->w + j * c->rs + (c->k - 1) * c->cs);
}

static void pair_columns(const columns *c) {
    for (int64_t i = 0; i < c->k; i += 2) {
        uint32_t *to = (uint32_t *)(void *)c->to + i / 2 * c->width;
        const uint16_t *a = (const uint16_t *)(c->w + i * c->cs),
                       *b = (const uint16_t *)(c->w + (i + 1) * c->cs);
        if (i + 1 == c->k)
            for (int64_t j = 0; j < c->n; j++) to[j] = a[j];
        else
            for (int64_t j = 0; j < c->n; j++) to[j] = a[j] | (uint32_t)b[j] << 16;
    }
}

static void pair_elements(const columns *c) {
    for (int64_t i = 0; i < c->k; i++)
        for (int64_t j = 0; j < c->n; j++) {
            uint16_t *to = (uint16_t *)(void *)c->to + (i / 2 * c->width + j) * 2;
            to[i % 2] = *(const uint16_t *)(c->w + j * c->rs + i * c->cs);
            if (i + 1 == c->k && c->k % 2) to[1] = 0;
        }
}

/* Converts rows of w, PART elements at a time, and transposes them. */
static void load_rows(const columns *c, gp_load load, int64_t size) {
    enum { PART = 64, ROWS = 16 };
    _Alignas(64) char rows[PART * ROWS * 8];
    for (int64_t k = 0; k < c->k; k += PART)
        for (int64_t j = 0; j < c->n; j += ROWS) {
            int64_t n = c->k - k < PART ? c->k - k : PART, m = c->n - j < ROWS ? c->n - j : ROWS;
            for (int64_t r = 0; r < m; r++)
                load(rows + r * PART * size, c->w + (j + r) * c->rs + k * c->cs, c->cs, n);
            gp_transpose(c->to + (k * c->width + j) * size, c->width * size, rows, PART * size, n,
                         m, (size_t)size, false);
        }
}

static void pack_columns(const gp_panels *p, const gp_panel_source *s, const columns *c) {
    int64_t size = gp_ctype_size[p->ct], source = (int64_t)gp_dtype_size(s->dtype);
    gp_load load = gp_load_fn(s->dtype, p->ct);
    if (p->pairs && c->cs == source) pair_rows(c);
    else if (p->pairs && c->rs == source) pair_columns(c);
    else if (p->pairs) pair_elements(c);
    else if (c->rs != source) load_rows(c, load, size);
    else
        for (int64_t k = 0; k < c->k; k++)
            load(c->to + k * c->width * size, c->w + k * c->cs, c->rs, c->n);
}

static void pack_start(const gp_panels *p, const gp_panel_source *s, char *start, int64_t row,
                       int64_t n) {
    if (s->bias) gp_load_fn(s->dtype, p->ct)(start, s->bias + row * s->bs, s->bs, n);
}

void gp_panels_pack(gp_panels *p, const gp_panel_source *s, int64_t begin, int64_t end) {
    int64_t size = gp_ctype_size[p->ct], row = p->width * size;
    for (int64_t i = begin; i < end; i++) {
        int64_t unit = i * p->each, n = p->units - unit < p->each ? p->units - unit : p->each;
        char *data = p->data + i * p->depth * row, *start = p->start + i * row;
        int64_t full = n < p->each ? 0 : p->pairs ? (p->k + 1) / 2 : p->k;
        memset(start, 0, (size_t)row);
        memset(data + full * row, 0, (size_t)((p->depth - full) * row));
        for (int g = 0; g < p->gates; g++) {
            int64_t from = g * p->units + unit, at = g * p->each * size;
            columns c = {data + at, s->w + from * s->rs, n, p->k, s->rs, s->cs, p->width};
            pack_columns(p, s, &c);
            pack_start(p, s, start + at, from, n);
        }
    }
}

/* ---- products ---- */

/* A piece of a panel: `depth` of its rows at w, or k elements of those of a. */
typedef struct piece {
    const char *w, *start;
    int64_t start_row, depth, k;
    bool last; /* nothing follows it */
} piece;

static void multiply_piece(const gp_panels *p, const piece *e, int64_t rows, const char *a,
                           int64_t lda, char *out) {
    int64_t size = gp_ctype_size[p->ct], step = p->pairs ? (int64_t)sizeof(uint16_t) : size,
            blocks = (rows + GP_PANEL_ROWS - 1) / GP_PANEL_ROWS, bytes = e->depth * p->width * size,
            stride = e->last ? 0 : (p->width * size + blocks - 1) / blocks;
    if (stride > LINE) stride = LINE;
    const tile_fn *fn = tiles[p->pairs ? 2 : p->ct == GP_CT_f64][p->vectors - 1];
    for (int64_t b = 0; b < blocks; b++) {
        int64_t from = rows * b / blocks, n = rows * (b + 1) / blocks - from;
        const char *ahead = e->last ? e->w : e->w + bytes + b * e->depth * stride;
        fn[n - 1](a + from * lda * step, lda, e->w, e->start + from * e->start_row * size,
                  e->start_row, e->k, out + from * p->width * size, ahead, stride);
    }
}

void gp_panels_multiply(const gp_panels *p, int64_t i, int64_t rows, const char *a, int64_t lda,
                        char *out) {
    int64_t row = p->width * gp_ctype_size[p->ct], each = p->pairs + 1,
            step = p->pairs ? (int64_t)sizeof(uint16_t) : gp_ctype_size[p->ct],
            pieces = (p->depth * row + PIECE - 1) / PIECE;
    if (p->amx) {
        gp_amx_panel(p, i, rows, a, lda, out);
        return;
    }
    if (pieces == 0) pieces = 1;
    for (int64_t q = 0; q < pieces; q++) {
        int64_t at = p->depth * q / pieces, end = p->depth * (q + 1) / pieces;
        piece e = {.w = p->data + (i * p->depth + at) * row,
                   .start = q ? out : p->start + i * row,
                   .start_row = q ? p->width : 0,
                   .depth = end - at,
                   .k = q + 1 < pieces ? (end - at) * each : p->k - at * each,
                   .last = q + 1 == pieces && i + 1 == p->count};
        multiply_piece(p, &e, rows, a + at * each * step, lda, out);
    }
}

#define STORE(T, t)                                                                                \
    static void store_##t(T *restrict to, const T *restrict from, int64_t n, bool add) {           \
        if (add)                                                                                   \
            for (int64_t j = 0; j < n; j++) to[j] += from[j];                                      \
        else memcpy(to, from, (size_t)n * sizeof(T));                                              \
    }
STORE(float, f32)
STORE(double, f64)

void gp_panels_rows(const gp_panels *p, int64_t i, int64_t rows, const char *a, int64_t lda,
                    char *out, int64_t ldo, bool add) {
    _Alignas(64) char buf[GP_PANEL_BUFFER * 4 * GP_VB];
    int64_t size = gp_ctype_size[p->ct], first = i * p->each,
            n = p->units - first < p->each ? p->units - first : p->each,
            blocks = (rows + GP_PANEL_BUFFER - 1) / GP_PANEL_BUFFER;
    for (int64_t b = 0; b < blocks; b++) {
        int64_t from = rows * b / blocks, to = rows * (b + 1) / blocks;
        gp_panels_multiply(p, i, to - from, a + from * lda * (p->pairs ? 2 : size), lda, buf);
        for (int64_t r = from; r < to; r++) {
            char *o = out + (r * ldo + first) * size, *y = buf + (r - from) * p->width * size;
            if (size == 4) store_f32((float *)o, (float *)y, n, add);
            else store_f64((double *)o, (double *)y, n, add);
        }
    }
}
