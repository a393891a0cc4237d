/* nll_loss and its gradient: only the elements at the labels are read. Limit: a read of each label
 * and a scattered one of x; the gradient writes all of its elements. */
#include "kernels/cuda/loss/labels.cuh"

GP_LABEL_TEXTS(nll_loss)
GP_LABEL_TEXTS(nll_loss_grad)

typedef struct nll_params {
    gp_labels labels;
    gp_class_weight weight;
    int64_t between; /* bytes between classes of x, or of the gradient */
    gp_dtype xt, ot; /* of array 1, and of array 2 */
} nll_params;

/* Arrays: target, x without its classes, losses. part: or sums of losses and weights, from this
 * launch's first block on. */
static __global__ void losses(gp_loop<3> l, nll_params r, double *part) {
    uint32_t i = gp_element();
    double v = 0, w = 0;
    if (i < l.numel) {
        int64_t off[3];
        gp_offsets(l, i, off);
        int64_t label = gp_label(r.labels, l.data[0] + off[0]);
        if (label >= 0) {
            w = gp_weight_of<double>(r.weight, label);
            v = -w * gp_load_as<double>(l.data[1] + off[1] + label * r.between, r.xt);
        }
        if (!part) gp_store_as<double>(l.data[2] + off[2], r.ot, v);
    }
    if (part) gp_add_block(part, v, w);
}

/* Arrays: target, the gradient without its classes, g. The gradient is 0 elsewhere. factor: for a
 * mean. */
static __global__ void gradients(gp_loop<3> l, nll_params r, const double *factor) {
    uint32_t i = gp_element();
    int64_t off[3];
    if (i >= l.numel) return;
    gp_offsets(l, i, off);
    int64_t label = gp_label(r.labels, l.data[0] + off[0]);
    if (label < 0) return;
    double g = gp_load_as<double>(l.data[2] + off[2], r.ot) * (factor ? *factor : 1);
    gp_store_as<double>(l.data[1] + off[1] + label * r.between, r.xt,
                        -g * gp_weight_of<double>(r.weight, label));
}

/* logs: x or its gradient, third: the losses or g; arguments from `at` on as in
 * tensor/ops/loss.h. */
static gp_nest<3> set_up(nll_params *r, const gp_call *c, int at, const gp_array *logs,
                         const gp_array *third, const char *const *texts) {
    const gp_array *target = gp_in(c, at + GP_LOSS_TARGET);
    int d = logs->ndim == 1 ? 0 : 1;
    gp_array l1 = gp_without(logs, d);
    r->labels = gp_labels{(gp_dtype)target->dtype, logs->dim[d], c->arg[at + GP_LOSS_IGNORE].i,
                          gp_cuda_fault(c, texts, 1)};
    r->weight = gp_class_weight_of(gp_in(c, at + GP_LOSS_WEIGHT));
    r->between = gp_step(logs, d), r->xt = (gp_dtype)logs->dtype, r->ot = (gp_dtype)third->dtype;
    const gp_array *const arrays[3] = {target, &l1, third};
    return gp_nest_of<3>(arrays);
}

/* Sums into *part, scratch memory, of *n blocks. */
static bool add_losses(const gp_call *c, const gp_nest<3> &n, const nll_params *r, double **part,
                       int64_t *blocks) {
    int64_t at = 0;
    *blocks = gp_blocks(n.numel);
    *part = (double *)gp_cuda_scratch(c, (size_t)(2 * *blocks + 64) * sizeof(double));
    if (!*part) return false;
    bool ok = gp_nest_run(n, [&](gp_loop<3> l, int64_t) {
        double *to = *part + 2 * at;
        at += gp_blocks(l.numel);
        return GP_LAUNCH(c, losses, gp_blocks(l.numel), GP_THREADS, 0, l, *r, to);
    });
    *blocks = at;
    return ok;
}

GP_C bool CUDA(nll_loss)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0), *x = gp_in(c, GP_LOSS_X);
    int reduction = (int)c->arg[GP_LOSS_REDUCTION].i;
    nll_params r = {};
    double *part;
    int64_t blocks;
    gp_nest<3> n = set_up(&r, c, 0, x, out, texts_nll_loss);
    if (reduction == GP_LOSS_EACH)
        return gp_nest_run(n, [&](gp_loop<3> l, int64_t) {
            return GP_LAUNCH(c, losses, gp_blocks(l.numel), GP_THREADS, 0, l, r, (double *)NULL);
        });
    return add_losses(c, n, &r, &part, &blocks) &&
           gp_sum_parts(c, part, blocks, out->data, (gp_dtype)out->dtype,
                        reduction == GP_LOSS_MEAN);
}

/* Arguments: g, then those of nll_loss. */
GP_C bool CUDA(nll_loss_grad)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0), *x = gp_in(c, 1 + GP_LOSS_X), *g = gp_in(c, 0);
    size_t bytes = (size_t)(out->numel * gp_dtype_sizes[out->dtype]);
    nll_params r = {};
    double *factor = NULL;
    int64_t blocks;
    if (bytes == 0) return true;
    if (!gp_cuda_ok(c, cudaMemsetAsync(out->data, 0, bytes, gp_cuda_stream(c)))) return false;
    if (c->arg[1 + GP_LOSS_REDUCTION].i == GP_LOSS_MEAN) {
        nll_params count = {};
        gp_nest<3> n = set_up(&count, c, 1, x, x, texts_nll_loss_grad);
        if (!add_losses(c, n, &count, &factor, &blocks) ||
            !gp_sum_parts(c, factor, blocks, NULL, GP_f64, true))
            return false;
    }
    return gp_nest_run(set_up(&r, c, 1, out, g, texts_nll_loss_grad), [&](gp_loop<3> l, int64_t) {
        return GP_LAUNCH(c, gradients, gp_blocks(l.numel), GP_THREADS, 0, l, r, factor);
    });
}
