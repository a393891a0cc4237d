/* Sorting along a dim: keys whose unsigned order is the order wanted, paired with positions, by radix sort, or insertion where there are few. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/keys.h"

enum { GRAIN = 8192, FEW = 40 };

/* A key and the position it came from in one word, where both fit in 32 bits; else side by side. Order by key, then position, is the stable order. */
typedef uint64_t word;
typedef struct wide {
    uint64_t key, at;
} wide;

typedef struct sorting {
    const gp_array *x, *values, *indices; /* values: NULL for argsort */
    int dim;
    int64_t n;       /* elements of a line */
    gp_key key;
    bool descending;
    gp_loop lines;   /* 0: order, 1: x, 2: indices, 3: values; without the sorted dim */
    _Atomic bool no_memory;
} sorting;

#define WORD_KEY(e) ((e) >> 32)
#define WORD_BEFORE(a, b) ((a) < (b))
#define WIDE_KEY(e) ((e).key)
#define WIDE_BEFORE(a, b) ((a).key < (b).key || ((a).key == (b).key && (a).at < (b).at))

/* Least significant digit first, 8 bits at a time; digits that all keys share cost nothing. Returns where the result is: a or b. */
#define SORT(T, KEY, BEFORE)                                                             \
    static T *radix_##T(T *a, T *b, int64_t n, int digits) {                             \
        for (int d = 0; d < digits; d++) {                                               \
            int64_t start[256] = {0}, at = 0;                                            \
            for (int64_t i = 0; i < n; i++) start[KEY(a[i]) >> 8 * d & 255]++;           \
            if (start[KEY(a[0]) >> 8 * d & 255] == n) continue;                          \
            for (int v = 0; v < 256; v++) {                                              \
                int64_t count = start[v];                                                \
                start[v] = at;                                                           \
                at += count;                                                             \
            }                                                                            \
            for (int64_t i = 0; i < n; i++) b[start[KEY(a[i]) >> 8 * d & 255]++] = a[i]; \
            T *t = a;                                                                    \
            a = b, b = t;                                                                \
        }                                                                                \
        return a;                                                                        \
    }                                                                                    \
    static T *insertion_##T(T *a, int64_t n) {                                           \
        for (int64_t i = 1; i < n; i++) {                                                \
            T e = a[i];                                                                  \
            int64_t j = i;                                                               \
            for (; j > 0 && BEFORE(e, a[j - 1]); j--) a[j] = a[j - 1];                   \
            a[j] = e;                                                                    \
        }                                                                                \
        return a;                                                                        \
    }                                                                                    \
    static T *sort_##T(T *a, T *b, int64_t n, int digits) { return n <= FEW ? insertion_##T(a, n) : radix_##T(a, b, n, digits); }
SORT(word, WORD_KEY, WORD_BEFORE)
SORT(wide, WIDE_KEY, WIDE_BEFORE)

/* Keys of elements i … i + n of the line at p, descending ones turned round. */
static void read_keys(const sorting *s, const char *p, int64_t i, int64_t n, uint64_t *keys) {
    int64_t step = s->x->ndim ? s->x->stride[s->dim] * (int64_t)gp_dtype_size((gp_dtype)s->x->dtype) : 0;
    s->key(keys, p + i * step, step, n);
    if (s->descending)
        for (int64_t k = 0; k < n; k++) keys[k] = ~keys[k];
}

static void key_range(const sorting *s, const char *p, uint64_t *low, uint64_t *high) {
    uint64_t keys[GP_BLOCK], lo = UINT64_MAX, hi = 0;
    for (int64_t i = 0; i < s->n; i += GP_BLOCK) {
        int64_t n = s->n - i < GP_BLOCK ? s->n - i : GP_BLOCK;
        read_keys(s, p, i, n, keys);
        for (int64_t k = 0; k < n; k++) {
            lo = keys[k] < lo ? keys[k] : lo;
            hi = keys[k] > hi ? keys[k] : hi;
        }
    }
    *low = lo;
    *high = hi;
}

static int bytes_of(uint64_t v) {
    int n = 0;
    for (; v; v >>= 8) n++;
    return n;
}

