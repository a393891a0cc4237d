/* In place of the headers of C and C++, and of CUDA's of half precision, which NVRTC lacks: what
 * the formulas' headers use of them. */
#ifndef GP_NVRTC_STD_H
#define GP_NVRTC_STD_H

#define __NVCC__ /* its dialect */
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef unsigned long long uintptr_t;
#define INT32_MAX 2147483647
#define INT32_MIN (-2147483647 - 1)
#define INT64_MAX 9223372036854775807ll
#define INT64_MIN (-9223372036854775807ll - 1)
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)

namespace std {
template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { typedef T type; };
template <bool B, class T, class F> struct conditional { typedef T type; };
template <class T, class F> struct conditional<false, T, F> { typedef F type; };
template <class T, class S> struct is_same { static const bool value = false; };
template <class T> struct is_same<T, T> { static const bool value = true; };
template <class T> struct is_floating_point { static const bool value = false; };
template <> struct is_floating_point<float> { static const bool value = true; };
template <> struct is_floating_point<double> { static const bool value = true; };
template <class T> struct is_integral { static const bool value = false; };
#define INTEGRAL(T)                                                                                \
    template <> struct is_integral<T> { static const bool value = true; };
INTEGRAL(bool)
INTEGRAL(char)
INTEGRAL(signed char)
INTEGRAL(unsigned char)
INTEGRAL(short)
INTEGRAL(unsigned short)
INTEGRAL(int)
INTEGRAL(unsigned)
INTEGRAL(long)
INTEGRAL(unsigned long)
INTEGRAL(long long)
INTEGRAL(unsigned long long)
#undef INTEGRAL
template <class T> struct is_arithmetic {
    static const bool value = is_integral<T>::value || is_floating_point<T>::value;
};
} // namespace std

struct __half {
    unsigned short bits;
};
__device__ static inline __half __ushort_as_half(unsigned short u) { return {u}; }
__device__ static inline unsigned short __half_as_ushort(__half h) { return h.bits; }
__device__ static inline float __half2float(__half h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h.bits));
    return f;
}
__device__ static inline __half __float2half_rn(float f) {
    __half h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(f));
    return h;
}

#endif
