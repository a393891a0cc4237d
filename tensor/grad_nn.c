/* Backward of convolutions, norms, losses, dropout and embedding: most have an op of their own, which
 * these give what the forward had. */
#include "tensor/grad.h"

/* Sets the gradient of argument a, if it is an input that needs one. */
static void give(gp_vjp *v, int a, gp_tensor *g) {
    int i = gp_input_of(v, a);
    if (i >= 0 && v->need[i]) v->dx[i] = g;
}

static bool needs(const gp_vjp *v, int a) {
    int i = gp_input_of(v, a);
    return i >= 0 && v->need[i];
}

static gp_tensor *saved(const gp_vjp *v, int a) {
    int i = gp_input_of(v, a);
    return i < 0 ? NULL : v->x[i];
}

/* ---- convolutions ---- */

/* g summed over all dims but that of the channels, in front of `rank` spatial ones. */
static gp_tensor *bias_grad(gp_vjp *v, int rank) {
    int64_t dims[GP_MAX_DIM];
    int n = 0, channel = v->node->out[0].shape.ndim - rank - 1;
    for (int i = 0; i < v->node->out[0].shape.ndim; i++)
        if (i != channel) dims[n++] = i + 1;
    return DO(sum, "tv", v->g[0], dims, n);
}

/* The convolution of as many dims as weight has. */
static const gp_op *conv_of(int rank) {
    return rank == 1 ? GP_OP(conv1d) : rank == 2 ? GP_OP(conv2d) : GP_OP(conv3d);
}

/* Arguments: x, weight, bias, stride, padding, dilation, groups. */
static bool conv(gp_vjp *v) {
    const gp_shape *sx = gp_in_shape(v, 0), *sw = gp_in_shape(v, 1);
    gp_tensor *g = v->g[0];
    if (v->need[0])
        v->dx[0] = DO(conv_input_grad, "ttvaaaa", g, v->x[1], sx->dim, sx->ndim, 3, 4, 5, 6);
    if (v->need[1])
        v->dx[1] = DO(conv_weight_grad, "ttvaaaa", g, v->x[0], sw->dim, sw->ndim, 3, 4, 5, 6);
    if (needs(v, 2)) give(v, 2, bias_grad(v, sw->ndim - 2));
    return !v->failed;
}
const gp_rule vjp_conv1d = {conv, "1|0|"}, vjp_conv2d = {conv, "1|0|"}, vjp_conv3d = {conv, "1|0|"};

/* What conv does to gradients, so its own gradient is conv again. Arguments: x, weight, bias, stride,
 * padding, output_padding, groups, dilation. */
static bool conv_transpose(gp_vjp *v) {
    const gp_shape *sw = gp_in_shape(v, 1);
    int rank = sw->ndim - 2;
    gp_tensor *g = v->g[0];
    if (v->need[0]) v->dx[0] = gp_do(v, conv_of(rank), "tt-aaaa", g, v->x[1], 3, 4, 7, 6);
    if (v->need[1])
        v->dx[1] = DO(conv_weight_grad, "ttvaaaa", v->x[0], g, sw->dim, sw->ndim, 3, 4, 7, 6);
    if (needs(v, 2)) give(v, 2, bias_grad(v, rank));
    return !v->failed;
}
const gp_rule vjp_conv_transpose1d = {conv_transpose, "1|0|"},
              vjp_conv_transpose2d = {conv_transpose, "1|0|"},
              vjp_conv_transpose3d = {conv_transpose, "1|0|"};

/* Arguments: grad, weight, size, stride, padding, dilation, groups. */
static bool conv_input_grad(gp_vjp *v) {
    const gp_shape *sw = gp_in_shape(v, 1);
    if (v->need[0])
        v->dx[0] = gp_do(v, conv_of(sw->ndim - 2), "tt-aaaa", v->g[0], v->x[1], 3, 4, 5, 6);
    if (v->need[1])
        v->dx[1] = DO(conv_weight_grad, "ttvaaaa", v->x[0], v->g[0], sw->dim, sw->ndim, 3, 4, 5, 6);
    return !v->failed;
}
const gp_rule vjp_conv_input_grad = {conv_input_grad, "1|0"};

