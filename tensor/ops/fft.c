/* Shape and dtype rules of Fourier transforms. Complex numbers are a last dim of size 2: real and
 * imaginary part. */
#include <string.h>

#include "tensor/infer.h"

static bool check_norm(const gp_call *c) {
    const char *s = c->arg[3].s;
    return !strcmp(s, "backward") || !strcmp(s, "ortho") || !strcmp(s, "forward") ||
           gp_fail("%s: norm '%.20s' (expected 'backward', 'ortho' or 'forward')", c->op->name, s);
}

/* Arguments: x, n (set from here on), dim (0-based from here on), norm. pairs: x is complex; half:
 * it is half a spectrum. */
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
                       pairs ? " beside that of the pairs" : "");
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
