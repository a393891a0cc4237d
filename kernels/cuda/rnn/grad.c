/* Recurrent layers backward: through time one kernel for the cells and one product with w_hh per
 * step, then the weights' and the input's gradients in a few products over all steps. */
#include "kernels/cuda/rnn/rnn.h"

/* Workspace, allocated once; gx and gh: gradients of w_ih x + b_ih and w_hh h + b_hh of all steps,
 * one array except for a GRU. */
typedef struct work {
    char *dy, *dx; /* of the layer's output and input */
    char *input;   /* the layer's input: x, or the output below with dropout */
    char *h0, *c0, *dh, *dc, *gx, *gh;
    char *dw; /* of all weights */
    /* Operands, where they are copies: the layer's input and output, gx and gh, h0. */
    char *in, *out, *gx_operand, *gh_operand, *prev;
} work;

static int64_t rows_of(const gp_rnn_run *n) { return n->r.steps * n->r.batch; }

static bool open_work(const gp_rnn_run *n, work *k) {
    const gp_rnn *r = &n->r;
    const gp_array *dw = gp_out(n->c, 1 + r->states);
    int64_t wide = r->dirs * r->hidden > r->input ? r->dirs * r->hidden : r->input,
            gates = r->gates * r->hidden, state = r->batch * r->hidden;
    char **const pointers[] = {&k->dy, &k->dx, &k->input, &k->h0, &k->c0, &k->dh, &k->dc, &k->gx};
    const int64_t sizes[] = {
        rows_of(n) * wide, rows_of(n) * wide, rows_of(n) * wide, state, state, state, state,
        rows_of(n) * gates};
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++)
        if (!(*pointers[i] = (char *)gp_rnn_scratch(n, sizes[i]))) return false;
    const int64_t operands[] = {gp_rnn_plane(r), gp_rnn_plane(r), rows_of(n) * gates, state};
    char **const at[] = {&k->in, &k->out, &k->gx_operand, &k->prev};
    for (size_t i = 0; gp_rnn_narrow(n) && i < sizeof at / sizeof *at; i++)
        if (!(*at[i] = (char *)gp_rnn_operand_scratch(n, operands[i]))) return false;
    k->gh_operand = k->gx_operand;
    if (gp_rnn_narrow(n) && r->cell == GP_CELL_GRU &&
        !(k->gh_operand = (char *)gp_rnn_operand_scratch(n, rows_of(n) * gates)))
        return false;
    k->gh = r->cell == GP_CELL_GRU ? (char *)gp_rnn_scratch(n, rows_of(n) * gates) : k->gx;
    k->dw = dw->dtype == n->dtype ? dw->data : (char *)gp_rnn_scratch(n, dw->numel);
    return k->gh && k->dw;
}

/* ---- through time ---- */

/* One direction of a layer. */
typedef struct side {
    int layer, dir;
    const char *y, *hh;
    const char *y_operand, *prev; /* y and h0, as operands */
    char *kept, *cells;
} side;

/* The gradients of the gates of a row, as operands. */
static const char *operand_at(const gp_rnn_run *n, const char *g, const char *operand,
                              int64_t row) {
    int64_t gates = n->r.gates * n->r.hidden;
    return gp_rnn_narrow(n) ? operand + row * gates * n->operand_size : g + row * gates * n->size;
}

static bool one_step(gp_rnn_run *n, const work *k, const side *s, int64_t step) {
    const gp_rnn *r = &n->r;
    int64_t h = r->hidden, ld = r->dirs * h, gates = r->gates * h, size = n->size,
            row = (s->dir ? r->steps - 1 - step : step) * r->batch,
            back = s->dir ? row + r->batch : row - r->batch;
    gp_cell_back g = {
        .rows = r->batch, .units = h, .cell = r->cell, .y_row = ld, .prev_row = step ? ld : h};
    g.dy = k->dy + (row * ld + s->dir * h) * size;
    g.out = s->y + (row * ld + s->dir * h) * size;
    g.prev = step ? s->y + (back * ld + s->dir * h) * size : k->h0;
    g.dh = k->dh;
    g.dx = k->gx + row * gates * size, g.dhh = k->gh + row * gates * size;
    if (s->kept) g.kept = s->kept + row * r->kept * h * size;
    if (s->cells) {
        g.dc = k->dc;
        g.c = s->cells + row * h * size;
        g.cprev = step ? s->cells + back * h * size : k->c0;
    }
    if (gp_rnn_narrow(n)) {
        g.dx_operand = k->gx_operand + row * gates * n->operand_size;
        g.dhh_operand = k->gh_operand + row * gates * n->operand_size;
        g.operand_dtype = n->operand;
    }
    return gp_cuda_cell_back(n->c, n->wide, &g) &&
           gp_rnn_product(n, false, false, r->batch, h, gates,
                          operand_at(n, k->gh, k->gh_operand, row), gates, s->hh, h, true, NULL,
                          k->dh, h);
}

