/* batch_norm: statistics per channel, in blocks that stay in the cache and are combined in double,
 * or over rows of adjacent channels; then one pass that normalises. Stripes of adjacent channels
 * are worth 4.8 at 64x256 and 19 at 10000x64, streaming 1.4 at 8x10x256x256 (one thread of an
 * Emerald Rapids with AVX-512). */
#include <math.h>
#include <string.h>

#include "kernels/cpu/reduce/reduce.h"
#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/runtime/nontemporal.h"
#include "kernels/cpu/runtime/kernel.h"
#include "kernels/cpu/runtime/widen.h"

enum { CHUNK = 16384 };

/* Count, mean and sum of squared distances from it. */
typedef struct stat {
    double n, mean, m2;
} stat;

typedef struct batch_norm_job {
    gp_nd_loop loop; /* out and x of one channel */
    int64_t xs, os;  /* bytes between channels */
    int64_t channels;
    int64_t chunks; /* pieces of at most CHUNK elements that a channel is divided into, whatever the
                       number of threads */
    gp_ctype ct;
    gp_load load;
    gp_store store;
    bool beside;                  /* channels are adjacent, the elements of each are not */
    gp_load wide;                 /* to f64 */
    bool stream;                  /* the result is too large to stay in a cache */
    bool x_direct, out_direct;    /* of compute type and contiguous along the rows of the loop */
    stat *part;                   /* channels x chunks */
    double *mean, *scale, *shift; /* per channel: y = (x - mean) * scale + shift */
} batch_norm_job;

#define TEMPLATE "kernels/cpu/norm/batch_norm.inc"
#include "kernels/common/floats.inc"

/* Combines two. Source: Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for
 * computing sample variances", 1979. */
static void join(stat *a, stat b) {
    double n = a->n + b.n, d = b.mean - a->mean;
    if (b.n == 0) return;
    a->m2 += b.m2 + d * d * (a->n * b.n / n);
    a->mean += d * (b.n / n);
    a->n = n;
}

/* Processes a block of at most GP_BLOCK elements of a row; where they are in x and out. */
typedef void (*visit)(batch_norm_job *r, int64_t channel, const char *x, char *out, int64_t n,
                      stat *s);

static void gather(batch_norm_job *r, int64_t channel, const char *x, char *out, int64_t n,
                   stat *s) {
    _Alignas(64) char buf[GP_BLOCK * 8];
    if (!r->x_direct) r->load(buf, x, r->loop.stride[1][r->loop.ndim - 1], n), x = buf;
    join(s, r->ct == GP_CT_f32 ? block_f32((const float *)x, n) : block_f64((const double *)x, n));
}

static void normalise(batch_norm_job *r, int64_t channel, const char *x, char *out, int64_t n,
                      stat *s) {
    _Alignas(64) char buf[GP_BLOCK * 8];
    void *y = r->out_direct && !r->stream ? out : buf;
    const char *behind = x + n * gp_ctype_size[r->ct];
    double mean = r->mean[channel], scale = r->scale[channel], shift = r->shift[channel];
    if (!r->x_direct) r->load(buf, x, r->loop.stride[1][r->loop.ndim - 1], n), x = buf;
    if (r->ct == GP_CT_f32)
        normalise_f32((const float *)x, y, n, (float)mean, (float)scale, (float)shift);
    else normalise_f64((const double *)x, y, n, mean, scale, shift);
    if (!r->out_direct) r->store(out, r->loop.stride[0][r->loop.ndim - 1], buf, n);
    else if (r->stream)
        stream_out(out, buf, (size_t)(n * gp_ctype_size[r->ct]), &behind, r->x_direct);
}

static void chunk(batch_norm_job *r, int64_t unit, visit fn, stat *s) {
    int last = r->loop.ndim - 1;
    int64_t channel = unit / r->chunks, from = unit % r->chunks * CHUNK, to = from + CHUNK,
            width = r->loop.dim[last];
    if (to > r->loop.numel) to = r->loop.numel;
    for (int64_t at = from; at < to;) {
        char *p[GP_LOOP_MAX];
        int64_t n = width - at % width < to - at ? width - at % width : to - at;
        if (n > GP_BLOCK) n = GP_BLOCK;
        gp_nd_loop_at(&r->loop, at, p);
        fn(r, channel, p[1] + channel * r->xs, p[0] + channel * r->os, n, s);
        at += n;
    }
}

