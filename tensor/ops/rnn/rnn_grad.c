/* Gradients of recurrent layers: the _backward row, given what the _forward row saved, which
 * replaces the layer while it is recorded. Where the backward itself is recorded, it is composed of
 * ops, step by step, so that it has derivatives: the layers are recomputed from their inputs, with
 * their history. */
#include <stdlib.h>

#include "tensor/autograd/compose.h"
#include "tensor/ops/rnn/rnn.h"

/* A time step of one direction: the state before it; the gates i f g o, or r z n and r's factor;
 * and the new h, or for an LSTM tanh of the new c. All are batch x hidden. */
typedef struct step {
    gp_tensor *h, *c, *gate[4], *out;
} step;

/* One direction of a layer. Gradients: of the gates' contributions from the input and from h, a
 * list of T each. */
typedef struct side {
    gp_tensor *in, *w_ih, *w_hh, *b_ih, *b_hh; /* in: time x batch x features */
    step *steps;
    gp_tensor **from_in, **from_h, **before, **out; /* before: h of each step */
    gp_tensor *dh, *dc; /* first those of the last states, finally those of the initial ones */
} side;

typedef struct net {
    gp_vjp *v;
    gp_rnn r;
    int first;  /* the number of v's input that is the first weight */
    side *side; /* layers x dirs */
} net;

/* 1 - t * t, and t (1 - t): derivatives of tanh and sigmoid in terms of their results. */
static gp_tensor *tanh_slope(gp_vjp *v, gp_tensor *t) {
    return DO(add, "tn", DO(neg, "t", mul(v, t, t)), 1.0);
}
static gp_tensor *sigmoid_slope(gp_vjp *v, gp_tensor *t) { return DO(sub, "tt", t, mul(v, t, t)); }

static gp_tensor *block(gp_vjp *v, gp_tensor *t, int k, int64_t hidden) {
    return DO(narrow, "tiii", t, (int64_t)-1, 1 + k * hidden, hidden);
}

static gp_tensor *joined(gp_vjp *v, gp_tensor *const *list, int n, int64_t dim) {
    return v->failed ? NULL : DO(cat, "li", list, n, dim);
}

/* T tensors of batch x n as time x batch x n. */
static gp_tensor *stacked(const net *n, gp_tensor **list) {
    gp_vjp *v = n->v;
    gp_tensor *t = joined(v, list, (int)n->r.steps, 1);
    if (!t) return NULL;
    return gp_reshape(v, t, &(gp_shape){.ndim = 3, .dim = {n->r.steps, n->r.batch, t->a.dim[1]}});
}

/* ---- forward ---- */

/* Computes h and c after e, which has those before; x: the input's contribution to the gates. */
static void cell(const net *n, const side *s, step *e, gp_tensor *x, gp_tensor **h, gp_tensor **c) {
    gp_vjp *v = n->v;
    int64_t m = n->r.hidden;
    gp_tensor *z = DO(linear, "tto", e->h, s->w_hh, s->b_hh), **g = e->gate;
    if (n->r.cell == GP_CELL_LSTM) {
        z = add(v, x, z);
        for (int k = 0; k < 4; k++)
            g[k] = k == 2 ? DO(tanh, "t", block(v, z, k, m)) : DO(sigmoid, "t", block(v, z, k, m));
        *c = add(v, mul(v, g[1], e->c), mul(v, g[0], g[2]));
        e->out = DO(tanh, "t", *c);
        *h = mul(v, g[3], e->out);
    } else if (n->r.cell == GP_CELL_GRU) {
        for (int k = 0; k < 2; k++)
            g[k] = DO(sigmoid, "t", add(v, block(v, x, k, m), block(v, z, k, m)));
        g[3] = block(v, z, 2, m);
        g[2] = DO(tanh, "t", add(v, block(v, x, 2, m), mul(v, g[0], g[3])));
        *h = add(v, g[2], mul(v, g[1], DO(sub, "tt", e->h, g[2])));
    } else {
        z = add(v, x, z);
        *h = n->r.cell == GP_CELL_TANH ? DO(tanh, "t", z) : DO(relu, "t", z);
    }
    if (n->r.cell != GP_CELL_LSTM) e->out = *h;
}

/* The index of the k-th step in a direction's order. */
static int64_t at(const net *n, int dir, int64_t k) { return dir ? n->r.steps - 1 - k : k; }

