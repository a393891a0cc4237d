/* Gradients of recurrent layers, from what the _forward rows saved: backward through time for the
   gates, then one product each for the input, w_ih and w_hh. */
#include <string.h>

#include "kernels/blas/blas.h"
#include "kernels/cpu/matmul/half.h"
#include "kernels/cpu/matmul/packed.h"
#include "kernels/cpu/rnn/cell.h"
#include "kernels/cpu/rnn/rnn.h"
#include "kernels/cpu/runtime/scratch.h"

enum { STEP_WORK = 1 << 16 }; /* multiplications worth a thread */

/* One direction of a layer. */
typedef struct side {
    gp_panels ih,
        hh; /* w_ih and w_hh, packed for products with their rows: units are their columns */
    gp_panel_source wi, wh;
    char *h0, *c0, *dh, *dc; /* [batch][hidden] */
    char *gx, *gh;      /* of w_ih x + b_ih and of w_hh h + b_hh: [steps][batch][gates * hidden] */
    char *kept, *cells; /* in saved */
    char *gx_half, *gh_half, *prev_half; /* pairs: gx and gh, and h before each step, in bf16 */
} side;

typedef struct rnn_grad_job {
    gp_rnn r;
    gp_ctype ct;
    bool pairs, wants_x; /* wants_x: the gradient of the network's input */
    int64_t size, step, groups;
    const gp_call *c;
    const gp_array *const *w;
    char *saved;
    const char *x; /* input of the layer: rows ldx elements apart, `in` features; pairs: bf16 */
    int64_t ldx, in;
    const char *y;              /* output of the layer, [steps][batch][dirs * hidden] */
    char *dy, *dx;              /* gradients of the layer's output and input, dense */
    char *plane[2], *input;     /* alternating buffers of these; an input copied or with dropout */
    char *dw;                   /* gradients of all weights; pairs: of a bias */
    char *scratch, *input_half; /* pairs: for products; a layer's input in bf16 */
    int dir;                    /* of the product with w_ih */
    side s[2];
} rnn_grad_job;

static int64_t rows_of(const rnn_grad_job *n) { return n->r.steps * n->r.batch; }
static int64_t time_of(const rnn_grad_job *n, int dir) {
    return dir ? n->r.steps - 1 - n->step : n->step;
}

/* ---- through time ---- */

static void cell_rows(const rnn_grad_job *n, int dir, int64_t from, int64_t rows) {
    const side *s = &n->s[dir];
    int64_t h = n->r.hidden, ld = n->r.dirs * h, batch = n->r.batch, size = n->size,
            row = time_of(n, dir) * batch + from, back = dir ? row + batch : row - batch,
            gates = n->r.gates * h;
    gp_cell_grads g = {.rows = rows,
                       .units = h,
                       .y_row = ld,
                       .prev_row = n->step ? ld : h,
                       .dy = n->dy + (row * ld + dir * h) * size,
                       .out = n->y + (row * ld + dir * h) * size,
                       .prev =
                           n->step ? n->y + (back * ld + dir * h) * size : s->h0 + from * h * size,
                       .dh = s->dh + from * h * size,
                       .dx = s->gx + row * gates * size,
                       .dhh = s->gh + row * gates * size};
    if (s->kept) g.kept = s->kept + row * n->r.kept * h * size;
    if (s->cells) {
        g.dc = s->dc + from * h * size;
        g.c = s->cells + row * h * size;
        g.cprev = n->step ? s->cells + back * h * size : s->c0 + from * h * size;
    }
    gp_cell_backward(n->r.cell, n->ct, &g);
}

/* Rounds the gradients of those gates for the products with them. */
static void round_gates(const rnn_grad_job *n, int dir, int64_t from, int64_t rows) {
    const side *s = &n->s[dir];
    int64_t gates = n->r.gates * n->r.hidden, at = (time_of(n, dir) * n->r.batch + from) * gates;
    gp_rnn_round(s->gx_half + at * 2, s->gx + at * n->size, rows * gates);
    if (s->gh != s->gx) gp_rnn_round(s->gh_half + at * 2, s->gh + at * n->size, rows * gates);
}

