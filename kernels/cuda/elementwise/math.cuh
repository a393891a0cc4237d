/* The functions that formulas in ops.def may use, on a CUDA device, with the names of those in
 * kernels/cpu/elementwise/math.h. A formula's variables are gp_num, so that 0.5 in it is a float
 * where they are: in f64, as in C, it would run at a fraction of the speed. */
#ifndef GP_CUDA_MATH_CUH
#define GP_CUDA_MATH_CUH

/* clang-format does not understand lists of macros that stand for declarations. */
/* clang-format off */

#include <type_traits>

#include "kernels/cuda/runtime/kernel.h"

#define GP_FN __device__ static inline
#define FAULT(code) (fault |= (code))
#define FAULT_TO , int &fault
#include "kernels/common/integer.h"
#include "kernels/common/special.h"
#include "kernels/common/bessel.h"
#include "kernels/common/erfcx.h"
#include "kernels/common/gamma.h"

/* Functions of f64, and long ones, are called: inlined in every vector of every formula, they would
 * take most of the compile time. */
#define GP_CALLED __attribute__((noinline)) __device__ static inline
#define INLINE1(fn)                                                                                \
    GP_FN float fn##_of(float x) { return ::fn##f(x); }                                            \
    GP_CALLED double fn##_of(double x) { return ::fn(x); }
#define CALLED1(fn)                                                                                \
    GP_CALLED float fn##_of(float x) { return ::fn##f(x); }                                        \
    GP_CALLED double fn##_of(double x) { return ::fn(x); }
#define CALLED2(fn)                                                                                \
    GP_CALLED float fn##_of(float a, float b) { return ::fn##f(a, b); }                            \
    GP_CALLED double fn##_of(double a, double b) { return ::fn(a, b); }
#define SPECIAL1(fn)                                                                               \
    GP_CALLED float fn##_of(float x) { return fn##_f32(x); }                                       \
    GP_CALLED double fn##_of(double x) { return fn##_f64(x); }
INLINE1(exp) INLINE1(exp2) INLINE1(expm1) INLINE1(log) INLINE1(log2) INLINE1(log10)
INLINE1(log1p) INLINE1(sqrt) INLINE1(tanh) INLINE1(atan) INLINE1(erf) INLINE1(erfc)
CALLED1(sin) CALLED1(cos) CALLED1(tan) CALLED1(asin) CALLED1(acos) CALLED1(sinh) CALLED1(cosh)
CALLED1(asinh) CALLED1(acosh) CALLED1(atanh) CALLED2(atan2) CALLED2(hypot)
#define SPECIAL2(fn)                                                                               \
    GP_CALLED float fn##_of(float a, float b) { return fn##_f32(a, b); }                           \
    GP_CALLED double fn##_of(double a, double b) { return fn##_f64(a, b); }
SPECIAL1(erfinv) SPECIAL1(digamma) SPECIAL1(logit) SPECIAL1(i0) SPECIAL1(i0e) SPECIAL1(i1)
SPECIAL1(i1e) SPECIAL1(erfcx) SPECIAL1(log_ndtr) SPECIAL1(ndtri) SPECIAL1(mantissa)
SPECIAL1(exponent)
SPECIAL2(polygamma) SPECIAL2(ldexp) SPECIAL2(zeta) SPECIAL2(igamma) SPECIAL2(igammac)
CALLED2(nextafter)
GP_CALLED float lgamma_of(float x) { return lgamma_by_branch_f32(x); }
GP_CALLED double lgamma_of(double x) { return lgamma_f64(x); }

/* Rounding leaves integers unchanged. */
#define ROUND1(fn)                                                                                 \
    GP_FN float fn##_of(float x) { return ::fn##f(x); }                                            \
    GP_FN double fn##_of(double x) { return ::fn(x); }                                             \
    GP_FN int32_t fn##_of(int32_t x) { return x; }                                                 \
    GP_FN int64_t fn##_of(int64_t x) { return x; }