static gp_tensor *run_side(const net *n, side *s, int dir, gp_tensor *h, gp_tensor *c) {
    gp_vjp *v = n->v;
    gp_tensor *x = DO(linear, "tto", s->in, s->w_ih, s->b_ih);
    for (int64_t k = 0; k < n->r.steps && !v->failed; k++) {
        int64_t i = at(n, dir, k);
        step *e = &s->steps[i];
        e->h = s->before[i] = h, e->c = c;
        cell(n, s, e, DO(select, "tii", x, (int64_t)1, i + 1), &h, &c);
        s->out[i] = h;
    }
    return stacked(n, s->out);
}

/* ---- backward ---- */

/* From gradients dh and dc of a step's new state, those of the gates' sums and of the state
 * before. */
static void cell_back(const net *n, side *s, const step *e, gp_tensor **from_in,
                      gp_tensor **from_h) {
    gp_vjp *v = n->v;
    gp_tensor *const *g = e->gate, *dh = s->dh, *d[4], *rest = NULL;
    if (n->r.cell == GP_CELL_LSTM) {
        gp_tensor *dc = add(v, s->dc, mul(v, mul(v, dh, g[3]), tanh_slope(v, e->out)));
        d[0] = mul(v, mul(v, dc, g[2]), sigmoid_slope(v, g[0]));
        d[1] = mul(v, mul(v, dc, e->c), sigmoid_slope(v, g[1]));
        d[2] = mul(v, mul(v, dc, g[0]), tanh_slope(v, g[2]));
        d[3] = mul(v, mul(v, dh, e->out), sigmoid_slope(v, g[3]));
        *from_in = *from_h = joined(v, d, 4, -1);
        s->dc = mul(v, dc, g[1]);
    } else if (n->r.cell == GP_CELL_GRU) {
        rest = mul(v, dh, g[1]);
        d[2] = mul(v, DO(sub, "tt", dh, rest), tanh_slope(v, g[2]));
        d[1] = mul(v, mul(v, dh, DO(sub, "tt", e->h, g[2])), sigmoid_slope(v, g[1]));
        d[0] = mul(v, mul(v, d[2], g[3]), sigmoid_slope(v, g[0]));
        *from_in = joined(v, d, 3, -1);
        d[2] = mul(v, d[2], g[0]);
        *from_h = joined(v, d, 3, -1);
    } else if (n->r.cell == GP_CELL_TANH) {
        *from_in = *from_h = mul(v, dh, tanh_slope(v, e->out));
    } else {
        *from_in = *from_h = DO(masked_fill, "ttn", dh, DO(le, "tn", e->out, 0.0), 0.0);
    }
    s->dh = DO(matmul, "tt", *from_h, s->w_hh);
    if (rest) s->dh = add(v, s->dh, rest);
}

/* t, time x batch x n, as rows of n. */
static gp_tensor *rows(gp_vjp *v, gp_tensor *t) {
    return t ? gp_reshape(v, t,
                          &(gp_shape){.ndim = 2, .dim = {t->a.dim[0] * t->a.dim[1], t->a.dim[2]}})
             : NULL;
}

/* The gradients of a direction's weights, inputs of v from number `w` on. */
static void weights_back(const net *n, side *s, int w, gp_tensor *from_in, gp_tensor *from_h) {
    gp_vjp *v = n->v;
    gp_tensor *gi = rows(v, from_in), *gh = rows(v, from_h),
              *before = rows(v, stacked(n, s->before));
    if (v->need[w]) v->dx[w] = DO(matmul, "tt", gp_mT(v, gi), rows(v, s->in));
    if (v->need[w + 1]) v->dx[w + 1] = DO(matmul, "tt", gp_mT(v, gh), before);
    if (!n->r.biases) return;
    if (v->need[w + 2]) v->dx[w + 2] = DO(sum, "tvb", gi, &(int64_t){1}, 1, 0);
    if (v->need[w + 3]) v->dx[w + 3] = DO(sum, "tvb", gh, &(int64_t){1}, 1, 0);
}

/* From g of a layer's output, the gradient of its input. */
static gp_tensor *layer_back(const net *n, int layer, gp_tensor *g) {
    gp_vjp *v = n->v;
    gp_tensor *dx = NULL;
    for (int dir = 0; dir < n->r.dirs; dir++) {
        side *s = &n->side[layer * n->r.dirs + dir];
        gp_tensor *own = block(v, g, dir, n->r.hidden);
        for (int64_t k = n->r.steps - 1; k >= 0 && !v->failed; k--) {
            int64_t i = at(n, dir, k);
            s->dh = add(v, s->dh, DO(select, "tii", own, (int64_t)1, i + 1));
            cell_back(n, s, &s->steps[i], &s->from_in[i], &s->from_h[i]);
        }
        gp_tensor *from_in = stacked(n, s->from_in), *from_h = stacked(n, s->from_h);
        weights_back(n, s, n->first + gp_rnn_weight(&n->r, layer, dir), from_in, from_h);
        gp_tensor *d = DO(matmul, "tt", from_in, s->w_ih);
        dx = dx ? add(v, dx, d) : d;
    }
    return dx;
}

