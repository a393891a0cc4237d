/* Sums of many values in few elements. Adding to one of few elements waits for the sum just written
 * there, so values are summed in private lanes, which are joined in order. The parts depend on
 * sizes alone: sums are the same for any number of threads. Worth 1.6 at 1e6 values into 1,000
 * elements (one thread of an Emerald Rapids with AVX-512). */
#include "kernels/cpu/index/scatter.h"

/* MANY, EACH: values in all and for each element from which joining the lanes costs next to
 * nothing. ROOM: bytes of the lanes of one part, which stay in the first-level cache. */
enum { LANES = 4, PARTS = 4, MANY = 1 << 14, EACH = 64, ROOM = 16384 };

typedef struct few {
    const int64_t *index;
    const char *values;
    int64_t n, size, step; /* of values; places; bytes between values */
    char *sums;            /* PARTS x LANES x size */
    _Atomic bool bad;
} few;

/* Adds values begin … end to LANES x size sums at o, which start at -0.0: that changes no sum.
 * False at an index out of range: a branch never taken costs less than a check beforehand. All
 * lanes' sums are read before one is written: a store to an unknown address delays later loads. */
typedef bool (*sum_fn)(const few *w, char *o, int64_t begin, int64_t end);
#define WRAP(k, v, size)                                                                           \
    int64_t k = (v)-1;                                                                             \
    if (__builtin_expect((uint64_t)k >= (uint64_t)(size), 0)) {                                    \
        k += (size) + 1;                                                                           \
        if (k < 0 || k >= (size) || (v) >= 0) return false;                                        \
    }
#define T float
#include "kernels/cpu/index/scatter_privatized.inc"
#define T double
#include "kernels/cpu/index/scatter_privatized.inc"
#define T int32_t
#include "kernels/cpu/index/scatter_privatized.inc"
#define T int64_t
#include "kernels/cpu/index/scatter_privatized.inc"

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

bool gp_scatter_is_few(const gp_array *target, int d, const gp_array *index,
                       const gp_array *values) {
    int64_t n = index->numel, size = target->numel,
            bytes = size * (int64_t)gp_dtype_size((gp_dtype)target->dtype);
    return kinds[target->dtype].sum && n >= MANY && n >= EACH * size && LANES * bytes <= ROOM &&
           target->ndim > 0 && target->dim[d] == size && index->dtype == GP_i64 &&
           index->contiguous && (values->numel == 1 || (values->numel == n && values->contiguous));
}

bool gp_scatter_few(const gp_array *target, int d, const gp_array *index, const gp_array *values) {
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
    if (gp_stopped()) return true; /* the caller notices; nothing is written */
    if (!s.w.bad) k->join(&s.w, target->data, target->stride[d] * width);
    return !s.w.bad;
}
