/* Products with packed panels: a tile of rows times a panel stays in registers over the whole inner
 * dim. */
#include "kernels/cpu/matmul/packed.h"

#include <string.h>

#define VECTOR(T, t)                                                                               \
    typedef T vec_##t __attribute__((vector_size(GP_VB), aligned(sizeof(T)), may_alias));
VECTOR(float, f32)
VECTOR(double, f64)

/* out[r][v] = start[v] + sum over k of a[r][k] w[k][v]. Prefetches the next panel's lines: weights
 * of a large layer do not fit the second-level cache, and are read at each time step. */
typedef void (*tile_fn)(const void *a, int64_t lda, const void *w, const void *start, int64_t k,
                        void *out, const char *ahead);

#define EACH_R _Pragma("GCC unroll 6") for (int r = 0; r < R; r++)
#define EACH_V _Pragma("GCC unroll 4") for (int v = 0; v < V; v++)
#define T float
#define t f32
#include "kernels/cpu/matmul/tiles.inc"
#define T double
#define t f64
#include "kernels/cpu/matmul/tiles.inc"
#define TABLE(t, v) tile_##t##_##v##_1, tile_##t##_##v##_2, tile_##t##_##v##_3
#ifdef __AVX512F__
#define ALL(t, v) TABLE(t, v), tile_##t##_##v##_4, tile_##t##_##v##_5, tile_##t##_##v##_6
#else
#define ALL(t, v) TABLE(t, v)
#endif
static const tile_fn tiles[2][2][GP_PANEL_ROWS] = {{{ALL(f32, 3)}, {ALL(f32, 4)}},
                                                   {{ALL(f64, 3)}, {ALL(f64, 4)}}};

void gp_panels_init(gp_panels *p, gp_ctype ct, int gates, int64_t units, int64_t k) {
    *p = (gp_panels){
        .ct = ct, .gates = gates, .vectors = gates == 1 ? 4 : gates, .units = units, .k = k};
    p->lanes = GP_VB / gp_ctype_size[ct];
    p->width = p->vectors * p->lanes;
    p->each = gates == 1 ? p->width : p->lanes;
    p->count = (units + p->each - 1) / p->each;
}

/* Row of w that column j of panel i holds; -1 past the last unit. */
static int64_t weight_row(const gp_panels *p, int64_t i, int64_t j) {
    int64_t unit = i * p->each + (p->gates == 1 ? j : j % p->lanes);
    if (unit >= p->units) return -1;
    return p->gates == 1 ? unit : j / p->lanes * p->units + unit;
}

/* to[k][width] from n rows of `part` elements. */
#define SPREAD(T, t)                                                                               \
    static void spread_##t(T *to, const T *rows, int64_t width, int64_t lanes, int64_t part,       \
                           int64_t n) {                                                            \
        for (int64_t k = 0; k < n; k++)                                                            \
            for (int64_t j = 0; j < lanes; j++) to[k * width + j] = rows[j * part + k];            \
    }
SPREAD(float, f32)
SPREAD(double, f64)

static void pack_vector(gp_panels *p, const gp_panel_source *s, int64_t i, int v) {
    enum { PART = 64 };
    _Alignas(64) char rows[PART * GP_VB]; /* lanes rows of PART elements */
    int64_t size = gp_ctype_size[p->ct];
    gp_load load = gp_load_fn(s->dtype, p->ct);
    char *to = p->data + (i * p->k * p->width + v * p->lanes) * size;
    for (int64_t k = 0; k < p->k; k += PART) {
        int64_t n = p->k - k < PART ? p->k - k : PART;
        for (int64_t j = 0; j < p->lanes; j++) {
            int64_t row = weight_row(p, i, v * p->lanes + j);
            char *line = rows + j * PART * size;
            if (row < 0) memset(line, 0, (size_t)(n * size));
            else load(line, s->w + row * s->rs + k * s->cs, s->cs, n);
        }
        char *at = to + k * p->width * size;
        if (size == 4) spread_f32((float *)at, (float *)rows, p->width, p->lanes, PART, n);
        else spread_f64((double *)at, (double *)rows, p->width, p->lanes, PART, n);
    }
}

void gp_panels_pack(gp_panels *p, const gp_panel_source *s, int64_t begin, int64_t end) {
    int64_t size = gp_ctype_size[p->ct];
    for (int64_t i = begin; i < end; i++) {
        for (int v = 0; v < p->vectors; v++) pack_vector(p, s, i, v);
        char *start = p->start + i * p->width * size;
        memset(start, 0, (size_t)(p->width * size));
        for (int64_t j = 0; s->bias && j < p->width; j++) {
            int64_t row = weight_row(p, i, j);
            if (row >= 0)
                gp_load_fn(s->dtype, p->ct)(start + j * size, s->bias + row * s->bs, 1, 1);
        }
    }
}

void gp_panels_multiply(const gp_panels *p, int64_t i, int64_t rows, const char *a, int64_t lda,
                        char *out) {
    int64_t size = gp_ctype_size[p->ct], bytes = p->k * p->width * size,
            blocks = (rows + GP_PANEL_ROWS - 1) / GP_PANEL_ROWS;
    const char *w = p->data + i * bytes, *start = p->start + i * p->width * size;
    const tile_fn *fn = tiles[p->ct == GP_CT_f64][p->vectors - 3];
    for (int64_t b = 0; b < blocks; b++) {
        int64_t from = rows * b / blocks, n = rows * (b + 1) / blocks - from;
        const char *ahead = b < p->vectors && i + 1 < p->count ? w + bytes + b * p->k * GP_VB : w;
        fn[n - 1](a + from * lda * size, lda, w, start, p->k, out + from * p->width * size, ahead);
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
        gp_panels_multiply(p, i, to - from, a + from * lda * size, lda, buf);
        for (int64_t r = from; r < to; r++) {
            char *o = out + (r * ldo + first) * size, *y = buf + (r - from) * p->width * size;
            if (size == 4) store_f32((float *)o, (float *)y, n, add);
            else store_f64((double *)o, (double *)y, n, add);
        }
    }
}
