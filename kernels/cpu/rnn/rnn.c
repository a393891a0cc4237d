/* Recurrent layers forward: the input's products of many time steps at once, then per step one
 * product with panels of w_hh whose tiles become gates and states while they are in the cache. For
 * few rows, weights that are read in place are worth 5.5 at an LSTM of 1 step and 256 units, 1.4 at
 * 50 steps of 1,024, and take 1.2 of the time at 100 steps of 128 (one thread of an Emerald Rapids
 * with AVX-512). */
#include "kernels/blas/blas.h"
#include "kernels/cpu/rnn/rnn.h"

#include <string.h>

#include "kernels/cpu/rnn/cell.h"
#include "kernels/cpu/matmul/packed.h"
#include "kernels/cpu/runtime/scratch.h"
#include "tensor/rng.h"

enum {
    FEW = 100, /* rows (time x batch) up to which packing the weights is not worth it */
    CHUNK_ROWS =
        512, /* rows of the input that are multiplied at once: their products stay in the cache */
    STEP_WORK = 1 << 16 /* multiplications of a time step worth a thread */
};

/* One direction of a layer. */
typedef struct side {
    gp_panels ih, hh;
    gp_panel_source wi, wh;
    char *gx;      /* w_ih x + b_ih of a chunk: [panel][row][width]; few: [row][gates * hidden] */
    char *pre;     /* few: w_hh h + b_hh of a step: [batch][gates * hidden] */
    char *h0, *c0; /* [batch][hidden]; c0 holds c of every step where nothing is saved */
    char *kept, *cells; /* in saved, or NULL */
    char *h0_half;      /* pairs: h0 in bf16 */
} side;

typedef struct rnn_job {
    gp_rnn r;
    gp_ctype ct;
    int64_t size; /* bytes of the compute type */
    const gp_call *c;
    const gp_array *const *w;
    char *saved; /* or NULL */
    bool pairs;
    const char *x; /* input of the layer: rows ldx elements apart, of bf16 for pairs */
    int64_t ldx, in;
    char *y;      /* output of the layer: [steps][batch][dirs * hidden] */
    char *y_half; /* pairs: the same in bf16 */
    side s[2];
    bool few;
    int64_t groups;               /* groups of a step's rows, besides the panels */
    int64_t first, chunk, step;   /* first step and number of steps of the chunk; the step */
    char *copy, *plane[2], *drop; /* of x; of outputs; of an output with dropout */
    char *half[2], *drop_half;    /* pairs: of outputs in bf16 */
} rnn_job;

/* ---- shared with backward ---- */

void gp_rnn_initial(const gp_call *c, const gp_rnn *r, gp_ctype ct, int k, int64_t i, char *p) {
    const gp_value *v = &c->arg[GP_RNN_HX];
    if (v->kind == GP_NONE) {
        memset(p, 0, (size_t)(r->batch * r->hidden) * gp_ctype_size[ct]);
        return;
    }
    gp_array to = gp_rnn_dense(p, ct, 1, r->batch, r->hidden),
             from = gp_rnn_state(r, v->kind == GP_LIST ? v->arrays[k] : v->a, i);
    gp_copy_array(&to, &from);
}

bool gp_rnn_pairs(const gp_rnn *r, const gp_array *x, const gp_array *const *w) {
    int n = r->layers * r->dirs * (r->biases ? 4 : 2);
    bool pairs = x->dtype == GP_bf16 && gp_packs_pairs();
    for (int i = 0; i < n; i++) pairs = pairs && w[i]->dtype == GP_bf16;
    return pairs;
}

const char *gp_rnn_rows(const gp_rnn *r, gp_dtype dt, const gp_array *x, char *p, int64_t *ld) {
    gp_array v = gp_rnn_time_major(r, x);
    int64_t step = v.dim[1] > 1 ? v.stride[1] : v.stride[0];
    bool regular = v.dim[0] == 1 || v.dim[1] == 1 || v.stride[0] == v.dim[1] * step;
    if (x->dtype == dt && (v.stride[2] == 1 || v.dim[2] == 1) && regular && step >= v.dim[2]) {
        *ld = step;
        return v.data;
    }
    *ld = 0;
    if (!p) return NULL;
    gp_array to = gp_rnn_dense(p, GP_CT_f32, v.dim[0], v.dim[1], v.dim[2]);
    to.dtype = (uint8_t)dt;
    gp_copy_array(&to, &v);
    *ld = v.dim[2];
    return p;
}

