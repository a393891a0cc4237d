/* Sorting a line of few values: positions are moved directly, without words. Worth 1.65 at 1e6
 * values of u8 and 1.16 at 524288 labels (one thread of an Emerald Rapids with AVX-512). */
#include <string.h>

#include "kernels/cpu/sort/line.h"

_Static_assert(BINS >= NARROW, "a part has counters for all lanes");
typedef void (*lanes_fn)(const gp_digit_sort *l, uint32_t *start, const int64_t *at, int lanes,
                         int64_t n);

static void lane_keys(const gp_digit_sort *l, const int64_t *at, int lanes, int64_t n,
                      uint64_t keys[][GP_BLOCK]) {
    for (int q = 0; q < lanes; q++) gp_sort_keys(l->s, l->p[1], at[q], n, keys[q]);
}

/* All lanes' positions are read before one is written: a store to an unknown address would delay
 * later loads. */
static inline __attribute__((always_inline)) void deal(const gp_digit_sort *l, uint32_t *start,
                                                       uint32_t *to, const int64_t *at,
                                                       const int lanes, int64_t n) {
    uint64_t keys[LANES][GP_BLOCK];
    const uint64_t low = l->low;
    lane_keys(l, at, lanes, n, keys);
    for (int64_t j = 0; j < n; j++) {
        uint32_t *slot[LANES], where[LANES];
#pragma GCC unroll 4
        for (int q = 0; q < lanes; q++)
            slot[q] = start + q * NARROW + (keys[q][j] - low), where[q] = *slot[q];
#pragma GCC unroll 4
        for (int q = 0; q < lanes; q++) *slot[q] = where[q] + 1;
#pragma GCC unroll 4
        for (int q = 0; to && q < lanes; q++) to[where[q]] = (uint32_t)(at[q] + j);
    }
}

/* Touches the pages that move_lanes will write, as make_words does. */
static void count_lanes(const gp_digit_sort *l, uint32_t *start, const int64_t *at, int lanes,
                        int64_t n) {
    for (int q = 0; l->at && n && q < lanes; q++) l->at[at[q]] = 0;
    if (lanes == LANES) deal(l, start, NULL, at, LANES, n);
    else deal(l, start, NULL, at, 1, n);
}

static void move_lanes(const gp_digit_sort *l, uint32_t *start, const int64_t *at, int lanes,
                       int64_t n) {
    if (lanes == LANES) deal(l, start, l->at, at, LANES, n);
    else deal(l, start, l->at, at, 1, n);
}

/* Runs fn over part k; the remainder of the division by LANES follows the last lane. */
static void few_part(const gp_digit_sort *l, int64_t k, lanes_fn fn) {
    int64_t first = first_of(l, k), n = first_of(l, k + 1) - first, each = n / LANES, at[LANES];
    for (int q = 0; q < LANES; q++) at[q] = first + each * q;
    for (int64_t i = 0, m; i < each && !gp_sort_stopped(l->s); i += m) {
        m = each - i < GP_BLOCK ? each - i : GP_BLOCK;
        fn(l, l->of[k].start, at, LANES, m);
        for (int q = 0; q < LANES; q++) at[q] += m;
    }
    fn(l, l->of[k].start + (LANES - 1) * NARROW, at + LANES - 1, 1, n - each * LANES);
}

static void count_few(void *ctx, int64_t begin, int64_t end) {
    const gp_digit_sort *l = ctx;
    for (int64_t k = begin; k < end; k++) {
        uint32_t *start = l->of[k].start;
        memset(start, 0, LANES * NARROW * sizeof *start);
        few_part(l, k, count_lanes);
    }
}

static void move_few(void *ctx, int64_t begin, int64_t end) {
    const gp_digit_sort *l = ctx;
    for (int64_t k = begin; k < end; k++) few_part(l, k, move_lanes);
}

static void write_few(void *ctx, int64_t begin, int64_t end) {
    const gp_digit_sort *l = ctx;
    uint64_t keys[GP_BLOCK];
    int64_t at[GP_BLOCK];
    for (int64_t k = begin; k < end; k++) {
        int64_t v = 0;
        EACH_BLOCK(l, k, i, n) {
            for (int64_t j = 0; l->at && j < n; j++) at[j] = l->at[i + j];
            for (int64_t j = 0, stop; j < n; j = stop) {
                while (l->ends[v] <= i + j) v++;
                stop = l->ends[v] - i < n ? l->ends[v] - i : n;
                for (int64_t to = j; to < stop; to++) keys[to] = l->low + (uint64_t)v;
            }
            gp_sort_write(l->s, l->p, i, l->at ? at : NULL, keys, n);
        }
    }
}

/* Converts counts to positions: by value, then part, then lane. ends: where those of each value
 * end. */
static void list_few(gp_digit_sort *l, int64_t *ends) {
    uint32_t at = 0;
    for (int64_t v = 0; v < NARROW; v++) {
        for (int64_t i = 0; i < l->parts * LANES; i++) {
            uint32_t *start = &l->of[i / LANES].start[i % LANES * NARROW + v], many = *start;
            *start = at;
            at += many;
        }
        ends[v] = at;
    }
}

void gp_sort_few(gp_digit_sort *l) {
    int64_t ends[NARROW];
    l->ends = ends;
    each_part(l, count_few);
    list_few(l, ends);
    if (l->at) each_part(l, move_few);
    if (!l->s->interrupted) each_part(l, write_few);
}
