/* Sorting along a dim: keys whose unsigned order is the order wanted, paired with positions, by
 * radix sort, or insertion where there are few. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/keys.h"

enum { GRAIN = 8192, FEW = 40 };

/* A key and the position it came from in one word, where both fit in 32 bits; else side by side.
 * Order by key, then position, is the stable order. */
typedef uint64_t word;
typedef struct wide {
    uint64_t key, at;
} wide;

typedef struct sorting {
    const gp_array *x, *values, *indices; /* values: NULL for argsort, indices: NULL for msort */
    int dim;
    int64_t n; /* elements of a line */
    gp_key key;
    bool descending;
    bool from_keys; /* integers: elements follow from their keys, and need not be fetched from all
                       over the line */
    uint64_t flip;  /* key ^ flip is the element */
    gp_loop lines;  /* 0: order, 1: x, 2: indices, 3: values; without the sorted dim */
    _Atomic bool no_memory;
} sorting;

#define WORD_KEY(e) ((e) >> 32)
#define WORD_BEFORE(a, b) ((a) < (b))
#define WIDE_KEY(e) ((e).key)
#define WIDE_BEFORE(a, b) ((a).key < (b).key || ((a).key == (b).key && (a).at < (b).at))

/* Least significant digit first, 8 bits at a time; digits that all keys share cost nothing more
 * than counting. Returns where the result is: a or b. */
#define SORT(T, KEY, BEFORE, DIGITS)                                                               \
    static T *radix_##T(T *a, T *b, int64_t n, int digits) {                                       \
        int64_t count[DIGITS][256] = {{0}};                                                        \
        for (int64_t i = 0; i < n; i++)                                                            \
            for (int d = 0; d < digits; d++) count[d][KEY(a[i]) >> 8 * d & 255]++;                 \
        for (int d = 0; d < digits; d++) {                                                         \
            int64_t *start = count[d], at = 0;                                                     \
            if (start[KEY(a[0]) >> 8 * d & 255] == n) continue;                                    \
            for (int v = 0; v < 256; v++) {                                                        \
                int64_t many = start[v];                                                           \
                start[v] = at;                                                                     \
                at += many;                                                                        \
            }                                                                                      \
            for (int64_t i = 0; i < n; i++) b[start[KEY(a[i]) >> 8 * d & 255]++] = a[i];           \
            T *t = a;                                                                              \
            a = b, b = t;                                                                          \
        }                                                                                          \
        return a;                                                                                  \
    }                                                                                              \
    static T *insertion_##T(T *a, int64_t n) {                                                     \
        for (int64_t i = 1; i < n; i++) {                                                          \
            T e = a[i];                                                                            \
            int64_t j = i;                                                                         \
            for (; j > 0 && BEFORE(e, a[j - 1]); j--) a[j] = a[j - 1];                             \
            a[j] = e;                                                                              \
        }                                                                                          \
        return a;                                                                                  \
    }                                                                                              \
    static T *sort_##T(T *a, T *b, int64_t n, int digits) {                                        \
        return n <= FEW ? insertion_##T(a, n) : radix_##T(a, b, n, digits);                        \
    }
SORT(word, WORD_KEY, WORD_BEFORE, 4)
SORT(wide, WIDE_KEY, WIDE_BEFORE, 8)

/* Keys of elements i … i + n of the line at p, descending ones turned round. */
static void read_keys(const sorting *s, const char *p, int64_t i, int64_t n, uint64_t *keys) {
    int64_t step =
        s->x->ndim ? s->x->stride[s->dim] * (int64_t)gp_dtype_size((gp_dtype)s->x->dtype) : 0;
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

#define VALUE(T)                                                                                   \
    static void take_##T(char *o, int64_t os, const char *x, int64_t xs, const int64_t *at,        \
                         int64_t n) {                                                              \
        for (int64_t i = 0; i < n; i++) *(T *)(o + i * os) = *(const T *)(x + at[i] * xs);         \
    }                                                                                              \
    static void give_##T(char *o, int64_t os, const uint64_t *keys, uint64_t flip, int64_t n) {    \
        for (int64_t i = 0; i < n; i++) *(T *)(o + i * os) = (T)(keys[i] ^ flip);                  \
    }
VALUE(uint8_t)
VALUE(uint16_t)
VALUE(uint32_t)
VALUE(uint64_t)

/* Writes positions at[0 … n-1] of the line's i-th to i+n-th smallest as indices from 1, and the
   elements there: from their keys, or fetched. p: x, indices, values. */