/* Rows [begin, end) of a step, one direction after the other: gradients of its gates. */
static void step_cells(void *ctx, int64_t begin, int64_t end) {
    const rnn_grad_job *n = ctx;
    int64_t batch = n->r.batch;
    for (int64_t u = begin; u < end;) {
        int64_t from = u % batch, rows = end - u < batch - from ? end - u : batch - from;
        cell_rows(n, (int)(u / batch), from, rows);
        if (n->pairs) round_gates(n, (int)(u / batch), from, rows);
        u += rows;
    }
}

/* dh += the step's gradient of w_hh h + b_hh times w_hh. */
static void step_products(void *ctx, int64_t begin, int64_t end) {
    const rnn_grad_job *n = ctx;
    int64_t gates = n->r.gates * n->r.hidden, panels = n->s[0].hh.count, batch = n->r.batch;
    for (int64_t u = begin; u < end; u++) {
        int64_t group = u % n->groups, from = batch * group / n->groups,
                to = batch * (group + 1) / n->groups;
        int dir = (int)(u / n->groups / panels);
        const side *s = &n->s[dir];
        int64_t at = (time_of(n, dir) * batch + from) * gates;
        const char *a = n->pairs ? s->gh_half + at * 2 : s->gh + at * n->size;
        gp_panels_rows(&s->hh, u / n->groups % panels, to - from, a, gates,
                       s->dh + from * n->r.hidden * n->size, n->r.hidden, true);
    }
}

/* Steps from the last to the first: gradients of gates, and of the state before. */
static bool through_time(rnn_grad_job *n) {
    int64_t units = n->r.dirs * n->s[0].hh.count * n->groups,
            work = n->r.batch * n->r.gates * n->r.hidden * n->r.hidden * n->r.dirs / units;
    for (n->step = n->r.steps - 1; n->step >= 0; n->step--) {
        if (gp_stopped()) return gp_fail("%s: interrupted", n->c->name);
        gp_parallel(n->r.dirs * n->r.batch, 1 + STEP_WORK / 64 / n->r.hidden, step_cells, n);
        gp_parallel(units, 1 + STEP_WORK / (1 + work), step_products, n);
    }
    return true;
}

/* ---- weights and input ---- */

/* Gradients of the columns' biases: sums over rows. */
typedef struct sums {
    const char *from;
    char *to;
    int64_t rows, cols;
} sums;
#define SUMS(T, t)                                                                                 \
    static void sums_##t(void *ctx, int64_t begin, int64_t end) {                                  \
        const sums *s = ctx;                                                                       \
        T *to = (T *)s->to;                                                                        \
        for (int64_t j = begin; j < end; j++) to[j] = 0;                                           \
        for (int64_t i = 0; i < s->rows; i++) {                                                    \
            const T *from = (const T *)s->from + i * s->cols;                                      \
            for (int64_t j = begin; j < end; j++) to[j] += from[j];                                \
        }                                                                                          \
    }
SUMS(float, f32)
SUMS(double, f64)

static void bias(const rnn_grad_job *n, const char *from, char *to) {
    sums s = {from, to, rows_of(n), n->r.gates * n->r.hidden};
    gp_parallel(s.cols, 64 + STEP_WORK / (1 + s.rows), n->ct == GP_CT_f32 ? sums_f32 : sums_f64,
                &s);
}

/* The h before each step: of all steps but the first, the output of another row; then h0. */
static bool weights_hh(const rnn_grad_job *n, int dir, char *to) {
    const side *s = &n->s[dir];
    int64_t h = n->r.hidden, ld = n->r.dirs * h, batch = n->r.batch, rest = rows_of(n) - batch,
            gates = n->r.gates * h, size = n->size;
    const char *g = s->gh + (dir ? 0 : batch * gates * size),
               *y = n->y + ((dir ? batch * ld : 0) + dir * h) * size,
               *first = s->gh + (dir ? rest * gates * size : 0);
    return gp_rnn_gemm(n->ct, true, false, gates, h, rest, g, gates, y, ld, false, to, h) &&
           gp_rnn_gemm(n->ct, true, false, gates, h, batch, first, gates, s->h0, h, true, to, h);
}