/* ---- weights and input ---- */

/* The h before each step: of all steps but the first, the output of another row; then h0. */
static bool weights_hh(gp_rnn_run *n, const work *k, const side *s, char *to) {
    const gp_rnn *r = &n->r;
    int64_t h = r->hidden, ld = r->dirs * h, batch = r->batch, rest = rows_of(n) - batch,
            gates = r->gates * h;
    const char *g = operand_at(n, k->gh, k->gh_operand, s->dir ? 0 : batch),
               *y = s->y_operand + ((s->dir ? batch * ld : 0) + s->dir * h) * n->operand_size,
               *first = operand_at(n, k->gh, k->gh_operand, s->dir ? rest : 0);
    return gp_rnn_product(n, true, false, gates, h, batch, first, gates, s->prev, h, false, NULL,
                          to, h) &&
           (rest == 0 ||
            gp_rnn_product(n, true, false, gates, h, rest, g, gates, y, ld, true, NULL, to, h));
}

static bool weights(gp_rnn_run *n, const work *k, const side *s, const char *x, int64_t in) {
    const gp_rnn *r = &n->r;
    int first = gp_rnn_weight(r, s->layer, s->dir);
    int64_t at = 0, gates = r->gates * r->hidden;
    for (int i = 0; i < first; i++) at += n->w[i]->numel;
    char *to = k->dw + at * n->size, *hh = to + gates * in * n->size,
         *b = hh + gates * r->hidden * n->size;
    return gp_rnn_product(n, true, false, gates, in, rows_of(n),
                          operand_at(n, k->gx, k->gx_operand, 0), gates, x, in, false, NULL, to,
                          in) &&
           weights_hh(n, k, s, hh) &&
           (!r->biases ||
            (gp_cuda_rnn_sums(n->c, n->wide, k->gx, rows_of(n), gates, b) &&
             gp_cuda_rnn_sums(n->c, n->wide, k->gh, rows_of(n), gates, b + gates * n->size)));
}

/* ---- a layer ---- */

/* x, y: the layer's input and output as operands. */
static bool run_side(gp_rnn_run *n, work *k, int layer, int dir, const char *x, int64_t in,
                     const char *y) {
    const gp_rnn *r = &n->r;
    int64_t i = (int64_t)layer * r->dirs + dir, gates = r->gates * r->hidden;
    side s = {.layer = layer,
              .dir = dir,
              .y = gp_rnn_output_at(&n->r, n->size, n->saved, layer),
              .y_operand = y,
              .cells = gp_rnn_cells_at(&n->r, n->size, n->saved, layer, dir)};
    s.kept = r->kept ? gp_rnn_side_at(&n->r, n->size, n->saved, layer, dir) : NULL;
    const char *ih = gp_rnn_weights(n, gp_rnn_weight(r, layer, dir), 0);
    s.hh = gp_rnn_weights(n, gp_rnn_weight(r, layer, dir), 1);
    bool ok = ih && s.hh && gp_rnn_initial(n, 0, i, k->h0) &&
              (s.prev = gp_rnn_as_operand(n, k->h0, r->batch * r->hidden, k->prev)) &&
              gp_rnn_load_state(n, gp_in(n->c, r->backward + 2), i, k->dh);
    if (ok && r->states == 2)
        ok = gp_rnn_initial(n, 1, i, k->c0) &&
             gp_rnn_load_state(n, gp_in(n->c, r->backward + 3), i, k->dc);
    for (int64_t step = r->steps - 1; ok && step >= 0; step--) ok = one_step(n, k, &s, step);
    ok = ok && weights(n, k, &s, x, in) &&
         gp_rnn_store_state(n, gp_out(n->c, 1), i, k->dh, r->hidden);
    if (ok && r->states == 2) ok = gp_rnn_store_state(n, gp_out(n->c, 2), i, k->dc, r->hidden);
    if (!ok || (!layer && !n->c->arg[gp_rnn_grad_x(r)].i)) return ok;
    return gp_rnn_product(n, false, false, rows_of(n), in, gates,
                          operand_at(n, k->gx, k->gx_operand, 0), gates, ih, in, dir > 0, NULL,
                          k->dx, in);
}

