/* Gradients of ops that read by index tensors: each goes to the element that was read. */
#include "tensor/autograd/compose.h"

/* Zeros like input 0 with g added at those indices. */
static gp_tensor *scatter_back(gp_vjp *v, gp_tensor **index, int n, const int64_t *dims,
                               int ndims) {
    return gp_add_at(v, gp_zeros_like_input(v, 0), index, n, v->g[0], dims, ndims);
}

static bool index_op(gp_vjp *v) {
    int nd = 0;
    const int64_t *dims = gp_has(v, 2) ? gp_ints_arg(v, 2, &nd) : NULL;
    v->dx[0] = scatter_back(v, v->x + 1, v->node->nin - 1, dims, nd);
    return !v->failed;
}
const gp_rule vjp_index = {index_op, "*"};

static bool index_select(gp_vjp *v) {
    int64_t dim = gp_int_arg(v, 1);
    if (gp_in_shape(v, 0)->ndim == 0) return (v->dx[0] = DO(sum, "t", v->g[0])) != NULL;
    gp_tensor *index = gp_reshape(
        v, v->x[1], &(gp_shape){.ndim = 1, .dim = {v->x[1]->a.numel}}); /* it may be 0-d */
    v->dx[0] = scatter_back(v, &index, 1, &dim, 1);
    return !v->failed;
}
const gp_rule vjp_index_select = {index_select, "1"};

static bool gather(gp_vjp *v) {
    int dim = gp_dim_arg(v, 1, gp_in_shape(v, 0)->ndim);
    return (v->dx[0] = gp_scatter_back(v, v->x[1], dim, v->g[0])) != NULL;
}
const gp_rule vjp_gather = {gather, "1"};

/* x flattened. */
static bool take(gp_vjp *v) {
    int64_t n = v->g[0]->a.numel;
    gp_tensor *index = DO(reshape, "tv", v->x[1], &n, 1), *g = DO(reshape, "tv", v->g[0], &n, 1);
    gp_shape row = {.ndim = 1, .dim = {1}};
    for (int d = 0; d < gp_in_shape(v, 0)->ndim; d++) row.dim[0] *= gp_in_shape(v, 0)->dim[d];
    gp_tensor *z = gp_zeros_shaped(v, &row, 0);
    gp_tensor *sum = gp_add_at(v, z, &index, 1, g, NULL, 0);
    return (v->dx[0] = gp_reshape(v, sum, gp_in_shape(v, 0))) != NULL;
}
const gp_rule vjp_take = {take, "1"};

/* Without dim as take. With it, x and indices were broadcast in the other dims, and so is the
 * gradient. */
static bool take_along_dim(gp_vjp *v) {
    if (!gp_has(v, 2)) return take(v);
    gp_shape s = gp_tensor_shape(v->g[0]), all = s;
    int dim = gp_dim_arg(v, 2, s.ndim);
    if (!s.ndim) return (v->dx[0] = v->g[0]) != NULL;
    all.dim[dim] = gp_in_shape(v, 0)->dim[dim];
    v->dx[0] = gp_scatter_onto(v, &all, gp_expand(v, v->x[1], &s), dim, v->g[0]);
    return !v->failed;
}
const gp_rule vjp_take_along_dim = {take_along_dim, "1"};

/* The columns of indices are index tensors of the dims after the first batch_dims; each of those is
 * indexed by its own position. */
static bool gather_nd(gp_vjp *v) {
    gp_tensor *list[GP_MAX_DIM], *indices = v->x[1];
    int lead = indices->a.ndim - 1, batch = gp_has(v, 2) ? (int)gp_int_arg(v, 2) : 0, n = 0;
    for (; n < batch; n++) {
        gp_shape line = {.ndim = lead};
        for (int i = 0; i < lead; i++) line.dim[i] = i == n ? indices->a.dim[i] : 1;
        list[n] = gp_reshape(v, gp_count_to(v, line.dim[n], indices->storage->dev), &line);
        list[n] = DO(expand, "tv", list[n], indices->a.dim, lead);
    }
    for (int64_t k = 0; k < indices->a.dim[lead]; k++)
        list[n++] = DO(select, "tii", indices, (int64_t)-1, k + 1);
    v->dx[0] = n ? scatter_back(v, list, n, NULL, 0) : v->g[0];
    return !v->failed;
}
const gp_rule vjp_gather_nd = {gather_nd, "1"};

/* The index of the element that each one was repeated from. */
static bool repeat_interleave(gp_vjp *v) {
    const gp_node *n = v->node;
    const gp_shape *s = gp_in_shape(v, 0);
    int64_t dim = gp_has(v, 2) ? gp_int_arg(v, 2) : 1, count = 1;
    int d = gp_has(v, 2) ? gp_dim_arg(v, 2, s->ndim) : 0;
    for (int i = 0; i < s->ndim; i++)
        if (!gp_has(v, 2) || i == d) count *= s->dim[i];
    gp_tensor *from = gp_count_to(v, count, n->in[0].dev);
    from = DO(repeat_interleave, "taii", from, 1, (int64_t)1, v->g[0]->a.dim[gp_has(v, 2) ? d : 0]);
    gp_shape flat = {.ndim = 1, .dim = {count}};
    gp_tensor *z = gp_has(v, 2) ? gp_zeros_like_input(v, 0) : gp_zeros_shaped(v, &flat, 0);
    gp_tensor *sum = DO(index_add, "tittn", z, dim, from, v->g[0], 1.0);
    return (v->dx[0] = gp_reshape(v, sum, s)) != NULL;
}
const gp_rule vjp_repeat_interleave = {repeat_interleave, "1"};

static bool embedding(gp_vjp *v) {
    gp_give(v, 1, DO(embedding_grad, "ttia", v->g[0], v->x[0], gp_in_shape(v, 1)->dim[0], 2));
    return !v->failed;
}
const gp_rule vjp_embedding = {embedding, "0"};

/* Arguments: g, index, num_embeddings, padding_idx. */
static bool embedding_grad(gp_vjp *v) {
    gp_tensor *rows = DO(embedding, "tt", v->x[1], v->g[0]);
    if (gp_has(v, 3)) {
        gp_tensor *padding = DO(eq, "tn", v->x[1], (double)gp_int_arg(v, 3));
        rows = DO(masked_fill, "ttn", rows, DO(unsqueeze, "ti", padding, (int64_t)-1), 0.0);
    }
    return (v->dx[0] = rows) != NULL;
}
const gp_rule vjp_embedding_grad = {embedding_grad, "1"};
