/* The arguments of optimizer steps, read from the call for the CPU's kernels and CUDA's;
 * optim_rules.h computes with them. */
#ifndef GP_OPTIM_STEP_H
#define GP_OPTIM_STEP_H

#include <math.h>
#include <string.h>

#include "tensor/op.h"

/* What an algorithm needs; absent parts are 0. */
typedef struct step {
    double lr, sign, decay; /* sign: -1 to maximize; decay: that of the penalty */
    double keep;            /* AdamW: the factor that decay leaves of a parameter */
    double momentum, dampening, beta1, beta2, eps;
    double scale; /* Adam: corrects the root of the second average */
    bool first, nesterov;
} step;

/* Bit masks of the lists that each step writes. */
enum { SGD_WRITES = 5, ADAM_WRITES = 29, RMSPROP_WRITES = 29, ADAGRAD_WRITES = 5 };

/* Arguments: params, grads, momentum_buffers, lr, momentum, dampening, weight_decay, nesterov,
 * first, maximize. */
static inline step sgd_of(const gp_call *c) {
    step s;
    memset(&s, 0, sizeof s);
    s.lr = c->arg[3].f, s.momentum = c->arg[4].f, s.dampening = c->arg[5].f;
    s.decay = c->arg[6].f, s.nesterov = c->arg[7].i, s.first = c->arg[8].i;
    s.sign = c->arg[9].i ? -1 : 1;
    return s;
}

/* Arguments: params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, step, lr, beta1, beta2, eps,
 * weight_decay, decoupled, maximize. */
static inline step adam_of(const gp_call *c) {
    double n = (double)c->arg[5].i, lr = c->arg[6].f, decay = c->arg[10].f;
    step s;
    memset(&s, 0, sizeof s);
    s.beta1 = c->arg[7].f, s.beta2 = c->arg[8].f, s.eps = c->arg[9].f, s.keep = 1;
    s.lr = lr / (1 - pow(s.beta1, n));
    s.scale = 1 / sqrt(1 - pow(s.beta2, n));
    if (c->arg[11].i) s.keep = 1 - lr * decay;
    else s.decay = decay;
    s.sign = c->arg[12].i ? -1 : 1;
    return s;
}

/* Arguments: params, grads, square_avgs, grad_avgs, momentum_buffers, lr, alpha, eps, weight_decay,
 * momentum, maximize. */
static inline step rmsprop_of(const gp_call *c) {
    step s;
    memset(&s, 0, sizeof s);
    s.lr = c->arg[5].f, s.beta2 = c->arg[6].f, s.eps = c->arg[7].f, s.decay = c->arg[8].f;
    s.momentum = c->arg[9].f, s.sign = c->arg[10].i ? -1 : 1;
    return s;
}

/* Arguments: params, grads, state_sums, step, lr, lr_decay, eps, weight_decay, maximize. */
static inline step adagrad_of(const gp_call *c) {
    step s;
    memset(&s, 0, sizeof s);
    s.eps = c->arg[6].f, s.decay = c->arg[7].f, s.sign = c->arg[8].i ? -1 : 1;
    s.lr = c->arg[4].f / (1 + (double)(c->arg[3].i - 1) * c->arg[5].f);
    return s;
}

#endif
