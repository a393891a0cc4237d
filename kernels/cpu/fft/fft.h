/* Plans and passes of Fourier transforms: many lines of one length at once, real and imaginary
 * parts separate. */
#ifndef GP_CPU_FFT_H
#define GP_CPU_FFT_H

#include "kernels/cpu/runtime/kernel.h"

enum { GP_FFT_STAGES = 64 };

/* How to transform n complex numbers in compute type ct. Read-only once made; all threads share
 * it. */
typedef struct gp_fft_plan {
    int64_t n;
    gp_ctype ct;
    bool real;  /* for real lines: n is then half their even length, and `turn` is set */
    int stages; /* of radix[i]; 0 with Bluestein */
    int radix[GP_FFT_STAGES];
    char *twiddle[GP_FFT_STAGES]; /* [radix - 1][n_i / radix] real parts, then imaginary ones */
    char *turn; /* exp(-2 pi i k / (2 n)), k = 0 … n: real parts, then imaginary ones */
    /* Bluestein: a convolution of length `long_n`, for n with a prime factor above 5. */
    struct gp_fft_plan *inner;
    int64_t long_n;
    char *chirp;    /* exp(-pi i j^2 / n), j < n */
    char *response; /* its conjugate's transform, over long_n */
    void *memory;   /* holds the tables */
    size_t bytes;   /* of memory, inner's included */
    int users;      /* holders; counted by the cache */
    uint64_t used;  /* time of its last use */
} gp_fft_plan;

/* A plan for n complex numbers (real: for a real line of 2 n), from the cache or made. NULL: out of
 * memory, or stopped. Release it by gp_fft_done. */
#define gp_fft_plan_get GP_NAME(gp_fft_plan_get)
gp_fft_plan *gp_fft_plan_get(int64_t n, gp_ctype ct, bool real);
#define gp_fft_done GP_NAME(gp_fft_done)
void gp_fft_done(gp_fft_plan *p);

/* Elements that each of the four buffers needs for `lanes` lines. */
static inline int64_t gp_fft_buffer_size(const gp_fft_plan *p, int64_t lanes) {
    return (p->inner ? p->long_n : p->n) * lanes;
}

/* Real and imaginary parts of lines, and space of the same size; each of gp_fft_buffer_size
 * elements of compute type. */
typedef struct gp_fft_buffers {
    char *re, *im, *re2, *im2;
} gp_fft_buffers;
/* A line of n pairs, dense and of compute type, that a run of one lane reads (`from`) or writes
 * (`to`, scaled) instead of the buffers; NULL: not that one. Exchanged: imaginary parts come
 * first. */
typedef struct gp_fft_pairs {
    const void *from;
    void *to;
    double scale;
    bool exchanged;
} gp_fft_pairs;
/* Whether a plan's runs take pairs. */
static inline bool gp_fft_takes_pairs(const gp_fft_plan *p) { return p->stages > 1; }

/* Transforms `lanes` lines, element j of line q at [j * lanes + q], forward and not scaled;
 * exchange re and im for the inverse. The result is in either pair: re and im then point to it, re2
 * and im2 to the free buffers. False, without a message, if it was stopped. */
#define gp_fft_run GP_NAME(gp_fft_run)
bool gp_fft_run(const gp_fft_plan *p, int64_t lanes, gp_fft_buffers *b, gp_fft_pairs pairs);

/* One Stockham pass of a radix: m = n_i / radix, s = product of the radices before, times lanes. */
typedef void (*gp_fft_pass)(int64_t m, int64_t s, const void *xr, const void *xi, void *yr,
                            void *yi, const void *twiddle);
#define gp_fft_pass_of GP_NAME(gp_fft_pass_of)
gp_fft_pass gp_fft_pass_of(gp_ctype ct, int radix);
/* The first pass of one lane (s = 1) from pairs, and the last (m = 1) to pairs. */
typedef void (*gp_fft_first)(int64_t m, const void *pairs, bool exchanged, void *yr, void *yi,
                             const void *twiddle);
#define gp_fft_first_of GP_NAME(gp_fft_first_of)
gp_fft_first gp_fft_first_of(gp_ctype ct, int radix);
typedef void (*gp_fft_last)(int64_t s, const void *xr, const void *xi, void *pairs, double scale,
                            bool exchanged);
#define gp_fft_last_of GP_NAME(gp_fft_last_of)
gp_fft_last gp_fft_last_of(gp_ctype ct, int radix);

#endif
