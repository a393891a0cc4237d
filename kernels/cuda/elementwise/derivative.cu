/* The derivatives of elementwise ops and reductions: each formula of the table's derivative columns
 * as CUDA kernels, run by the driver of elementwise.cuh. */
#include "kernels/cuda/elementwise/elementwise.cuh"

/* Without commas: these are arguments of macros. */
#define V(name, from) [[maybe_unused]] const gp_num<T> name = from;
#define PQR V(p, par[0]) V(q, par[1]) V(r, par[2])
#define VARS_X V(g, u[0]) V(x, u[1]) V(y, u[2])
#define VARS_AB V(g, u[0]) V(a, u[1]) V(b, u[2]) V(y, u[3])
#define VARS_ABC V(g, u[0]) V(a, u[1]) V(b, u[2]) V(c, u[3]) V(y, u[4])
#define VARS_M V(g, u[0]) V(x, u[1]) V(y, u[2]) V(m, u[3]) V(o, u[4]) V(n, p)

#define FORMULA(t, T, name, nin, vars, formula)                                                    \
    GP_FORMULA(formula_##name##_##t, T, T, nin, PQR vars, formula)
/* Integers and bools are never differentiated. */
#define FLOATS(M, ...) EACH_FLOAT(M, __VA_ARGS__)
#define GRAD_FLOAT FLOATS
#define GRAD_FLOATS FLOATS
#define GRAD_REAL FLOATS
#define GRAD_ALL FLOATS
#define GRAD_SUM FLOATS
#define GRAD_INTS(...)
#define GRAD_WHOLE(...)
#define GRAD_TEST(...)

#define GRAD_ROW(name, ty, nin, vars, formula, ...) GRAD_##ty(FORMULA, name, nin, vars, formula)
#include "tensor/autograd/grad_rows.h"

#define GRAD_ROW(name, ty, nin, vars, formula, ...)                                                \
    GP_C bool CUDA(name)(const gp_call *c) {                                                       \
        return gp_run_row<GRAD_##ty(GP_LISTED, name) gp_no_formula>(c, nullptr);                   \
    }
#include "tensor/autograd/grad_rows.h"
