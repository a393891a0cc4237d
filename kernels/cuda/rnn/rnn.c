/* Recurrent layers forward: the input's products of all time steps at once, then per step one
 * product with w_hh and one kernel for the cells. Limit: w_hh's bytes per step at the second-level
 * cache's speed, or 2 operations per weight and row where there are many rows. */
#include "kernels/cuda/rnn/rnn.h"

/* ---- shared with backward ---- */

bool gp_rnn_open(gp_rnn_run *n, const gp_call *c) {
    const gp_array *x = gp_in(c, GP_RNN_X);
    memset(n, 0, sizeof *n);
    n->c = c;
    n->w = c->arg[GP_RNN_WEIGHTS].arrays;
    n->wide = x->dtype == GP_f64;
    n->dtype = n->wide ? GP_f64 : GP_f32;
    n->size = n->wide ? 8 : 4;
    bool halves = x->dtype == GP_f16 || (x->dtype == GP_bf16 && gp_cuda_arch(c) >= 80);
    n->operand = halves ? (gp_dtype)x->dtype : n->dtype;
    n->operand_size = halves ? 2 : n->size;
    gp_rnn_read(c, x, n->w[1], &n->r);
    return true;
}

void *gp_rnn_scratch(const gp_rnn_run *n, int64_t elements) {
    return gp_cuda_scratch(n->c, (size_t)(elements * n->size));
}

void *gp_rnn_operand_scratch(const gp_rnn_run *n, int64_t elements) {
    return gp_cuda_scratch(n->c, (size_t)(elements * n->operand_size));
}

bool gp_rnn_zero(const gp_rnn_run *n, char *p, int64_t elements) {
    return gp_cuda_ok(n->c,
                      cudaMemsetAsync(p, 0, (size_t)(elements * n->size), gp_cuda_stream(n->c)));
}

static bool load(const gp_rnn_run *n, const gp_array *a, gp_dtype dt, char *p) {
    gp_array from = gp_rnn_time_major(&n->r, a), to = gp_dense_over(p, dt, 3, from.dim);
    return gp_cuda_copy_array(n->c, &to, &from);
}
bool gp_rnn_load(const gp_rnn_run *n, const gp_array *a, char *p) {
    return load(n, a, n->dtype, p);
}
bool gp_rnn_load_operand(const gp_rnn_run *n, const gp_array *a, char *p) {
    return load(n, a, n->operand, p);
}
const char *gp_rnn_as_operand(const gp_rnn_run *n, const char *p, int64_t elements, char *to) {
    if (!gp_rnn_narrow(n)) return p;
    gp_array from = gp_dense_over((char *)p, n->dtype, 1, &elements),
             copy = gp_dense_over(to, n->operand, 1, &elements);
    return gp_cuda_copy_array(n->c, &copy, &from) ? to : NULL;
}
bool gp_rnn_store(const gp_rnn_run *n, const gp_array *a, const char *p) {
    gp_array to = gp_rnn_time_major(&n->r, a), from = gp_dense_over((char *)p, n->dtype, 3, to.dim);
    return gp_cuda_copy_array(n->c, &to, &from);
}

bool gp_rnn_load_state(const gp_rnn_run *n, const gp_array *a, int64_t i, char *p) {
    if (!a) return gp_rnn_zero(n, p, n->r.batch * n->r.hidden);
    gp_array from = gp_rnn_state(&n->r, a, i), to = gp_dense_over(p, n->dtype, 3, from.dim);
    return gp_cuda_copy_array(n->c, &to, &from);
}
bool gp_rnn_store_state(const gp_rnn_run *n, const gp_array *a, int64_t i, const char *p,
                        int64_t ld) {
    gp_array to = gp_rnn_state(&n->r, a, i), from = gp_dense_over((char *)p, n->dtype, 3, to.dim);
    from.stride[1] = ld;
    from.contiguous = ld == n->r.hidden;
    return gp_cuda_copy_array(n->c, &to, &from);
}

bool gp_rnn_initial(const gp_rnn_run *n, int kind, int64_t i, char *p) {
    const gp_value *v = &n->c->arg[GP_RNN_HX];
    const gp_array *a = v->kind == GP_NONE ? NULL : v->kind == GP_LIST ? v->arrays[kind] : v->a;
    return gp_rnn_load_state(n, a, i, p);
}

