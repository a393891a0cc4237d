/* check_finite, which looks for NaN and infinities: its arguments, and what it says of them. */
#ifndef GP_FINITE_H
#define GP_FINITE_H

#include "tensor/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/* nan.watch gives lists of one length for x and the operands that are given, too. */
enum {
    GP_CHECK_X,
    GP_CHECK_OPERANDS, /* GP_CHECK_MOST operands of the op whose result x is; each may be absent */
    GP_CHECK_MOST = 3,
    GP_CHECK_OP = GP_CHECK_OPERANDS + GP_CHECK_MOST, /* its name */
    GP_CHECK_STEP,                                   /* the forward op in whose backward it ran */
    GP_CHECK_MODULE,                                 /* the path of the module that called that */
    GP_CHECK_NUMBER /* whether a number among its arguments is not finite */
};

/* How many tensors c checks, and argument i of tensor k's check, x or an operand; NULL: it is
 * absent. */
static inline int gp_check_count(const gp_call *c) {
    return c->arg[GP_CHECK_X].kind == GP_LIST ? c->arg[GP_CHECK_X].n : 1;
}
static inline const gp_array *gp_check_array(const gp_call *c, int i, int k) {
    const gp_value *v = &c->arg[i];
    return v->kind == GP_LIST ? v->arrays[k] : v->kind == GP_TENSOR ? v->a : NULL;
}

/* The messages of c, a call of check_finite, for tensor k, with two %lld for the numbers of NaN and
 * of infinite elements: the first where all operands are finite, k + 1 where the k-th operand is
 * the first that is not, the last, GP_CHECK_MOST + 1, where only a number is not. Interned, and so
 * is the array. NULL with a message without memory. */
const char *const *gp_finite_texts(const gp_call *c, int k);
/* Whether a failure's text is such a message of nan.watch's. */
bool gp_finite_watched(const char *text);

#ifdef __cplusplus
}
#endif

#endif
