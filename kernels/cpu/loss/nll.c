/* nll_loss and its gradient: only the elements at the labels are touched. */
#include <string.h>

#include "kernels/cpu/sort/keys.h"
#include "kernels/cpu/loss/labels.h"
#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/runtime/kernel.h"
#include "tensor/ops/loss.h"

enum { MOST = 512 };

typedef struct nll_job {
    gp_pixel_tiles px;  /* target; x, or the gradient; the losses, or g */
    int64_t n, between; /* classes, and bytes between them */
    double *weight;     /* of each class, or NULL */
    double *part;       /* a tile's losses and weights */
    double factor;      /* of the gradient: 1, or 1 over the mean's count */
    gp_dtype of;        /* of x */
    bool count;         /* forward: weights only */
    gp_load load;
    gp_store store;
    gp_label_reader labels;
} nll_job;

static int64_t step(const nll_job *r, int k) { return r->px.loop.stride[k][r->px.loop.ndim - 1]; }

/* v = x of each of w pixels at its label; without one, that of the first class (unused). */
#define GATHER(T)                                                                                  \
    static void gather_##T(const nll_job *r, const char *x, int64_t w, const int32_t *label,       \
                           double *v) {                                                            \
        int64_t next = step(r, 1);                                                                 \
        for (int64_t j = 0; j < w; j++)                                                            \
            v[j] = *(const T *)(const void *)(x + j * next +                                       \
                                              (label[j] < 0 ? 0 : label[j]) * r->between);         \
    }
GATHER(float)
GATHER(double)

static void gather(const nll_job *r, const char *x, int64_t w, const int32_t *label, double *v) {
    if (r->of == GP_f32) gather_float(r, x, w, label, v);
    else if (r->of == GP_f64) gather_double(r, x, w, label, v);
    else
        for (int64_t j = 0; j < w; j++)
            if (label[j] >= 0) r->load(v + j, x + j * step(r, 1) + label[j] * r->between, 0, 1);
}

/* Tiles [begin, end). */
static void forward(void *ctx, int64_t begin, int64_t end) {
    nll_job *r = ctx;
    int32_t label[MOST];
    double v[MOST] = {0}; /* nothing is gathered of no classes */
    char *p[GP_LOOP_MAX];
    for (int64_t u = begin; u < end; u++) {
        int64_t w = gp_pixel_tiles_at(&r->px, u, p);
        double sum = 0, all = 0;
        gp_label_reader_read(&r->labels, p[0], step(r, 0), w, label);
        if (!r->count && r->n) gather(r, p[1], w, label, v);
        for (int64_t j = 0; j < w; j++) {
            double wt = label[j] < 0 ? 0 : r->weight ? r->weight[label[j]] : 1;
            v[j] = r->count || label[j] < 0 ? 0 : -v[j] * wt;
            sum += v[j], all += wt;
        }
        if (!r->part) r->store(p[2], step(r, 2), v, w);
        if (r->part) r->part[2 * u] = sum, r->part[2 * u + 1] = all;
    }
}

/* Tiles [begin, end): one element of each pixel has a gradient. */
static void backward(void *ctx, int64_t begin, int64_t end) {
    nll_job *r = ctx;
    int32_t label[MOST];
    double g[MOST];
    char *p[GP_LOOP_MAX];
    for (int64_t u = begin; u < end; u++) {
        int64_t w = gp_pixel_tiles_at(&r->px, u, p);
        gp_label_reader_read(&r->labels, p[0], step(r, 0), w, label);
        r->load(g, p[2], step(r, 2), w);
        for (int64_t j = 0; j < w; j++) {
            if (label[j] < 0) continue;
            g[j] *= -r->factor * (r->weight ? r->weight[label[j]] : 1);
            char *at = p[1] + j * step(r, 1) + label[j] * r->between;
            if (r->of == GP_f32) *(float *)(void *)at = (float)g[j];
            else r->store(at, 0, g + j, 1);
        }
    }
}

/* Arguments from `at` on as in tensor/ops/loss.h; `logs` is x or its gradient, third the losses or
 * g.
 */
