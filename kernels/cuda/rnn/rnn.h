/* Recurrent layers on a CUDA device, shared by forward and backward. They are products of matrices
 * and kernels for the cells; cuDNN runs those without dropout (cudnn.c). */
#ifndef GP_CUDA_RNN_H
#define GP_CUDA_RNN_H

#include "kernels/cuda/matmul/matmul.h"
#include "kernels/cuda/runtime/dense.h"
#include "tensor/ops/rnn/rnn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows (of the batch) and `units` of each. Fields ending in _row are the distance between rows, in
 * elements; gates are `units` apart. */
typedef struct gp_cell_step {
    int64_t rows, units;
    gp_cell cell;
    const char *x;    /* w_ih x + b_ih (+ w_hh h, except for a GRU), [rows][gates * units] */
    const char *h;    /* GRU: w_hh h */
    const char *bias; /* b_hh, or NULL */
    const char *prev, *cprev; /* h and c before the step */
    char *out, *c;            /* after it; c may be cprev */
    int64_t prev_row, out_row;
    char *kept;    /* for backward, or NULL; [rows][kept * units] */
    char *operand; /* h after the step as the next product's operand, or NULL */
    gp_dtype operand_dtype;
} gp_cell_step;
/* Queues a time step of the cells (wide: f64). False with a message. */
bool gp_cuda_cell(const gp_call *c, bool wide, const gp_cell_step *s);

typedef struct gp_cell_back {
    int64_t rows, units;
    gp_cell cell;
    const char *dy; /* gradient of the step's output */
    char *dh,
        *dc; /* of h and c after the step; on return, before it, without the part through w_hh */
    const char *out, *prev;  /* h after and before */
    int64_t y_row, prev_row; /* of dy and out; of prev */
    const char *c, *cprev, *kept;
    char *dx, *dhh; /* of w_ih x + b_ih and w_hh h + b_hh, [rows][gates * units]; one address except
                       for a GRU */
    char *dx_operand, *dhh_operand; /* the same as products' operands, or NULL */
    gp_dtype operand_dtype;
} gp_cell_back;
/* Queues the gradients of a time step of the cells (wide: f64). False with a message. */
bool gp_cuda_cell_back(const gp_call *c, bool wide, const gp_cell_back *s);

/* to = y times the dropout's mask (kept with probability 1 - p, then divided by it), with element e
 * of the random numbers at offset e; the mask also goes to `mask` unless NULL. */
bool gp_cuda_rnn_drop(const gp_call *c, bool wide, const char *y, char *to, char *mask, int64_t n,
                      int64_t offset, double p);
/* to = a b */
bool gp_cuda_rnn_times(const gp_call *c, bool wide, char *to, const char *a, const char *b,
                       int64_t n);
/* to[j] = sum over rows of from[row][j]: gradients of biases. */
bool gp_cuda_rnn_sums(const gp_call *c, bool wide, const char *from, int64_t rows, int64_t cols,
                      char *to);

/* ---- rnn.c, for grad.c ---- */

/* A run, for both. Arrays in scratch are dense, in compute type, but for the operands of products:
 * where x has 16 bits they have its dtype, which tensor cores multiply, with sums in f32. */
typedef struct gp_rnn_run {
    gp_rnn r;
    bool wide;
    gp_dtype dtype, operand; /* the compute type's; of products' operands */
    int64_t size, operand_size;
    const gp_call *c;
    const gp_array *const *w;
    gp_scratch_block scratch, weights[4]; /* of the products; of converted weights */
    char *saved;                          /* or NULL */
    bool only_saves;                      /* forward without results */
} gp_rnn_run;
/* Fills in *n from the call; allocates nothing, and always succeeds. */
bool gp_rnn_open(gp_rnn_run *n, const gp_call *c);
/* Scratch for `elements` elements of compute type, valid until the op returns; NULL with a message.
 * gp_rnn_zero queues zeros for `elements` of them at p. */
void *gp_rnn_scratch(const gp_rnn_run *n, int64_t elements);
bool gp_rnn_zero(const gp_rnn_run *n, char *p, int64_t elements);
/* Copies a (time x batch x features, as the call has it) to p, dense, and p to a. */
bool gp_rnn_load(const gp_rnn_run *n, const gp_array *a, char *p);
/* The same as an operand, and `elements` dense elements at p as one: p itself, or copied to `to`.
 * NULL with a message. */
bool gp_rnn_load_operand(const gp_rnn_run *n, const gp_array *a, char *p);
const char *gp_rnn_as_operand(const gp_rnn_run *n, const char *p, int64_t elements, char *to);
/* Whether operands are copies, and scratch for `elements` elements of them. */
static inline bool gp_rnn_narrow(const gp_rnn_run *n) { return n->operand != n->dtype; }
void *gp_rnn_operand_scratch(const gp_rnn_run *n, int64_t elements);
bool gp_rnn_store(const gp_rnn_run *n, const gp_array *a, const char *p);
/* State i (layer and direction) of a, batch x hidden; a NULL: zeros. p's rows lie ld apart. */
bool gp_rnn_load_state(const gp_rnn_run *n, const gp_array *a, int64_t i, char *p);
bool gp_rnn_store_state(const gp_rnn_run *n, const gp_array *a, int64_t i, const char *p,
                        int64_t ld);
/* Initial h (0) or c (1). */
bool gp_rnn_initial(const gp_rnn_run *n, int kind, int64_t i, char *p);
/* Weight `kind` (w_ih, w_hh, b_ih, b_hh) from number `first` of the list, dense, as an operand, or
 * a bias in compute type; the next one of its kind may overwrite it. NULL with a message. */
const char *gp_rnn_weights(gp_rnn_run *n, int first, int kind);

/* out (m x n, rows ldc apart) = a b, of operands, + out if add. at: a is stored k x m; bt: b is
 * stored n x k. */
bool gp_rnn_product(gp_rnn_run *n, bool at, bool bt, int64_t m, int64_t cols, int64_t k,
                    const char *a, int64_t lda, const char *b, int64_t ldb, bool add,
                    const char *bias, char *out, int64_t ldc);

/* For backward: runs forward again by our own kernels, for what it saves (n->saved, in scratch). */
bool gp_rnn_save_again(gp_rnn_run *n);

/* Runs it all by cuDNN, forward and backward, where it can and may, and backward only if it ran
 * forward; else *done is false. Where cuDNN refused, n->saved is then NULL: its layout is not ours.
 * False with a message. (cudnn.c) */
bool gp_rnn_by_cudnn(gp_rnn_run *n, bool *done);
bool gp_rnn_back_by_cudnn(gp_rnn_run *n, bool *done);

#ifdef __cplusplus
}
#endif
#endif
