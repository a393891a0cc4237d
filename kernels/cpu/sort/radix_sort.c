/* Sorting one line: keys paired with positions, by radix sort from the least significant digit, or
   insertion where there are few. The line is split into parts, one per thread. Each part's elements
   go, in order, to the thread that has their leading digit and sorts and writes them by itself: so
   the sort is stable for any number of parts, and no pass reads what another processor has. */
#include <string.h>

#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/sort/line.h"
#include "tensor/memory/hostmem.h"

/* FEW elements are sorted by insertion, SMALL lines in the first-level cache. A digit of 11 bits
 * takes three times as long to move as one of 10, whose bins' ends fit the caches. */
enum { FEW = 32, SMALL = 2048, KEEP = 32 << 20 };

static void find_range(void *ctx, int64_t begin, int64_t end) {
    gp_digit_sort *l = ctx;
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

static inline word make_word(const gp_digit_sort *l, uint64_t key, int64_t at) {
    return l->alone ? key - l->low : (key - l->low) >> l->shift << 32 | (uint64_t)at;
}

/* Touches every page of b, too: else the first scatter would fault in all at once, and Ctrl-C would
 * take effect a second late. */
static void make_words(void *ctx, int64_t begin, int64_t end) {
    const gp_digit_sort *l = ctx;
    uint64_t keys[GP_BLOCK];
    for (int64_t k = begin; k < end; k++) EACH_BLOCK(l, k, i, n) {
            gp_sort_keys(l->s, l->p[1], i, n, keys);
            l->b[i] = l->b[i + n / 2] = 0;
            for (int64_t j = 0; j < n; j++) l->a[i + j] = make_word(l, keys[j], i + j);
        }
}

/* ---- distribution to the parts ---- */

static int leading(const gp_digit_sort *l) {
    return l->end - BITS > l->base ? l->end - BITS : l->base;
}

/* Where lane q of part k begins. */
static int64_t lane_of(const gp_digit_sort *l, int64_t k, int64_t q) {
    return l->s->n * (k * LANES + q) / (l->parts * LANES);
}

static void count_leading(void *ctx, int64_t begin, int64_t end) {
    const gp_digit_sort *l = ctx;
    const word *a = l->a;
    const int down = leading(l);
    for (int64_t k = begin; k < end; k++) {
        memset(l->of[k].start, 0, sizeof l->of[k].start);
        for (int64_t q = 0; q < LANES; q++) {
            uint32_t *count = l->of[k].start + q * BINS;
            BLOCKS(l, lane_of(l, k, q), lane_of(l, k, q + 1), i, n)
            for (int64_t j = i; j < i + n; j++) count[a[j] >> down]++;
        }
    }
}

/* Gives each part leading digits one after the other, about as many elements to each, and finds
 * where the elements go. */
static void share_digits(gp_digit_sort *l) {
    int64_t owner = 0, at = 0, many[BINS] = {0};
    for (int64_t k = 0; k < l->parts; k++)
        for (int64_t i = 0; i < LANES * BINS; i++) many[i % BINS] += l->of[k].start[i];
    l->of[0].first = 0;
    for (int64_t v = 0; v < BINS; at += many[v++]) {
        while (owner + 1 < l->parts && at + many[v] / 2 > first_of(l, owner + 1))
            l->of[++owner].first = at;
        l->owner[v] = (uint8_t)owner;
    }
    while (++owner < l->parts) l->of[owner].first = at;
    for (int64_t i = 0; i < l->parts * LANES; i++) {
        int64_t *to = l->of[i / LANES].to[i % LANES];
        memset(to, 0, sizeof l->of->to[0]);
        for (int64_t v = 0; v < BINS; v++)
            to[l->owner[v]] += l->of[i / LANES].start[i % LANES * BINS + v];
    }
    for (int64_t o = 0; o < l->parts; o++) {
        at = l->of[o].first;
        for (int64_t i = 0; i < l->parts * LANES; i++) {
            int64_t *to = &l->of[i / LANES].to[i % LANES][o], of_lane = *to;
            *to = at;
            at += of_lane;
        }
    }
}

static void distribute(void *ctx, int64_t begin, int64_t end) {
    const gp_digit_sort *l = ctx;
    const word *a = l->a;
    word *b = l->b;
    const uint8_t *owner = l->owner;
    const int down = leading(l);
    for (int64_t k = begin; k < end; k++) {
        int64_t(*to)[MOST_PARTS] = l->of[k].to, first[LANES];
        for (int q = 0; q < LANES; q++) first[q] = lane_of(l, k, q);
        int64_t each = (first[LANES - 1] - first[0]) / (LANES - 1);
        BLOCKS(l, 0, each, i, n)
        for (int64_t j = i; j < i + n; j++) {
#pragma GCC unroll 4
            for (int q = 0; q < LANES; q++) {
                word w = a[first[q] + j];
                b[to[q][owner[w >> down]]++] = w;
            }
        }
        for (int q = 0; q < LANES; q++)
            for (int64_t j = first[q] + each; j < lane_of(l, k, q + 1); j++)
                b[to[q][owner[a[j] >> down]]++] = a[j];
    }
}

/* ---- what one thread sorts ---- */

/* n words at a, which come first … first + n - 1 in the line; b is room for as many. */
typedef struct segment {
    const gp_digit_sort *l;
    word *a, *b;
    int64_t first, n;
} segment;

/* All positions are read before an element is written: a store to an unknown address would delay
 * later loads. */
static inline void move_four(word *b, uint32_t *start, const word *a, int down, uint64_t mask) {
    word w[4];
    uint32_t to[4];
    for (int q = 0; q < 4; q++) w[q] = a[q], to[q] = start[w[q] >> down & mask]++;
    for (int q = 0; q < 4; q++) b[to[q]] = w[q];
}

/* Converts a digit's counts to positions; returns the largest count. */
static uint32_t prefix_sums(uint32_t *next, uint64_t bins) {
    uint32_t at = 0, most = 0;
    for (uint64_t v = 0; v < bins; v++) {
        uint32_t many = next[v];
        next[v] = at;
        at += many;
        most = many > most ? many : most;
    }
    return most;
}

/* Moves the words to b in order of a digit of `bits` bits; false if all have the same. */
static bool move_digit(const segment *g, int down, int bits) {
    uint32_t start[BINS];
    const uint64_t bins = (uint64_t)1 << bits, mask = bins - 1;
    memset(start, 0, bins * sizeof *start);
    BLOCKS(g->l, 0, g->n, i, n)
    for (int64_t j = i; j < i + n; j++) start[g->a[j] >> down & mask]++;
    if (gp_sort_stopped(g->l->s) || prefix_sums(start, bins) == g->n) return false;
    BLOCKS(g->l, 0, g->n, i, n) {
        const word *a = g->a + i;
        for (; n % 4; n--, i++, a++) g->b[start[*a >> down & mask]++] = *a;
        for (int64_t j = 0; j < n; j += 4) move_four(g->b, start, a + j, down, mask);
    }
    return true;
}

/* Leaves the words in order of the bits that the line is sorted by in g->a. */
static void sort_words(segment *g) {
    int left = g->l->end - g->l->base, digits = (left + BITS - 1) / BITS,
        bits = digits ? (left + digits - 1) / digits : 0;
    for (int down = g->l->base; down < g->l->end; down += bits) {
        if (!move_digit(g, down, bits)) continue;
        word *t = g->a;
        g->a = g->b, g->b = t;
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

#define E word
#define NAME words
#define KEY(e) (e)
#include "kernels/cpu/sort/buckets.inc"
#define E wide
#define NAME wides
#define KEY(e) ((e).key)
#include "kernels/cpu/sort/buckets.inc"

/* Words i … end-1 have one key in their bits from l->base on: sorted by their elements' others. */
static void sort_run(const segment *g, int64_t i, int64_t end) {
    const gp_digit_sort *l = g->l;
    int64_t n = end - i;
    word *w = g->a + i;
    if (l->alone) {
        settle_words(l->s, w, g->b + i, n, 0, l->base, false);
        return;
    }
    wide few[2 * FEW], *buffer = n > FEW ? l->buffer + 2 * (g->first + i) : few;
    for (int64_t k = 0; k < n; k++) {
        buffer[k].at = w[k] & UINT32_MAX;
        gp_sort_keys(l->s, l->p[1], (int64_t)buffer[k].at, 1, &buffer[k].key);
        buffer[k].key -= l->low;
    }
    settle_wides(l->s, buffer, buffer + n, n, 0, l->shift, false);
    for (int64_t k = 0; k < n; k++) w[k] = w[k] >> 32 << 32 | buffer[k].at;
}

/* Elements whose keys differ only below the bits that were sorted by. */
static void sort_runs(const segment *g) {
    const word *w = g->a;
    const int base = g->l->base;
    for (int64_t i = 0, next; i < g->n; i = next) {
        for (next = i + 1; next < g->n && w[next] >> base == w[i] >> base; next++) {
        }
        if (next > i + 1) {
            if (gp_sort_stopped(g->l->s)) return;
            sort_run(g, i, next);
        }
    }
}

static void write_words(const segment *g) {
    const gp_digit_sort *l = g->l;
    const int down = l->alone ? 0 : 32;
    uint64_t keys[GP_BLOCK];
    int64_t at[GP_BLOCK];
    BLOCKS(l, 0, g->n, i, n) {
        const word *w = g->a + i;
        for (int64_t j = 0; j < n; j++) at[j] = (int64_t)(w[j] & UINT32_MAX);
        for (int64_t j = 0; j < n; j++) keys[j] = (w[j] >> down) + l->low;
        gp_sort_write(l->s, l->p, g->first + i, at, l->shift ? NULL : keys, n);
    }
}

/* Sorts the segment and writes it. */
static void sort_segment(segment *g) {
    const gp_digit_sort *l = g->l;
    if (g->n <= SMALL) {
        settle_words(l->s, g->a, g->b, g->n, l->base, l->end, false);
    } else {
        sort_words(g);
    }
    if ((l->shift || (l->alone && l->base)) && !l->s->interrupted) sort_runs(g);
    if (!l->s->interrupted) write_words(g);
}

static void sort_segments(void *ctx, int64_t begin, int64_t end) {
    const gp_digit_sort *l = ctx;
    for (int64_t k = begin; k < end; k++) {
        int64_t first = l->of[k].first, stop = k + 1 < l->parts ? l->of[k + 1].first : l->s->n;
        sort_segment(&(segment){l, l->b + first, l->a + first, first, stop - first});
    }
}

static void sort_parts(gp_digit_sort *l) {
    uint8_t owner[BINS];
    each_part(l, make_words);
    if (l->s->interrupted) return;
    if (l->parts == 1) {
        sort_segment(&(segment){l, l->a, l->b, 0, l->s->n});
        return;
    }
    l->owner = owner;
    each_part(l, count_leading);
    if (l->s->interrupted) return;
    share_digits(l);
    each_part(l, distribute);
    if (!l->s->interrupted) each_part(l, sort_segments);
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

static void make_wides(const gp_digit_sort *l) {
    uint64_t keys[GP_BLOCK];
    EACH_BLOCK(l, 0, i, n) {
        gp_sort_keys(l->s, l->p[1], i, n, keys);
        for (int64_t j = 0; j < n; j++)
            l->buffer[i + j] = (wide){keys[j] - l->low, (uint64_t)(i + j)};
    }
}

static void write_wides(const gp_digit_sort *l, const wide *sorted) {
    uint64_t keys[GP_BLOCK];
    int64_t at[GP_BLOCK];
    EACH_BLOCK(l, 0, i, n) {
        for (int64_t j = 0; j < n; j++) at[j] = (int64_t)sorted[i + j].at;
        for (int64_t j = 0; j < n; j++) keys[j] = sorted[i + j].key + l->low;
        gp_sort_write(l->s, l->p, i, at, keys, n);
    }
}

/* Small lines, and those of 2^32 elements and more: by one thread. */
static void sort_wides(gp_digit_sort *l, int bits) {
    const int64_t n = l->s->n;
    const wide *sorted = l->buffer;
    make_wides(l);
    if (n <= SMALL) settle_wides(l->s, l->buffer, l->buffer + n, n, 0, bits, false);
    else sorted = radix_wide(l->buffer, l->buffer + n, n);
    write_wides(l, sorted);
}

/* Chooses what words hold and are sorted by. Of keys that do not fit,
 * and of long keys alone, the leading bits tell nearly all elements apart: of integers, 30 bits, in
 * three digits, cost less than 32. */
static void plan_words(gp_digit_sort *l, int bits) {
    const int most = l->s->is_float || l->s->n >= 1 << 24 ? 32 : 3 * BITS;
    const int excess = bits > 32 ? bits - most : 0;
    l->alone = !l->s->indices && !l->s->is_float;
    l->shift = l->alone ? 0 : excess;
    l->base = !l->alone ? 32 : l->s->n > SMALL ? excess : 0;
    l->end = l->alone ? bits : 32 + bits - excess;
}

/* Sorts by what the line needs: positions alone, words, or wide words. Unused room is never
 * touched, so it costs nothing. */
static void sort_range(gp_digit_sort *l) {
    size_t n = (size_t)l->s->n;
    int bits = bits_of(l->range);
    plan_words(l, bits);
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
    if (wides) l->buffer = (wide *)(void *)(p + words);
    if (few) gp_sort_few(l);
    else if (wide_only) sort_wides(l, bits);
    else sort_parts(l);
    if (bytes > KEEP) gp_host_free(p, bytes);
}

void gp_sort_line(gp_sorting *s, char *const *p, int64_t parts) {
    gp_sort_part own, *of = &own;
    if (parts > MOST_PARTS) parts = MOST_PARTS;
    if (parts > 1 && !(of = gp_host_alloc((size_t)parts * sizeof *of))) {
        s->no_memory = true;
        return;
    }
    gp_digit_sort l = {.s = s, .p = p, .parts = parts, .of = of};
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
