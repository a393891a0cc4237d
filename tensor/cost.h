/* What a run of an op costs on any processor: bytes that it must move, operations, and passes that
 * follow one another. Says nothing of time: a card's figures make one of it (card/card.h). */
#ifndef GP_COST_H
#define GP_COST_H

#include "tensor/op.h"

/* The part of a processor that does the operations. */
typedef enum gp_unit { GP_UNIT_VECTOR, GP_UNIT_MATRIX } gp_unit;

/* Ops whose kernels reach about the same share of a card's bound; of none: that is not known, as of
 * another program's ops. */
typedef enum gp_family {
    GP_FAMILY_none,
#define FAMILY(name, help) GP_FAMILY_##name,
#include "tensor/device/card/cards.def"
    GP_FAMILIES
} gp_family;

typedef struct gp_cost {
    /* What is read and written once; elements that an expanded operand repeats count once. */
    double bytes;
    /* Additions, multiplications, comparisons, choices, and functions as one each: a multiply-add
     * is two. Those of products, convolutions and attention are the counts of PyTorch's
     * FlopCounterMode. */
    double ops;
    /* Passes over the data, each of which needs the one before: a column of a factorization, a time
     * step, a digit of a radix sort. 0: nothing runs. */
    uint32_t passes;
    uint8_t unit;   /* gp_unit */
    uint8_t dtype;  /* gp_dtype that it computes in */
    uint8_t family; /* gp_family */
    uint8_t none;   /* 0: costs are interned as bytes */
} gp_cost;

/* The cost of c, whose rule has run and whose outputs are set: a call of gp_op_run's, or its copy
 * in a queue. Reads shapes only. Views cost nothing: what they copy is a call of its own. */
gp_cost gp_call_cost(const gp_call *c);

/* Operations in the text of a formula of ops.def: its operators, choices and functions. */
int gp_cost_of_formula(const char *text);
/* The same for the elements of an op by its row's formula; 0 without one. */
int gp_cost_of_op(const gp_op *op);

/* How matrices are factorized. */
typedef enum gp_factorization {
    GP_LU,
    GP_SOLVE,
    GP_INVERSE,
    GP_CHOLESKY,
    GP_TRIANGULAR,
    GP_QR,
    GP_LSTSQ,
    GP_EIGH,
    GP_EIGVALSH,
    GP_EIG,
    GP_EIGVALS,
    GP_SVD,
    GP_SVDVALS
} gp_factorization;

/* The functions that rows without a formula name in their column cost, with a and b. Bytes are
 * those of all operands and results where a function says nothing else. Ops of a family reach about
 * the same share of a card's bound (device/cards.def); formulas are of the families elementwise and
 * reduce.
 *   nothing   no bytes
 *   moves     a operations for each element of the first tensor, b for each of the result
 *   makes     the same, of the second tensor in place of the first
 *   lists     a operations for each element of the tensors in the first argument
 *   checks    the bytes of the tensors in the first argument alone, a operations for each element
 *   along     along the dim that is argument a, b operations for each element
 *   product   argument a is the left operand of a matrix product
 *   conv      argument a is slid over by argument b, a weight; -1: the result is
 *   windows   windows of argument a's sizes, b spatial dims, over each element of the result;
 *             windows_grad: of the first argument
 *   attention a products of queries with keys, and b of their shares with values
 *   layers    a times the products of forward
 *   picked    argument a is read only where it is taken; b operations for each
 *   written   the first argument is copied, and then written at as many places as the result of
 *             argument a, a source, or b, an index, has elements
 *   sorted, selected  a passes of a radix sort, or selection, for each byte of an element
 *   searched  argument a is searched for each element of the result
 *   resampled a is 1 for the gradient
 *   matrices  argument a holds matrices that the method b (gp_factorization) factorizes
 *   fourier   half of a transform of complex numbers where a is 1; of pairs where b is 1
 *   program   the steps of a fused program
 *   launched  a kernel of the user's: bytes that were counted, else each tensor once */
typedef void gp_cost_fn(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost);
gp_cost_fn gp_cost_nothing, gp_cost_moves, gp_cost_makes, gp_cost_lists, gp_cost_checks,
    gp_cost_along, gp_cost_product, gp_cost_conv, gp_cost_windows, gp_cost_windows_grad,
    gp_cost_attention, gp_cost_layers, gp_cost_picked, gp_cost_written, gp_cost_sorted,
    gp_cost_selected, gp_cost_searched, gp_cost_resampled, gp_cost_matrices, gp_cost_fourier,
    gp_cost_program, gp_cost_launched;

/* The family of an op: of views and functions none. */
gp_family gp_op_family(const gp_op *op);

/* Bytes of the distinct elements of a. */
double gp_cost_bytes(const gp_array *a);

#endif
