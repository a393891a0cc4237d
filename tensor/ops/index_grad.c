/* Backward of indexing, masks and sorting: a gradient goes to the element that was taken. */
#include "tensor/autograd/formula.h"

static bool where(gp_vjp *v) {
    /* Inputs: cond, then those of a and b that are tensors. */
    int in = 1;
    for (int k = 1; k <= 2; k++) {
        if (v->arg[k].kind != GP_TENSOR) continue;
        if (v->need[in])
            v->dx[in] = k == 1 ? DO(where, "ttn", v->x[0], v->g[0], 0.0)
                               : DO(where, "tnt", v->x[0], 0.0, v->g[0]);
        in++;
    }
    return !v->failed;
}
const gp_rule vjp_where = {where, "0"};

static bool masked_fill(gp_vjp *v) {
    gp_tensor *mask = v->x[1];
    if (v->need[0]) v->dx[0] = DO(masked_fill, "ttn", v->g[0], mask, 0.0);
    if (v->arg[2].kind == GP_TENSOR && v->need[2]) v->dx[2] = DO(where, "ttn", mask, v->g[0], 0.0);
    return !v->failed;
}
const gp_rule vjp_masked_fill = {masked_fill, "1"};

/* Zeros of the broadcast shape of x and mask with g in the mask's places. */
static bool masked_select(gp_vjp *v) {
    gp_shape s = *gp_in_shape(v, 0);
    if (!gp_shape_broadcast("masked_select", &s, gp_in_shape(v, 1))) return false;
    gp_tensor *z = DO(contiguous, "t", gp_expand(v, gp_zeros_like_input(v, 0), &s));
    gp_tensor *mask = gp_expand(v, v->x[1], &s);
    v->dx[0] = gp_no_grad ? gp_do_in(v, z, GP_OP(masked_scatter), "ttt", z, mask, v->g[0])
                          : DO(masked_scatter, "ttt", z, mask, v->g[0]);
    return !v->failed;
}
const gp_rule vjp_masked_select = {masked_select, "1"};

/* The mask covers the first dims; values are (true elements, the other dims), or broadcast to
 * that. */
static bool masked_put(gp_vjp *v) {
    const gp_shape *s = gp_in_shape(v, 0);
    gp_shape under = gp_tensor_shape(v->x[1]), parts = {.ndim = 1, .dim = {-1}};
    for (int d = under.ndim; d < s->ndim; d++)
        under.dim[under.ndim++] = 1, parts.dim[parts.ndim++] = s->dim[d];
    gp_tensor *mask = gp_reshape(v, v->x[1], &under);
    if (v->need[0]) v->dx[0] = DO(masked_fill, "ttn", v->g[0], mask, 0.0);
    if (v->need[2] && v->g[0]->a.numel == 0) {
        v->dx[2] = gp_zeros_like_input(v, 2);
    } else if (v->need[2]) {
        gp_tensor *taken = DO(masked_select, "tt", v->g[0], mask);
        v->dx[2] = gp_reshape(v, taken, &parts);
    }
    return !v->failed;
}
const gp_rule vjp_masked_put = {masked_put, "1"};

/* ---- by index ---- */

/* z, zeros that nobody else has, with g added at the places of one element of each index tensor (of
 * dims; NULL: the first ones): in place, unless that is to be differentiated. */
static gp_tensor *add_at(gp_vjp *v, gp_tensor *z, gp_tensor **index, int n, gp_tensor *g,
                         const int64_t *dims, int ndims) {
    if (dims && gp_no_grad)
        return gp_do_in(v, z, GP_OP(index_put), "tltbv", z, index, n, g, 1, dims, ndims);
    if (gp_no_grad) return gp_do_in(v, z, GP_OP(index_put), "tltb-", z, index, n, g, 1);
    return dims ? DO(index_put, "tltbv", z, index, n, g, 1, dims, ndims)
                : DO(index_put, "tltb-", z, index, n, g, 1);
}

/* Zeros like input 0 with g added at those places. */
static gp_tensor *put_back(gp_vjp *v, gp_tensor **index, int n, const int64_t *dims, int ndims) {
    return add_at(v, gp_zeros_like_input(v, 0), index, n, v->g[0], dims, ndims);
}

static bool index_op(gp_vjp *v) {
    int nd = 0;
    const int64_t *dims = gp_has(v, 2) ? gp_ints_arg(v, 2, &nd) : NULL;
    v->dx[0] = put_back(v, v->x + 1, v->node->nin - 1, dims, nd);
    return !v->failed;
}
const gp_rule vjp_index = {index_op, "*"};

