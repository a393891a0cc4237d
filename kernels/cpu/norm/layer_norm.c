/* layer_norm, rms_norm and group_norm: rows of contiguous elements, read from memory once while they
 * fit the cache. */
#include "kernels/cpu/norm/layer_norm.h"

#include <math.h>

#include "kernels/cpu/runtime/scratch.h"

enum { GRAIN = 32768 };

typedef struct run {
    const gp_array *x, *out; /* contiguous: rows of n elements follow one another */
    gp_norm k;
    gp_ctype ct;
    gp_load load;
    gp_store store;
    void *weight, *bias; /* channels of compute type each, or NULL */
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
        int64_t first = row % k->groups * k->a_row;                                        \
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
        const void *x = gp_norm_row(r->x, &r->k, row);
        char *out = gp_norm_row(r->out, &r->k, row);
        void *y = direct ? out : buf;
        if (!direct) r->load(buf, x, xs, n), x = buf;
        if (r->ct == GP_CT_f32) normalise_f32(r, row, x, y);
        else normalise_f64(r, row, x, y);
        if (!direct) r->store(out, os, buf, n);
    }
}

void *gp_norm_affine(const gp_array *a, gp_ctype ct, int64_t channels, char *memory, int slot) {
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
    r.weight = gp_norm_affine(gp_in(c, 2), r.ct, r.k.channels, memory, 0);
    r.bias = r.k.centred ? gp_norm_affine(gp_in(c, 3), r.ct, r.k.channels, memory, 1) : NULL;
    return gp_parallel_op(c, r.k.rows, 1 + GRAIN / r.k.n, forward, &r) &&
           (!r.no_memory || gp_fail("%s: out of memory", c->op->name));
}

bool CPU(layer_norm)(const gp_call *c) { return norm(c); }
bool CPU(rms_norm)(const gp_call *c) { return norm(c); }
bool CPU(group_norm)(const gp_call *c) { return norm(c); }
