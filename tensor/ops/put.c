/* Shape rules of ops that write at places given by index tensors: scatter, scatter_reduce,
   scatter_nd, index_add, index_copy, index_fill. See index.c for the temporaries. */
#include <string.h>

#include "tensor/infer.h"

/* Argument i, the name of a way to reduce, becomes a gp_scatter_op; absent: values are put. */
static bool settle_how(gp_call *c, int i, const char *const *names, const uint8_t *hows,
                       const char *expected) {
    gp_value *v = &c->arg[i];
    if (!gp_given(c, i)) return true;
    for (int k = 0; names[k]; k++) {
        if (strcmp(v->s, names[k])) continue;
        *v = (gp_value){.kind = GP_INT, .i = hows[k]};
        return true;
    }
    return gp_fail("%s: argument 'reduce': expected %s, got '%s'", c->op->name, expected, v->s);
}

/* x, dim, index and src, a number or a tensor that covers index. */
static bool scatter(gp_call *c, gp_meta *m) {
    int d;
    if (!gp_infer_along(c, m, &d)) return false;
    gp_tensor *x = c->arg[0].t, *index = c->arg[2].t;
    if (c->arg[3].kind == GP_TENSOR) {
        gp_tensor *src = c->arg[3].t;
        bool fits = src->a.ndim == index->a.ndim;
        for (int i = 0; fits && i < index->a.ndim; i++) fits = index->a.dim[i] <= src->a.dim[i];
        char a[200], b[200];
        if (!fits)
            return gp_fail("%s: src %s does not cover index %s", c->op->name,
                           gp_tensor_text(src, a, sizeof a), gp_tensor_text(index, b, sizeof b));
    }
    gp_shape s = gp_tensor_shape(index);
    if (!gp_infer_offsets(c, m, &s) || !gp_infer_values(c, 3, (gp_dtype)x->a.dtype, 1))
        return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return true;
}

static const char *const short_names[] = {"add", "multiply", NULL};
static const uint8_t short_hows[] = {GP_ADD, GP_MUL};

bool infer_scatter(gp_call *c, gp_meta *m) {
    gp_infer_zero_dim(c, 3, 1);
    return settle_how(c, 4, short_names, short_hows, "'add' or 'multiply'") && scatter(c, m);
}

bool infer_scatter_add(gp_call *c, gp_meta *m) { return scatter(c, m); }

bool infer_scatter_reduce(gp_call *c, gp_meta *m) {
    static const char *const names[] = {"sum", "prod", "mean", "amin", "amax", NULL};
    static const uint8_t hows[] = {GP_ADD, GP_MUL, GP_MEAN, GP_MIN, GP_MAX};
    if (!settle_how(c, 4, names, hows, "'sum', 'prod', 'mean', 'amin' or 'amax'")) return false;
    if (c->arg[4].i == GP_MEAN && c->arg[0].t->a.dtype == GP_bool)
        return gp_fail("scatter_reduce: dtype bool of argument 'x' has no mean");
    return scatter(c, m);
}

bool infer_scatter_nd(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    gp_shape s, all;
    gp_infer_zero_dim(c, 2, 1);
    if (!settle_how(c, 3, short_names, short_hows, "'add' or 'multiply'")) return false;
    if (!gp_infer_tuples(c, m, 0, &s)) return false;
    all = s;
    if (c->arg[2].kind == GP_TENSOR) {
        gp_shape v = gp_tensor_shape(c->arg[2].t);
        char a[200], b[160];
        if (!gp_shape_broadcast("scatter_nd", &all, &v)) return false;
        if (!gp_shape_equal(&all, &s))
            return gp_fail("scatter_nd: updates %s do not fit what is indexed, of shape %s",
                           gp_tensor_text(c->arg[2].t, a, sizeof a),
                           gp_shape_text(&s, b, sizeof b));
    }
    if (!gp_infer_values(c, 2, (gp_dtype)x->a.dtype, 1)) return false;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return true;
}

/* ---- one index along a dim ---- */

