/* The work on lines before and after cuFFT: consecutive and dense. */
#ifndef GP_CUDA_FFT_H
#define GP_CUDA_FFT_H

#include "kernels/cuda/runtime/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gp_fft_lines {
    bool wide;        /* f64 */
    int64_t lines, n; /* length of the transform */
    double scale;
} gp_fft_lines;

/* Stores spectra in `to`, times scale: all n pairs of each line, from as many or (half) from the
 * first n / 2 + 1, the rest being their conjugates; conj: all conjugated. wanted: pairs of a line
 * that are written. */
bool gp_fft_spectra(const gp_call *c, const gp_fft_lines *f, const void *from, bool half, bool conj,
                    int64_t wanted, void *to);
/* Makes the first pair of half spectra, and the last of an even length, real. */
bool gp_fft_real_ends(const gp_call *c, const gp_fft_lines *f, void *spectra);
/* Stores n numbers, `step` apart, times scale. */
bool gp_fft_scaled(const gp_call *c, const gp_fft_lines *f, const void *from, int64_t step,
                   void *to);

#ifdef __cplusplus
}
#endif
#endif
