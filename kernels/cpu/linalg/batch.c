/* Batches of matrices for LAPACK: a batch is divided among the pool's threads, each matrix on one;
 * a single large matrix may use them all. */
#include "kernels/cpu/linalg/batch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/layout/transpose.h"

enum {
    UNIT = 1 << 15,  /* operations worth a thread */
    ALONE = 1 << 29, /* below which one thread is faster: OpenBLAS's own threads wait for each other
                        in many small steps */
    TILE = 16
};

gp_matrices gp_matrices_of(const gp_array *x, bool vectors, const gp_array *result, int ndim) {
    int own = vectors ? 1 : 2, n = x->ndim;
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)x->dtype);
    gp_matrices m = {.data = x->data, .size = size, .ndim = ndim};
    m.rows = (int)x->dim[n - own];
    m.rs = x->stride[n - own] * size;
    m.cols = vectors ? 1 : (int)x->dim[n - 1];
    m.cs = vectors ? size : x->stride[n - 1] * size;
    for (int d = 0; d < ndim; d++) {
        int from = d - ndim + n - own;
        m.dim[d] = result->dim[d];
        m.stride[d] = from < 0 || x->dim[from] == 1 ? 0 : x->stride[from] * size;
    }
    return m;
}

const char *gp_matrix_at(const gp_matrices *m, int64_t i) {
    const char *p = m->data;
    for (int d = m->ndim - 1; d >= 0; d--) p += i % m->dim[d] * m->stride[d], i /= m->dim[d];
    return p;
}

/* ---- copies ---- */

/* In tiles, so that both sides' cache lines are used whole. */
#define MOVE(T, bits)                                                                              \
    static void tiles_##bits(T *to, int64_t ld, const char *from, int64_t rows, int64_t cols,      \
                             int64_t rs, int64_t cs) {                                             \
        for (int64_t i0 = 0; i0 < rows; i0 += TILE)                                                \
            for (int64_t j0 = 0; j0 < cols; j0 += TILE) {                                          \
                int64_t i1 = i0 + TILE < rows ? i0 + TILE : rows,                                  \
                        j1 = j0 + TILE < cols ? j0 + TILE : cols;                                  \
                for (int64_t i = i0; i < i1; i++)                                                  \
                    for (int64_t j = j0; j < j1; j++)                                              \
                        to[i * ld + j] = *(const T *)(from + i * rs + j * cs);                     \
            }                                                                                      \
    }
MOVE(int32_t, 32)
MOVE(int64_t, 64)

static void move(char *to, int64_t ld, const char *from, int64_t rows, int64_t cols, int64_t rs,
                 int64_t cs, int64_t size) {
    if (cs == size)
        for (int64_t i = 0; i < rows; i++)
            memcpy(to + i * ld * size, from + i * rs, (size_t)(cols * size));
    else if (rs == size) gp_transpose(to, ld * size, from, cs, rows, cols, (size_t)size, false);
    else if (size == 4) tiles_32((int32_t *)to, ld, from, rows, cols, rs, cs);
    else tiles_64((int64_t *)to, ld, from, rows, cols, rs, cs);
}

void gp_gather(void *to, int64_t ld, const gp_matrices *m, int64_t i) {
    move(to, ld, gp_matrix_at(m, i), m->rows, m->cols, m->rs, m->cs, m->size);
}

void gp_gather_columns(void *to, int64_t ld, const gp_matrices *m, int64_t i) {
    move(to, ld, gp_matrix_at(m, i), m->cols, m->rows, m->cs, m->rs, m->size);
}

void gp_transpose_copy(void *to, const void *from, int64_t ld, int64_t rows, int64_t cols,
                       int64_t size) {
    move(to, cols, from, rows, cols, size, ld * size, size);
}

/* x - x is NaN for NaN and infinities, and otherwise 0. bad is as wide as T: the loop becomes one
 * of vectors, which a sum of T, whose order is fixed, does not. */
#define FINITE(T, t, U)                                                                            \
    static bool finite_##t(const T *p, int64_t n) {                                                \
        U bad = 0;                                                                                 \
        for (int64_t i = 0; i < n; i++) bad |= p[i] - p[i] != 0;                                   \
        return !bad;                                                                               \
    }
FINITE(float, f32, uint32_t)
FINITE(double, f64, uint64_t)

bool gp_finite(const void *p, int64_t n, int64_t size) {
    return size == 4 ? finite_f32(p, n) : finite_f64(p, n);
}

/* By rows if they are `size` apart, or by columns, else one by one. */
static bool finite_at(const gp_matrices *m, int64_t i) {
    const char *p = gp_matrix_at(m, i);
    bool columns = m->cs != m->size;
    int64_t lines = columns ? m->cols : m->rows, step = columns ? m->cs : m->rs;
    int64_t n = columns ? m->rows : m->cols, separate = columns ? m->rs : m->cs;
    for (int64_t l = 0; l < lines; l++, p += step) {
        if (separate == m->size) {
            if (!gp_finite(p, n, m->size)) return false;
        } else {
            for (int64_t k = 0; k < n; k++)
                if (!gp_finite(p + k * separate, 1, m->size)) return false;
        }
    }
    return true;
}

/* ---- the batch ---- */

