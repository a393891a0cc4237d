/* Stockham passes of radix 2, 3, 4, 5 and 8: no bit reversal, every loop over neighbouring
   elements. Source: Van Loan, "Computational frameworks for the fast Fourier transform", 1992,
   section 1.7. */
#include "kernels/cpu/fft/fft.h"

#define FREE _Pragma("GCC ivdep")

/* One butterfly: x[at + k step] to y[to + k gap] for k < radix, times twiddle k (for k > 0). IN and
 * OUT take k and the names of a real and an imaginary variable. */
#define IN(k, r, i) T r = xr[at + (k)*step], i = xi[at + (k)*step]
#define OUT0(r, i) yr[to] = r, yi[to] = i
#define OUT(k, r, i)                                                                               \
    yr[to + (k)*gap] = (r)*WR(k) - (i)*WI(k), yi[to + (k)*gap] = (r)*WI(k) + (i)*WR(k)

#define BUTTERFLY2                                                                                 \
    IN(0, ar, ai);                                                                                 \
    IN(1, br, bi);                                                                                 \
    OUT0(ar + br, ai + bi);                                                                        \
    OUT(1, ar - br, ai - bi);

#define BUTTERFLY3                                                                                 \
    IN(0, ar, ai);                                                                                 \
    IN(1, br, bi);                                                                                 \
    IN(2, cr, ci);                                                                                 \
    T sr = br + cr, si = bi + ci, dr = SIN3 * (br - cr), di = SIN3 * (bi - ci);                    \
    T hr = ar - sr / 2, hi = ai - si / 2;                                                          \
    OUT0(ar + sr, ai + si);                                                                        \
    OUT(1, hr + di, hi - dr);                                                                      \
    OUT(2, hr - di, hi + dr);

#define BUTTERFLY4                                                                                 \
    IN(0, ar, ai);                                                                                 \
    IN(1, br, bi);                                                                                 \
    IN(2, cr, ci);                                                                                 \
    IN(3, dr, di);                                                                                 \
    T er = ar + cr, ei = ai + ci, fr = ar - cr, fi = ai - ci;                                      \
    T gr = br + dr, gi = bi + di, hr = br - dr, hi = bi - di;                                      \
    OUT0(er + gr, ei + gi);                                                                        \
    OUT(1, fr + hi, fi - hr);                                                                      \
    OUT(2, er - gr, ei - gi);                                                                      \
    OUT(3, fr - hi, fi + hr);

#define BUTTERFLY5                                                                                 \
    IN(0, ar, ai);                                                                                 \
    IN(1, br, bi);                                                                                 \
    IN(2, cr, ci);                                                                                 \
    IN(3, dr, di);                                                                                 \
    IN(4, er, ei);                                                                                 \
    T pr = br + er, pi = bi + ei, qr = cr + dr, qi = ci + di;                                      \
    T ur = br - er, ui = bi - ei, vr = cr - dr, vi = ci - di;                                      \
    T fr = ar + COS5A * pr + COS5B * qr, fi = ai + COS5A * pi + COS5B * qi;                        \
    T gr = ar + COS5B * pr + COS5A * qr, gi = ai + COS5B * pi + COS5A * qi;                        \
    T hr = SIN5A * ur + SIN5B * vr, hi = SIN5A * ui + SIN5B * vi;                                  \
    T kr = SIN5B * ur - SIN5A * vr, ki = SIN5B * ui - SIN5A * vi;                                  \
    OUT0(ar + pr + qr, ai + pi + qi);                                                              \
    OUT(1, fr + hi, fi - hr);                                                                      \
    OUT(2, gr + ki, gi - kr);                                                                      \
    OUT(3, gr - ki, gi + kr);                                                                      \
    OUT(4, fr - hi, fi + hr);

