/* multinomial: indices drawn by weight; and randperm. The numbers drawn are the CPU's. With
 * replacement each sample is searched for in the running sums of its row's weights; without, and
 * for randperm, everything is sorted by the time of its lot. Limit: the sums' three reads and two
 * writes, and the searches; the sort. */
#define GP_RNG_FN __device__ static inline
#include "kernels/cuda/runtime/rows.cuh"
#include "kernels/cuda/scan/scan.h"
#include "kernels/cuda/sort/cub.h"
#include "tensor/rng.h"

typedef struct lots {
    const char *x;
    gp_dtype dtype;
    int64_t rows, k, n;     /* weights and samples of a row */
    int64_t row_step, step; /* bytes between rows, between weights */
    uint64_t seed, counter;
    double *sum;  /* with replacement: rows x k running sums */
    int64_t *out; /* rows x n */
    gp_fault_at fault;
} lots;

enum { BAD_WEIGHT = 1, TOO_FEW = 2 };

/* The two words of element i. */
__device__ static inline uint64_t word(uint64_t seed, uint64_t counter, int64_t i) {
    uint32_t w[4];
    gp_philox(seed, counter, (uint64_t)(i / 2), w);
    return i & 1 ? w[2] | (uint64_t)w[3] << 32 : w[0] | (uint64_t)w[1] << 32;
}

__device__ static inline double weight(const lots &l, int64_t row, int64_t i) {
    double p = gp_load_as<double>(l.x + row * l.row_step + i * l.step, l.dtype);
    if (p >= 0 && p < INFINITY) return p;
    gp_fault_note(l.fault, BAD_WEIGHT);
    return 0;
}

static __global__ void __launch_bounds__(GP_THREADS) weigh_kernel(lots l) {
    uint32_t e = gp_element();
    if (e >= l.rows * l.k) return;
    int64_t row = gp_divided(e, l.k);
    l.sum[e] = weight(l, row, e - row * l.k);
}

/* A thread a sample: the first index at which the running sum exceeds a uniform part of the
 * total. */
static __global__ void __launch_bounds__(GP_THREADS) draw_kernel(lots l) {
    int64_t e = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (e >= l.rows * l.n) return;
    int64_t row = gp_divided(e, l.n), lo = 0, hi = l.k - 1;
    const double *p = l.sum + row * l.k;
    double all = p[hi], part = gp_uniform_f64(word(l.seed, l.counter, e)) * all;
    if (!(all > 0)) gp_fault_note(l.fault, TOO_FEW);
    while (lo < hi) {
        int64_t mid = (lo + hi) / 2;
        if (p[mid] > part) hi = mid;
        else lo = mid + 1;
    }
    /* Rounding must not lead past the last weight above 0. */
    while (lo > 0 && weight(l, row, lo) == 0) lo--;
    l.out[e] = lo + 1;
}

/* Exponential clocks with the weights as rates: in the order in which they ring, each is drawn from
 * the remaining ones in proportion to its weight. Positive floats are ordered as their bits. */
__global__ static void __launch_bounds__(GP_THREADS)
    clock_kernel(lots l, uint64_t *keys, uint32_t *at) {
    uint32_t e = gp_element();
    if (e >= l.rows * l.k) return;
    int64_t row = gp_divided(e, l.k);
    double p = weight(l, row, e - row * l.k), time;
    uint64_t key = ~(uint64_t)0;
    if (p > 0) {
        time = -gp_log_uniform(word(l.seed, l.counter, e)) / p;
        memcpy(&key, &time, 8);
    }
    keys[e] = key, at[e] = e;
}

__global__ static void __launch_bounds__(GP_THREADS)
    row_kernel(const uint32_t *at, uint32_t *rows, uint32_t many, uint32_t k) {
    uint32_t i = gp_element();
    if (i < many) rows[i] = at[i] / k;
}

/* Rows in order, each in the order of its clocks. */
__global__ static void __launch_bounds__(GP_THREADS) gather_kernel(lots l, const uint32_t *at) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x, row = gp_divided(i, l.n);
    if (row >= l.rows) return;
    int64_t index = at[row * l.k + (i - row * l.n)] - row * l.k;
    if (!(weight(l, row, index) > 0)) gp_fault_note(l.fault, TOO_FEW);
    l.out[i] = index + 1;
}

