/* topk and kthvalue: the first few of a line in order, without sorting all of it. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/sort/keys.h"

enum { SPARE = 64, MOST_PARTS = 64 };

/* An element's key, complemented where the largest are wanted, and its position: no two are equal,
 * and of equal elements the first comes first. */
typedef struct entry {
    uint64_t key;
    int64_t at;
} entry;

static bool before(entry a, entry b) { return a.key < b.key || (a.key == b.key && a.at < b.at); }

static int compare(const void *a, const void *b) {
    return before(*(const entry *)a, *(const entry *)b) ? -1 : 1;
}

static void swap(entry *a, entry *b) {
    entry t = *a;
    *a = *b, *b = t;
}

/* Moves the median of three elements spread over e[lo … hi] to e[lo]. */
static void choose_pivot(entry *e, int64_t lo, int64_t hi) {
    int64_t mid = lo + (hi - lo) / 2, m;
    if (before(e[lo], e[mid])) m = before(e[mid], e[hi]) ? mid : before(e[lo], e[hi]) ? hi : lo;
    else m = before(e[hi], e[mid]) ? mid : before(e[hi], e[lo]) ? hi : lo;
    swap(&e[lo], &e[m]);
}

/* Makes e[0 … k-1] the k first of n, e[k-1] the last of them. Hoare's quickselect. */
static void select_first(entry *e, int64_t n, int64_t k) {
    int64_t lo = 0, hi = n - 1;
    while (lo < hi) {
        choose_pivot(e, lo, hi);
        entry pivot = e[lo];
        int64_t i = lo - 1, j = hi + 1;
        for (;;) {
            while (before(e[++i], pivot)) {
            }
            while (before(pivot, e[--j])) {
            }
            if (i >= j) break;
            swap(&e[i], &e[j]);
        }
        if (k - 1 <= j) hi = j;
        else lo = j + 1;
    }
}

typedef struct choosing {
    const gp_array *x;
    gp_nd_loop lines; /* 0: order, 1: x, 2: values, 3: indices; without the dim */
    gp_key key;
    int64_t n, k, xs, vs, is; /* elements of a line; steps in bytes along it */
    bool largest, one;        /* one: only the k-th is wanted */
    entry *entries; /* of a long line's parts, capacity_of each, and how many those hold */
    int64_t parts, have[MOST_PARTS];
    _Atomic bool no_memory, interrupted;
} choosing;

/* True if one of n keys comes before the limit. */
static bool any_before(const uint64_t *keys, int64_t n, uint64_t flip, uint64_t limit) {
    uint64_t any = 0;
    for (int64_t i = 0; i < n; i++) any |= (keys[i] ^ flip) < limit;
    return any;
}

/* Collects the k first of elements [from, to) of the line at p in e, which has room for `room`;
 * returns how many e holds. Whenever e is full, all but the k first are dropped. */
static int64_t collect(choosing *s, const char *p, int64_t from, int64_t to, entry *e,
                       int64_t capacity) {
    uint64_t keys[GP_BLOCK], flip = s->largest ? UINT64_MAX : 0, limit = UINT64_MAX;
    bool limited = false;
    int64_t have = 0;
    for (int64_t i = from; i < to; i += GP_BLOCK) {
        int64_t n = to - i < GP_BLOCK ? to - i : GP_BLOCK;
        if (gp_stopped()) {
            s->interrupted = true;
            return 0;
        }
        s->key(keys, p + i * s->xs, s->xs, n);
        for (int64_t k = 0; k < n; k++) {
            while (limited && k % SPARE == 0 && k + SPARE <= n &&
                   !any_before(keys + k, SPARE, flip, limit))
                k += SPARE;
            if (k == n) break;
            uint64_t key = keys[k] ^ flip;
            if (limited && key >= limit) continue;
            e[have++] = (entry){key, i + k};
            if (have < capacity || (i + k == to - 1)) continue;
            select_first(e, have, s->k);
            have = s->k;
            limit = e[s->k - 1].key;
            limited = true;
        }
    }
    return have;
}

static void store_element(const choosing *s, char *const *p, int64_t to, int64_t at) {
    memcpy(p[2] + to * s->vs, p[1] + at * s->xs, gp_dtype_sizes[s->x->dtype]);
    *(int64_t *)(void *)(p[3] + to * s->is) = at + 1;
}

/* Line i's k first, which are among the `have` in e. */
static void choose_line(const choosing *s, int64_t i, entry *e, int64_t have) {
    char *p[GP_LOOP_MAX];
    gp_nd_loop_at(&s->lines, i, p);
    select_first(e, have, s->k);
    if (s->one) {
        store_element(s, p, 0, e[s->k - 1].at);
        return;
    }
    qsort(e, (size_t)s->k, sizeof *e, compare);
    for (int64_t j = 0; j < s->k; j++) store_element(s, p, j, e[j].at);
}