/* First pass: each channel's sums, by chunks that are combined in their order. */
static void gather_chunks(void *ctx, int64_t begin, int64_t end) {
    batch_norm_job *r = ctx;
    for (int64_t u = begin; u < end; u++) {
        r->part[u] = (stat){0};
        chunk(r, u, gather, &r->part[u]);
    }
}

static void normalise_chunks(void *ctx, int64_t begin, int64_t end) {
    batch_norm_job *r = ctx;
    for (int64_t u = begin; u < end; u++) chunk(r, u, normalise, NULL);
    if (r->stream) stream_end();
}

/* ---- adjacent channels: stripes of them, row by row ---- */

enum { STRIPE = 256 };

/* Unit u: channels first … first + n, rows from … to. */
static int64_t stripe_of(const batch_norm_job *r, int64_t u, int64_t *from, int64_t *to,
                         int64_t *n) {
    int64_t first = u / r->chunks * STRIPE;
    *from = u % r->chunks * CHUNK;
    *to = *from + CHUNK < r->loop.numel ? *from + CHUNK : r->loop.numel;
    *n = r->channels - first < STRIPE ? r->channels - first : STRIPE;
    return first;
}

/* In f64, around the first row. */
static void gather_stripes(void *ctx, int64_t begin, int64_t end) {
    batch_norm_job *r = ctx;
    for (int64_t u = begin; u < end; u++) {
        double x[STRIPE], base[STRIPE], s[STRIPE] = {0}, q[STRIPE] = {0};
        int64_t from, to, n, first = stripe_of(r, u, &from, &to, &n), step = r->loop.stride[1][0];
        const char *p = r->loop.data[1] + first * r->xs;
        r->wide(x, p + from * step, r->xs, n);
        memcpy(base, x, (size_t)n * sizeof *x);
        for (int64_t i = from; i < to; i++) {
            r->wide(x, p + i * step, r->xs, n);
            for (int64_t j = 0; j < n; j++) {
                double d = x[j] - base[j];
                s[j] += d, q[j] += d * d;
            }
        }
        double rows = (double)(to - from);
        for (int64_t j = 0; j < n; j++) {
            double m2 = q[j] - s[j] * (s[j] / rows);
            r->part[(first + j) * r->chunks + u % r->chunks] =
                (stat){rows, base[j] + s[j] / rows, m2 < 0 ? 0 : m2};
        }
    }
}

#define TEMPLATE "kernels/cpu/norm/batch_norm_stripe.inc"
#include "kernels/common/floats.inc"

static void normalise_stripes(void *ctx, int64_t begin, int64_t end) {
    batch_norm_job *r = ctx;
    for (int64_t u = begin; u < end; u++)
        (r->ct == GP_CT_f32 ? normalise_stripe_f32 : normalise_stripe_f64)(r, u);
}

/* ---- per channel ---- */

static char *element(const gp_array *a, int64_t i) {
    return a->data + i * a->stride[0] * (int64_t)gp_dtype_size((gp_dtype)a->dtype);
}

static double read_element(const gp_array *a, int64_t i, double absent) {
    if (!a) return absent;
    return gp_scalar_load((gp_dtype)a->dtype, element(a, i)).f;
}

/* running = (1 - momentum) * running + momentum * value */
static void update(const gp_array *running, int64_t i, double value, double momentum) {
    if (!running) return;
    double old = read_element(running, i, 0);
    gp_scalar_store((gp_dtype)running->dtype, element(running, i),
                    (gp_scalar){.is_float = true, .f = (1 - momentum) * old + momentum * value});
}

static void set_channel(batch_norm_job *r, const gp_call *c, int64_t i, double mean, double var) {
    r->mean[i] = mean;
    r->scale[i] = read_element(gp_in(c, 3), i, 1) / sqrt(var + c->arg[7].f);
    r->shift[i] = read_element(gp_in(c, 4), i, 0);
}

