/* Gradients of linear algebra: formulas composed of ops. Source: Giles, "An extended collection of
 * matrix derivative results for forward and reverse mode algorithmic differentiation", 2008. */
#include <float.h>
#include <math.h>

#include "tensor/autograd/compose.h"
#include "tensor/infer.h"
#include "tensor/ops/linalg/linalg.h"

/* ---- solving ---- */

static bool inv(gp_vjp *v) {
    gp_tensor *t = gp_mT(v, v->y[0]);
    return (v->dx[0] = neg(v, mm(v, t, mm(v, v->g[0], t)))) != NULL;
}
const gp_rule vjp_linalg_inv = {inv, "y"}, vjp_linalg_inv_ex = {inv, "y"};

/* adj(u), u upper triangular, times y, for x = p l u, y = l^-1 p' and adj(x) = det(p) adj(u) y.
 * With zeros on its diagonal u has no inverse: adj(u) y is the limit of det(u) u^-1 y with d for
 * each zero, d -> 0. Scaling row i by d^(the zeros from i on) keeps the elements of u without a
 * zero strictly between row and column, the rows of y after which no zero comes, and the rows of
 * the result before all zeros. */
static gp_tensor *adjugate_times(gp_vjp *v, gp_tensor *u, gp_tensor *y) {
    const int64_t last = -1;
    gp_tensor *d = DO(diagonal, "tiii", u, (int64_t)0, (int64_t)-2, (int64_t)-1);
    gp_tensor *zero = DO(to, "t-d", DO(eq, "tn", d, 0.0), GP_i64);
    gp_tensor *upto = DO(cumsum, "ti", zero, (int64_t)-1), *before = sub(v, upto, zero);
    gp_tensor *all = DO(sum, "tvb", zero, &last, 1, 1);
    u = DO(where, "ttn", DO(eq, "tt", column(v, upto), row(v, before)), u, 0.0);
    u = add(v, u, diagonal_matrix(v, zero));
    y = DO(where, "ttn", column(v, DO(eq, "tt", upto, all)), y, 0.0);
    y = DO(linalg_solve_triangular, "ttbbb", u, y, 1, 1, 0);
    y = DO(where, "ttn", column(v, DO(eq, "tn", before, 0.0)), y, 0.0);
    gp_tensor *others = DO(prod, "tv", add(v, d, zero), &last, 1);
    return mul(v, column(v, column(v, others)), y);
}

/* ---- the adjugate where it is to be differentiated: derivatives of lu's parts are infinite at
 * zero pivots, those of singular vectors where values are equal ---- */

/* x = whole - b c', whole regular: b and c are the singular vectors of x for its smallest singular
 * values (k of n, the other columns and rows are zeros), b times the largest one. They are numbers:
 * whichever are taken, what follows holds. z = (1 - c' whole^-1 b) among those k. */
typedef struct bordered {
    gp_tensor *whole_inv, *whole_det, *b, *ct, *few, *k, *z;
} bordered;

static gp_tensor *last_dim(gp_vjp *v, gp_tensor *t, bool keep) {
    return DO(sum, "tvb", t, &(int64_t){-1}, 1, (int)keep);
}

/* A number for each matrix, before its rows and columns. */
static gp_tensor *trace(gp_vjp *v, gp_tensor *t) {
    gp_tensor *d = DO(diagonal, "tiii", t, (int64_t)0, (int64_t)-2, (int64_t)-1);
    return column(v, last_dim(v, d, true));
}

/* 1 for those of singular values s that count as 0: all that rounding may have made, and of the
 * last three, for which the formulas below are exact, those whose inverses would take digits. */
