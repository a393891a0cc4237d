/* argsort_rows: the order of a matrix's rows, by merging runs of them. */
#include <stdlib.h>

#include "kernels/cpu/keys.h"

typedef struct rows {
    const uint64_t *keys; /* of all elements, row by row */
    int64_t n, width;
} rows;

/* Does row a come before row b, where b comes first among equals? */
static bool before(const rows *r, int64_t a, int64_t b) {
    const uint64_t *p = r->keys + a * r->width, *q = r->keys + b * r->width;
    for (int64_t i = 0; i < r->width; i++)
        if (p[i] != q[i]) return p[i] < q[i];
    return false;
}

/* Merges the runs from[lo … mid-1] and from[mid … hi-1] into to. */
static void merge(const rows *r, const int64_t *from, int64_t *to, int64_t lo, int64_t mid,
                  int64_t hi) {
    int64_t i = lo, j = mid;
    for (int64_t k = lo; k < hi; k++)
        to[k] = i < mid && (j >= hi || !before(r, from[j], from[i])) ? from[i++] : from[j++];
}

/* Returns where the order is: a or b; NULL when interrupted. */
static const int64_t *sort(const rows *r, int64_t *a, int64_t *b) {
    for (int64_t i = 0; i < r->n; i++) a[i] = i;
    for (int64_t run = 1; run < r->n; run *= 2) {
        for (int64_t lo = 0; lo < r->n; lo += 2 * run) {
            int64_t mid = lo + run < r->n ? lo + run : r->n,
                    hi = lo + 2 * run < r->n ? lo + 2 * run : r->n;
            if (gp_stopped()) return NULL;
            merge(r, a, b, lo, mid, hi);
        }
        int64_t *t = a;
        a = b, b = t;
    }
    return a;
}

/* c->tmp[0] is x without gaps. */
bool CPU(argsort_rows)(const gp_call *c) {
    const gp_array *x = c->tmpa[0], *out = gp_out(c, 0);
    rows r = {.n = x->dim[0], .width = x->dim[1]};
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)x->dtype);
    uint64_t *room = malloc((size_t)(x->numel + 2 * r.n + 1) * sizeof *room);
    if (!room) return gp_fail("argsort_rows: out of memory");
    gp_key_fn((gp_dtype)x->dtype)(room, x->data, size, x->numel);
    r.keys = room;
    int64_t *a = (int64_t *)(void *)(room + x->numel);
    const int64_t *order = sort(&r, a, a + r.n);
    for (int64_t i = 0; order && i < r.n; i++) ((int64_t *)(void *)out->data)[i] = order[i] + 1;
    free(room);
    return order || gp_fail("argsort_rows: interrupted");
}
