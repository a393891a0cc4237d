/* interpolate and its gradient: shape rules, and the gradients of both. */
#include <math.h>
#include <string.h>

#include "tensor/autograd/grad.h"
#include "tensor/infer.h"
#include "tensor/ops/conv/conv.h"

enum { TEXT = 160 };

static bool read_mode(const gp_call *c, gp_resize *r) {
    static const char *const linear[] = {"linear", "bilinear", "trilinear"};
    const char *mode = c->arg[3].s;
    r->align = c->arg[4].i;
    r->exact = !strcmp(mode, "nearest-exact");
    r->linear = !strcmp(mode, linear[r->rank - 1]);
    if (r->linear) return true;
    if (r->exact || !strcmp(mode, "nearest"))
        return !r->align || gp_fail("%s: align_corners goes with mode '%s', not with '%s'",
                                    c->op->name, linear[r->rank - 1], mode);
    return gp_fail("%s: mode '%.20s' on images of %d spatial dims (expected 'nearest', "
                   "'nearest-exact' or '%s')",
                   c->op->name, mode, r->rank, linear[r->rank - 1]);
}

/* Sizes from argument 1 or from scale_factor. */
static bool read_size(const gp_call *c, gp_resize *r) {
    bool size = gp_given(c, 1) && c->arg[1].n, scale = gp_given(c, 2);
    if (size == scale)
        return gp_fail("%s: %s (expected one of the two)", c->op->name,
                       size ? "size and scale_factor are both given"
                            : "neither size nor scale_factor is given");
    if (size) return gp_spatial_ints(c, 1, "size", r->rank, 1, 1, r->out);
    for (int d = GP_SPATIAL - r->rank; d < GP_SPATIAL; d++) {
        double n = floor((double)r->in[d] * c->arg[2].f);
        if (!(n >= 1 && n < INT32_MAX))
            return gp_fail("%s: scale_factor %g makes %g of %lld elements", c->op->name,
                           c->arg[2].f, n, (long long)r->in[d]);
        r->out[d] = (int64_t)n;
    }
    return true;
}

/* As in PyTorch, a given scale_factor is used as it is, though the size was rounded. */
static double scale_of(const gp_call *c, const gp_resize *r, int d) {
    if (r->align) return r->out[d] > 1 ? (double)(r->in[d] - 1) / (double)(r->out[d] - 1) : 0;
    if (gp_given(c, 2) && d >= GP_SPATIAL - r->rank) return 1 / c->arg[2].f;
    return (double)r->in[d] / (double)r->out[d];
}

bool gp_resize_read(const gp_call *c, const gp_shape *x, const int64_t *out, gp_resize *r) {
    char text[TEXT];
    *r = (gp_resize){.rank = x->ndim - 2};
    if (x->ndim < 3 || x->ndim > 5)
        return gp_fail("%s: the image is %s (expected images x channels x 1 to 3 spatial dims)",
                       c->op->name, gp_shape_text(x, text, sizeof text));
    r->planes = x->dim[0] * x->dim[1];
    for (int d = 0; d < GP_SPATIAL; d++) {
        int at = d - (GP_SPATIAL - r->rank);
        r->in[d] = at < 0 ? 1 : x->dim[2 + at];
        r->out[d] = at < 0 || !out ? 1 : out[at];
        if (r->in[d] < 1 || r->out[d] < 1)
            return gp_fail("%s: the image is %s: nothing to interpolate", c->op->name,
                           gp_shape_text(x, text, sizeof text));
    }
    if (!read_mode(c, r) || (!out && !read_size(c, r))) return false;
    for (int d = 0; d < GP_SPATIAL; d++) r->scale[d] = scale_of(c, r, d);
    return true;
}

/* Arguments: x, size, scale_factor, mode, align_corners. Bytes can be copied but not blended. */
bool infer_interpolate(gp_call *c, gp_meta *m) {
    gp_tensor *t = c->arg[0].t;
    gp_shape x = gp_tensor_shape(t);
    gp_dtype dt = (gp_dtype)t->a.dtype;
    gp_resize r;
    bool bytes = dt == GP_u8 && !strncmp(c->arg[3].s, "nearest", 7);
    if ((!bytes && !gp_infer_check(c, "x", dt, GP_SET_FLOAT)) || !gp_resize_read(c, &x, NULL, &r))
        return false;
    gp_meta_like(m, 0, t, dt);
    for (int d = 0; d < r.rank; d++) m->out[0].shape.dim[2 + d] = r.out[GP_SPATIAL - r.rank + d];
    return true;
}

/* Arguments: grad, size (the image's shape), scale_factor, mode, align_corners. */
bool infer_interpolate_grad(gp_call *c, gp_meta *m) {
    gp_tensor *t = c->arg[0].t;
    gp_shape g = gp_tensor_shape(t), size;
    gp_resize r;
    char a[TEXT], b[TEXT];
    if (!gp_infer_check(c, "grad", (gp_dtype)t->a.dtype, GP_SET_FLOAT) ||
        !gp_arg_shape(c, 1, &size))
        return false;
    if (g.ndim < 3 || g.ndim != size.ndim || g.dim[0] != size.dim[0] || g.dim[1] != size.dim[1])
        return gp_fail("%s: argument 'grad' is %s (expected the images and channels of %s)",
                       c->op->name, gp_tensor_text(t, a, sizeof a),
                       gp_shape_text(&size, b, sizeof b));
    if (!gp_resize_read(c, &size, g.dim + 2, &r)) return false;
    gp_meta_like(m, 0, t, (gp_dtype)t->a.dtype);
    m->out[0].shape = size;
    return true;
}

/* ---- gradients ---- */

/* Arguments: x, size, scale_factor, mode, align_corners. */
static bool interpolate(gp_vjp *v) {
    const gp_shape *s = gp_in_shape(v, 0);
    v->dx[0] = DO(interpolate_grad, "tvaaa", v->g[0], s->dim, s->ndim, 2, 3, 4);
    return !v->failed;
}
const gp_rule vjp_interpolate = {interpolate, NULL};

/* Arguments: grad, size, scale_factor, mode, align_corners. */
static bool interpolate_grad(gp_vjp *v) {
    int rank = gp_in_shape(v, 0)->ndim - 2;
    v->dx[0] = gp_has(v, 2)
                   ? DO(interpolate, "t-aaa", v->g[0], 2, 3, 4)
                   : DO(interpolate, "tv-aa", v->g[0], gp_in_shape(v, 0)->dim + 2, rank, 3, 4);
    return !v->failed;
}
const gp_rule vjp_interpolate_grad = {interpolate_grad, NULL};
