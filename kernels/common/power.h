/* Powers with a special exponent (square, root …) run as other ops, on the CPU and CUDA alike. */
#ifndef GP_POWER_H
#define GP_POWER_H

#include "tensor/op.h"

/* The op of one operand that gives the pow of call c, as PyTorch has it: roots keep the sign of -0
 * and are NaN of -inf, where C's pow is 0 and inf. NULL where c is not a pow with such an exponent.
 */
static inline const gp_op *gp_power_as(const gp_call *c) {
    const gp_value *by = &c->arg[1];
    if (c->op != GP_OP(pow) || by->kind != GP_NUMBER || c->arg[0].kind != GP_TENSOR) return NULL;
    double e = by->is_float ? by->f : (double)by->i;
    if (e == 2) return GP_OP(square);
    if (!gp_is_float((gp_dtype)c->compute)) return NULL;
    return e == 0.5 ? GP_OP(sqrt) : e == -0.5 ? GP_OP(rsqrt) : e == -1 ? GP_OP(reciprocal) : NULL;
}

#endif
