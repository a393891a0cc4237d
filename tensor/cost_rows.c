/* What ops without a formula cost: the functions that their rows name, which cost.h describes. */
#include <math.h>
#include <string.h>

#include "tensor/device/card/model.h"
#include "tensor/cost.h"
#include "tensor/ops/attention.h"
#include "tensor/ops/finite.h"
#include "tensor/ops/rnn/rnn.h"

static double numel(const gp_array *a) { return (double)a->numel; }

/* Tensor argument i; -1: the result. NULL: it was not given, or is no tensor. */
static const gp_array *array(const gp_call *c, int i) {
    if (i < 0) return c->nout ? c->outa[0] : NULL;
    return i < c->nargs && c->arg[i].kind == GP_TENSOR ? c->arg[i].a : NULL;
}

static int64_t last_dim(const gp_array *a) { return a->ndim ? a->dim[a->ndim - 1] : 1; }

/* ---- element by element ---- */

void gp_cost_nothing(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    (void)c, (void)rule;
    cost->bytes = 0;
    cost->passes = 0;
}

void gp_cost_launched(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    (void)rule;
    double counted = gp_model_least(c->id);
    cost->bytes = counted;
    for (int i = 1; i <= 2 && counted == 0; i++)
        for (int k = 0; k < c->arg[i].n; k++) cost->bytes += gp_cost_bytes(c->arg[i].arrays[k]);
}

/* Elements of tensor number `which` among the arguments, 0 where there are fewer. */
static double elements(const gp_call *c, int which) {
    for (int i = 0; i < c->nargs; i++)
        if (c->arg[i].kind == GP_TENSOR && which-- == 0) return numel(c->arg[i].a);
    return 0;
}

void gp_cost_moves(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    cost->ops = rule->a * elements(c, 0) + (c->nout ? rule->b * numel(c->outa[0]) : 0);
}

void gp_cost_makes(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    cost->ops = rule->a * elements(c, 1) + (c->nout ? rule->b * numel(c->outa[0]) : 0);
}

void gp_cost_lists(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    for (int k = 0; k < c->arg[0].n; k++) cost->ops += rule->a * numel(c->arg[0].arrays[k]);
    if (c->arg[0].n) cost->dtype = c->arg[0].arrays[0]->dtype;
}

/* Rows that fit in a card's registers or shared memory are read once; others, and columns, are of a
 * family of their own. The dim is argument a, counted from 1. */
void gp_cost_along(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    const gp_array *x = c->arg[0].a;
    int64_t dim = c->arg[(int)rule->a].i;
    gp_cost_moves(c, &(gp_cost_rule){.a = rule->b}, cost);
    if (x->ndim && (dim != x->ndim || last_dim(x) > 131072)) cost->family = GP_FAMILY_softmax_far;
}

/* The operands are read only where an element is not finite. */
void gp_cost_checks(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    cost->bytes = 0;
    for (int k = 0, n = gp_check_count(c); k < n; k++) {
        const gp_array *x = gp_check_array(c, GP_CHECK_X, k);
        cost->bytes += gp_cost_bytes(x);
        cost->ops += rule->a * numel(x);
        cost->dtype = x->dtype;
    }
}

/* ---- products, convolutions, pooling ---- */

/* An inner product for each element of the result. */
void gp_cost_product(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    const gp_array *a = array(c, (int)rule->a);
    cost->ops = 2 * numel(c->outa[0]) * (double)last_dim(a);
    cost->dtype = a->dtype;
    cost->unit = GP_UNIT_MATRIX;
}

/* For each element of the slid-over tensor, what the weight has for one of its own channels. */
void gp_cost_conv(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    const gp_array *over = array(c, (int)rule->a), *weight = array(c, (int)rule->b);
    double channels = (double)weight->dim[0];
    cost->ops = channels > 0 ? 2 * numel(over) * (numel(weight) / channels) : 0;
    cost->unit = GP_UNIT_MATRIX;
}

/* Elements of a window whose sizes are integer argument i: one for all of `rank` dims, or each. */
static double window(const gp_call *c, int i, int rank) {
    double size = 1;
    int n;
    const int64_t *v = gp_ints(c, i, &n);
    for (int d = 0; d < rank; d++) size *= (double)v[n == 1 ? 0 : d];
    return size;
}

void gp_cost_windows(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    cost->ops = numel(c->outa[0]) * window(c, (int)rule->a, (int)rule->b);
}

void gp_cost_windows_grad(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    cost->ops = numel(c->arg[0].a) * window(c, (int)rule->a, (int)rule->b);
}

/* a: 1 for the gradient, whose argument is the smaller or larger image. Linear: a product and a sum
 * with each of two neighbours in each dim. */
