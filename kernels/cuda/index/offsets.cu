/* Converts index tensors to byte offsets, and describes the ops' layouts: see gather.cuh. */
#include "kernels/cuda/index/gather.cuh"
#include "tensor/ops/index/index.h"

static gp_dim_index dim_index(const gp_call *c, const gp_array *index, int64_t size, int64_t step,
                              int dim, const char *const *texts) {
    gp_dim_index k = {(gp_dtype)index->dtype, false, false, dim, size, step, 0, {}, NULL};
    k.fault = gp_cuda_fault(c, texts, 3);
    return k;
}

/* ---- several indices: their offsets are summed in c->tmp[0] ---- */

static __global__ void add_offsets(gp_loop<2> l, gp_dim_index k, bool first) {
    uint32_t i = gp_element();
    int64_t off[2], at;
    if (i >= l.numel) return;
    gp_offsets(l, i, off);
    int64_t *to = (int64_t *)(l.data[0] + off[0]);
    bool good = gp_index_offset(k, l.data[1] + off[1], &at);
    *to = !good || (!first && *to < 0) ? -1 : (first ? 0 : *to) + at;
}

static bool add_index(const gp_call *c, const gp_array *index, const gp_dim_index *k, bool first) {
    const gp_array *const arrays[2] = {c->tmpa[0], index};
    return gp_nest_run(gp_nest_of<2>(arrays), [&](gp_loop<2> l, int64_t) {
        return GP_LAUNCH(c, add_offsets, gp_blocks(l.numel), GP_THREADS, 0, l, *k, first);
    });
}

static void use_table(const gp_call *c, gp_indexed *p) {
    p->index = *c->tmpa[0];
    p->over.ready = true;
}

/* ---- layouts ---- */

static void add_dim(gp_index_dims *l, int64_t dim, int64_t x, int position) {
    l->dim[l->ndim] = dim;
    l->x[l->ndim] = x;
    l->position[l->ndim++] = position;
}

static int64_t bytes(const gp_array *x, int64_t elements) {
    return elements * gp_dtype_sizes[x->dtype];
}

bool gp_indexed_along(const gp_call *c, const gp_array *x, const gp_array *index, int d,
                      const char *const *texts, gp_indexed *p) {
    const gp_array *table = c->tmpa[0];
    p->l.ndim = 0, p->ndim = table->ndim;
    for (int i = 0; i < table->ndim; i++)
        add_dim(&p->l, table->dim[i], i == d || x->dim[i] == 1 ? 0 : x->stride[i], i);
    p->index = *index;
    p->over = dim_index(c, index, x->ndim ? x->dim[d] : 1, x->ndim ? bytes(x, x->stride[d]) : 0,
                        d + 1, texts);
    return true;
}

bool gp_indexed_one(const gp_call *c, const gp_array *x, int d, const char *const *texts,
                    gp_indexed *p) {
    const gp_array *index = gp_in(c, 2);
    p->l.ndim = 0, p->ndim = 1;
    for (int i = 0; i < x->ndim; i++)
        add_dim(&p->l, i == d ? index->numel : x->dim[i], i == d ? 0 : x->stride[i],
                i == d ? 0 : -1);
    p->index = *index;
    bool one = x->ndim == 0; /* counts as one dim of size 1 */
    if (one) add_dim(&p->l, index->numel, 0, 0);
    p->over =
        dim_index(c, index, one ? 1 : x->dim[d], one ? 0 : bytes(x, x->stride[d]), d + 1, texts);
    return true;
}