ROUND1(floor) ROUND1(ceil) ROUND1(rint) ROUND1(trunc)

/* Whether the sign is minus: of zeros and NaNs, too. */
GP_FN bool signbit_of(float x) { return ::copysignf(1, x) < 0; }
GP_FN bool signbit_of(double x) { return ::copysign(1.0, x) < 0; }
GP_FN bool signbit_of(int32_t x) { return x < 0; }
GP_FN bool signbit_of(int64_t x) { return x < 0; }

/* Floats as Lua's // and %: the quotient is rounded down, the remainder has the sign of b. */
GP_FN float floor_divide_of(float a, float b, int &) { return ::floorf(a / b); }
GP_FN double floor_divide_of(double a, double b, int &) { return ::floor(a / b); }
GP_FN float trunc_divide_of(float a, float b, int &) { return ::truncf(a / b); }
GP_FN double trunc_divide_of(double a, double b, int &) { return ::trunc(a / b); }
GP_CALLED float modulo(float a, float b) { return ::fmodf(a, b); }
GP_CALLED double modulo(double a, double b) { return ::fmod(a, b); }
GP_CALLED float power(float a, float b) { return ::powf(a, b); }
GP_CALLED double power(double a, double b) { return ::pow(a, b); }
#define FLOATS2(T)                                                                                 \
    GP_FN T fmod_of(T a, T b, int &) { return modulo(a, b); }                                      \
    GP_FN T pow_of(T a, T b, int &) { return power(a, b); }                                        \
    GP_FN T remainder_of(T a, T b, int &) {                                                        \
        T r = modulo(a, b);                                                                        \
        return r != 0 && (r < 0) != (b < 0) ? r + b : r;                                           \
    }