void gp_cost_resampled(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    const gp_array *fine = rule->a ? c->arg[0].a : c->outa[0];
    const char *mode = c->arg[3].s;
    if (!strncmp(mode, "nearest", 7)) cost->ops = rule->a ? numel(fine) : 0;
    else cost->ops = 2 * ldexp(1, fine->ndim - 2) * numel(fine);
}

/* ---- attention, recurrent layers ---- */

/* Pairs of a query and a key that it sees. */
static double pairs(const gp_attention *a) {
    double l = (double)a->l, s = (double)a->s;
    if (!a->causal) return l * s;
    double first = l < s ? l : s; /* query i sees i keys, at most all */
    return first * (first + 1) / 2 + (l > s ? (l - s) * s : 0);
}

void gp_cost_attention(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    gp_attention a;
    gp_attention_read(c, &a);
    cost->ops = 2 * (double)a.batch * (double)a.heads * pairs(&a) *
                (rule->a * (double)a.size + rule->b * (double)a.width);
    cost->unit = GP_UNIT_MATRIX;
}

/* Each time step needs the one before it. */
void gp_cost_layers(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    gp_rnn r;
    gp_rnn_read(c, c->arg[GP_RNN_X].a, c->arg[GP_RNN_WEIGHTS].arrays[1], &r);
    double hidden = (double)r.hidden,
           rows = (double)(r.steps * r.batch) * r.dirs * r.gates * hidden;
    for (int layer = 0; layer < r.layers; layer++) {
        double inputs = layer ? hidden * r.dirs : (double)r.input;
        cost->ops += 2 * rows * (inputs + hidden);
    }
    cost->ops *= rule->a;
    int wanted = gp_rnn_grad_x(&r);
    if (c->nargs > wanted && !c->arg[wanted].i) cost->ops -= 2 * rows * (double)r.input;
    cost->unit = GP_UNIT_MATRIX;
    cost->passes = (uint32_t)(r.steps * r.layers);
}

/* ---- places ---- */

/* The source is read only where it is taken: as often as the result has elements. Of a loss per
 * element, as often as there are targets. */
void gp_cost_picked(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    const gp_array *x = array(c, (int)rule->a), *taken = c->outa[0];
    if (rule->b) taken = c->arg[1].a;
    double bytes = numel(taken) * (double)gp_dtype_size((gp_dtype)x->dtype);
    double all = gp_cost_bytes(x);
    if (bytes < all) cost->bytes += bytes - all;
    cost->ops = rule->b * numel(taken);
    cost->dtype = x->dtype;
}

/* Elements of argument i: of a tensor, or of the largest of a list. */
static double batch_elements(const gp_call *c, int i) {
    if (i >= c->nargs) return 0;
    const gp_value *v = &c->arg[i];
    double n = v->kind == GP_TENSOR ? numel(v->a) : 0;
    for (int k = 0; v->kind == GP_LIST && k < v->n; k++) n = fmax(n, numel(v->arrays[k]));
    return n;
}

/* In place only the places are written; else x is copied first. */
void gp_cost_written(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    const gp_array *x = c->arg[0].a;
    double n = fmax(batch_elements(c, (int)rule->a), batch_elements(c, (int)rule->b));
    double size = (double)gp_dtype_size((gp_dtype)x->dtype);
    if (c->into) cost->bytes -= gp_cost_bytes(x) + gp_cost_bytes(c->outa[0]);
    cost->bytes += 2 * n * size;
    cost->ops = n;
}

/* ---- order ---- */

/* Elements that are sorted together: along argument 1, a dim counted from 1; along the first dim
 * where the op has no argument; else all. */
static double sorted_line(const gp_call *c, const gp_array *x) {
    if (!x->ndim) return 1;
    if (c->nargs == 1) return (double)x->dim[0];
    bool along = c->arg[1].kind == GP_INT && c->arg[1].i >= 1 && c->arg[1].i <= x->ndim;
    return along ? (double)x->dim[c->arg[1].i - 1] : numel(x);
}

/* A radix sort of digits of 8 bits reads and writes keys and their indices once for each digit.
 * Source: Adinets and Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs",
 * 2022. Operations are the comparisons of a sort. */
void gp_cost_sorted(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    const gp_array *x = c->arg[0].a;
    double n = numel(x), line = sorted_line(c, x);
    double digits = rule->a * (double)gp_dtype_size((gp_dtype)x->dtype);
    cost->bytes += (digits - 1) * 2 * n * (double)(gp_dtype_size((gp_dtype)x->dtype) + 8);
    cost->ops = line > 1 ? n * log2(line) : 0;
    cost->passes = (uint32_t)digits;
}