static gp_tensor *small_ones(gp_vjp *v, gp_tensor *s, gp_tensor *top) {
    if (v->failed) return NULL;
    int64_t n = s->a.dim[s->a.ndim - 1];
    double eps = s->a.dtype == GP_f64 ? DBL_EPSILON : FLT_EPSILON;
    gp_tensor *zero = DO(le, "tt", s, DO(mul, "tn", top, (double)n * eps));
    gp_tensor *low = DO(le, "tt", s, DO(mul, "tn", top, sqrt(sqrt(eps))));
    gp_tensor *end = DO(gt, "tn", gp_count_to(v, n, s->storage->dev), (double)n - 3);
    gp_tensor *few = DO(logical_or, "tt", zero, DO(logical_and, "tt", low, end));
    return DO(to, "t-d", few, (int)s->a.dtype);
}

static bordered border(gp_vjp *v, gp_tensor *x) {
    gp_tensor *out[GP_MAX_OUT], *c = DO(detach, "t", x);
    c = DO(masked_fill, "ttn", c, DO(logical_not, "t", DO(isfinite, "t", c)), 0.0);
    if (v->failed || !gp_do_all(v, out, GP_OP(linalg_svd), "tb", c, 1)) return (bordered){0};
    gp_tensor *top = DO(narrow, "tiii", out[1], (int64_t)-1, (int64_t)1, (int64_t)1);
    gp_tensor *few = small_ones(v, out[1], top);
    gp_tensor *scale = DO(masked_fill, "ttn", top, DO(eq, "tn", top, 0.0), 1.0);
    bordered r = {.few = diagonal_matrix(v, few), .k = column(v, last_dim(v, few, true))};
    r.b = mul(v, out[0], row(v, mul(v, few, scale)));
    r.ct = mul(v, column(v, few), out[2]);
    gp_tensor *whole = add(v, x, mm(v, r.b, r.ct));
    if (v->failed || !gp_do_all(v, out, GP_OP(linalg_inv_ex), "t", whole)) return (bordered){0};
    r.whole_inv = out[0];
    r.whole_det = column(v, column(v, DO(linalg_det, "t", whole)));
    r.z = sub(v, r.few, mm(v, r.ct, mm(v, r.whole_inv, r.b)));
    return r;
}

/* t where k of the singular values are small, 0 elsewhere. */
static gp_tensor *only(gp_vjp *v, const bordered *r, int k, gp_tensor *t) {
    return mul(v, DO(to, "t-d", DO(eq, "tn", r->k, (double)k), (int)v->node->in[0].dtype), t);
}

static gp_tensor *sum3(gp_vjp *v, gp_tensor *a, gp_tensor *b, gp_tensor *c) {
    return add(v, add(v, a, b), c);
}

/* adj(x) = det(whole) (det(z) whole^-1 + whole^-1 b adj(z) c' whole^-1), det and adj of z, of k
 * rows, as polynomials in z and its powers' traces. Of more than three zeros both are 0, and so are
 * their derivatives up to the second. */
static gp_tensor *adjugate(gp_vjp *v, gp_tensor *x) {
    bordered r = border(v, x);
    gp_tensor *z = r.z, *zz = mm(v, z, z), *t1 = trace(v, z), *t2 = trace(v, zz);
    gp_tensor *t3 = trace(v, mm(v, zz, z)), *square = mul(v, t1, t1);
    gp_tensor *two = DO(mul, "tn", sub(v, square, t2), 0.5);
    gp_tensor *three = sub(v, square, DO(mul, "tn", t2, 3.0));
    three = DO(div, "tn", add(v, mul(v, t1, three), DO(mul, "tn", t3, 2.0)), 6.0);
    gp_tensor *det = sum3(v, only(v, &r, 1, t1), only(v, &r, 2, two), only(v, &r, 3, three));
    det = add(v, det, DO(to, "t-d", DO(eq, "tn", r.k, 0.0), (int)v->node->in[0].dtype));
    gp_tensor *adj2 = sub(v, mul(v, t1, r.few), z);
    gp_tensor *adj3 = sum3(v, mul(v, two, r.few), neg(v, mul(v, t1, z)), zz);
    gp_tensor *adj = sum3(v, only(v, &r, 1, r.few), only(v, &r, 2, adj2), only(v, &r, 3, adj3));
    gp_tensor *left = mm(v, r.whole_inv, r.b), *right = mm(v, r.ct, r.whole_inv);
    gp_tensor *sum = add(v, mul(v, det, r.whole_inv), mm(v, left, mm(v, adj, right)));
    return mul(v, r.whole_det, sum);
}

