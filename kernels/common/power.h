/* Powers by a number of which a simpler function is the power (square, root …), on the CPU and CUDA
 * alike. */
#ifndef GP_POWER_H
#define GP_POWER_H

#include "tensor/op.h"

typedef enum gp_power {
    GP_POWER_ANY,
    GP_POWER_SQUARE,
    GP_POWER_CUBE,
    GP_POWER_SQRT,
    GP_POWER_RSQRT,
    GP_POWER_RECIPROCAL
} gp_power;

/* The power that the call c, or the op whose gradient it is, takes, as PyTorch has it: roots keep
 * the sign of -0 and are NaN of -inf, where C's pow is 0 and inf. GP_POWER_ANY where c's row is no
 * power, or its exponent no such number. */
static inline gp_power gp_power_of(const gp_call *c) {
    bool derived = c->op->kind == GP_GRAD; /* its operands begin with g */
    int power = derived ? gp_ops[c->op->of].exponent : c->op->exponent, at = power + derived;
    const gp_value *by = &c->arg[at];
    if (!power || by->kind != GP_NUMBER || c->arg[at - 1].kind != GP_TENSOR) return GP_POWER_ANY;
    double e = by->is_float ? by->f : (double)by->i;
    if (e == 2) return GP_POWER_SQUARE;
    if (!gp_is_float((gp_dtype)c->compute)) return GP_POWER_ANY;
    return e == 3      ? GP_POWER_CUBE
           : e == 0.5  ? GP_POWER_SQRT
           : e == -0.5 ? GP_POWER_RSQRT
           : e == -1   ? GP_POWER_RECIPROCAL
                       : GP_POWER_ANY;
}

#endif
