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

/* The text of op's formula: of a reduction, what it does for each element. NULL where it has none.
 */
const char *gp_op_formula(const gp_op *op);

/* The part of a row of tensor/ops/table/cost.def that its function reads. */
typedef struct gp_cost_row {
    gp_family family;
    void (*fn)(const gp_call *c, const struct gp_cost_row *row, gp_cost *cost);
    double a, b; /* as fn says */
} gp_cost_row;
/* By op id; rows whose formula says what they cost, and views, have none. */
extern const gp_cost_row gp_cost_rows[GP_ROWS];

/* The family of an op: of views and functions none. */
gp_family gp_op_family(const gp_op *op);

/* The function of the op that runs a program. */
void gp_cost_program(const gp_call *c, const gp_cost_row *row, gp_cost *cost);

/* Bytes of the distinct elements of a. */
double gp_cost_bytes(const gp_array *a);

#endif
