/* Shape and dtype rules of linear algebra on batches of matrices. */
#include <string.h>

#include "tensor/infer.h"

enum { REALS = GP_BIT(GP_f32) | GP_BIT(GP_f64) };

static int64_t rows_of(const gp_tensor *x) { return x->a.dim[x->a.ndim - 2]; }
static int64_t cols_of(const gp_tensor *x) { return x->a.dim[x->a.ndim - 1]; }

/* Checks that argument i, called `arg`, is a batch of matrices of f32 or f64. */
static bool matrices(const gp_call *c, int i, const char *arg) {
    gp_tensor *x = c->arg[i].t;
    char text[160];
    if (!gp_infer_check(c, arg, (gp_dtype)x->a.dtype, REALS)) return false;
    if (x->a.ndim < 2)
        return gp_fail("%s: argument '%s' is %s (expected a matrix or a batch of matrices)",
                       c->op->name, arg, gp_tensor_text(x, text, sizeof text));
    if (rows_of(x) > INT32_MAX || cols_of(x) > INT32_MAX)
        return gp_fail("%s: argument '%s' is %s (expected fewer than 2^31 rows and columns)",
                       c->op->name, arg, gp_tensor_text(x, text, sizeof text));
    return true;
}

static bool square(const gp_call *c, const char *arg) {
    gp_tensor *x = c->arg[0].t;
    char text[160];
    if (!matrices(c, 0, arg)) return false;
    return rows_of(x) == cols_of(x) ||
           gp_fail("%s: argument '%s' is %s (expected square matrices)", c->op->name, arg,
                   gp_tensor_text(x, text, sizeof text));
}

static void begin(gp_call *c, gp_meta *m) {
    m->n = 0;
    m->dev = c->arg[0].t->storage->dev;
}

/* Adds an output: `batch`, then rows x cols (rows or cols < 0: left out). */
static void add(gp_meta *m, gp_dtype dt, const gp_shape *batch, int64_t rows, int64_t cols) {
    gp_shape *s = &m->out[m->n].shape;
    m->out[m->n++].dtype = dt;
    *s = *batch;
    if (rows >= 0) s->dim[s->ndim++] = rows;
    if (cols >= 0) s->dim[s->ndim++] = cols;
}

/* The same with x's dtype and the dims of its batch. */
static void add_output(gp_meta *m, const gp_tensor *x, int64_t rows, int64_t cols) {
    gp_shape batch = gp_tensor_shape(x);
    batch.ndim -= 2;
    add(m, (gp_dtype)x->a.dtype, &batch, rows, cols);
}

static int64_t smaller(const gp_tensor *x) {
    return rows_of(x) < cols_of(x) ? rows_of(x) : cols_of(x);
}

/* ---- decompositions ---- */

/* As in PyTorch, only CUDA has a choice. */
static bool svd_driver(const gp_call *c) {
    const gp_value *v = &c->arg[2];
    const gp_device *dev = c->arg[0].t->storage->dev;
    if (v->kind == GP_NONE) return true;
    if (strcmp(v->s, "gesvd") && strcmp(v->s, "gesvdj") && strcmp(v->s, "gesvda"))
        return gp_fail(
            "linalg.svd: argument 'driver' is '%.40s' (expected 'gesvd', 'gesvdj' or 'gesvda')",
            v->s);
    return !strcmp(dev->vt->kind, "cuda") ||
           gp_fail("linalg.svd: argument 'driver' is for CUDA only (x is on %s, which has one way)",
                   dev->name);
}

/* Arguments: x, full_matrices, driver. Outputs: U, S, Vh. */
bool infer_linalg_svd(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    if (begin(c, m), !matrices(c, 0, "x") || !svd_driver(c)) return false;
    int64_t k = smaller(x);
    bool full = c->arg[1].i;
    add_output(m, x, rows_of(x), full ? rows_of(x) : k);
    add_output(m, x, k, -1);
    add_output(m, x, full ? cols_of(x) : k, cols_of(x));
    return true;
}

bool infer_linalg_svdvals(gp_call *c, gp_meta *m) {
    if (begin(c, m), !matrices(c, 0, "x")) return false;
    add_output(m, c->arg[0].t, smaller(c->arg[0].t), -1);
    return true;
}

