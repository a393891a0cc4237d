/* Few long rows, divided into parts that have a block each: how they are divided, and what is
 * joined from the parts of a row. Sizes alone decide the division and the order of joining: bits
 * do not depend on the card. */
#ifndef GP_CUDA_PARTS_CUH
#define GP_CUDA_PARTS_CUH

#include "kernels/cuda/runtime/rows.cuh"

/* Rows from GP_LONG elements on, GP_FEW at most, have parts of GP_PART elements or more, GP_PARTS
 * at most. */
enum { GP_LONG = 1 << 16, GP_FEW = 64, GP_PART = 4096, GP_PARTS = 1024 };

static inline bool gp_few_long(int64_t n, int64_t rows) { return n >= GP_LONG && rows <= GP_FEW; }
/* The elements of a part of rows of n that are read V at once. */
static inline int64_t gp_part_size(int64_t n, int V) {
    int64_t part = (n + GP_PARTS - 1) / GP_PARTS, whole = GP_THREADS * V;
    return part < GP_PART ? (int64_t)GP_PART : (part + whole - 1) / whole * whole;
}
/* Blocks: parts in x and rows in y. */
static inline dim3 gp_part_grid(int64_t n, int64_t part, int64_t rows) {
    return dim3(gp_blocks(n, part), (uint32_t)rows);
}

/* This block's part of a row of n elements: `n` of them from `at` on. */
struct gp_part {
    int64_t at, n;
    __device__ gp_part(int64_t all, int64_t size, unsigned which = blockIdx.x) {
        at = which * size, n = all - at < size ? all - at : size;
    }
};

/* N sums. */
template <class T, int N> struct gp_sums {
    T v[N];
    __device__ void join(const gp_sums<T, N> &b) {
        for (int k = 0; k < N; k++) v[k] += b.v[k];
    }
};

/* The largest element so far and the sum of exp(x - m): NaN and infinities give the same as where m
 * is known before. Begins as {-INFINITY, 0}. */
template <class T> struct gp_exp_sum {
    T m, s;
    __device__ void add(T x) {
        if (x > m) s = s * exp(m - x) + (1 + (x - x)), m = x;
        else s += x == m ? 1 : exp(x - m);
    }
    /* Some elements, -INFINITY for those that there are not: independent exponentials of each, and
     * one of the sum so far. */
    template <int N> __device__ void add(const T (&x)[N]) {
        T most = m, sum = 0;
#pragma unroll
        for (int j = 0; j < N; j++) most = x[j] > most ? x[j] : most;
        T base = most == -(T)INFINITY ? 0 : most; /* exp(-INFINITY - base) is 0 */
#pragma unroll
        for (int j = 0; j < N; j++) sum += exp(x[j] - base);
        s = s * exp(m - base) + sum, m = most;
    }
    __device__ void join(const gp_exp_sum<T> &b) {
        T most = b.m > m ? b.m : m;
        s = (m == most ? s : s * exp(m - most)) + (b.m == most ? b.s : b.s * exp(b.m - most));
        m = most;
    }
};

/* Count, mean and sum of squared distances from it; where all means are 0, the sum of squares. */
template <class T> struct gp_moments {
    T n, mean, m2;
    /* Source: Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing
     * sample variances", 1979. */
    __device__ void join(const gp_moments<T> &b) {
        if (b.n == 0) return;
        T all = n + b.n, part = b.n / all, d = b.mean - mean;
        m2 += b.m2 + d * d * (n * part);
        mean += d * part;
        n = all;
    }
};

/* Joins a of all threads of a group, a power of two of them, the same result in each. Called by all
 * threads of the block. */
template <class A> __device__ static A gp_join_block(A a, unsigned group = GP_THREADS) {
    __shared__ A shared[GP_THREADS];
    __syncthreads(); /* the last call's result has been read */
    shared[threadIdx.x] = a;
    for (unsigned d = group / 2; d > 0; d /= 2) {
        __syncthreads();
        if ((threadIdx.x & (group - 1)) < d) shared[threadIdx.x].join(shared[threadIdx.x + d]);
    }
    __syncthreads();
    return shared[threadIdx.x & -group];
}

/* Writes what this block's threads have, joined, to its part's place. */
template <class A> __device__ static void gp_write_part(A *parts, A a) {
    a = gp_join_block(a);
    if (threadIdx.x == 0) parts[blockIdx.y * gridDim.x + blockIdx.x] = a;
}
/* Joins the `many` parts of a row to a, which has no elements yet. */
template <class A> __device__ static A gp_join_parts(const A *parts, unsigned many, A a) {
    for (unsigned k = threadIdx.x; k < many; k += GP_THREADS) a.join(parts[k]);
    return gp_join_block(a);
}

#endif
