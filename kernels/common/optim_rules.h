/* The arithmetic of optimizer steps on a run of n elements, for one compute type: a
 * template for kernels/common/floats.inc. RULE_FN is what a function is declared with. x[0] are
 * parameters, x[1] gradients, the others state; absent ones are NULL. Sources: torch.optim's
 * documentation of each algorithm. */

/* The gradient of the loss plus that of the weight decay's penalty; steps go against it. */
RULE_FN inline T FN(slope)(T g, T p, T sign, T decay) {
    return decay != 0 ? sign * g + decay * p : sign * g;
}

RULE_FN void FN(sgd)(const void *ctx, T *const *x, int64_t n) {
    const gp_optim_step *s = (const gp_optim_step *)ctx;
    T *__restrict__ p = x[0], *__restrict__ b = x[2];
    const T *__restrict__ g = x[1];
    T lr = (T)s->lr, sign = (T)s->sign, decay = (T)s->decay, mu = (T)s->momentum,
      keep = (T)(1 - s->dampening);
    bool first = s->first, nesterov = s->nesterov;
    if (!b) {
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) p[i] -=
            lr * FN(slope)(g[i], p[i], sign, decay);
        return;
    }
    _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {
        T d = FN(slope)(g[i], p[i], sign, decay), m = first ? d : mu * b[i] + keep * d;
        b[i] = m;
        p[i] -= lr * (nesterov ? d + mu * m : m);
    }
}

RULE_FN void FN(adam)(const void *ctx, T *const *x, int64_t n) {
    const gp_optim_step *s = (const gp_optim_step *)ctx;
    T *__restrict__ p = x[0], *__restrict__ m = x[2], *__restrict__ v = x[3],
                    *__restrict__ most = x[4];
    const T *__restrict__ g = x[1];
    T lr = (T)s->lr, sign = (T)s->sign, decay = (T)s->decay, keep = (T)s->keep, b1 = (T)s->beta1,
      c1 = (T)(1 - s->beta1), b2 = (T)s->beta2, c2 = (T)(1 - s->beta2), scale = (T)s->scale,
      eps = (T)s->eps;
    if (most) {
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {
            T d = FN(slope)(g[i], p[i], sign, decay), a = b2 * v[i] + c2 * d * d;
            m[i] = b1 * m[i] + c1 * d;
            v[i] = a;
            most[i] = a = most[i] > a ? most[i] : a;
            p[i] = keep * p[i] - lr * m[i] / (sqrt(a) * scale + eps);
        }
        return;
    }
    _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {
        T d = FN(slope)(g[i], p[i], sign, decay), a = b2 * v[i] + c2 * d * d;
        m[i] = b1 * m[i] + c1 * d;
        v[i] = a;
        p[i] = keep * p[i] - lr * m[i] / (sqrt(a) * scale + eps);
    }
}

RULE_FN void FN(rmsprop)(const void *ctx, T *const *x, int64_t n) {
    const gp_optim_step *s = (const gp_optim_step *)ctx;
    T *__restrict__ p = x[0], *__restrict__ v = x[2], *__restrict__ mean = x[3],
                    *__restrict__ b = x[4];
    const T *__restrict__ g = x[1];
    T lr = (T)s->lr, sign = (T)s->sign, decay = (T)s->decay, alpha = (T)s->beta2,
      rest = (T)(1 - s->beta2), eps = (T)s->eps, mu = (T)s->momentum;
    bool centered = mean, momentum = b;
    for (int64_t i = 0; i < n; i++) {
        T d = FN(slope)(g[i], p[i], sign, decay), a = alpha * v[i] + rest * d * d;
        v[i] = a;
        if (centered) {
            T w = mean[i] = alpha * mean[i] + rest * d;
            a -= w * w;
        }
        d /= sqrt(a) + eps;
        if (momentum) d = b[i] = mu * b[i] + d;
        p[i] -= lr * d;
    }
}

RULE_FN void FN(adagrad)(const void *ctx, T *const *x, int64_t n) {
    const gp_optim_step *s = (const gp_optim_step *)ctx;
    T *__restrict__ p = x[0], *__restrict__ sum = x[2];
    const T *__restrict__ g = x[1];
    T lr = (T)s->lr, sign = (T)s->sign, decay = (T)s->decay, eps = (T)s->eps;
    _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {
        T d = FN(slope)(g[i], p[i], sign, decay);
        sum[i] += d * d;
        p[i] -= lr * d / (sqrt(sum[i]) + eps);
    }
}

RULE_FN void FN(scale)(const void *ctx, T *const *x, int64_t n) {
    T *p = x[0], k = (T) * (const double *)ctx;
    _Pragma("omp simd") for (int64_t i = 0; i < n; i++) p[i] *= k;
}

RULE_FN void FN(limit)(const void *ctx, T *const *x, int64_t n) {
    T *p = x[0], most = (T) * (const double *)ctx;
    _Pragma("omp simd") for (int64_t i = 0; i < n; i++) p[i] = p[i] > most    ? most
                                                               : p[i] < -most ? -most
                                                                              : p[i];
}