static void write_block(const sorting *s, char *const *p, int64_t i, const int64_t *at,
                        const uint64_t *keys, int64_t n) {
    int64_t is = s->indices && s->x->ndim ? s->indices->stride[s->dim] * 8 : 0;
    for (int64_t k = 0; s->indices && k < n; k++)
        *(int64_t *)(void *)(p[2] + (i + k) * is) = at[k] + 1;
    if (!s->values) return;
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)s->x->dtype);
    int64_t xs = s->x->ndim ? s->x->stride[s->dim] * size : 0,
            vs = s->x->ndim ? s->values->stride[s->dim] * size : 0;
    uint64_t flip = s->descending ? ~s->flip : s->flip;
    char *o = p[3] + i * vs;
    if (keys && size == 4) give_uint32_t(o, vs, keys, flip, n);
    else if (keys && size == 8) give_uint64_t(o, vs, keys, flip, n);
    else if (keys && size == 2) give_uint16_t(o, vs, keys, flip, n);
    else if (keys) give_uint8_t(o, vs, keys, flip, n);
    else if (size == 4) take_uint32_t(o, vs, p[1], xs, at, n);
    else if (size == 8) take_uint64_t(o, vs, p[1], xs, at, n);
    else if (size == 2) take_uint16_t(o, vs, p[1], xs, at, n);
    else take_uint8_t(o, vs, p[1], xs, at, n);
}

/* Keys that differ only below the 32 bits that were sorted by: such runs are sorted by all of them.
 * room: two wide ones per element. */
static void sort_runs(const sorting *s, const char *x, word *w, wide *room) {
    for (int64_t i = 0, end; i < s->n; i = end) {
        for (end = i + 1; end < s->n && WORD_KEY(w[end]) == WORD_KEY(w[i]); end++) {
        }
        if (end == i + 1) continue;
        for (int64_t k = i; k < end; k++) {
            room[k - i].at = w[k] & UINT32_MAX;
            read_keys(s, x, (int64_t)room[k - i].at, 1, &room[k - i].key);
        }
        const wide *sorted = sort_wide(room, room + (end - i), end - i, 8);
        for (int64_t k = i; k < end; k++) w[k] = WORD_KEY(w[k]) << 32 | sorted[k - i].at;
    }
}

/* The upper 32 bits in which keys differ, then what is below. room: 2 words per element, and where
 * shift > 0 two wide ones. */
static void sort_words(const sorting *s, char *const *p, uint64_t low, int shift, int digits,
                       word *room) {
    uint64_t keys[GP_BLOCK];
    for (int64_t i = 0; i < s->n; i += GP_BLOCK) {
        int64_t n = s->n - i < GP_BLOCK ? s->n - i : GP_BLOCK;
        read_keys(s, p[1], i, n, keys);
        for (int64_t k = 0; k < n; k++)
            room[i + k] = (keys[k] - low) >> shift << 32 | (uint64_t)(i + k);
    }
    word *sorted = sort_word(room, room + s->n, s->n, digits);
    if (shift) sort_runs(s, p[1], sorted, (wide *)(void *)(room + 2 * s->n));
    int64_t at[GP_BLOCK];
    for (int64_t i = 0; i < s->n; i += GP_BLOCK) {
        int64_t n = s->n - i < GP_BLOCK ? s->n - i : GP_BLOCK;
        for (int64_t k = 0; k < n; k++) at[k] = (int64_t)(sorted[i + k] & UINT32_MAX);
        for (int64_t k = 0; k < n; k++) keys[k] = WORD_KEY(sorted[i + k]) + low;
        write_block(s, p, i, at, s->from_keys && !shift ? keys : NULL, n);
    }
}

/* Lines of 2^32 elements and more. */
static void sort_wides(const sorting *s, char *const *p, uint64_t low, int digits, wide *room) {
    for (int64_t i = 0; i < s->n; i++) {
        read_keys(s, p[1], i, 1, &room[i].key);
        room[i] = (wide){room[i].key - low, (uint64_t)i};
    }
    const wide *sorted = sort_wide(room, room + s->n, s->n, digits);
    for (int64_t i = 0; i < s->n; i++)
        write_block(s, p, i, &(int64_t){(int64_t)sorted[i].at}, NULL, 1);
}

/* Keys within 256 of each other: counted, and each position written where it belongs. at: room for
 * a line of positions. */
