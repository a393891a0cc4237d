/* Products of matrices whose elements have 16 bits, which are converted while they are packed. */
#ifndef GP_CPU_HALF_H
#define GP_CPU_HALF_H

#include "kernels/cpu/matmul/packed.h"

/* A matrix as a product reads it; strides in elements. */
typedef struct gp_matrix {
    const char *data;
    gp_dtype dtype;
    int64_t rows, cols, rs, cs;
} gp_matrix;

/* c = a b, plus c if add (f32 only). Every element is one sum in the order of the inner dim (of its
 * thirty-twos, with AMX), in f32: its bits depend neither on the threads nor on its neighbours. */
typedef struct gp_half_product {
    const gp_call
        *call; /* Ctrl-C ends it, with its message; NULL: on this thread alone, silently */
    char *c;
    gp_dtype dtype; /* of c: f32, f16 or bf16 */
    int64_t ldc;    /* elements between its rows */
    bool add;
    /* Set by the product. */
    bool pairs; /* a is bf16, else f32 */
    int64_t m, n, k, lda, panels, groups;
    const char *a;
    gp_panel_source b; /* b's columns count as rows: rs is from column to column, cs along k */
    _Atomic bool no_memory, stopped;
} gp_half_product;

/* Bytes of room for a times a b of that dtype; 0 if a is read in place. */
#define gp_half_bytes GP_NAME(gp_half_bytes)
size_t gp_half_bytes(const gp_matrix *a, gp_dtype b);
/* b is f16 or bf16, a may be f32, too. Bodies use GP_SCRATCH_PART. False when interrupted or out of
 * memory, as the fields say; the message is set when there is a call. */
#define gp_half_multiply GP_NAME(gp_half_multiply)
bool gp_half_multiply(gp_half_product *p, const gp_matrix *a, const gp_matrix *b, char *buffer);

/* Whether a or b' has so few rows that the other is better read in place; gp_half_multiply then
 * does so: it calls gp_half_few, which sets no message when out of memory. */
#define gp_half_is_few GP_NAME(gp_half_is_few)
bool gp_half_is_few(const gp_matrix *a, const gp_matrix *b);
#define gp_half_few GP_NAME(gp_half_few)
bool gp_half_few(gp_half_product *p, const gp_matrix *a, const gp_matrix *b);

#endif
