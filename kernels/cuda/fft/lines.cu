/* Kernels for the lines of Fourier transforms before and after cuFFT. Limit: their bytes at the
 * memory's speed. */
#include "kernels/cuda/fft/fft.h"

#include "kernels/cuda/runtime/loop.cuh"

enum { AHEAD = 4 }; /* numbers of a thread, which are all read before the first is written */

/* Calls get(number, place among AHEAD) for a thread's numbers of `total`, then put in the same way.
 */
template <class G, class P>
__device__ static inline void each_ahead(int64_t total, G get, P store) {
    int64_t first = (int64_t)blockIdx.x * (AHEAD * GP_THREADS) + threadIdx.x;
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
        if (first + k * GP_THREADS < total) get(first + k * GP_THREADS, k);
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
        if (first + k * GP_THREADS < total) store(first + k * GP_THREADS, k);
}

/* A complex number, read and written at once. */
template <class T> struct alignas(2 * sizeof(T)) pair { T re, im; };

template <class T>
__global__ static void spectra(const pair<T> *from, int64_t total, int64_t n,
                               gp_wide_divider wanted, int64_t have, bool conj, T scale,
                               pair<T> *to) {
    pair<T> p[AHEAD];
    bool flip[AHEAD]; /* the imaginary part */
    each_ahead(
        total,
        [&](int64_t i, int k) {
            int64_t at = i, line = gp_divide(wanted, &at);
            bool mirrored = at >= have;
            p[k] = from[line * have + (mirrored ? n - at : at)];
            flip[k] = mirrored != conj;
        },
        [&](int64_t i, int k) {
            T im = scale * p[k].im;
            to[i] = {scale * p[k].re, flip[k] ? -im : im};
        });
}
template <class T>
static bool run_spectra(const gp_call *c, const gp_fft_lines *f, const void *from, bool half,
                        bool conj, int64_t wanted, void *to) {
    int64_t total = f->lines * wanted, have = half ? f->n / 2 + 1 : f->n;
    return GP_LAUNCH(c, spectra<T>, gp_blocks(total, AHEAD * GP_THREADS), GP_THREADS, 0,
                     (const pair<T> *)from, total, f->n, gp_divide_up_to(total, wanted), have, conj,
                     (T)f->scale, (pair<T> *)to);
}
GP_C bool gp_fft_spectra(const gp_call *c, const gp_fft_lines *f, const void *from, bool half,
                         bool conj, int64_t wanted, void *to) {
    return f->wide ? run_spectra<double>(c, f, from, half, conj, wanted, to)
                   : run_spectra<float>(c, f, from, half, conj, wanted, to);
}

template <class T> __global__ static void real_ends(T *p, int64_t lines, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (i >= lines) return;
    p += i * 2 * (n / 2 + 1);
    p[1] = 0;
    if (n % 2 == 0) p[n + 1] = 0;
}
GP_C bool gp_fft_real_ends(const gp_call *c, const gp_fft_lines *f, void *p) {
    unsigned n = gp_blocks(f->lines);
    return f->wide ? GP_LAUNCH(c, real_ends<double>, n, GP_THREADS, 0, (double *)p, f->lines, f->n)
                   : GP_LAUNCH(c, real_ends<float>, n, GP_THREADS, 0, (float *)p, f->lines, f->n);
}

template <class T>
__global__ static void scaled(const T *from, int64_t total, int64_t step, T scale, T *to) {
    T v[AHEAD];
    each_ahead(
        total, [&](int64_t i, int k) { v[k] = from[i * step]; },
        [&](int64_t i, int k) { to[i] = scale * v[k]; });
}
GP_C bool gp_fft_scaled(const gp_call *c, const gp_fft_lines *f, const void *from, int64_t step,
                        void *to) {
    int64_t n = f->lines * f->n;
    unsigned blocks = gp_blocks(n, AHEAD * GP_THREADS);
    return f->wide ? GP_LAUNCH(c, scaled<double>, blocks, GP_THREADS, 0, (const double *)from, n,
                               step, f->scale, (double *)to)
                   : GP_LAUNCH(c, scaled<float>, blocks, GP_THREADS, 0, (const float *)from, n,
                               step, (float)f->scale, (float *)to);
}
