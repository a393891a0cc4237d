/* cross_entropy and its gradient: pixels are processed in tiles whose classes fit the cache, so
 * that logits are read from memory once. */
#include "kernels/cpu/layout/transpose.h"
#include "kernels/cpu/sort/keys.h"
#include "kernels/cpu/loss/labels.h"
#include "kernels/cpu/elementwise/math.h"
#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/runtime/nontemporal.h"
#include "kernels/cpu/runtime/kernel.h"
#include "tensor/ops/loss.h"

/* Pixels of a tile; bytes of its logits that stay in the first-level cache; the number of classes
 * from which pixels with contiguous classes have their own loop. */
enum { MOST = 512, LEAST = 16, TILE_BYTES = 20480, ROW_CLASSES = 48 };

#define TEMPLATE "kernels/cpu/loss/cross_entropy_tiles.h"
#include "kernels/common/floats.inc"

typedef struct loss_job {
    gp_pixel_tiles px; /* x, target, then g and the gradient, or the losses */
    int64_t n;         /* classes */
    gp_ctype ct;
    gp_load x_load, y_load, g_load; /* NULL: read in place */
    gp_store store;                 /* of the losses, or of the gradient */
    bool direct;                    /* the gradient is of compute type */
    const gp_array *soft;           /* class probabilities, or NULL */
    int64_t xs, ys, os; /* bytes between classes of x, of the probabilities, of the gradient */
    bool row;           /* tiles of one pixel, whose classes are contiguous */
    void *weight, *mix; /* n of compute type, or NULL; mix: where labels are smoothed */
    double weight_sum, smooth;
    double *part;  /* a tile's losses and weights, summed in an order independent of threads */
    double factor; /* of the gradient: 1, or 1 over the mean's count */
    bool stream;
    gp_label_reader labels;
    _Atomic bool no_memory;
} loss_job;

/* A thread's memory for one tile. */
typedef struct tile {
    int64_t w;
    char *p[GP_LOOP_MAX];
    const char *x, *y; /* logits and probabilities of compute type … */
    int64_t xs, ys;    /* … and elements between their classes */
    char *xbuf, *ybuf, *keep;
    int32_t label[MOST];
    _Alignas(64) double m[MOST], s[MOST], q[MOST], v[MOST], l[MOST], h[MOST];
} tile;

/* Scratch for one tile's logits and probabilities; keep: for its gradient too. */
static bool tile_new(loss_job *r, tile *k, bool keep) {
    int64_t size = gp_ctype_size[r->ct], all = (r->n * r->px.width + 16) * size;
    char *memory = gp_scratch(GP_SCRATCH_PART, (size_t)(3 * all));
    if (!memory) {
        r->no_memory = true;
        return false;
    }
    k->xbuf = memory, k->ybuf = memory + all;
    k->keep = keep ? memory + 2 * all : NULL;
    return true;
}

/* n rows of w elements: converted into buf, or in place if load is NULL. Where a pixel's classes
 * are adjacent, they are transposed. */
static const char *fetch(const loss_job *r, gp_load load, char *buf, const char *p, int64_t step,
                         int64_t between, int64_t w, int64_t *stride) {
    int64_t size = gp_ctype_size[r->ct];
    *stride = load ? w : between / size;
    if (!load) return p;
    if (r->row) load(buf, p, between, r->n);
    else if (between == size && load == gp_load_fn((gp_dtype)gp_ctype_dtype[r->ct], r->ct))
        gp_transpose(buf, w * size, p, step, r->n, w, (size_t)size, false);
    else
        for (int64_t c = 0; c < r->n; c++) load(buf + c * w * size, p + c * between, step, w);
    return buf;
}

#define TEMPLATE "kernels/cpu/loss/cross_entropy.inc"
#include "kernels/common/floats.inc"

/* Reads tile u: its logits, and its labels or probabilities. */
static void open_tile(loss_job *r, tile *k, int64_t u) {
    k->w = gp_pixel_tiles_at(&r->px, u, k->p);
    int last = r->px.loop.ndim - 1;
    k->x = fetch(r, r->x_load, k->xbuf, k->p[0], r->px.loop.stride[0][last], r->xs, k->w, &k->xs);
    if (r->soft)
        k->y =
            fetch(r, r->y_load, k->ybuf, k->p[1], r->px.loop.stride[1][last], r->ys, k->w, &k->ys);
    else gp_label_reader_read(&r->labels, k->p[1], r->px.loop.stride[1][last], k->w, k->label);
}