static bool index_put(gp_vjp *v) {
    const gp_node *n = v->node;
    int nd = 0, ni = n->arg[1].n;
    bool accumulate = gp_has(v, 3) && gp_int_arg(v, 3), tensor = n->arg[2].kind == GP_TENSOR;
    const int64_t *dims = gp_has(v, 4) ? gp_ints_arg(v, 4, &nd) : NULL;
    if (v->need[0] && accumulate) v->dx[0] = v->g[0];
    else if (v->need[0])
        v->dx[0] = dims ? DO(index_put, "tlnbv", v->g[0], v->x + 1, ni, 0.0, 0, dims, nd)
                        : DO(index_put, "tlnb-", v->g[0], v->x + 1, ni, 0.0, 0);
    if (tensor && v->need[ni + 1])
        v->dx[ni + 1] = dims ? DO(index, "tlv", v->g[0], v->x + 1, ni, dims, nd)
                             : DO(index, "tl-", v->g[0], v->x + 1, ni);
    return !v->failed;
}
const gp_rule vjp_index_put = {index_put, "12345678"};

static bool index_select(gp_vjp *v) {
    int64_t dim = gp_int_arg(v, 1);
    if (gp_in_shape(v, 0)->ndim == 0) return (v->dx[0] = DO(sum, "t", v->g[0])) != NULL;
    gp_tensor *index = gp_reshape(
        v, v->x[1], &(gp_shape){.ndim = 1, .dim = {v->x[1]->a.numel}}); /* it may be 0-d */
    v->dx[0] = put_back(v, &index, 1, &dim, 1);
    return !v->failed;
}
const gp_rule vjp_index_select = {index_select, "1"};

/* ---- along a dim ---- */

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

/* Zeros of shape s with g added at index along dim. */
static gp_tensor *scatter_onto(gp_vjp *v, const gp_shape *s, gp_tensor *index, int dim,
                               gp_tensor *g) {
    gp_tensor *list[GP_MAX_DIM], *z = gp_zeros_shaped(v, s, 0);
    if (gp_no_grad)
        return gp_do_in(v, z, GP_OP(scatter_add), "titt", z, (int64_t)dim + 1, index, g);
    int n = grid(v, index, dim, list);
    return add_at(v, z, list, n, g, NULL, 0);
}

/* The same, like input 0. */
static gp_tensor *scatter_back(gp_vjp *v, gp_tensor *index, int dim, gp_tensor *g) {
    const gp_shape *s = gp_in_shape(v, 0);
    if (s->ndim == 0 && g->a.numel == 0) return gp_zeros_shaped(v, s, 0); /* of topk, no element */
    return index->a.ndim == 0 ? gp_reshape(v, g, s) : scatter_onto(v, s, index, dim, g);
}

static bool gather(gp_vjp *v) {
    int dim = gp_dim_arg(v, 1, gp_in_shape(v, 0)->ndim);
    return (v->dx[0] = scatter_back(v, v->x[1], dim, v->g[0])) != NULL;
}
const gp_rule vjp_gather = {gather, "1"};

/* Slices at index along dim; of a 0-d tensor the element, as often as the input has it. */
static gp_tensor *slices(gp_vjp *v) {
    if (v->g[0]->a.ndim == 0 && v->x[1]->a.numel) return gp_expand(v, v->g[0], gp_in_shape(v, 2));
    if (v->g[0]->a.ndim == 0) return gp_zeros_shaped(v, gp_in_shape(v, 2), 0);
    return DO(index_select, "tit", v->g[0], gp_int_arg(v, 1), v->x[1]);
}

static bool index_add(gp_vjp *v) {
    if (v->need[0]) v->dx[0] = v->g[0];
    if (v->need[2]) v->dx[2] = DO(mul, "tn", slices(v), gp_has(v, 4) ? gp_float_arg(v, 4) : 1.0);
    return !v->failed;
}
const gp_rule vjp_index_add = {index_add, "1"};

static gp_tensor *emptied(gp_vjp *v) {
    return DO(index_fill, "titn", v->g[0], gp_int_arg(v, 1), v->x[1], 0.0);
}

static bool index_copy(gp_vjp *v) {
    if (v->need[0]) v->dx[0] = emptied(v);
    if (v->need[2]) v->dx[2] = slices(v);
    return !v->failed;
}
const gp_rule vjp_index_copy = {index_copy, "1"};

static bool index_fill(gp_vjp *v) {
    if (v->need[0]) v->dx[0] = emptied(v);
    if (v->node->nin > 2 && v->need[2]) v->dx[2] = DO(sum, "t", slices(v));
    return !v->failed;
}
const gp_rule vjp_index_fill = {index_fill, "1"};

