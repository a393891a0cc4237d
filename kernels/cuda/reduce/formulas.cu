/* Reductions of the table: each row's combine formula. */
#include "kernels/cuda/reduce/formulas.cuh"

#define FLOAT(M, ...) M(f32, float, __VA_ARGS__) M(f64, double, __VA_ARGS__)
#define EACH_FLOATS FLOAT
#define EACH_ALL(M, ...)                                                                           \
    FLOAT(M, __VA_ARGS__) M(i64, int64_t, __VA_ARGS__) M(i32, int32_t, __VA_ARGS__)
#define EACH_SUM EACH_ALL
#define EACH_TEST EACH_ALL
#define REDUCE(n, ty, start, combine, finish, ...) EACH_##ty(FORMULAS, n, start, combine, finish)
#include "tensor/ops/table/ops.def"

#define CASE(t, T, name)                                                                           \
    case GP_##t:                                                                                   \
        return gp_reduce<by_formulas<formulas_##name##_##t>>(c, 1, 0);
#define REDUCE(n, ty, ...)                                                                         \
    GP_C bool CUDA(n)(const gp_call *c) {                                                          \
        switch (gp_compute_dtype((gp_dtype)c->compute)) {                                          \
            EACH_##ty(CASE, n) default : return gp_fail("%s: no such dtype on CUDA", #n);          \
        }                                                                                          \
    }
#include "tensor/ops/table/ops.def"
