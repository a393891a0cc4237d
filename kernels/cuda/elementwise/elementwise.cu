/* Elementwise ops of one operand: each row's formula as CUDA kernels. */
#include "kernels/cuda/elementwise/elementwise.cuh"

#define VARS const gp_num<T> x = u[0];
#define VARS_PAR                                                                                   \
    VARS const gp_num<T> p = par[0], q = par[1], r = par[2];                                       \
    (void)p, (void)q, (void)r;
#define UNARY1(t, T, n, y) GP_FORMULA(formula_##n##_##t, T, T, 1, VARS, y)
#define PARAM1(t, T, n, y) GP_FORMULA(formula_##n##_##t, T, T, 1, VARS_PAR, y)
#define PREDICATE1(t, T, n, y) GP_FORMULA(formula_##n##_##t, T, uint8_t, 1, VARS, y)
#define UNARY(n, ty, y, ...) EACH_##ty(UNARY1, n, y)
#define PARAM(n, ty, sig, y, ...) EACH_##ty(PARAM1, n, y)
#define PREDICATE(n, ty, y, ...) EACH_##ty(PREDICATE1, n, y)
#include "tensor/ops/table/ops.def"

#define KERNEL(n, ty)                                                                              \
    GP_C bool CUDA(n)(const gp_call *c) {                                                          \
        return gp_run_row<EACH_##ty(GP_LISTED, n) gp_no_formula>(c, nullptr);                      \
    }
#define UNARY(n, ty, ...) KERNEL(n, ty)
#define PARAM(n, ty, ...) KERNEL(n, ty)
#define PREDICATE(n, ty, ...) KERNEL(n, ty)
#include "tensor/ops/table/ops.def"
