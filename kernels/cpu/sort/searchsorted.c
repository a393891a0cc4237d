/* searchsorted and bucketize: where values belong in sorted lines. */
#include <stdlib.h>

#include "kernels/cpu/sort/keys.h"

/* Both sides are without gaps and of one dtype. NaN is the largest, as sort has it. */
typedef struct search {
    const char *lines, *values;
    char *out;
    int64_t n, m, size; /* elements of a line; values a line; bytes of an element */
    bool one;           /* a single line serves all values */
    bool right, narrow; /* narrow: the output is i32 */
    gp_key key;
    const uint64_t *keys; /* of all lines; NULL where making them costs more than it saves */
} search;

/* How many of the n elements of the line at p (or of its keys) come before v. */
static int64_t position(const search *s, const char *p, const uint64_t *keys, uint64_t v) {
    int64_t lo = 0;
    for (int64_t n = s->n; n > 0;) {
        int64_t half = n / 2;
        uint64_t k;
        if (keys) k = keys[lo + half];
        else s->key(&k, p + (lo + half) * s->size, s->size, 1);
        if (s->right ? k <= v : k < v) lo += half + 1, n -= half + 1;
        else n = half;
    }
    return lo;
}

/* Values [begin, end), each by halving. */
static void search_values(void *ctx, int64_t begin, int64_t end) {
    const search *s = ctx;
    uint64_t v[GP_BLOCK];
    for (int64_t i = begin; i < end; i += GP_BLOCK) {
        int64_t n = end - i < GP_BLOCK ? end - i : GP_BLOCK;
        s->key(v, s->values + i * s->size, s->size, n);
        for (int64_t k = 0; k < n; k++) {
            int64_t line = s->one ? 0 : (i + k) / s->m;
            int64_t at = 1 + position(s, s->lines + line * s->n * s->size,
                                      s->keys ? s->keys + line * s->n : NULL, v[k]);
            if (s->narrow) ((int32_t *)(void *)s->out)[i + k] = (int32_t)at;
            else ((int64_t *)(void *)s->out)[i + k] = at;
        }
    }
}

/* lines: the sorted sequence. */
static bool search_all(const gp_call *c, const gp_array *lines, const gp_array *values,
                       bool right) {
    const gp_array *out = gp_out(c, 0);
    search s = {.lines = lines->data,
                .values = values->data,
                .out = out->data,
                .n = lines->dim[lines->ndim - 1],
                .m = values->ndim ? values->dim[values->ndim - 1] : 1,
                .size = (int64_t)gp_dtype_size((gp_dtype)lines->dtype),
                .one = lines->ndim == 1,
                .right = right,
                .narrow = out->dtype == GP_i32,
                .key = gp_key_fn((gp_dtype)lines->dtype)};
    uint64_t *keys = NULL;
    if (out->numel > lines->numel / 32) { /* without memory for them it works as well */
        keys = malloc((size_t)(lines->numel ? lines->numel : 1) * sizeof *keys);
        if (keys) s.key(keys, s.lines, s.size, lines->numel);
        s.keys = keys;
    }
    bool ok = gp_parallel_op(c, out->numel, GP_GRAIN / 8, search_values, &s);
    free(keys);
    return ok;
}

/* c->tmp: the sequence and the values, in one dtype. */
bool CPU(searchsorted)(const gp_call *c) {
    return search_all(c, c->tmpa[0], c->tmpa[1], gp_given(c, 3) && c->arg[3].i);
}
bool CPU(bucketize)(const gp_call *c) {
    return search_all(c, c->tmpa[0], c->tmpa[1], gp_given(c, 3) && c->arg[3].i);
}