/* det(p) times the adjugate of x = p l u. */
static gp_tensor *adjugate_by_lu(gp_vjp *v, gp_tensor *x) {
    gp_tensor *out[GP_MAX_OUT];
    if (!gp_do_all(v, out, GP_OP(linalg_lu), "t", x)) return NULL;
    gp_tensor *sign = column(v, column(v, DO(linalg_det, "t", out[0])));
    gp_tensor *y = DO(linalg_solve_triangular, "ttbbb", out[1], gp_mT(v, out[0]), 0, 1, 1);
    return mul(v, sign, adjugate_times(v, out[2], y));
}

/* g times the transposed adjugate, which is finite for singular matrices as well. */
static bool det(gp_vjp *v) {
    gp_tensor *x = v->x[0];
    gp_tensor *t = gp_no_grad || !x->a.numel ? adjugate_by_lu(v, x) : adjugate(v, x);
    return (v->dx[0] = mul(v, column(v, column(v, v->g[0])), gp_mT(v, t))) != NULL;
}
const gp_rule vjp_linalg_det = {det, "0"};

/* u^-1 l^-1 p'; of singular matrices with the infinities that division by their zero pivots makes.
 */
static gp_tensor *inverse_by_lu(gp_vjp *v, gp_tensor *x) {
    gp_tensor *out[GP_MAX_OUT];
    if (!gp_do_all(v, out, GP_OP(linalg_lu), "t", x)) return NULL;
    gp_tensor *y = DO(linalg_solve_triangular, "ttbbb", out[1], gp_mT(v, out[0]), 0, 1, 1);
    return DO(linalg_solve_triangular, "ttbbb", out[2], y, 1, 1, 0);
}

/* The inverse; of singular matrices the infinities of inverse_by_lu. On the CPU, where looking is
 * no wait, only a batch with one of these takes its way, which is longer. */
static gp_tensor *inverse_or_inf(gp_vjp *v, gp_tensor *x) {
    gp_tensor *out[GP_MAX_OUT];
    gp_scalar most = {.i = 0};
    if (x->storage->dev != gp_device_cpu()) return inverse_by_lu(v, x);
    if (!gp_do_all(v, out, GP_OP(linalg_inv_ex), "t", x)) return NULL;
    gp_tensor *info = x->a.numel ? DO(amax, "t", out[1]) : NULL;
    if (info && !gp_item(info, &most, GP_WHY_item, "linalg.slogdet")) return NULL;
    return most.i ? inverse_by_lu(v, x) : out[0];
}

/* The same in a form that is differentiated: NaN for singular matrices. */
static gp_tensor *inverse_or_nan(gp_vjp *v, gp_tensor *x) {
    gp_tensor *out[GP_MAX_OUT];
    if (!gp_do_all(v, out, GP_OP(linalg_inv_ex), "t", x)) return NULL;
    gp_tensor *none = column(v, column(v, DO(ne, "tn", out[1], 0.0)));
    gp_tensor *one = DO(fill, "tn", DO(to, "t-d", none, (int)v->node->in[0].dtype), 1.0);
    return mul(v, out[0], DO(masked_fill, "ttn", one, none, (double)NAN));
}

/* g times the transposed inverse. */
static bool slogdet(gp_vjp *v) {
    gp_tensor *x = v->x[0], *t = gp_no_grad ? inverse_or_inf(v, x) : inverse_or_nan(v, x);
    return (v->dx[0] = mul(v, column(v, column(v, gp_g(v, 1))), gp_mT(v, t))) != NULL;
}
const gp_rule vjp_linalg_slogdet = {slogdet, "0"};

