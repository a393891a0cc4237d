/* What gradients of several families are composed of: gradients scattered to indexed elements, or
 * to those that equal a result. */
#include "tensor/autograd/compose.h"

gp_tensor *gp_along(gp_vjp *v, gp_tensor *t, int dim, int ndim) {
    gp_shape s = {.ndim = ndim};
    for (int i = 0; i < ndim; i++) s.dim[i] = i == dim - 1 && t ? t->a.dim[0] : 1;
    return gp_reshape(v, t, &s);
}

gp_tensor *gp_add_at(gp_vjp *v, gp_tensor *z, gp_tensor **index, int n, gp_tensor *g,
                     const int64_t *dims, int ndims) {
    if (dims && gp_no_grad)
        return gp_do_in(v, z, GP_OP(index_put), "tltbv", z, index, n, g, 1, dims, ndims);
    if (gp_no_grad) return gp_do_in(v, z, GP_OP(index_put), "tltb-", z, index, n, g, 1);
    return dims ? DO(index_put, "tltbv", z, index, n, g, 1, dims, ndims)
                : DO(index_put, "tltb-", z, index, n, g, 1);
}

/* The index tensors of every dim for gather's index along dim: 1, 2 … along the others. */
static int grid(gp_vjp *v, gp_tensor *index, int dim, gp_tensor **list) {
    gp_shape s = gp_tensor_shape(index);
    for (int d = 0; d < s.ndim; d++) {
        gp_shape line = {.ndim = s.ndim};
        for (int i = 0; i < s.ndim; i++) line.dim[i] = i == d ? s.dim[d] : 1;
        gp_device *dev = index->storage->dev;
        list[d] = d == dim ? index : gp_reshape(v, gp_count_to(v, s.dim[d], dev), &line);
    }
    return s.ndim;
}

gp_tensor *gp_scatter_onto(gp_vjp *v, const gp_shape *s, gp_tensor *index, int dim, gp_tensor *g) {
    gp_tensor *list[GP_MAX_DIM], *z = gp_zeros_shaped(v, s, 0);
    if (gp_no_grad)
        return gp_do_in(v, z, GP_OP(scatter_add), "titt", z, (int64_t)dim + 1, index, g);
    int n = grid(v, index, dim, list);
    return gp_add_at(v, z, list, n, g, NULL, 0);
}

gp_tensor *gp_scatter_back(gp_vjp *v, gp_tensor *index, int dim, gp_tensor *g) {
    const gp_shape *s = gp_in_shape(v, 0);
    if (s->ndim == 0 && g->a.numel == 0) return gp_zeros_shaped(v, s, 0); /* topk of no element */
    return index->a.ndim == 0 ? gp_reshape(v, g, s) : gp_scatter_onto(v, s, index, dim, g);
}

bool gp_grad_to_indices(gp_vjp *v, int a) {
    int ndim = gp_in_shape(v, 0)->ndim, dim = ndim - 1;
    if (gp_has(v, a)) dim = gp_dim_arg(v, a, ndim);
    if (!v->g[0]) return true;
    return (v->dx[0] = gp_scatter_back(v, v->y[1], dim < 0 ? 0 : dim, v->g[0])) != NULL;
}

bool gp_grad_to_chosen(gp_vjp *v, int a, int b) {
    int ndim = gp_in_shape(v, 0)->ndim, dim = ndim - 1;
    if (gp_has(v, a)) dim = gp_dim_arg(v, a, ndim);
    gp_tensor *g = v->g[0], *index = v->y[1];
    if (!g) return true;
    if (!(gp_has(v, b) && gp_int_arg(v, b)) && ndim) {
        g = DO(unsqueeze, "ti", g, (int64_t)dim + 1);
        index = DO(unsqueeze, "ti", index, (int64_t)dim + 1);
    }
    v->dx[0] = g && index ? gp_scatter_back(v, index, dim < 0 ? 0 : dim, g) : NULL;
    return !v->failed;
}

gp_tensor *gp_among_equals(gp_vjp *v, gp_tensor *y, gp_tensor *g, int64_t dim) {
    gp_tensor *nans = DO(logical_and, "tt", DO(isnan, "t", v->x[0]), DO(isnan, "t", y));
    gp_tensor *equal = DO(logical_or, "tt", DO(eq, "tt", v->x[0], y), nans);
    equal = DO(to, "t-d", equal, (int)g->a.dtype);
    gp_tensor *n = dim < 0 ? DO(sum, "t", equal) : DO(sum, "tvb", equal, &(int64_t){dim + 1}, 1, 1);
    return DO(mul, "tt", equal, DO(div, "tt", g, n));
}

bool gp_grad_to_equals(gp_vjp *v) {
    return (v->dx[0] = gp_among_equals(v, v->y[0], v->g[0], -1)) != NULL;
}
