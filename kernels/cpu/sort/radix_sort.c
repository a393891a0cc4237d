/* Sorting one line: keys paired with positions, by radix sort from the least significant digit, or
   insertion where there are few. The line is split into parts, one per thread; every pass counts
   and then moves each part's elements in order, so the sort is stable for any number of parts. */
#include <string.h>

#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/sort/sort.h"
#include "tensor/memory/hostmem.h"

/* FEW elements are sorted by insertion, SMALL lines in the first-level cache. A digit of 11 bits
 * takes three times as long to move as one of 10, whose bins' ends fit the caches. */
enum { FEW = 32, SMALL = 2048, BITS = 10, BINS = 1 << BITS };
enum { NARROW = 256, MOST_PARTS = 64, KEEP = 32 << 20 };

/* A key, if no positions are wanted, or the position it came from below 32 bits of the key, or both
 * in two fields. Order by key, then position, is the stable order. */
typedef uint64_t word;
typedef struct wide {
    uint64_t key, at;
} wide;

#define WORD_KEY(e) ((e) >> 32)

/* What a part knows of its elements. */
typedef struct part {
    uint64_t low, high;
    uint32_t start[BINS]; /* of a digit: how many elements; then where the next one goes */
} part;

typedef struct line {
    gp_sorting *s;
    char *const *p;
    int64_t parts;
    part *of; /* parts of them */
    uint64_t low, range;
    bool alone;             /* words are key - low; else (key - low) >> shift and a position */
    int shift, bits, digit; /* digits of so many bits; the current digit's lowest bit in a word */
    int base;               /* the lowest bit that words are sorted by */
    word *a, *b;
    wide *room;    /* shift > 0: two for each element */
    uint32_t *at;  /* few values: positions in order */
    int64_t *ends; /* few values: where the positions of each end */
} line;

static int64_t first_of(const line *l, int64_t k) { return l->s->n * k / l->parts; }

static void each_part(line *l, gp_body body) {
    if (l->parts == 1) body(l, 0, 1);
    else gp_parallel(l->parts, 1, body, l);
}

/* Over the blocks of part k: i where one begins, n its elements; stops on Ctrl-C. */
#define EACH_BLOCK(l, k, i, n)                                                                     \
    for (int64_t i = first_of(l, k), end_ = first_of(l, k + 1), n;                                 \
         i < end_ && (n = end_ - i < GP_BLOCK ? end_ - i : GP_BLOCK, !gp_sort_stopped((l)->s));    \
         i += n)

static void find_range(void *ctx, int64_t begin, int64_t end) {
    line *l = ctx;
    uint64_t keys[GP_BLOCK];
    for (int64_t k = begin; k < end; k++) {
        uint64_t lo = UINT64_MAX, hi = 0;
        EACH_BLOCK(l, k, i, n) {
            gp_sort_keys(l->s, l->p[1], i, n, keys);
            for (int64_t j = 0; j < n; j++) {
                lo = keys[j] < lo ? keys[j] : lo;
                hi = keys[j] > hi ? keys[j] : hi;
            }
        }
        l->of[k].low = lo, l->of[k].high = hi;
    }
}

/* ---- words ---- */

static inline word make_word(const line *l, uint64_t key, int64_t at) {
    return l->alone ? key - l->low : (key - l->low) >> l->shift << 32 | (uint64_t)at;
}

/* Touches every page of b, too: else the first scatter would fault in all at once, and Ctrl-C would
 * take effect a second late. */
static void make_words(void *ctx, int64_t begin, int64_t end) {
    const line *l = ctx;
    uint64_t keys[GP_BLOCK];
    for (int64_t k = begin; k < end; k++) EACH_BLOCK(l, k, i, n) {
            gp_sort_keys(l->s, l->p[1], i, n, keys);
            l->b[i] = l->b[i + n / 2] = 0;
            for (int64_t j = 0; j < n; j++) l->a[i + j] = make_word(l, keys[j], i + j);
        }
}

static void count_digit(void *ctx, int64_t begin, int64_t end) {
    const line *l = ctx;
    const int down = l->digit;
    const uint64_t mask = ((uint64_t)1 << l->bits) - 1;
    for (int64_t k = begin; k < end; k++) {
        uint32_t *count = l->of[k].start;
        memset(count, 0, (mask + 1) * sizeof *count);
        EACH_BLOCK(l, k, i, n)
        for (int64_t j = i; j < i + n; j++) count[l->a[j] >> down & mask]++;
    }
}

/* All positions are read before an element is written: a store to an unknown address would delay
 * later loads. */
