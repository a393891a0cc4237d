/* Stockham passes of radix 2, 3, 4, 5 and 8: no bit reversal, every loop over adjacent elements.
 * Source: Van Loan, "Computational frameworks for the fast Fourier transform", 1992, section
 * 1.7. */
#include "kernels/cpu/fft/fft.h"
#include "kernels/cpu/fft/squares.h"

/* One butterfly: x[at + k step] to y[to + k gap] for k < radix, times twiddle k (for k > 0). IN and
 * OUT take k and the names of a real and an imaginary variable; ends.inc has its own. */
#define SPLIT_IN(k, r, i) T r = xr[at + (k)*step], i = xi[at + (k)*step]
#define SPLIT_OUT0(r, i) yr[to] = r, yi[to] = i
#define SPLIT_OUT(k, r, i)                                                                         \
    yr[to + (k)*gap] = (r)*WR(k) - (i)*WI(k), yi[to + (k)*gap] = (r)*WI(k) + (i)*WR(k)

/* Twiddles of p: loaded once per row where rows are long, with the data where they are one
 * element. */
#define WR(k) tr_##k
#define TWIDDLE(k) T tr_##k = w[((k)-1) * m + p], ti_##k = w[(R - 1 + (k)-1) * m + p];
#define TWIDDLES_2 TWIDDLE(1)
#define TWIDDLES_3 TWIDDLES_2 TWIDDLE(2)
#define TWIDDLES_4 TWIDDLES_3 TWIDDLE(3)
#define TWIDDLES_5 TWIDDLES_4 TWIDDLE(4)
#define TWIDDLES_8 TWIDDLES_5 TWIDDLE(5) TWIDDLE(6) TWIDDLE(7)
#define WI(k) ti_##k

/* sin(2 pi / 3); cosines and sines of 2 pi / 5 and 4 pi / 5; sqrt(1 / 2) */
#define SIN3 ((T)0.866025403784438646763723170752936183L)
#define COS5A ((T)0.309016994374947424102293417182819059L)
#define COS5B ((T)-0.809016994374947424102293417182819059L)
#define SIN5A ((T)0.951056516295153572116439333379382143L)
#define SIN5B ((T)0.587785252292473129168705954639072769L)
#define HALF ((T)0.707106781186547524400844362104849039L)

#define TEMPLATE "kernels/cpu/fft/passes.inc"
#include "kernels/common/floats.inc"

#define ROW(kind, t)                                                                               \
    {                                                                                              \
        [2] = kind##_##t##_2, [3] = kind##_##t##_3, [4] = kind##_##t##_4, [5] = kind##_##t##_5,    \
        [8] = kind##_##t##_8                                                                       \
    }
#define TABLE(kind)                                                                                \
    { ROW(kind, f32), ROW(kind, f64) }

gp_fft_pass gp_fft_pass_of(gp_ctype ct, int radix) {
    static const gp_fft_pass passes[2][9] = TABLE(pass);
    return passes[ct == GP_CT_f64][radix];
}

gp_fft_first gp_fft_first_of(gp_ctype ct, int radix) {
    static const gp_fft_first passes[2][9] = TABLE(first);
    return passes[ct == GP_CT_f64][radix];
}

gp_fft_last gp_fft_last_of(gp_ctype ct, int radix) {
    static const gp_fft_last passes[2][9] = TABLE(last);
    return passes[ct == GP_CT_f64][radix];
}