/* Rows [begin, end) of the h before each step, in bf16. */
static void round_previous(void *ctx, int64_t begin, int64_t end) {
    const rnn_grad_job *n = ctx;
    const side *s = &n->s[n->dir];
    int64_t h = n->r.hidden, ld = n->r.dirs * h, batch = n->r.batch, all = rows_of(n);
    for (int64_t i = begin; i < end; i++) {
        int64_t back = n->dir ? i + batch : i - batch;
        const char *from = back < 0      ? s->h0 + i * h * n->size
                           : back >= all ? s->h0 + (back - all) * h * n->size
                                         : n->y + (back * ld + n->dir * h) * n->size;
        gp_rnn_round(s->prev_half + i * h * 2, from, h);
    }
}

/* to[gates][cols] = g' b for bf16 g[rows][gates] and b, whose rows are ldb elements apart. */
static bool half_product(const rnn_grad_job *n, const char *g, const char *b, int64_t ldb,
                         int64_t cols, char *to) {
    int64_t gates = n->r.gates * n->r.hidden, rows = rows_of(n);
    gp_matrix ga = {g, GP_bf16, gates, rows, 1, gates}, bm = {b, GP_bf16, rows, cols, ldb, 1};
    gp_half_product p = {.call = n->c, .c = to, .dtype = GP_bf16, .ldc = cols};
    return gates == 0 || cols == 0 || gp_half_multiply(&p, &ga, &bm, n->scratch);
}

/* The same in pairs: straight to the result, in bf16. */
static bool half_weights(rnn_grad_job *n, int dir, int64_t at) {
    const side *s = &n->s[dir];
    int64_t gates = n->r.gates * n->r.hidden, h = n->r.hidden;
    char *to = gp_out(n->c, 1 + n->r.states)->data + at * 2, *hh = to + gates * n->in * 2,
         *b = hh + gates * h * 2;
    n->dir = dir;
    gp_parallel(rows_of(n), 1 + STEP_WORK / (1 + h), round_previous, n);
    if (!half_product(n, s->gx_half, n->x, n->ldx, n->in, to) ||
        !half_product(n, s->gh_half, s->prev_half, h, h, hh))
        return false;
    for (int i = 0; i < 2 && n->r.biases; i++, b += gates * 2) {
        bias(n, i ? s->gh : s->gx, n->dw);
        gp_store_fn(GP_CT_f32, GP_bf16)(b, 2, n->dw, gates);
    }
    return true;
}

/* Gradients of a layer's weights: products over all steps at once, after the walk. */
static bool weights(rnn_grad_job *n, int layer, int dir) {
    int first = gp_rnn_weight(&n->r, layer, dir);
    const side *s = &n->s[dir];
    int64_t at = 0, gates = n->r.gates * n->r.hidden;
    for (int i = 0; i < first; i++) at += n->w[i]->numel;
    if (n->pairs) return half_weights(n, dir, at);
    char *to = n->dw + at * n->size, *hh = to + gates * n->in * n->size,
         *b = hh + gates * n->r.hidden * n->size;
    if (!gp_rnn_gemm(n->ct, true, false, gates, n->in, rows_of(n), s->gx, gates, n->x, n->ldx,
                     false, to, n->in) ||
        !weights_hh(n, dir, hh))
        return gp_fail("%s: out of memory", n->c->name);
    if (n->r.biases) bias(n, s->gx, b), bias(n, s->gh, b + gates * n->size);
    return true;
}

