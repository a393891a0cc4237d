/* Convolutions of every rank, transposed convolutions, and the rows that are their gradients: shape
 * rules and gradients. */
#include <string.h>

#include "tensor/autograd/grad.h"
#include "tensor/infer.h"
#include "tensor/ops/conv/conv.h"

enum { TEXT = 160 };

/* ---- arguments ---- */

gp_shape gp_spatial_shape(int rank, const int64_t size[GP_SPATIAL]) {
    gp_shape s = {.ndim = rank};
    for (int d = 0; d < rank; d++) s.dim[d] = size[GP_SPATIAL - rank + d];
    return s;
}

static const char *size_text(int rank, const int64_t *size, char *buf) {
    gp_shape s = gp_spatial_shape(rank, size);
    return gp_shape_text(&s, buf, TEXT);
}

bool gp_spatial_ints(const gp_call *c, int i, const char *name, int rank, int64_t least,
                     int64_t absent, int64_t out[GP_SPATIAL]) {
    int n, skip = GP_SPATIAL - rank;
    const int64_t *v = gp_ints(c, i, &n);
    if (n != 1 && n != rank)
        return gp_fail("%s: argument '%s' has %d entries (expected 1%s)", c->op->name, name, n,
                       rank == 1   ? ""
                       : rank == 2 ? " or 2"
                                   : " or 3");
    for (int d = 0; d < GP_SPATIAL; d++) {
        out[d] = d < skip ? absent : v[n == 1 ? 0 : d - skip];
        if (d >= skip && (out[d] < least || out[d] > INT32_MAX))
            return gp_fail("%s: argument '%s' is %lld (expected an integer >= %lld)", c->op->name,
                           name, (long long)out[d], (long long)least);
    }
    return true;
}

/* "same" keeps the image's size, with the odd element of padding at the end, as in PyTorch. */
static bool conv_padding(const gp_call *c, gp_conv *k) {
    const gp_value *v = &c->arg[4];
    if (v->kind != GP_STR) {
        if (!gp_spatial_ints(c, 4, "padding", k->rank, 0, 0, k->before)) return false;
        memcpy(k->behind, k->before, sizeof k->behind);
        return true;
    }
    bool same = !strcmp(v->s, "same");
    if (!same && strcmp(v->s, "valid"))
        return gp_fail("%s: padding '%.20s' (expected integers, 'same' or 'valid')", c->op->name,
                       v->s);
    for (int d = 0; d < GP_SPATIAL; d++) {
        if (same && k->stride[d] != 1)
            return gp_fail("%s: padding 'same' goes with stride 1, not %lld", c->op->name,
                           (long long)k->stride[d]);
        int64_t all = same ? k->dilation[d] * (k->kernel[d] - 1) : 0;
        k->before[d] = all / 2;
        k->behind[d] = all - all / 2;
    }
    return true;
}

/* Elements that the kernel covers in dim d. */
static int64_t covered(const gp_conv *k, int d) { return k->dilation[d] * (k->kernel[d] - 1) + 1; }

static bool conv_sizes(const gp_call *c, gp_conv *k) {
    int64_t cover[GP_SPATIAL], size[GP_SPATIAL];
    char a[TEXT], b[TEXT];
    bool fits = true;
    for (int d = 0; d < GP_SPATIAL; d++) {
        cover[d] = covered(k, d);
        size[d] = k->in[d] + k->before[d] + k->behind[d];
        fits = fits && k->kernel[d] > 0 && cover[d] <= size[d];
        k->out[d] = (size[d] - cover[d]) / k->stride[d] + 1;
    }
    return fits || gp_fail("%s: the kernel covers %s elements, the padded image has %s",
                           c->op->name, size_text(k->rank, cover, a), size_text(k->rank, size, b));
}

/* Ranks and names: x with or without its batch dim, w with filters and channels first. */
static void conv_dims(const gp_shape *x, const gp_shape *w, gp_conv *k, int64_t *size) {
    k->rank = w->ndim - 2;
    k->batched = x->ndim == k->rank + 2;
    k->images = k->batched ? x->dim[0] : 1;
    for (int d = 0; d < GP_SPATIAL; d++) {
        int at = d - (GP_SPATIAL - k->rank);
        size[d] = at < 0 ? 1 : x->dim[k->batched + 1 + at];
        k->kernel[d] = at < 0 ? 1 : w->dim[2 + at];
    }
}