bool gp_indexed_tuples(const gp_call *c, const gp_array *x, int batch, const char *const *texts,
                       gp_indexed *p) {
    const gp_array *indices = gp_in(c, 1), *table = c->tmpa[0];
    int lead = indices->ndim - 1, depth = (int)indices->dim[lead];
    p->l.ndim = 0, p->ndim = lead;
    for (int i = 0; i < lead; i++) add_dim(&p->l, indices->dim[i], i < batch ? x->stride[i] : 0, i);
    for (int i = batch + depth; i < x->ndim; i++) add_dim(&p->l, x->dim[i], x->stride[i], -1);
    if (depth == 0) {
        use_table(c, p);
        return gp_cuda_ok(
            c, cudaMemsetAsync(table->data, 0, (size_t)table->numel * 8, gp_cuda_stream(c)));
    }
    for (int k = 0; k < depth; k++) {
        p->index = *indices;
        p->index.ndim = (uint8_t)lead;
        p->index.data += bytes(indices, k * indices->stride[lead]);
        gp_array_finish(&p->index);
        p->over = dim_index(c, indices, x->dim[batch + k], bytes(x, x->stride[batch + k]),
                            batch + k + 1, texts);
        if (depth > 1 && !add_index(c, &p->index, &p->over, k == 0)) return false;
    }
    if (depth > 1) use_table(c, p);
    return true;
}

static void lay_indices(const gp_array *x, const gp_array *table, uint64_t mask, gp_index_dims *l) {
    int position = gp_index_position(x->ndim, mask);
    bool done = false;
    l->ndim = 0;
    for (int d = 0; d <= x->ndim; d++) {
        if (!done && l->ndim == position) {
            for (int i = 0; i < table->ndim; i++) add_dim(l, table->dim[i], 0, i);
            done = true;
        }
        if (d < x->ndim && !(mask >> d & 1)) add_dim(l, x->dim[d], x->stride[d], -1);
    }
}

bool gp_indexed_by_list(const gp_call *c, const gp_array *x, int dims_at, const char *const *texts,
                        gp_indexed *p) {
    int n;
    const int64_t *dims = gp_ints(c, dims_at, &n);
    uint64_t mask = 0;
    for (int k = 0; k < n; k++) {
        mask |= (uint64_t)1 << dims[k];
        p->index = *c->arg[1].arrays[k];
        p->over = dim_index(c, &p->index, x->dim[dims[k]], bytes(x, x->stride[dims[k]]),
                            (int)dims[k] + 1, texts);
        if (n > 1 && !add_index(c, &p->index, &p->over, k == 0)) return false;
    }
    if (n > 1) use_table(c, p);
    p->ndim = c->tmpa[0]->ndim;
    lay_indices(x, c->tmpa[0], mask, &p->l);
    return true;
}

void gp_indexed_flat(const gp_call *c, const gp_array *x, const gp_array *index,
                     const char *const *texts, gp_indexed *p) {
    p->l.ndim = 0, p->ndim = index->ndim;
    for (int i = 0; i < index->ndim; i++) add_dim(&p->l, index->dim[i], 0, i);
    p->index = *index;
    p->over = dim_index(c, index, x->numel, gp_dtype_sizes[x->dtype], 1, texts);
}

/* ---- arrays of a layout's dims ---- */

static gp_array lay(const gp_index_dims *l, const gp_array *a) {
    gp_array r = *a;
    r.ndim = (uint8_t)l->ndim;
    for (int d = 0; d < l->ndim; d++) r.dim[d] = l->dim[d];
    return r;
}

gp_array gp_lay_x(const gp_index_dims *l, const gp_array *a) {
    gp_array r = lay(l, a);
    for (int d = 0; d < l->ndim; d++) r.stride[d] = l->x[d];
    gp_array_finish(&r);
    return r;
}

gp_array gp_lay_flat(const gp_index_dims *l, const gp_array *a) {
    gp_array r = lay(l, a);
    for (int d = 0; d < l->ndim; d++) {
        int j = d - (l->ndim - a->ndim);
        r.stride[d] = j < 0 || a->dim[j] == 1 ? 0 : a->stride[j];
    }
    gp_array_finish(&r);
    return r;
}

gp_array gp_lay_index(const gp_indexed *p) {
    const gp_array *a = &p->index;
    gp_array r = lay(&p->l, a);
    for (int d = 0; d < p->l.ndim; d++) {
        int j = p->l.position[d] < 0 ? -1 : p->l.position[d] - (p->ndim - a->ndim);
        r.stride[d] = j < 0 || a->dim[j] == 1 ? 0 : a->stride[j];
    }
    gp_array_finish(&r);
    return r;
}