static inline void move_four(word *b, uint32_t *start, const word *a, int down, uint64_t mask) {
    word w[4];
    uint32_t to[4];
    for (int q = 0; q < 4; q++) w[q] = a[q], to[q] = start[w[q] >> down & mask]++;
    for (int q = 0; q < 4; q++) b[to[q]] = w[q];
}

static void move_digit(void *ctx, int64_t begin, int64_t end) {
    const line *l = ctx;
    const int down = l->digit;
    const uint64_t mask = ((uint64_t)1 << l->bits) - 1;
    for (int64_t k = begin; k < end; k++) {
        uint32_t *start = l->of[k].start;
        EACH_BLOCK(l, k, i, n) {
            const word *a = l->a + i;
            for (; n % 4; n--, i++, a++) l->b[start[*a >> down & mask]++] = *a;
            for (int64_t j = 0; j < n; j += 4) move_four(l->b, start, a + j, down, mask);
        }
    }
}

/* Converts counts to positions. False: all elements have the same digit. */
static bool place_digit(line *l, int64_t bins) {
    uint32_t at = 0;
    for (int64_t v = 0; v < bins; v++) {
        uint32_t before = at;
        for (int64_t k = 0; k < l->parts; k++) {
            uint32_t many = l->of[k].start[v];
            l->of[k].start[v] = at;
            at += many;
        }
        if (at - before == (uint32_t)l->s->n) return false;
    }
    return true;
}

/* Leaves the words in order of their bits base … end - 1 in l->a. */
static void sort_words(line *l, int end) {
    int left = end - l->base, digits = (left + BITS - 1) / BITS;
    l->bits = digits ? (left + digits - 1) / digits : 0;
    for (l->digit = l->base; l->digit < end && !l->s->interrupted; l->digit += l->bits) {
        each_part(l, count_digit);
        if (!place_digit(l, (int64_t)1 << l->bits)) continue;
        each_part(l, move_digit);
        word *t = l->a;
        l->a = l->b, l->b = t;
    }
}

/* ---- few elements, and those whose words have one key ---- */

static int bits_of(uint64_t v) { return v ? 64 - __builtin_clzll(v) : 0; }

/* By how many bits to distribute n elements whose keys differ in `left` bits: into about as many
 * bins as there are elements. */
static int digit_bits(int64_t n, int left) {
    int bits = bits_of((uint64_t)n);
    bits = bits < BITS ? bits : BITS;
    return bits < left ? bits : left;
}

/* Converts a digit's counts to positions; returns the largest count. */
static uint32_t place(uint32_t *next, uint64_t bins) {
    uint32_t at = 0, most = 0;
    for (uint64_t v = 0; v < bins; v++) {
        uint32_t many = next[v];
        next[v] = at;
        at += many;
        most = many > most ? many : most;
    }
    return most;
}

#define E word
#define NAME words
#define KEY(e) (e)
#include "kernels/cpu/sort/buckets.inc"
#define E wide
#define NAME wides
#define KEY(e) ((e).key)
#include "kernels/cpu/sort/buckets.inc"

/* Words i … end-1 have one key in their bits from l->base on: sorted by their elements' others. */
static void sort_run(const line *l, int64_t i, int64_t end) {
    int64_t n = end - i;
    word *w = l->a + i;
    if (l->alone) {
        settle_words(l->s, w, l->b + i, n, 0, l->base, false);
        return;
    }
    wide few[2 * FEW], *room = n > FEW ? l->room + 2 * i : few;
    for (int64_t k = 0; k < n; k++) {
        room[k].at = w[k] & UINT32_MAX;
        gp_sort_keys(l->s, l->p[1], (int64_t)room[k].at, 1, &room[k].key);
        room[k].key -= l->low;
    }
    settle_wides(l->s, room, room + n, n, 0, l->shift, false);
    for (int64_t k = 0; k < n; k++) w[k] = WORD_KEY(w[k]) << 32 | room[k].at;
}

/* Elements whose keys differ only below the bits that were sorted by: part k has the whole runs
 * from of[k].low on. */
static void sort_runs(void *ctx, int64_t begin, int64_t end) {
    const line *l = ctx;
    const word *w = l->a;
    int64_t stop = end < l->parts ? (int64_t)l->of[end].low : l->s->n;
    for (int64_t i = (int64_t)l->of[begin].low, next; i < stop; i = next) {
        for (next = i + 1; next < stop && w[next] >> l->base == w[i] >> l->base; next++) {
        }
        if (next > i + 1) {
            if (gp_sort_stopped(l->s)) return;
            sort_run(l, i, next);
        }
    }
}

static void cut_runs(line *l) {
    const word *w = l->a;
    for (int64_t k = 0; k < l->parts; k++) {
        int64_t i = first_of(l, k);
        while (i > 0 && i < l->s->n && w[i] >> l->base == w[i - 1] >> l->base) i++;
        l->of[k].low = (uint64_t)i;
    }
}