/* Tiles [begin, end): writes losses to the output, or their sums to r->part. */
static void forward(void *ctx, int64_t begin, int64_t end) {
    loss_job *r = ctx;
    tile k;
    if (!tile_new(r, &k, false)) return;
    for (int64_t u = begin; u < end; u++) {
        open_tile(r, &k, u);
        if (r->ct == GP_CT_f32) losses_tile_f32(r, &k);
        else losses_tile_f64(r, &k);
        if (!r->part) {
            r->store(k.p[2], r->px.loop.stride[2][r->px.loop.ndim - 1], k.l, k.w);
            continue;
        }
        bool f32 = r->ct == GP_CT_f32;
        r->part[2 * u] = f32 ? sum_f32((float *)k.l, k.w) : sum_f64(k.l, k.w);
        r->part[2 * u + 1] = f32 ? sum_f32((float *)k.v, k.w) : sum_f64(k.v, k.w);
    }
}

/* Stores a tile's gradient from k->keep in the output. */
static void store_tile(const loss_job *r, const tile *k) {
    int64_t step = r->row ? r->os : r->px.loop.stride[3][r->px.loop.ndim - 1],
            n = r->row ? r->n : k->w, size = gp_ctype_size[r->ct];
    bool stream = r->stream && r->direct && step == size;
    if (r->direct && !r->row && r->os == size) {
        gp_transpose(k->p[3], step, k->keep, n * size, n, r->n, (size_t)size, false);
        return;
    }
    for (int64_t c = 0; c < (r->row ? 1 : r->n); c++) {
        char *to = k->p[3] + c * r->os;
        const char *from = k->keep + c * n * size;
        if (stream) stream_out(to, from, (size_t)(n * size), NULL, 0);
        else r->store(to, step, from, n);
    }
}

/* Tiles [begin, end): logits are read once, and their softmax kept, until the gradient is
 * written. */
static void backward(void *ctx, int64_t begin, int64_t end) {
    loss_job *r = ctx;
    tile k;
    if (!tile_new(r, &k, true)) return;
    int last = r->px.loop.ndim - 1;
    for (int64_t u = begin; u < end; u++) {
        open_tile(r, &k, u);
        if (r->ct == GP_CT_f32) stats_tile_f32(r, &k);
        else stats_tile_f64(r, &k);
        r->g_load(k.l, k.p[2], r->px.loop.stride[2][last], k.w);
        if (r->ct == GP_CT_f32) slope_f32(r, &k);
        else slope_f64(r, &k);
        store_tile(r, &k);
    }
    if (r->stream) stream_end();
}

/* ---- set-up ---- */

/* Computes class weights, the factors that smoothing sums them with, and their sum. */
static bool weights(loss_job *r, const gp_array *weight, char *memory) {
    r->weight_sum = (double)r->n;
    if (!weight && r->smooth == 0) return true;
    gp_array one = gp_number_array(&(gp_value){.i = 1}, GP_f64, memory);
    one.stride[0] = 0;
    gp_class_weights(weight ? weight : &one, r->ct, r->n, memory + 64);
    r->weight = memory + 64;
    r->mix = r->smooth == 0 ? NULL : r->weight;
    r->weight_sum = r->ct == GP_CT_f32 ? sum_f32(r->weight, r->n) : sum_f64(r->weight, r->n);
    return true;
}

/* Whether rows of x can be read in place: pixels (or a row tile's classes) are contiguous. */
static gp_load loader(const loss_job *r, const gp_array *a, int k, int64_t between) {
    int64_t size = gp_ctype_size[r->ct], step = r->px.loop.stride[k][r->px.loop.ndim - 1];
    bool plain = a->dtype == gp_ctype_dtype[r->ct] &&
                 (r->row ? between == size : step == size || r->px.width == 1) &&
                 between % size == 0;
    return plain ? NULL : gp_load_fn((gp_dtype)a->dtype, r->ct);
}

/* Arguments from `at` on as in tensor/ops/loss.h; last: the losses (or one number), or the
 * gradient, which g precedes. False when out of memory. */
static bool set_up(loss_job *r, const gp_call *c, int at, const gp_array *out, char **memory) {
    const gp_array *x = gp_in(c, at + GP_LOSS_X), *target = gp_in(c, at + GP_LOSS_TARGET);
    int d = x->ndim == 1 ? 0 : 1;
    int64_t xsize = gp_dtype_sizes[x->dtype], tsize = gp_dtype_sizes[target->dtype];
    r->n = x->dim[d];
    r->smooth = c->arg[at + GP_LOSS_SMOOTHING].f;
    r->soft = gp_is_float((gp_dtype)target->dtype) ? target : NULL;
    r->ct = x->dtype == GP_f64 || (r->soft && target->dtype == GP_f64) ? GP_CT_f64 : GP_CT_f32;
    r->xs = x->stride[d] * xsize;
    r->ys = r->soft ? target->stride[d] * tsize : 0;
    r->os = at ? out->stride[d] * (int64_t)gp_dtype_sizes[out->dtype] : 0;
    r->row = !r->soft && r->n >= ROW_CLASSES && r->xs == xsize && (!at || out->stride[d] == 1);
    int64_t most = TILE_BYTES / ((r->n + 1) * gp_ctype_size[r->ct]) / LEAST * LEAST;
    gp_array x1 = gp_without_dim(x, d), t1 = r->soft ? gp_without_dim(target, d) : *target,
             o1 = at ? gp_without_dim(out, d) : *out;
    const gp_array *arrays[] = {&x1, &t1, at ? gp_in(c, 0) : &o1, &o1};
    gp_pixel_tiles_init(&r->px, at ? 4 : 3, arrays,
                        r->row         ? 1
                        : most > MOST  ? MOST
                        : most < LEAST ? LEAST
                                       : most);
    r->x_load = loader(r, x, 0, r->xs);
    r->y_load = r->soft ? loader(r, target, 1, r->ys) : NULL;
    r->store = gp_store_fn(r->ct, (gp_dtype)out->dtype);
    r->direct = out->dtype == gp_ctype_dtype[r->ct];
    gp_label_reader_init(&r->labels, target, r->n, c->arg[at + GP_LOSS_IGNORE].i);
    *memory = gp_scratch(GP_SCRATCH_CALL, (size_t)(r->px.tiles * 2 + r->n + 16) * sizeof(double));
    return *memory ? weights(r, gp_in(c, at + GP_LOSS_WEIGHT), *memory) : false;
}

