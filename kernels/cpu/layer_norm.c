/* layer_norm, rms_norm and group_norm, and their gradients: rows of contiguous elements, read from
 * memory once while they fit the cache. */
#include <math.h>

#include "kernels/cpu/scratch.h"
#include "kernels/kernel.h"
#include "tensor/norm.h"

enum { GRAIN = 32768, COLUMNS = 256 };

typedef struct run {
    const gp_array *x, *g, *out;
    gp_norm k;
    gp_ctype ct;
    gp_load load, g_load;
    gp_store store;
    void *weight, *bias;     /* channels of compute type each, or NULL */
    double *mean, *scale;    /* of each row, for the gradients of weight and bias */
    double *wide;            /* the weight in f64, for gradients, or NULL */
    const gp_array *gw, *gb; /* gradients of weight and bias; gb may be NULL */
    _Atomic bool no_memory;
} run;

/* Mean and 1 / sqrt(variance + eps) of n elements: sums of blocks in compute type, of these in f64;
 * the second pass finds the row in the cache. */
#define ROWS(T, t)                                                                                 \
    static double sum_##t(const T *x, int64_t n) {                                                 \
        double all = 0;                                                                            \
        for (int64_t at = 0; at < n; at += GP_BLOCK) {                                             \
            int64_t end = n - at < GP_BLOCK ? n : at + GP_BLOCK;                                   \
            T s = 0;                                                                               \
            _Pragma("omp simd reduction(+:s)") for (int64_t i = at; i < end; i++) s += x[i];       \
            all += (double)s;                                                                      \
        }                                                                                          \
        return all;                                                                                \
    }                                                                                              \
    static double squares_##t(const T *x, int64_t n, T mean) {                                     \
        double all = 0;                                                                            \
        for (int64_t at = 0; at < n; at += GP_BLOCK) {                                             \
            int64_t end = n - at < GP_BLOCK ? n : at + GP_BLOCK;                                   \
            T s = 0;                                                                               \
            _Pragma("omp simd reduction(+:s)") for (int64_t i = at; i < end; i++) s +=             \
                (x[i] - mean) * (x[i] - mean);                                                     \
            all += (double)s;                                                                      \
        }                                                                                          \
        return all;                                                                                \
    }                                                                                              \
    static void moments_##t(const T *x, const gp_norm *k, double *mean, double *scale) {           \
        *mean = k->centred ? sum_##t(x, k->n) / (double)k->n : 0;                                  \
        T near = (T)*mean;                                                                         \
        double off = *mean - (double)near, m2 = squares_##t(x, k->n, near) / (double)k->n;         \
        *scale = 1 / sqrt(fmax(m2 - off * off, m2 - m2) + k->eps);                                 \
    }                                                                                              \
    static void normalise_##t(const run *r, int64_t row, const T *x, T *y) {                       \
        double m, s;                                                                               \
        const gp_norm *k = &r->k;                                                                  \
        moments_##t(x, k, &m, &s);                                                                 \
        const T mean = (T)m, scale = (T)s, *w = r->weight, *b = r->bias;                           \
        int64_t first = row % k->groups * (k->n / k->each);                                        \
        if (k->each == 1 && w && b) {                                                              \
            for (int64_t i = 0; i < k->n; i++)                                                     \
                y[i] = (x[i] - mean) * scale * w[first + i] + b[first + i];                        \
        } else if (k->each == 1 && w) {                                                            \
            for (int64_t i = 0; i < k->n; i++) y[i] = (x[i] - mean) * scale * w[first + i];        \
        } else {                                                                                   \
            const int64_t each = w || b ? k->each : k->n;                                          \
            for (int64_t c = 0; c * each < k->n; c++) {                                            \
                const T ws = w ? w[first + c] : 1, bs = b ? b[first + c] : 0;                      \
                for (int64_t i = c * each; i < (c + 1) * each; i++)                                \
                    y[i] = (x[i] - mean) * scale * ws + bs;                                        \
            }                                                                                      \
        }                                                                                          \
    }
ROWS(float, f32)
ROWS(double, f64)

/* x and outputs are contiguous: rows of n elements follow one another. */
static const char *row_of(const gp_array *a, const gp_norm *k, int64_t row) {
    return a->data + row * k->n * (int64_t)gp_dtype_sizes[a->dtype];
}

