/* Shape and dtype rules of recurrent layers. */
#include <stdio.h>
#include <string.h>

#include "tensor/infer.h"
#include "tensor/ops/rnn/rnn.h"

/* rnn's rows are of form GP_CELL_TANH, whichever nonlinearity the call asks for. */
static gp_cell cell_of(const gp_call *c) {
    gp_cell form = (gp_cell)c->op->form;
    if (form != GP_CELL_TANH) return form;
    return strcmp(c->arg[GP_RNN_OWN].s, "relu") ? GP_CELL_TANH : GP_CELL_RELU;
}

void gp_rnn_read(const gp_call *c, const gp_array *x, const gp_array *w_hh, gp_rnn *r) {
    gp_cell cell = cell_of(c);
    *r = (gp_rnn){.cell = cell,
                  .gates = cell == GP_CELL_LSTM  ? 4
                           : cell == GP_CELL_GRU ? 3
                                                 : 1,
                  .kept = cell <= GP_CELL_GRU ? 4 : 0,
                  .states = cell == GP_CELL_LSTM ? 2 : 1,
                  .backward = cell <= GP_CELL_GRU ? GP_RNN_OWN : GP_RNN_OWN + 1};
    r->biases = c->arg[GP_RNN_BIASES].i;
    r->layers = (int)c->arg[GP_RNN_LAYERS].i;
    r->dropout = c->arg[GP_RNN_DROPOUT].f;
    r->dropped = r->dropout > 0 && c->arg[GP_RNN_TRAIN].i && r->layers > 1;
    r->dirs = c->arg[GP_RNN_BIDIRECTIONAL].i ? 2 : 1;
    r->batched = x->ndim == 3;
    r->batch_first = r->batched && c->arg[GP_RNN_BATCH_FIRST].i;
    r->steps = x->dim[r->batch_first ? 1 : 0];
    r->batch = r->batched ? x->dim[r->batch_first ? 0 : 1] : 1;
    r->input = x->dim[x->ndim - 1];
    r->hidden = w_hh->dim[1];
}

/* ---- checks ---- */

static bool fits(const gp_tensor *t, const gp_tensor *x, const gp_shape *want) {
    gp_shape have = gp_tensor_shape(t);
    return t->a.dtype == x->a.dtype && gp_shape_equal(&have, want);
}

static bool check_tensor(const gp_call *c, const char *what, const gp_tensor *t, const gp_tensor *x,
                         const gp_shape *want) {
    char a[160], b[160];
    if (fits(t, x, want)) return true;
    if (t->a.dtype != x->a.dtype)
        return gp_fail(
            "%s: argument 'x' is %s and %s %s (expected the same dtype; convert one with "
            ":to)",
            c->name, gp_dtype_name((gp_dtype)x->a.dtype), what,
            gp_dtype_name((gp_dtype)t->a.dtype));
    return gp_fail("%s: %s is %s (expected %s)", c->name, what, gp_tensor_text(t, a, sizeof a),
                   gp_shape_text(want, b, sizeof b));
}

static bool check_options(const gp_call *c) {
    double p = c->arg[GP_RNN_DROPOUT].f;
    int64_t layers = c->arg[GP_RNN_LAYERS].i;
    if (!(p >= 0 && p <= 1)) return gp_fail("%s: dropout is %g (expected 0 to 1)", c->name, p);
    if (layers < 1 || layers > 1 << 20)
        return gp_fail("%s: num_layers is %lld (expected an integer >= 1)", c->name,
                       (long long)layers);
    if (c->op->form == GP_CELL_TANH && strcmp(c->arg[GP_RNN_OWN].s, "relu") &&
        strcmp(c->arg[GP_RNN_OWN].s, "tanh"))
        return gp_fail("%s: nonlinearity '%.20s' (expected 'tanh' or 'relu')", c->name,
                       c->arg[GP_RNN_OWN].s);
    return true;
}