bool gp_rnn_gemm(gp_ctype ct, bool at, bool bt, int64_t m, int64_t n, int64_t k, const char *a,
                 int64_t lda, const char *b, int64_t ldb, bool add, char *c, int64_t ldc) {
    if (m == 0 || n == 0) return true;
    if (k == 0) {
        for (int64_t i = 0; i < m && !add; i++)
            memset(c + i * ldc * gp_ctype_size[ct], 0, (size_t)(n * gp_ctype_size[ct]));
        return true;
    }
    if (ct == GP_CT_f32)
        return gp_sgemm(at, bt, m, n, k, (const float *)a, lda, (const float *)b, ldb, add,
                        (float *)c, ldc);
    gp_blas->cblas_dgemm(CblasRowMajor, at ? CblasTrans : CblasNoTrans,
                         bt ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, 1,
                         (const double *)a, (int)lda, (const double *)b, (int)ldb, add, (double *)c,
                         (int)ldc);
    return true;
}

/* ---- one chunk of time steps ---- */

/* Unit u of a step or chunk: a direction, a panel and a group of rows. */
typedef struct unit {
    int dir;
    int64_t panel, from, to;
} unit;

/* Units are numbered by direction, panel, group of rows. */
static unit unit_of(const rnn_job *n, int64_t u, int64_t rows) {
    int64_t group = u % n->groups, panels = n->s[0].hh.count;
    return (unit){.dir = (int)(u / n->groups / panels),
                  .panel = u / n->groups % panels,
                  .from = rows * group / n->groups,
                  .to = rows * (group + 1) / n->groups};
}

/* The second direction starts at the end. */
static int64_t time_of(const rnn_job *n, int dir, int64_t step) {
    return dir ? n->r.steps - 1 - step : step;
}

/* First row of the chunk, in time x batch. */
static int64_t chunk_row(const rnn_job *n, int dir) {
    return (dir ? n->r.steps - n->first - n->chunk : n->first) * n->r.batch;
}

/* Units [begin, end) of a chunk: w_ih x + b_ih of many steps at once. */
static void project(void *ctx, int64_t begin, int64_t end) {
    const rnn_job *n = ctx;
    int64_t rows = n->chunk * n->r.batch;
    for (int64_t u = begin; u < end; u++) {
        unit t = unit_of(n, u, rows);
        const side *s = &n->s[t.dir];
        const char *x = n->x + (chunk_row(n, t.dir) + t.from) * n->ldx * (n->pairs ? 2 : n->size);
        gp_panels_multiply(&s->ih, t.panel, t.to - t.from, x, n->ldx,
                           s->gx + (t.panel * rows + t.from) * s->ih.width * n->size);
    }
}

/* The gates' arguments for rows [from, from + rows) of the batch and the units from `first`. */
static gp_cell_rows cell_rows(const rnn_job *n, int dir, int64_t from, int64_t rows,
                              int64_t first) {
    const side *s = &n->s[dir];
    int64_t h = n->r.hidden, ld = n->r.dirs * h, batch = n->r.batch,
            row = time_of(n, dir, n->step) * batch + from, at = from * h + first;
    int64_t back = (dir ? row + batch : row - batch) * ld + dir * h + first;
    gp_cell_rows g = {
        .rows = rows, .units = h, .c_row = h, .out_row = ld, .kept_row = n->r.kept * h};
    g.out = n->y + (row * ld + dir * h + first) * n->size;
    g.prev = n->step ? n->y + back * n->size : s->h0 + at * n->size;
    g.prev_row = n->step ? ld : h;
    if (s->c0) g.c = s->c0 + at * n->size, g.cprev = g.c;
    if (s->cells) {
        g.c = s->cells + (row * h + first) * n->size;
        if (n->step) g.cprev = g.c + (dir ? batch : -batch) * h * n->size;
    }
    if (s->kept) g.kept = s->kept + (row * n->r.kept * h + first) * n->size;
    return g;
}

