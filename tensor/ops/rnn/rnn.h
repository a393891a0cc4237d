/* Sizes of recurrent layers, and the layout of what forward saves for backward: shared by their
 * shape rules and kernels. */
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
    GP_RNN_OWN /* the next argument: nonlinearity of rnn; backward's own arguments */
};

typedef struct gp_rnn {
    gp_cell cell;
    int gates; /* blocks of `hidden` rows in a weight: 4, 3 or 1 */
    int kept;  /* values per unit that backward needs besides the state: i f g o, or r z n and r's
                  factor; none */
    int dirs, layers, states;                   /* states: 2 (h and c) or 1 */
    bool batched, batch_first, biases, dropped; /* dropped: there is dropout between the layers */
    double dropout;
    int64_t steps, batch, input, hidden;
    int backward; /* index of `saved` among the arguments of the _backward row */
} gp_rnn;

/* Index of the _backward row's last argument: whether the gradient of x is wanted. */
static inline int gp_rnn_grad_x(const gp_rnn *r) { return r->backward + 2 + r->states; }

/* Sets the sizes from call c with input x and second weight w_hh. */
void gp_rnn_read(const gp_call *c, const gp_array *x, const gp_array *w_hh, gp_rnn *r);

/* Index in the list of the first weight of one layer and direction: w_ih, w_hh, then b_ih, b_hh. */
static inline int gp_rnn_weight(const gp_rnn *r, int layer, int dir) {
    return (layer * r->dirs + dir) * (r->biases ? 4 : 2);
}

/* `saved` has one dim, in compute type. Unless the device has a layout of its own
 * (gp_device_vt.saves), it has per layer: for each direction the kept values [steps][batch][kept *
 * hidden] and, for an LSTM, c [steps][batch][hidden]; then the output [steps][batch][dirs *
 * hidden]; then, where dropout follows the layer, its factors in the same shape. In elements: */
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

/* Addresses of the parts of `saved` (NULL: then NULL), whose elements have `size` bytes. */
static inline char *gp_rnn_side_at(const gp_rnn *r, int64_t size, char *saved, int layer, int dir) {
    return saved ? saved + size * (layer * gp_rnn_layer_elements(r) + dir * gp_rnn_side_elements(r))
                 : NULL;
}
static inline char *gp_rnn_cells_at(const gp_rnn *r, int64_t size, char *saved, int layer,
                                    int dir) {
    char *side = gp_rnn_side_at(r, size, saved, layer, dir);
    return side && r->states == 2 ? side + size * r->steps * r->batch * r->hidden * r->kept : NULL;
}
static inline char *gp_rnn_output_at(const gp_rnn *r, int64_t size, char *saved, int layer) {
    return gp_rnn_side_at(r, size, saved, layer, r->dirs);
}
static inline char *gp_rnn_mask_at(const gp_rnn *r, int64_t size, char *saved, int layer) {
    return gp_rnn_output_at(r, size, saved, layer) + size * gp_rnn_plane(r);
}

/* ---- tensors as kernels see them ---- */

/* a as time x batch x features: a missing batch becomes a dim of size 1, dims are exchanged for
 * batch_first. */
static inline gp_array gp_rnn_time_major(const gp_rnn *r, const gp_array *a) {
    gp_array y = *a;
    int t = r->batch_first ? 1 : 0, last = a->ndim - 1;
    y.ndim = 3;
    y.contiguous = false;
    y.dim[0] = a->dim[t], y.stride[0] = a->stride[t];
    y.dim[1] = r->batched ? a->dim[1 - t] : 1, y.stride[1] = r->batched ? a->stride[1 - t] : 0;
    y.dim[2] = a->dim[last], y.stride[2] = a->stride[last];
    return y;
}

/* State number i (layer and direction) of a states tensor, as batch x hidden with a first dim of
 * 1. */
static inline gp_array gp_rnn_state(const gp_rnn *r, const gp_array *a, int64_t i) {
    gp_array y = *a;
    int last = a->ndim - 1;
    y.data += i * a->stride[0] * (int64_t)gp_dtype_size((gp_dtype)a->dtype);
    y.numel = r->batch * r->hidden;
    y.ndim = 3;
    y.contiguous = false;
    y.dim[0] = 1, y.stride[0] = 0;
    y.dim[1] = r->batch, y.stride[1] = r->batched ? a->stride[1] : 0;
    y.dim[2] = r->hidden, y.stride[2] = a->stride[last];
    return y;
}

#endif