/* Arguments: grad, x, size, stride, padding, dilation, groups. */
static bool conv_weight_grad(gp_vjp *v) {
    const gp_shape *sx = gp_in_shape(v, 1);
    int rank = v->node->out[0].shape.ndim - 2;
    if (v->need[0])
        v->dx[0] = gp_do(v, conv_of(rank), "tt-aaaa", v->x[1], v->g[0], 3, 4, 5, 6);
    if (v->need[1])
        v->dx[1] = DO(conv_input_grad, "ttvaaaa", v->x[0], v->g[0], sx->dim, sx->ndim, 3, 4, 5, 6);
    return !v->failed;
}
const gp_rule vjp_conv_weight_grad = {conv_weight_grad, "1|0"};

/* ---- norms ---- */

/* Results of a norm's gradient op: for x, weight, bias, at arguments w and b of the forward. */
static bool give_norm(gp_vjp *v, gp_tensor **d, int w, int b) {
    give(v, 0, d[0]);
    give(v, w, d[1]);
    give(v, b, d[2]);
    return !v->failed;
}

static bool batch_norm(gp_vjp *v) {
    gp_tensor *d[GP_MAX_OUT] = {NULL};
    return gp_do_all(v, d, GP_OP(batch_norm_grad), "ttoooaa", v->g[0], v->x[0], saved(v, 1), saved(v, 2),
                     saved(v, 3), 5, 7) &&
        give_norm(v, d, 3, 4);
}
const gp_rule vjp_batch_norm = {batch_norm, "*"};

static bool layer_norm(gp_vjp *v) {
    gp_tensor *d[GP_MAX_OUT] = {NULL};
    return gp_do_all(v, d, GP_OP(layer_norm_grad), "ttaoa", v->g[0], v->x[0], 1, saved(v, 2), 4) &&
        give_norm(v, d, 2, 3);
}
const gp_rule vjp_layer_norm = {layer_norm, "*"};

static bool group_norm(gp_vjp *v) {
    gp_tensor *d[GP_MAX_OUT] = {NULL};
    return gp_do_all(v, d, GP_OP(group_norm_grad), "ttaoa", v->g[0], v->x[0], 1, saved(v, 2), 4) &&
        give_norm(v, d, 2, 3);
}
const gp_rule vjp_group_norm = {group_norm, "*"};

static bool rms_norm(gp_vjp *v) {
    gp_tensor *d[GP_MAX_OUT] = {NULL};
    return gp_do_all(v, d, GP_OP(rms_norm_grad), "ttaoa", v->g[0], v->x[0], 1, saved(v, 2), 3) &&
        give_norm(v, d, 2, 15);
}
const gp_rule vjp_rms_norm = {rms_norm, "*"};

/* ---- losses ---- */

static bool labels_only(gp_vjp *v) {
    return !v->need[1] ||
        gp_fail("backward: %s has no derivative for its target", v->node->op->name);
}

static bool cross_entropy(gp_vjp *v) {
    if (!labels_only(v)) return false;
    give(v, 0, DO(cross_entropy_grad, "tttoaaa", v->g[0], v->x[0], v->x[1], saved(v, 2), 3, 4, 5));
    return !v->failed;
}
const gp_rule vjp_cross_entropy = {cross_entropy, "*"};

static bool nll_loss(gp_vjp *v) {
    give(v, 0, DO(nll_loss_grad, "tttoaa", v->g[0], v->x[0], v->x[1], saved(v, 2), 3, 4));
    return !v->failed;
}
const gp_rule vjp_nll_loss = {nll_loss, "*"};

/* ---- dropout, embedding ---- */

static bool dropout(gp_vjp *v) {
    give(v, 0, DO(dropout_grad, "taaii", v->g[0], 1, 2, (int64_t)v->node->seed, (int64_t)v->node->counter));
    return !v->failed;
}
const gp_rule vjp_dropout = {dropout, NULL};

static bool embedding(gp_vjp *v) {
    give(v, 1, DO(embedding_grad, "ttia", v->g[0], v->x[0], gp_in_shape(v, 1)->dim[0], 2));
    return !v->failed;
}
const gp_rule vjp_embedding = {embedding, "0"};

