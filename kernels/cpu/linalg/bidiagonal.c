/* Householder bidiagonalisation in one pass over the matrix a step, where gebrd needs several and a
   call of gemv for each. Step i makes row i zero behind the diagonal (reflector v, from the right)
   and column i zero below row i + 1 (reflector u, from the left). While a row is in the cache it
   takes the last step's update by u, then v's, and gives its share to y = x' A, x being column i,
   from which u's own update w = u' A follows. */
#include "kernels/cpu/linalg/bidiagonal.h"

#include <string.h>

#define VECTOR(T, t) typedef T vec_##t __attribute__((vector_size(64), may_alias));
VECTOR(float, f32)
VECTOR(double, f64)

/* Reflector that takes (alpha, x) to (beta, 0), with |x|^2 = square: tau, and what x is scaled by.
 * Source: LAPACK's larfg. */
#define REFLECT(T, t, root, sign)                               \
    static T reflect_##t(T alpha, T square, T *tau, T *scale) { \
        if (square == 0) return *tau = *scale = 0, alpha;       \
        T beta = -sign(root(alpha * alpha + square), alpha);    \
        *tau = (beta - alpha) / beta;                           \
        *scale = 1 / (alpha - beta);                            \
        return beta;                                            \
    }
REFLECT(float, f32, sqrtf, copysignf)
REFLECT(double, f64, sqrt, copysign)

/* One row a, from vector j0 to n: a -= c w, then a -= z v with z = tau (a . v), then y += x a with
 * x = a[i]. Returns x. */
#define ROW(T, t)                                                                            \
    static T row_##t(vec_##t *a, const vec_##t *w, T c, const vec_##t *v, T tau, vec_##t *y, \
                     int64_t i, int64_t j0, int64_t n) {                                     \
        enum { L = 64 / sizeof(T) };                                                         \
        vec_##t dot = {0};                                                                   \
        for (int64_t j = j0; j < n; j++) {                                                   \
            a[j] -= c * w[j];                                                                \
            dot += a[j] * v[j];                                                              \
        }                                                                                    \
        T z = 0;                                                                             \
        for (int k = 0; k < L; k++) z += dot[k];                                             \
        z *= tau;                                                                            \
        T x = ((T *)a)[i] - z;                                                               \
        for (int64_t j = j0; j < n; j++) {                                                   \
            a[j] -= z * v[j];                                                                \
            y[j] += x * a[j];                                                                \
        }                                                                                    \
        return x;                                                                            \
    }
ROW(float, f32)
ROW(double, f64)

/* v and w are zero before column i: the columns there hold earlier reflectors, and vectors begin
 * where they may. */
#define BIDIAG(T, t)                                                                              \
    static T make_v_##t(T *row, const T *w, T c, T *v, int i, int cols, int ld, T *tau) {         \
        T square = 0, scale;                                                                      \
        for (int j = i; j < cols; j++) row[j] -= c * w[j];                                        \
        for (int j = i + 1; j < cols; j++) square += row[j] * row[j];                             \
        T beta = reflect_##t(row[i], square, tau, &scale);                                        \
        memset(v, 0, (size_t)ld * sizeof(T));                                                     \
        v[i] = 1;                                                                                 \
        for (int j = i + 1; j < cols; j++) v[j] = row[j] *= scale;                                \
        row[i] = beta;                                                                            \
        return beta;                                                                              \
    }                                                                                             \
    /* From x (column i below row i) and y: u, which replaces x, and w. */                        \
    static T make_u_##t(T *a, int i, int rows, int ld, T *u, T *w, const T *y, T *tau) {          \
        T square = 0, scale, first = u[i + 1];                                                    \
        const T *next = a + (int64_t)(i + 1) * ld;                                                \
        for (int r = i + 2; r < rows; r++) square += u[r] * u[r];                                 \
        T beta = reflect_##t(first, square, tau, &scale);                                         \
        for (int r = i + 2; r < rows; r++) a[(int64_t)r * ld + i] = u[r] *= scale;                \
        u[i + 1] = 1;                                                                             \
        w[i] = 0;                                                                                 \
        for (int j = i + 1; j < ld; j++) w[j] = next[j] + scale * (y[j] - first * next[j]);       \
        return beta;                                                                              \
    }                                                                                             \
    void gp_bidiag_##t(int rows, int cols, int ld, T *a, T *d, T *e, T *tauq, T *taup, T *work) { \
        enum { L = 64 / sizeof(T) };                                                              \
        T *v = work, *w = v + ld, *y = w + ld, *u = y + ld, last = 0;                             \
        memset(w, 0, (size_t)ld * sizeof(T));                                                     \
        memset(u, 0, (size_t)rows * sizeof(T));                                                   \
        for (int i = 0; i < rows; i++) {                                                          \
            d[i] = make_v_##t(a + (int64_t)i * ld, w, last * u[i], v, i, cols, ld, &tauq[i]);     \
            taup[i] = 0;                                                                          \
            if (i + 1 == rows) break;                                                             \
            memset(y, 0, (size_t)ld * sizeof(T));                                                 \
            for (int r = i + 1; r < rows; r++)                                                    \
                u[r] = row_##t((vec_##t *)(a + (int64_t)r * ld), (vec_##t *)w, last * u[r],       \
                               (vec_##t *)v, tauq[i], (vec_##t *)y, i, i / L, ld / L);            \
            e[i] = make_u_##t(a, i, rows, ld, u, w, y, &taup[i]);                                 \
            last = taup[i];                                                                       \
        }                                                                                         \
    }
BIDIAG(float, f32)
BIDIAG(double, f64)