#define VALUE(T)                                                                                        \
    static void take_##T(char *o, int64_t os, const char *x, int64_t xs, const int64_t *at, int64_t n) { \
        for (int64_t i = 0; i < n; i++) *(T *)(o + i * os) = *(const T *)(x + at[i] * xs);              \
    }
VALUE(uint8_t)
VALUE(uint16_t)
VALUE(uint32_t)
VALUE(uint64_t)

/* Writes positions at[0 … n-1] of the line's i-th to i+n-th smallest as indices from 1, and the elements there. p: x, indices, values. */
static void write_block(const sorting *s, char *const *p, int64_t i, const int64_t *at, int64_t n) {
    int64_t is = s->x->ndim ? s->indices->stride[s->dim] * 8 : 0;
    for (int64_t k = 0; k < n; k++) *(int64_t *)(void *)(p[2] + (i + k) * is) = at[k] + 1;
    if (!s->values) return;
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)s->x->dtype);
    int64_t xs = s->x->ndim ? s->x->stride[s->dim] * size : 0, vs = s->x->ndim ? s->values->stride[s->dim] * size : 0;
    char *o = p[3] + i * vs;
    if (size == 4) take_uint32_t(o, vs, p[1], xs, at, n);
    else if (size == 8) take_uint64_t(o, vs, p[1], xs, at, n);
    else if (size == 2) take_uint16_t(o, vs, p[1], xs, at, n);
    else take_uint8_t(o, vs, p[1], xs, at, n);
}

static void sort_words(const sorting *s, char *const *p, uint64_t low, int digits, word *room) {
    uint64_t keys[GP_BLOCK];
    for (int64_t i = 0; i < s->n; i += GP_BLOCK) {
        int64_t n = s->n - i < GP_BLOCK ? s->n - i : GP_BLOCK;
        read_keys(s, p[1], i, n, keys);
        for (int64_t k = 0; k < n; k++) room[i + k] = (keys[k] - low) << 32 | (uint64_t)(i + k);
    }
    const word *sorted = sort_word(room, room + s->n, s->n, digits);
    int64_t at[GP_BLOCK];
    for (int64_t i = 0; i < s->n; i += GP_BLOCK) {
        int64_t n = s->n - i < GP_BLOCK ? s->n - i : GP_BLOCK;
        for (int64_t k = 0; k < n; k++) at[k] = (int64_t)(sorted[i + k] & 0xffffffff);
        write_block(s, p, i, at, n);
    }
}

static void sort_wides(const sorting *s, char *const *p, uint64_t low, int digits, wide *room) {
    uint64_t keys[GP_BLOCK];
    for (int64_t i = 0; i < s->n; i += GP_BLOCK) {
        int64_t n = s->n - i < GP_BLOCK ? s->n - i : GP_BLOCK;
        read_keys(s, p[1], i, n, keys);
        for (int64_t k = 0; k < n; k++) room[i + k] = (wide){keys[k] - low, (uint64_t)(i + k)};
    }
    const wide *sorted = sort_wide(room, room + s->n, s->n, digits);
    int64_t at[GP_BLOCK];
    for (int64_t i = 0; i < s->n; i += GP_BLOCK) {
        int64_t n = s->n - i < GP_BLOCK ? s->n - i : GP_BLOCK;
        for (int64_t k = 0; k < n; k++) at[k] = (int64_t)sorted[i + k].at;
        write_block(s, p, i, at, n);
    }
}

static void sort_lines(void *ctx, int64_t begin, int64_t end) {
    sorting *s = ctx;
    void *room = malloc((size_t)s->n * 2 * sizeof(wide));
    if (!room) {
        s->no_memory = true;
        return;
    }
    for (int64_t i = begin; i < end; i++) {
        char *p[GP_LOOP_MAX];
        uint64_t low, high;
        gp_loop_at(&s->lines, i, p);
        key_range(s, p[1], &low, &high);
        if (high - low <= UINT32_MAX && s->n <= UINT32_MAX) sort_words(s, p, low, bytes_of(high - low), room);
        else sort_wides(s, p, low, bytes_of(high - low), room);
    }
    free(room);
}

