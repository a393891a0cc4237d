/* var and std: mean and squared distances per block in f64, joined as they come; neighbouring
 * outputs are computed side by side. */
#include <math.h>

#include "kernels/kernel.h"

enum { COLUMNS = 64, GRAIN = 16384 };

typedef struct run {
    gp_loop kept; /* out and x over the dims that stay */
    int nred;
    int64_t dim[GP_MAX_DIM], stride[GP_MAX_DIM]; /* the others; bytes of x */
    int64_t count;
    bool rows,
        root; /* rows: the elements of one output lie closer together than those of its neighbour */
    double divisor;
    gp_load load;
    gp_store store;
} run;

static const char *reduced_at(const run *r, const char *p, int64_t i) {
    for (int d = r->nred - 1; d >= 0; d--) p += i % r->dim[d] * r->stride[d], i /= r->dim[d];
    return p;
}

/* n more elements for mean and m2 of `had`. Source: Chan, Golub and LeVeque, 1979. */
static void join(double *mean, double *m2, double had, const double *x, int64_t n) {
    double s = 0, q = 0, first = x[0];
    for (int64_t i = 0; i < n; i++) s += x[i] - first;
    double own = first + s / (double)n, all = had + (double)n, d = own - *mean;
    for (int64_t i = 0; i < n; i++) q += (x[i] - own) * (x[i] - own);
    *m2 += q + d * d * (had * (double)n / all);
    *mean += d * ((double)n / all);
}

static double one_output(const run *r, const char *p) {
    double buf[GP_BLOCK], mean = 0, m2 = 0;
    int64_t width = r->dim[r->nred - 1], step = r->stride[r->nred - 1];
    for (int64_t at = 0; at < r->count;) {
        int64_t col = at % width, n = width - col < GP_BLOCK ? width - col : GP_BLOCK;
        r->load(buf, reduced_at(r, p, at), step, n);
        join(&mean, &m2, (double)at, buf, n);
        at += n;
    }
    return m2;
}

/* w outputs side by side: sums of distances from each column's first element. */
static void columns(const run *r, const char *p, int64_t w, double *m2) {
    double first[COLUMNS], x[COLUMNS], s[COLUMNS] = {0}, q[COLUMNS] = {0};
    int64_t step = r->kept.stride[1][r->kept.ndim - 1];
    if (r->count) r->load(first, p, step, w);
    for (int64_t i = 0; i < r->count; i++) {
        r->load(x, reduced_at(r, p, i), step, w);
        for (int64_t j = 0; j < w; j++) {
            double d = x[j] - first[j];
            s[j] += d;
            q[j] += d * d;
        }
    }
    for (int64_t j = 0; j < w; j++)
        m2[j] = r->count ? fmax(q[j] - s[j] * (s[j] / (double)r->count), s[j] - s[j]) : 0;
}

static void outputs(void *ctx, int64_t begin, int64_t end) {
    const run *r = ctx;
    int last = r->kept.ndim - 1;
    int64_t width = r->kept.dim[last];
    for (int64_t at = begin; at < end;) {
        char *p[GP_LOOP_MAX];
        double v[COLUMNS];
        int64_t left = width - at % width < end - at ? width - at % width : end - at,
                w = r->rows          ? 1
                    : left < COLUMNS ? left
                                     : COLUMNS;
        gp_loop_at(&r->kept, at, p);
        if (r->rows) v[0] = one_output(r, p[1]);
        else columns(r, p[1], w, v);
        for (int64_t j = 0; j < w; j++)
            v[j] = r->root ? sqrt(v[j] / r->divisor) : v[j] / r->divisor;
        r->store(p[0], r->kept.stride[0][last], v, w);
        at += w;
    }
}

/* Arguments: x, a mask of dims, correction, keepdim. */
static bool moments(const gp_call *c, bool root) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0);
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)x->dtype), mask = c->arg[1].i;
    gp_array kept = *x, dense = *out;
    run r = {.count = 1,
             .root = root,
             .load = gp_load_fn((gp_dtype)x->dtype, GP_CT_f64),
             .store = gp_store_fn(GP_CT_f64, (gp_dtype)out->dtype)};
    kept.ndim = 0;
    for (int d = 0; d < x->ndim; d++) {
        if (mask >> d & 1) {
            r.count *= x->dim[d];
            r.dim[r.nred] = x->dim[d], r.stride[r.nred++] = x->stride[d] * size;
        } else {
            kept.dim[kept.ndim] = dense.dim[kept.ndim] = x->dim[d],
            kept.stride[kept.ndim++] = x->stride[d];
        }
    }
    if (out->numel == 0) return true;
    if (!r.nred) r.dim[r.nred] = 1, r.stride[r.nred++] = 0;
    dense.ndim = kept.ndim;
    int64_t step = 1;
    for (int d = dense.ndim - 1; d >= 0; d--) dense.stride[d] = step, step *= dense.dim[d];
    kept.numel = dense.numel = out->numel;
    gp_loop_init(&r.kept, 2, (const gp_array *[]){&dense, &kept});
    r.rows = out->numel == 1 || r.stride[r.nred - 1] <= r.kept.stride[1][r.kept.ndim - 1];
    double correction = c->arg[2].is_float ? c->arg[2].f : (double)c->arg[2].i;
    r.divisor = fmax(0, (double)r.count - correction);
    gp_parallel(out->numel, 1 + GRAIN / (1 + r.count), outputs, &r);
    return true;
}

bool CPU(var)(const gp_call *c) { return moments(c, false); }
bool CPU(std)(const gp_call *c) { return moments(c, true); }