/* For pairs: the place in bf16 of p, a state before the step; and what the step made, there. */
static const char *half_of(const rnn_job *n, const side *s, const char *p) {
    return n->step ? n->y_half + (p - n->y) / n->size * 2 : s->h0_half + (p - s->h0) / n->size * 2;
}

static void round_rows(const rnn_job *n, const gp_cell_rows *g) {
    for (int64_t r = 0; r < g->rows; r++) {
        const char *from = g->out + r * g->out_row * n->size;
        gp_rnn_round(n->y_half + (from - n->y) / n->size * 2, from, g->n);
    }
}

/* Rows [from, to) of the batch, few enough for buf, in one panel's units. */
static void step_rows(const rnn_job *n, const unit *t, int64_t from, int64_t to) {
    _Alignas(64) char buf[GP_PANEL_BUFFER * 4 * GP_VB];
    const side *s = &n->s[t->dir];
    const gp_panels *p = &s->hh;
    int64_t first = t->panel * p->each, rows = n->chunk * n->r.batch,
            row = time_of(n, t->dir, n->step) * n->r.batch + from - chunk_row(n, t->dir);
    gp_cell_rows g = cell_rows(n, t->dir, from, to - from, first);
    const char *prev = g.prev - first * n->size;
    if (n->pairs) prev = half_of(n, s, prev);
    gp_panels_multiply(p, t->panel, to - from, prev, g.prev_row, buf);
    g.h = buf;
    g.x = s->gx + (t->panel * rows + row) * p->width * n->size;
    g.x_row = g.h_row = p->width;
    g.x_gate = g.h_gate = p->lanes;
    g.n = p->units - first < p->each ? p->units - first : p->each;
    gp_cell_forward(n->r.cell, n->ct, &g);
    if (n->pairs) round_rows(n, &g);
}

/* Units [begin, end) of one time step, in blocks of rows that fit the panel's buffer. */
static void step_units(void *ctx, int64_t begin, int64_t end) {
    const rnn_job *n = ctx;
    for (int64_t u = begin; u < end; u++) {
        unit t = unit_of(n, u, n->r.batch);
        int64_t blocks = (t.to - t.from + GP_PANEL_BUFFER - 1) / GP_PANEL_BUFFER;
        for (int64_t b = 0; b < blocks; b++)
            step_rows(n, &t, t.from + (t.to - t.from) * b / blocks,
                      t.from + (t.to - t.from) * (b + 1) / blocks);
    }
}

/* ---- few rows: weights are read in place ---- */

/* out[rows][gates * hidden] = a w' + bias */
static bool product(const rnn_job *n, const gp_panel_source *w, int64_t k, int64_t rows,
                    const char *a, int64_t lda, char *out) {
    int64_t units = n->r.gates * n->r.hidden;
    gp_load load = gp_load_fn(w->dtype, n->ct);
    for (int64_t i = 0; w->bias && i < rows; i++)
        load(out + i * units * n->size, w->bias, w->bs, units);
    if (rows > 1 || k == 0)
        return gp_rnn_gemm(n->ct, false, true, rows, units, k, a, lda, w->w, w->rs / n->size,
                           w->bias, out, units);
    if (!w->bias) memset(out, 0, (size_t)(units * n->size));
    if (n->ct == GP_CT_f32)
        gp_blas->cblas_sgemv(CblasRowMajor, CblasNoTrans, (int)units, (int)k, 1,
                             (const float *)w->w, (int)(w->rs / n->size), (const float *)a, 1, 1,
                             (float *)out, 1);
    else
        gp_blas->cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)units, (int)k, 1,
                             (const double *)w->w, (int)(w->rs / n->size), (const double *)a, 1, 1,
                             (double *)out, 1);
    return true;
}