/* x seen as one row. */
static bool take(gp_vjp *v) {
    int64_t n = v->g[0]->a.numel;
    gp_tensor *index = DO(reshape, "tv", v->x[1], &n, 1), *g = DO(reshape, "tv", v->g[0], &n, 1);
    gp_shape row = {.ndim = 1, .dim = {1}};
    for (int d = 0; d < gp_in_shape(v, 0)->ndim; d++) row.dim[0] *= gp_in_shape(v, 0)->dim[d];
    gp_tensor *z = gp_zeros_shaped(v, &row, 0);
    gp_tensor *sum = add_at(v, z, &index, 1, g, NULL, 0);
    return (v->dx[0] = gp_reshape(v, sum, gp_in_shape(v, 0))) != NULL;
}
const gp_rule vjp_take = {take, "1"};

/* Without dim as take. With it, x and indices were broadcast in the other dims: so is the
 * gradient. */
static bool take_along_dim(gp_vjp *v) {
    if (!gp_has(v, 2)) return take(v);
    gp_shape s = gp_tensor_shape(v->g[0]), all = s;
    int dim = gp_dim_arg(v, 2, s.ndim);
    if (!s.ndim) return (v->dx[0] = v->g[0]) != NULL;
    all.dim[dim] = gp_in_shape(v, 0)->dim[dim];
    v->dx[0] = scatter_onto(v, &all, gp_expand(v, v->x[1], &s), dim, v->g[0]);
    return !v->failed;
}
const gp_rule vjp_take_along_dim = {take_along_dim, "1"};

static bool masked_scatter(gp_vjp *v) {
    gp_tensor *mask = v->x[1];
    if (v->need[0]) v->dx[0] = DO(masked_fill, "ttn", v->g[0], mask, 0.0);
    if (!v->need[2]) return !v->failed;
    const gp_shape *s = gp_in_shape(v, 2);
    gp_shape row = {.ndim = 1, .dim = {1}};
    for (int d = 0; d < s->ndim; d++) row.dim[0] *= s->dim[d];
    gp_tensor *all = gp_zeros_shaped(v, &row, 2), *taken = DO(masked_select, "tt", v->g[0], mask);
    int64_t n = taken ? taken->a.numel : 0;
    gp_do_in(v, DO(narrow, "tiii", all, (int64_t)1, (int64_t)1, n), GP_OP(copy), "t", taken);
    return (v->dx[2] = gp_reshape(v, all, s)) != NULL;
}
const gp_rule vjp_masked_scatter = {masked_scatter, "1"};

/* The columns of indices are index tensors of x's dims after the first batch_dims, which are
 * indexed by where they are. */
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
    v->dx[0] = n ? put_back(v, list, n, NULL, 0) : v->g[0];
    return !v->failed;
}
const gp_rule vjp_gather_nd = {gather_nd, "1"};

/* Values and indices: the values' gradient goes back by the indices. */
static bool by_indices(gp_vjp *v, int a) {
    int ndim = gp_in_shape(v, 0)->ndim, dim = ndim - 1;
    if (gp_has(v, a)) dim = gp_dim_arg(v, a, ndim);
    if (!v->g[0]) return true;
    return (v->dx[0] = scatter_back(v, v->y[1], dim < 0 ? 0 : dim, v->g[0])) != NULL;
}
static bool sort(gp_vjp *v) { return by_indices(v, 1); }
const gp_rule vjp_sort = {sort, "y"};

static bool topk(gp_vjp *v) { return by_indices(v, 2); }
const gp_rule vjp_topk = {topk, "y"};

static bool msort(gp_vjp *v) {
    gp_tensor *order = DO(argsort, "tib", v->x[0], (int64_t)1, 0);
    return (v->dx[0] = order ? scatter_back(v, order, 0, v->g[0]) : NULL) != NULL;
}
const gp_rule vjp_msort = {msort, "0"};

/* g, the gradient of y, one element of all or (dim >= 0) along a dim, shared among those that equal
 * y: of a NaN, among the NaNs. */
static gp_tensor *among_equals(gp_vjp *v, gp_tensor *y, gp_tensor *g, int64_t dim) {
    gp_tensor *nans = DO(logical_and, "tt", DO(isnan, "t", v->x[0]), DO(isnan, "t", y));
    gp_tensor *equal = DO(logical_or, "tt", DO(eq, "tt", v->x[0], y), nans);
    equal = DO(to, "t-d", equal, (int)g->a.dtype);
    gp_tensor *n = dim < 0 ? DO(sum, "t", equal) : DO(sum, "tvb", equal, &(int64_t){dim + 1}, 1, 1);
    return DO(mul, "tt", equal, DO(div, "tt", g, n));
}

static bool shared(gp_vjp *v) { return (v->dx[0] = among_equals(v, v->y[0], v->g[0], -1)) != NULL; }

