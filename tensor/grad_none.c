/* Rows whose results have no gradient, because they are integers, bools or new tensors; and those
 * whose backward is not written yet, which say so. Every VIEW, RANDOM and CUSTOM row needs a
 * `const gp_rule vjp_NAME`: here, or in one of the grad_*.c (grad.h says how one is written), with a
 * case in tests/lua/autograd.lua. */
#include "tensor/grad.h"

/* Results that need no gradient, whatever went in. */
#define NONE(n) const gp_rule vjp_##n = {NULL, NULL};
NONE(range) NONE(linspace) NONE(logspace) NONE(full) NONE(zeros) NONE(ones) NONE(empty)
NONE(eye) NONE(nonzero) NONE(count_nonzero) NONE(argsort) NONE(argmax) NONE(argmin)
NONE(unique) NONE(unique_consecutive) NONE(detach) NONE(argsort_rows) NONE(searchsorted)
NONE(bucketize) NONE(bincount) NONE(histc) NONE(one_hot) NONE(rand) NONE(randn) NONE(rand_like)
NONE(randn_like) NONE(randint) NONE(randperm) NONE(multinomial) NONE(arange)
/* What only writes: refused for tensors that require gradients while ops are recorded. */
NONE(sgd_step) NONE(adam_step) NONE(rmsprop_step) NONE(adagrad_step) NONE(clip_grad_norm)
NONE(clip_grad_value)

/* An error at the backward, and none before. */
static bool later(gp_vjp *v) {
    return gp_fail("backward: %s has no derivative (yet)", v->node->op->name);
}
bool gp_rule_later(const gp_rule *rule) { return rule->fn == later; }
#define LATER(n) const gp_rule vjp_##n = {later, NULL};
LATER(adaptive_avg_pool1d_grad) LATER(adaptive_avg_pool2d_grad) LATER(avg_pool1d_grad)
LATER(avg_pool2d_grad) LATER(batch_norm_grad) LATER(cross_entropy_grad) LATER(dropout_grad)
LATER(embedding_grad) LATER(group_norm_grad) LATER(gru_backward) LATER(interpolate_grad)
LATER(layer_norm_grad) LATER(linalg_eig) LATER(linalg_eigvals) LATER(log_softmax_grad)
LATER(lstm_backward) LATER(max_pool1d_grad) LATER(max_pool2d_grad) LATER(nll_loss_grad)
LATER(rms_norm_grad) LATER(rnn_backward) LATER(softmax_grad)

/* Derivatives of derivatives. */
const gp_rule gp_rule_formula = {later, NULL};