static bool run_sort(const gp_call *c, const gp_array *values, const gp_array *indices) {
    sorting s = {.x = gp_in(c, 0), .values = values, .indices = indices, .dim = (int)c->arg[1].i - 1, .descending = gp_given(c, 2) && c->arg[2].i};
    if (s.x->numel == 0) return true;
    s.n = s.x->ndim ? s.x->dim[s.dim] : 1;
    s.key = gp_key_fn((gp_dtype)s.x->dtype);
    gp_array order = gp_without_dim(s.x, s.dim), x = order, ix = gp_without_dim(indices, s.dim), v = values ? gp_without_dim(values, s.dim) : ix;
    gp_row_major(&order);
    const gp_array *arrays[4] = {&order, &x, &ix, &v};
    gp_loop_init(&s.lines, 4, arrays);
    gp_parallel(order.numel, 1 + GRAIN / s.n, sort_lines, &s);
    return !s.no_memory || gp_fail("%s: out of memory", c->op->name);
}

bool CPU(sort)(const gp_call *c) { return run_sort(c, gp_out(c, 0), gp_out(c, 1)); }
bool CPU(argsort)(const gp_call *c) { return run_sort(c, NULL, gp_out(c, 0)); }

/* ---- unique ---- */

/* Elements of x (1-d, contiguous; equal ones are neighbours) that differ from the one before them. inverse goes through order, if given. */
typedef struct runs {
    const gp_array *x, *order, *out, *inverse, *counts;
    int64_t size;
} runs;

#define SAME(T) (*(const T *)a == *(const T *)b)
/* Equal as numbers: the zeros are, a NaN is not even to itself. */
static bool same(const char *a, const char *b, gp_dtype dt) {
    switch (dt) {
    case GP_f64: return SAME(double);
    case GP_f32: return SAME(float);
    case GP_f16: return gp_f16_to_f32(*(const uint16_t *)(const void *)a) == gp_f16_to_f32(*(const uint16_t *)(const void *)b);
    case GP_bf16: return gp_bf16_to_f32(*(const uint16_t *)(const void *)a) == gp_bf16_to_f32(*(const uint16_t *)(const void *)b);
    case GP_i64: return SAME(int64_t);
    case GP_i32: return SAME(int32_t);
    case GP_i16: return SAME(int16_t);
    default: return SAME(uint8_t);
    }
}

static bool run_runs(const gp_call *c, const runs *r) {
    int64_t n = r->x->numel, k = -1, *counts = r->counts ? (int64_t *)(void *)r->counts->data : NULL;
    const int64_t *order = r->order ? (const int64_t *)(const void *)r->order->data : NULL;
    int64_t *inverse = r->inverse ? (int64_t *)(void *)r->inverse->data : NULL;
    for (int64_t i = 0; i < n; i++) {
        const char *e = r->x->data + i * r->size;
        if (i == 0 || !same(e, e - r->size, (gp_dtype)r->x->dtype)) {
            if (++k >= r->out->numel) return gp_fail("%s: the tensor was changed while it was used", c->op->name);
            memcpy(r->out->data + k * r->size, e, (size_t)r->size);
            if (counts) counts[k] = 0;
        }
        if (counts) counts[k]++;
        if (inverse) inverse[order ? order[i] - 1 : i] = k + 1;
    }
    return k + 1 == r->out->numel || gp_fail("%s: the tensor was changed while it was used", c->op->name);
}

static bool unique_of(const gp_call *c, const gp_array *order, int inverse_at) {
    runs r = {.x = c->tmpa[0], .order = order, .out = gp_out(c, 0), .size = (int64_t)gp_dtype_size((gp_dtype)c->tmpa[0]->dtype)};
    int next = 1;
    if (gp_given(c, inverse_at) && c->arg[inverse_at].i) r.inverse = gp_out(c, next++);
    if (gp_given(c, inverse_at + 1) && c->arg[inverse_at + 1].i) r.counts = gp_out(c, next);
    return run_runs(c, &r);
}

bool CPU(unique)(const gp_call *c) { return unique_of(c, c->tmpa[1], 2); }
bool CPU(unique_consecutive)(const gp_call *c) { return unique_of(c, NULL, 1); }