/* Gates and states of one step's rows, whose products are complete. */
static void step_cells(void *ctx, int64_t begin, int64_t end) {
    const rnn_job *n = ctx;
    int64_t batch = n->r.batch, row = n->r.gates * n->r.hidden;
    for (int64_t u = begin; u < end;) {
        int dir = (int)(u / batch);
        int64_t from = u % batch, rows = end - u < batch - from ? end - u : batch - from;
        gp_cell_rows g = cell_rows(n, dir, from, rows, 0);
        g.x = n->s[dir].gx + (time_of(n, dir, n->step) * batch + from) * row * n->size;
        g.h = n->s[dir].pre + from * row * n->size;
        g.x_row = g.h_row = row;
        g.x_gate = g.h_gate = g.n = n->r.hidden;
        gp_cell_forward(n->r.cell, n->ct, &g);
        u += rows;
    }
}

/* One step of both directions by library products. */
static bool few_step(rnn_job *n) {
    bool ok = true;
    for (int d = 0; d < n->r.dirs; d++) {
        gp_cell_rows g = cell_rows(n, d, 0, n->r.batch, 0);
        ok =
            ok && product(n, &n->s[d].wh, n->r.hidden, n->r.batch, g.prev, g.prev_row, n->s[d].pre);
    }
    gp_parallel(n->r.dirs * n->r.batch, 1 + STEP_WORK / 64 / n->r.hidden, step_cells, n);
    return ok;
}

/* ---- a layer ---- */

static void pack(void *ctx, int64_t begin, int64_t end) {
    rnn_job *n = ctx;
    int64_t count = n->s[0].hh.count;
    for (int64_t u = begin; u < end; u++) {
        side *s = &n->s[u / count];
        gp_panels_pack(&s->ih, &s->wi, u % count, u % count + 1);
        gp_panels_pack(&s->hh, &s->wh, u % count, u % count + 1);
    }
}

static gp_panel_source source(const gp_array *w, const gp_array *bias) {
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)w->dtype);
    gp_panel_source s = {.w = w->data,
                         .dtype = (gp_dtype)w->dtype,
                         .rs = w->stride[0] * size,
                         .cs = w->stride[1] * size};
    if (bias) s.bias = bias->data, s.bs = bias->stride[0] * size;
    return s;
}

static void open_layer(rnn_job *n, int layer) {
    for (int d = 0; d < n->r.dirs; d++) {
        side *s = &n->s[d];
        const gp_array *const *w = n->w + gp_rnn_weight(&n->r, layer, d);
        int64_t i = (int64_t)layer * n->r.dirs + d;
        s->wi = source(w[0], n->r.biases ? w[2] : NULL);
        s->wh = source(w[1], n->r.biases ? w[3] : NULL);
        s->ih.k = n->in;
        s->kept = n->r.kept ? gp_rnn_side_at(&n->r, n->size, n->saved, layer, d) : NULL;
        s->cells = gp_rnn_cells_at(&n->r, n->size, n->saved, layer, d);
        gp_rnn_initial(n->c, &n->r, n->ct, 0, i, s->h0);
        if (n->pairs) gp_rnn_round(s->h0_half, s->h0, n->r.batch * n->r.hidden);
        if (s->c0) gp_rnn_initial(n->c, &n->r, n->ct, 1, i, s->c0);
    }
}

static bool steps_of_chunk(rnn_job *n) {
    int64_t units = n->r.dirs * n->s[0].hh.count * n->groups,
            work = n->r.batch * n->r.gates * n->r.hidden * n->r.hidden * n->r.dirs / units;
    if (!n->few) gp_parallel(units, 1 + STEP_WORK / (1 + work * n->chunk), project, n);
    for (n->step = n->first; n->step < n->first + n->chunk; n->step++) {
        if (gp_stopped()) return gp_fail("%s: interrupted", n->c->name);
        if (!n->few) gp_parallel(units, 1 + STEP_WORK / (1 + work), step_units, n);
        else if (!few_step(n)) return gp_fail("%s: out of memory", n->c->name);
    }
    return true;
}