bool gp_conv_read(const gp_call *c, const gp_shape *x, const gp_shape *w, gp_conv *k) {
    conv_dims(x, w, k, k->in);
    k->channels = x->dim[k->batched];
    k->filters = w->dim[0];
    k->groups = c->arg[6].i;
    return gp_spatial_ints(c, 3, "stride", k->rank, 1, 1, k->stride) &&
           gp_spatial_ints(c, 5, "dilation", k->rank, 1, 1, k->dilation) && conv_padding(c, k) &&
           conv_sizes(c, k);
}

bool gp_conv_transpose_read(const gp_call *c, const gp_shape *x, const gp_shape *w, gp_conv *k) {
    int64_t extra[GP_SPATIAL];
    char a[TEXT], b[TEXT];
    conv_dims(x, w, k, k->out);
    k->groups = c->arg[6].i;
    k->filters = x->dim[k->batched];
    k->channels = w->dim[1] * k->groups;
    if (!gp_spatial_ints(c, 3, "stride", k->rank, 1, 1, k->stride) ||
        !gp_spatial_ints(c, 4, "padding", k->rank, 0, 0, k->before) ||
        !gp_spatial_ints(c, 5, "output_padding", k->rank, 0, 0, extra) ||
        !gp_spatial_ints(c, 7, "dilation", k->rank, 1, 1, k->dilation))
        return false;
    memcpy(k->behind, k->before, sizeof k->behind);
    for (int d = 0; d < GP_SPATIAL; d++) {
        if (extra[d] && extra[d] >= k->stride[d] && extra[d] >= k->dilation[d])
            return gp_fail("%s: output_padding %lld is not below stride %lld or dilation %lld",
                           c->op->name, (long long)extra[d], (long long)k->stride[d],
                           (long long)k->dilation[d]);
        k->in[d] = (k->out[d] - 1) * k->stride[d] - 2 * k->before[d] + covered(k, d) + extra[d];
        if (k->kernel[d] < 1 || k->out[d] < 1 || k->in[d] < 1)
            return gp_fail("%s: input %s with kernel %s leaves no output", c->op->name,
                           size_text(k->rank, k->out, a), size_text(k->rank, k->kernel, b));
    }
    return true;
}

/* ---- checks ---- */

static bool has_rank(const gp_call *c, int i, const char *name, int least, int most,
                     const char *expected) {
    const gp_tensor *t = c->arg[i].t;
    char text[TEXT];
    return (t->a.ndim >= least && t->a.ndim <= most) ||
           gp_fail("%s: argument '%s' is %s (expected %s)", c->op->name, name,
                   gp_tensor_text(t, text, sizeof text), expected);
}

/* Tensor argument i has the dtype of argument 0, which is one of `types`. */
static bool of_one_dtype(const gp_call *c, int i, const char *name, const char *first,
                         uint32_t types) {
    gp_dtype want = (gp_dtype)c->arg[0].t->a.dtype;
    if (!gp_infer_check(c, first, want, types)) return false;
    if (!gp_given(c, i) || c->arg[i].t->a.dtype == want) return true;
    return gp_fail("%s: argument '%s' is %s and argument '%s' %s (expected the same dtype; convert "
                   "one with :to)",
                   c->op->name, first, gp_dtype_name(want), name,
                   gp_dtype_name((gp_dtype)c->arg[i].t->a.dtype));
}

/* Checks that the weight's channels and the groups match the image's. */
static bool conv_channels(const gp_call *c, const gp_shape *x, const gp_shape *w,
                          const gp_conv *k) {
    char text[TEXT], image[TEXT];
    if (k->groups < 1 || k->channels % k->groups || k->filters % k->groups)
        return gp_fail("%s: %lld groups do not divide %lld channels and %lld filters", c->op->name,
                       (long long)k->groups, (long long)k->channels, (long long)k->filters);
    return w->dim[1] == k->channels / k->groups ||
           gp_fail("%s: the weight %s takes %lld channels, the image %s has %lld in %lld group%s "
                   "(expected "
                   "%lld in the weight)",
                   c->op->name, gp_shape_text(w, text, sizeof text), (long long)w->dim[1],
                   gp_shape_text(x, image, sizeof image), (long long)k->channels,
                   (long long)k->groups, k->groups == 1 ? "" : "s",
                   (long long)(k->channels / k->groups));
}