static void sort_few(const sorting *s, char *const *p, uint64_t low, int64_t *at) {
    uint64_t keys[GP_BLOCK];
    int64_t start[256] = {0}, sum = 0;
    for (int64_t i = 0; i < s->n; i += GP_BLOCK) {
        int64_t n = s->n - i < GP_BLOCK ? s->n - i : GP_BLOCK;
        read_keys(s, p[1], i, n, keys);
        for (int64_t k = 0; k < n; k++) start[keys[k] - low]++;
    }
    for (int v = 0; v < 256; v++) {
        int64_t many = start[v];
        start[v] = sum;
        sum += many;
    }
    bool positions = s->indices || !s->from_keys;
    for (int64_t i = 0; positions && i < s->n; i += GP_BLOCK) {
        int64_t n = s->n - i < GP_BLOCK ? s->n - i : GP_BLOCK;
        read_keys(s, p[1], i, n, keys);
        for (int64_t k = 0; k < n; k++) at[start[keys[k] - low]++] = i + k;
    }
    if (!positions) memmove(start, start + 1, 255 * sizeof *start), start[255] = sum;
    for (int64_t i = 0, key = 0; i < s->n; i += GP_BLOCK) {
        int64_t n = s->n - i < GP_BLOCK ? s->n - i : GP_BLOCK;
        for (int64_t k = 0; k < n; k++) {
            while (start[key] <= i + k) key++; /* now where the key's positions end */
            keys[k] = low + (uint64_t)key;
        }
        write_block(s, p, i, at + i, s->from_keys ? keys : NULL, n);
    }
}

/* *room holds *have bytes, or is NULL. */
static bool make_room(void **room, size_t *have, size_t need) {
    if (*have >= need) return true;
    free(*room);
    *room = malloc(need);
    *have = *room ? need : 0;
    return *room != NULL;
}

static void sort_lines(void *ctx, int64_t begin, int64_t end) {
    sorting *s = ctx;
    void *room = NULL;
    size_t have = 0, n = (size_t)s->n;
    for (int64_t i = begin; i < end && !s->no_memory; i++) {
        char *p[GP_LOOP_MAX];
        uint64_t low, range;
        gp_loop_at(&s->lines, i, p);
        key_range(s, p[1], &low, &range);
        range -= low;
        int digits = bytes_of(range), shift = digits > 4 ? 8 * (digits - 4) : 0;
        bool big = s->n > UINT32_MAX;
        if (!make_room(&room, &have,
                       n * (2 * sizeof(word) + (big || shift ? 2 * sizeof(wide) : 0))))
            s->no_memory = true;
        else if (big) sort_wides(s, p, low, digits, room);
        else if (digits <= 1 && s->n > 256) sort_few(s, p, low, room);
        else sort_words(s, p, low, shift, digits - shift / 8, room);
    }
    free(room);
}

static bool run_sort(const gp_call *c, const gp_array *values, const gp_array *indices) {
    sorting s = {.x = gp_in(c, 0),
                 .values = values,
                 .indices = indices,
                 .dim = (int)c->arg[1].i - 1,
                 .descending = gp_given(c, 2) && c->arg[2].i};
    if (s.x->numel == 0) return true;
    s.n = s.x->ndim ? s.x->dim[s.dim] : 1;
    s.key = gp_key_fn((gp_dtype)s.x->dtype);
    s.from_keys = !gp_is_float((gp_dtype)s.x->dtype);
    bool sign = s.x->dtype != GP_bool && s.x->dtype != GP_u8;
    s.flip = sign ? (uint64_t)1 << (8 * gp_dtype_size((gp_dtype)s.x->dtype) - 1) : 0;
    gp_array order = gp_without_dim(s.x, s.dim), x = order;
    gp_array ix = gp_without_dim(indices ? indices : values, s.dim),
             v = gp_without_dim(values ? values : indices, s.dim);
    gp_row_major(&order);
    const gp_array *arrays[4] = {&order, &x, &ix, &v};
    gp_loop_init(&s.lines, 4, arrays);
    gp_parallel(order.numel, 1 + GRAIN / s.n, sort_lines, &s);
    return !s.no_memory || gp_fail("%s: out of memory", c->op->name);
}

bool CPU(sort)(const gp_call *c) { return run_sort(c, gp_out(c, 0), gp_out(c, 1)); }
bool CPU(msort)(const gp_call *c) { return run_sort(c, gp_out(c, 0), NULL); }
bool CPU(argsort)(const gp_call *c) { return run_sort(c, NULL, gp_out(c, 0)); }