static bool run_layer(rnn_job *n, int layer) {
    int64_t most = (CHUNK_ROWS + n->r.batch - 1) / n->r.batch, steps = n->r.steps;
    open_layer(n, layer);
    if (n->few) {
        most = steps;
        for (int d = 0; d < n->r.dirs; d++)
            if (!product(n, &n->s[d].wi, n->in, steps * n->r.batch, n->x, n->ldx, n->s[d].gx))
                return gp_fail("%s: out of memory", n->c->name);
    } else {
        gp_parallel(n->r.dirs * n->s[0].hh.count,
                    1 + (1 << 14) / (1 + n->s[0].hh.k * n->s[0].hh.width), pack, n);
    }
    for (n->first = 0; n->first < steps; n->first += n->chunk) {
        n->chunk = steps - n->first < most ? steps - n->first : most;
        if (!steps_of_chunk(n)) return false;
    }
    return true;
}

/* h_n and c_n of the layer. */
static void write_states(rnn_job *n, int layer) {
    int64_t h = n->r.hidden, ld = n->r.dirs * h;
    for (int d = 0; d < n->r.dirs; d++) {
        int64_t row = (d ? 0 : n->r.steps - 1) * n->r.batch, i = (int64_t)layer * n->r.dirs + d;
        gp_array from = gp_rnn_dense(n->y + (row * ld + d * h) * n->size, n->ct, 1, n->r.batch, h),
                 to = gp_rnn_state(&n->r, gp_out(n->c, 1), i);
        from.stride[1] = ld, from.contiguous = false;
        gp_copy_array(&to, &from);
        if (n->r.states == 1) continue;
        char *c = n->s[d].cells ? n->s[d].cells + row * h * n->size : n->s[d].c0;
        from = gp_rnn_dense(c, n->ct, 1, n->r.batch, h);
        to = gp_rnn_state(&n->r, gp_out(n->c, 2), i);
        gp_copy_array(&to, &from);
    }
}

/* ---- between layers ---- */

typedef struct dropping {
    const rnn_job *n;
    char *mask; /* or NULL */
    int64_t offset;
} dropping;

#define TEMPLATE "kernels/cpu/rnn/dropout.inc"
#include "kernels/common/floats.inc"

static void drop_out(rnn_job *n, int layer) {
    int64_t plane = gp_rnn_plane(&n->r);
    dropping d = {n, n->saved ? gp_rnn_mask_at(&n->r, n->size, n->saved, layer) : NULL,
                  layer * plane};
    gp_parallel(plane, GP_BLOCK, n->ct == GP_CT_f32 ? drop_f32 : drop_f64, &d);
    n->x = n->drop;
    if (!n->pairs) return;
    gp_rnn_round(n->drop_half, n->drop, plane);
    n->x = n->drop_half;
}

/* ---- whole network ---- */

static void lay_out_side(rnn_job *n, side *s, gp_carve *v) {
    const gp_rnn *r = &n->r;
    int64_t state = r->batch * r->hidden * n->size, gates = r->gates * r->hidden * n->size,
            wide = r->layers > 1 && r->dirs * r->hidden > r->input ? r->dirs * r->hidden : r->input,
            chunk = (CHUNK_ROWS + r->batch - 1) / r->batch;
    gp_panels_init(&s->ih, n->ct, n->pairs, r->gates, r->hidden, wide);
    gp_panels_init(&s->hh, n->ct, n->pairs, r->gates, r->hidden, r->hidden);
    s->h0 = gp_carve_next(v, state);
    if (n->pairs) s->h0_half = gp_carve_next(v, state / 2);
    s->c0 = r->states == 2 ? gp_carve_next(v, state) : NULL;
    if (n->few) {
        s->gx = gp_carve_next(v, r->steps * r->batch * gates);
        s->pre = gp_carve_next(v, r->batch * gates);
        return;
    }
    if (chunk > r->steps) chunk = r->steps;
    s->gx = gp_carve_next(v, s->ih.count * s->ih.width * chunk * r->batch * n->size);
    s->ih.data = gp_carve_next(v, gp_panels_bytes(&s->ih));
    s->ih.start = gp_carve_next(v, gp_panels_start_bytes(&s->ih));
    s->hh.data = gp_carve_next(v, gp_panels_bytes(&s->hh));
    s->hh.start = gp_carve_next(v, gp_panels_start_bytes(&s->hh));
}

static gp_dtype dtype_of_x(const rnn_job *n) {
    return n->pairs ? GP_bf16 : (gp_dtype)gp_ctype_dtype[n->ct];
}