/* Chunks of all channels, by one of the two passes. */
static bool pass(batch_norm_job *r, const gp_call *c, int64_t channels, gp_body body,
                 gp_body beside) {
    int64_t n = r->loop.numel < CHUNK ? r->loop.numel : CHUNK;
    if (r->beside)
        return gp_parallel_op(c, (channels + STRIPE - 1) / STRIPE * r->chunks,
                              1 + GP_GRAIN / (n * STRIPE), beside, r);
    return gp_parallel_op(c, channels * r->chunks, 1 + GP_GRAIN / n, body, r);
}

/* The channels' statistics, each in its first part. */
static bool train(batch_norm_job *r, const gp_call *c, int64_t channels) {
    if (!pass(r, c, channels, gather_chunks, gather_stripes)) return false;
    for (int64_t i = 0; i < channels; i++) {
        stat *s = &r->part[i * r->chunks];
        for (int64_t k = 1; k < r->chunks; k++) join(s, s[k]);
        set_channel(r, c, i, s->mean, s->m2 / s->n);
    }
    return true;
}

/* Run last, so that an interrupted op leaves them unchanged. */
static void update_running(const batch_norm_job *r, const gp_call *c, int64_t channels) {
    for (int64_t i = 0; i < channels; i++) {
        const stat *s = &r->part[i * r->chunks];
        update(gp_in(c, 1), i, s->mean, c->arg[6].f);
        update(gp_in(c, 2), i, s->m2 / (s->n - 1), c->arg[6].f);
    }
}

static gp_array one_channel(const gp_array *a) {
    gp_array r = *a;
    r.ndim--;
    r.numel /= a->dim[1];
    for (int i = 1; i < r.ndim; i++) r.dim[i] = a->dim[i + 1], r.stride[i] = a->stride[i + 1];
    return r;
}

static void set_up(batch_norm_job *r, const gp_array *x, const gp_array *out) {
    int64_t xsize = (int64_t)gp_dtype_size((gp_dtype)x->dtype),
            osize = (int64_t)gp_dtype_size((gp_dtype)out->dtype);
    gp_array x1 = one_channel(x), o1 = one_channel(out);
    gp_nd_loop_init(&r->loop, 2, (const gp_array *[]){&o1, &x1});
    int last = r->loop.ndim - 1;
    r->xs = x->stride[1] * xsize;
    r->os = out->stride[1] * osize;
    r->channels = x->dim[1];
    r->chunks = (r->loop.numel + CHUNK - 1) / CHUNK;
    r->ct = gp_compute_type((gp_dtype)x->dtype);
    r->load = gp_load_fn((gp_dtype)x->dtype, r->ct);
    r->store = gp_store_fn(r->ct, (gp_dtype)out->dtype);
    r->wide = gp_load_fn((gp_dtype)x->dtype, GP_CT_f64);
    r->beside =
        r->xs == xsize && r->os == osize && r->channels >= 8 && last == 0 && r->loop.dim[0] > 1;
    r->x_direct = x->dtype == gp_ctype_dtype[r->ct] &&
                  (r->loop.stride[1][last] == xsize || r->loop.dim[last] == 1);
    r->out_direct = out->dtype == gp_ctype_dtype[r->ct] &&
                    (r->loop.stride[0][last] == osize || r->loop.dim[last] == 1);
    r->stream = r->out_direct && stream_rows(r->loop.dim[last] * osize, out->numel * osize);
}

bool CPU(batch_norm)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0);
    if (x->numel == 0) return true;
    int64_t channels = x->dim[1];
    batch_norm_job r = {0};
    set_up(&r, x, out);
    double *memory = gp_scratch(
        GP_SCRATCH_CALL, (size_t)channels * (3 * sizeof(double) + (size_t)r.chunks * sizeof(stat)));
    if (!memory) return gp_fail("batch_norm: out of memory");
    r.mean = memory, r.scale = memory + channels, r.shift = memory + 2 * channels;
    r.part = (stat *)(memory + 3 * channels);
    bool training = c->arg[5].i;
    if (training && !train(&r, c, channels)) return false;
    for (int64_t i = 0; !training && i < channels; i++)
        set_channel(&r, c, i, read_element(gp_in(c, 1), i, 0), read_element(gp_in(c, 2), i, 1));
    if (!pass(&r, c, channels, normalise_chunks, normalise_stripes)) return false;
    if (training) update_running(&r, c, channels);
    return true;
}
