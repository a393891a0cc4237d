/* Whether arrays share elements, checked before an op writes in place: exact for the layouts that
 * views make, conservative for the rest. */
#include "tensor/overlap.h"

/* Whether target is a sum of x[k] * step[k] with 0 <= x[k] <= most[k]. Terms have descending steps;
 * `work` bounds the search. */
typedef struct problem {
    int n, work;
    int64_t step[2 * GP_MAX_DIM], most[2 * GP_MAX_DIM];
    int64_t reach[2 * GP_MAX_DIM + 1]; /* the largest sum of terms k … */
    int64_t gcd[2 * GP_MAX_DIM + 1];   /* of their steps */
} problem;

static void add_term(problem *p, int64_t step, int64_t most) {
    if (step == 0 || most <= 0) return;
    int at = p->n++;
    for (; at > 0 && p->step[at - 1] < step; at--)
        p->step[at] = p->step[at - 1], p->most[at] = p->most[at - 1];
    p->step[at] = step, p->most[at] = most;
}

static int64_t gcd(int64_t a, int64_t b) { return b ? gcd(b, a % b) : a; }

static void prepare(problem *p) {
    p->reach[p->n] = p->gcd[p->n] = 0;
    for (int k = p->n - 1; k >= 0; k--) {
        p->reach[k] = p->reach[k + 1] + p->step[k] * p->most[k];
        p->gcd[k] = gcd(p->step[k], p->gcd[k + 1]);
    }
}

/* Also true when the search is given up. Depth: one level per term. */
static bool solvable(problem *p, int k, int64_t target) {
    if (target == 0) return true;
    if (target < 0 || target > p->reach[k] || target % p->gcd[k]) return false;
    if (--p->work < 0) return true;
    int64_t most = target / p->step[k], below = target - p->reach[k + 1];
    int64_t least = below > 0 ? (below + p->step[k] - 1) / p->step[k] : 0;
    if (most > p->most[k]) most = p->most[k];
    for (int64_t x = most; x >= least; x--)
        if (solvable(p, k + 1, target - x * p->step[k])) return true;
    return false;
}

/* Adds a's dims to p. sign -1: a's elements are subtracted, which moves the target by the value
 * returned. */
static int64_t add_array(problem *p, const gp_array *a, int sign) {
    int64_t moved = 0;
    for (int i = 0; i < a->ndim; i++) {
        int64_t step = a->stride[i] * sign, most = a->dim[i] - 1;
        if (step < 0) moved -= step * most, step = -step;
        add_term(p, step, most);
    }
    return moved;
}

bool gp_arrays_overlap(const gp_array *a, const gp_array *b) {
    const char *alo, *ahi, *blo, *bhi;
    if (a->numel == 0 || b->numel == 0)
        return false; /* also where an empty one lies within the other's memory */
    gp_array_extent(a, &alo, &ahi);
    gp_array_extent(b, &blo, &bhi);
    if (ahi <= blo || bhi <= alo) return false;
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)a->dtype),
            separate = (int64_t)((uintptr_t)b->data - (uintptr_t)a->data);
    if (a->dtype != b->dtype || separate % size) return true;
    problem p = {.work = 1000};
    int64_t target = separate / size;
    target += add_array(&p, a, 1);
    target += add_array(&p, b, -1);
    prepare(&p);
    return solvable(&p, 0, target);
}

bool gp_array_self_overlaps(const gp_array *a) {
    if (a->contiguous) return false;
    int64_t step[GP_MAX_DIM], most[GP_MAX_DIM], reach = 0;
    int n = 0;
    for (int i = 0; i < a->ndim; i++) {
        if (a->dim[i] <= 1) continue;
        int64_t s = a->stride[i] < 0 ? -a->stride[i] : a->stride[i];
        int at = n++;
        for (; at > 0 && step[at - 1] > s; at--) step[at] = step[at - 1], most[at] = most[at - 1];
        step[at] = s, most[at] = a->dim[i] - 1;
    }
    for (int i = 0; i < n; i++) {
        if (step[i] <= reach) return true;
        reach += step[i] * most[i];
    }
    return false;
}
