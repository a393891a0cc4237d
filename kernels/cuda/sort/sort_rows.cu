/* argsort_rows: the order of a matrix's rows, by merging runs of them: each row finds its position
 * in the adjacent run. Limit: log2(rows) passes of as many comparisons, each up to where two rows
 * differ. */
#include "kernels/cuda/sort/keys.cuh"

typedef struct matrix {
    const char *x;
    int64_t width, size;
    uint32_t n;
    gp_dtype dt;
} matrix;

/* Whether row a comes before row b, where b comes first among equals. */
__device__ static bool before(const matrix &m, uint32_t a, uint32_t b) {
    const char *p = m.x + a * m.width * m.size, *q = m.x + b * m.width * m.size;
    for (int64_t i = 0; i < m.width; i++, p += m.size, q += m.size) {
        uint64_t k = gp_key_at(p, m.dt), l = gp_key_at(q, m.dt);
        if (k != l) return k < l;
    }
    return false;
}

static __global__ void number(uint32_t *at, uint32_t n) {
    uint32_t i = gp_element();
    if (i < n) at[i] = i;
}
static __global__ void from_one(int64_t *to, const uint32_t *at, uint32_t n) {
    uint32_t i = gp_element();
    if (i < n) to[i] = (int64_t)at[i] + 1;
}

/* Merges adjacent runs of `run` rows of `from` into `to`. */
static __global__ void merge(matrix m, const uint32_t *from, uint32_t *to, uint32_t run) {
    uint32_t i = gp_element();
    if (i >= m.n) return;
    uint32_t lo = i / run / 2 * 2 * run, mid = run < m.n - lo ? lo + run : m.n,
             hi = mid + (run < m.n - mid ? run : m.n - mid), row = from[i];
    bool left = i < mid;
    uint32_t a = left ? mid : lo, b = left ? hi : mid; /* the other run */
    while (a < b) {
        uint32_t k = a + (b - a) / 2;
        if (left ? before(m, from[k], row) : !before(m, row, from[k])) a = k + 1;
        else b = k;
    }
    to[left ? i + (a - mid) : i - mid + a] = row;
}

/* c->tmp[0] is x made contiguous. */
GP_C bool CUDA(argsort_rows)(const gp_call *c) {
    const gp_array *x = c->tmpa[0];
    int64_t n = x->dim[0];
    if (n == 0) return true;
    if (n > INT32_MAX / 2)
        return gp_fail("argsort_rows: %lld rows are more than one call takes (1073741823)",
                       (long long)n);
    matrix m = {x->data, x->dim[1], gp_dtype_sizes[x->dtype], (uint32_t)n, (gp_dtype)x->dtype};
    uint32_t *a = (uint32_t *)gp_cuda_scratch(c, (size_t)(2 * n) * 4), *b = a + n;
    if (!a || !GP_LAUNCH(c, number, gp_blocks(n), GP_THREADS, 0, a, m.n)) return false;
    for (uint32_t run = 1; run < m.n; run *= 2) {
        if (!GP_LAUNCH(c, merge, gp_blocks(n), GP_THREADS, 0, m, a, b, run)) return false;
        uint32_t *t = a;
        a = b, b = t;
    }
    return GP_LAUNCH(c, from_one, gp_blocks(n), GP_THREADS, 0, (int64_t *)gp_out(c, 0)->data, a,
                     m.n);
}
