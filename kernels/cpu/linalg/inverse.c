/* Small matrices are inverted in place by Gauss and Jordan's elimination: each step clears a row
 * but for its pivot, the largest element, by taking multiples of the pivot's column from the
 * others. All of a row is treated alike, so that the loops are whole vectors. */
#include "kernels/cpu/linalg/inverse.h"

#define ALWAYS __attribute__((always_inline)) static inline
#define INVERT(T, t)                                                                               \
    /* Where row[k …] is largest; NaNs do not count. */                                            \
    ALWAYS int pivot_##t(const T *row, int k, int n) {                                             \
        T most = -1;                                                                               \
        int at = k;                                                                                \
        for (int i = k; i < n; i++) {                                                              \
            const T size = row[i] < 0 ? -row[i] : row[i];                                          \
            at = size > most ? i : at;                                                             \
            most = size > most ? size : most;                                                      \
        }                                                                                          \
        return at;                                                                                 \
    }                                                                                              \
    ALWAYS void swap_##t(T *x, T *y) {                                                             \
        const T was = *x;                                                                          \
        *x = *y;                                                                                   \
        *y = was;                                                                                  \
    }                                                                                              \
    /* Clears row k, whose pivot is on the diagonal. Column k, which would become that of the      \
       identity, makes room for the inverse's. */                                                  \
    ALWAYS void clear_##t(int n, T *a, const int ld, int k) {                                      \
        T *row = a + k * ld, by[GP_SMALL];                                                         \
        const T d = row[k];                                                                        \
        for (int i = 0; i < ld; i++) by[i] = (i == k ? -1 : row[i]) / d;                           \
        for (int j = 0; j < n; j++) {                                                              \
            T *to = a + j * ld;                                                                    \
            const T s = to[k];                                                                     \
            for (int i = 0; i < ld; i++) to[i] = (i == k ? 0 : to[i]) - s * by[i];                 \
        }                                                                                          \
        for (int i = 0; i < ld; i++) row[i] = -by[i];                                              \
    }                                                                                              \
    ALWAYS int invert_##t(int n, T *a, const int ld) {                                             \
        int from[GP_SMALL];                                                                        \
        for (int k = 0; k < n; k++) {                                                              \
            const int at = from[k] = pivot_##t(a + k * ld, k, n);                                  \
            if (a[k * ld + at] == 0) return k + 1;                                                 \
            for (int j = 0; at != k && j < n; j++) swap_##t(a + j * ld + k, a + j * ld + at);      \
            clear_##t(n, a, ld, k);                                                                \
        }                                                                                          \
        for (int k = n - 1; k >= 0; k--)                                                           \
            for (int i = 0; from[k] != k && i < ld; i++)                                           \
                swap_##t(a + k * ld + i, a + from[k] * ld + i);                                    \
        return 0;                                                                                  \
    }                                                                                              \
    int gp_invert_##t(int n, T *a) {                                                               \
        switch (gp_small_ld(n)) {                                                                  \
        case 0: return 0;                                                                          \
        case 8: return invert_##t(n, a, 8);                                                        \
        case 16: return invert_##t(n, a, 16);                                                      \
        case 24: return invert_##t(n, a, 24);                                                      \
        default: return invert_##t(n, a, 32);                                                      \
        }                                                                                          \
    }
INVERT(float, f32)
INVERT(double, f64)