static void spoil(const gp_lapack *r, int64_t i) {
    for (int o = 0; r->spoilt >> o; o++) {
        const gp_array *out = gp_out(r->c, o);
        gp_dtype dt = (gp_dtype)out->dtype;
        int64_t n = r->spoilt >> o & 1 ? out->numel / r->count : 0,
                size = (int64_t)gp_dtype_size(dt);
        const gp_scalar none = {.is_float = gp_is_float(dt), .f = gp_is_float(dt) ? NAN : 0};
        for (int64_t k = i * n; k < (i + 1) * n; k++)
            gp_scalar_store(dt, out->data + k * size, none);
    }
}

/* Keeps the first matrix with a failure. */
static void note(gp_lapack *r, int64_t i, gp_lapack_outcome v) {
    int64_t bad = r->bad, mine = i * 8 + v;
    while ((bad < 0 || mine < bad) && !atomic_compare_exchange_weak(&r->bad, &bad, mine)) {
    }
}

static void some(gp_lapack *r, int64_t begin, int64_t end) {
    char *work = gp_scratch(GP_SCRATCH_PART, (size_t)r->bytes + 64);
    if (!work) {
        r->no_memory = true;
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        gp_lapack_outcome v = gp_stopped() ? GP_INTERRUPTED : r->one(r, i, work);
        if (v <= GP_TROUBLE && r->spoilt && !finite_at(&r->a, i)) spoil(r, i), v = GP_FINE;
        if (v == GP_FINE) continue;
        note(r, i, v);
        return;
    }
}

static void some_alone(void *ctx, int64_t begin, int64_t end) {
    gp_blas_threads(1);
    some(ctx, begin, end);
}

/* "linalg.inv" of "linalg_inv". */
static const char *name_of(const gp_call *c, char *buf, size_t n) {
    snprintf(buf, n, "%s", c->op->name);
    if (!strncmp(buf, "linalg_", 7)) buf[6] = '.';
    return buf;
}

/* "the matrix", or "matrix [2][1] of the batch". */
static const char *which(const gp_lapack *r, char *buf, size_t n) {
    int64_t rest = r->bad / 8, at[GP_MAX_DIM];
    if (!r->batch) return "the matrix";
    for (int d = r->batch - 1; d >= 0; d--) at[d] = rest % r->dim[d] + 1, rest /= r->dim[d];
    int used = snprintf(buf, n, "matrix ");
    for (int d = 0; d < r->batch && used < (int)n; d++)
        used += snprintf(buf + used, n - (size_t)used, "[%lld]", (long long)at[d]);
    if (used < (int)n) snprintf(buf + used, n - (size_t)used, " of the batch");
    return buf;
}

static bool report(const gp_lapack *r) {
    char name[40], matrix[200];
    const char *op = name_of(r->c, name, sizeof name);
    if (r->no_memory) return gp_fail("%s: out of memory", op);
    if (r->bad < 0) return true;
    const char *of = which(r, matrix, sizeof matrix);
    switch ((gp_lapack_outcome)(r->bad % 8)) {
    case GP_INTERRUPTED: return gp_fail("%s: interrupted", op);
    case GP_NOT_FINITE: return gp_fail("%s: %s contains NaN or infinite elements", op, of);
    case GP_TROUBLE: return gp_fail("%s: %s %s", op, of, r->trouble);
    default: return gp_fail("%s: LAPACK refused %s", op, of);
    }
}

gp_lapack gp_lapack_begin(const gp_call *c) {
    const gp_array *x = gp_in(c, 0);
    gp_lapack r = {.c = c, .count = 1, .batch = x->ndim - 2, .dim = x->dim, .bad = -1};
    r.a = gp_matrices_of(x, false, x, r.batch);
    for (int d = 0; d < r.batch; d++) r.count *= x->dim[d];
    r.m = r.a.rows;
    r.n = r.a.cols;
    r.k = r.m < r.n ? r.m : r.n;
    r.flops = (int64_t)r.m * r.n * r.k;
    return r;
}

gp_lapack gp_lapack_equations(const gp_call *c, bool vectors) {
    const gp_array *a = gp_in(c, 0), *b = gp_in(c, 1), *x = gp_out(c, 0);
    bool same = b->ndim == a->ndim - 1;
    for (int i = 0; same && i < b->ndim; i++) same = b->dim[i] == a->dim[i];
    vectors = vectors && (b->ndim == 1 || same);
    gp_lapack r = gp_lapack_begin(c);
    r.batch = x->ndim - (vectors ? 1 : 2);
    r.dim = x->dim;
    r.a = gp_matrices_of(a, false, x, r.batch);
    r.b = gp_matrices_of(b, vectors, x, r.batch);
    r.count = 1;
    for (int d = 0; d < r.batch; d++) r.count *= x->dim[d];
    return r;
}

bool gp_lapack_run(gp_lapack *r) {
    char name[40];
    if (r->count == 0) return true;
    if (!gp_blas_open()) return false;
    if (gp_offload_wanted(r->c, (double)r->flops))
        return gp_offload_run(r->c, name_of(r->c, name, sizeof name));
    if (r->count >= gp_threads() || r->flops < (r->alone ? r->alone : ALONE)) {
        gp_parallel(r->count, 1 + UNIT / (r->flops + 1), some_alone, r);
    } else {
        gp_blas_threads(r->threads ? r->threads : gp_threads());
        some(r, 0, r->count);
        gp_blas_joined();
    }
    return report(r);
}
