/* Products of few rows, or columns, with a matrix of 16-bit elements: each of its elements is read
 * once, from where it lies, which takes the time; packing it would take longer. Worth 4.9 at 1x4096
 * times 4096x4096 of bf16, 4.6 of f16, and 1.4 at 16x1024 times 1024x1024 (one thread of an Emerald
 * Rapids with AVX-512). */
#include <string.h>

#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "kernels/cpu/matmul/amx.h"
#include "kernels/cpu/matmul/half.h"
#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/runtime/widen.h"

/* Lines or vectors of a tile, rows of a product, columns of a tile; elements worth a thread; lines
 * across that are fetched ahead. */
enum { AHEAD = 16 };
enum { FOUR = 4, MOST_ROWS = 8, BLOCK = FOUR * GP_VB / 4, FEW_WORK = 1 << 16 };

/* Rows of a product whose lines are across: packing those takes longer by AVX-512. */
#if defined(__AVX512F__)
enum { MOST_ACROSS = 16 };
#else
enum { MOST_ACROSS = MOST_ROWS };
#endif

typedef float vec_f32 __attribute__((vector_size(GP_VB), aligned(4), may_alias));
typedef uint32_t words __attribute__((vector_size(GP_VB), aligned(2), may_alias));

/* out[r][j] = sum over k of x[r][k] w[k][j]. w's lines are along k (across: along j), `step`
 * elements apart. */
typedef struct few_job {
    const gp_half_product *p;
    const uint16_t *w;
    int64_t step, n, k, padded; /* padded: elements from row to row of x, zeros after k */
    int64_t rows, c_row, c_col; /* of the result: elements */
    bool across;
    const char *x;
    int64_t x_size;
    void (*const *tiles)(const struct few_job *f, const void *rows, int64_t j, float *out);
} few_job;
typedef void (*few_fn)(const few_job *f, const void *rows, int64_t j, float *out);

static inline const uint16_t *line_of(const few_job *f, int64_t i) { return f->w + i * f->step; }

/* Sums a vector's lanes, by halves. */
static inline __attribute__((always_inline)) float lanes(vec_f32 v) {
#if defined(__AVX512F__)
    return _mm512_reduce_add_ps((__m512)v);
#endif
    float sum[GP_VB / 4];
    memcpy(sum, &v, sizeof v);
    _Pragma("GCC unroll 4") for (int h = GP_VB / 8; h > 0; h /= 2)
        _Pragma("GCC unroll 8") for (int l = 0; l < h; l++) sum[l] += sum[l + h];
    return sum[0];
}

#define EACH_R _Pragma("GCC unroll 4") for (int r = 0; r < R; r++)
#define EACH_L _Pragma("GCC unroll 4") for (int l = 0; l < FOUR; l++)
/* The functions of one type, for 1 to FOUR rows. */
#define FEW(kind, t, R)                                                                            \
    static TARGET void kind##_##t##_##R(const few_job *f, const void *rows, int64_t j,             \
                                        float *out) {                                              \
        kind##_##t(R, f, rows, j, out);                                                            \
    }
#define EACH_FEW(kind, t) FEW(kind, t, 1) FEW(kind, t, 2) FEW(kind, t, 3) FEW(kind, t, 4)
#define FEWS(t) EACH_FEW(dots, t) EACH_FEW(columns, t)

/* ---- converted to f32 ---- */

#define FLOATS(to, w, load) EACH_L to[l] = load((w) + l * GP_VB / 4)
#define TIMES(sum, w, x) (sum) + (w) * *(const vec_f32 *)(x)
#define TIMES_ONE(sum, w, x) (sum) + (w) * *(x)

static inline __attribute__((always_inline)) vec_f32 load_bf16(const uint16_t *p) {
    return (vec_f32)(gp_widen(p) << 16);
}
/* A line's even elements, and its odd ones: of each vector, which takes half as many instructions.
 */
