/* What the shape rules of recurrent layers and their kernels share: the sizes, and the layout of
 * what forward saves for backward. */
#ifndef GP_RNN_H
#define GP_RNN_H

#include "tensor/op.h"

typedef enum gp_cell { GP_CELL_LSTM, GP_CELL_GRU, GP_CELL_TANH, GP_CELL_RELU } gp_cell;

/* Arguments of lstm, gru, rnn, and of their _forward and _backward rows. */
enum {
    GP_RNN_X,
    GP_RNN_HX,
    GP_RNN_WEIGHTS,
    GP_RNN_BIASES,
    GP_RNN_LAYERS,
    GP_RNN_DROPOUT,
    GP_RNN_TRAIN,
    GP_RNN_BIDIRECTIONAL,
    GP_RNN_BATCH_FIRST,
    GP_RNN_OWN /* the next argument: nonlinearity of rnn; what only backward takes */
};

typedef struct gp_rnn {
    gp_cell cell;
    int gates; /* blocks of `hidden` rows in a weight: 4, 3 or 1 */
    int kept;  /* values per unit that backward needs beside the state: i f g o, or r z n and what r
                  multiplies; none */
    int dirs, layers, states;                   /* states: 2 (h and c) or 1 */
    bool batched, batch_first, biases, dropped; /* dropped: there is dropout between the layers */
    double dropout;
    int64_t steps, batch, input, hidden;
    int backward; /* index of `saved` among the arguments of the _backward row */
} gp_rnn;

/* Sizes of call c with input x and second weight w_hh. */
void gp_rnn_read(const gp_call *c, const gp_array *x, const gp_array *w_hh, gp_rnn *r);

/* Weights of one layer and direction begin here in the list: w_ih, w_hh, then b_ih, b_hh. */
static inline int gp_rnn_weight(const gp_rnn *r, int layer, int dir) {
    return (layer * r->dirs + dir) * (r->biases ? 4 : 2);
}

/* `saved` is one dim, in compute type, and where the device has no form of its own (gp_device_vt.saves), per layer: for each direction the kept values
 * [steps][batch][kept * hidden] and, of an LSTM, c [steps][batch][hidden]; then the output
 * [steps][batch][dirs * hidden]; then, where there is dropout behind the layer, what it was
 * multiplied by, in the same shape. In elements: */
static inline int64_t gp_rnn_side_elements(const gp_rnn *r) {
    return r->steps * r->batch * r->hidden * (r->kept + r->states - 1);
}
static inline int64_t gp_rnn_plane(const gp_rnn *r) {
    return r->steps * r->batch * r->hidden * r->dirs;
}
static inline int64_t gp_rnn_layer_elements(const gp_rnn *r) {
    return r->dirs * gp_rnn_side_elements(r) + gp_rnn_plane(r) * (r->dropped ? 2 : 1);
}
static inline int64_t gp_rnn_saved_elements(const gp_rnn *r) {
    return r->layers * gp_rnn_layer_elements(r);
}

#endif