/* ---- pooling ---- */

/* The indices of the largest elements: those that the forward gave, or gives when asked again. rank: of
 * the spatial dims. Arguments: x, kernel_size, stride, padding, dilation, ceil_mode, return_indices. */
static bool max_pool(gp_vjp *v, const gp_op *again, const gp_op *grad) {
    gp_tensor *out[GP_MAX_OUT] = {NULL};
    const gp_shape *s = gp_in_shape(v, 0);
    if (!gp_do_all(v, out, again, "taaaaab", v->x[0], 1, 2, 3, 4, 5, 1)) return false;
    return (v->dx[0] = gp_do(v, grad, "ttv", v->g[0], out[1], s->dim, s->ndim)) != NULL;
}
static bool max_pool1d(gp_vjp *v) { return max_pool(v, GP_OP(max_pool1d), GP_OP(max_pool1d_grad)); }
static bool max_pool2d(gp_vjp *v) { return max_pool(v, GP_OP(max_pool2d), GP_OP(max_pool2d_grad)); }
const gp_rule vjp_max_pool1d = {max_pool1d, "0"}, vjp_max_pool2d = {max_pool2d, "0"};

static bool adaptive_max_pool(gp_vjp *v, const gp_op *again, const gp_op *grad) {
    gp_tensor *out[GP_MAX_OUT] = {NULL};
    const gp_shape *s = gp_in_shape(v, 0);
    if (!gp_do_all(v, out, again, "tab", v->x[0], 1, 1)) return false;
    return (v->dx[0] = gp_do(v, grad, "ttv", v->g[0], out[1], s->dim, s->ndim)) != NULL;
}
static bool adaptive_max_pool1d(gp_vjp *v) {
    return adaptive_max_pool(v, GP_OP(adaptive_max_pool1d), GP_OP(max_pool1d_grad));
}
static bool adaptive_max_pool2d(gp_vjp *v) {
    return adaptive_max_pool(v, GP_OP(adaptive_max_pool2d), GP_OP(max_pool2d_grad));
}
const gp_rule vjp_adaptive_max_pool1d = {adaptive_max_pool1d, "0"},
              vjp_adaptive_max_pool2d = {adaptive_max_pool2d, "0"};

static bool avg_pool1d(gp_vjp *v) {
    const gp_shape *s = gp_in_shape(v, 0);
    v->dx[0] = DO(avg_pool1d_grad, "tvaaaaa", v->g[0], s->dim, s->ndim, 1, 2, 3, 4, 5);
    return !v->failed;
}
static bool avg_pool2d(gp_vjp *v) {
    const gp_shape *s = gp_in_shape(v, 0);
    v->dx[0] = DO(avg_pool2d_grad, "tvaaaaaa", v->g[0], s->dim, s->ndim, 1, 2, 3, 4, 5, 6);
    return !v->failed;
}
static bool adaptive_avg_pool1d(gp_vjp *v) {
    const gp_shape *s = gp_in_shape(v, 0);
    return (v->dx[0] = DO(adaptive_avg_pool1d_grad, "tv", v->g[0], s->dim, s->ndim)) != NULL;
}
static bool adaptive_avg_pool2d(gp_vjp *v) {
    const gp_shape *s = gp_in_shape(v, 0);
    return (v->dx[0] = DO(adaptive_avg_pool2d_grad, "tv", v->g[0], s->dim, s->ndim)) != NULL;
}
const gp_rule vjp_avg_pool1d = {avg_pool1d, NULL}, vjp_avg_pool2d = {avg_pool2d, NULL},
              vjp_adaptive_avg_pool1d = {adaptive_avg_pool1d, NULL},
              vjp_adaptive_avg_pool2d = {adaptive_avg_pool2d, NULL};

/* Arguments: x, size, scale_factor, mode, align_corners. */
static bool interpolate(gp_vjp *v) {
    const gp_shape *s = gp_in_shape(v, 0);
    v->dx[0] = DO(interpolate_grad, "tvaaa", v->g[0], s->dim, s->ndim, 2, 3, 4);
    return !v->failed;
}
const gp_rule vjp_interpolate = {interpolate, NULL};
