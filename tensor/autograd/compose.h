/* What gradients of several families are composed of: arithmetic in one word each, and gradients
 * scattered to indexed elements, or to those that equal a result. As in grad.h, results are
 * borrowed until the step is done, and NULL with a message where an operand is NULL or fails. */
#ifndef GP_COMPOSE_H
#define GP_COMPOSE_H

#include "tensor/autograd/grad.h"

static inline gp_tensor *add(gp_vjp *v, gp_tensor *a, gp_tensor *b) { return DO(add, "tt", a, b); }
static inline gp_tensor *sub(gp_vjp *v, gp_tensor *a, gp_tensor *b) { return DO(sub, "tt", a, b); }
static inline gp_tensor *mul(gp_vjp *v, gp_tensor *a, gp_tensor *b) { return DO(mul, "tt", a, b); }
static inline gp_tensor *neg(gp_vjp *v, gp_tensor *t) { return DO(neg, "t", t); }
static inline gp_tensor *mm(gp_vjp *v, gp_tensor *a, gp_tensor *b) {
    return DO(matmul, "tt", a, b);
}
/* t with a last dim of size 1, or a dim of size 1 before the last. */
static inline gp_tensor *column(gp_vjp *v, gp_tensor *t) {
    return DO(unsqueeze, "ti", t, (int64_t)-1);
}
static inline gp_tensor *row(gp_vjp *v, gp_tensor *t) {
    return DO(unsqueeze, "ti", t, (int64_t)-2);
}

/* t, of one dim, reshaped so that it is dim `dim` (from 1) of ndim. */
gp_tensor *gp_along(gp_vjp *v, gp_tensor *t, int dim, int ndim);

/* z, zeros that nobody else holds, plus g at the elements that the index tensors name (one tensor
 * for each of dims; NULL: the first dims). In place, unless that is to be differentiated. */
gp_tensor *gp_add_at(gp_vjp *v, gp_tensor *z, gp_tensor **index, int n, gp_tensor *g,
                     const int64_t *dims, int ndims);
/* Zeros of shape s with g added at index along dim (0-based). */
gp_tensor *gp_scatter_onto(gp_vjp *v, const gp_shape *s, gp_tensor *index, int dim, gp_tensor *g);
/* The same in the shape of input 0; any of them may have no dims. */
gp_tensor *gp_scatter_back(gp_vjp *v, gp_tensor *index, int dim, gp_tensor *g);

/* g, the gradient of y, shared among the elements of input 0 that equal y (NaNs equal NaN). y is
 * one of all elements or, with dim >= 0, one along that dim. */
gp_tensor *gp_among_equals(gp_vjp *v, gp_tensor *y, gp_tensor *g, int64_t dim);

/* For each element of x the product of the others over mask's dims: without a division, so that
 * zeros are right. */
gp_tensor *gp_others(gp_vjp *v, gp_tensor *x, uint64_t mask);
/* Whether the gradient of a product y may be computed as g y / x: in one pass, where nothing is
 * recorded, and reading y is no wait. */
bool gp_may_divide(const gp_tensor *y);
/* g y. NULL without a message where zeros or numbers outside the dtype's normal range (0 times an
 * infinity …) forbid the division: then gp_others serves. Reads y and g y. */
gp_tensor *gp_dividend(gp_vjp *v, gp_tensor *y, gp_tensor *g);

/* These set dx[0]; false with a message. For an op whose one result is one of all elements: shared
 * among those that equal it. */
bool gp_grad_to_equals(gp_vjp *v);
/* For an op that gives values and their indices along the dim in argument a (absent: the last). */
bool gp_grad_to_indices(gp_vjp *v, int a);
/* For a reduction that gives values and their indices along the dim in argument a; argument b is
 * its keepdim. */
bool gp_grad_to_chosen(gp_vjp *v, int a, int b);

#endif
