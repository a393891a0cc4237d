/* Kernels for the lines of Fourier transforms before and after cuFFT. Limit: their bytes at the
 * memory's speed. */
#include "kernels/cuda/fft/fft.h"

#include "kernels/cuda/runtime/rows.cuh"

/* A complex number, read and written at once. */
template <class T> struct alignas(2 * sizeof(T)) pair { T re, im; };

template <class T>
__global__ static void spectra(const pair<T> *from, int64_t total, int64_t n, int64_t wanted,
                               int64_t have, bool conj, T scale, pair<T> *to) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (i >= total) return;
    int64_t line = gp_divided(i, wanted), k = i - line * wanted;
    bool mirrored = k >= have;
    pair<T> p = from[line * have + (mirrored ? n - k : k)];
    T im = scale * p.im;
    to[i] = {scale * p.re, mirrored != conj ? -im : im};
}
template <class T>
static bool run_spectra(const gp_call *c, const gp_fft_lines *f, const void *from, bool half,
                        bool conj, int64_t wanted, void *to) {
    int64_t total = f->lines * wanted, have = half ? f->n / 2 + 1 : f->n;
    return GP_LAUNCH(c, spectra<T>, gp_blocks(total), GP_THREADS, 0, (const pair<T> *)from, total,
                     f->n, wanted, have, conj, (T)f->scale, (pair<T> *)to);
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
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (i < total) to[i] = scale * from[i * step];
}
GP_C bool gp_fft_scaled(const gp_call *c, const gp_fft_lines *f, const void *from, int64_t step,
                        void *to) {
    int64_t n = f->lines * f->n;
    return f->wide ? GP_LAUNCH(c, scaled<double>, gp_blocks(n), GP_THREADS, 0, (const double *)from,
                               n, step, f->scale, (double *)to)
                   : GP_LAUNCH(c, scaled<float>, gp_blocks(n), GP_THREADS, 0, (const float *)from,
                               n, step, (float)f->scale, (float *)to);
}
