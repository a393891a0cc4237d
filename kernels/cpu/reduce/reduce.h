/* Reductions over any set of dims: the driver that handles layouts, dtypes and the split of the
 * work for every reducer. */
#ifndef GP_CPU_REDUCE_H
#define GP_CPU_REDUCE_H

#include "kernels/cpu/runtime/kernel.h"

/* Rows that `each` takes at most. */
enum { GP_REDUCE_ROWS = 4 };

/* How elements become a result. An accumulator has `fields` numbers of type `acc`; those of n
   outputs stand field by field: field f of output i is acc[f * n + i]. Elements come as type
   `load`. p is a parameter of the op. */
typedef struct gp_reducer {
    gp_ctype load, acc;
    int fields;
    void (*start)(void *acc, int64_t n); /* initialises n accumulators */
    void (*fold)(void *acc, const void *x, int64_t n,
                 double p); /* folds n elements into one accumulator */
    /* Element i of each of m rows into accumulator i; m <= GP_REDUCE_ROWS. */
    void (*each)(void *acc, const void *const *rows, int m, int64_t n, double p);
    void (*join)(void *acc, const void *more, int64_t n); /* merges n accumulators into n others */
    /* Accumulators of `count` elements: the first fields become the results. */
    void (*finish)(void *acc, double count, int64_t n, double p);
    /* Folds n elements of each of many rows, which begin `apart` bytes from each other, into as
     * many accumulators; or NULL. */
    void (*rows)(void *acc, const char *x, int64_t distance, int64_t many, int64_t n, double p);
} gp_reducer;

/* Prefetches n bytes four pages after `at`: the hardware stops at the page's end. For loops of n
 * bytes a step; prefetching past the last element does no harm. */
static inline void gp_fetch_ahead(const void *at, int n) {
    for (int i = 0; i < n; i += 64) __builtin_prefetch((const char *)at + 16384 + i);
}

/* Argument 0 of c over the dims in argument dims (a mask); field i is written to output i. False
 * when out of memory. */
#define gp_reduce GP_NAME(gp_reduce)
bool gp_reduce(const gp_call *c, const gp_reducer *red, int dims, double p);

/* The reducer of a row of formulas. */
#define gp_reducer_of GP_NAME(gp_reducer_of)
const gp_reducer *gp_reducer_of(const gp_op *op, gp_ctype ct);

/* Elements of an array that nobody stores: begin gives memory of the calling thread's, which other
 * kernels may use after this one, NULL when there is none; make gives elements [first, first + n)
 * of the row-major order, in `to`, which has room for them. */
typedef struct gp_element_source {
    void *(*begin)(void *ctx);
    const char *(*make)(void *ctx, void *memory, int64_t first, int64_t n, char *to);
    void *ctx;
} gp_element_source;

/* x over the dims of mask by the row op into output 0 of c; source: makes the elements of x, which
 * is contiguous, and for which gp_reduce_takes is true. Sums are in the same order with and
 * without. */
#define gp_reduce_array GP_NAME(gp_reduce_array)
bool gp_reduce_array(const gp_call *c, const gp_op *op, const gp_reducer *red, const gp_array *x,
                     uint64_t mask, const gp_element_source *source);
/* Whether the elements of x that are folded together are consecutive, or those that are kept. */
#define gp_reduce_takes GP_NAME(gp_reduce_takes)
bool gp_reduce_takes(const gp_array *x, const gp_op *op, const gp_reducer *red, uint64_t mask,
                     const gp_call *c);

#endif
