/* Gates and states of LSTM, GRU and plain recurrent cells, forward and backward. */
#include "kernels/cpu/rnn/cell.h"

#include <string.h>

#include "kernels/common/cell_rules.h"
#include "kernels/cpu/elementwise/math.h"
#include "kernels/cpu/runtime/widen.h"

/* Units are processed one vector at a time, in local arrays: the compiler then calls the vector exp
 * and tanh on whole registers, and the last units need no separate loop. */
#define TEMPLATE "kernels/cpu/rnn/cell_forward.inc"
#include "kernels/common/floats.inc"

void gp_cell_forward(gp_cell cell, gp_ctype ct, const gp_cell_rows *r) {
    typedef void (*cell_fn)(const gp_cell_rows *, int64_t, int64_t, int64_t);
    static const cell_fn fns[2][4] = {{lstm_f32, gru_f32, tanh_f32, relu_f32},
                                      {lstm_f64, gru_f64, tanh_f64, relu_f64}};
    cell_fn fn = fns[ct == GP_CT_f64][cell];
    int64_t lanes = GP_VB / gp_ctype_size[ct];
    for (int64_t row = 0; row < r->rows; row++)
        for (int64_t at = 0; at < r->n; at += lanes)
            fn(r, row, at, r->n - at < lanes ? r->n - at : lanes);
}

/* ---- backward ---- */

/* Pointers to row `row` of the fields that every cell has. */
#define ROW(T)                                                                                     \
    int64_t n = g->units;                                                                          \
    const T *dy = (const T *)g->dy + row * g->y_row, *y = (const T *)g->out + row * g->y_row;      \
    const T *prev = (const T *)g->prev + row * g->prev_row;                                        \
    T *dh = (T *)g->dh + row * n;                                                                  \
    (void)y, (void)prev;

#define TEMPLATE "kernels/cpu/rnn/cell_backward.inc"
#include "kernels/common/floats.inc"

void gp_cell_backward(gp_cell cell, gp_ctype ct, const gp_cell_grads *g) {
    typedef void (*back_fn)(const gp_cell_grads *, int64_t);
    static const back_fn fns[2][4] = {{lstm_back_f32, gru_back_f32, tanh_back_f32, relu_back_f32},
                                      {lstm_back_f64, gru_back_f64, tanh_back_f64, relu_back_f64}};
    back_fn fn = fns[ct == GP_CT_f64][cell];
    for (int64_t row = 0; row < g->rows; row++) fn(g, row);
}
