/* Rows whose results have no gradient, because they are integers, bools or new tensors; and rows
 * that only backward runs, which fail with a message when differentiated. Every VIEW, RANDOM and
 * CUSTOM row needs a `const gp_rule vjp_NAME`: here, or in its family's file of tensor/ops (grad.h
 * says how one is written), with a case in tests/tensor/autograd/autograd.lua. */
#include "tensor/autograd/grad.h"

/* Results that need no gradient, whatever the arguments. */
#define NONE(n) const gp_rule vjp_##n = {NULL, NULL};
/* clang-format off */
NONE(range) NONE(linspace) NONE(logspace) NONE(full) NONE(zeros) NONE(ones) NONE(empty) NONE(eye)
NONE(nonzero) NONE(count_nonzero) NONE(argsort) NONE(argmax) NONE(argmin) NONE(distinct)
NONE(unique) NONE(unique_consecutive) NONE(detach) NONE(argsort_rows) NONE(searchsorted)
NONE(bucketize) NONE(bincount) NONE(count_labels) NONE(check_finite)
NONE(histc) NONE(one_hot) NONE(rand) NONE(randn) NONE(rand_like)
NONE(randn_like) NONE(randint) NONE(randperm) NONE(multinomial) NONE(arange)
    /* clang-format on */
    /* Ops that only write: refused for tensors that require gradients while ops are recorded. */
    /* clang-format off */
NONE(sgd_step) NONE(adam_step) NONE(rmsprop_step) NONE(adagrad_step) NONE(clip_grad_norm)
NONE(clip_grad_value) NONE(amp_unscale) NONE(amp_update_scale)
    /* clang-format on */

    /* Rows that only backward runs, and that are not differentiated: their rules compose a second
     * derivative of other ops. */
    static bool once(gp_vjp *v) {
    return gp_fail(
        "backward: %s has no derivative of its own: there are no second derivatives through it",
        v->node->op->name);
}
#define ONCE(n) const gp_rule vjp_##n = {once, NULL};
/* clang-format off */
ONCE(attention_backward) ONCE(batch_norm_grad) ONCE(cross_entropy_grad) ONCE(group_norm_grad)
ONCE(gru_backward) ONCE(layer_norm_grad) ONCE(log_softmax_grad) ONCE(lstm_backward)
ONCE(rms_norm_grad) ONCE(rnn_backward) ONCE(softmax_grad)
    /* clang-format on */

    bool gp_rule_later(const gp_rule *rule) {
    return rule->fn == once;
}

/* Derivative columns with a function that is not an op, where the backward is recorded. */
static bool formula(gp_vjp *v) {
    return gp_fail("backward: %s, the derivative of a row of the op table, has no derivative of "
                   "its own: there "
                   "are no second derivatives through it",
                   v->node->op->name);
}
const gp_rule gp_rule_formula = {formula, NULL};