/* x, dim and index of at most one dim; leaves the table. */
static bool one_index(gp_call *c, gp_meta *m, int *d) {
    gp_tensor *x = c->arg[0].t, *index = c->arg[2].t;
    const char *name = c->op->name;
    if (!gp_dim_wrap(name, c->arg[1].i, x->a.ndim, d)) return false;
    if (!gp_infer_index(c, "index", index) || !(m->dev = gp_infer_device(c))) return false;
    if (index->a.ndim > 1)
        return gp_fail("%s: expected an index of 1 dim, got %d dims", name, index->a.ndim);
    c->arg[1].i = *d + 1;
    gp_meta_like(m, 0, x, (gp_dtype)x->a.dtype);
    return gp_infer_offsets(c, m, &(gp_shape){.ndim = 1, .dim = {index->a.numel}});
}

/* source has x's shape, but in dim d as many as there are indices. A 0-d x takes one of 0 dims
 * or 1. */
static bool check_source(const gp_call *c, int d) {
    gp_tensor *x = c->arg[0].t, *index = c->arg[2].t, *source = c->arg[3].t;
    gp_shape want = gp_tensor_shape(x), have = gp_tensor_shape(source);
    if (want.ndim == 0 && (have.ndim || index->a.numel != 1)) want.ndim = 1;
    if (want.ndim) want.dim[d] = index->a.numel;
    char a[200], b[160];
    return gp_shape_equal(&want, &have) ||
           gp_fail("%s: source %s does not fit (expected shape %s)", c->op->name,
                   gp_tensor_text(source, a, sizeof a), gp_shape_text(&want, b, sizeof b));
}

bool infer_index_copy(gp_call *c, gp_meta *m) {
    int d;
    return one_index(c, m, &d) && check_source(c, d) &&
           gp_infer_values(c, 3, (gp_dtype)c->arg[0].t->a.dtype, 1);
}

bool infer_index_fill(gp_call *c, gp_meta *m) {
    int d;
    gp_infer_zero_dim(c, 3, 1);
    if (c->arg[3].kind == GP_TENSOR && c->arg[3].t->a.ndim)
        return gp_fail("index_fill: expected a number or a 0-d tensor as value, got a %d-d tensor",
                       c->arg[3].t->a.ndim);
    return one_index(c, m, &d) && gp_infer_values(c, 3, (gp_dtype)c->arg[0].t->a.dtype, 1);
}

/* c->tmp[1] times alpha; of 16-bit floats in f32, in which the kernel adds. */
static bool times_alpha(gp_call *c, gp_dtype dt) {
    const gp_value *alpha = &c->arg[4];
    if (alpha->is_float && !gp_is_float(dt))
        return gp_fail("index_add: a float alpha does not fit in a %s tensor", gp_dtype_name(dt));
    gp_tensor *source = c->ntmp > 1 ? c->tmp[1] : c->arg[3].t;
    gp_tensor *wide =
        gp_is_float(dt) && gp_dtype_size(dt) == 2 ? gp_cast(source, GP_f32) : gp_tensor_ref(source);
    if (!wide) return false;
    gp_call mul;
    gp_call_begin(&mul, GP_OP(mul));
    gp_call_tensor(&mul, wide);
    gp_call_number(&mul, gp_value_scalar(alpha));
    gp_tensor *scaled = gp_call_one(&mul);
    gp_tensor_unref(wide);
    if (!scaled) return false;
    if (c->ntmp > 1) gp_tensor_unref(c->tmp[1]);
    c->tmp[1] = scaled;
    c->ntmp = 2;
    return true;
}

bool infer_index_add(gp_call *c, gp_meta *m) {
    gp_dtype dt = (gp_dtype)c->arg[0].t->a.dtype;
    const gp_value *alpha = &c->arg[4];
    bool one = !gp_given(c, 4) || (alpha->is_float ? alpha->f == 1 : alpha->i == 1);
    int d;
    return one_index(c, m, &d) && check_source(c, d) && gp_infer_values(c, 3, dt, 1) &&
           (one || times_alpha(c, dt));
}