/* dx (+)= gradients of w_ih x + b_ih times w_ih; the second direction adds. */
static void input_products(void *ctx, int64_t begin, int64_t end) {
    const rnn_grad_job *n = ctx;
    const side *s = &n->s[n->dir];
    int64_t gates = n->r.gates * n->r.hidden, panels = s->ih.count, all = rows_of(n);
    for (int64_t u = begin; u < end; u++) {
        int64_t group = u / panels, groups = n->groups, from = all * group / groups,
                to = all * (group + 1) / groups;
        const char *a = n->pairs ? s->gx_half + from * gates * 2 : s->gx + from * gates * n->size;
        gp_panels_rows(&s->ih, u % panels, to - from, a, gates, n->dx + from * n->in * n->size,
                       n->in, n->dir > 0);
    }
}

static void input(rnn_grad_job *n) {
    for (n->dir = 0; n->dir < n->r.dirs; n->dir++)
        gp_parallel(n->s[n->dir].ih.count * n->groups, 1, input_products, n);
}

/* ---- a layer ---- */

static void pack_ih(void *ctx, int64_t begin, int64_t end) {
    side *s = ctx;
    gp_panels_pack(&s->ih, &s->wi, begin, end);
}
static void pack_hh(void *ctx, int64_t begin, int64_t end) {
    side *s = ctx;
    gp_panels_pack(&s->hh, &s->wh, begin, end);
}

/* A transposed weight. */
static gp_panel_source columns(const gp_array *w) {
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)w->dtype);
    return (gp_panel_source){.w = w->data,
                             .dtype = (gp_dtype)w->dtype,
                             .rs = w->stride[1] * size,
                             .cs = w->stride[0] * size};
}

/* Copies a gradient of states to p; zeros if it was not given. */
static void state_gradient(const rnn_grad_job *n, int arg, int64_t i, char *p) {
    const gp_array *a = gp_in(n->c, arg);
    memset(p, 0, (size_t)(n->r.batch * n->r.hidden * n->size));
    if (!a) return;
    gp_array to = gp_rnn_dense(p, n->ct, 1, n->r.batch, n->r.hidden),
             from = gp_rnn_state(&n->r, a, i);
    gp_copy_array(&to, &from);
}

static void open_side(rnn_grad_job *n, int layer, int dir) {
    side *s = &n->s[dir];
    const gp_array *const *w = n->w + gp_rnn_weight(&n->r, layer, dir);
    int64_t i = (int64_t)layer * n->r.dirs + dir, gates = n->r.gates * n->r.hidden;
    char *data = s->ih.data, *start = s->ih.start;
    gp_panels_init(&s->ih, n->ct, n->pairs, 1, n->in, gates);
    s->ih.data = data, s->ih.start = start;
    s->wi = columns(w[0]);
    s->wh = columns(w[1]);
    if (layer || n->wants_x) gp_parallel(s->ih.count, 1, pack_ih, s);
    gp_parallel(s->hh.count, 1, pack_hh, s);
    s->kept = gp_rnn_side_at(&n->r, n->size, n->saved, layer, dir);
    s->cells = gp_rnn_cells_at(&n->r, n->size, n->saved, layer, dir);
    gp_rnn_initial(n->c, &n->r, n->ct, 0, i, s->h0);
    state_gradient(n, n->r.backward + 2, i, s->dh);
    if (!s->cells) return;
    gp_rnn_initial(n->c, &n->r, n->ct, 1, i, s->c0);
    state_gradient(n, n->r.backward + 3, i, s->dc);
}

#define TIMES(T, t)                                                                                \
    static void times_##t(char *to, const char *a, const char *b, int64_t n) {                     \
        for (int64_t i = 0; i < n; i++) ((T *)to)[i] = ((const T *)a)[i] * ((const T *)b)[i];      \
    }
TIMES(float, f32)
TIMES(double, f64)

static void times(const rnn_grad_job *n, char *to, const char *a, const char *b) {
    (n->ct == GP_CT_f32 ? times_f32 : times_f64)(to, a, b, gp_rnn_plane(&n->r));
}