const char *gp_rnn_weights(gp_rnn_run *n, int first, int kind) {
    const gp_array *w = n->w[first + kind];
    gp_scratch_block *scratch = &n->weights[kind];
    gp_dtype dt = kind < 2 ? n->operand : n->dtype;
    size_t bytes = (size_t)w->numel * gp_dtype_size(dt);
    if (w->contiguous && w->dtype == dt && gp_cuda_aligned(w->data)) return w->data;
    if (scratch->bytes < bytes) {
        scratch->data = gp_cuda_scratch(n->c, bytes);
        scratch->bytes = scratch->data ? bytes : 0;
    }
    gp_array dense = gp_dense_over(scratch->data, dt, w->ndim, w->dim);
    return scratch->data && gp_cuda_copy_array(n->c, &dense, w) ? dense.data : NULL;
}

bool gp_rnn_product(gp_rnn_run *n, bool at, bool bt, int64_t m, int64_t cols, int64_t k,
                    const char *a, int64_t lda, const char *b, int64_t ldb, bool add,
                    const char *bias, char *out, int64_t ldc) {
    gp_product p = gp_product_of(n->operand, m, cols, k);
    p.to = n->dtype, p.to_size = n->size;
    p.a = a, p.b = b, p.bias = bias, p.out = out, p.ld = ldc, p.scratch = &n->scratch;
    p.a_rs = at ? 1 : lda, p.a_cs = at ? lda : 1;
    p.b_rs = bt ? 1 : ldb, p.b_cs = bt ? ldb : 1;
    p.beta.i = add;
    return gp_cuda_product(n->c, &p);
}

/* ---- a layer ---- */

/* Workspace, allocated once: gates of all steps and of one, the initial states, x, alternating
 * outputs of layers; in and prev: a layer's input and h before a step, where operands are copies.
 */
typedef struct work {
    char *gx, *pre, *h0, *c0, *x, *plane[2], *drop, *in, *prev;
} work;

static bool open_work(const gp_rnn_run *n, work *k) {
    const gp_rnn *r = &n->r;
    int64_t rows = r->steps * r->batch, gates = r->gates * r->hidden;
    memset(k, 0, sizeof *k);
    for (int i = 0; i < 2 && !n->saved; i++)
        if (!(k->plane[i] = gp_rnn_scratch(n, gp_rnn_plane(r)))) return false;
    if (r->dropped && !(k->drop = gp_rnn_scratch(n, gp_rnn_plane(r)))) return false;
    if (gp_rnn_narrow(n) && (!(k->in = gp_rnn_operand_scratch(n, gp_rnn_plane(r))) ||
                             !(k->prev = gp_rnn_operand_scratch(n, r->batch * r->hidden))))
        return false;
    return (k->gx = gp_rnn_scratch(n, rows * gates)) &&
           (k->pre = gp_rnn_scratch(n, r->batch * gates)) &&
           (k->h0 = gp_rnn_scratch(n, r->batch * r->hidden)) &&
           (k->c0 = gp_rnn_scratch(n, r->batch * r->hidden)) &&
           (k->x = gp_rnn_operand_scratch(n, rows * r->input));
}

/* One direction of a layer: its weights, its output, and where it saves. */
typedef struct side {
    int dir;
    const char *hh, *bias;
    char *y, *kept, *cells;
} side;

static bool one_step(gp_rnn_run *n, const work *k, const side *s, int64_t step) {
    const gp_rnn *r = &n->r;
    int64_t h = r->hidden, ld = r->dirs * h, gates = r->gates * h,
            t = s->dir ? r->steps - 1 - step : step, row = t * r->batch,
            back = s->dir ? row + r->batch : row - r->batch;
    gp_cell_step g = {
        .rows = r->batch, .units = h, .cell = r->cell, .bias = s->bias, .out_row = ld};
    char *gx = k->gx + row * gates * n->size;
    g.x = gx;
    g.out = s->y + (row * ld + s->dir * h) * n->size;
    g.prev = step ? s->y + (back * ld + s->dir * h) * n->size : k->h0;
    g.prev_row = step ? ld : h;
    if (r->states == 2) g.cprev = g.c = k->c0;
    if (s->cells) {
        g.c = s->cells + row * h * n->size;
        if (step) g.cprev = s->cells + back * h * n->size;
    }
    if (s->kept) g.kept = s->kept + row * r->kept * h * n->size;
    bool separate = r->cell == GP_CELL_GRU, narrow = gp_rnn_narrow(n);
    if (separate) g.h = k->pre;
    g.operand = k->prev, g.operand_dtype = n->operand;
    return gp_rnn_product(n, false, true, r->batch, gates, h, narrow ? k->prev : g.prev,
                          narrow ? h : g.prev_row, s->hh, h, !separate, NULL,
                          separate ? k->pre : gx, gates) &&
           gp_cuda_cell(n->c, n->wide, &g);
}

