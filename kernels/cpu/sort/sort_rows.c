/* argsort_rows: the order of a matrix's rows, by merging runs of them. */
#include "kernels/cpu/sort/keys.h"
#include "tensor/memory/hostmem.h"

typedef struct rows {
    const uint64_t *keys; /* of all elements, row by row */
    int64_t n, width;
} rows;

/* True if row a sorts before row b; of equal rows b comes first. */
static bool before(const rows *r, int64_t a, int64_t b) {
    const uint64_t *p = r->keys + a * r->width, *q = r->keys + b * r->width;
    for (int64_t i = 0; i < r->width; i++)
        if (p[i] != q[i]) return p[i] < q[i];
    return false;
}

/* Merges the runs from[lo … mid-1] and from[mid … hi-1] into to; false when interrupted. */
static bool merge(const rows *r, const int64_t *from, int64_t *to, int64_t lo, int64_t mid,
                  int64_t hi) {
    enum { LOOK = 4096 };
    int64_t i = lo, j = mid;
    for (int64_t k = lo; k < hi; k++) {
        if ((k - lo) % LOOK == 0 && gp_stopped()) return false;
        to[k] = i < mid && (j >= hi || !before(r, from[j], from[i])) ? from[i++] : from[j++];
    }
    return true;
}

/* Returns where the order is: a or b; NULL when interrupted. */
static const int64_t *sort(const rows *r, int64_t *a, int64_t *b) {
    for (int64_t i = 0; i < r->n; i++) a[i] = i;
    for (int64_t run = 1; run < r->n; run *= 2) {
        for (int64_t lo = 0; lo < r->n; lo += 2 * run) {
            int64_t mid = lo + run < r->n ? lo + run : r->n,
                    hi = lo + 2 * run < r->n ? lo + 2 * run : r->n;
            if (!merge(r, a, b, lo, mid, hi)) return NULL;
        }
        int64_t *t = a;
        a = b, b = t;
    }
    return a;
}

typedef struct making {
    const gp_array *x;
    uint64_t *keys;
} making;

static void make_keys(void *ctx, int64_t begin, int64_t end) {
    const making *m = ctx;
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)m->x->dtype);
    gp_key_fn((gp_dtype)m->x->dtype)(m->keys + begin, m->x->data + begin * size, size, end - begin);
}

/* c->tmp[0] is x without gaps. */
bool CPU(argsort_rows)(const gp_call *c) {
    const gp_array *x = c->tmpa[0], *out = gp_out(c, 0);
    rows r = {.n = x->dim[0], .width = x->dim[1]};
    size_t bytes = (size_t)(x->numel + 2 * r.n + 1) * sizeof *r.keys;
    making m = {x, gp_host_alloc(bytes)};
    if (!m.keys) return gp_fail("argsort_rows: out of memory");
    r.keys = m.keys;
    int64_t *a = (int64_t *)(void *)(m.keys + x->numel);
    bool made = gp_parallel_op(c, x->numel, GP_GRAIN / 2, make_keys, &m);
    const int64_t *order = made ? sort(&r, a, a + r.n) : NULL;
    for (int64_t i = 0; order && i < r.n; i++) ((int64_t *)(void *)out->data)[i] = order[i] + 1;
    gp_host_free(m.keys, bytes);
    return order || gp_fail("argsort_rows: interrupted");
}
