/* Matrix products with a matrix that is packed once and used many times, as recurrent layers do. */
#ifndef GP_CPU_PANEL_H
#define GP_CPU_PANEL_H

#include "kernels/cpu/runtime/kernel.h"
#include "kernels/cpu/runtime/widen.h"

/* Products of bf16 in pairs (AVX512-BF16): functions that may be compiled for it beside v4's. */
#if defined(__AVX512F__) && (defined(__clang__) ? __clang_major__ >= 9 : __GNUC__ >= 10)
#define GP_PAIRS 1
#else
#define GP_PAIRS 0
#endif
/* Whether the processor multiplies them fast as vectors, and as tiles of AMX (whose products are
 * sums of 16 pairs). GPUSH_ISA asks for less (runtime/isa.h). */
#define gp_has_pairs GP_NAME(gp_has_pairs)
bool gp_has_pairs(void);
#define gp_has_amx GP_NAME(gp_has_amx)
bool gp_has_amx(void);
/* Whether products of bf16 are packed in pairs. */
static inline bool gp_packs_pairs(void) { return gp_has_pairs() || gp_has_amx(); }

/* gp_store_fn(GP_CT_f32, dtype); for sums of pairs the processor's own rounding to bf16, whose
 * subnormal results are zeros, too. */
#define gp_pairs_store_fn GP_NAME(gp_pairs_store_fn)
gp_store gp_pairs_store_fn(bool pairs, gp_dtype dtype);

enum { GP_PANEL_ROWS = GP_VB == 64 ? 6 : 3 };

/* The weights w (gates * units x k) of y = x w' in panels: a panel holds, for some adjacent units,
 * the weights of every gate, [k][gate][unit]; with one gate, four vectors of units. Units past the
 * last are zeros. In pairs, x is bf16, and an element is two weights: those of 2k and 2k + 1, the
 * last a zero where k is odd. Their products are summed in f32: each pair's, then the pairs in
 * their order. With AMX rows of zeros make the pairs a multiple of 16, whose even and odd elements
 * are summed, then the sixteens in their order. Subnormal numbers count as zeros in both. */
typedef struct gp_panels {
    gp_ctype ct;             /* GP_CT_f32 or GP_CT_f64 */
    bool pairs, amx;         /* of bf16; ct is GP_CT_f32. pairs that AMX multiplies */
    int gates, vectors;      /* 1, 3 or 4; vectors of a panel: up to 4, 3 or 4 */
    int64_t lanes, width;    /* elements of a vector, of a panel's row */
    int64_t units, k, depth; /* depth: gp_panels_depth */
    int64_t count, each;     /* panels; units of a panel */
    char *data;              /* [count][depth][width], compute type or pairs */
    char *start;             /* [count][width]: the initial values of products (biases, or zeros) */
} gp_panels;

/* Sets the sizes; the caller sets data and start, of these many bytes. pairs: gp_packs_pairs(). */
#define gp_panels_init GP_NAME(gp_panels_init)
void gp_panels_init(gp_panels *p, gp_ctype ct, bool pairs, int gates, int64_t units, int64_t k);
/* Rows of a panel: k, or its pairs. */
static inline int64_t gp_panels_depth(bool pairs, int64_t k) {
    return !pairs ? k : gp_has_amx() ? (k + 31) / 32 * 16 : (k + 1) / 2;
}
/* With one gate: panels of 1 to 4 vectors. */
static inline void gp_panels_narrow(gp_panels *p, int vectors) {
    p->vectors = vectors;
    p->width = p->each = vectors * p->lanes;
    p->count = (p->units + p->each - 1) / p->each;
}
static inline int64_t gp_panels_bytes(const gp_panels *p) {
    return p->count * p->depth * p->width * gp_ctype_size[p->ct];
}
static inline int64_t gp_panels_start_bytes(const gp_panels *p) {
    return p->count * p->width * gp_ctype_size[p->ct];
}

/* A matrix w (rs, cs: bytes between its rows and columns) and a bias (elements bs bytes apart;
 * NULL: zeros). */
typedef struct gp_panel_source {
    const char *w, *bias;
    gp_dtype dtype;
    int64_t rs, cs, bs;
} gp_panel_source;
/* Packs panels [begin, end) of *s, converted to compute type: p->data and p->start are set. Threads
 * may pack different panels concurrently. For pairs, s->dtype is bf16. */
#define gp_panels_pack GP_NAME(gp_panels_pack)
void gp_panels_pack(gp_panels *p, const gp_panel_source *s, int64_t begin, int64_t end);

/* out[rows][width] = start + a[rows][k] times panel i; lda: elements between rows of a, which are
 * bf16 for pairs. */
#define gp_panels_multiply GP_NAME(gp_panels_multiply)
void gp_panels_multiply(const gp_panels *p, int64_t i, int64_t rows, const char *a, int64_t lda,
                        char *out);

/* Rows whose products with a panel are kept on the stack. */
enum { GP_PANEL_BUFFER = 96 };
/* out[rows][units] (+)= a[rows][k] times panel i, its part of the columns; one gate only. */
#define gp_panels_rows GP_NAME(gp_panels_rows)
void gp_panels_rows(const gp_panels *p, int64_t i, int64_t rows, const char *a, int64_t lda,
                    char *out, int64_t ldo, bool add);

#endif
