/* The loops that write at places of a table, for every dtype; 16-bit floats are only put, sums of
 * them are made in f32. */
#include "kernels/cpu/put.h"

#define ROW(name, T, y)                                                                            \
    static void name(const gp_put_at *p, const int32_t *sel, int64_t n) {                          \
        const int64_t xs = p->xs, ts = p->ts, fs = p->fs, *t = p->t;                               \
        char *x = p->x;                                                                            \
        const char *f = p->f;                                                                      \
        if (ts == 0 && xs == (int64_t)sizeof(T) && fs == xs && !sel) {                             \
            T *o = (T *)(void *)(x + *t);                                                          \
            const T *v = (const T *)(const void *)f;                                               \
            _Pragma("omp simd") for (int64_t i = 0; i < n; i++) {                                  \
                const T a = o[i], b = v[i];                                                        \
                (void)a;                                                                           \
                o[i] = (T)(y);                                                                     \
            }                                                                                      \
            return;                                                                                \
        }                                                                                          \
        for (int64_t j = 0; j < n; j++) {                                                          \
            int64_t i = sel ? sel[j] : j;                                                          \
            T *o = (T *)(void *)(x + i * xs + t[i * ts]);                                          \
            const T a = *o, b = *(const T *)(const void *)(f + i * fs);                            \
            (void)a;                                                                               \
            *o = (T)(y);                                                                           \
        }                                                                                          \
    }
ROW(put_1, uint8_t, b)
ROW(put_2, uint16_t, b)
ROW(put_4, uint32_t, b)
ROW(put_8, uint64_t, b)

/* NaN wins, as in amin and amax. */
#define ROWS(name, T)                                                                              \
    ROW(add_##name, T, a + b)                                                                      \
    ROW(mul_##name, T, a *b)                                                                       \
    ROW(least_##name, T, (b < a) | (b != b) ? b : a)                                                  \
    ROW(most_##name, T, (b > a) | (b != b) ? b : a)
ROWS(u8, uint8_t)
ROWS(i8, int8_t)
ROWS(i16, int16_t)
ROWS(i32, int32_t)
ROWS(i64, int64_t)
ROWS(f32, float)
ROWS(f64, double)
ROW(or, uint8_t, a | b)
ROW(and, uint8_t, a &b)

#define FNS(name, put)                                                                             \
    { put, add_##name, mul_##name, least_##name, most_##name }
gp_put_row gp_put_fn(gp_dtype dt, gp_how how) {
    static const gp_put_row fns[GP_DTYPES][GP_MEAN] = {
        [GP_bool] = {put_1, or, and, and, or },
        [GP_u8] = FNS(u8, put_1),
        [GP_i8] = FNS(i8, put_1),
        [GP_i16] = FNS(i16, put_2),
        [GP_i32] = FNS(i32, put_4),
        [GP_i64] = FNS(i64, put_8),
        [GP_f16] = {put_2},
        [GP_bf16] = {put_2},
        [GP_f32] = FNS(f32, put_4),
        [GP_f64] = FNS(f64, put_8),
    };
    return fns[dt][how];
}