static bool check_weights(const gp_call *c, const gp_rnn *r) {
    static const char *const names[] = {"w_ih", "w_hh", "b_ih", "b_hh"};
    const gp_value *w = &c->arg[GP_RNN_WEIGHTS];
    int each = r->biases ? 4 : 2;
    for (int i = 0; i < w->n; i++) {
        int layer = i / each / r->dirs, k = i % each;
        int64_t in = layer ? r->hidden * r->dirs : r->input;
        gp_shape s = {.ndim = k < 2 ? 2 : 1,
                      .dim = {r->gates * r->hidden, k == 0 ? in : r->hidden}};
        if (fits(w->list[i], c->arg[GP_RNN_X].t, &s)) continue;
        char what[60];
        snprintf(what, sizeof what, "entry %d of 'weights' (%s of layer %d)", i + 1, names[k],
                 layer + 1);
        return check_tensor(c, what, w->list[i], c->arg[GP_RNN_X].t, &s);
    }
    return true;
}

static gp_shape state_shape(const gp_rnn *r) {
    gp_shape s = {.ndim = 0};
    s.dim[s.ndim++] = (int64_t)r->layers * r->dirs;
    if (r->batched) s.dim[s.ndim++] = r->batch;
    s.dim[s.ndim++] = r->hidden;
    return s;
}

static gp_shape output_shape(const gp_rnn *r, const gp_tensor *x) {
    gp_shape s = gp_tensor_shape(x);
    s.dim[s.ndim - 1] = r->hidden * r->dirs;
    return s;
}

static bool check_states(const gp_call *c, const gp_rnn *r) {
    const gp_value *v = &c->arg[GP_RNN_HX];
    gp_shape s = state_shape(r);
    if (v->kind == GP_NONE) return true;
    if (v->kind == GP_TENSOR) return check_tensor(c, "'hx'", v->t, c->arg[GP_RNN_X].t, &s);
    if (v->n != 2)
        return gp_fail("%s: argument 'hx' has %d entries (expected 2: h and c)", c->name, v->n);
    return check_tensor(c, "entry 1 of 'hx' (h)", v->list[0], c->arg[GP_RNN_X].t, &s) &&
           check_tensor(c, "entry 2 of 'hx' (c)", v->list[1], c->arg[GP_RNN_X].t, &s);
}

static bool read_call(const gp_call *c, gp_meta *m, gp_rnn *r) {
    const gp_tensor *x = c->arg[GP_RNN_X].t;
    const gp_value *w = &c->arg[GP_RNN_WEIGHTS];
    char text[160];
    m->n = 0;
    m->dev = gp_infer_device(c);
    if (!m->dev || !gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_SET_FLOAT) || !check_options(c))
        return false;
    if (x->a.ndim != 2 && x->a.ndim != 3)
        return gp_fail(
            "%s: argument 'x' is %s (expected time x batch x features, or without batch)", c->name,
            gp_tensor_text(x, text, sizeof text));
    int64_t each = c->arg[GP_RNN_BIASES].i ? 4 : 2, dirs = c->arg[GP_RNN_BIDIRECTIONAL].i ? 2 : 1,
            all = each * dirs * c->arg[GP_RNN_LAYERS].i;
    if (w->n != all)
        return gp_fail(
            "%s: argument 'weights' has %d entries (expected %lld: %s for each layer and "
            "direction)",
            c->name, w->n, (long long)all, each == 4 ? "w_ih, w_hh, b_ih, b_hh" : "w_ih, w_hh");
    if (w->list[1]->a.ndim != 2 || w->list[1]->a.dim[1] < 1)
        return gp_fail("%s: entry 2 of 'weights' (w_hh) is %s (expected a matrix)", c->name,
                       gp_tensor_text(w->list[1], text, sizeof text));
    gp_rnn_read(c, &x->a, &w->list[1]->a, r);
    if (r->steps < 1)
        return gp_fail("%s: argument 'x' is %s (expected at least one time step)", c->name,
                       gp_tensor_text(x, text, sizeof text));
    return check_weights(c, r) && check_states(c, r);
}

static gp_dtype compute_dtype(const gp_tensor *x) { return x->a.dtype == GP_f64 ? GP_f64 : GP_f32; }

/* ---- rules ---- */

