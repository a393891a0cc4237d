/* Channels of images: lines of `each` adjacent elements of x, and of an incoming gradient g. Sums
 * of each line, which group_norm's gradient joins to those of rows and batch_norm to those of
 * channels; and then every element's result, a linear function of its x and g. group_norm's
 * gradient of 32x64x112x112 took 381 us on an H100 by rows, 178 so. */
#ifndef GP_CUDA_CHANNELS_CUH
#define GP_CUDA_CHANNELS_CUH

#include "kernels/cuda/norm/affine.cuh"

/* The results of a line's elements: (x - mean) * a + g * k + b. */
typedef struct gp_linear {
    double mean, a, k, b;
} gp_linear;

/* Sums and results of lines, of K inputs, x and g. See lines.cuh for what a rule has. */
template <class T, int K> struct gp_channel_rule {
    enum { INPUTS = K };
    typedef gp_norm_sums<T> sum;
    __device__ static sum start() { return sum{}; }
    __device__ static T none() { return 0; }
    __device__ static int needed() { return K; }
    template <int N, class P>
    __device__ void add(sum &a, const T (&x)[K][N], int many, const P &) const {
        a.join(gp_norm_sums_of(x[0], x[K - 1], many, true));
    }
    template <int N, class P>
    __device__ void results(const gp_linear &f, T (&x)[K][N], const P &) const {
#pragma unroll
        for (int e = 0; e < N; e++)
            x[0][e] = (x[0][e] - (T)f.mean) * (T)f.a + (K > 1 ? x[K - 1][e] * (T)f.k : 0) + (T)f.b;
    }
};

/* Line i's results are by functions[i % period]. */
template <class T, int D, int V, int K>
static __global__ void __launch_bounds__(GP_THREADS)
    gp_write_channels(gp_loop<1 + K> l, gp_norm_lines<1 + K> p, gp_split s,
                      const gp_linear *functions, uint32_t period) {
    gp_split_part own(s, p.n, true);
    gp_write_part_of<T, D, V>(l, p, gp_channel_rule<T, K>{},
                              functions[own.live ? own.line % period : 0], own);
}

/* Writes the results of the lines of l by the functions, `period` of them, that join(c, sums, their
 * division, functions) queues. sums: of the lines, or NULL unless `summed`. False with a message.
 */
template <class T, int D, int V, int N, class J>
static bool gp_run_channels_by(const gp_call *c, const gp_loop<N> &l, const gp_norm_lines<N> &p,
                               bool summed, uint32_t period, const J &join) {
    typedef gp_channel_rule<T, N - 1> rule;
    gp_split s = gp_split_of(p.n, l.numel, V, gp_part_elements<T, D, V> / V);
    auto sum = gp_sum_parts<T, D, V, rule>;
    auto write = gp_write_channels<T, D, V, N - 1>;
    gp_norm_sums<T> *sums = NULL;
    if (summed && (!(sums = (gp_norm_sums<T> *)gp_cuda_scratch(c, s.all * sizeof *sums)) ||
                   !GP_LAUNCH(c, sum, gp_split_blocks(s), GP_THREADS, 0, l, p, s, rule{}, sums)))
        return false;
    gp_linear *functions = (gp_linear *)gp_cuda_scratch(c, period * sizeof *functions);
    return functions && join(c, (const gp_norm_sums<T> *)sums, s, functions) &&
           GP_LAUNCH(c, write, gp_split_blocks(s), GP_THREADS, 0, l, p, s, functions, period);
}
template <class T, int D, int N, class J>
static bool gp_run_channels(const gp_call *c, const gp_loop<N> &l, const gp_norm_lines<N> &p,
                            bool summed, uint32_t period, const J &join) {
    if constexpr (D != GP_ANY) {
        enum { SIZE = sizeof(typename gp_memory<D>::type), V = 16 / SIZE };
        if (p.n % V == 0 && gp_rows_align(l, p, SIZE, true))
            return gp_run_channels_by<T, D, V>(c, l, p, summed, period, join);
    }
    return gp_run_channels_by<T, D, 1>(c, l, p, summed, period, join);
}

#endif
