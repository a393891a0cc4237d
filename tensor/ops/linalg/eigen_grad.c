/* Gradients of eigenvalues, singular values and their vectors. Vectors of equal values, and those
 * that full matrices have beyond the values, are any basis of a space: a gradient that asks for
 * them is NaN, as no number would be right for every basis; one that does not ask is a number. */
#include <float.h>
#include <math.h>

#include "tensor/autograd/compose.h"
#include "tensor/ops/linalg/linalg.h"

/* ---- vectors of equal values ---- */

/* Whether gaps, differences of values w in size, are rounding of the largest: the vectors of such
 * values are any basis of one space. */
static gp_tensor *closed(gp_vjp *v, gp_tensor *gaps, gp_tensor *w) {
    if (v->failed) return NULL;
    double eps = w->a.dtype == GP_f64 ? DBL_EPSILON : FLT_EPSILON;
    gp_tensor *top = DO(amax, "tvb", w, &(int64_t){-1}, 1, 1);
    return DO(le, "tt", gaps, DO(mul, "tn", column(v, top), eps));
}

/* f, factors of pairs i, j of vectors, 0 where their values are equal. There the result depends on
 * the basis, and is NaN off the diagonal, if the gradient g of vector j, its column j, is not 0, or
 * if the gradients gw of the two values (NULL: 0) differ. */
static gp_tensor *undetermined(gp_vjp *v, gp_tensor *f, gp_tensor *equal, gp_tensor *g,
                               gp_tensor *gw) {
    gp_tensor *bad = DO(any, "tvb", DO(ne, "tn", g, 0.0), &(int64_t){-2}, 1, 1);
    if (gw) bad = DO(logical_or, "tt", bad, DO(ne, "tt", row(v, gw), column(v, gw)));
    bad = DO(logical_and, "tt", equal, bad);
    bad = DO(logical_or, "tt", DO(tril, "ti", bad, (int64_t)-1), DO(triu, "ti", bad, (int64_t)1));
    f = DO(masked_fill, "ttn", f, equal, 0.0);
    return DO(masked_fill, "ttn", f, bad, (double)NAN);
}

/* 1 / (w_j - w_i) where vectors have gradient g, and values gw. */
static gp_tensor *over_gaps(gp_vjp *v, gp_tensor *w, gp_tensor *g, gp_tensor *gw) {
    gp_tensor *d = sub(v, row(v, w), column(v, w));
    gp_tensor *equal = closed(v, DO(abs, "t", d), DO(abs, "t", w));
    d = DO(reciprocal, "t", DO(masked_fill, "ttn", d, equal, 1.0));
    return undetermined(v, d, equal, g, gw);
}

/* Whether input 0 has no elements, whose gradient then has none. */
static bool nothing(gp_vjp *v) { return v->y[0]->a.numel == 0; }
static bool no_gradient(gp_vjp *v) { return (v->dx[0] = gp_zeros_like_input(v, 0)) != NULL; }

/* ---- symmetric matrices ---- */

/* x = u diag(w) u' */
static bool eigh(gp_vjp *v) {
    if (nothing(v)) return no_gradient(v);
    gp_tensor *w = v->y[0], *u = v->y[1], *ut = gp_mT(v, u);
    gp_tensor *d = v->g[0] ? diagonal_matrix(v, v->g[0]) : NULL;
    if (v->g[1]) {
        gp_tensor *f = mul(v, mm(v, ut, v->g[1]), over_gaps(v, w, v->g[1], v->g[0]));
        d = d ? add(v, d, f) : f;
    }
    return (v->dx[0] = symmetric(v, mm(v, u, mm(v, d, ut)))) != NULL;
}
const gp_rule vjp_linalg_eigh = {eigh, "y"};

static bool eigvalsh(gp_vjp *v) {
    gp_tensor *out[GP_MAX_OUT];
    if (!gp_do_all(v, out, GP_OP(linalg_eigh), "ta", v->x[0], 1)) return false;
    gp_tensor *scaled = mul(v, out[1], row(v, v->g[0]));
    return (v->dx[0] = mm(v, scaled, gp_mT(v, out[1]))) != NULL;
}
const gp_rule vjp_linalg_eigvalsh = {eigvalsh, "0"};

/* ---- eigenvalues of matrices that are not symmetric: complex numbers as two tensors ---- */

typedef struct pair {
    gp_tensor *re, *im;
} pair;

static pair times(gp_vjp *v, pair a, pair b) {
    return (pair){sub(v, mm(v, a.re, b.re), mm(v, a.im, b.im)),
                  add(v, mm(v, a.re, b.im), mm(v, a.im, b.re))};
}