/* a x = b: db = a' \\ g, da = -db x'; x a = b: da = -x' db. Vectors b are columns, or rows. */
static bool solve(gp_vjp *v) {
    const gp_shape *sb = gp_in_shape(v, 1);
    bool left = !gp_has(v, 2) || gp_int_arg(v, 2);
    bool vector = gp_infer_vector(gp_in_shape(v, 0), sb);
    gp_tensor *g = v->g[0], *x = v->y[0];
    if (vector) g = left ? column(v, g) : row(v, g), x = left ? column(v, x) : row(v, x);
    gp_tensor *db = DO(linalg_solve, "ttb", gp_mT(v, v->x[0]), g, (int)left);
    if (v->need[0]) v->dx[0] = neg(v, left ? mm(v, db, gp_mT(v, x)) : mm(v, gp_mT(v, x), db));
    int64_t along = left ? -1 : -2;
    if (v->need[1]) v->dx[1] = vector ? DO(select, "tii", db, along, (int64_t)1) : db;
    return !v->failed;
}
const gp_rule vjp_linalg_solve = {solve, "0y"};

/* t's upper or lower triangle, without the diagonal if that is not read. */
static gp_tensor *triangle(gp_vjp *v, gp_tensor *t, bool upper, bool unit) {
    return upper ? DO(triu, "ti", t, (int64_t)unit) : DO(tril, "ti", t, -(int64_t)unit);
}

/* The same with the triangle of a that is read. Arguments: a, b, upper, left, unitriangular. */
static bool solve_triangular(gp_vjp *v) {
    bool upper = gp_int_arg(v, 2), left = gp_int_arg(v, 3), unit = gp_int_arg(v, 4);
    gp_tensor *xt = gp_mT(v, v->y[0]);
    gp_tensor *db = DO(linalg_solve_triangular, "ttbbb", gp_mT(v, v->x[0]), v->g[0], (int)!upper,
                       (int)left, (int)unit);
    if (v->need[0])
        v->dx[0] = neg(v, triangle(v, left ? mm(v, db, xt) : mm(v, xt, db), upper, unit));
    if (v->need[1]) v->dx[1] = db;
    return !v->failed;
}
const gp_rule vjp_linalg_solve_triangular = {solve_triangular, "0y"};

static gp_tensor *least(gp_vjp *v, gp_tensor *a, gp_tensor *b) {
    return DO(linalg_lstsq, "ttaa", a, b, 2, 3);
}

/* x = a+ b, for a of full rank. With w = a+' g: db = w; da = (b - a x) (a+ w)' - w x' for a with as
 * many rows as columns or more, else da = (a+' x) (g - a' w)' - w x'. The residuals' squares: 2 r,
 * -2 r x'. */
static bool lstsq(gp_vjp *v) {
    const gp_shape *sa = gp_in_shape(v, 0), *sb = gp_in_shape(v, 1);
    bool vector = gp_infer_vector(sa, sb);
    bool tall = sa->dim[sa->ndim - 2] >= sa->dim[sa->ndim - 1];
    if (v->node->nout > 3 && v->g[3])
        return gp_fail("backward: the singular values that linalg.lstsq gives have no derivative; "
                       "linalg.svdvals' have");
    gp_tensor *a = v->x[0], *at = gp_mT(v, a), *b = v->x[1], *x = v->y[0], *g = gp_g(v, 0),
              *g1 = v->g[1];
    if (vector)
        b = column(v, b), x = column(v, x), g = column(v, g), g1 = g1 ? column(v, g1) : NULL;
    gp_tensor *w = least(v, at, g), *r = sub(v, b, mm(v, a, x)), *xt = gp_mT(v, x);
    gp_tensor *outer = tall ? mm(v, r, gp_mT(v, least(v, a, w)))
                            : mm(v, least(v, at, x), gp_mT(v, sub(v, g, mm(v, at, w))));
    if (g1 && g1->a.numel) w = add(v, w, mul(v, DO(mul, "tn", r, 2.0), row(v, g1)));
    if (v->need[0]) v->dx[0] = sub(v, outer, mm(v, w, xt));
    if (v->need[1]) v->dx[1] = vector ? DO(select, "tii", w, (int64_t)-1, (int64_t)1) : w;
    return !v->failed;
}
const gp_rule vjp_linalg_lstsq = {lstsq, "01y"};