/* Outputs: output, h_n, and of an LSTM c_n. */
static bool infer_layers(gp_call *c, gp_meta *m, gp_rnn *r) {
    if (!read_call(c, m, r)) return false;
    const gp_tensor *x = c->arg[GP_RNN_X].t;
    for (int i = 0; i <= r->states; i++) {
        m->out[i].dtype = (gp_dtype)x->a.dtype;
        m->out[i].shape = i ? state_shape(r) : output_shape(r, x);
    }
    m->n = 1 + r->states;
    if (r->dropped) { /* draws only then, so that other calls leave the generator unchanged */
        c->seed = gp_generator.seed;
        c->counter = gp_generator.counter++;
    }
    return true;
}

static bool infer_forward(gp_call *c, gp_meta *m) {
    gp_rnn r;
    if (!infer_layers(c, m, &r)) return false;
    c->stream = gp_stream_current(m->dev);
    int64_t (*saves)(const gp_call *) = m->dev->vt->saves, n = saves ? saves(c) : 0;
    m->out[m->n].dtype = compute_dtype(c->arg[GP_RNN_X].t);
    m->out[m->n++].shape = (gp_shape){.ndim = 1, .dim = {n ? n : gp_rnn_saved_elements(&r)}};
    return true;
}

static bool check_gradient(const gp_call *c, int i, const char *what, const gp_shape *s) {
    return !gp_given(c, i) || check_tensor(c, what, c->arg[i].t, c->arg[GP_RNN_X].t, s);
}

/* Outputs: gradients of x, empty where it is not wanted, of the initial states, and of all weights,
 * concatenated in one dim. */
static bool infer_backward(gp_call *c, gp_meta *m) {
    static const char *const names[] = {"'grad_output'", "'grad_h'", "'grad_c'"};
    gp_rnn r;
    if (!read_call(c, m, &r)) return false;
    const gp_tensor *x = c->arg[GP_RNN_X].t, *saved = c->arg[r.backward].t;
    const gp_value *w = &c->arg[GP_RNN_WEIGHTS];
    gp_shape all = {.ndim = 1, .dim = {gp_rnn_saved_elements(&r)}}, have = gp_tensor_shape(saved),
             out = output_shape(&r, x), state = state_shape(&r);
    char text[160];
    if (m->dev->vt->saves && have.ndim == 1) all = have; /* the kernel checks the number */
    if (!gp_shape_equal(&have, &all) || (gp_dtype)saved->a.dtype != compute_dtype(x))
        return gp_fail("%s: argument 'saved' is %s (expected what the forward op gave)", c->name,
                       gp_tensor_text(saved, text, sizeof text));
    for (int i = 0; i < 3 && i <= r.states; i++) {
        if (!check_gradient(c, r.backward + 1 + i, names[i], i ? &state : &out)) return false;
        m->out[i].dtype = (gp_dtype)x->a.dtype;
        m->out[i].shape = i ? state : gp_tensor_shape(x);
    }
    if (!c->arg[gp_rnn_grad_x(&r)].i) m->out[0].shape = (gp_shape){.ndim = 1, .dim = {0}};
    m->n = 1 + r.states;
    m->out[m->n].dtype = (gp_dtype)x->a.dtype;
    m->out[m->n].shape = (gp_shape){.ndim = 1};
    for (int i = 0; i < w->n; i++) m->out[m->n].shape.dim[0] += w->list[i]->a.numel;
    m->n++;
    return true;
}

bool infer_lstm(gp_call *c, gp_meta *m) {
    gp_rnn r;
    return infer_layers(c, m, &r);
}
bool infer_gru(gp_call *c, gp_meta *m) { return infer_lstm(c, m); }
bool infer_rnn(gp_call *c, gp_meta *m) { return infer_lstm(c, m); }
bool infer_lstm_forward(gp_call *c, gp_meta *m) { return infer_forward(c, m); }
bool infer_gru_forward(gp_call *c, gp_meta *m) { return infer_forward(c, m); }
bool infer_rnn_forward(gp_call *c, gp_meta *m) { return infer_forward(c, m); }
bool infer_lstm_backward(gp_call *c, gp_meta *m) { return infer_backward(c, m); }
bool infer_gru_backward(gp_call *c, gp_meta *m) { return infer_backward(c, m); }
bool infer_rnn_backward(gp_call *c, gp_meta *m) { return infer_backward(c, m); }