static bool with_replacement(const gp_call *c, lots l) {
    l.sum = (double *)gp_cuda_scratch(c, (size_t)(l.rows * l.k) * 8);
    return l.sum && GP_LAUNCH(c, weigh_kernel, gp_blocks(l.rows * l.k), GP_THREADS, 0, l) &&
           gp_cuda_running_sums(c, l.sum, l.rows, l.k) &&
           GP_LAUNCH(c, draw_kernel, gp_blocks(l.rows * l.n), GP_THREADS, 0, l);
}

static bool without_replacement(const gp_call *c, lots l) {
    int64_t many = l.rows * l.k;
    uint64_t *keys = (uint64_t *)gp_cuda_scratch(c, (size_t)many * 8);
    uint32_t *at = (uint32_t *)gp_cuda_scratch(c, (size_t)many * 4), *rows;
    if (!keys || !at || !GP_LAUNCH(c, clock_kernel, gp_blocks(many), GP_THREADS, 0, l, keys, at) ||
        !gp_cuda_sort64(c, &keys, &at, many, 64))
        return false;
    if (l.rows > 1) {
        rows = (uint32_t *)gp_cuda_scratch(c, (size_t)many * 4);
        if (!rows ||
            !GP_LAUNCH(c, row_kernel, gp_blocks(many), GP_THREADS, 0, at, rows, (uint32_t)many,
                       (uint32_t)l.k) ||
            !gp_cuda_sort32(c, &rows, &at, many, gp_bits((uint64_t)(l.rows - 1))))
            return false;
    }
    return GP_LAUNCH(c, gather_kernel, gp_blocks(l.rows * l.n), GP_THREADS, 0, l, at);
}

static bool few_enough(const gp_call *c, int64_t n) {
    return n <= INT32_MAX || gp_fail("%s: %lld elements are more than one call takes (2147483647)",
                                     c->op->name, (long long)n);
}

/* Arguments: x, num_samples, replacement. */
GP_C bool CUDA(multinomial)(const gp_call *c) {
    static const char *const texts[] = {
        "multinomial: a weight in 'x' is negative, infinite or NaN",
        "multinomial: a row of 'x' has fewer weights above 0 than samples to draw"};
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0);
    int64_t size = gp_dtype_sizes[x->dtype];
    lots l = {};
    if (out->numel == 0) return true;
    l.x = x->data, l.dtype = (gp_dtype)x->dtype;
    l.k = x->dim[x->ndim - 1], l.n = c->arg[1].i, l.rows = out->numel / l.n;
    l.step = x->stride[x->ndim - 1] * size, l.row_step = x->ndim == 2 ? x->stride[0] * size : 0;
    l.seed = c->seed, l.counter = c->counter;
    l.out = (int64_t *)(void *)out->data;
    if (!few_enough(c, l.rows * l.k)) return false;
    l.fault = gp_cuda_fault(c, texts, 2);
    return c->arg[2].i ? with_replacement(c, l) : without_replacement(c, l);
}

/* ---- randperm: the order of 64 random bits per element; ties keep their order ---- */

__global__ static void __launch_bounds__(GP_THREADS)
    bits_kernel(uint64_t *keys, uint32_t *at, uint32_t n, uint64_t seed, uint64_t counter) {
    uint32_t i = gp_element();
    if (i < n) keys[i] = word(seed, counter, i), at[i] = i;
}

__global__ static void __launch_bounds__(GP_THREADS)
    permuted_kernel(const uint32_t *at, char *out, gp_dtype dt, uint32_t n) {
    uint32_t i = gp_element();
    if (i < n) gp_store_as<int64_t>(out + (int64_t)i * gp_bytes_of(dt), dt, (int64_t)at[i] + 1);
}

GP_C bool CUDA(randperm)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0);
    int64_t n = out->numel;
    if (n == 0) return true;
    if (!few_enough(c, n)) return false;
    uint64_t *keys = (uint64_t *)gp_cuda_scratch(c, (size_t)n * 8);
    uint32_t *at = (uint32_t *)gp_cuda_scratch(c, (size_t)n * 4);
    return keys && at &&
           GP_LAUNCH(c, bits_kernel, gp_blocks(n), GP_THREADS, 0, keys, at, (uint32_t)n, c->seed,
                     c->counter) &&
           gp_cuda_sort64(c, &keys, &at, n, 64) &&
           GP_LAUNCH(c, permuted_kernel, gp_blocks(n), GP_THREADS, 0, at, out->data,
                     (gp_dtype)out->dtype, (uint32_t)n);
}
