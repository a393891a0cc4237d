/* Backward of views: gradients go back to where the elements came from. */
#include <string.h>

#include "tensor/autograd/anomaly.h"
#include "tensor/autograd/checks.h"
#include "tensor/autograd/grad.h"
#include "tensor/overlap.h"

/* Same elements in the same order: the gradient in the input's shape. */
static bool reshaped(gp_vjp *v) {
    return (v->dx[0] = gp_reshape(v, v->g[0], gp_in_shape(v, 0))) != NULL;
}
const gp_rule vjp_view = {reshaped, NULL}, vjp_reshape = {reshaped, NULL},
              vjp_flatten = {reshaped, NULL}, vjp_unflatten = {reshaped, NULL},
              vjp_squeeze = {reshaped, NULL}, vjp_unsqueeze = {reshaped, NULL};

/* Broadcasting, and ops that change no element: the caller sums and converts. */
static bool same(gp_vjp *v) { return (v->dx[0] = v->g[0]) != NULL; }
const gp_rule vjp_expand = {same, NULL}, vjp_broadcast_to = {same, NULL},
              vjp_contiguous = {same, NULL};

static bool to(gp_vjp *v) {
    gp_device *dev = v->node->in[0].dev;
    if (v->g[0]->storage->dev == dev) return same(v);
    gp_call c;
    gp_call_begin(&c, GP_OP(to));
    gp_call_tensor(&c, v->g[0]);
    c.arg[c.nargs++] = (gp_value){.kind = GP_DEVICE, .dev = dev};
    return (v->dx[0] = gp_keep(v, gp_call_one(&c))) != NULL;
}
const gp_rule vjp_to = {to, NULL};

static bool transposed(gp_vjp *v) {
    return (v->dx[0] = DO(transpose, "tii", v->g[0], gp_int_arg(v, 1), gp_int_arg(v, 2))) != NULL;
}
const gp_rule vjp_transpose = {transposed, NULL};

static bool t(gp_vjp *v) { return (v->dx[0] = DO(t, "t", v->g[0])) != NULL; }
const gp_rule vjp_t = {t, NULL};

/* By the inverse permutation. */
static bool permuted(gp_vjp *v) {
    int n, dim;
    const int64_t *order = gp_ints_arg(v, 1, &n);
    int64_t back[GP_MAX_DIM];
    for (int i = 0; i < n; i++) {
        if (!gp_dim_wrap("permute", order[i], n, &dim)) return false;
        back[dim] = i + 1;
    }
    return (v->dx[0] = DO(permute, "tv", v->g[0], back, n)) != NULL;
}
const gp_rule vjp_permute = {permuted, NULL};

static bool moved(gp_vjp *v) {
    int n, m;
    const int64_t *from = gp_ints_arg(v, 1, &n), *to = gp_ints_arg(v, 2, &m);
    return (v->dx[0] = DO(movedim, "tvv", v->g[0], to, m, from, n)) != NULL;
}
const gp_rule vjp_movedim = {moved, NULL};

/* The forward's view applied to another tensor of the input's shape. */
static gp_tensor *replay(gp_vjp *v, gp_tensor *x) {
    const gp_node *n = v->node;
    gp_call c;
    gp_call_begin(&c, n->op);
    c.nargs = n->nargs, c.nints = n->nints;
    memcpy(c.arg, n->arg, (size_t)n->nargs * sizeof *c.arg);
    memcpy(c.ints, n->ints, (size_t)n->nints * sizeof *c.ints);
    c.arg[0].t = x;
    return x ? gp_keep(v, gp_call_one(&c)) : NULL;
}

/* The accumulated gradient of the input, if nobody else holds it and it is not to be
 * differentiated: then a part is added to it in place, and the parts of one tensor share one. */
static gp_tensor *own_sum(gp_vjp *v) {
    const gp_input *in = &v->node->in[0];
    gp_tensor *sum = in->node ? in->node->out[in->output].g : in->leaf ? in->leaf->pending : NULL;
    bool ours = gp_no_grad && !gp_anomaly && sum && sum->refs == 1 &&
                sum->storage->refs - gp_pending_holds(sum->storage) == 1;
    return ours && sum->a.contiguous && sum->a.dtype == in->dtype ? sum : NULL;
}