/* ---- factorizations ---- */

/* t with its diagonal halved. */
static gp_tensor *half_diagonal(gp_vjp *v, gp_tensor *lower) {
    return sub(v, lower, DO(mul, "tn", sub(v, lower, DO(tril, "ti", lower, (int64_t)-1)), 0.5));
}

/* x = l l': dx = sym(l^-T phi(l' g) l^-1), phi: the lower triangle with half of the diagonal. */
static bool cholesky(gp_vjp *v) {
    gp_tensor *l = v->y[0], *g = v->g[0];
    if (gp_has(v, 1) && gp_int_arg(v, 1)) l = gp_mT(v, l), g = gp_mT(v, g);
    gp_tensor *lt = gp_mT(v, l), *p = half_diagonal(v, DO(tril, "ti", mm(v, lt, g), (int64_t)0));
    p = DO(linalg_solve_triangular, "ttbbb", lt, p, 1, 1, 0);
    p = DO(linalg_solve_triangular, "ttbbb", l, p, 0, 0, 0);
    return (v->dx[0] = symmetric(v, p)) != NULL;
}
const gp_rule vjp_linalg_cholesky = {cholesky, "y"}, vjp_linalg_cholesky_ex = {cholesky, "y"};

/* ---- lu ---- */

/* x = p l u; gl, gu: gradients of l (m x k) and u (k x n). With both square: p l^-T (tril(l' gl,
 * -1) + triu(gu u')) u^-T. The columns of u right of its square part (n > m) are l^-1 p' x there,
 * the rows of l below its square part (m > n) are p' x u^-1: they subtract gu2 u2' from the first,
 * l2' gl2 from the second term. */
static gp_tensor *lu_back(gp_vjp *v, gp_tensor *p, gp_tensor *l, gp_tensor *u, gp_tensor *gl,
                          gp_tensor *gu) {
    if (v->failed) return NULL;
    int64_t m = l->a.dim[l->a.ndim - 2], n = u->a.dim[u->a.ndim - 1], k = m < n ? m : n;
    gp_tensor *l1 = first_of(v, l, -2, k), *u1 = first_of(v, u, -1, k);
    gp_tensor *a = mm(v, gp_mT(v, l1), first_of(v, gl, -2, k));
    gp_tensor *b = mm(v, first_of(v, gu, -1, k), gp_mT(v, u1)), *gu2 = NULL, *gl2 = NULL;
    if (n > k)
        gu2 = rest_of(v, gu, -1, k), a = sub(v, a, mm(v, gu2, gp_mT(v, rest_of(v, u, -1, k))));
    if (m > k)
        gl2 = rest_of(v, gl, -2, k), b = sub(v, b, mm(v, gp_mT(v, rest_of(v, l, -2, k)), gl2));
    gp_tensor *s = add(v, DO(tril, "ti", a, (int64_t)-1), DO(triu, "ti", b, (int64_t)0));
    gp_tensor *ut = gp_mT(v, u1), *lt = gp_mT(v, l1);
    s = DO(linalg_solve_triangular, "ttbbb", ut, s, 0, 0, 0);
    if (gu2) s = DO(cat, "li", (gp_tensor *[]){s, gu2}, 2, (int64_t)-1);
    s = DO(linalg_solve_triangular, "ttbbb", lt, s, 1, 1, 1);
    if (gl2)
        s = DO(cat, "li",
               (gp_tensor *[]){s, DO(linalg_solve_triangular, "ttbbb", ut, gl2, 0, 0, 0)}, 2,
               (int64_t)-2);
    return mm(v, p, s);
}

