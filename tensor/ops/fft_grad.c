/* Backward of Fourier transforms: they are linear, and the transpose of one is the other with the
 * scale of the opposite direction. */
#include <string.h>

#include "tensor/autograd/grad.h"

/* The norm by which the transform in the other direction has this one's scale. */
static const char *opposite(const gp_vjp *v) {
    const char *s = v->node->arg[3].s;
    return !strcmp(s, "backward") ? "forward" : !strcmp(s, "forward") ? "backward" : s;
}

/* t cut, or filled with zeros, along dim (0-based) to the size that the input had there. */
static gp_tensor *fitted(gp_vjp *v, gp_tensor *t, int dim) {
    const gp_shape *s = gp_in_shape(v, 0);
    int64_t more[2 * GP_MAX_DIM] = {0};
    if (!t || t->a.dim[dim] == s->dim[dim]) return t;
    int k = t->a.ndim - 1 - dim;
    more[2 * k + 1] = s->dim[dim] - t->a.dim[dim];
    return DO(pad, "tv", t, more, 2 * k + 2);
}

static gp_tensor *real_part(gp_vjp *v, gp_tensor *t) {
    return DO(select, "tii", t, (int64_t)-1, (int64_t)1);
}

/* Arguments: x, n, dim, norm, and whether x holds pairs. */
static bool transform(gp_vjp *v, const gp_op *back) {
    bool pairs = gp_int_arg(v, 4);
    int dim = gp_dim_arg(v, 2, gp_in_shape(v, 0)->ndim - pairs);
    gp_tensor *t = gp_do(v, back, "t-isb", v->g[0], (int64_t)dim + 1, opposite(v), 1);
    v->dx[0] = fitted(v, pairs ? t : real_part(v, t), dim);
    return !v->failed;
}
static bool fft(gp_vjp *v) { return transform(v, GP_OP(fft_ifft)); }
static bool ifft(gp_vjp *v) { return transform(v, GP_OP(fft_fft)); }
const gp_rule vjp_fft_fft = {fft, NULL}, vjp_fft_ifft = {ifft, NULL};

/* The half that was left out has no gradient. */
static bool rfft(gp_vjp *v) {
    int dim = gp_dim_arg(v, 2, gp_in_shape(v, 0)->ndim);
    int64_t n = gp_has(v, 1) ? gp_int_arg(v, 1) : gp_in_shape(v, 0)->dim[dim];
    gp_tensor *t = DO(fft_ifft, "tiisb", v->g[0], n, (int64_t)dim + 1, opposite(v), 1);
    v->dx[0] = fitted(v, real_part(v, t), dim);
    return !v->failed;
}
const gp_rule vjp_fft_rfft = {rfft, NULL};

/* Each but the first (and the middle one of an even number) stands for its conjugate too. */
static bool irfft(gp_vjp *v) {
    int ndim = v->g[0]->a.ndim, dim = gp_dim_arg(v, 2, ndim), k = ndim - dim;
    int64_t n = v->g[0]->a.dim[dim], pairs = (n - 1) / 2, ones[2 * GP_MAX_DIM] = {0};
    gp_tensor *t = DO(fft_rfft, "t-is", v->g[0], (int64_t)dim + 1, opposite(v));
    gp_shape s = {.ndim = ndim + 1};
    for (int i = 0; i <= ndim; i++) s.dim[i] = i == dim ? pairs : 1;
    ones[2 * k] = 1, ones[2 * k + 1] = n / 2 - pairs;
    gp_tensor *times = DO(fill, "tn", gp_zeros_shaped(v, &s, 0), 2.0);
    times = DO(pad, "tvsn", times, ones, 2 * k + 2, "constant", 1.0);
    v->dx[0] = fitted(v, DO(mul, "tt", t, times), dim);
    return !v->failed;
}
const gp_rule vjp_fft_irfft = {irfft, NULL};