/* A part of the elements: zeros with the gradient at that part. */
static bool part(gp_vjp *v) {
    gp_tensor *sum = own_sum(v), *hole = sum ? replay(v, sum) : NULL;
    if (sum) return gp_do_in(v, hole, GP_OP(add), "tt", hole, v->g[0]) != NULL;
    v->dx[0] = gp_zeros_like_input(v, 0);
    return gp_do_in(v, replay(v, v->dx[0]), GP_OP(copy), "t", v->g[0]) != NULL;
}
const gp_rule vjp_narrow = {part, NULL}, vjp_select = {part, NULL}, vjp_slice = {part, NULL},
              vjp_diagonal = {part, NULL};

/* Arguments: x, dim, size, step. Overlapping windows: the elements of each are added at the indices
 * that the same windows of 1, 2 … hold. */
static bool unfold(gp_vjp *v) {
    const gp_shape *s = gp_in_shape(v, 0);
    int64_t size = gp_int_arg(v, 2), step = gp_int_arg(v, 3), all = -1;
    if (size <= step || !s->ndim) return part(v);
    int dim = gp_dim_arg(v, 1, s->ndim);
    gp_tensor *from = gp_count_to(v, s->dim[dim], v->node->in[0].dev);
    from = DO(reshape, "tv", DO(unfold, "tiii", from, (int64_t)1, size, step), &all, 1);
    gp_tensor *g = DO(movedim, "tvv", v->g[0], &all, 1, &(int64_t){dim + 2}, 1);
    g = DO(flatten, "tii", g, (int64_t)dim + 1, (int64_t)dim + 2);
    v->dx[0] = DO(index_add, "tittn", gp_zeros_like_input(v, 0), (int64_t)dim + 1, from, g, 1.0);
    return !v->failed;
}
const gp_rule vjp_unfold = {unfold, NULL};

/* A zeroed base of as many elements as x, in x's memory order, viewed with the geometry of node
 * n. */
static gp_tensor *under_geometry(gp_vjp *v, gp_tensor *base) {
    int n, m;
    const int64_t *dim = gp_ints_arg(v, 1, &n), *stride = gp_ints_arg(v, 2, &m);
    return DO(as_strided, "tvvi", base, dim, n, stride, m, gp_int_arg(v, 3));
}

/* Zeros like input 0 with g added at its elements, several of which may share memory. */
static gp_tensor *added(gp_vjp *v) {
    const gp_shape *s = gp_in_shape(v, 0);
    gp_shape line = {.ndim = 1, .dim = {1}};
    for (int d = 0; d < s->ndim; d++) line.dim[0] *= s->dim[d];
    gp_tensor *positions = under_geometry(v, gp_count_to(v, line.dim[0], v->node->in[0].dev));
    gp_tensor *sums =
        DO(index_put, "tltb-", gp_zeros_shaped(v, &line, 0), &positions, 1, v->g[0], 1);
    return gp_reshape(v, sums, s);
}

static bool as_strided(gp_vjp *v) {
    if (!v->node->in[0].contiguous)
        return gp_fail("backward: as_strided has a derivative only of a tensor without gaps whose "
                       "dims are in order; use "
                       ":contiguous() before it");
    gp_tensor *x = gp_zeros_like_input(v, 0), *part = under_geometry(v, x);
    if (part && gp_array_self_overlaps(&part->a)) return (v->dx[0] = added(v)) != NULL;
    v->dx[0] = x;
    return gp_do_in(v, part, GP_OP(copy), "t", v->g[0]) != NULL;
}
const gp_rule vjp_as_strided = {as_strided, NULL};

/* Inputs: the base as it was, the part that was written. The old values of that part have no
 * gradient. */
static bool slice_write(gp_vjp *v) {
    gp_tensor *rest = DO(copy, "t", v->g[0]), *hole = under_geometry(v, rest);
    if (v->need[1]) v->dx[1] = DO(copy, "t", hole);
    gp_do_in(v, hole, GP_OP(fill), "tn", hole, 0.0);
    v->dx[0] = rest;
    return !v->failed;
}
const gp_rule gp_rule_slice_write = {slice_write, NULL};
