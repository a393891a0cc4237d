/* Elementwise ops of two and three operands: each row's formula as CUDA kernels. */
#include "kernels/cuda/elementwise/elementwise.cuh"
#include "kernels/common/power.h"

#define AB const gp_num<T> a = u[0], b = u[1];
#define ABC const gp_num<T> a = u[0], b = u[1], c = u[2];
#define ABC_PAR                                                                                    \
    ABC const gp_num<T> p = par[0], q = par[1], r = par[2];                                        \
    (void)p, (void)q, (void)r;
/* Whether the formula, its macros expanded, records faults: integer formulas and bce do. */
constexpr bool notes_faults(const char *text) {
    for (; *text; text++)
        if (text[0] == 'f' && text[1] == 'a' && text[2] == 'u' && text[3] == 'l' && text[4] == 't')
            return true;
    return false;
}
#define BINARY1(t, T, n, y) GP_FORMULA(formula_##n##_##t, T, T, 2, AB, y)
#define COMPARE1(t, T, n, y) GP_FORMULA(formula_##n##_##t, T, uint8_t, 2, AB, y)
#define TERNARY1(t, T, n, y) GP_FORMULA(formula_##n##_##t, T, T, 3, ABC, y)
#define PARAM31(t, T, n, y) GP_FORMULA(formula_##n##_##t, T, T, 3, ABC_PAR, y)
#define BINARY(n, ty, y, ...) EACH_##ty(BINARY1, n, y)
#define COMPARE(n, ty, y, ...) EACH_##ty(COMPARE1, n, y)
#define TERNARY(n, ty, y, ...) EACH_##ty(TERNARY1, n, y)
#define PARAM3(n, ty, sig, y, ...) EACH_##ty(PARAM31, n, y)
#include "tensor/ops/ops.def"

/* Runs a power with a special exponent; nullptr: c is not one. */
typedef bool kernel_of(const gp_call *);
GP_C bool CUDA(square)(const gp_call *c);
GP_C bool CUDA(sqrt)(const gp_call *c);
GP_C bool CUDA(rsqrt)(const gp_call *c);
GP_C bool CUDA(reciprocal)(const gp_call *c);
static kernel_of *power_as(const gp_call *c) {
    const gp_op *as = gp_power_as(c);
    return !as                   ? nullptr
           : as == GP_OP(square) ? CUDA(square)
           : as == GP_OP(sqrt)   ? CUDA(sqrt)
           : as == GP_OP(rsqrt)  ? CUDA(rsqrt)
                                 : CUDA(reciprocal);
}

/* clang-format off */
#define KERNEL(n, ty, text)                                                                        \
    GP_C bool CUDA(n)(const gp_call *c) {                                                          \
        if (kernel_of *as = power_as(c)) return as(c);                                             \
        static const char *const faults[] = {                                                      \
            #n ": integer division by zero",                                                       \
            #n ": an integer raised to a negative integer; convert to a float dtype first",        \
            #n ": a probability is not between 0 and 1"};                                          \
        const char *const *texts = notes_faults(text) ? faults : nullptr;                          \
        switch (gp_compute_dtype((gp_dtype)c->compute)) {                                          \
            EACH_##ty(GP_CASE, n, texts)                                                           \
        default: return gp_fail("%s: no such dtype on CUDA", #n);                                  \
        }                                                                                          \
    }
/* clang-format on */
#define TEXT(...) TEXT_(__VA_ARGS__)
#define TEXT_(...) #__VA_ARGS__
#define BINARY(n, ty, y, ...) KERNEL(n, ty, TEXT(y))
#define COMPARE(n, ty, y, ...) KERNEL(n, ty, TEXT(y))
#define TERNARY(n, ty, y, ...) KERNEL(n, ty, TEXT(y))
#define PARAM3(n, ty, sig, y, ...) KERNEL(n, ty, TEXT(y))
#include "tensor/ops/ops.def"