static void lay_out(rnn_job *n, gp_carve *v) {
    const gp_rnn *r = &n->r;
    int64_t plane = gp_rnn_plane(r) * n->size, ld;
    gp_rnn_rows(r, dtype_of_x(n), gp_in(n->c, GP_RNN_X), NULL, &ld);
    n->copy = ld ? NULL : gp_carve_next(v, r->steps * r->batch * r->input * n->size);
    for (int i = 0; i < 2 && !n->saved; i++) n->plane[i] = gp_carve_next(v, plane);
    n->drop = r->dropped ? gp_carve_next(v, plane) : NULL;
    for (int i = 0; i < 2 && n->pairs; i++) n->half[i] = gp_carve_next(v, plane / 2);
    if (n->pairs && n->drop) n->drop_half = gp_carve_next(v, plane / 2);
    for (int d = 0; d < r->dirs; d++) lay_out_side(n, &n->s[d], v);
}

/* Whether a library may read the weights in place. */
static bool weights_dense(const rnn_job *n) {
    int count = n->r.layers * n->r.dirs, each = n->r.biases ? 4 : 2;
    for (int i = 0; i < count * each; i++)
        if (n->w[i]->dtype != gp_ctype_dtype[n->ct] || (i % each < 2 && !n->w[i]->contiguous))
            return false;
    return true;
}

static void write_output(rnn_job *n) {
    const gp_array *out = gp_out(n->c, 0);
    if (n->y == out->data || n->y_half == out->data) return;
    gp_array to = gp_rnn_time_major(&n->r, out),
             from =
                 gp_rnn_dense(n->pairs ? n->y_half : n->y, n->ct, to.dim[0], to.dim[1], to.dim[2]);
    from.dtype = (uint8_t)dtype_of_x(n);
    gp_copy_array(&to, &from);
}

static bool run_layers(rnn_job *n) {
    const gp_array *x = gp_in(n->c, GP_RNN_X), *out = gp_out(n->c, 0);
    bool direct = !n->r.batch_first && out->dtype == dtype_of_x(n);
    n->in = n->r.input;
    n->x = gp_rnn_rows(&n->r, dtype_of_x(n), x, n->copy, &n->ldx);
    for (int layer = 0; layer < n->r.layers; layer++) {
        bool last = layer == n->r.layers - 1;
        n->y = n->saved                      ? gp_rnn_output_at(&n->r, n->size, n->saved, layer)
               : last && direct && !n->pairs ? out->data
                                             : n->plane[layer % 2];
        if (n->pairs) n->y_half = last && direct ? out->data : n->half[layer % 2];
        if (!run_layer(n, layer)) return false;
        write_states(n, layer);
        n->x = n->pairs ? n->y_half : n->y;
        n->in = n->ldx = n->r.dirs * n->r.hidden;
        if (n->r.dropped && !last) drop_out(n, layer);
    }
    write_output(n);
    return true;
}

static bool forward(const gp_call *c, bool save) {
    const gp_array *x = gp_in(c, GP_RNN_X);
    rnn_job n = {
        .c = c, .ct = gp_compute_type((gp_dtype)x->dtype), .w = c->arg[GP_RNN_WEIGHTS].arrays};
    gp_rnn_read(c, x, n.w[1], &n.r);
    if (n.r.batch == 0) return true;
    n.size = gp_ctype_size[n.ct];
    n.pairs = gp_rnn_pairs(&n.r, x, n.w);
    n.saved = save ? gp_out(c, 1 + n.r.states)->data : NULL;
    n.few = n.r.steps * n.r.batch <= FEW && weights_dense(&n);
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

bool CPU(lstm)(const gp_call *c) { return forward(c, false); }
bool CPU(gru)(const gp_call *c) { return forward(c, false); }
bool CPU(rnn)(const gp_call *c) { return forward(c, false); }
bool CPU(lstm_forward)(const gp_call *c) { return forward(c, true); }
bool CPU(gru_forward)(const gp_call *c) { return forward(c, true); }
bool CPU(rnn_forward)(const gp_call *c) { return forward(c, true); }
