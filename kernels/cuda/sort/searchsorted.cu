/* searchsorted and bucketize: positions of values in sorted lines. Limit: a dependent read for each
 * halving of a line; all values share the first halvings in the caches. Where one line serves many
 * values, blocks keep its keys in shared memory: the values and positions at the speed of memory,
 * and a read of shared memory for each halving. */
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

/* Keys of a line that a block keeps; values that a thread searches at once. */
enum { KEPT = 4096, EACH = 4 };

/* One line of at least one key for all values: each block keeps it and searches `per` values. */
template <class K, bool RIGHT>
static __global__ void __launch_bounds__(GP_THREADS) find_kept(search s, int64_t per) {
    __shared__ K line[KEPT];
    const int n = (int)s.n, size = gp_bytes_of(s.dt);
    for (int i = threadIdx.x; i < n; i += GP_THREADS)
        line[i] = (K)gp_key_at(s.lines + (int64_t)i * size, s.dt);
    __syncthreads();
    int64_t end = (blockIdx.x + (int64_t)1) * per;
    if (end > s.numel) end = s.numel;
    for (int64_t i = blockIdx.x * per + threadIdx.x; i < end; i += EACH * GP_THREADS) {
        uint64_t bits[EACH];
        K v[EACH];
        int lo[EACH] = {};
#pragma unroll
        for (int k = 0; k < EACH; k++)
            bits[k] = gp_bits_at(
                s.values + (i + k * GP_THREADS < end ? i + k * GP_THREADS : i) * size, size);
#pragma unroll
        for (int k = 0; k < EACH; k++) v[k] = (K)gp_key_of(bits[k], s.dt);
        for (int left = n; left > 0;) { /* the position is lo … lo + left */
            int half = (left + 1) / 2;
#pragma unroll
            for (int k = 0; k < EACH; k++) {
                K key = line[lo[k] + half - 1];
                if (RIGHT ? key <= v[k] : key < v[k]) lo[k] += half;
            }
            left -= half;
        }
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            int64_t at = i + k * GP_THREADS;
            if (at >= end) break;
            if (s.narrow) ((int32_t *)s.out)[at] = lo[k] + 1;
            else ((int64_t *)s.out)[at] = lo[k] + 1;
        }
    }
}

/* A block searches several values for each key that it keeps. */
static bool run_kept(const gp_call *c, const search &s) {
    enum { LEAST = EACH * GP_THREADS };
    int64_t per = (4 * s.n + LEAST - 1) / LEAST * LEAST;
    bool wide = gp_key_bits(s.dt) > 32;
    auto kernel = wide ? (s.right ? find_kept<uint64_t, true> : find_kept<uint64_t, false>)
                       : (s.right ? find_kept<uint32_t, true> : find_kept<uint32_t, false>);
    return GP_LAUNCH(c, kernel, gp_blocks(s.numel, per), GP_THREADS, 0, s, per);
}

/* c->tmp: the sequence and the values, in one dtype. */
static bool search_all(const gp_call *c) {
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
    if (s.one && s.n > 0 && s.n <= KEPT && s.numel >= 4 * s.n) return run_kept(c, s);
    return GP_LAUNCH(c, find, gp_blocks(s.numel), GP_THREADS, 0, s);
}

GP_C bool CUDA(searchsorted)(const gp_call *c) { return search_all(c); }
GP_C bool CUDA(bucketize)(const gp_call *c) { return search_all(c); }
