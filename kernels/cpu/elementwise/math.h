/* The functions that formulas in ops.def may use, for float, double, int32_t and int64_t;
 * vectorised by glibc's libmvec (or by GPUSH_VECTOR_MATH) where it has them; exp is our own. */
#ifndef GP_CPU_MATH_H
#define GP_CPU_MATH_H

#include <math.h>
#include <stdint.h>

#include "kernels/cpu/elementwise/exp.h"
#include "kernels/cpu/runtime/kernel.h"

/* Declaring a function as simd lets loops call its vector form (at most 4 ulp). */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define SIMD1(fn)                                                                                  \
    __attribute__((simd("notinbranch"))) double fn(double);                                        \
    __attribute__((simd("notinbranch"))) float fn##f(float);
#define SIMD2(fn)                                                                                  \
    __attribute__((simd("notinbranch"))) double fn(double, double);                                \
    __attribute__((simd("notinbranch"))) float fn##f(float, float);
/* clang-format off */
SIMD1(log) SIMD1(sin) SIMD1(cos) SIMD2(pow)
#if __GLIBC_PREREQ(2, 35) || defined(GP_VECTOR_MATH)
SIMD1(exp2) SIMD1(expm1) SIMD1(log2) SIMD1(log10) SIMD1(log1p) SIMD1(tan) SIMD1(tanh) SIMD1(sinh)
SIMD1(cosh) SIMD1(asin) SIMD1(acos) SIMD1(atan) SIMD1(asinh) SIMD1(acosh) SIMD1(atanh) SIMD1(erf)
SIMD1(erfc) SIMD1(cbrt) SIMD2(atan2) SIMD2(hypot)
#endif
/* clang-format on */
#endif

/* One name for both float types. Integers are converted to double only where a formula asks for
 * it. */
#define FN1(fn, x) _Generic((x), float : fn##f, default : fn)(x)
#define FN2(fn, a, b) _Generic((a), float : fn##f, default : fn)(a, b)
#define exp(x) _Generic((x), float : exp_f32, default : exp_f64)(x)
#define exp2(x) FN1(exp2, x)
#define expm1(x) FN1(expm1, x)
#define log(x) FN1(log, x)
#define log2(x) FN1(log2, x)
#define log10(x) FN1(log10, x)
#define log1p(x) FN1(log1p, x)
#define sqrt(x) FN1(sqrt, x)
#define sin(x) FN1(sin, x)
#define cos(x) FN1(cos, x)
#define tan(x) FN1(tan, x)
#define tanh(x) FN1(tanh, x)
#define atan(x) FN1(atan, x)
#define asin(x) FN1(asin, x)
#define acos(x) FN1(acos, x)
#define sinh(x) FN1(sinh, x)
#define cosh(x) FN1(cosh, x)
#define asinh(x) FN1(asinh, x)
#define acosh(x) FN1(acosh, x)
#define atanh(x) FN1(atanh, x)
#define erf(x) FN1(erf, x)
#define erfc(x) FN1(erfc, x)
#define atan2(a, b) FN2(atan2, a, b)
#define hypot(a, b) FN2(hypot, a, b)
#define copysign(a, b) _Generic((b), float : copysignf, default : copysign)(a, b)
#define sigmoid(x) (1 / (1 + exp(-(x))))

/* Logarithms of n numbers in place. The vector form and that for one number differ in the last bit:
 * a remainder is padded to a whole vector, so that equal numbers stay equal. */
#define LOGS(T, t)                                                                                 \
    static inline void logs_##t(T *x, int64_t n) {                                                 \
        _Alignas(64) T v[16];                                                                      \
        for (int64_t m; n > 0; n -= m, x += m) {                                                   \
            m = n < 16 ? n : 16;                                                                   \
            for (int j = (int)m; j < 16; j++) v[j] = 1;                                            \
            memcpy(v, x, (size_t)m * sizeof(T));                                                   \
            _Pragma("omp simd") for (int j = 0; j < 16; j++) v[j] = log(v[j]);                     \
            memcpy(x, v, (size_t)m * sizeof(T));                                                   \
        }                                                                                          \
    }
    /* clang-format off */
LOGS(float, f32)
LOGS(double, f64)