static bool set_up(nll_job *r, const gp_call *c, int at, const gp_array *logs,
                   const gp_array *third) {
    const gp_array *target = gp_in(c, at + GP_LOSS_TARGET), *w = gp_in(c, at + GP_LOSS_WEIGHT);
    int d = logs->ndim == 1 ? 0 : 1;
    gp_array l1 = gp_without_dim(logs, d);
    r->n = logs->dim[d];
    r->between = logs->stride[d] * (int64_t)gp_dtype_sizes[logs->dtype];
    gp_pixel_tiles_init(&r->px, 3, (const gp_array *[]){target, &l1, third}, MOST);
    gp_label_reader_init(&r->labels, target, r->n, c->arg[at + GP_LOSS_IGNORE].i);
    double *memory =
        gp_scratch(GP_SCRATCH_CALL, (size_t)(2 * r->px.tiles + r->n + 8) * sizeof(double));
    if (!memory) return gp_fail("%s: out of memory", c->op->name);
    r->part = memory + r->n + 8;
    if (w) gp_class_weights(w, GP_CT_f64, r->n, memory), r->weight = memory;
    return true;
}

/* Sums the tiles' losses and weights. */
static void add_up(const nll_job *r, double *sum, double *weight) {
    *sum = *weight = 0;
    for (int64_t u = 0; u < r->px.tiles; u++) *sum += r->part[2 * u], *weight += r->part[2 * u + 1];
}

bool CPU(nll_loss)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0), *x = gp_in(c, GP_LOSS_X);
    int reduction = (int)c->arg[GP_LOSS_REDUCTION].i;
    nll_job r = {.of = (gp_dtype)x->dtype,
                 .load = gp_load_fn((gp_dtype)x->dtype, GP_CT_f64),
                 .store = gp_store_fn(GP_CT_f64, (gp_dtype)out->dtype)};
    double sum, weight;
    if (!set_up(&r, c, 0, x, out)) return false;
    if (reduction == GP_LOSS_EACH) r.part = NULL;
    if (!gp_parallel_op(c, r.px.tiles, 1 + GP_GRAIN / MOST, forward, &r)) return false;
    if (!gp_label_reader_good(c, &r.labels, gp_in(c, GP_LOSS_TARGET))) return false;
    if (reduction == GP_LOSS_EACH) return true;
    add_up(&r, &sum, &weight);
    gp_scalar_store(
        (gp_dtype)out->dtype, out->data,
        (gp_scalar){.is_float = true, .f = reduction == GP_LOSS_MEAN ? sum / weight : sum});
    return true;
}

static void clear(void *ctx, int64_t begin, int64_t end) {
    const gp_array *a = ctx;
    int64_t size = gp_dtype_sizes[a->dtype];
    memset(a->data + begin * size, 0, (size_t)((end - begin) * size));
}

/* Arguments: g, then those of nll_loss. */
bool CPU(nll_loss_grad)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0), *x = gp_in(c, 1 + GP_LOSS_X), *g = gp_in(c, 0);
    nll_job r = {.factor = 1,
                 .of = (gp_dtype)x->dtype,
                 .load = gp_load_fn((gp_dtype)x->dtype, GP_CT_f64),
                 .store = gp_store_fn(GP_CT_f64, (gp_dtype)x->dtype)};
    double sum, weight;
    if (!gp_parallel_op(c, out->numel, GP_GRAIN, clear, (void *)out)) return false;
    if (c->arg[1 + GP_LOSS_REDUCTION].i == GP_LOSS_MEAN) {
        nll_job count = r;
        count.count = true;
        if (!set_up(&count, c, 1, x, &(gp_array){.dtype = GP_f64, .numel = 1})) return false;
        if (!gp_parallel_op(c, count.px.tiles, 1 + GP_GRAIN / MOST, forward, &count)) return false;
        add_up(&count, &sum, &weight);
        r.factor = 1 / weight;
    }
    if (!set_up(&r, c, 1, out, g)) return false;
    r.load = gp_load_fn((gp_dtype)g->dtype, GP_CT_f64);
    return gp_parallel_op(c, r.px.tiles, 1 + GP_GRAIN / MOST, backward, &r) &&
           gp_label_reader_good(c, &r.labels, gp_in(c, 1 + GP_LOSS_TARGET));
}
