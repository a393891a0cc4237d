/* Collectives among ranks: shape rules and gradients. Sources: torch.distributed for what each
 * does, torch.distributed.nn.functional for the gradients. */
#include "tensor/ops/dist.h"

#include <string.h>

#include "tensor/autograd/grad.h"
#include "tensor/dist/dist.h"
#include "tensor/infer.h"

const gp_rank_op *gp_rank_op_named(const char *op, const char *name) {
    static const gp_rank_op all[] = {
        {"sum", GP_WIRE_SUM, false, true, GP_SET_INT | GP_SET_FLOAT},
        {"mean", GP_WIRE_SUM, true, true, GP_SET_FLOAT},
        {"prod", GP_WIRE_PROD, false, false, GP_SET_INT | GP_SET_FLOAT},
        {"min", GP_WIRE_MIN, false, false, GP_SET_BOOL | GP_SET_INT | GP_SET_FLOAT},
        {"max", GP_WIRE_MAX, false, false, GP_SET_BOOL | GP_SET_INT | GP_SET_FLOAT}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].name, name)) return &all[i];
    return gp_fail_null("%s: op '%.20s': expected sum, mean, prod, min or max", op, name);
}

/* ---- shapes ---- */

static bool like(gp_call *c, gp_meta *m) {
    gp_meta_like(m, 0, c->arg[1].t, (gp_dtype)c->arg[1].t->a.dtype);
    return true;
}

static bool reduces(gp_call *c, const gp_meta *m) {
    const gp_rank_op *r = gp_rank_op_named(c->name, c->arg[2].s);
    if (!r) return false;
    if (r->dtypes & GP_BIT(m->out[0].dtype)) return true;
    return gp_fail("%s: argument 'x': a %s of %s tensors is not defined (expected %s)", c->name,
                   r->name, gp_dtype_name(m->out[0].dtype), r->mean ? "floats" : "numbers");
}

/* Whether the root in that argument is a rank of the group. */
static bool has_root(const gp_call *c, int arg) {
    int64_t root = c->arg[arg].i, n = gp_dist_group_size(gp_dist_group_of(c));
    return (root >= 0 && root < n) || gp_fail("%s: there is no rank %lld (expected 0 to %lld)",
                                              c->name, (long long)root, (long long)n - 1);
}

/* Output 0 has n times the elements of x in dim 1. */
static void times(const gp_call *c, gp_meta *m, int64_t n) {
    gp_shape *s = &m->out[0].shape;
    if (!s->ndim) s->ndim = 1, s->dim[0] = 1;
    s->dim[0] *= n;
}

/* Output 0 has the nth part of x in dim 1. */
static bool part(const gp_call *c, gp_meta *m) {
    gp_shape *s = &m->out[0].shape;
    int64_t n = gp_dist_group_size(gp_dist_group_of(c));
    char text[160];
    if (!s->ndim || s->dim[0] % n)
        return gp_fail(
            "%s: dim 1 of shape %s cannot be divided into %lld equal parts, one for each "
            "rank",
            c->name, gp_shape_text(s, text, sizeof text), (long long)n);
    s->dim[0] /= n;
    return true;
}

bool infer_dist_all_reduce(gp_call *c, gp_meta *m) { return like(c, m) && reduces(c, m); }

bool infer_dist_reduce(gp_call *c, gp_meta *m) {
    return like(c, m) && reduces(c, m) && has_root(c, 3);
}

bool infer_dist_broadcast(gp_call *c, gp_meta *m) { return like(c, m) && has_root(c, 2); }

bool infer_dist_all_gather(gp_call *c, gp_meta *m) {
    like(c, m);
    times(c, m, gp_dist_group_size(gp_dist_group_of(c)));
    return true;
}

bool infer_dist_reduce_scatter(gp_call *c, gp_meta *m) {
    return like(c, m) && reduces(c, m) && part(c, m);
}