/* After all tiles, on the calling thread: a label out of range fails the op. */
static bool finished(const gp_call *c, const loss_job *r, int at) {
    if (r->no_memory) return gp_fail("%s: out of memory", c->op->name);
    return r->soft || gp_label_reader_good(c, &r->labels, gp_in(c, at + GP_LOSS_TARGET));
}

/* Tiles worth a thread. */
static int64_t grain(const loss_job *r) { return 1 + GP_GRAIN / (1 + r->n * r->px.width); }

bool CPU(cross_entropy)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0);
    int reduction = (int)c->arg[GP_LOSS_REDUCTION].i;
    loss_job r = {0};
    char *memory;
    if (!set_up(&r, c, 0, out, &memory)) return gp_fail("cross_entropy: out of memory");
    if (reduction != GP_LOSS_EACH) r.part = (double *)memory + 16 + r.n;
    if (!gp_parallel_op(c, r.px.tiles, grain(&r), forward, &r)) return false;
    if (!finished(c, &r, 0)) return false;
    if (reduction == GP_LOSS_EACH) return true;
    double sum = 0, weight = 0;
    for (int64_t u = 0; u < r.px.tiles; u++) sum += r.part[2 * u], weight += r.part[2 * u + 1];
    gp_scalar_store(
        (gp_dtype)out->dtype, out->data,
        (gp_scalar){.is_float = true, .f = reduction == GP_LOSS_MEAN ? sum / weight : sum});
    return true;
}

/* The weight of the labels of each tile, for the gradient of a mean. */
static void weigh(void *ctx, int64_t begin, int64_t end) {
    loss_job *r = ctx;
    int32_t label[MOST];
    char *p[GP_LOOP_MAX];
    for (int64_t u = begin; u < end; u++) {
        int64_t w = gp_pixel_tiles_at(&r->px, u, p);
        double sum = 0;
        gp_label_reader_read(&r->labels, p[1], r->px.loop.stride[1][r->px.loop.ndim - 1], w, label);
        if (!r->weight) {
            int64_t n = 0;
            for (int64_t j = 0; j < w; j++) n += label[j] >= 0;
            sum = (double)n;
        } else if (r->ct == GP_CT_f32) {
            for (int64_t j = 0; j < w; j++)
                sum += label[j] < 0 ? 0 : (double)((float *)r->weight)[label[j]];
        } else {
            for (int64_t j = 0; j < w; j++)
                sum += label[j] < 0 ? 0 : ((double *)r->weight)[label[j]];
        }
        r->part[u] = sum;
    }
}

/* Arguments: g, then those of cross_entropy. */
bool CPU(cross_entropy_grad)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0);
    loss_job r = {0};
    char *memory;
    if (out->numel == 0) return true;
    if (!set_up(&r, c, 1, out, &memory)) return gp_fail("cross_entropy_grad: out of memory");
    r.g_load = gp_load_fn((gp_dtype)gp_in(c, 0)->dtype, r.ct);
    r.part = (double *)memory + 16 + r.n;
    r.stream = out->numel * (int64_t)gp_dtype_sizes[out->dtype] >= STREAM_BYTES;
    r.factor = 1;
    if (c->arg[1 + GP_LOSS_REDUCTION].i == GP_LOSS_MEAN) {
        int64_t pixels = out->numel / r.n;
        double weight = r.soft ? (double)pixels : 0;
        if (!r.soft) gp_parallel(r.px.tiles, 1 + GP_GRAIN / r.px.width, weigh, &r);
        for (int64_t u = 0; !r.soft && u < r.px.tiles; u++) weight += r.part[u];
        r.factor = 1 / weight;
    }
    return gp_parallel_op(c, r.px.tiles, grain(&r), backward, &r) && finished(c, &r, 1);
}