/* How many entries e needs room for: n where more than the k first of a line may be left in it, or
 * where many are chosen for the last of them alone. */
static int64_t capacity_of(const choosing *s) {
    int64_t few = s->one ? s->n / 16 : (s->n - SPARE) / 2;
    return s->k > few ? s->n : 2 * s->k + SPARE;
}

static void choose_lines(void *ctx, int64_t begin, int64_t end) {
    choosing *s = ctx;
    int64_t capacity = capacity_of(s);
    entry *e = malloc((size_t)capacity * sizeof *e);
    if (!e) s->no_memory = true;
    for (int64_t i = begin; e && i < end && !s->interrupted; i++) {
        char *p[GP_LOOP_MAX];
        gp_nd_loop_at(&s->lines, i, p);
        int64_t have = collect(s, p[1], 0, s->n, e, capacity);
        if (!s->interrupted) choose_line(s, i, e, have);
    }
    free(e);
}

/* One long line of which few are wanted: parts [begin, end) of it have entries of their own. */
static void collect_parts(void *ctx, int64_t begin, int64_t end) {
    choosing *s = ctx;
    int64_t capacity = capacity_of(s);
    char *p[GP_LOOP_MAX];
    gp_nd_loop_at(&s->lines, 0, p);
    for (int64_t u = begin; u < end; u++)
        s->have[u] = collect(s, p[1], s->n * u / s->parts, s->n * (u + 1) / s->parts,
                             s->entries + u * capacity, capacity);
}

static void choose_long_line(choosing *s) {
    int64_t capacity = capacity_of(s), have = 0;
    s->entries = malloc((size_t)(s->parts * capacity) * sizeof *s->entries);
    if (!s->entries) {
        s->no_memory = true;
        return;
    }
    gp_parallel(s->parts, 1, collect_parts, s);
    for (int u = 0; u < s->parts && !s->interrupted; have += s->have[u++])
        memmove(s->entries + have, s->entries + u * capacity, (size_t)s->have[u] * sizeof(entry));
    if (!s->interrupted) choose_line(s, 0, s->entries, have);
    free(s->entries);
}

static bool select_lines(choosing *s, const gp_call *c, int dim) {
    const gp_array *x = s->x, *values = gp_out(c, 0), *indices = gp_out(c, 1);
    if (values->numel == 0) return true;
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)x->dtype);
    bool along = s->one ? false : values->ndim > 0; /* the outputs have the dim */
    s->n = x->ndim ? x->dim[dim] : 1;
    double chosen = s->one ? 0 : (double)s->k, from = s->one ? (double)s->n : 2 * chosen;
    if (gp_offload_wanted(c, 400 * from + 1500 * chosen)) return gp_offload_run(c, c->op->name);
    s->xs = x->ndim ? x->stride[dim] * size : 0;
    s->vs = along ? values->stride[dim] * size : 0;
    s->is = along ? indices->stride[dim] * 8 : 0;
    s->key = gp_key_fn((gp_dtype)x->dtype);
    gp_array in = gp_without_dim(x, dim), order = in, v = *values, ix = *indices;
    if (v.ndim == x->ndim) v = gp_without_dim(&v, dim), ix = gp_without_dim(&ix, dim);
    gp_row_major(&order);
    const gp_array *arrays[4] = {&order, &in, &v, &ix};
    gp_nd_loop_init(&s->lines, 4, arrays);
    int64_t part = 4 * capacity_of(s) > GP_GRAIN ? 4 * capacity_of(s) : GP_GRAIN,
            threads = gp_threads();
    s->parts = s->n / part < threads ? s->n / part : threads;
    if (s->parts > MOST_PARTS) s->parts = MOST_PARTS;
    if (order.numel == 1 && s->parts > 1) choose_long_line(s);
    else gp_parallel(order.numel, 1 + GP_GRAIN / s->n, choose_lines, s);
    if (s->interrupted) return gp_fail("%s: interrupted", c->op->name);
    return !s->no_memory || gp_fail("%s: out of memory", c->op->name);
}

bool CPU(topk)(const gp_call *c) {
    choosing s = {.x = gp_in(c, 0), .k = c->arg[1].i, .largest = c->arg[3].i};
    return select_lines(&s, c, (int)c->arg[2].i - 1);
}

bool CPU(kthvalue)(const gp_call *c) {
    choosing s = {.x = gp_in(c, 0), .k = c->arg[1].i, .one = true};
    return select_lines(&s, c, (int)c->arg[2].i - 1);
}