/* Arguments: x, mode. Outputs: Q (without elements in mode r), R. */
bool infer_linalg_qr(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    const char *mode = c->arg[1].s;
    if (begin(c, m), !matrices(c, 0, "x")) return false;
    bool complete = !strcmp(mode, "complete"), only_r = !strcmp(mode, "r");
    if (!complete && !only_r && strcmp(mode, "reduced"))
        return gp_fail("%s: argument 'mode' is '%s' (expected 'reduced', 'complete' or 'r')",
                       c->op->name, mode);
    int64_t k = complete ? rows_of(x) : smaller(x);
    if (only_r) add(m, (gp_dtype)x->a.dtype, &(gp_shape){0}, 0, -1);
    else add_output(m, x, rows_of(x), k);
    add_output(m, x, k, cols_of(x));
    return true;
}

bool infer_linalg_cholesky(gp_call *c, gp_meta *m) {
    if (begin(c, m), !square(c, "x")) return false;
    add_output(m, c->arg[0].t, rows_of(c->arg[0].t), rows_of(c->arg[0].t));
    return true;
}

static void add_info(gp_call *c, gp_meta *m) {
    add_output(m, c->arg[0].t, -1, -1);
    m->out[m->n - 1].dtype = GP_i32;
}

bool infer_linalg_cholesky_ex(gp_call *c, gp_meta *m) {
    if (!infer_linalg_cholesky(c, m)) return false;
    add_info(c, m);
    return true;
}

bool infer_linalg_inv(gp_call *c, gp_meta *m) { return infer_linalg_cholesky(c, m); }
bool infer_linalg_inv_ex(gp_call *c, gp_meta *m) { return infer_linalg_cholesky_ex(c, m); }

/* Outputs: L and U in one, pivots (1-based, as in LAPACK and PyTorch). */
/* As in PyTorch on the CPU. */
static bool pivots(const gp_call *c) {
    return !gp_given(c, 1) || c->arg[1].i ||
           gp_fail("%s: argument 'pivot' is false (expected true: rows are always exchanged)",
                   c->op->name);
}

bool infer_linalg_lu_factor(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    if (begin(c, m), !matrices(c, 0, "x") || !pivots(c)) return false;
    add_output(m, x, rows_of(x), cols_of(x));
    add_output(m, x, smaller(x), -1);
    m->out[1].dtype = GP_i32;
    return true;
}

/* Outputs: P, L, U. */
bool infer_linalg_lu(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    if (begin(c, m), !matrices(c, 0, "x") || !pivots(c)) return false;
    add_output(m, x, rows_of(x), rows_of(x));
    add_output(m, x, rows_of(x), smaller(x));
    add_output(m, x, smaller(x), cols_of(x));
    return true;
}

bool infer_linalg_det(gp_call *c, gp_meta *m) {
    if (begin(c, m), !square(c, "x")) return false;
    add_output(m, c->arg[0].t, -1, -1);
    return true;
}

bool infer_linalg_slogdet(gp_call *c, gp_meta *m) {
    if (!infer_linalg_det(c, m)) return false;
    add_output(m, c->arg[0].t, -1, -1);
    return true;
}

/* Arguments: x, uplo. Outputs: values, vectors. */
bool infer_linalg_eigvalsh(gp_call *c, gp_meta *m) {
    const char *uplo = c->arg[1].s;
    if (begin(c, m), !square(c, "x")) return false;
    if (strcmp(uplo, "L") && strcmp(uplo, "U") && strcmp(uplo, "l") && strcmp(uplo, "u"))
        return gp_fail("%s: argument 'uplo' is '%s' (expected 'L' or 'U')", c->op->name, uplo);
    add_output(m, c->arg[0].t, rows_of(c->arg[0].t), -1);
    return true;
}

bool infer_linalg_eigh(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    if (!infer_linalg_eigvalsh(c, m)) return false;
    add_output(m, x, rows_of(x), rows_of(x));
    return true;
}

/* Outputs: the values' real and imaginary parts. */
bool infer_linalg_eigvals(gp_call *c, gp_meta *m) {
    if (begin(c, m), !square(c, "x")) return false;
    for (int i = 0; i < 2; i++) add_output(m, c->arg[0].t, rows_of(c->arg[0].t), -1);
    return true;
}

/* The same, and the vectors' real and imaginary parts. */
bool infer_linalg_eig(gp_call *c, gp_meta *m) {
    gp_tensor *x = c->arg[0].t;
    if (!infer_linalg_eigvals(c, m)) return false;
    for (int i = 0; i < 2; i++) add_output(m, x, rows_of(x), rows_of(x));
    return true;
}

/* ---- equations ---- */

bool gp_infer_vector(const gp_shape *a, const gp_shape *b) {
    if (b->ndim == 1) return true;
    if (b->ndim != a->ndim - 1) return false;
    for (int i = 0; i < b->ndim; i++)
        if (b->dim[i] != a->dim[i]) return false;
    return true;
}
static bool is_vector(const gp_tensor *a, const gp_tensor *b) {
    gp_shape of_a = gp_tensor_shape(a), of_b = gp_tensor_shape(b);
    return gp_infer_vector(&of_a, &of_b);
}