/* ---- whole network ---- */

/* The factors of the dropout after a layer, NULL without one (rnn.h). */
static gp_tensor *dropout_factors(const net *n, int layer) {
    gp_vjp *v = n->v;
    const gp_rnn *r = &n->r;
    if (!r->dropped || layer == r->layers - 1) return NULL;
    int64_t from =
        layer * gp_rnn_layer_elements(r) + r->dirs * gp_rnn_side_elements(r) + gp_rnn_plane(r);
    gp_tensor *m = DO(narrow, "tiii", v->y[r->states + 1], (int64_t)1, from + 1, gp_rnn_plane(r));
    m = DO(detach, "t", DO(to, "t-d", m, (int)v->node->in[0].dtype)); /* a factor without history */
    return gp_reshape(v, m,
                      &(gp_shape){.ndim = 3, .dim = {r->steps, r->batch, r->dirs * r->hidden}});
}

/* State k (h, c) of direction i: from t, directions x batch x hidden, or zeros. */
static gp_tensor *state_of(const net *n, gp_tensor *t, int i) {
    gp_vjp *v = n->v;
    gp_shape s = {.ndim = 2, .dim = {n->r.batch, n->r.hidden}};
    return t ? gp_reshape(v, DO(select, "tii", t, (int64_t)1, (int64_t)i + 1), &s)
             : gp_zeros_shaped(v, &s, 0);
}

/* Converts between x's layout (batch first) and time x batch x features; its own inverse. */
static gp_tensor *turned(const net *n, gp_tensor *t) {
    gp_vjp *v = n->v;
    return n->r.batch_first ? DO(transpose, "tii", t, (int64_t)1, (int64_t)2) : t;
}

static void walk(net *n) {
    gp_vjp *v = n->v;
    const gp_rnn *r = &n->r;
    gp_tensor *x = r->batched ? v->x[0] : DO(unsqueeze, "ti", v->x[0], (int64_t)2), *mask = NULL;
    gp_tensor *g = r->batched ? gp_g(v, 0) : DO(unsqueeze, "ti", gp_g(v, 0), (int64_t)2);
    gp_tensor *h = n->first > 1 ? v->x[1] : NULL, *c = n->first > 2 ? v->x[2] : NULL;
    x = turned(n, x);
    for (int l = 0; l < r->layers && !v->failed; l++) {
        gp_tensor *out[2];
        for (int dir = 0; dir < r->dirs; dir++) {
            int i = l * r->dirs + dir;
            side *s = &n->side[i];
            gp_tensor **w = v->x + n->first + gp_rnn_weight(r, l, dir);
            s->in = x, s->w_ih = w[0], s->w_hh = w[1];
            if (r->biases) s->b_ih = w[2], s->b_hh = w[3];
            s->dh = state_of(n, gp_g(v, 1), i);
            if (r->states > 1) s->dc = state_of(n, gp_g(v, 2), i);
            out[dir] =
                run_side(n, s, dir, state_of(n, h, i), r->states > 1 ? state_of(n, c, i) : NULL);
        }
        x = r->dirs == 1 ? out[0] : joined(v, out, 2, -1);
        if ((mask = dropout_factors(n, l))) x = mul(v, x, mask);
    }
    g = turned(n, g);
    for (int l = r->layers - 1; l >= 0 && !v->failed; l--) {
        if ((mask = dropout_factors(n, l))) g = mul(v, g, mask);
        g = layer_back(n, l, g);
    }
    g = turned(n, g);
    if (v->need[0]) v->dx[0] = r->batched ? g : DO(squeeze, "tv", g, &(int64_t){2}, 1);
}

