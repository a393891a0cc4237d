/* Batches of matrix products, and how libraries read their matrices: for the CPU's kernels and
 * CUDA's. Strides in elements. */
#ifndef GP_BATCH_H
#define GP_BATCH_H

#include <limits.h>

#include "tensor/op.h"

/* One product, m x k by k x n, and the dims of the batch, from the outermost. */
typedef struct gp_batch {
    int64_t m, n, k, a_rs, a_cs, b_rs, b_cs;
    int ndim;
    int64_t dim[GP_MAX_DIM], as[GP_MAX_DIM], bs[GP_MAX_DIM];
} gp_batch;

/* How a library may read a matrix in place: by rows, or by columns (*trans), *ld elements apart. */
static inline bool gp_readable(int64_t rows, int64_t cols, int64_t rs, int64_t cs, bool *trans,
                               int64_t *ld) {
    if ((cs == 1 || cols == 1) && (rs >= cols || rows == 1)) {
        *trans = false;
        *ld = rows == 1 || rs < cols ? cols : rs;
    } else if ((rs == 1 || rows == 1) && (cs >= rows || cols == 1)) {
        *trans = true;
        *ld = cols == 1 || cs < rows ? rows : cs;
    } else {
        return false;
    }
    return *ld <= INT_MAX && rows <= INT_MAX && cols <= INT_MAX;
}

/* Vectors become a matrix of one row (a) or one column (b). */
static inline void gp_batch_matrix(const gp_array *x, bool column, int64_t *rows, int64_t *cols,
                                   int64_t *rs, int64_t *cs) {
    int n = x->ndim;
    *rows = *cols = *rs = *cs = 1;
    if (n == 1 && column) *rows = x->dim[0], *rs = x->stride[0];
    else *cols = x->dim[n - 1], *cs = x->stride[n - 1];
    if (n > 1) *rows = x->dim[n - 2], *rs = x->stride[n - 2];
    else if (!column) *rs = *cols;
}

static inline int64_t gp_batch_stride(const gp_array *x, int from_end) {
    int d = x->ndim - 3 - from_end;
    return d < 0 || x->dim[d] == 1 ? 0 : x->stride[d];
}

/* Turns batches of a over one b into more rows of a, where a's memory allows; other dims are joined
 * where both allow. */
static inline void gp_batch_fold(gp_batch *t) {
    while (t->ndim) {
        int d = t->ndim - 1;
        int64_t rs = t->m == 1 ? t->as[d] : t->a_rs;
        if (t->bs[d] || t->as[d] != t->m * rs || !rs) break;
        t->a_rs = rs;
        t->m *= t->dim[d];
        t->ndim--;
    }
    for (int d = t->ndim - 2; d >= 0; d--) {
        if (t->as[d] != t->as[d + 1] * t->dim[d + 1] || t->bs[d] != t->bs[d + 1] * t->dim[d + 1])
            continue;
        t->dim[d] *= t->dim[d + 1];
        t->as[d] = t->as[d + 1], t->bs[d] = t->bs[d + 1];
        for (int i = d + 1; i < t->ndim - 1; i++)
            t->dim[i] = t->dim[i + 1], t->as[i] = t->as[i + 1], t->bs[i] = t->bs[i + 1];
        t->ndim--;
    }
}

/* The products of a and b; dims of size 1 are left out. */
static inline void gp_batch_read(gp_batch *t, const gp_array *a, const gp_array *b,
                                 const gp_array *out) {
    int n = out->ndim - (a->ndim > 1) - (b->ndim > 1);
    gp_batch_matrix(a, false, &t->m, &t->k, &t->a_rs, &t->a_cs);
    gp_batch_matrix(b, true, &t->k, &t->n, &t->b_rs, &t->b_cs);
    t->ndim = 0;
    for (int d = 0; d < n; d++) {
        if (out->dim[d] == 1) continue;
        t->dim[t->ndim] = out->dim[d];
        t->as[t->ndim] = gp_batch_stride(a, n - 1 - d);
        t->bs[t->ndim++] = gp_batch_stride(b, n - 1 - d);
    }
    gp_batch_fold(t);
}

/* How many products the outermost `dims` dims make; where the i-th of them has its a and b. */
static inline int64_t gp_batch_count(const gp_batch *t, int dims) {
    int64_t n = 1;
    for (int d = 0; d < dims; d++) n *= t->dim[d];
    return n;
}
static inline void gp_batch_at(const gp_batch *t, int dims, int64_t i, int64_t *a, int64_t *b) {
    *a = *b = 0;
    for (int d = dims - 1; d >= 0; d--) {
        *a += i % t->dim[d] * t->as[d];
        *b += i % t->dim[d] * t->bs[d];
        i /= t->dim[d];
    }
}

#endif
