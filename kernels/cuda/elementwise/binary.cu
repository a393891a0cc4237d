/* Elementwise ops of two and three operands: each row's formula as CUDA kernels. */
#include "kernels/cuda/elementwise/elementwise.cuh"
#include "kernels/cuda/elementwise/launch_add.h"
#include "kernels/common/power.h"

#define AB const gp_num<T> a = u[0], b = u[1];
#define ABC const gp_num<T> a = u[0], b = u[1], c = u[2];
#define ABC_PAR                                                                                    \
    ABC const gp_num<T> p = par[0], q = par[1], r = par[2];                                        \
    (void)p, (void)q, (void)r;
#define BINARY1(t, T, n, y) GP_FORMULA(formula_##n##_##t, T, T, 2, AB, y)
#define COMPARE1(t, T, n, y) GP_FORMULA(formula_##n##_##t, T, uint8_t, 2, AB, y)
#define TERNARY1(t, T, n, y) GP_FORMULA(formula_##n##_##t, T, T, 3, ABC, y)
#define PARAM31(t, T, n, y) GP_FORMULA(formula_##n##_##t, T, T, 3, ABC_PAR, y)
#define BINARY(n, ty, y, ...) EACH_##ty(BINARY1, n, y)
#define COMPARE(n, ty, y, ...) EACH_##ty(COMPARE1, n, y)
#define TERNARY(n, ty, y, ...) EACH_##ty(TERNARY1, n, y)
#define PARAM3(n, ty, sig, y, ...) EACH_##ty(PARAM31, n, y)
#include "tensor/ops/table/ops.def"

typedef bool kernel_of(const gp_call *);
GP_C bool CUDA(square)(const gp_call *c);
GP_C bool CUDA(sqrt)(const gp_call *c);
GP_C bool CUDA(rsqrt)(const gp_call *c);
GP_C bool CUDA(reciprocal)(const gp_call *c);
/* The kernel of a power with a special exponent; nullptr: c is not one. */
static kernel_of *power_as(const gp_call *c) {
    switch (gp_power_of(c)) {
    case GP_POWER_SQUARE: return CUDA(square);
    case GP_POWER_SQRT: return CUDA(sqrt);
    case GP_POWER_RSQRT: return CUDA(rsqrt);
    case GP_POWER_RECIPROCAL: return CUDA(reciprocal);
    default: return nullptr;
    }
}

template <class... F> static bool run_types(const gp_call *c, const char *const *faults) {
    kernel_of *power = power_as(c);
    return power ? power(c) : gp_run_row<F...>(c, faults);
}

/* The messages of a row's faults, in the order of gp_fault_kind. */
#define KERNEL(n, ty)                                                                              \
    static const char *const faults_##n[] = {                                                      \
        #n ": integer division by zero",                                                           \
        #n ": an integer raised to a negative integer; convert to a float dtype first",            \
        #n ": a probability is not between 0 and 1"};                                              \
    GP_C bool CUDA(n)(const gp_call *c) {                                                          \
        return run_types<EACH_##ty(GP_LISTED, n) gp_no_formula>(c, faults_##n);                    \
    }
#define BINARY(n, ty, ...) KERNEL(n, ty)
#define COMPARE(n, ty, ...) KERNEL(n, ty)
#define TERNARY(n, ty, ...) KERNEL(n, ty)
#define PARAM3(n, ty, ...) KERNEL(n, ty)
#include "tensor/ops/table/ops.def"

bool gp_cuda_launch_add(const gp_call *c) {
    gp_loop<3> none = {};
    gp_args_of<formula_add_f32> args = {};
    auto kernel = gp_vector_kernel<formula_add_f32, float, 4, gp_vectors_each(2, 4)>;
    return GP_LAUNCH(c, kernel, 1, GP_THREADS, 0, none, args);
}