/* Rows [begin, end). */
static void forward(void *ctx, int64_t begin, int64_t end) {
    run *r = ctx;
    int64_t n = r->k.n, xs = gp_dtype_sizes[r->x->dtype], os = gp_dtype_sizes[r->out->dtype];
    bool direct = r->x->dtype == gp_ctype_dtype[r->ct];
    char *buf = direct ? NULL : gp_scratch(GP_SCRATCH_PART, (size_t)(n * gp_ctype_size[r->ct]));
    if (!direct && !buf) {
        r->no_memory = true;
        return;
    }
    for (int64_t row = begin; row < end; row++) {
        const void *x = row_of(r->x, &r->k, row);
        char *out = r->out->data + row * n * os;
        void *y = direct ? out : buf;
        if (!direct) r->load(buf, x, xs, n), x = buf;
        if (r->ct == GP_CT_f32) normalise_f32(r, row, x, y);
        else normalise_f64(r, row, x, y);
        if (!direct) r->store(out, os, buf, n);
    }
}

/* channels of compute type ct at memory + slot * (channels + 8) * 8, or NULL. */
static void *affine(const gp_array *a, gp_ctype ct, int64_t channels, char *memory, int slot) {
    char *to = memory + slot * (channels + 8) * 8;
    if (!a) return NULL;
    gp_array dense = *a;
    int64_t step = 1;
    dense.data = to, dense.dtype = gp_ctype_dtype[ct];
    for (int d = a->ndim - 1; d >= 0; d--) dense.stride[d] = step, step *= a->dim[d];
    gp_copy_array(&dense, a);
    return to;
}

/* Arguments as gp_norm_read has them; temporaries: x without gaps. */
static bool norm(const gp_call *c) {
    run r = {.x = gp_values(c, 0, 0), .out = gp_out(c, 0)};
    if (r.out->numel == 0) return true;
    gp_norm_read(c, r.x, 0, &r.k);
    r.ct = gp_compute_type((gp_dtype)r.x->dtype);
    r.load = gp_load_fn((gp_dtype)r.x->dtype, r.ct);
    r.store = gp_store_fn(r.ct, (gp_dtype)r.out->dtype);
    char *memory = gp_scratch(GP_SCRATCH_CALL, (size_t)(r.k.channels + 8) * 16);
    if (!memory) return gp_fail("%s: out of memory", c->op->name);
    r.weight = affine(gp_in(c, 2), r.ct, r.k.channels, memory, 0);
    r.bias = r.k.centred ? affine(gp_in(c, 3), r.ct, r.k.channels, memory, 1) : NULL;
    return gp_parallel_op(c, r.k.rows, 1 + GRAIN / r.k.n, forward, &r) &&
           (!r.no_memory || gp_fail("%s: out of memory", c->op->name));
}

bool CPU(layer_norm)(const gp_call *c) { return norm(c); }
bool CPU(rms_norm)(const gp_call *c) { return norm(c); }
bool CPU(group_norm)(const gp_call *c) { return norm(c); }

/* ---- gradients, in f64 ---- */

/* With h = (x - mean) * scale and v = g * weight: scale * (v - mean of v - h * mean of v h). */
static void one_gradient(run *r, int64_t row, double *x, double *g) {
    const gp_norm *k = &r->k;
    int64_t n = k->n, first = row % k->groups * (n / k->each);
    double mean, scale, sv = 0, svh = 0;
    moments_f64(x, k, &mean, &scale);
    r->mean[row] = mean, r->scale[row] = scale;
    if (r->wide && k->each == 1)
        for (int64_t i = 0; i < n; i++) g[i] *= r->wide[first + i];
    else
        for (int64_t c = 0; r->wide && c * k->each < n; c++)
            for (int64_t i = c * k->each; i < (c + 1) * k->each; i++) g[i] *= r->wide[first + c];
    _Pragma("omp simd reduction(+:sv, svh)") for (int64_t i = 0; i < n; i++) {
        x[i] = (x[i] - mean) * scale;
        sv += g[i];
        svh += g[i] * x[i];
    }
    sv = k->centred ? sv / (double)n : 0, svh /= (double)n;
    for (int64_t i = 0; i < n; i++) x[i] = scale * (g[i] - sv - x[i] * svh);
}

/* Rows [begin, end): the gradient of x, and each row's mean and scale for those of weight and
 * bias. */
static void backward(void *ctx, int64_t begin, int64_t end) {
    run *r = ctx;
    int64_t n = r->k.n, os = gp_dtype_sizes[r->out->dtype];
    double *x = gp_scratch(GP_SCRATCH_PART, (size_t)(2 * n) * sizeof *x), *g = x + n;
    if (!x) {
        r->no_memory = true;
        return;
    }
    for (int64_t row = begin; row < end; row++) {
        r->load(x, row_of(r->x, &r->k, row), gp_dtype_sizes[r->x->dtype], n);
        r->g_load(g, row_of(r->g, &r->k, row), gp_dtype_sizes[r->g->dtype], n);
        one_gradient(r, row, x, g);
        r->store(r->out->data + row * n * os, os, x, n);
    }
}

