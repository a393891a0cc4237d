/* Fourier transforms: shape rules and gradients. Complex numbers have a last dim of size 2: real
 * and imaginary part. */
#include <string.h>

#include "tensor/autograd/grad.h"
#include "tensor/infer.h"

static bool check_norm(const gp_call *c) {
    const char *s = c->arg[3].s;
    return !strcmp(s, "backward") || !strcmp(s, "ortho") || !strcmp(s, "forward") ||
           gp_fail("%s: norm '%.20s' (expected 'backward', 'ortho' or 'forward')", c->op->name, s);
}

/* Reads x, n, dim, norm; then sets n, and dim 0-based. pairs: x is complex; half: it is half a
 * spectrum. */
static bool read_call(gp_call *c, gp_meta *m, bool pairs, bool half) {
    const gp_tensor *x = c->arg[0].t;
    gp_dtype dt = (gp_dtype)x->a.dtype;
    char text[160];
    int dim;
    if (!gp_is_float(dt)) dt = gp_default_dtype == GP_f64 ? GP_f64 : GP_f32;
    if (!gp_infer_check(c, "x", dt, GP_BIT(GP_f32) | GP_BIT(GP_f64)) || !check_norm(c))
        return false;
    if (pairs && (!x->a.ndim || x->a.dim[x->a.ndim - 1] != 2))
        return gp_fail(
            "%s: argument 'x' is %s (expected complex numbers: a last dim of size 2, real "
            "and imaginary part)",
            c->op->name, gp_tensor_text(x, text, sizeof text));
    gp_meta_like(m, 0, x, dt);
    gp_shape *s = &m->out[0].shape;
    s->ndim -= pairs;
    if (!s->ndim)
        return gp_fail("%s: argument 'x' is %s (expected at least one dim%s)", c->op->name,
                       gp_tensor_text(x, text, sizeof text),
                       pairs ? " besides that of the pairs" : "");
    if (!gp_dim_wrap(c->op->name, c->arg[2].i, s->ndim, &dim)) return false;
    int64_t n = gp_given(c, 1) ? c->arg[1].i : half ? 2 * (s->dim[dim] - 1) : s->dim[dim];
    if (n < 1 || n > (int64_t)1 << 40)
        return gp_fail("%s: %lld points to transform (expected at least 1)", c->op->name,
                       (long long)n);
    c->arg[1] = (gp_value){.kind = GP_INT, .i = n};
    c->arg[2].i = dim;
    s->dim[dim] = n;
    return true;
}

static bool add_pairs(const gp_call *c, gp_shape *s) {
    if (s->ndim == GP_MAX_DIM)
        return gp_fail("%s: the result has more than %d dims", c->op->name, GP_MAX_DIM);
    s->dim[s->ndim++] = 2;
    return true;
}

bool infer_fft_fft(gp_call *c, gp_meta *m) {
    return read_call(c, m, c->arg[4].i, false) && add_pairs(c, &m->out[0].shape);
}
bool infer_fft_ifft(gp_call *c, gp_meta *m) { return infer_fft_fft(c, m); }

bool infer_fft_rfft(gp_call *c, gp_meta *m) {
    if (!read_call(c, m, false, false)) return false;
    gp_shape *s = &m->out[0].shape;
    s->dim[c->arg[2].i] = c->arg[1].i / 2 + 1;
    return add_pairs(c, s);
}

bool infer_fft_irfft(gp_call *c, gp_meta *m) { return read_call(c, m, true, true); }

/* ---- gradients ---- */

/* The transforms are linear; the transpose of one is the inverse with the scale of the opposite
 * direction. */

/* The norm with which the opposite transform has this one's scale. */
static const char *opposite(const gp_vjp *v) {
    const char *s = v->node->arg[3].s;
    return !strcmp(s, "backward") ? "forward" : !strcmp(s, "forward") ? "backward" : s;
}

/* t cut, or padded with zeros, along dim (0-based) to the size that the input had there. */
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

/* The half that is not returned has no gradient. */
static bool rfft(gp_vjp *v) {
    int dim = gp_dim_arg(v, 2, gp_in_shape(v, 0)->ndim);
    int64_t n = gp_has(v, 1) ? gp_int_arg(v, 1) : gp_in_shape(v, 0)->dim[dim];
    gp_tensor *t = DO(fft_ifft, "tiisb", v->g[0], n, (int64_t)dim + 1, opposite(v), 1);
    v->dx[0] = fitted(v, real_part(v, t), dim);
    return !v->failed;
}
const gp_rule vjp_fft_rfft = {rfft, NULL};

/* Each but the first (and the middle one of an even number) also stands for its conjugate. */
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