static bool lu(gp_vjp *v) {
    return (v->dx[0] = lu_back(v, v->y[0], v->y[1], v->y[2], gp_g(v, 1), gp_g(v, 2))) != NULL;
}
const gp_rule vjp_linalg_lu = {lu, "y"};

/* l and u, and their gradients, are parts of one matrix; the permutation is recomputed. */
static bool lu_factor(gp_vjp *v) {
    gp_tensor *out[GP_MAX_OUT], *g = v->g[0];
    if (!gp_do_all(v, out, GP_OP(linalg_lu), "t", v->x[0])) return false;
    int64_t k = out[2]->a.dim[out[2]->a.ndim - 2];
    gp_tensor *gl = first_of(v, DO(tril, "ti", g, (int64_t)-1), -1, k);
    gp_tensor *gu = first_of(v, DO(triu, "ti", g, (int64_t)0), -2, k);
    return (v->dx[0] = lu_back(v, out[0], out[1], out[2], gl, gu)) != NULL;
}
const gp_rule vjp_linalg_lu_factor = {lu_factor, "0"};

/* ---- qr ---- */

/* x = q r with r square: dx = (gq + q copyltu(r gr' - gq' q)) r^-T, copyltu: the lower triangle
 * mirrored. */
static gp_tensor *square_qr(gp_vjp *v, gp_tensor *q, gp_tensor *r, gp_tensor *gq, gp_tensor *gr) {
    gp_tensor *m = sub(v, mm(v, r, gp_mT(v, gr)), mm(v, gp_mT(v, gq), q));
    gp_tensor *c = add(v, DO(tril, "ti", m, (int64_t)0), gp_mT(v, DO(tril, "ti", m, (int64_t)-1)));
    gp_tensor *t = add(v, gq, mm(v, q, c));
    return DO(linalg_solve_triangular, "ttbbb", gp_mT(v, r), t, 0, 0, 0);
}

/* Columns first … first + n - 1 of matrices. */
static gp_tensor *columns(gp_vjp *v, gp_tensor *t, int64_t first, int64_t n) {
    return DO(narrow, "tiii", t, (int64_t)-1, first, n);
}

/* More columns than rows: with x = (a b) and r = (s t), a = q s and t = q' b, so that b gets q gt,
 * and q gets b gt' besides its part from a. */
static bool qr(gp_vjp *v) {
    gp_tensor *q = v->y[0], *r = v->y[1];
    const gp_shape *s = gp_in_shape(v, 0);
    int64_t m = s->dim[s->ndim - 2], n = s->dim[s->ndim - 1];
    if (q->a.ndim != s->ndim || (m > n && q->a.dim[s->ndim - 1] != n))
        return gp_fail(
            "backward: linalg.qr has a derivative only in mode reduced (or complete, for "
            "matrices with no more rows than columns)");
    gp_tensor *gq = gp_g(v, 0), *gr = gp_g(v, 1);
    if (m >= n) return (v->dx[0] = square_qr(v, q, r, gq, gr)) != NULL;
    gp_tensor *gt = columns(v, gr, m + 1, n - m);
    gq = add(v, gq, mm(v, columns(v, v->x[0], m + 1, n - m), gp_mT(v, gt)));
    gp_tensor *both[] = {square_qr(v, q, columns(v, r, 1, m), gq, columns(v, gr, 1, m)),
                         mm(v, q, gt)};
    if (v->failed) return false;
    return (v->dx[0] = DO(cat, "li", both, 2, (int64_t)-1)) != NULL;
}
const gp_rule vjp_linalg_qr = {qr, "0y"};