/* Checks b, the right-hand side of a's equations, which has `n` rows (or columns, where X is on the
 * left). Their broadcast batch goes to `batch`. */
static bool right_side(gp_call *c, int64_t n, bool left, bool vector, gp_shape *batch) {
    gp_tensor *a = c->arg[0].t, *b = c->arg[1].t;
    char s[160], t[160];
    if (!gp_infer_device(c)) return false;
    if (a->a.dtype != b->a.dtype)
        return gp_fail("%s: argument 'a' is %s and argument 'b' %s (expected the same dtype; "
                       "convert one with :to)",
                       c->op->name, gp_dtype_name((gp_dtype)a->a.dtype),
                       gp_dtype_name((gp_dtype)b->a.dtype));
    if (!vector && !matrices(c, 1, "b")) return false;
    if (vector && !left)
        return gp_fail("%s: argument 'b' is %s (expected matrices where left is false)",
                       c->op->name, gp_tensor_text(b, t, sizeof t));
    if ((vector || !left ? cols_of(b) : rows_of(b)) != n)
        return gp_fail("%s: argument 'a' is %s and argument 'b' %s (expected b to have %lld %s)",
                       c->op->name, gp_tensor_text(a, s, sizeof s), gp_tensor_text(b, t, sizeof t),
                       (long long)n, left ? "rows" : "columns");
    gp_shape of_b = gp_tensor_shape(b);
    *batch = gp_tensor_shape(a);
    batch->ndim -= 2;
    of_b.ndim -= vector ? 1 : 2;
    return gp_shape_broadcast(c->op->name, batch, &of_b);
}

/* Arguments: a, b, left. */
bool infer_linalg_solve(gp_call *c, gp_meta *m) {
    gp_tensor *a = c->arg[0].t, *b = c->arg[1].t;
    gp_shape batch;
    if (begin(c, m), !square(c, "a")) return false;
    bool vector = is_vector(a, b);
    if (!right_side(c, rows_of(a), c->arg[2].i, vector, &batch)) return false;
    if (vector) add(m, (gp_dtype)a->a.dtype, &batch, rows_of(a), -1);
    else add(m, (gp_dtype)a->a.dtype, &batch, rows_of(b), cols_of(b));
    return true;
}

/* Arguments: a, b, upper, left, unitriangular. */
bool infer_linalg_solve_triangular(gp_call *c, gp_meta *m) {
    gp_tensor *a = c->arg[0].t, *b = c->arg[1].t;
    gp_shape batch;
    if (begin(c, m), !square(c, "a") || !matrices(c, 1, "b")) return false;
    if (!right_side(c, rows_of(a), c->arg[3].i, false, &batch)) return false;
    add(m, (gp_dtype)a->a.dtype, &batch, rows_of(b), cols_of(b));
    return true;
}

/* Arguments: a, b, rcond, driver. Outputs: solution, residuals (no elements unless a has more rows
   than columns), rank (not for gels), singular values (gelsd and gelss). */
bool infer_linalg_lstsq(gp_call *c, gp_meta *m) {
    gp_tensor *a = c->arg[0].t, *b = c->arg[1].t;
    const char *driver = c->arg[3].s;
    gp_shape batch, none = {0};
    if (begin(c, m), !matrices(c, 0, "a")) return false;
    bool gels = !strcmp(driver, "gels"), values = !strcmp(driver, "gelsd");
    values = values || !strcmp(driver, "gelss");
    if (!gels && !values && strcmp(driver, "gelsy"))
        return gp_fail("%s: argument 'driver' is '%s' (expected 'gels', 'gelsy', 'gelsd' or "
                       "'gelss')",
                       c->op->name, driver);
    bool vector = is_vector(a, b);
    if (!right_side(c, rows_of(a), true, vector, &batch)) return false;
    gp_dtype dt = (gp_dtype)a->a.dtype;
    int64_t sides = vector ? -1 : cols_of(b);
    add(m, dt, &batch, cols_of(a), sides);
    if (rows_of(a) > cols_of(a)) add(m, dt, &batch, sides, -1);
    else add(m, dt, &none, 0, -1);
    if (gels) add(m, GP_i64, &none, 0, -1);
    else add(m, GP_i64, &batch, -1, -1);
    if (values) add(m, dt, &batch, smaller(a), -1);
    else add(m, dt, &none, 0, -1);
    return true;
}