void gp_cost_selected(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    const gp_array *x = c->arg[0].a;
    double digits = rule->a * (double)gp_dtype_size((gp_dtype)x->dtype);
    cost->bytes += (digits - 1) * gp_cost_bytes(x);
    cost->ops = digits * numel(x);
    cost->passes = (uint32_t)digits;
}

/* A binary search of argument a's last dim for each element of b. */
void gp_cost_searched(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    const gp_array *line = array(c, (int)rule->a);
    double n = line ? (double)last_dim(line) : 1;
    cost->ops = numel(c->outa[0]) * ceil(log2(n + 1));
}

/* ---- matrices ---- */

/* Operations for one m x n matrix, k right-hand sides. Source: Golub and Van Loan, "Matrix
 * Computations", 4th edition: LU 3.2, Cholesky 4.2, QR 5.2, eigenvalues 7.5 and 8.3, singular
 * values 8.6 (Golub and Reinsch). */
static double matrix_ops(gp_factorization how, double m, double n, double k) {
    double few = fmin(m, n), many = fmax(m, n);
    double qr = 2 * many * few * few - 2 * few * few * few / 3;
    switch (how) {
    case GP_LU: return many * few * few - few * few * few / 3;
    case GP_SOLVE: return 2 * n * n * n / 3 + 2 * n * n * k;
    case GP_INVERSE: return 2 * n * n * n;
    case GP_CHOLESKY: return n * n * n / 3;
    case GP_TRIANGULAR: return n * n * k;
    case GP_QR: return 2 * qr;
    case GP_LSTSQ: return qr + 4 * m * n * k;
    case GP_EIGH: return 9 * n * n * n;
    case GP_EIGVALSH: return 4 * n * n * n / 3;
    case GP_EIG: return 25 * n * n * n;
    case GP_EIGVALS: return 10 * n * n * n;
    case GP_SVD: return 14 * many * few * few + 8 * few * few * few;
    case GP_SVDVALS: return 4 * many * few * few - 4 * few * few * few / 3;
    }
    return 0;
}

/* Columns that must be done one after the other: each needs a pass over what is left, and what
 * brings a matrix to two diagonals, or to Hessenberg form, needs two. */
static double columns(gp_factorization how, double m, double n) {
    double few = fmin(m, n);
    switch (how) {
    case GP_INVERSE:
    case GP_EIGH:
    case GP_EIGVALSH:
    case GP_SVD:
    case GP_SVDVALS: return 2 * few;
    case GP_EIG:
    case GP_EIGVALS: return 4 * few;
    default: return few;
    }
}

/* Right-hand sides of argument 1, where the method has any: one where it has a dim less. */
static double right_sides(const gp_call *c, gp_factorization how, const gp_array *a) {
    bool has = how == GP_SOLVE || how == GP_TRIANGULAR || how == GP_LSTSQ;
    const gp_array *b = has ? array(c, 1) : NULL;
    double each = numel(a) / (double)(a->dim[a->ndim - 1] * a->dim[a->ndim - 2]);
    return b && each > 0 ? numel(b) / each / (double)a->dim[a->ndim - 2] : 0;
}

enum { SMALL = 32 }; /* rows and columns of a matrix that a warp holds */

/* The family of many small matrices. */
static uint8_t small(uint8_t family) {
    switch ((gp_family)family) {
    case GP_FAMILY_qr: return GP_FAMILY_qr_small;
    case GP_FAMILY_solve: return GP_FAMILY_solve_small;
    case GP_FAMILY_eigh: return GP_FAMILY_eigh_small;
    default: return family;
    }
}

void gp_cost_matrices(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    const gp_array *x = array(c, (int)rule->a);
    gp_factorization how = (gp_factorization)rule->b;
    if (!x->numel) return;
    double m = (double)x->dim[x->ndim - 2], n = (double)x->dim[x->ndim - 1];
    double k = right_sides(c, how, x);
    cost->ops = numel(x) / (m * n) * matrix_ops(how, m, n, k);
    cost->passes = (uint32_t)columns(how, m, n);
    if (m <= SMALL && n <= SMALL && x->ndim > 2 && x->dim[0] > 1)
        cost->family = small(cost->family);
}

/* 5 n log2 n for n complex points, half of it for real ones. Source: Frigo and Johnson, "The Design
 * and Implementation of FFTW3", 2005. */
void gp_cost_fourier(const gp_call *c, const gp_cost_rule *rule, gp_cost *cost) {
    const gp_array *y = c->outa[0];
    double n = (double)c->arg[1].i;
    bool half = rule->a != 0;
    double points = half ? floor(n / 2) + 1 : n;
    double lines = numel(y) / (rule->b ? 2 * points : n);
    cost->ops = n > 1 ? (half ? 2.5 : 5) * n * log2(n) * lines : 0;
}
