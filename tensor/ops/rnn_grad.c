/* Backward of recurrent layers: the _backward row, given what the _forward row, which runs in the
 * layer's place while it is recorded, has saved. */
#include "tensor/autograd/grad.h"
#include "tensor/ops/rnn.h"

/* The gradient of all weights, one behind the other, in parts: for the inputs from `first` on. */
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

/* The arguments of the forward call, then what backward takes beside them: from `own` on. */
static bool run(gp_vjp *v, const gp_op *op, int own, int states, gp_tensor **d) {
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
    if (!gp_op_run(&c)) return false;
    for (int i = 0; i < c.nout; i++) d[i] = gp_keep(v, c.out[i]);
    return !v->failed;
}

/* states: 2 of an LSTM, else 1. The inputs are x, the states if given, the weights. */
static bool layers(gp_vjp *v, const gp_op *op, int own, int states) {
    int first = (int)v->node->arg[GP_RNN_WEIGHTS].i;
    gp_tensor *d[GP_MAX_OUT];
    if (v->g[states + 1])
        return gp_fail("backward: the last result of %s, what it saved, has no gradient",
                       v->node->op->name);
    if (!gp_no_grad) return gp_rnn_steps_back(v);
    if (!run(v, op, own, states, d)) return false;
    for (int i = 0; i < first; i++)
        if (v->need[i]) v->dx[i] = d[i];
    split(v, d[states + 1], first);
    return !v->failed;
}

static bool lstm(gp_vjp *v) { return layers(v, GP_OP(lstm_backward), GP_RNN_OWN, 2); }
static bool gru(gp_vjp *v) { return layers(v, GP_OP(gru_backward), GP_RNN_OWN, 1); }
static bool rnn(gp_vjp *v) { return layers(v, GP_OP(rnn_backward), GP_RNN_OWN + 1, 1); }
const gp_rule vjp_lstm = {lstm, "*+"}, vjp_lstm_forward = {lstm, "*y"}, vjp_gru = {gru, "*+"},
              vjp_gru_forward = {gru, "*y"}, vjp_rnn = {rnn, "*+"}, vjp_rnn_forward = {rnn, "*y"};
