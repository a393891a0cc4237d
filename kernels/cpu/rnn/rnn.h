/* Layout and helpers shared by the forward and backward kernels of recurrent layers. */
#ifndef GP_CPU_RNN_H
#define GP_CPU_RNN_H

#include "kernels/cpu/matmul/packed.h"
#include "kernels/cpu/runtime/kernel.h"
#include "tensor/ops/rnn/rnn.h"

/* Allocates pieces of one block, 64-byte aligned: first with at NULL, to count. */
typedef struct gp_carve {
    char *base;
    int64_t used;
} gp_carve;
static inline char *gp_carve_next(gp_carve *v, int64_t bytes) {
    int64_t at = v->used;
    v->used += (bytes + 63) / 64 * 64;
    return v->base ? v->base + at : NULL;
}

/* A dense array of up to three dims in compute type at p. */
static inline gp_array gp_rnn_dense(char *p, gp_ctype ct, int64_t a, int64_t b, int64_t c) {
    return (gp_array){.data = p,
                      .numel = a * b * c,
                      .dtype = gp_ctype_dtype[ct],
                      .ndim = 3,
                      .contiguous = true,
                      .dim = {a, b, c},
                      .stride = {b * c, c, 1}};
}

/* Groups of rows that each of the step's `units` (directions x panels) is divided into: about four
 * pieces of work for each thread, each of at least a panel's rows. */
static inline int64_t gp_rnn_groups(const gp_rnn *r, int64_t units) {
    int64_t want = 4 * gp_threads(), most = r->batch / GP_PANEL_ROWS;
    int64_t groups = gp_threads() == 1 || units >= want ? 1 : (want + units - 1) / units;
    return groups <= most ? groups : most > 0 ? most : 1;
}

/* Copies initial state i of kind k (0 h, 1 c) to p, dense in compute type; zeros if none was
 * given. */
#define gp_rnn_initial GP_NAME(gp_rnn_initial)
void gp_rnn_initial(const gp_call *c, const gp_rnn *r, gp_ctype ct, int k, int64_t i, char *p);
/* x as dense rows of features of dtype dt: in place, or a copy in p; *ld: elements between rows.
 * With p NULL, only *ld is set, 0 if a copy is needed. */
#define gp_rnn_rows GP_NAME(gp_rnn_rows)
const char *gp_rnn_rows(const gp_rnn *r, gp_dtype dt, const gp_array *x, char *p, int64_t *ld);

/* Whether inputs, states and gradients of gates are rounded to bf16 and multiplied in pairs: x and
 * every weight are bf16, and the processor has such products. What is added stays f32. */
#define gp_rnn_pairs GP_NAME(gp_rnn_pairs)
bool gp_rnn_pairs(const gp_rnn *r, const gp_array *x, const gp_array *const *w);
/* to = n f32 numbers as bf16. */
static inline void gp_rnn_round(char *to, const char *from, int64_t n) {
    gp_pairs_store_fn(true, GP_bf16)(to, 2, from, n);
}

/* c[m][n] (ld ldc) = a b, plus c if add; at: a is stored k x m; bt: b is stored n x k. By oneDNN or
 * OpenBLAS, on the threads that gp_blas_threads set. */
#define gp_rnn_gemm GP_NAME(gp_rnn_gemm)
bool gp_rnn_gemm(gp_ctype ct, bool at, bool bt, int64_t m, int64_t n, int64_t k, const char *a,
                 int64_t lda, const char *b, int64_t ldb, bool add, char *c, int64_t ldc);

#endif