bool infer_dist_all_to_all(gp_call *c, gp_meta *m) {
    return like(c, m) && part(c, m) && like(c, m);
}

bool infer_dist_gather(gp_call *c, gp_meta *m) {
    int g = gp_dist_group_of(c);
    like(c, m);
    if (!has_root(c, 2)) return false;
    times(c, m, gp_dist_group_rank(g) == c->arg[2].i ? gp_dist_group_size(g) : 0);
    return true;
}

bool infer_dist_scatter(gp_call *c, gp_meta *m) {
    return like(c, m) && has_root(c, 2) && part(c, m);
}

/* Whether the other end is another rank. */
static bool has_peer(const gp_call *c) {
    if (!has_root(c, 2)) return false;
    return c->arg[2].i != gp_dist_group_rank(gp_dist_group_of(c)) ||
           gp_fail("%s: rank %lld is this process", c->name, (long long)c->arg[2].i);
}

bool infer_dist_send(gp_call *c, gp_meta *m) {
    gp_meta_like(m, 0, c->arg[1].t, GP_u8);
    m->out[0].shape = (gp_shape){.ndim = 1};
    return has_peer(c);
}

bool infer_dist_recv(gp_call *c, gp_meta *m) { return like(c, m) && has_peer(c); }

/* ---- gradients ---- */

/* The reduction in argument 2, if it has a gradient. */
static const gp_rank_op *linear(gp_vjp *v) {
    const gp_rank_op *r = gp_rank_op_named(v->node->op->name, v->node->arg[2].s);
    if (r && r->differentiable) return r;
    return r ? gp_fail_null("backward: %s with op = '%s' has no gradient (sum and mean have)",
                            v->node->op->name, r->name)
             : NULL;
}

/* Every rank's loss depends on every rank's x. */
static bool all_reduce(gp_vjp *v) {
    if (!linear(v)) return false;
    return (v->dx[0] = DO(dist_all_reduce, "ata", 0, v->g[0], 2)) != NULL;
}
const gp_rule vjp_dist_all_reduce = {all_reduce, NULL};

/* Only root's x counts: the other ranks' gradients are zeros. */
static bool broadcast(gp_vjp *v) {
    return (v->dx[0] = DO(dist_reduce, "atsa", 0, v->g[0], "sum", 2)) != NULL;
}
const gp_rule vjp_dist_broadcast = {broadcast, NULL};

static bool all_gather(gp_vjp *v) {
    gp_tensor *g = DO(dist_reduce_scatter, "ats", 0, v->g[0], "sum");
    return g && (v->dx[0] = gp_reshape(v, g, gp_in_shape(v, 0))) != NULL;
}
const gp_rule vjp_dist_all_gather = {all_gather, NULL};

static bool reduce_scatter(gp_vjp *v) {
    const gp_rank_op *r = linear(v);
    gp_tensor *g = r ? DO(dist_all_gather, "at", 0, v->g[0]) : NULL;
    if (g && r->mean) g = DO(div, "tn", g, (double)gp_dist_group_size((int)gp_int_arg(v, 0)));
    return (v->dx[0] = g) != NULL;
}
const gp_rule vjp_dist_reduce_scatter = {reduce_scatter, NULL};

static bool all_to_all(gp_vjp *v) {
    return (v->dx[0] = DO(dist_all_to_all, "at", 0, v->g[0])) != NULL;
}
const gp_rule vjp_dist_all_to_all = {all_to_all, NULL};

static bool refused(gp_vjp *v) {
    return gp_fail(
        "backward: %s has no gradient; all_reduce, broadcast, all_gather, reduce_scatter "
        "and all_to_all have",
        v->node->op->name);
}
#define REFUSED(n) const gp_rule vjp_dist_##n = {refused, NULL};
REFUSED(reduce)
REFUSED(gather)
REFUSED(scatter)
REFUSED(send)
REFUSED(recv)