/* Elements from..from+w of each row, summed over rows into columns of weight and bias. */
static void column_sums(const run *r, int64_t from, int64_t w, double *gw, double *gb) {
    double x[COLUMNS], g[COLUMNS];
    int64_t xs = gp_dtype_sizes[r->x->dtype], gs = gp_dtype_sizes[r->g->dtype];
    for (int64_t row = 0; row < r->k.rows; row++) {
        double mean = r->mean[row], scale = r->scale[row];
        r->load(x, row_of(r->x, &r->k, row) + from * xs, xs, w);
        r->g_load(g, row_of(r->g, &r->k, row) + from * gs, gs, w);
        for (int64_t j = 0; j < w; j++) gw[j] += g[j] * (x[j] - mean) * scale, gb[j] += g[j];
    }
}

/* One channel of `each` neighbours in the rows of its group. */
static void channel_sums(const run *r, int64_t channel, double *gw, double *gb) {
    double x[COLUMNS], g[COLUMNS];
    const gp_norm *k = &r->k;
    int64_t a_row = k->n / k->each, xs = gp_dtype_sizes[r->x->dtype],
            gs = gp_dtype_sizes[r->g->dtype], from = channel % a_row * k->each;
    for (int64_t row = channel / a_row; row < k->rows; row += k->groups)
        for (int64_t at = 0; at < k->each; at += COLUMNS) {
            int64_t w = k->each - at < COLUMNS ? k->each - at : COLUMNS;
            r->load(x, row_of(r->x, k, row) + (from + at) * xs, xs, w);
            r->g_load(g, row_of(r->g, k, row) + (from + at) * gs, gs, w);
            for (int64_t j = 0; j < w; j++)
                *gw += g[j] * (x[j] - r->mean[row]) * r->scale[row], *gb += g[j];
        }
}

static void put(const gp_array *a, int64_t i, const double *v, int64_t n) {
    int64_t size = gp_dtype_sizes[a->dtype];
    gp_store_fn(GP_CT_f64, (gp_dtype)a->dtype)(a->data + i * size, size, v, n);
}

/* Channels [begin, end), summed over all rows in their order. */
static void affine_gradients(void *ctx, int64_t begin, int64_t end) {
    run *r = ctx;
    bool columns = r->k.each == 1 && r->k.groups == 1;
    for (int64_t at = begin; at < end;) {
        double gw[COLUMNS] = {0}, gb[COLUMNS] = {0};
        int64_t w = !columns ? 1 : end - at < COLUMNS ? end - at : COLUMNS;
        if (columns) column_sums(r, at, w, gw, gb);
        else channel_sums(r, at, gw, gb);
        put(r->gw, at, gw, w);
        if (r->gb) put(r->gb, at, gb, w);
        at += w;
    }
}

/* Arguments: g, x, what norm takes as its second, weight, eps. */
static bool norm_gradient(const gp_call *c) {
    run r = {.x = gp_values(c, 1, 0), .g = c->ntmp > 1 ? c->tmpa[1] : gp_in(c, 0)};
    r.out = gp_out(c, 0), r.gw = gp_out(c, 1);
    gp_norm_read(c, r.x, 1, &r.k);
    r.gb = r.k.centred ? gp_out(c, 2) : NULL;
    r.load = gp_load_fn((gp_dtype)r.x->dtype, GP_CT_f64);
    r.g_load = gp_load_fn((gp_dtype)r.g->dtype, GP_CT_f64);
    r.store = gp_store_fn(GP_CT_f64, (gp_dtype)r.out->dtype);
    char *memory =
        gp_scratch(GP_SCRATCH_CALL, (size_t)(r.k.channels + 8 + 2 * r.k.rows) * sizeof(double));
    if (!memory) return gp_fail("%s: out of memory", c->op->name);
    r.wide = affine(gp_in(c, 3), GP_CT_f64, r.k.channels, memory, 0);
    r.mean = (double *)memory + r.k.channels + 8, r.scale = r.mean + r.k.rows;
    if (r.out->numel && !gp_parallel_op(c, r.k.rows, 1 + GRAIN / r.k.n, backward, &r)) return false;
    return gp_parallel_op(c, r.k.channels, 1 + GRAIN / (1 + r.out->numel / (1 + r.k.channels)), affine_gradients,
                &r) &&
           (!r.no_memory || gp_fail("%s: out of memory", c->op->name));
}

bool CPU(layer_norm_grad)(const gp_call *c) { return norm_gradient(c); }
bool CPU(rms_norm_grad)(const gp_call *c) { return norm_gradient(c); }
bool CPU(group_norm_grad)(const gp_call *c) { return norm_gradient(c); }