/* The layer's input: x, or the output of the layer below (with dropout). */
static void layer_input(rnn_grad_job *n, int layer) {
    const gp_rnn *r = &n->r;
    n->in = layer ? r->dirs * r->hidden : r->input;
    if (layer == 0) {
        gp_dtype dt = n->pairs ? GP_bf16 : (gp_dtype)gp_ctype_dtype[n->ct];
        n->x = gp_rnn_rows(r, dt, gp_in(n->c, GP_RNN_X), n->input, &n->ldx);
        return;
    }
    n->ldx = n->in;
    n->x = gp_rnn_output_at(r, n->size, n->saved, layer - 1);
    if (r->dropped) {
        times(n, n->input, n->x, gp_rnn_mask_at(r, n->size, n->saved, layer - 1));
        n->x = n->input;
    }
    if (!n->pairs) return;
    gp_rnn_round(n->input_half, n->x, gp_rnn_plane(r));
    n->x = n->input_half;
}

static void write_state(const rnn_grad_job *n, int out, int64_t i, char *p) {
    gp_array to = gp_rnn_state(&n->r, gp_out(n->c, out), i),
             from = gp_rnn_dense(p, n->ct, 1, n->r.batch, n->r.hidden);
    gp_copy_array(&to, &from);
}

static bool run_layer(rnn_grad_job *n, int layer) {
    layer_input(n, layer);
    n->y = gp_rnn_output_at(&n->r, n->size, n->saved, layer);
    for (int d = 0; d < n->r.dirs; d++) open_side(n, layer, d);
    if (!through_time(n)) return false;
    for (int d = 0; d < n->r.dirs; d++) {
        int64_t i = (int64_t)layer * n->r.dirs + d;
        if (!weights(n, layer, d)) return false;
        write_state(n, 1, i, n->s[d].dh);
        if (n->r.states == 2) write_state(n, 2, i, n->s[d].dc);
    }
    if (layer || n->wants_x) input(n);
    if (layer && n->r.dropped)
        times(n, n->dx, n->dx, gp_rnn_mask_at(&n->r, n->size, n->saved, layer - 1));
    return true;
}

/* ---- whole network ---- */

static void lay_out_half(rnn_grad_job *n, gp_carve *v, int64_t wide) {
    int64_t gates = n->r.gates * n->r.hidden, all = rows_of(n);
    for (int d = 0; d < n->r.dirs; d++) {
        side *s = &n->s[d];
        s->gx_half = gp_carve_next(v, all * gates * 2);
        s->gh_half = s->gh == s->gx ? s->gx_half : gp_carve_next(v, all * gates * 2);
        s->prev_half = gp_carve_next(v, all * n->r.hidden * 2);
    }
    n->scratch = gp_carve_next(v, all * gates * 2);
    n->input_half = gp_carve_next(v, all * wide * 2);
    n->dw = gp_carve_next(v, gates * n->size);
}

static void lay_out(rnn_grad_job *n, gp_carve *v) {
    const gp_rnn *r = &n->r;
    int64_t wide = r->dirs * r->hidden > r->input ? r->dirs * r->hidden : r->input,
            state = r->batch * r->hidden * n->size, gates = r->gates * r->hidden;
    for (int i = 0; i < 2; i++) n->plane[i] = gp_carve_next(v, rows_of(n) * wide * n->size);
    n->input = gp_carve_next(v, rows_of(n) * wide * n->size);
    for (int d = 0; d < r->dirs; d++) {
        side *s = &n->s[d];
        gp_panels_init(&s->ih, n->ct, n->pairs, 1, wide, gates);
        gp_panels_init(&s->hh, n->ct, n->pairs, 1, r->hidden, gates);
        s->ih.data = gp_carve_next(v, gp_panels_bytes(&s->ih));
        s->ih.start = gp_carve_next(v, gp_panels_start_bytes(&s->ih));
        s->hh.data = gp_carve_next(v, gp_panels_bytes(&s->hh));
        s->hh.start = gp_carve_next(v, gp_panels_start_bytes(&s->hh));
        s->h0 = gp_carve_next(v, state), s->c0 = gp_carve_next(v, state);
        s->dh = gp_carve_next(v, state), s->dc = gp_carve_next(v, state);
        s->gx = gp_carve_next(v, rows_of(n) * gates * n->size);
        s->gh = r->cell == GP_CELL_GRU ? gp_carve_next(v, rows_of(n) * gates * n->size) : s->gx;
    }
    const gp_array *dw = gp_out(n->c, 1 + r->states);
    if (n->pairs) {
        lay_out_half(n, v, wide);
        return;
    }
    n->dw = dw->dtype == gp_ctype_dtype[n->ct] ? dw->data : gp_carve_next(v, dw->numel * n->size);
}

