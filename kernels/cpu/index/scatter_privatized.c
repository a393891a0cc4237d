/* Sums of many values in few places. Whoever adds to one of few places waits for the sum that was
 * just written there, so parts of the values are summed in lanes, each with places of its own,
 * which are joined in order. Parts depend on sizes alone: the same sums from any number of threads.
 */
#include "kernels/cpu/index/scatter.h"

/* MANY: values, and values for each place, from which on joining the lanes costs nothing. ROOM:
 * bytes of the lanes of one part, which stay in the first-level cache. */
enum { LANES = 4, PARTS = 4, MANY = 1 << 14, EACH = 64, ROOM = 16384 };

typedef struct few {
    const int64_t *index;
    const char *values;
    int64_t n, size, step; /* of values; places; bytes between values */
    char *sums;            /* PARTS x LANES x size */
    _Atomic bool bad;
} few;

/* Elements begin … end of the values into LANES x size sums at o, which begin with -0.0: that
 * changes no sum. False at an index out of range: a branch that is never taken costs less than to
 * look first. All lanes' sums are read before one is written: a store whose address is not known
 * yet would hold up the reads behind it. */
typedef bool (*sum_fn)(const few *w, char *o, int64_t begin, int64_t end);
#define WRAP(k, v, size)                                                                           \
    int64_t k = (v)-1;                                                                             \
    if (__builtin_expect((uint64_t)k >= (uint64_t)(size), 0)) {                                    \
        k += (size) + 1;                                                                           \
        if (k < 0 || k >= (size) || (v) >= 0) return false;                                        \
    }
#define SUM(T)                                                                                     \
    static inline __attribute__((always_inline)) bool add_##T(                                     \
        const few *w, char *to, int64_t begin, int64_t end, const int64_t step) {                  \
        const int64_t *index = w->index, size = w->size;                                           \
        const char *f = w->values;                                                                 \
        T *o = (T *)(void *)to;                                                                    \
        T *const lane[LANES] = {o, o + size, o + 2 * size, o + 3 * size};                          \
        int64_t i = begin;                                                                         \
        for (int64_t k = 0; k < LANES * size; k++) o[k] = (T)-0.0;                                 \
        for (; i + LANES <= end; i += LANES) {                                                     \
            int64_t at[LANES];                                                                     \
            T sum[LANES];                                                                          \
            _Pragma("GCC unroll 4") for (int q = 0; q < LANES; q++) {                              \
                WRAP(k, index[i + q], size)                                                        \
                at[q] = k;                                                                         \
            }                                                                                      \
            _Pragma("GCC unroll 4") for (int q = 0; q < LANES; q++) sum[q] = lane[q][at[q]];       \
            _Pragma("GCC unroll 4") for (int q = 0; q < LANES; q++) lane[q][at[q]] =               \
                (T)(sum[q] + *(const T *)(const void *)(f + (i + q) * step));                      \
        }                                                                                          \
        for (; i < end; i++) {                                                                     \
            WRAP(k, index[i], size)                                                                \
            o[k] = (T)(o[k] + *(const T *)(const void *)(f + i * step));                           \
        }                                                                                          \
        return true;                                                                               \
    }                                                                                              \
    static bool sum_##T(const few *w, char *o, int64_t begin, int64_t end) {                       \
        if (w->step == (int64_t)sizeof(T)) return add_##T(w, o, begin, end, (int64_t)sizeof(T));   \
        return add_##T(w, o, begin, end, w->step);                                                 \
    }                                                                                              \
    /* Lanes first, then parts, into places step bytes apart. */                                   \
    static void join_##T(const few *w, char *to, int64_t step) {                                   \
        const T *s = (const T *)(const void *)w->sums;                                             \
        for (int64_t k = 0; k < w->size; k++) {                                                    \
            T *o = (T *)(void *)(to + k * step), all = *o;                                         \
            for (int p = 0; p < PARTS; p++) {                                                      \
                const T *a = s + p * LANES * w->size + k;                                          \
                all = (T)(all + ((a[0] + a[w->size]) + (a[2 * w->size] + a[3 * w->size])));        \
            }                                                                                      \
            *o = all;                                                                              \
        }                                                                                          \
    }
SUM(float)
SUM(double)
SUM(int32_t)
SUM(int64_t)

typedef struct kind {
    sum_fn sum;
    void (*join)(const few *w, char *to, int64_t step);
} kind;
static const kind kinds[GP_DTYPES] = {[GP_f32] = {sum_float, join_float},
                                      [GP_f64] = {sum_double, join_double},
                                      [GP_i32] = {sum_int32_t, join_int32_t},
                                      [GP_i64] = {sum_int64_t, join_int64_t}};

typedef struct summing {
    few w;
    sum_fn sum;
    int64_t bytes; /* of a part's lanes */
} summing;

static void sum_parts(void *ctx, int64_t begin, int64_t end) {
    summing *s = ctx;
    int64_t n = s->w.n;
    for (int64_t p = begin; p < end && !gp_stopped(); p++)
        if (!s->sum(&s->w, s->w.sums + p * s->bytes, n * p / PARTS, n * (p + 1) / PARTS))
            s->w.bad = true;
}

bool gp_put_is_few(const gp_array *target, int d, const gp_array *index, const gp_array *values) {
    int64_t n = index->numel, size = target->numel,
            bytes = size * (int64_t)gp_dtype_size((gp_dtype)target->dtype);
    return kinds[target->dtype].sum && n >= MANY && n >= EACH * size && LANES * bytes <= ROOM &&
           target->ndim > 0 && target->dim[d] == size && index->dtype == GP_i64 &&
           index->contiguous && (values->numel == 1 || (values->numel == n && values->contiguous));
}

bool gp_put_few(const gp_array *target, int d, const gp_array *index, const gp_array *values) {
    _Alignas(64) char sums[PARTS * ROOM];
    const kind *k = &kinds[target->dtype];
    int64_t width = (int64_t)gp_dtype_size((gp_dtype)target->dtype), size = target->numel;
    summing s = {.w = {.index = (const int64_t *)(const void *)index->data,
                       .values = values->data,
                       .n = index->numel,
                       .size = size,
                       .step = values->numel == 1 ? 0 : width,
                       .sums = sums},
                 .sum = k->sum,
                 .bytes = size * LANES * width};
    gp_parallel(PARTS, 1, sum_parts, &s);
    if (gp_stopped()) return true; /* which the caller notices; nothing is written */
    if (!s.w.bad) k->join(&s.w, target->data, target->stride[d] * width);
    return !s.w.bad;
}
