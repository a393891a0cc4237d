/* count_nonzero: of all elements by the walk over a mask, over some dims output by output. */
#include <stdlib.h>

#include "kernels/cpu/index/mask.h"

typedef struct tally {
    const gp_array *x;
    gp_array kept, reduced; /* x seen as an array of arrays */
    int64_t *out;
} tally;

static void tally_outputs(void *ctx, int64_t begin, int64_t end) {
    const tally *t = ctx;
    gp_array part = t->reduced, order = part;
    gp_row_major(&order);
    const gp_array *kept = &t->kept, *arrays[2] = {&order, &part};
    for (int64_t i = begin; i < end; i++) {
        gp_mask_walk w = {.truth = gp_nonzero_fn((gp_dtype)t->x->dtype)};
        gp_nd_loop_init(&w.loop, 2, arrays);
        int64_t at = i;
        char *p = t->x->data;
        for (int d = kept->ndim - 1; d >= 0; d--)
            p += at % kept->dim[d] * kept->stride[d] * gp_dtype_sizes[t->x->dtype],
                at /= kept->dim[d];
        w.loop.data[1] = p;
        t->out[i] = gp_mask_walk_count(&w, 0, part.numel);
    }
}

static void tally_split(tally *t, uint64_t mask) {
    t->kept = t->reduced = *t->x;
    t->kept.ndim = t->reduced.ndim = 0;
    t->kept.numel = t->reduced.numel = 1;
    for (int d = 0; d < t->x->ndim; d++) {
        gp_array *a = mask >> d & 1 ? &t->reduced : &t->kept;
        a->dim[a->ndim] = t->x->dim[d];
        a->stride[a->ndim++] = t->x->stride[d];
        a->numel *= t->x->dim[d];
    }
}

bool CPU(count_nonzero)(const gp_call *c) {
    tally t = {.x = gp_in(c, 0), .out = (int64_t *)(void *)gp_out(c, 0)->data};
    tally_split(&t, (uint64_t)c->arg[1].i);
    if (t.kept.numel != 1) {
        return gp_parallel_op(c, t.kept.numel, 1 + GP_MASK_CHUNK / (t.reduced.numel + 1),
                              tally_outputs, &t);
    }
    gp_mask_walk w = {0};
    if (!gp_mask_walk_begin(&w, t.x, t.x, NULL)) return false;
    t.out[0] = w.before[w.chunks];
    free(w.before);
    return true;
}
