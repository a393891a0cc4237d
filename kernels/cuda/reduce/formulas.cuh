/* Reductions by the formulas of a row, compiled with the plug-in or later, with a program. */
#ifndef GP_CUDA_FORMULAS_CUH
#define GP_CUDA_FORMULAS_CUH

#include "kernels/cuda/elementwise/math.cuh"
#include "kernels/cuda/reduce/reduce.cuh"

/* A row's initial value; lowest and highest are clamped to the type's range. */
#define lowest (-INFINITY)
#define highest INFINITY
template <class T> __device__ static inline T cut(double v) { return (T)v; }
template <> __device__ inline int32_t cut<int32_t>(double v) {
    return v == INFINITY ? INT32_MAX : v == -INFINITY ? INT32_MIN : (int32_t)v;
}
template <> __device__ inline int64_t cut<int64_t>(double v) {
    return v == INFINITY ? INT64_MAX : v == -INFINITY ? INT64_MIN : (int64_t)v;
}

/* A row's formulas, of acc and x, and of acc and n, the number of elements. */
#define FORMULAS(t, Type, name, from, combine, last)                                               \
    struct formulas_##name##_##t {                                                                 \
        typedef Type T;                                                                            \
        typedef gp_num<T> num;                                                                     \
        __device__ static inline double first() { return from; }                                   \
        __device__ static inline num step(num acc, num x) { return (combine); }                    \
        __device__ static inline num result([[maybe_unused]] num acc, [[maybe_unused]] num n) {    \
            return (last);                                                                         \
        }                                                                                          \
    };

/* The reduction by a row's formulas F. Partial results are combined as elements are. */
template <class F> struct by_formulas {
    typedef typename F::T T;
    typedef T Acc;
    enum { LEAN = std::is_same<T, int32_t>::value };
    __device__ static inline void start(T &a) { a = cut<T>(F::first()); }
    __device__ static inline void fold(T &a, T x, double = 0, int64_t = 0) { a = F::step(a, x).v; }
    __device__ static inline void join(T &a, T b) { fold(a, b); }
    __device__ static inline void finish(T a, double count, double, int, char *p, gp_dtype dt) {
        gp_store_as<T>(p, dt, F::result(a, count).v);
    }
};

#endif