/* h_n and c_n. */
static bool put_states(const gp_rnn_run *n, const work *k, const side *s, int64_t i) {
    const gp_rnn *r = &n->r;
    int64_t h = r->hidden, ld = r->dirs * h, row = (s->dir ? 0 : r->steps - 1) * r->batch;
    if (!gp_rnn_store_state(n, gp_out(n->c, 1), i, s->y + (row * ld + s->dir * h) * n->size, ld))
        return false;
    return r->states == 1 || gp_rnn_store_state(n, gp_out(n->c, 2), i,
                                                s->cells ? s->cells + row * h * n->size : k->c0, h);
}

static bool run_side(gp_rnn_run *n, const work *k, int layer, int dir, const char *x, int64_t in,
                     char *y) {
    const gp_rnn *r = &n->r;
    int first = gp_rnn_weight(r, layer, dir);
    int64_t i = (int64_t)layer * r->dirs + dir, gates = r->gates * r->hidden;
    side s = {.dir = dir, .y = y, .cells = gp_rnn_cells_at(&n->r, n->size, n->saved, layer, dir)};
    s.kept = r->kept ? gp_rnn_side_at(&n->r, n->size, n->saved, layer, dir) : NULL;
    const char *ih = gp_rnn_weights(n, first, 0), *bias = NULL;
    s.hh = gp_rnn_weights(n, first, 1);
    if (!ih || !s.hh) return false;
    if (r->biases &&
        (!(bias = gp_rnn_weights(n, first, 2)) || !(s.bias = gp_rnn_weights(n, first, 3))))
        return false;
    bool ok = gp_rnn_initial(n, 0, i, k->h0) &&
              gp_rnn_as_operand(n, k->h0, r->batch * r->hidden, k->prev) &&
              (r->states == 1 || gp_rnn_initial(n, 1, i, k->c0)) &&
              gp_rnn_product(n, false, true, r->steps * r->batch, gates, in, x, in, ih, in, false,
                             bias, k->gx, gates);
    for (int64_t step = 0; ok && step < r->steps; step++) ok = one_step(n, k, &s, step);
    return ok && (n->only_saves || put_states(n, k, &s, i));
}

static bool run_layers(gp_rnn_run *n) {
    const gp_rnn *r = &n->r;
    const gp_array *x = gp_in(n->c, GP_RNN_X), *out = gp_out(n->c, 0);
    work k;
    if (!open_work(n, &k) || !gp_rnn_load_operand(n, x, k.x)) return false;
    const char *in = k.x;
    char *y = NULL;
    int64_t width = r->input;
    for (int layer = 0; layer < r->layers; layer++) {
        y = n->saved ? gp_rnn_output_at(&n->r, n->size, n->saved, layer) : k.plane[layer % 2];
        for (int dir = 0; dir < r->dirs; dir++)
            if (!run_side(n, &k, layer, dir, in, width, y)) return false;
        if (layer == r->layers - 1) continue;
        in = y, width = r->dirs * r->hidden;
        if (r->dropped) {
            char *mask = n->saved ? gp_rnn_mask_at(&n->r, n->size, n->saved, layer) : NULL;
            if (!gp_cuda_rnn_drop(n->c, n->wide, y, k.drop, mask, gp_rnn_plane(r),
                                  layer * gp_rnn_plane(r), r->dropout))
                return false;
            in = k.drop;
        }
        if (!(in = gp_rnn_as_operand(n, in, gp_rnn_plane(r), k.in))) return false;
    }
    return n->only_saves || gp_rnn_store(n, out, y);
}

bool gp_rnn_save_again(gp_rnn_run *n) {
    n->only_saves = true;
    n->saved = (char *)gp_rnn_scratch(n, gp_rnn_saved_elements(&n->r));
    return n->saved && run_layers(n);
}

static bool forward(const gp_call *c, bool save) {
    gp_rnn_run n;
    if (!gp_rnn_open(&n, c)) return false;
    if (n.r.batch == 0) return true;
    n.saved = save ? gp_out(c, 1 + n.r.states)->data : NULL;
    bool done;
    return gp_rnn_by_cudnn(&n, &done) && (done || run_layers(&n));
}

bool CUDA(lstm)(const gp_call *c) { return forward(c, false); }
bool CUDA(gru)(const gp_call *c) { return forward(c, false); }
bool CUDA(rnn)(const gp_call *c) { return forward(c, false); }
bool CUDA(lstm_forward)(const gp_call *c) { return forward(c, true); }
bool CUDA(gru_forward)(const gp_call *c) { return forward(c, true); }
bool CUDA(rnn_forward)(const gp_call *c) { return forward(c, true); }
