/* Ops that choose elements by a mask, and nonzero: masked_select, masked_put, masked_scatter,
 * nonzero; shape rules and gradients. */
#include "tensor/autograd/grad.h"
#include "tensor/infer.h"

/* Runs count_nonzero on x and reads its result: the wait for the shape. */
static bool count(gp_tensor *x, const char *what, int64_t *n) {
    gp_call c;
    gp_scalar s = {.i = 0};
    gp_call_begin(&c, GP_OP(count_nonzero));
    gp_call_tensor(&c, x);
    gp_tensor *t = gp_call_one(&c);
    bool ok = t && gp_item(t, &s, GP_WHY_shape, what);
    gp_tensor_unref(t);
    *n = s.i;
    return ok;
}

/* t with dims of size 1 where it is expanded: each element once. NULL with a message. */
static gp_tensor *unexpanded(gp_tensor *t) {
    gp_shape s = gp_tensor_shape(t);
    for (int d = 0; d < s.ndim; d++)
        if (t->a.stride[d] == 0 && s.dim[d] > 1) s.dim[d] = 1;
    return gp_tensor_view(t, &s, t->a.stride, 0);
}

/* Each true element of the mask selects as many elements as broadcasting repeats it. */
bool infer_masked_select(gp_call *c, gp_meta *m) {
    gp_shape s;
    int64_t n, all;
    gp_tensor *mask = c->arg[1].t;
    if (!gp_infer_mask(c, 1, "mask") || !(m->dev = gp_infer_device(c)) ||
        !gp_infer_broadcast(c, 0, 2, &s))
        return false;
    if (!gp_shape_numel(&s, &all) || !(mask = unexpanded(mask))) return false;
    bool ok = count(mask, "masked_select", &n);
    n = mask->a.numel ? n * (all / mask->a.numel) : 0;
    gp_tensor_unref(mask);
    if (!ok) return false;
    m->n = 1;
    m->out[0].dtype = (gp_dtype)c->arg[0].t->a.dtype;
    m->out[0].shape = (gp_shape){.ndim = 1, .dim = {n}};
    return true;
}

static bool bad_values(const gp_tensor *x, const gp_tensor *mask, const gp_tensor *v) {
    char a[200], b[200], d[200];
    return gp_fail("masked_put: values %s do not fit %s under the mask %s (expected one per true "
                   "element, times the dims after the mask's)",
                   gp_tensor_text(v, a, sizeof a), gp_tensor_text(x, b, sizeof b),
                   gp_tensor_text(mask, d, sizeof d));
}

/* The mask covers x's first dims; values are (true elements, the rest of x's dims), or broadcast to
 * that. The kernel checks their number. */
bool infer_masked_put(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t, *mask = c->arg[1].t, *v = c->arg[2].t;
    if (!gp_infer_mask(c, 1, "mask") || !gp_infer_device(c)) return false;
    if (mask->a.ndim > x->a.ndim) return bad_values(x, mask, v);
    for (int i = 0; i < mask->a.ndim; i++)
        if (mask->a.dim[i] != x->a.dim[i]) return bad_values(x, mask, v);
    int rest = x->a.ndim - mask->a.ndim;
    if (v->a.ndim > rest + 1) return bad_values(x, mask, v);
    for (int i = 1; i <= rest && i <= v->a.ndim; i++) {
        int64_t d = v->a.dim[v->a.ndim - i];
        if (d != 1 && d != x->a.dim[x->a.ndim - i]) return bad_values(x, mask, v);
    }
    return gp_infer_values(c, 2, (gp_dtype)x->a.dtype, 0) &&
           (gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype), true);
}

/* x and mask are broadcast; the kernel checks the number of elements taken from source. */
bool infer_masked_scatter(gp_call *c, gp_meta *m) {
    m->n = 1;
    m->out[0].dtype = (gp_dtype)c->arg[0].t->a.dtype;
    if (!gp_infer_mask(c, 1, "mask") || !(m->dev = gp_infer_device(c)) ||
        !gp_infer_broadcast(c, 0, 2, &m->out[0].shape) ||
        !gp_infer_values(c, 2, m->out[0].dtype, 0))
        return false;
    if (!c->ntmp && !(c->tmp[0] = gp_contiguous(c->arg[2].t))) return false;
    c->ntmp = 1;
    return true;
}

bool infer_nonzero(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    int64_t n;
    if (!count(x, "nonzero", &n)) return false;
    gp_meta_like(m, 0, x, GP_i64);
    m->out[0].shape = (gp_shape){.ndim = 2, .dim = {n, x->a.ndim}};
    return true;
}

/* ---- gradients ---- */

/* Zeros of the broadcast shape of x and mask with g where the mask is true. */
static bool masked_select(gp_vjp *v) {
    gp_shape s = *gp_in_shape(v, 0);
    if (!gp_shape_broadcast("masked_select", &s, gp_in_shape(v, 1))) return false;
    gp_tensor *z = DO(contiguous, "t", gp_expand(v, gp_zeros_like_input(v, 0), &s));
    gp_tensor *mask = gp_expand(v, v->x[1], &s);
    v->dx[0] = gp_no_grad ? gp_do_in(v, z, GP_OP(masked_scatter), "ttt", z, mask, v->g[0])
                          : DO(masked_scatter, "ttt", z, mask, v->g[0]);
    return !v->failed;
}
const gp_rule vjp_masked_select = {masked_select, "1"};

/* The mask covers the first dims; values are (true elements, the other dims), or broadcast to
 * that. */
static bool masked_put(gp_vjp *v) {
    const gp_shape *s = gp_in_shape(v, 0);
    gp_shape under = gp_tensor_shape(v->x[1]), parts = {.ndim = 1, .dim = {-1}};
    for (int d = under.ndim; d < s->ndim; d++)
        under.dim[under.ndim++] = 1, parts.dim[parts.ndim++] = s->dim[d];
    gp_tensor *mask = gp_reshape(v, v->x[1], &under);
    if (v->need[0]) v->dx[0] = DO(masked_fill, "ttn", v->g[0], mask, 0.0);
    if (v->need[2] && v->g[0]->a.numel == 0) {
        v->dx[2] = gp_zeros_like_input(v, 2);
    } else if (v->need[2]) {
        gp_tensor *taken = DO(masked_select, "tt", v->g[0], mask);
        v->dx[2] = gp_reshape(v, taken, &parts);
    }
    return !v->failed;
}
const gp_rule vjp_masked_put = {masked_put, "1"};

static bool masked_scatter(gp_vjp *v) {
    gp_tensor *mask = v->x[1];
    if (v->need[0]) v->dx[0] = DO(masked_fill, "ttn", v->g[0], mask, 0.0);
    if (!v->need[2]) return !v->failed;
    const gp_shape *s = gp_in_shape(v, 2);
    gp_shape row = {.ndim = 1, .dim = {1}};
    for (int d = 0; d < s->ndim; d++) row.dim[0] *= s->dim[d];
    gp_tensor *all = gp_zeros_shaped(v, &row, 2), *taken = DO(masked_select, "tt", v->g[0], mask);
    int64_t n = taken ? taken->a.numel : 0;
    gp_do_in(v, DO(narrow, "tiii", all, (int64_t)1, (int64_t)1, n), GP_OP(copy), "t", taken);
    return (v->dx[2] = gp_reshape(v, all, s)) != NULL;
}
const gp_rule vjp_masked_scatter = {masked_scatter, "1"};