#define EVEN_ODD(to, w, next)                                                                      \
    _Pragma("GCC unroll 2") for (int h = 0; h < FOUR / 2; h++) {                                   \
        gp_wide two = *(const words *)((w) + h * GP_VB / 2);                                       \
        to[2 * h] = (vec_f32)(two << 16);                                                          \
        to[2 * h + 1] = (vec_f32)(two & 0xffff0000);                                               \
    }
/* Sums in the order in which EVEN_ODD left them. */
static void interleave(float *out) {
    enum { L = GP_VB / 4 };
    float by[BLOCK];
    memcpy(by, out, sizeof by);
    for (int h = 0; h < BLOCK; h += 2 * L)
        for (int i = 0; i < L; i++) {
            out[h + 2 * i] = by[h + i];
            out[h + 2 * i + 1] = by[h + L + i];
        }
}
#define NAME bf16
#define X float
#define VEC vec_f32
#define STEP (GP_VB / 4)
#define LOAD load_bf16
#define BOTH TIMES
#define ONE TIMES_ONE
#define LINES 1
#define SPREAD EVEN_ODD
#define IN_ORDER interleave
#define TARGET
#include "kernels/cpu/matmul/few.inc"
FEWS(bf16)

#define TABLE(kind, t)                                                                             \
    { kind##_##t##_1, kind##_##t##_2, kind##_##t##_3, kind##_##t##_4 }
#if defined(__F16C__)
static inline __attribute__((always_inline)) vec_f32 load_f16(const uint16_t *p) {
#if defined(__AVX512F__)
    return (vec_f32)_mm512_cvtph_ps(_mm256_loadu_si256((const void *)p));
#else
    return (vec_f32)_mm256_cvtph_ps(_mm_loadu_si128((const void *)p));
#endif
}
#define NAME f16
#define X float
#define VEC vec_f32
#define STEP (GP_VB / 4)
#define LOAD load_f16
#define BOTH TIMES
#define ONE TIMES_ONE
#define LINES 1
#define SPREAD(to, w, next) FLOATS(to, w, load_f16)
#define IN_ORDER(out)
#include "kernels/cpu/matmul/few.inc"
FEWS(f16)
#define F16(kind) TABLE(kind, f16)
enum { HAS_F16 = true };
#else
#define F16(kind)                                                                                  \
    { NULL }
enum { HAS_F16 = false };
#endif

/* ---- pairs ---- */

#undef TARGET
#if GP_PAIRS
static const uint16_t zeros[BLOCK]; /* after the last line, where lines go in twos */

/* Two lines of 64 elements, interleaved within each 16 bytes. */
#define INTERLEAVE(to, w, next)                                                                    \
    _Pragma("GCC unroll 2") for (int h = 0; h < 2; h++) {                                          \
        __m512i a = _mm512_loadu_si512((w) + 32 * h), b = _mm512_loadu_si512((next) + 32 * h);     \
        to[2 * h] = (vec_f32)_mm512_unpacklo_epi16(a, b);                                          \
        to[2 * h + 1] = (vec_f32)_mm512_unpackhi_epi16(a, b);                                      \
    }
/* Sums in the order in which INTERLEAVE left them: first and second fours of each eight columns. */
static void straighten(float *out) {
    float by[BLOCK];
    memcpy(by, out, sizeof by);
    for (int i = 0; i < BLOCK; i += 4)
        memcpy(out + i, by + i / 32 * 32 + i % 8 / 4 * 16 + i % 32 / 8 * 4, 4 * sizeof *out);
}
#define DOT(sum, w, x) (vec_f32) _mm512_dpbf16_ps((__m512)(sum), (__m512bh)(w), (__m512bh)(x))
static inline int32_t two(const uint16_t *p) {
    int32_t u;
    memcpy(&u, p, sizeof u);
    return u;
}
#define NAME pairs
#define X uint16_t
#define VEC __m512i
#define STEP 32
#define LOAD(p) _mm512_loadu_si512(p)
#define BOTH(sum, w, x) DOT(sum, w, _mm512_loadu_si512(x))
#define ONE(sum, w, x) DOT(sum, w, _mm512_set1_epi32(two(x)))
#define LINES 2
#define SPREAD INTERLEAVE
#define IN_ORDER straighten
#define TARGET __attribute__((target("avx512bf16")))
#include "kernels/cpu/matmul/few.inc"
FEWS(pairs)
#define PAIRS(kind) TABLE(kind, pairs)
#else
#define PAIRS(kind)                                                                                \
    { NULL }
#endif

/* By type (bf16, f16, pairs), then rows. */
static const few_fn dots[3][FOUR] = {TABLE(dots, bf16), F16(dots), PAIRS(dots)};
static const few_fn columns[3][FOUR] = {TABLE(columns, bf16), F16(columns), PAIRS(columns)};

/* ---- the product ---- */

/* Stores a tile of rows x n sums, `wide` apart, for rows from `row` and columns from j. */
static void store_sums(const few_job *f, const float *sum, int64_t row, int64_t rows, int64_t j,
                       int64_t n, int64_t wide) {
    const gp_half_product *p = f->p;
    int64_t size = (int64_t)gp_dtype_size(p->dtype);
    gp_store store = gp_pairs_store_fn(p->pairs, p->dtype);
    for (int64_t r = 0; r < rows; r++)
        store(p->c + ((row + r) * f->c_row + j * f->c_col) * size, f->c_col * size, sum + r * wide,
              n);
}

/* Tiles [begin, end); the last one of columns overlaps the one before. */
static void few_tiles(void *ctx, int64_t begin, int64_t end) {
    const few_job *f = ctx;
    int64_t wide = f->across ? BLOCK : FOUR;
    float sum[FOUR * BLOCK];
    for (int64_t b = begin; b < end; b++) {
        int64_t j = b * wide;
        if (f->across && j > f->n - wide) j = f->n - wide;
        int64_t n = f->n - j < wide ? f->n - j : wide;
        for (int64_t r = 0; r < f->rows; r += FOUR) {
            int64_t rows = f->rows - r < FOUR ? f->rows - r : FOUR;
            f->tiles[rows - 1](f, f->x + r * f->padded * f->x_size, j, sum);
            store_sums(f, sum, r, rows, j, n, wide);
        }
    }
}

/* The same by AMX: of columns, whose last tile overlaps the one before. */
static void amx_columns(void *ctx, int64_t begin, int64_t end) {
    const few_job *f = ctx;
    float sum[GP_AMX_ROWS * GP_AMX_LINES];
    for (int64_t b = begin; b < end; b++) {
        int64_t j = b * GP_AMX_LINES, last = f->n - GP_AMX_LINES;
        if (j > last) j = last;
        gp_amx_across(f->w + j, f->step, f->k, (const uint16_t *)(const void *)f->x, f->padded,
                      f->rows, sum);
        store_sums(f, sum, 0, f->rows, j, GP_AMX_LINES, GP_AMX_LINES);
    }
}

/* The same of lines along k. */
static void amx_lines(void *ctx, int64_t begin, int64_t end) {
    const few_job *f = ctx;
    float sum[GP_AMX_ROWS * GP_AMX_LINES];
    for (int64_t b = begin; b < end; b++) {
        int64_t j = b * GP_AMX_LINES, n = f->n - j < GP_AMX_LINES ? f->n - j : GP_AMX_LINES;
        gp_amx_lines(f->w + j * f->step, f->step, n, f->k, f->x, f->rows, sum);
        store_sums(f, sum, 0, f->rows, j, n, GP_AMX_LINES);
    }
}

/* Whether AMX multiplies them: of one row, vectors do, which read w as it lies. */
static bool by_amx(const gp_matrix *x, const gp_matrix *w, gp_dtype dtype) {
    return dtype == GP_bf16 && gp_has_amx() && x->rows > 1 &&
           (w->rs == 1 || (w->cs == 1 && w->cols >= GP_AMX_LINES));
}

/* Whether few rows of x meet w as the kernels need it: its lines, along k or across, contiguous. */
static bool fits(const gp_matrix *x, const gp_matrix *w, gp_dtype dtype) {
    int64_t most = by_amx(x, w, dtype) ? GP_AMX_ROWS : w->rs == 1 ? MOST_ROWS : MOST_ACROSS;
    if (x->rows > most) return false;
    if (dtype == GP_f16 && !HAS_F16) return false;
    return w->rs == 1 || (w->cs == 1 && w->cols >= BLOCK);
}

static gp_matrix transpose_of(const gp_matrix *a) {
    return (gp_matrix){a->data, a->dtype, a->cols, a->rows, a->cs, a->rs};
}

bool gp_half_is_few(const gp_matrix *a, const gp_matrix *b) {
    gp_matrix at = transpose_of(a), bt = transpose_of(b);
    return a->dtype == b->dtype &&
           (fits(a, b, b->dtype) || (b->cols <= FOUR && fits(&bt, &at, b->dtype)));
}

/* Copies x to f->x by rows, converted, with zeros after each. */
static bool copy_rows(few_job *f, const gp_matrix *x, bool pairs) {
    f->x_size = pairs ? 2 : 4;
    f->padded = (f->k + 31) / 32 * 32;
    char *to = gp_scratch(GP_SCRATCH_PART, (size_t)(x->rows * f->padded * f->x_size));
    if (!to) return false;
    memset(to, 0, (size_t)(x->rows * f->padded * f->x_size));
    f->x = to;
    for (int64_t r = 0; r < x->rows; r++, to += f->padded * f->x_size) {
        const char *from = x->data + 2 * r * x->rs;
        if (pairs) gp_move_row(to, 2, from, 2 * x->cs, x->cols, 2);
        else gp_load_fn(x->dtype, GP_CT_f32)(to, from, 2 * x->cs, x->cols);
    }
    return true;
}

/* The same in pairs, as AMX reads them. */
static bool copy_columns(few_job *f, const gp_matrix *x) {
    char *to = gp_scratch(GP_SCRATCH_PART, (size_t)gp_amx_columns_bytes(x->rows, f->k));
    if (to)
        gp_amx_columns((const uint16_t *)(const void *)x->data, x->rs, x->cs, x->rows, f->k, to);
    f->x = to;
    return to;
}

bool gp_half_few(gp_half_product *p, const gp_matrix *a, const gp_matrix *b) {
    gp_matrix at = transpose_of(a), bt = transpose_of(b);
    bool turned = !fits(a, b, b->dtype);
    const gp_matrix *x = turned ? &bt : a, *w = turned ? &at : b;
    int type = p->pairs ? 2 : b->dtype == GP_f16;
    few_job f = {.p = p,
                 .w = (const uint16_t *)(const void *)w->data,
                 .across = w->rs != 1,
                 .n = w->cols,
                 .k = w->rows,
                 .rows = x->rows,
                 .c_row = turned ? 1 : p->ldc,
                 .c_col = turned ? p->ldc : 1};
    f.step = f.across ? w->rs : w->cs;
    f.tiles = f.across ? columns[type] : dots[type];
    bool amx = by_amx(x, w, b->dtype), lines = amx && !f.across;
    if (!(lines ? copy_columns(&f, x) : copy_rows(&f, x, p->pairs || amx))) {
        p->no_memory = true;
        return false;
    }
    int64_t wide = amx ? GP_AMX_LINES : f.across ? BLOCK : FOUR, n = (f.n + wide - 1) / wide;
    void (*body)(void *, int64_t, int64_t) = lines ? amx_lines : amx ? amx_columns : few_tiles;
    if (p->call) return gp_parallel_op(p->call, n, 1 + FEW_WORK / (1 + f.k * wide), body, &f);
    body(&f, 0, n);
    return true;
}