/* Its conjugate transpose. */
static pair adjoint(gp_vjp *v, pair a) { return (pair){gp_mT(v, a.re), neg(v, gp_mT(v, a.im))}; }

static gp_tensor *joined(gp_vjp *v, gp_tensor *a, gp_tensor *b, int64_t dim) {
    return DO(cat, "li", (gp_tensor *[]){a, b}, 2, dim);
}

/* x of a x = b, as real matrices of twice the size: {{re, -im}, {im, re}} {re; im} = {re; im}. */
static pair divided(gp_vjp *v, pair a, pair b) {
    if (v->failed) return (pair){0};
    int64_t n = b.re->a.dim[b.re->a.ndim - 2];
    gp_tensor *m = joined(v, joined(v, a.re, neg(v, a.im), -1), joined(v, a.im, a.re, -1), -2);
    gp_tensor *x = DO(linalg_solve, "ttb", m, joined(v, b.re, b.im, -2), 1);
    return (pair){DO(narrow, "tiii", x, (int64_t)-2, (int64_t)1, n),
                  DO(narrow, "tiii", x, (int64_t)-2, n + 1, n)};
}

/* t / conj(w_j - w_i), where vectors have gradient g. Gradients of equal values that differ are not
 * looked for: such values have no derivative, with vectors or without. */
static pair over_complex_gaps(gp_vjp *v, pair t, pair w, pair g) {
    gp_tensor *re = sub(v, row(v, w.re), column(v, w.re));
    gp_tensor *im = sub(v, row(v, w.im), column(v, w.im));
    gp_tensor *size = add(v, mul(v, re, re), mul(v, im, im));
    gp_tensor *equal = closed(v, DO(hypot, "tt", re, im), DO(hypot, "tt", w.re, w.im));
    gp_tensor *f = DO(reciprocal, "t", DO(masked_fill, "ttn", size, equal, 1.0));
    f = undetermined(v, f, equal, joined(v, g.re, g.im, -2), NULL);
    return (pair){mul(v, f, sub(v, mul(v, t.re, re), mul(v, t.im, im))),
                  mul(v, f, add(v, mul(v, t.re, im), mul(v, t.im, re)))};
}

/* x u = u diag(w), the columns of u of norm 1: dx = the real part of u^-H (diag(gw) + (u^H gu - u^H
 * u diag(re(u^H gu))) / conj(w_j - w_i)) u^H. Source: the formula of PyTorch's linalg_eig_backward.
 * gw, gu: parts that are NULL are zeros. */
static gp_tensor *eig_back(gp_vjp *v, pair w, pair u, pair gw, const pair *gu) {
    pair uh = adjoint(v, u), d = {diagonal_matrix(v, gw.re), diagonal_matrix(v, gw.im)};
    if (gu) {
        pair t = times(v, uh, *gu);
        gp_tensor *along = row(v, DO(diagonal, "tiii", t.re, (int64_t)0, (int64_t)-2, (int64_t)-1));
        pair norm = times(v, uh, (pair){mul(v, u.re, along), mul(v, u.im, along)});
        t = over_complex_gaps(v, (pair){sub(v, t.re, norm.re), sub(v, t.im, norm.im)}, w, *gu);
        d = (pair){add(v, d.re, t.re), add(v, d.im, t.im)};
    }
    return divided(v, uh, times(v, d, uh)).re;
}

static bool eig(gp_vjp *v) {
    if (nothing(v)) return no_gradient(v);
    pair gw = {gp_g(v, 0), gp_g(v, 1)}, gu = {gp_g(v, 2), gp_g(v, 3)};
    v->dx[0] = eig_back(v, (pair){v->y[0], v->y[1]}, (pair){v->y[2], v->y[3]}, gw,
                        v->g[2] || v->g[3] ? &gu : NULL);
    return v->dx[0] != NULL;
}
const gp_rule vjp_linalg_eig = {eig, "y"};

static bool eigvals(gp_vjp *v) {
    gp_tensor *o[GP_MAX_OUT];
    if (!gp_do_all(v, o, GP_OP(linalg_eig), "t", v->x[0])) return false;
    pair gw = {gp_g(v, 0), gp_g(v, 1)};
    v->dx[0] = eig_back(v, (pair){o[0], o[1]}, (pair){o[2], o[3]}, gw, NULL);
    return v->dx[0] != NULL;
}
const gp_rule vjp_linalg_eigvals = {eigvals, "0"};

/* ---- singular values ---- */