static void write_words(void *ctx, int64_t begin, int64_t end) {
    const line *l = ctx;
    uint64_t keys[GP_BLOCK];
    int64_t at[GP_BLOCK];
    for (int64_t k = begin; k < end; k++) EACH_BLOCK(l, k, i, n) {
            const int down = l->alone ? 0 : 32;
            for (int64_t j = 0; j < n; j++) at[j] = (int64_t)(l->a[i + j] & UINT32_MAX);
            for (int64_t j = 0; j < n; j++) keys[j] = (l->a[i + j] >> down) + l->low;
            gp_sort_write(l->s, l->p, i, at, l->shift ? NULL : keys, n);
        }
}

/* ---- few values: positions are moved directly, without words ---- */

/* A part is done in LANES adjacent stretches, each with its own counters: a single stretch of few
 * values would wait for the count just written. */
enum { LANES = 4 };
_Static_assert(BINS / LANES >= NARROW, "a part has counters for all lanes");
typedef void (*lanes_fn)(const line *l, uint32_t *start, const int64_t *at, int lanes, int64_t n);

static void lane_keys(const line *l, const int64_t *at, int lanes, int64_t n,
                      uint64_t keys[][GP_BLOCK]) {
    for (int q = 0; q < lanes; q++) gp_sort_keys(l->s, l->p[1], at[q], n, keys[q]);
}

/* All lanes' positions are read before one is written: a store to an unknown address would delay
 * later loads. */
static inline __attribute__((always_inline)) void
deal(const line *l, uint32_t *start, uint32_t *to, const int64_t *at, const int lanes, int64_t n) {
    uint64_t keys[LANES][GP_BLOCK];
    const uint64_t low = l->low;
    lane_keys(l, at, lanes, n, keys);
    for (int64_t j = 0; j < n; j++) {
        uint32_t *place[LANES], where[LANES];
#pragma GCC unroll 4
        for (int q = 0; q < lanes; q++)
            place[q] = start + q * NARROW + (keys[q][j] - low), where[q] = *place[q];
#pragma GCC unroll 4
        for (int q = 0; q < lanes; q++) *place[q] = where[q] + 1;
#pragma GCC unroll 4
        for (int q = 0; to && q < lanes; q++) to[where[q]] = (uint32_t)(at[q] + j);
    }
}

/* Touches the pages that move_lanes will write, as make_words does. */
static void count_lanes(const line *l, uint32_t *start, const int64_t *at, int lanes, int64_t n) {
    for (int q = 0; l->at && n && q < lanes; q++) l->at[at[q]] = 0;
    if (lanes == LANES) deal(l, start, NULL, at, LANES, n);
    else deal(l, start, NULL, at, 1, n);
}

static void move_lanes(const line *l, uint32_t *start, const int64_t *at, int lanes, int64_t n) {
    if (lanes == LANES) deal(l, start, l->at, at, LANES, n);
    else deal(l, start, l->at, at, 1, n);
}

/* Runs fn over part k; the remainder of the division by LANES follows the last lane. */
static void few_part(const line *l, int64_t k, lanes_fn fn) {
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
    const line *l = ctx;
    for (int64_t k = begin; k < end; k++) {
        memset(l->of[k].start, 0, LANES * NARROW * sizeof *l->of[k].start);
        few_part(l, k, count_lanes);
    }
}

static void move_few(void *ctx, int64_t begin, int64_t end) {
    const line *l = ctx;
    for (int64_t k = begin; k < end; k++) few_part(l, k, move_lanes);
}

