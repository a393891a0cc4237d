/* Gates and states of LSTM, GRU and plain recurrent cells, forward and backward. */
#include "kernels/cpu/rnn/cell.h"

#include <string.h>

#include "kernels/common/cell_rules.h"
#include "kernels/cpu/elementwise/math.h"

/* Units are taken a vector at a time, in local arrays: the compiler then calls the vector exp and
 * tanh of whole registers, and the last units need no loop of their own. */
#if defined(__AVX512F__)
enum { VB = 64 };
#elif defined(__AVX2__)
enum { VB = 32 };
#else
enum { VB = 16 };
#endif

#define HELPERS(T, t)                                                                              \
    enum { LANES_##t = VB / sizeof(T) };                                                           \
    static inline void get_##t(T *d, const T *s, int64_t n) {                                      \
        if (n == LANES_##t) memcpy(d, s, VB);                                                      \
        else memcpy(d, s, (size_t)n * sizeof(T));                                                  \
    }                                                                                              \
    static inline void put_##t(char *to, int64_t at, const T *s, int64_t n) {                      \
        if (n == LANES_##t) memcpy((T *)to + at, s, VB);                                           \
        else memcpy((T *)to + at, s, (size_t)n * sizeof(T));                                       \
    }                                                                                              \
    static inline void sum_##t(T *d, const gp_cell_rows *r, int64_t row, int64_t gate, int64_t at, \
                               int64_t n) {                                                        \
        T a[LANES_##t] = {0}, b[LANES_##t] = {0};                                                  \
        get_##t(a, (const T *)r->x + row * r->x_row + gate * r->x_gate + at, n);                   \
        get_##t(b, (const T *)r->h + row * r->h_row + gate * r->h_gate + at, n);                   \
        for (int j = 0; j < LANES_##t; j++) d[j] = a[j] + b[j];                                    \
    }
HELPERS(float, f32)
HELPERS(double, f64)

/* c' = f c + i g, h' = o tanh(c'); gates i f g o. */
#define LSTM(T, t)                                                                                 \
    static void lstm_##t(const gp_cell_rows *r, int64_t row, int64_t at, int64_t n) {              \
        enum { L = LANES_##t };                                                                    \
        T i[L], f[L], g[L], o[L], c[L] = {0}, h[L];                                                \
        sum_##t(i, r, row, 0, at, n), sum_##t(f, r, row, 1, at, n);                                \
        sum_##t(g, r, row, 2, at, n), sum_##t(o, r, row, 3, at, n);                                \
        get_##t(c, (const T *)r->cprev + row * r->c_row + at, n);                                  \
        for (int j = 0; j < L; j++) i[j] = GP_SIGMOID(i[j]);                                       \
        for (int j = 0; j < L; j++) f[j] = GP_SIGMOID(f[j]);                                       \
        for (int j = 0; j < L; j++) g[j] = tanh(g[j]);                                             \
        for (int j = 0; j < L; j++) o[j] = GP_SIGMOID(o[j]);                                       \
        for (int j = 0; j < L; j++) c[j] = GP_LSTM_C(i[j], f[j], g[j], c[j]);                      \
        for (int j = 0; j < L; j++) h[j] = GP_LSTM_H(o[j], c[j]);                                  \
        put_##t(r->c, row * r->c_row + at, c, n);                                                  \
        put_##t(r->out, row * r->out_row + at, h, n);                                              \
        if (!r->kept) return;                                                                      \
        int64_t k = row * r->kept_row + at;                                                        \
        put_##t(r->kept, k, i, n), put_##t(r->kept, k + r->units, f, n);                           \
        put_##t(r->kept, k + 2 * r->units, g, n), put_##t(r->kept, k + 3 * r->units, o, n);        \
    }
LSTM(float, f32)
LSTM(double, f64)

/* n = tanh(x_n + r (w_hn h + b_hn)), h' = n + z (h - n); gates r z n. */
#define GRU(T, t)                                                                                  \
    static void gru_##t(const gp_cell_rows *r, int64_t row, int64_t at, int64_t n) {               \
        enum { L = LANES_##t };                                                                    \
        T reset[L], z[L], new[L] = {0}, hn[L] = {0}, h[L] = {0};                                   \
        sum_##t(reset, r, row, 0, at, n), sum_##t(z, r, row, 1, at, n);                            \
        get_##t(new, (const T *)r->x + row * r->x_row + 2 * r->x_gate + at, n);                    \
        get_##t(hn, (const T *)r->h + row * r->h_row + 2 * r->h_gate + at, n);                     \
        get_##t(h, (const T *)r->prev + row * r->prev_row + at, n);                                \
        for (int j = 0; j < L; j++) reset[j] = GP_SIGMOID(reset[j]);                               \
        for (int j = 0; j < L; j++) z[j] = GP_SIGMOID(z[j]);                                       \
        for (int j = 0; j < L; j++) new[j] = GP_GRU_N(new[j], reset[j], hn[j]);                    \
        for (int j = 0; j < L; j++) h[j] = GP_GRU_H(new[j], z[j], h[j]);                           \
        put_##t(r->out, row * r->out_row + at, h, n);                                              \
        if (!r->kept) return;                                                                      \
        int64_t k = row * r->kept_row + at;                                                        \
        put_##t(r->kept, k, reset, n), put_##t(r->kept, k + r->units, z, n);                       \
        put_##t(r->kept, k + 2 * r->units, new, n);                                                \
        put_##t(r->kept, k + 3 * r->units, hn, n);                                                 \
    }
GRU(float, f32)
GRU(double, f64)

#define PLAIN(T, t)                                                                                \
    static void tanh_##t(const gp_cell_rows *r, int64_t row, int64_t at, int64_t n) {              \
        T h[LANES_##t];                                                                            \
        sum_##t(h, r, row, 0, at, n);                                                              \
        for (int j = 0; j < LANES_##t; j++) h[j] = tanh(h[j]);                                     \
        put_##t(r->out, row * r->out_row + at, h, n);                                              \
    }                                                                                              \
    static void relu_##t(const gp_cell_rows *r, int64_t row, int64_t at, int64_t n) {              \
        T h[LANES_##t];                                                                            \
        sum_##t(h, r, row, 0, at, n);                                                              \
        for (int j = 0; j < LANES_##t; j++) h[j] = h[j] < 0 ? 0 : h[j];                            \
        put_##t(r->out, row * r->out_row + at, h, n);                                              \
    }
PLAIN(float, f32)
PLAIN(double, f64)

void gp_cell_forward(gp_cell cell, gp_ctype ct, const gp_cell_rows *r) {
    typedef void (*cell_fn)(const gp_cell_rows *, int64_t, int64_t, int64_t);
    static const cell_fn fns[2][4] = {{lstm_f32, gru_f32, tanh_f32, relu_f32},
                                      {lstm_f64, gru_f64, tanh_f64, relu_f64}};
    cell_fn fn = fns[ct == GP_CT_f64][cell];
    int64_t lanes = VB / gp_ctype_size[ct];
    for (int64_t row = 0; row < r->rows; row++)
        for (int64_t at = 0; at < r->n; at += lanes)
            fn(r, row, at, r->n - at < lanes ? r->n - at : lanes);
}

/* ---- backward ---- */

/* Pointers to row `row` of the fields that every cell has. */
#define ROW(T)                                                                                     \
    int64_t n = g->units;                                                                          \
    const T *dy = (const T *)g->dy + row * g->y_row, *y = (const T *)g->out + row * g->y_row;      \
    const T *prev = (const T *)g->prev + row * g->prev_row;                                        \
    T *dh = (T *)g->dh + row * n;                                                                  \
    (void)y, (void)prev;

#define LSTM_BACK(T, t)                                                                            \
    static void lstm_back_##t(const gp_cell_grads *g, int64_t row) {                               \
        ROW(T)                                                                                     \
        const T *i = (const T *)g->kept + row * 4 * n, *f = i + n, *u = f + n, *o = u + n;         \
        const T *c = (const T *)g->c + row * n, *cprev = (const T *)g->cprev + row * n;            \
        T *restrict di = (T *)g->dx + row * 4 * n, *restrict dc = (T *)g->dc + row * n;            \
        for (int64_t j = 0; j < n; j++) {                                                          \
            T tc = tanh(c[j]), d = dh[j] + dy[j], e = GP_LSTM_E(dc[j], d, o[j], tc);               \
            di[j] = GP_LSTM_DI(e, u[j], i[j]);                                                     \
            di[n + j] = GP_LSTM_DF(e, cprev[j], f[j]);                                             \
            di[2 * n + j] = GP_LSTM_DG(e, i[j], u[j]);                                             \
            di[3 * n + j] = GP_LSTM_DO(d, tc, o[j]);                                               \
            dc[j] = e * f[j];                                                                      \
            dh[j] = 0;                                                                             \
        }                                                                                          \
    }
LSTM_BACK(float, f32)
LSTM_BACK(double, f64)

#define GRU_BACK(T, t)                                                                             \
    static void gru_back_##t(const gp_cell_grads *g, int64_t row) {                                \
        ROW(T)                                                                                     \
        const T *r = (const T *)g->kept + row * 4 * n, *z = r + n, *u = z + n, *hn = u + n;        \
        T *restrict dx = (T *)g->dx + row * 3 * n, *restrict dg = (T *)g->dhh + row * 3 * n;       \
        for (int64_t j = 0; j < n; j++) {                                                          \
            T d = dh[j] + dy[j], du = GP_GRU_DN(d, z[j], u[j]);                                    \
            T dr = GP_GRU_DR(du, hn[j], r[j]);                                                     \
            T dz = GP_GRU_DZ(d, prev[j], u[j], z[j]);                                              \
            dx[j] = dg[j] = dr;                                                                    \
            dx[n + j] = dg[n + j] = dz;                                                            \
            dx[2 * n + j] = du;                                                                    \
            dg[2 * n + j] = du * r[j];                                                             \
            dh[j] = d * z[j];                                                                      \
        }                                                                                          \
    }
GRU_BACK(float, f32)
GRU_BACK(double, f64)

#define PLAIN_BACK(T, t)                                                                           \
    static void tanh_back_##t(const gp_cell_grads *g, int64_t row) {                               \
        ROW(T)                                                                                     \
        T *restrict dx = (T *)g->dx + row * n;                                                     \
        for (int64_t j = 0; j < n; j++) dx[j] = (dh[j] + dy[j]) * (1 - y[j] * y[j]), dh[j] = 0;    \
    }                                                                                              \
    static void relu_back_##t(const gp_cell_grads *g, int64_t row) {                               \
        ROW(T)                                                                                     \
        T *restrict dx = (T *)g->dx + row * n;                                                     \
        for (int64_t j = 0; j < n; j++) dx[j] = y[j] > 0 ? dh[j] + dy[j] : 0, dh[j] = 0;           \
    }
PLAIN_BACK(float, f32)
PLAIN_BACK(double, f64)

void gp_cell_backward(gp_cell cell, gp_ctype ct, const gp_cell_grads *g) {
    typedef void (*back_fn)(const gp_cell_grads *, int64_t);
    static const back_fn fns[2][4] = {{lstm_back_f32, gru_back_f32, tanh_back_f32, relu_back_f32},
                                      {lstm_back_f64, gru_back_f64, tanh_back_f64, relu_back_f64}};
    back_fn fn = fns[ct == GP_CT_f64][cell];
    for (int64_t row = 0; row < g->rows; row++) fn(g, row);
}
