/* Shape and dtype rules of linear algebra on batches of matrices. */
#include "tensor/infer.h"

/* x must be a batch of matrices of f32 or f64. */
static bool matrices(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    char text[160];
    m->n = 0;
    m->dev = x->storage->dev;
    if (!gp_infer_check(c, "x", (gp_dtype)x->a.dtype, GP_BIT(GP_f32) | GP_BIT(GP_f64)))
        return false;
    if (x->a.ndim < 2)
        return gp_fail("%s: argument 'x' is %s (expected a matrix or a batch of matrices)",
                       c->op->name, gp_tensor_text(x, text, sizeof text));
    int64_t rows = x->a.dim[x->a.ndim - 2], cols = x->a.dim[x->a.ndim - 1];
    if (rows > INT32_MAX || cols > INT32_MAX)
        return gp_fail("%s: argument 'x' is %s (expected fewer than 2^31 rows and columns)",
                       c->op->name, gp_tensor_text(x, text, sizeof text));
    return true;
}

/* The next output: x's batch dims, then rows x cols (cols < 0: rows alone). */
static void add_output(gp_meta *m, const gp_tensor *x, int64_t rows, int64_t cols) {
    gp_shape *s = &m->out[m->n].shape;
    m->out[m->n++].dtype = (gp_dtype)x->a.dtype;
    s->ndim = x->a.ndim - 2;
    for (int i = 0; i < s->ndim; i++) s->dim[i] = x->a.dim[i];
    s->dim[s->ndim++] = rows;
    if (cols >= 0) s->dim[s->ndim++] = cols;
}

/* Arguments: x, full_matrices. Outputs: U, S, Vh. */
bool infer_linalg_svd(gp_call *c, gp_meta *m) {
    if (!matrices(c, m)) return false;
    gp_tensor *x = c->arg[0].t;
    int64_t rows = x->a.dim[x->a.ndim - 2], cols = x->a.dim[x->a.ndim - 1],
            k = rows < cols ? rows : cols;
    bool full = c->arg[1].i;
    add_output(m, x, rows, full ? rows : k);
    add_output(m, x, k, -1);
    add_output(m, x, full ? cols : k, cols);
    return true;
}

bool infer_linalg_svdvals(gp_call *c, gp_meta *m) {
    if (!matrices(c, m)) return false;
    gp_tensor *x = c->arg[0].t;
    int64_t rows = x->a.dim[x->a.ndim - 2], cols = x->a.dim[x->a.ndim - 1];
    add_output(m, x, rows < cols ? rows : cols, -1);
    return true;
}