static void write_few(void *ctx, int64_t begin, int64_t end) {
    const line *l = ctx;
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
static void place_few(line *l, int64_t *ends) {
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

static void sort_few(line *l) {
    int64_t ends[NARROW];
    l->ends = ends;
    each_part(l, count_few);
    place_few(l, ends);
    if (l->at) each_part(l, move_few);
    if (!l->s->interrupted) each_part(l, write_few);
}

/* ---- lines ---- */

/* Least significant byte first; returns where the result is: a or b. */
static const wide *radix_wide(wide *a, wide *b, int64_t n) {
    for (int d = 0; d < 64; d += 8) {
        int64_t start[256] = {0}, at = 0;
        for (int64_t i = 0; i < n; i++) start[a[i].key >> d & 255]++;
        if (start[a[0].key >> d & 255] == n) continue;
        for (int v = 0; v < 256; v++) {
            int64_t many = start[v];
            start[v] = at;
            at += many;
        }
        for (int64_t i = 0; i < n; i++) b[start[a[i].key >> d & 255]++] = a[i];
        wide *t = a;
        a = b, b = t;
    }
    return a;
}

static void make_wides(const line *l) {
    uint64_t keys[GP_BLOCK];
    EACH_BLOCK(l, 0, i, n) {
        gp_sort_keys(l->s, l->p[1], i, n, keys);
        for (int64_t j = 0; j < n; j++)
            l->room[i + j] = (wide){keys[j] - l->low, (uint64_t)(i + j)};
    }
}

static void write_wides(const line *l, const wide *sorted) {
    uint64_t keys[GP_BLOCK];
    int64_t at[GP_BLOCK];
    EACH_BLOCK(l, 0, i, n) {
        for (int64_t j = 0; j < n; j++) at[j] = (int64_t)sorted[i + j].at;
        for (int64_t j = 0; j < n; j++) keys[j] = sorted[i + j].key + l->low;
        gp_sort_write(l->s, l->p, i, at, keys, n);
    }
}

/* Small lines, and those of 2^32 elements and more: by one thread. */
static void sort_wides(line *l, int bits) {
    const int64_t n = l->s->n;
    const wide *sorted = l->room;
    make_wides(l);
    if (n <= SMALL) settle_wides(l->s, l->room, l->room + n, n, 0, bits, false);
    else sorted = radix_wide(l->room, l->room + n, n);
    write_wides(l, sorted);
}

static void sort_parts(line *l, int end) {
    each_part(l, make_words);
    if (l->s->n <= SMALL) settle_words(l->s, l->a, l->b, l->s->n, l->base, end, false);
    else sort_words(l, end);
    if (l->s->n > SMALL && (l->shift || (l->alone && l->base)) && !l->s->interrupted) {
        cut_runs(l);
        each_part(l, sort_runs);
    }
    if (!l->s->interrupted) each_part(l, write_words);
}

/* Chooses what words hold and are sorted by; returns where their bits end. Of keys that do not fit,
 * and of long keys alone, the leading bits tell nearly all elements apart: of integers, 30 bits, in
 * three digits, cost less than 32. */
static int plan_words(line *l, int bits) {
    const int most = l->s->is_float || l->s->n >= 1 << 24 ? 32 : 3 * BITS;
    const int excess = bits > 32 ? bits - most : 0;
    l->alone = !l->s->indices && !l->s->is_float;
    l->shift = l->alone ? 0 : excess;
    l->base = !l->alone ? 32 : l->s->n > SMALL ? excess : 0;
    return l->alone ? bits : 32 + bits - excess;
}

/* Sorts by what the line needs: positions alone, words, or wide words. Unused room is never
 * touched, so it costs nothing. */
static void sort_range(line *l) {
    size_t n = (size_t)l->s->n;
    int bits = bits_of(l->range), end = plan_words(l, bits);
    bool big = n > UINT32_MAX, few = bits <= 8 && n > NARROW && !big;
    bool at = few && !l->alone, wide_only = !few && (big || (l->shift && n <= SMALL));
    size_t words = few || wide_only ? 0 : 2 * n * sizeof(word),
           wides = wide_only || (l->shift && !few) ? 2 * n * sizeof(wide) : 0,
           bytes = words + wides + (at ? n * sizeof *l->at : 0);
    gp_scratch_slot slot = l->parts > 1 ? GP_SCRATCH_CALL : GP_SCRATCH_PART;
    char *p = bytes <= KEEP ? gp_scratch(slot, bytes) : gp_host_alloc(bytes);
    if (!p) {
        l->s->no_memory = true;
        return;
    }
    if (at) l->at = (uint32_t *)(void *)p;
    if (words) l->a = (word *)(void *)p, l->b = l->a + n;
    if (wides) l->room = (wide *)(void *)(p + words);
    if (few) sort_few(l);
    else if (wide_only) sort_wides(l, bits);
    else sort_parts(l, end);
    if (bytes > KEEP) gp_host_free(p, bytes);
}

void gp_sort_line(gp_sorting *s, char *const *p, int64_t parts) {
    part own, *of = &own;
    if (parts > MOST_PARTS) parts = MOST_PARTS;
    if (parts > 1 && !(of = gp_host_alloc((size_t)parts * sizeof *of))) {
        s->no_memory = true;
        return;
    }
    line l = {.s = s, .p = p, .parts = parts, .of = of};
    each_part(&l, find_range);
    uint64_t low = UINT64_MAX, high = 0;
    for (int64_t k = 0; k < parts; k++) {
        low = of[k].low < low ? of[k].low : low;
        high = of[k].high > high ? of[k].high : high;
    }
    l.low = low, l.range = high - low;
    if (!s->interrupted) sort_range(&l);
    if (parts > 1) gp_host_free(of, (size_t)parts * sizeof *of);
}
