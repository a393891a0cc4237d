/* What cuFFT leaves to be done with lines: one behind the other, dense. */
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

/* spectra to `to`, times scale: all n pairs of each line, from as many or (half) from the first n /
 * 2 + 1, the rest their conjugates; conj: all of it conjugated. wanted: pairs of a line that are
 * written. */
bool gp_fft_spectra(const gp_call *c, const gp_fft_lines *f, const void *from, bool half, bool conj,
                    int64_t wanted, void *to);
/* Half spectra's first pair, and the last of an even length, become real. */
bool gp_fft_real_ends(const gp_call *c, const gp_fft_lines *f, void *spectra);
/* n numbers, `step` apart, times scale. */
bool gp_fft_scaled(const gp_call *c, const gp_fft_lines *f, const void *from, int64_t step,
                   void *to);

#ifdef __cplusplus
}
#endif
#endif