static bool svdvals(gp_vjp *v) {
    gp_tensor *out[GP_MAX_OUT];
    if (!gp_do_all(v, out, GP_OP(linalg_svd), "tb", v->x[0], 0)) return false;
    return (v->dx[0] = mm(v, mul(v, out[0], row(v, v->g[0])), out[2])) != NULL;
}
const gp_rule vjp_linalg_svdvals = {svdvals, "0"};

static gp_tensor *skew(gp_vjp *v, gp_tensor *t) { return sub(v, t, gp_mT(v, t)); }

/* The first k columns of g, of vectors; the others span what is left of the space, in any basis:
 * *bad gets NaN for a matrix where their gradients are not 0, else 0. NULL if g is. */
static gp_tensor *determined(gp_vjp *v, gp_tensor *g, int64_t k, gp_tensor **bad) {
    const int64_t both[] = {-2, -1};
    if (!g || g->a.dim[g->a.ndim - 1] == k) return g;
    gp_tensor *rest = DO(any, "tvb", DO(ne, "tn", rest_of(v, g, -1, k), 0.0), both, 2, 1);
    gp_tensor *nan = DO(fill, "tn", DO(to, "t-d", rest, (int)g->a.dtype), (double)NAN);
    *bad = DO(where, "ttn", rest, nan, 0.0);
    return first_of(v, g, -1, k);
}

/* 1 / s, 0 for a zero whose vector, a column, has no gradient in g. */
static gp_tensor *over_values(gp_vjp *v, gp_tensor *s, gp_tensor *g) {
    gp_tensor *asked = DO(any, "tvb", DO(ne, "tn", g, 0.0), &(int64_t){-2}, 1, 0);
    return DO(where, "ttn", DO(logical_or, "tt", asked, DO(ne, "tn", s, 0.0)),
              DO(reciprocal, "t", s), 0.0);
}

/* What gradient g of u adds to that of x = u diag(s) w' for a u with more rows than columns: the
 * part of g / s outside its columns, times w'. */
static gp_tensor *outside(gp_vjp *v, gp_tensor *g, gp_tensor *u, gp_tensor *s, gp_tensor *wt) {
    gp_tensor *t = mul(v, g, row(v, over_values(v, s, g)));
    return mm(v, sub(v, t, mm(v, u, mm(v, gp_mT(v, u), t))), wt);
}

/* The factors of u's and v's part for pairs of singular values: s_j^2 - s_i^2 divides them. */
static gp_tensor *over_squares(gp_vjp *v, gp_tensor *s, gp_tensor *g, gp_tensor *gs) {
    gp_tensor *sum = add(v, row(v, s), column(v, s));
    sum = DO(masked_fill, "ttn", sum, DO(eq, "tn", sum, 0.0), 1.0);
    return DO(div, "tt", over_gaps(v, s, g, gs), sum);
}

/* x = u diag(s) vh, of full matrices the first columns of u and rows of vh. Source: the formula of
 * PyTorch's svd_backward, without its complex part. */
static bool svd(gp_vjp *v) {
    gp_tensor *s = v->y[1], *bad[2] = {NULL, NULL};
    if (s->a.numel == 0) return no_gradient(v);
    int64_t m = v->y[0]->a.dim[s->a.ndim - 1], n = v->y[2]->a.dim[s->a.ndim],
            k = s->a.dim[s->a.ndim - 1];
    gp_tensor *gu = determined(v, v->g[0], k, &bad[0]), *u = first_of(v, v->y[0], -1, k);
    gp_tensor *gw = determined(v, v->g[2] ? gp_mT(v, v->g[2]) : NULL, k, &bad[1]);
    gp_tensor *w = gp_mT(v, first_of(v, v->y[2], -2, k)), *wt = gp_mT(v, w);
    gp_tensor *d = v->g[1] ? diagonal_matrix(v, v->g[1]) : NULL, *a = NULL;
    if (gu) {
        a = mul(v, skew(v, mm(v, gp_mT(v, u), gu)), over_squares(v, s, gu, v->g[1]));
        a = mul(v, a, row(v, s)), d = d ? add(v, d, a) : a;
    }
    if (gw) {
        a = mul(v, skew(v, mm(v, wt, gw)), over_squares(v, s, gw, v->g[1]));
        a = mul(v, a, column(v, s)), d = d ? add(v, d, a) : a;
    }
    gp_tensor *r = mm(v, u, mm(v, d, wt));
    if (gu && m > k) r = add(v, r, outside(v, gu, u, s, wt));
    if (gw && n > k) r = add(v, r, gp_mT(v, outside(v, gw, w, s, gp_mT(v, u))));
    for (int i = 0; i < 2; i++)
        if (bad[i]) r = add(v, r, bad[i]);
    return (v->dx[0] = r) != NULL;
}
const gp_rule vjp_linalg_svd = {svd, "y"};
