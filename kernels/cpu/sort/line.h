/* What sorting a line by digits and sorting one of few values share: see radix_sort.c. */
#ifndef GP_CPU_SORT_LINE_H
#define GP_CPU_SORT_LINE_H

#include "kernels/cpu/sort/sort.h"

/* Keys of up to NARROW values are few. A part counts in LANES adjacent stretches, each with its own
 * counters: one alone would wait for the count just written. */
enum { BITS = 10, BINS = 1 << BITS, NARROW = 256, LANES = 4, MOST_PARTS = 64 };

/* A key, if no positions are wanted, or the position it came from below 32 bits of the key, or both
 * in two fields. Order by key, then position, is the stable order. */
typedef uint64_t word;
typedef struct wide {
    uint64_t key, at;
} wide;

/* What a part knows of its elements. */
typedef struct gp_sort_part {
    uint64_t low, high;
    int64_t first;                 /* of what it sorts */
    int64_t to[LANES][MOST_PARTS]; /* where the next element for each part goes */
    uint32_t start[LANES * BINS];  /* of a digit: how many elements; then where the next one goes */
} gp_sort_part;

typedef struct gp_digit_sort {
    gp_sorting *s;
    char *const *p;
    int64_t parts;
    gp_sort_part *of; /* parts of them */
    uint64_t low, range;
    bool alone;           /* words are key - low; else (key - low) >> shift and a position */
    int shift, base, end; /* words are sorted by their bits base … end - 1, the rest being 0 */
    word *a, *b;
    uint8_t *owner; /* of a leading digit: which part sorts it */
    wide *buffer;   /* shift > 0: two for each element */
    uint32_t *at;   /* few values: positions in order */
    int64_t *ends;  /* few values: where the positions of each end */
} gp_digit_sort;

static inline int64_t first_of(const gp_digit_sort *l, int64_t k) { return l->s->n * k / l->parts; }

static inline void each_part(gp_digit_sort *l, gp_body body) {
    if (l->parts == 1) body(l, 0, 1);
    else gp_parallel(l->parts, 1, body, l);
}

/* Over the blocks of elements first … end - 1: i where one begins, n its elements; stops on Ctrl-C.
 * EACH_BLOCK: of part k. */
#define BLOCKS(l, first, end, i, n)                                                                \
    for (int64_t i = (first), end_ = (end), n;                                                     \
         i < end_ && (n = end_ - i < GP_BLOCK ? end_ - i : GP_BLOCK, !gp_sort_stopped((l)->s));    \
         i += n)
#define EACH_BLOCK(l, k, i, n) BLOCKS(l, first_of(l, k), first_of(l, (k) + 1), i, n)

/* Sorts a line of at most NARROW values from l->low on; l->at: room for its positions, or NULL
 * where none are wanted. */
#define gp_sort_few GP_NAME(gp_sort_few)
void gp_sort_few(gp_digit_sort *l);

#endif
