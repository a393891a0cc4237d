/* What gradients of linear algebra share besides tensor/autograd/compose.h: parts and forms of
 * matrices. */
#ifndef GP_LINALG_H
#define GP_LINALG_H

#include "tensor/autograd/compose.h"

/* Matrices of zeros with t as their diagonal. */
static inline gp_tensor *diagonal_matrix(gp_vjp *v, gp_tensor *t) {
    return DO(diag_embed, "tiii", t, (int64_t)0, (int64_t)-2, (int64_t)-1);
}

/* The mean of t and its transpose. */
static inline gp_tensor *symmetric(gp_vjp *v, gp_tensor *t) {
    return DO(mul, "tn", add(v, t, gp_mT(v, t)), 0.5);
}

/* Elements 1 … n along dim, which counts from the end (-1 is the last); and those after them. */
static inline gp_tensor *first_of(gp_vjp *v, gp_tensor *t, int64_t dim, int64_t n) {
    return DO(narrow, "tiii", t, dim, (int64_t)1, n);
}
static inline gp_tensor *rest_of(gp_vjp *v, gp_tensor *t, int64_t dim, int64_t n) {
    return DO(narrow, "tiii", t, dim, n + 1, t->a.dim[t->a.ndim + dim] - n);
}

#endif