static bool conv_bias(const gp_call *c, int64_t channels) {
    char text[TEXT];
    if (!gp_given(c, 2) || (c->arg[2].t->a.ndim == 1 && c->arg[2].t->a.dim[0] == channels))
        return true;
    return gp_fail("%s: the bias is %s (expected %lld elements in one dim)", c->op->name,
                   gp_tensor_text(c->arg[2].t, text, sizeof text), (long long)channels);
}

static void image_shape(gp_shape *s, const gp_conv *k, int64_t channels, const int64_t *size) {
    s->ndim = 0;
    if (k->batched) s->dim[s->ndim++] = k->images;
    s->dim[s->ndim++] = channels;
    for (int d = GP_SPATIAL - k->rank; d < GP_SPATIAL; d++) s->dim[s->ndim++] = size[d];
}

static bool same_shape(const gp_call *c, const gp_tensor *t, const char *name,
                       const gp_shape *want) {
    gp_shape have = gp_tensor_shape(t);
    char a[TEXT], b[TEXT];
    return gp_shape_equal(&have, want) ||
           gp_fail("%s: argument '%s' is %s (expected %s, the shape of the convolution's result)",
                   c->op->name, name, gp_tensor_text(t, a, sizeof a),
                   gp_shape_text(want, b, sizeof b));
}

/* ---- rules ---- */

static const char *const images_text[] = {
    "images x channels x length, or without images",
    "images x channels x height x width, or without images",
    "images x channels x depth x height x width, or without images"};
static const char *const weight_text[] = {"filters x channels x length",
                                          "filters x channels x height x width",
                                          "filters x channels x depth x height x width"};
static const char *const transposed_text[] = {
    "input channels x output channels x length",
    "input channels x output channels x height x width",
    "input channels x output channels x depth x height x width"};

static bool conv_begin(const gp_call *c, gp_meta *m, int rank, const char *const *weight,
                       uint32_t types) {
    m->n = 1;
    m->dev = gp_infer_device(c);
    if (!m->dev || !of_one_dtype(c, 1, "weight", "x", types) ||
        !of_one_dtype(c, 2, "bias", "x", types))
        return false;
    m->out[0].dtype = (gp_dtype)c->arg[0].t->a.dtype;
    return has_rank(c, 0, "x", rank + 1, rank + 2, images_text[rank - 1]) &&
           has_rank(c, 1, "weight", rank + 2, rank + 2, weight[rank - 1]);
}

/* Arguments: x, weight, bias, stride, padding, dilation, groups. */
static bool convolution(gp_call *c, gp_meta *m, int rank) {
    gp_conv k;
    if (!conv_begin(c, m, rank, weight_text, GP_SET_FLOAT | GP_SET_INT)) return false;
    gp_shape x = gp_tensor_shape(c->arg[0].t), w = gp_tensor_shape(c->arg[1].t);
    if (!gp_conv_read(c, &x, &w, &k) || !conv_channels(c, &x, &w, &k) || !conv_bias(c, k.filters))
        return false;
    image_shape(&m->out[0].shape, &k, k.filters, k.out);
    return true;
}
bool infer_conv1d(gp_call *c, gp_meta *m) { return convolution(c, m, 1); }
bool infer_conv2d(gp_call *c, gp_meta *m) { return convolution(c, m, 2); }
bool infer_conv3d(gp_call *c, gp_meta *m) { return convolution(c, m, 3); }

/* Arguments: x, weight, bias, stride, padding, output_padding, groups, dilation. */
static bool transposed(gp_call *c, gp_meta *m, int rank) {
    gp_conv k;
    char text[TEXT], image[TEXT];
    if (!conv_begin(c, m, rank, transposed_text, GP_SET_FLOAT | GP_BIT(GP_i64))) return false;
    gp_shape x = gp_tensor_shape(c->arg[0].t), w = gp_tensor_shape(c->arg[1].t);
    int64_t groups = c->arg[6].i, channels = x.dim[x.ndim - rank - 1];
    if (groups < 1 || channels % groups)
        return gp_fail("%s: %lld groups do not divide %lld channels", c->op->name,
                       (long long)groups, (long long)channels);
    if (w.dim[0] != channels)
        return gp_fail("%s: the weight is %s, the image %s (expected %lld input channels)",
                       c->op->name, gp_tensor_text(c->arg[1].t, text, sizeof text),
                       gp_tensor_text(c->arg[0].t, image, sizeof image), (long long)channels);
    if (!gp_conv_transpose_read(c, &x, &w, &k) || !conv_bias(c, k.channels)) return false;
    image_shape(&m->out[0].shape, &k, k.channels, k.in);
    return true;
}
bool infer_conv_transpose1d(gp_call *c, gp_meta *m) { return transposed(c, m, 1); }
bool infer_conv_transpose2d(gp_call *c, gp_meta *m) { return transposed(c, m, 2); }
bool infer_conv_transpose3d(gp_call *c, gp_meta *m) { return transposed(c, m, 3); }

