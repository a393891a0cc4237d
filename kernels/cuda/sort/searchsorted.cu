/* searchsorted and bucketize: positions of values in sorted lines. Limit: a dependent read for each
 * halving of a line; all values share the first halvings in the caches. */
#include "kernels/cuda/sort/keys.cuh"

/* Both sides are contiguous and of one dtype. NaN is the largest, as in sort. */
typedef struct search {
    const char *lines, *values;
    char *out;
    int64_t n, m, size, numel; /* elements per line; values per line; bytes of an element; values */
    bool one;                  /* a single line serves all values */
    bool right, narrow;        /* narrow: the output is i32 */
    gp_dtype dt;
} search;

static __global__ void find(search s) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x, lo = 0;
    if (i >= s.numel) return;
    uint64_t v = gp_key_at(s.values + i * s.size, s.dt);
    const char *line = s.lines + (s.one ? 0 : i / s.m * s.n * s.size);
    for (int64_t n = s.n; n > 0;) {
        int64_t half = n / 2;
        uint64_t k = gp_key_at(line + (lo + half) * s.size, s.dt);
        if (s.right ? k <= v : k < v) lo += half + 1, n -= half + 1;
        else n = half;
    }
    if (s.narrow) ((int32_t *)s.out)[i] = (int32_t)(lo + 1);
    else ((int64_t *)s.out)[i] = lo + 1;
}

/* c->tmp: the sequence and the values, in one dtype. */
static bool run(const gp_call *c) {
    const gp_array *lines = c->tmpa[0], *values = c->tmpa[1], *out = gp_out(c, 0);
    search s = {lines->data,
                values->data,
                out->data,
                lines->dim[lines->ndim - 1],
                values->ndim ? values->dim[values->ndim - 1] : 1,
                gp_dtype_sizes[lines->dtype],
                out->numel,
                lines->ndim == 1,
                gp_given(c, 3) && c->arg[3].i,
                out->dtype == GP_i32,
                (gp_dtype)lines->dtype};
    return GP_LAUNCH(c, find, gp_blocks(s.numel), GP_THREADS, 0, s);
}

GP_C bool CUDA(searchsorted)(const gp_call *c) { return run(c); }
GP_C bool CUDA(bucketize)(const gp_call *c) { return run(c); }