/* Rounding leaves integers as they are. */
static inline int32_t same_i32(int32_t x) { return x; }
/* clang-format on */
static inline int64_t same_i64(int64_t x) { return x; }
#define ROUND(fn, x)                                                                               \
    _Generic((x), float : fn##f, double : fn, int32_t : same_i32, int64_t : same_i64)(x)
#define floor(x) ROUND(floor, x)
#define ceil(x) ROUND(ceil, x)
#define rint(x) ROUND(rint, x)
#define trunc(x) ROUND(trunc, x)

/* Whether the sign is minus: of zeros and NaNs, too. */
static inline bool sign_f32(float x) { return __builtin_signbit(x) != 0; }
static inline bool sign_f64(double x) { return __builtin_signbit(x) != 0; }
static inline bool sign_i32(int32_t x) { return x < 0; }
static inline bool sign_i64(int64_t x) { return x < 0; }
#undef signbit
#define signbit(x)                                                                                 \
    _Generic((x), float : sign_f32, double : sign_f64, int32_t : sign_i32, int64_t : sign_i64)(x)

/* Put around a function: in f32 the constants of its formula are floats, where C would compute in
 * double. */
#if defined(__GNUC__) && !defined(__clang__)
#define CONSTANTS_float                                                                            \
    _Pragma("GCC push_options") _Pragma("GCC optimize(\"single-precision-constant\")")
#define CONSTANTS_END_float _Pragma("GCC pop_options")
#else
#define CONSTANTS_float
#define CONSTANTS_END_float
#endif
#define CONSTANTS_double
#define CONSTANTS_int32_t
#define CONSTANTS_int64_t
#define CONSTANTS_END_double
#define CONSTANTS_END_int32_t
#define CONSTANTS_END_int64_t
#define CONSTANTS(T) CONSTANTS_##T
#define CONSTANTS_END(T) CONSTANTS_END_##T

/* Faults of a formula: reported after the loop. */
#define cpu_fault GP_NAME(cpu_fault)
extern _Thread_local int cpu_fault;
#define FAULT(code) (cpu_fault |= (code))
#define FAULT_TO
#include "kernels/common/integer.h"

/* Floats as Lua's // and %: the quotient is rounded down, the remainder has the sign of b. */
static inline float floor_divide_f32(float a, float b) { return floorf(a / b); }
static inline double floor_divide_f64(double a, double b) { return (floor)(a / b); }
static inline float remainder_f32(float a, float b) {
    float r = fmodf(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline double remainder_f64(double a, double b) {
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline float trunc_divide_f32(float a, float b) { return truncf(a / b); }
static inline double trunc_divide_f64(double a, double b) { return (trunc)(a / b); }
static inline float fmod_f32(float a, float b) { return fmodf(a, b); }
static inline double fmod_f64(double a, double b) { return (fmod)(a, b); }
#include "kernels/common/special.h"

#include "kernels/common/bessel.h"
#include "kernels/common/erfcx.h"
#include "kernels/common/gamma.h"
#define SPECIAL(f, x) _Generic((x), float : f##_f32, default : f##_f64)(x)
#define erfinv(x) SPECIAL(erfinv, x)
#define lgamma(x) SPECIAL(lgamma, x)
#define digamma(x) SPECIAL(digamma, x)
#define logit(x) SPECIAL(logit, x)
#define i0(x) SPECIAL(i0, x)
#define i0e(x) SPECIAL(i0e, x)
#define i1(x) SPECIAL(i1, x)
#define i1e(x) SPECIAL(i1e, x)
#define erfcx(x) SPECIAL(erfcx, x)
#define log_ndtr(x) SPECIAL(log_ndtr, x)
#define ndtri(x) SPECIAL(ndtri, x)
#define mantissa(x) SPECIAL(mantissa, x)
#define exponent(x) SPECIAL(exponent, x)
#define SPECIAL2(f, a, b) _Generic((a), float : f##_f32, default : f##_f64)(a, b)
#define polygamma(x, n) SPECIAL2(polygamma, x, n)
#define ldexp(a, b) SPECIAL2(ldexp, a, b)
#define zeta(a, b) SPECIAL2(zeta, a, b)
#define igamma(a, b) SPECIAL2(igamma, a, b)
#define igammac(a, b) SPECIAL2(igammac, a, b)
#define nextafter(a, b) FN2(nextafter, a, b)
#define BY_TYPE(f, a, b, x)                                                                        \
    _Generic((x), float : f##_f32, double : f##_f64, int32_t : f##_i32, int64_t : f##_i64)(a, b)
#define trunc_divide(a, b) BY_TYPE(trunc_divide, a, b, a)
#define fmod(a, b) BY_TYPE(fmod, a, b, a)
#define left_shift(a, b) _Generic((a), int64_t : left_shift_i64, default : left_shift_i32)(a, b)
#define right_shift(a, b) _Generic((a), int64_t : right_shift_i64, default : right_shift_i32)(a, b)
#define gcd(a, b) _Generic((a), int64_t : gcd_i64, default : gcd_i32)(a, b)
#define lcm(a, b) _Generic((a), int64_t : lcm_i64, default : lcm_i32)(a, b)
#define floor_divide(a, b) BY_TYPE(floor_divide, a, b, a)
#define remainder(a, b) BY_TYPE(remainder, a, b, a)
static inline float pow_f32(float a, float b) { return powf(a, b); }
static inline double pow_f64(double a, double b) { return (pow)(a, b); }
#define pow(a, b) BY_TYPE(pow, a, b, a)
/* A probability; blocks are checked as a whole, before their loop. */
#define chance(x) (x)

#endif