/* Gradients of the initial states, if given: what dh and dc hold in the end. */
static void states_back(net *n) {
    gp_vjp *v = n->v;
    int sides = n->r.layers * n->r.dirs;
    gp_tensor **list = calloc((size_t)sides, sizeof *list);
    for (int k = 0; k < n->first - 1 && list && !v->failed; k++) {
        for (int i = 0; i < sides; i++) list[i] = k ? n->side[i].dc : n->side[i].dh;
        v->dx[1 + k] = gp_reshape(v, joined(v, list, sides, 1), gp_in_shape(v, 1 + k));
    }
    free(list);
}

static bool steps_back(gp_vjp *v) {
    net n = {.v = v, .first = (int)v->node->arg[GP_RNN_WEIGHTS].i};
    gp_call c;
    gp_call_begin(&c, v->node->op);
    memcpy(c.arg, v->node->arg, (size_t)v->node->nargs * sizeof *c.arg);
    gp_rnn_read(&c, &v->x[0]->a, &v->x[n.first + 1]->a, &n.r);
    size_t sides = (size_t)n.r.layers * (size_t)n.r.dirs, t = (size_t)n.r.steps;
    n.side = calloc(sides, sizeof *n.side);
    step *steps = calloc(sides * t, sizeof *steps);
    gp_tensor **lists = calloc(4 * sides * t, sizeof *lists);
    bool ok = n.side && steps && lists;
    for (size_t i = 0; ok && i < sides; i++) {
        side *s = &n.side[i];
        s->steps = steps + i * t;
        s->from_in = lists + 4 * i * t;
        s->from_h = s->from_in + t, s->before = s->from_h + t, s->out = s->before + t;
    }
    if (ok) walk(&n), states_back(&n);
    else gp_fail("backward: out of memory");
    free(n.side);
    free(steps);
    free(lists);
    return ok && !v->failed;
}

/* ---- the _backward row ---- */

/* Splits the gradient of all weights, concatenated, among the inputs from `first` on. */
static void split(gp_vjp *v, gp_tensor *flat, int first) {
    int64_t at = 1;
    for (int i = first; i < v->node->nin; i++) {
        const gp_shape *s = gp_in_shape(v, i);
        int64_t n;
        if (!gp_shape_numel(s, &n)) return;
        if (v->need[i]) v->dx[i] = gp_reshape(v, DO(narrow, "tiii", flat, (int64_t)1, at, n), s);
        at += n;
    }
}

/* The arguments of the forward call, then backward's own from `own` on. */
static bool run_gradient(gp_vjp *v, const gp_op *op, int own, int states, gp_tensor **d) {
    gp_call c;
    gp_call_begin(&c, op);
    for (; c.nargs < own; c.nargs++) {
        gp_value *a = &c.arg[c.nargs];
        *a = v->node->arg[c.nargs];
        if (a->kind == GP_TENSOR) a->t = v->x[a->i];
        if (a->kind == GP_LIST) a->list = v->x + a->i;
    }
    gp_call_tensor(&c, v->y[states + 1]);
    for (int i = 0; i <= states; i++) gp_call_tensor(&c, v->g[i]);
    gp_call_int(&c, v->need[0]);
    if (!gp_op_run(&c)) return false;
    for (int i = 0; i < c.nout; i++) d[i] = gp_keep(v, c.out[i]);
    return !v->failed;
}

/* states: 2 for an LSTM, else 1. The inputs are x, the states if given, the weights. */
static bool layers(gp_vjp *v, const gp_op *op, int own, int states) {
    int first = (int)v->node->arg[GP_RNN_WEIGHTS].i;
    gp_tensor *d[GP_MAX_OUT];
    if (v->g[states + 1])
        return gp_fail("backward: the last result of %s, what it saved, has no gradient",
                       v->node->op->name);
    if (!gp_no_grad) return steps_back(v);
    if (!run_gradient(v, op, own, states, d)) return false;
    for (int i = 0; i < first; i++)
        if (v->need[i]) v->dx[i] = d[i];
    split(v, d[states + 1], first);
    return !v->failed;
}

static bool lstm(gp_vjp *v) { return layers(v, GP_OP(lstm_backward), GP_RNN_OWN, 2); }
static bool gru(gp_vjp *v) { return layers(v, GP_OP(gru_backward), GP_RNN_OWN, 1); }
static bool rnn(gp_vjp *v) { return layers(v, GP_OP(rnn_backward), GP_RNN_OWN + 1, 1); }
const gp_rule vjp_lstm = {lstm, "*"}, vjp_lstm_forward = {lstm, "*y"}, vjp_gru = {gru, "*"},
              vjp_gru_forward = {gru, "*y"}, vjp_rnn = {rnn, "*"}, vjp_rnn_forward = {rnn, "*y"};