/* The gradient of the last layer's output. */
static void output_gradient(rnn_grad_job *n) {
    const gp_array *a = gp_in(n->c, n->r.backward + 1);
    memset(n->dy, 0, (size_t)(gp_rnn_plane(&n->r) * n->size));
    if (!a) return;
    gp_array from = gp_rnn_time_major(&n->r, a),
             to = gp_rnn_dense(n->dy, n->ct, from.dim[0], from.dim[1], from.dim[2]);
    gp_copy_array(&to, &from);
}

static bool run_layers(rnn_grad_job *n) {
    const gp_array *dx = gp_out(n->c, 0), *dw = gp_out(n->c, 1 + n->r.states);
    n->dy = n->plane[0];
    n->dx = n->plane[1];
    output_gradient(n);
    for (int layer = n->r.layers - 1; layer >= 0; layer--) {
        if (!run_layer(n, layer)) return false;
        char *t = n->dy;
        n->dy = n->dx, n->dx = t;
    }
    if (n->wants_x) {
        gp_array to = gp_rnn_time_major(&n->r, dx),
                 from = gp_rnn_dense(n->dy, n->ct, to.dim[0], to.dim[1], to.dim[2]);
        gp_copy_array(&to, &from);
    }
    if (!n->pairs && n->dw != dw->data)
        gp_store_fn(n->ct, (gp_dtype)dw->dtype)(
            dw->data, (int64_t)gp_dtype_size((gp_dtype)dw->dtype), n->dw, dw->numel);
    return true;
}

static bool backward(const gp_call *c) {
    const gp_array *x = gp_in(c, GP_RNN_X);
    rnn_grad_job n = {
        .c = c, .ct = gp_compute_type((gp_dtype)x->dtype), .w = c->arg[GP_RNN_WEIGHTS].arrays};
    gp_rnn_read(c, x, n.w[1], &n.r);
    const gp_array *dw = gp_out(c, 1 + n.r.states), *saved = gp_in(c, n.r.backward);
    if (n.r.batch == 0) {
        memset(dw->data, 0, (size_t)dw->numel * gp_dtype_size((gp_dtype)dw->dtype));
        return true;
    }
    if (!saved->contiguous) return gp_fail("%s: argument 'saved' has gaps", c->name);
    n.saved = saved->data;
    n.wants_x = c->arg[gp_rnn_grad_x(&n.r)].i;
    n.size = gp_ctype_size[n.ct];
    n.pairs = gp_rnn_pairs(&n.r, x, n.w);
    if (!gp_blas_open()) return false;
    gp_carve v = {0};
    lay_out(&n, &v);
    v.base = gp_scratch(GP_SCRATCH_CALL, (size_t)v.used);
    if (!v.base) return gp_fail("%s: out of memory", c->name);
    v.used = 0;
    lay_out(&n, &v);
    n.groups = gp_rnn_groups(&n.r, n.r.dirs * n.s[0].hh.count);
    gp_blas_threads(gp_threads());
    bool ok = run_layers(&n);
    gp_blas_joined();
    return ok;
}

bool CPU(lstm_backward)(const gp_call *c) { return backward(c); }
bool CPU(gru_backward)(const gp_call *c) { return backward(c); }
bool CPU(rnn_backward)(const gp_call *c) { return backward(c); }