/* Both gradients: the shape in argument 2 and that of argument 1 define the convolution; argument 0
 * has its result's shape. */
static bool gradient(gp_call *c, gp_meta *m, const char *second, bool of_weight) {
    gp_conv k;
    gp_shape want, size, other = gp_tensor_shape(c->arg[1].t);
    char text[TEXT];
    m->n = 1;
    m->dev = gp_infer_device(c);
    if (!m->dev || !of_one_dtype(c, 1, second, "grad", GP_SET_FLOAT) || !gp_arg_shape(c, 2, &size))
        return false;
    const gp_shape *w = of_weight ? &size : &other, *x = of_weight ? &other : &size;
    if (w->ndim < 3 || w->ndim > 5)
        return gp_fail("%s: the weight is %s (expected filters x channels x 1 to 3 spatial dims)",
                       c->op->name, gp_shape_text(w, text, sizeof text));
    if (x->ndim != w->ndim && x->ndim != w->ndim - 1)
        return gp_fail("%s: the image is %s (expected %s)", c->op->name,
                       gp_shape_text(x, text, sizeof text), images_text[w->ndim - 3]);
    if (!gp_conv_read(c, x, w, &k) || !conv_channels(c, x, w, &k)) return false;
    image_shape(&want, &k, k.filters, k.out);
    m->out[0].dtype = (gp_dtype)c->arg[0].t->a.dtype;
    m->out[0].shape = size;
    return same_shape(c, c->arg[0].t, "grad", &want);
}

/* Arguments: grad, weight, the image's shape, stride, padding, dilation, groups. */
bool infer_conv_input_grad(gp_call *c, gp_meta *m) { return gradient(c, m, "weight", false); }
/* Arguments: grad, x, the weight's shape, stride, padding, dilation, groups. */
bool infer_conv_weight_grad(gp_call *c, gp_meta *m) { return gradient(c, m, "x", true); }

/* ---- gradients ---- */

/* The gradients of a convolution are linear: the forward row differentiates them. */

/* g summed over all dims but that of the channels, which precedes `rank` spatial ones. */
static gp_tensor *bias_grad(gp_vjp *v, int rank) {
    int64_t dims[GP_MAX_DIM];
    int n = 0, channel = v->node->out[0].shape.ndim - rank - 1;
    for (int i = 0; i < v->node->out[0].shape.ndim; i++)
        if (i != channel) dims[n++] = i + 1;
    return DO(sum, "tv", v->g[0], dims, n);
}

/* The convolution with as many spatial dims as weight has. */
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
    if (gp_needs(v, 2)) gp_give(v, 2, bias_grad(v, sw->ndim - 2));
    return !v->failed;
}
const gp_rule vjp_conv1d = {conv, "1|0|"}, vjp_conv2d = {conv, "1|0|"}, vjp_conv3d = {conv, "1|0|"};

/* An output_padding of a whole stride or more (less than the dilation) makes an output whose
 * convolution has more elements than the input had. t, which has the input's sizes, is padded to
 * that with zeros at the end (sign 1), or is cut to the input's sizes (sign -1). */
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

/* A conv's gradient, so its own gradient is conv. Arguments: x, weight, bias, stride, padding,
 * output_padding, groups, dilation. */
static bool conv_transpose(gp_vjp *v) {
    const gp_shape *sw = gp_in_shape(v, 1);
    int rank = sw->ndim - 2;
    gp_tensor *g = v->g[0];
    if (v->need[0])
        v->dx[0] = fitted(v, gp_do(v, conv_of(rank), "tt-aaaa", g, v->x[1], 3, 4, 7, 6), rank, -1);
    if (v->need[1])
        v->dx[1] = DO(conv_weight_grad, "ttvaaaa", fitted(v, v->x[0], rank, 1), g, sw->dim,
                      sw->ndim, 3, 4, 7, 6);
    if (gp_needs(v, 2)) gp_give(v, 2, bias_grad(v, rank));
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
