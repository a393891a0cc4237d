/* Gradients of batch_norm for x, weight and bias, in f64. Stripes are worth 3.5 at 64x256 and 14 at
 * 10000x64 (one thread of an Emerald Rapids with AVX-512). */
#include <math.h>
#include <string.h>

#include "kernels/cpu/norm/layer_norm.h"

typedef struct batch_norm_grad_job {
    const gp_call *c;
    const gp_array *g, *x, *out, *gw, *gb; /* g, x and out contiguous: images x channels x size */
    int64_t images, channels, size;
    gp_load g_load, x_load;
    gp_store store;
} batch_norm_grad_job;

static double element(const gp_array *a, int64_t i, double absent) {
    if (!a) return absent;
    return gp_scalar_load((gp_dtype)a->dtype,
                          a->data + i * a->stride[0] * (int64_t)gp_dtype_sizes[a->dtype])
        .f;
}

/* A channel in blocks of at most GP_BLOCK: adjacent elements of one image, or, where a few channels
 * have one element per image, those of many images. */
typedef struct block {
    int64_t n, at, step; /* elements; index of the first one; step to the next */
} block;

static bool next(const batch_norm_grad_job *r, int64_t channel, int64_t *image, int64_t *from,
                 block *b) {
    if (*image >= r->images) return false;
    int64_t left = r->size == 1 ? r->images - *image : r->size - *from;
    b->n = left < GP_BLOCK ? left : GP_BLOCK;
    b->at = (*image * r->channels + channel) * r->size + *from;
    b->step = r->size == 1 ? r->channels : 1;
    if (r->size == 1) *image += b->n;
    else if ((*from += b->n) == r->size) *from = 0, ++*image;
    return true;
}

static void load(const batch_norm_grad_job *r, const block *b, double *x, double *g) {
    int64_t xs = gp_dtype_sizes[r->x->dtype], gs = gp_dtype_sizes[r->g->dtype];
    r->x_load(x, r->x->data + b->at * xs, b->step * xs, b->n);
    if (g) r->g_load(g, r->g->data + b->at * gs, b->step * gs, b->n);
}

/* Mean and variance of a channel, around its first element. */
static void moments(const batch_norm_grad_job *r, int64_t channel, double *mean, double *var) {
    double x[GP_BLOCK], first = 0, s = 0, q = 0, n = (double)(r->images * r->size);
    int64_t image = 0, from = 0;
    bool begun = false;
    for (block b; next(r, channel, &image, &from, &b);) {
        load(r, &b, x, NULL);
        if (!begun) first = x[0], begun = true;
        _Pragma("omp simd reduction(+:s, q)") for (int64_t i = 0; i < b.n; i++) {
            s += x[i] - first;
            q += (x[i] - first) * (x[i] - first);
        }
    }
    *mean = first + s / n;
    *var = fmax((q - s * (s / n)) / n, 0);
}

/* With h = (x - mean) * scale: weight * scale * (g - mean of g - h * mean of g h) where the
 * statistics are the batch's, weight * scale * g where they are given. */
static void one_channel(const batch_norm_grad_job *r, int64_t channel) {
    double x[GP_BLOCK], g[GP_BLOCK], mean, var, sg = 0, sgh = 0;
    bool training = r->c->arg[5].i;
    int64_t image = 0, from = 0, os = gp_dtype_sizes[r->out->dtype];
    if (training) moments(r, channel, &mean, &var);
    else mean = element(gp_in(r->c, 2), channel, 0), var = element(gp_in(r->c, 3), channel, 1);
    double scale = 1 / sqrt(var + r->c->arg[6].f), n = (double)(r->images * r->size);
    for (block b; next(r, channel, &image, &from, &b);) {
        load(r, &b, x, g);
        _Pragma("omp simd reduction(+:sg, sgh)") for (int64_t i = 0; i < b.n; i++) {
            sg += g[i];
            sgh += g[i] * (x[i] - mean) * scale;
        }
    }
    double k = element(gp_in(r->c, 4), channel, 1) * scale, off = training ? sg / n : 0,
           slope = training ? sgh / n * scale : 0;
    image = from = 0;
    for (block b; next(r, channel, &image, &from, &b);) {
        load(r, &b, x, g);
        for (int64_t i = 0; i < b.n; i++) g[i] = k * (g[i] - off - (x[i] - mean) * slope);
        r->store(r->out->data + b.at * os, b.step * os, g, b.n);
    }
    gp_scalar_store((gp_dtype)r->gw->dtype,
                    r->gw->data + channel * (int64_t)gp_dtype_sizes[r->gw->dtype],
                    (gp_scalar){.is_float = true, .f = sgh});
    gp_scalar_store((gp_dtype)r->gb->dtype,
                    r->gb->data + channel * (int64_t)gp_dtype_sizes[r->gb->dtype],
                    (gp_scalar){.is_float = true, .f = sg});
}

