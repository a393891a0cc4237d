/* Backward of convolutions, dropout, embedding and pooling: most have an op of their own, which
 * these give what the forward had. They are linear: what takes a gradient back is differentiated by
 * the forward row. */
#include "tensor/autograd/grad.h"

/* Sets the gradient of argument a, if it is an input that needs one. */
static void give(gp_vjp *v, int a, gp_tensor *g) {
    int i = gp_input_of(v, a);
    if (i >= 0 && v->need[i]) v->dx[i] = g;
}

static bool needs(const gp_vjp *v, int a) {
    int i = gp_input_of(v, a);
    return i >= 0 && v->need[i];
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

/* An output_padding of a whole stride or more (less than the dilation) makes an output whose
 * convolution has more elements than the input had. t, which has the input's sizes, becomes as
 * large with zeros behind (sign 1), or t is cut to them (sign -1). */
static gp_tensor *fitted(gp_vjp *v, gp_tensor *t, int rank, int sign) {
    int64_t pads[2 * GP_MAX_DIM] = {0};
    int ns = 0, no = 0;
    const int64_t *stride = gp_has(v, 3) ? gp_ints_arg(v, 3, &ns) : NULL;
    const int64_t *extra = gp_has(v, 5) ? gp_ints_arg(v, 5, &no) : NULL;
    bool any = false;
    for (int d = 0; t && d < rank && extra; d++) {
        int64_t n = extra[no == 1 ? 0 : d] / (stride ? stride[ns == 1 ? 0 : d] : 1);
        pads[2 * (rank - 1 - d) + 1] = sign * n;
        any |= n > 0;
    }
    return any ? DO(pad, "tv", t, pads, 2 * rank) : t;
}

/* What conv does to gradients, so its own gradient is conv again. Arguments: x, weight, bias,
 * stride, padding, output_padding, groups, dilation. */
static bool conv_transpose(gp_vjp *v) {
    const gp_shape *sw = gp_in_shape(v, 1);
    int rank = sw->ndim - 2;
    gp_tensor *g = v->g[0];
    if (v->need[0])
        v->dx[0] = fitted(v, gp_do(v, conv_of(rank), "tt-aaaa", g, v->x[1], 3, 4, 7, 6), rank, -1);
    if (v->need[1])
        v->dx[1] = DO(conv_weight_grad, "ttvaaaa", fitted(v, v->x[0], rank, 1), g, sw->dim,
                      sw->ndim, 3, 4, 7, 6);
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
    if (v->need[0]) v->dx[0] = gp_do(v, conv_of(rank), "tt-aaaa", v->x[1], v->g[0], 3, 4, 5, 6);
    if (v->need[1])
        v->dx[1] = DO(conv_input_grad, "ttvaaaa", v->x[0], v->g[0], sx->dim, sx->ndim, 3, 4, 5, 6);
    return !v->failed;
}
const gp_rule vjp_conv_weight_grad = {conv_weight_grad, "1|0"};

/* ---- dropout, embedding ---- */

static bool dropout(gp_vjp *v) {
    give(v, 0,
         DO(dropout_grad, "taaii", v->g[0], 1, 2, (int64_t)v->node->seed,
            (int64_t)v->node->counter));
    return !v->failed;
}
const gp_rule vjp_dropout = {dropout, NULL};

/* Arguments: g, p, training, seed, counter. */
static bool dropout_grad(gp_vjp *v) {
    return (v->dx[0] = DO(dropout_grad, "taaaa", v->g[0], 1, 2, 3, 4)) != NULL;
}
const gp_rule vjp_dropout_grad = {dropout_grad, NULL};

static bool embedding(gp_vjp *v) {
    give(v, 1, DO(embedding_grad, "ttia", v->g[0], v->x[0], gp_in_shape(v, 1)->dim[0], 2));
    return !v->failed;
}
const gp_rule vjp_embedding = {embedding, "0"};

/* Arguments: g, index, num_embeddings, padding_idx. */
static bool embedding_grad(gp_vjp *v) {
    gp_tensor *rows = DO(embedding, "tt", v->x[1], v->g[0]);
    if (gp_has(v, 3)) {
        gp_tensor *padding = DO(eq, "tn", v->x[1], (double)gp_int_arg(v, 3));
        rows = DO(masked_fill, "ttn", rows, DO(unsqueeze, "ti", padding, (int64_t)-1), 0.0);
    }
    return (v->dx[0] = rows) != NULL;
}
const gp_rule vjp_embedding_grad = {embedding_grad, "1"};

/* ---- pooling ---- */

/* The indices of the largest elements: those that the forward gave, or gives when asked again.
 * rank: of the spatial dims. Arguments: x, kernel_size, stride, padding, dilation, ceil_mode,
 * return_indices. */
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

/* Arguments: grad, indices, size: what is there, with the last `rank` dims as one. */
static bool max_pool_grad(gp_vjp *v, int rank) {
    gp_tensor *index = v->x[1];
    int64_t first = -rank, last = -1;
    gp_tensor *flat = DO(gather, "tit", DO(flatten, "tii", v->g[0], first, last), last,
                         DO(flatten, "tii", index, first, last));
    return (v->dx[0] = gp_reshape(v, flat, gp_in_shape(v, 0))) != NULL;
}
static bool max_pool1d_grad(gp_vjp *v) { return max_pool_grad(v, 1); }
static bool max_pool2d_grad(gp_vjp *v) { return max_pool_grad(v, 2); }
const gp_rule vjp_max_pool1d_grad = {max_pool1d_grad, "1"},
              vjp_max_pool2d_grad = {max_pool2d_grad, "1"};

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

/* Arguments: grad, size, then those of the forward. */
static bool avg_pool1d_grad(gp_vjp *v) {
    return (v->dx[0] = DO(avg_pool1d, "taaaaa", v->g[0], 2, 3, 4, 5, 6)) != NULL;
}
static bool avg_pool2d_grad(gp_vjp *v) {
    return (v->dx[0] = DO(avg_pool2d, "taaaaaa", v->g[0], 2, 3, 4, 5, 6, 7)) != NULL;
}
const gp_rule vjp_avg_pool1d_grad = {avg_pool1d_grad, NULL},
              vjp_avg_pool2d_grad = {avg_pool2d_grad, NULL};

/* The last `rank` sizes of input 0. */
static const int64_t *spatial(const gp_vjp *v, int rank) {
    return gp_in_shape(v, 0)->dim + gp_in_shape(v, 0)->ndim - rank;
}
static bool adaptive_avg_pool1d_grad(gp_vjp *v) {
    return (v->dx[0] = DO(adaptive_avg_pool1d, "tv", v->g[0], spatial(v, 1), 1)) != NULL;
}
static bool adaptive_avg_pool2d_grad(gp_vjp *v) {
    return (v->dx[0] = DO(adaptive_avg_pool2d, "tv", v->g[0], spatial(v, 2), 2)) != NULL;
}
const gp_rule vjp_adaptive_avg_pool1d_grad = {adaptive_avg_pool1d_grad, NULL},
              vjp_adaptive_avg_pool2d_grad = {adaptive_avg_pool2d_grad, NULL};

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
    v->dx[0] = gp_has(v, 2) ? DO(interpolate, "t-aaa", v->g[0], 2, 3, 4)
                            : DO(interpolate, "tv-aa", v->g[0], spatial(v, rank), rank, 3, 4);
    return !v->failed;
}
const gp_rule vjp_interpolate_grad = {interpolate_grad, NULL};