FLOATS2(float) FLOATS2(double)
GP_FN float copysign_of(float a, float b) { return ::copysignf(a, b); }
GP_FN double copysign_of(double a, double b) { return ::copysign(a, b); }
#define INTEGERS2(T, t)                                                                            \
    GP_FN T floor_divide_of(T a, T b, int &fault) { return floor_divide_##t(a, b, fault); }        \
    GP_FN T trunc_divide_of(T a, T b, int &fault) { return trunc_divide_##t(a, b, fault); }        \
    GP_FN T fmod_of(T a, T b, int &fault) { return fmod_##t(a, b, fault); }                        \
    GP_FN T remainder_of(T a, T b, int &fault) { return remainder_##t(a, b, fault); }              \
    GP_FN T pow_of(T a, T b, int &fault) { return pow_##t(a, b, fault); }                          \
    GP_FN T left_shift_of(T a, T b) { return left_shift_##t(a, b); }                               \
    GP_FN T right_shift_of(T a, T b) { return right_shift_##t(a, b); }                             \
    GP_FN T gcd_of(T a, T b) { return gcd_##t(a, b); }                                             \
    GP_FN T lcm_of(T a, T b) { return lcm_##t(a, b); }
INTEGERS2(int32_t, i32) INTEGERS2(int64_t, i64)

/* Sums and products of integers wrap. */
template <class T> struct gp_wrapping { typedef T type; };
template <> struct gp_wrapping<int32_t> { typedef uint32_t type; };
template <> struct gp_wrapping<int64_t> { typedef uint64_t type; };

/* A number in a formula: literals take its type T, whatever their own. Comparisons give bool. */
template <class T> struct gp_num {
    T v;
    typedef typename gp_wrapping<T>::type U;
    template <class S> using number = typename std::enable_if<std::is_arithmetic<S>::value>::type;

    gp_num() = default;
    template <class S, class = number<S>> __device__ constexpr gp_num(S s) : v((T)s) {}
    __device__ explicit operator bool() const { return v != 0; }

#define ARITHMETIC(op)                                                                             \
    __device__ friend gp_num operator op(gp_num a, gp_num b) { return (T)((U)a.v op(U) b.v); }
    ARITHMETIC(+) ARITHMETIC(-) ARITHMETIC(*)
    __device__ friend gp_num operator/(gp_num a, gp_num b) { return a.v / b.v; }
    __device__ friend gp_num operator-(gp_num a) { return (T)(-(U)a.v); }
    __device__ friend gp_num operator~(gp_num a) { return ~a.v; }
    __device__ friend gp_num operator&(gp_num a, gp_num b) { return a.v & b.v; }
    __device__ friend gp_num operator|(gp_num a, gp_num b) { return a.v | b.v; }
    __device__ friend gp_num operator^(gp_num a, gp_num b) { return a.v ^ b.v; }
#define COMPARISON(op)                                                                             \
    __device__ friend bool operator op(gp_num a, gp_num b) { return a.v op b.v; }                  \
    /* An infinity exceeds every integer. */                                                     \
    template <class S, class = number<S>> __device__ friend bool operator op(gp_num a, S b) {      \
        if constexpr (std::is_integral<T>::value && !std::is_integral<S>::value)                   \
            return (double)a.v op(double) b;                                                       \
        else return a.v op(T) b;                                                                   \
    }
    COMPARISON(==) COMPARISON(!=) COMPARISON(<) COMPARISON(<=) COMPARISON(>) COMPARISON(>=)

#define OF1(fn)                                                                                    \
    __device__ friend gp_num fn(gp_num x) { return fn##_of(x.v); }
    OF1(exp) OF1(exp2) OF1(expm1) OF1(log) OF1(log2) OF1(log10) OF1(log1p) OF1(sqrt) OF1(sin)
    OF1(cos) OF1(tan) OF1(tanh) OF1(asin) OF1(acos) OF1(atan) OF1(sinh) OF1(cosh) OF1(asinh)
    OF1(acosh) OF1(atanh) OF1(erf) OF1(erfc) OF1(erfinv) OF1(lgamma) OF1(digamma)
    OF1(logit) OF1(floor) OF1(ceil) OF1(rint) OF1(trunc) OF1(i0) OF1(i0e) OF1(i1) OF1(i1e)
    OF1(erfcx) OF1(log_ndtr) OF1(ndtri) OF1(mantissa) OF1(exponent)
    __device__ friend bool signbit(gp_num x) { return signbit_of(x.v); }
    __device__ friend gp_num sigmoid(gp_num x) { return 1 / (1 + exp(-x)); }
#define OF2(fn)                                                                                    \
    __device__ friend gp_num fn(gp_num a, gp_num b) { return fn##_of(a.v, b.v); }
    OF2(atan2) OF2(hypot) OF2(copysign) OF2(polygamma) OF2(left_shift) OF2(right_shift)
    OF2(gcd) OF2(lcm) OF2(ldexp) OF2(zeta) OF2(igamma) OF2(igammac) OF2(nextafter)
#define FAULTY2(fn)                                                                                \
    __device__ friend gp_num fn##_to(gp_num a, gp_num b, int &fault) {                             \
        return fn##_of(a.v, b.v, fault);                                                           \
    }
    FAULTY2(floor_divide) FAULTY2(trunc_divide) FAULTY2(remainder) FAULTY2(fmod) FAULTY2(pow)
    __device__ friend gp_num chance_to(gp_num x, int &fault) {
        if (!(x.v >= 0 && x.v <= 1)) FAULT(FAULT_CHANCE);
        return x;
    }
};

/* Failures of integers, and invalid probabilities, are stored in the int `fault` of the enclosing
 * scope. */
#define floor_divide(a, b) floor_divide_to(a, b, fault)
#define trunc_divide(a, b) trunc_divide_to(a, b, fault)
#define remainder(a, b) remainder_to(a, b, fault)
#define fmod(a, b) fmod_to(a, b, fault)
#define pow(a, b) pow_to(a, b, fault)
#define chance(x) chance_to(x, fault)

#endif