/* The layer's input as an operand. NULL with a message. */
static const char *layer_input(const gp_rnn_run *n, const work *k, int layer) {
    int64_t plane = gp_rnn_plane(&n->r);
    if (layer == 0)
        return gp_rnn_load_operand(n, gp_in(n->c, GP_RNN_X), k->input) ? k->input : NULL;
    const char *y = gp_rnn_output_at(&n->r, n->size, n->saved, layer - 1);
    if (n->r.dropped) {
        const char *mask = gp_rnn_mask_at(&n->r, n->size, n->saved, layer - 1);
        if (!gp_cuda_rnn_times(n->c, n->wide, k->input, y, mask, plane)) return NULL;
        y = k->input;
    }
    return gp_rnn_as_operand(n, y, plane, k->in);
}

static bool run_layer(gp_rnn_run *n, work *k, int layer) {
    const gp_rnn *r = &n->r;
    const char *x = layer_input(n, k, layer),
               *y = x ? gp_rnn_as_operand(n, gp_rnn_output_at(r, n->size, n->saved, layer),
                                          gp_rnn_plane(r), k->out)
                      : NULL;
    bool ok = y != NULL;
    for (int dir = 0; ok && dir < r->dirs; dir++)
        ok = run_side(n, k, layer, dir, x, layer ? r->dirs * r->hidden : r->input, y);
    if (ok && layer && r->dropped)
        ok = gp_cuda_rnn_times(n->c, n->wide, k->dx, k->dx,
                               gp_rnn_mask_at(r, n->size, n->saved, layer - 1), gp_rnn_plane(r));
    return ok;
}

static bool run_layers(gp_rnn_run *n) {
    const gp_rnn *r = &n->r;
    const gp_array *dw = gp_out(n->c, 1 + r->states), *dy = gp_in(n->c, r->backward + 1);
    work k = {0};
    if (!open_work(n, &k) ||
        !(dy ? gp_rnn_load(n, dy, k.dy) : gp_rnn_zero(n, k.dy, gp_rnn_plane(r))))
        return false;
    for (int layer = r->layers - 1; layer >= 0; layer--) {
        if (!run_layer(n, &k, layer)) return false;
        char *t = k.dy;
        k.dy = k.dx, k.dx = t;
    }
    if (n->c->arg[gp_rnn_grad_x(r)].i && !gp_rnn_store(n, gp_out(n->c, 0), k.dy)) return false;
    if (k.dw == dw->data) return true;
    gp_array from = gp_dense_over(k.dw, n->dtype, dw->ndim, dw->dim);
    return gp_cuda_copy_array(n->c, dw, &from);
}

static bool backward(const gp_call *c) {
    gp_rnn_run n;
    if (!gp_rnn_open(&n, c)) return false;
    const gp_array *dw = gp_out(c, 1 + n.r.states), *saved = gp_in(c, n.r.backward);
    if (n.r.batch == 0)
        return gp_cuda_ok(c, cudaMemsetAsync(dw->data, 0,
                                             (size_t)dw->numel * gp_dtype_size((gp_dtype)dw->dtype),
                                             gp_cuda_stream(c)));
    if (!saved->contiguous) return gp_fail("%s: argument 'saved' has gaps", c->op->name);
    n.saved = saved->data;
    bool done;
    return gp_rnn_back_by_cudnn(&n, &done) &&
           (done || ((n.saved || gp_rnn_save_again(&n)) && run_layers(&n)));
}

bool CUDA(lstm_backward)(const gp_call *c) { return backward(c); }
bool CUDA(gru_backward)(const gp_call *c) { return backward(c); }
bool CUDA(rnn_backward)(const gp_call *c) { return backward(c); }