/* ---- adjacent channels, one element per image: stripes of them, row by row ---- */

enum { STRIPE = 256 };

typedef struct stripe {
    const batch_norm_grad_job *r;
    int64_t first, n; /* channels */
    double x[STRIPE], g[STRIPE], mean[STRIPE], scale[STRIPE];
    double s[STRIPE], q[STRIPE]; /* sums */
} stripe;

/* Loads the channels' x, and g if asked for, of one image. */
static void load_image(stripe *t, int64_t image, bool g) {
    const batch_norm_grad_job *r = t->r;
    block b = {.n = t->n, .at = image * r->channels + t->first, .step = 1};
    load(r, &b, t->x, g ? t->g : NULL);
}

static void stripe_moments(stripe *t) {
    const int64_t n = t->n;
    double images = (double)t->r->images, first[STRIPE];
    load_image(t, 0, false);
    memcpy(first, t->x, sizeof first);
    for (int64_t i = 0; i < t->r->images; i++) {
        load_image(t, i, false);
        for (int64_t j = 0; j < n; j++) {
            double d = t->x[j] - first[j];
            t->s[j] += d, t->q[j] += d * d;
        }
    }
    for (int64_t j = 0; j < n; j++) {
        double var = (t->q[j] - t->s[j] * (t->s[j] / images)) / images;
        t->mean[j] = first[j] + t->s[j] / images;
        t->scale[j] = fmax(var, 0);
    }
}

/* On entry scale holds the variance. */
static void stripe_sums(stripe *t) {
    const int64_t n = t->n;
    for (int64_t j = 0; j < n; j++)
        t->scale[j] = 1 / sqrt(t->scale[j] + t->r->c->arg[6].f), t->s[j] = t->q[j] = 0;
    for (int64_t i = 0; i < t->r->images; i++) {
        load_image(t, i, true);
        for (int64_t j = 0; j < n; j++)
            t->s[j] += t->g[j], t->q[j] += t->g[j] * ((t->x[j] - t->mean[j]) * t->scale[j]);
    }
}

/* As one_channel. */
static void one_stripe(const batch_norm_grad_job *r, int64_t first) {
    stripe t = {.r = r, .first = first};
    double k[STRIPE], off[STRIPE] = {0}, slope[STRIPE] = {0}, images = (double)r->images;
    bool training = r->c->arg[5].i;
    const int64_t size = gp_dtype_sizes[r->out->dtype], left = r->channels - first,
                  n = t.n = left < STRIPE ? left : STRIPE;
    if (training) stripe_moments(&t);
    for (int64_t j = 0; !training && j < n; j++)
        t.mean[j] = element(gp_in(r->c, 2), first + j, 0),
        t.scale[j] = element(gp_in(r->c, 3), first + j, 1);
    stripe_sums(&t);
    gp_norm_store(r->gw, first, t.q, n), gp_norm_store(r->gb, first, t.s, n);
    for (int64_t j = 0; j < n; j++) {
        k[j] = element(gp_in(r->c, 4), first + j, 1) * t.scale[j];
        if (training) off[j] = t.s[j] / images, slope[j] = t.q[j] / images * t.scale[j];
    }
    for (int64_t i = 0; i < r->images; i++) {
        load_image(&t, i, true);
        for (int64_t j = 0; j < n; j++)
            t.g[j] = k[j] * (t.g[j] - off[j] - (t.x[j] - t.mean[j]) * slope[j]);
        r->store(r->out->data + (i * r->channels + first) * size, size, t.g, n);
    }
}

static void run_stripes(void *ctx, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) one_stripe(ctx, i * STRIPE);
}

static void run_part(void *ctx, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) one_channel(ctx, i);
}

/* Arguments: g, x, running_mean, running_var, weight, training, eps. */
bool CPU(batch_norm_grad)(const gp_call *c) {
    batch_norm_grad_job r = {
        .c = c, .x = c->tmpa[0], .g = c->tmpa[1], .out = gp_out(c, 0), .gw = gp_out(c, 1)};
    r.gb = gp_out(c, 2);
    r.images = r.x->dim[0], r.channels = r.x->dim[1], r.size = 1;
    for (int d = 2; d < r.x->ndim; d++) r.size *= r.x->dim[d];
    if (r.size == 0) r.images = 0;
    r.x_load = gp_load_fn((gp_dtype)r.x->dtype, GP_CT_f64);
    r.g_load = gp_load_fn((gp_dtype)r.g->dtype, GP_CT_f64);
    r.store = gp_store_fn(GP_CT_f64, (gp_dtype)r.out->dtype);
    if (r.size == 1 && r.images && r.channels >= 8)
        return gp_parallel_op(c, (r.channels + STRIPE - 1) / STRIPE,
                              1 + GP_GRAIN / (STRIPE * r.images), run_stripes, &r);
    return gp_parallel_op(c, r.channels, 1 + GP_GRAIN / (1 + r.images * r.size), run_part, &r);
}
