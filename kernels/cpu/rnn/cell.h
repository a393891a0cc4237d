/* The elementwise part of a time step of a recurrent layer: gates, states, and their gradients. */
#ifndef GP_CPU_CELL_H
#define GP_CPU_CELL_H

#include "kernels/cpu/runtime/kernel.h"
#include "tensor/ops/rnn/rnn.h"

/* Rows (of the batch) and n adjacent units of each. Addresses are of the first row and unit; fields
 * ending in _row are the distance between rows, in elements; gate g's values are g * gate elements
 * after the first's. */
typedef struct gp_cell_rows {
    int64_t rows, n;
    const char *x, *h; /* w_ih x + b_ih; w_hh h + b_hh */
    int64_t x_row, x_gate, h_row, h_gate;
    const char *prev; /* h before the step */
    char *out;        /* h after it */
    int64_t prev_row, out_row;
    const char *cprev; /* LSTM: c before and after; may be one address */
    char *c;
    int64_t c_row;
    char *kept; /* for backward, or NULL; gates `units` apart */
    int64_t kept_row, units;
} gp_cell_rows;

/* One time step of the rows, for compute type ct. */
#define gp_cell_forward GP_NAME(gp_cell_forward)
void gp_cell_forward(gp_cell cell, gp_ctype ct, const gp_cell_rows *r);

/* Whole rows of `units` elements, dense where no distance is given. */
typedef struct gp_cell_grads {
    int64_t rows, units;
    const char *dy; /* gradient of the step's output */
    char *dh,
        *dc; /* of h and c after the step; on return, before it, without the part through w_hh */
    const char *out, *prev;  /* h after and before */
    int64_t y_row, prev_row; /* of dy and out; of prev */
    const char *c, *cprev, *kept;
    char *dx, *dhh; /* of w_ih x + b_ih and w_hh h + b_hh, [rows][gates * units]; one address except
                       for a GRU */
} gp_cell_grads;

#define gp_cell_backward GP_NAME(gp_cell_backward)
/* Gradients of the gates and of the states before, for the rows that g describes. */
void gp_cell_backward(gp_cell cell, gp_ctype ct, const gp_cell_grads *g);

#endif
