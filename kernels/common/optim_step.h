/* The arguments of optimizer steps, read from the call for the CPU's kernels and CUDA's;
 * optim_rules.h computes with them. STEP_FN is what a function that kernels call is declared
 * with. */
#ifndef GP_OPTIM_STEP_H
#define GP_OPTIM_STEP_H

#include <math.h>
#include <string.h>

#include "tensor/op.h"

/* What an algorithm needs; absent parts are 0. */
typedef struct gp_optim_step {
    double lr, sign, decay; /* sign: -1 to maximize; decay: that of the penalty */
    double keep;            /* AdamW: the factor that decay leaves of a parameter */
    double momentum, dampening, beta1, beta2, eps;
    double scale;          /* Adam: corrects the root of the second average */
    double rate, lr_decay; /* what lr is made of */
    bool first, nesterov;
    bool corrected; /* Adam: averages are corrected for their beginning at 0 */
} gp_optim_step;

/* Sets what depends on the step's number, n from 1. */
STEP_FN void step_number(gp_optim_step *s, double n) {
    s->lr = s->rate / (1 + (n - 1) * s->lr_decay);
    if (!s->corrected) return;
    s->lr = s->rate / (1 - pow(s->beta1, n));
    s->scale = 1 / sqrt(1 - pow(s->beta2, n));
}

/* The arguments of a step that are on the device: the number of steps before this one, the scale of
 * the gradients, and whether an element of them is infinite or NaN. NULL where not given. */
typedef struct on_device {
    int64_t *steps;
    const float *grad_scale, *found_inf;
} on_device;

/* False: nothing is to be written. Else counts the step and completes s. */
STEP_FN bool step_begin(gp_optim_step *s, const on_device *d) {
    if (d->found_inf && *d->found_inf != 0) return false;
    if (d->grad_scale) s->sign /= (double)*d->grad_scale;
    if (!d->steps) return true;
    int64_t n = ++*d->steps;
    step_number(s, (double)n);
    s->first = s->first || n == 1;
    return true;
}

/* What GradScaler.update does, as in PyTorch: a scale that would become infinite does not grow. */
STEP_FN void scale_update(float *scale, float *tracker, bool found, float growth, float backoff,
                          float interval) {
    if (found) {
        *scale *= backoff;
        *tracker = 0;
        return;
    }
    if ((*tracker += 1) < interval) return;
    float grown = *scale * growth;
    if (grown - grown == 0) *scale = grown;
    *tracker = 0;
}

/* steps: the argument of that name; grad_scale and found_inf follow. */
static inline on_device on_device_of(const gp_call *c, int steps) {
    on_device d;
    d.steps = gp_given(c, steps) ? (int64_t *)(void *)c->arg[steps].a->data : NULL;
    d.grad_scale = gp_given(c, steps + 1) ? (float *)(void *)c->arg[steps + 1].a->data : NULL;
    d.found_inf = gp_given(c, steps + 2) ? (float *)(void *)c->arg[steps + 2].a->data : NULL;
    return d;
}

/* Bit masks of the lists that each step writes, and the argument rounded, which counts as list
 * ROUNDED; steps, grad_scale and found_inf follow it. */
enum { SGD_WRITES = 5, ADAM_WRITES = 29, RMSPROP_WRITES = 29, ADAGRAD_WRITES = 5 };
enum { SGD_ROUNDED = 10, ADAM_ROUNDED = 13, RMSPROP_ROUNDED = 11, ADAGRAD_ROUNDED = 9 };
enum { ROUNDED = 5 };

/* Arguments: params, grads, momentum_buffers, lr, momentum, dampening, weight_decay, nesterov,
 * first, maximize, rounded, steps, grad_scale, found_inf. */
static inline gp_optim_step sgd_of(const gp_call *c) {
    gp_optim_step s;
    memset(&s, 0, sizeof s);
    s.lr = s.rate = c->arg[3].f, s.momentum = c->arg[4].f, s.dampening = c->arg[5].f;
    s.decay = c->arg[6].f, s.nesterov = c->arg[7].i, s.first = c->arg[8].i;
    s.sign = c->arg[9].i ? -1 : 1;
    return s;
}

/* Arguments: params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, step, lr, beta1, beta2, eps,
 * weight_decay, decoupled, maximize, rounded, steps, grad_scale, found_inf. */
static inline gp_optim_step adam_of(const gp_call *c) {
    double n = (double)c->arg[5].i, lr = c->arg[6].f, decay = c->arg[10].f;
    gp_optim_step s;
    memset(&s, 0, sizeof s);
    s.beta1 = c->arg[7].f, s.beta2 = c->arg[8].f, s.eps = c->arg[9].f, s.keep = 1;
    s.rate = lr, s.corrected = true;
    step_number(&s, n);
    if (c->arg[11].i) s.keep = 1 - lr * decay;
    else s.decay = decay;
    s.sign = c->arg[12].i ? -1 : 1;
    return s;
}

/* Arguments: params, grads, square_avgs, grad_avgs, momentum_buffers, lr, alpha, eps, weight_decay,
 * momentum, maximize, rounded, steps, grad_scale, found_inf. */
static inline gp_optim_step rmsprop_of(const gp_call *c) {
    gp_optim_step s;
    memset(&s, 0, sizeof s);
    s.lr = s.rate = c->arg[5].f, s.beta2 = c->arg[6].f, s.eps = c->arg[7].f, s.decay = c->arg[8].f;
    s.momentum = c->arg[9].f, s.sign = c->arg[10].i ? -1 : 1;
    return s;
}

/* Arguments: params, grads, state_sums, step, lr, lr_decay, eps, weight_decay, maximize,
 * rounded, steps, grad_scale, found_inf. */
static inline gp_optim_step adagrad_of(const gp_call *c) {
    gp_optim_step s;
    memset(&s, 0, sizeof s);
    s.eps = c->arg[6].f, s.decay = c->arg[7].f, s.sign = c->arg[8].i ? -1 : 1;
    s.rate = c->arg[4].f, s.lr_decay = c->arg[5].f;
    step_number(&s, (double)c->arg[3].i);
    return s;
}

#endif
