/* The ops that write at indices: scatter, scatter_nd, index_put, index_add and similar ops. */
#include "kernels/cuda/layout/copy.h"
#include "kernels/cuda/index/scatter.cuh"

/* Argument i holds the values (a number, or gp_values(c, i, 1)); the target is the output, a copy
 * of x. */
static bool begin(const gp_call *c, int i, gp_scatter_write *w) {
    const gp_array *out = gp_out(c, 0), *x = gp_in(c, 0);
    w->target = *out;
    w->is_number = c->arg[i].kind == GP_NUMBER;
    if (w->is_number) w->number = gp_value_scalar(&c->arg[i]);
    else w->values = *gp_values(c, i, 1);
    return out->data == x->data || gp_cuda_copy_array(c, out, x);
}

static gp_scatter_write plain(gp_scatter_op how) {
    gp_scatter_write w = {};
    w.how = how, w.include_self = true;
    return w;
}

/* The kind of write that argument i gives, a number that infer made of `reduce`. */
static gp_scatter_write reducing(const gp_call *c, int i) {
    return plain(gp_given(c, i) ? (gp_scatter_op)c->arg[i].i : GP_ASSIGN);
}

/* src (argument 3) may be larger than index: the part that index covers is used. */
static bool along(const gp_call *c, gp_scatter_write w, const char *const *texts) {
    const gp_array *index = gp_in(c, 2);
    gp_indexed p;
    if (!begin(c, 3, &w)) return false;
    if (!w.is_number) {
        for (int i = 0; i < w.values.ndim; i++) w.values.dim[i] = index->dim[i];
        gp_array_finish(&w.values);
    }
    return gp_indexed_along(c, &w.target, index, (int)c->arg[1].i - 1, texts, &p) &&
           gp_cuda_scatter(c, &p, &w);
}

GP_INDEX_TEXTS(scatter)
GP_INDEX_TEXTS(scatter_add)
GP_INDEX_TEXTS(scatter_reduce)
GP_INDEX_TEXTS(index_add)
GP_INDEX_TEXTS(index_copy)
GP_INDEX_TEXTS(index_fill)
GP_INDEX_TEXTS(index_put)
GP_INDEX_TEXTS(scatter_nd)

GP_C bool CUDA(scatter)(const gp_call *c) { return along(c, reducing(c, 4), texts_scatter); }
GP_C bool CUDA(scatter_add)(const gp_call *c) { return along(c, plain(GP_ADD), texts_scatter_add); }
GP_C bool CUDA(scatter_reduce)(const gp_call *c) {
    gp_scatter_write w = reducing(c, 4);
    w.include_self = c->arg[5].i;
    return along(c, w, texts_scatter_reduce);
}

static bool along_one(const gp_call *c, gp_scatter_write w, const char *const *texts) {
    gp_indexed p;
    return begin(c, 3, &w) && gp_indexed_one(c, &w.target, (int)c->arg[1].i - 1, texts, &p) &&
           gp_cuda_scatter(c, &p, &w);
}

GP_C bool CUDA(index_add)(const gp_call *c) { return along_one(c, plain(GP_ADD), texts_index_add); }
GP_C bool CUDA(index_copy)(const gp_call *c) {
    return along_one(c, plain(GP_ASSIGN), texts_index_copy);
}
GP_C bool CUDA(index_fill)(const gp_call *c) {
    return along_one(c, plain(GP_ASSIGN), texts_index_fill);
}

GP_C bool CUDA(index_put)(const gp_call *c) {
    gp_indexed p;
    gp_scatter_write w = plain(gp_given(c, 3) && c->arg[3].i ? GP_ADD : GP_ASSIGN);
    return begin(c, 2, &w) && gp_indexed_by_list(c, &w.target, 4, texts_index_put, &p) &&
           gp_cuda_scatter(c, &p, &w);
}

GP_C bool CUDA(scatter_nd)(const gp_call *c) {
    gp_indexed p;
    gp_scatter_write w = reducing(c, 3);
    return begin(c, 2, &w) && gp_indexed_tuples(c, &w.target, 0, texts_scatter_nd, &p) &&
           gp_cuda_scatter(c, &p, &w);
}