/* Arguments: x, dim, keepdim. Results: the smallest, the largest. */
static bool aminmax(gp_vjp *v) {
    int ndim = gp_in_shape(v, 0)->ndim, dim = gp_has(v, 1) && ndim ? gp_dim_arg(v, 1, ndim) : -1;
    for (int i = 0; i < 2; i++) {
        gp_tensor *g = v->g[i], *y = v->y[i];
        if (!g) continue;
        if (dim >= 0 && !(gp_has(v, 2) && gp_int_arg(v, 2))) {
            g = DO(unsqueeze, "ti", g, (int64_t)dim + 1);
            y = DO(unsqueeze, "ti", y, (int64_t)dim + 1);
        }
        gp_tensor *d = g && y ? among_equals(v, y, g, dim) : NULL;
        v->dx[0] = v->dx[0] ? DO(add, "tt", v->dx[0], d) : d;
    }
    return !v->failed;
}
const gp_rule vjp_aminmax = {aminmax, "0y"};

/* Values of a reduction and their indices, along the dim in argument a, kept as argument b says. */
static bool picked(gp_vjp *v, int a, int b) {
    int ndim = gp_in_shape(v, 0)->ndim, dim = ndim - 1;
    if (gp_has(v, a)) dim = gp_dim_arg(v, a, ndim);
    gp_tensor *g = v->g[0], *index = v->y[1];
    if (!g) return true;
    if (!(gp_has(v, b) && gp_int_arg(v, b)) && ndim) {
        g = DO(unsqueeze, "ti", g, (int64_t)dim + 1);
        index = DO(unsqueeze, "ti", index, (int64_t)dim + 1);
    }
    v->dx[0] = g && index ? scatter_back(v, index, dim < 0 ? 0 : dim, g) : NULL;
    return !v->failed;
}

static bool kthvalue(gp_vjp *v) { return picked(v, 2, 3); }
const gp_rule vjp_kthvalue = {kthvalue, "y"};

static bool median(gp_vjp *v) { return gp_has(v, 1) ? picked(v, 1, 2) : shared(v); }
const gp_rule vjp_median = {median, "0y"}, vjp_nanmedian = {median, "0y"};

static bool mode(gp_vjp *v) { return picked(v, 1, 2); }
const gp_rule vjp_mode = {mode, "y"};

static bool running(gp_vjp *v) { return by_indices(v, 1); }
const gp_rule vjp_cummax = {running, "y"}, vjp_cummin = {running, "y"};

/* What each element was repeated from. */
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

/* The gradient of one of two operands, by formula d, which is of another row. */
static gp_tensor *of_pair(gp_vjp *v, const gp_op *d) {
    gp_tensor *t[] = {v->g[0], v->x[0], v->x[1], v->y[0]};
    gp_formula_vars vars = {.n = 4, .name = "gaby"};
    if (gp_no_grad) return gp_do(v, d, "tttt", t[0], t[1], t[2], t[3]);
    for (int i = 0; i < 4; i++) vars.value[i] = (gp_value){.kind = GP_TENSOR, .t = t[i]};
    return gp_formula(v, d->help, &vars);
}

/* max(x): shared among the largest. max(x, dim): to the one that the indices name. max(a, b): as
 * maximum's row has it. */
static bool max_of(gp_vjp *v, const gp_op *first) {
    const gp_node *n = v->node;
    if (!gp_has(v, 1)) {
        return shared(v);
    } else if (n->arg[1].kind == GP_TENSOR) {
        for (int k = 0; k < 2; k++)
            if (v->need[k]) v->dx[k] = of_pair(v, &gp_ops[first->grad + k]);
    } else if (v->g[0]) {
        return picked(v, 1, 2);
    }
    return !v->failed;
}
static bool max(gp_vjp *v) { return max_of(v, GP_OP(maximum)); }
static bool min(gp_vjp *v) { return max_of(v, GP_OP(minimum)); }
const gp_rule vjp_max = {max, "01y"}, vjp_min = {min, "01y"};

/* ---- joining ---- */

static bool cat(gp_vjp *v) {
    int dim = 0;
    int64_t at = 1;
    if (!gp_dim_wrap("cat", gp_int_arg(v, 1), v->node->out[0].shape.ndim, &dim)) return false;
    for (int i = 0; i < v->node->nin; i++) {
        const gp_shape *s = gp_in_shape(v, i);
        int64_t n = s->ndim == v->node->out[0].shape.ndim ? s->dim[dim] : 0;
        if (v->need[i] && n) v->dx[i] = DO(narrow, "tiii", v->g[0], (int64_t)dim + 1, at, n);
        at += n;
    }
    return !v->failed;
}
const gp_rule vjp_cat = {cat, NULL};

static bool stack(gp_vjp *v) {
    for (int i = 0; i < v->node->nin; i++)
        if (v->need[i]) v->dx[i] = DO(select, "tii", v->g[0], gp_int_arg(v, 1), (int64_t)i + 1);
    return !v->failed;
}
const gp_rule vjp_stack = {stack, NULL};