/* Two butterflies of 4, of the even and the odd inputs; the odd one's outputs turned by eighths. */
#define BUTTERFLY8                                                                                 \
    IN(0, ar, ai);                                                                                 \
    IN(1, br, bi);                                                                                 \
    IN(2, cr, ci);                                                                                 \
    IN(3, dr, di);                                                                                 \
    IN(4, er, ei);                                                                                 \
    IN(5, fr, fi);                                                                                 \
    IN(6, gr, gi);                                                                                 \
    IN(7, hr, hi);                                                                                 \
    T pr = ar + er, pi = ai + ei, qr = ar - er, qi = ai - ei;                                      \
    T rr = cr + gr, ri = ci + gi, sr = cr - gr, si = ci - gi;                                      \
    T tr = br + fr, ti = bi + fi, ur = br - fr, ui = bi - fi;                                      \
    T vr = dr + hr, vi = di + hi, wr = dr - hr, wi = di - hi;                                      \
    T e0r = pr + rr, e0i = pi + ri, e2r = pr - rr, e2i = pi - ri;                                  \
    T e1r = qr + si, e1i = qi - sr, e3r = qr - si, e3i = qi + sr;                                  \
    T o0r = tr + vr, o0i = ti + vi, o2r = ti - vi, o2i = vr - tr;                                  \
    T xr1 = ur + wi, xi1 = ui - wr, xr3 = ur - wi, xi3 = ui + wr;                                  \
    T o1r = HALF * (xr1 + xi1), o1i = HALF * (xi1 - xr1);                                          \
    T o3r = HALF * (xi3 - xr3), o3i = -HALF * (xr3 + xi3);                                         \
    OUT0(e0r + o0r, e0i + o0i);                                                                    \
    OUT(1, e1r + o1r, e1i + o1i);                                                                  \
    OUT(2, e2r + o2r, e2i + o2i);                                                                  \
    OUT(3, e3r + o3r, e3i + o3i);                                                                  \
    OUT(4, e0r - o0r, e0i - o0i);                                                                  \
    OUT(5, e1r - o1r, e1i - o1i);                                                                  \
    OUT(6, e2r - o2r, e2i - o2i);                                                                  \
    OUT(7, e3r - o3r, e3i - o3i);

/* Twiddles of p: read once a row where rows are long, beside the data where they are one element.
 */
#define WR(k) tr_##k
#define TWIDDLE(k) T tr_##k = w[((k)-1) * m + p], ti_##k = w[(R - 1 + (k)-1) * m + p];
#define TWIDDLES2 TWIDDLE(1)
#define TWIDDLES3 TWIDDLES2 TWIDDLE(2)
#define TWIDDLES4 TWIDDLES3 TWIDDLE(3)
#define TWIDDLES5 TWIDDLES4 TWIDDLE(4)
#define TWIDDLES8 TWIDDLES5 TWIDDLE(5) TWIDDLE(6) TWIDDLE(7)
#define WI(k) ti_##k

#define PASS(t, radix)                                                                             \
    static void pass_##t##_##radix(int64_t m, int64_t s, const void *from_r, const void *from_i,   \
                                   void *to_r, void *to_i, const void *twiddle) {                  \
        enum { R = radix };                                                                        \
        const T *xr = from_r, *xi = from_i, *w = twiddle;                                          \
        T *yr = to_r, *yi = to_i;                                                                  \
        int64_t step = s * m, gap = s;                                                             \
        if (s == 1) {                                                                              \
            FREE for (int64_t p = 0; p < m; p++) {                                                 \
                int64_t at = p, to = R * p;                                                        \
                TWIDDLES##radix BUTTERFLY##radix                                                   \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (int64_t p = 0; p < m; p++) {                                                          \
            TWIDDLES##radix FREE for (int64_t q = 0; q < s; q++) {                                 \
                int64_t at = q + s * p, to = q + s * R * p;                                        \
                BUTTERFLY##radix                                                                   \
            }                                                                                      \
        }                                                                                          \
    }
#define PASSES(t) PASS(t, 2) PASS(t, 3) PASS(t, 4) PASS(t, 5) PASS(t, 8)

/* sin(2 pi / 3); cosines and sines of 2 pi / 5 and 4 pi / 5; sqrt(1 / 2) */
#define SIN3 ((T)0.866025403784438646763723170752936183L)
#define COS5A ((T)0.309016994374947424102293417182819059L)
#define COS5B ((T)-0.809016994374947424102293417182819059L)
#define SIN5A ((T)0.951056516295153572116439333379382143L)
#define SIN5B ((T)0.587785252292473129168705954639072769L)
#define HALF ((T)0.707106781186547524400844362104849039L)

#define T float
PASSES(f32)
#undef T
#define T double
PASSES(f64)
#undef T

gp_fft_pass gp_fft_pass_of(gp_ctype ct, int radix) {
    static const gp_fft_pass passes[2][9] = {
        {[2] = pass_f32_2, [3] = pass_f32_3, [4] = pass_f32_4, [5] = pass_f32_5, [8] = pass_f32_8},
        {[2] = pass_f64_2, [3] = pass_f64_3, [4] = pass_f64_4, [5] = pass_f64_5, [8] = pass_f64_8}};
    return passes[ct == GP_CT_f64][radix];
}
