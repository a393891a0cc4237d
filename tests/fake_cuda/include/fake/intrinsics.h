/* CUDA's arithmetic that C++ has not: bit tricks, roundings, float functions by their CUDA names. */
#ifndef FAKE_INTRINSICS_H
#define FAKE_INTRINSICS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <cmath>

#define FAKE_FN static inline

FAKE_FN int __popc(unsigned x) { return __builtin_popcount(x); }
FAKE_FN int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
FAKE_FN int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
FAKE_FN int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
FAKE_FN int __ffs(int x) { return __builtin_ffs(x); }
FAKE_FN int __ffsll(long long x) { return __builtin_ffsll(x); }
FAKE_FN unsigned __brev(unsigned x) {
    unsigned r = 0;
    for (int i = 0; i < 32; i++, x >>= 1) r = r << 1 | (x & 1);
    return r;
}
FAKE_FN unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((uint64_t)a * b >> 32); }
FAKE_FN int __mulhi(int a, int b) { return (int)((int64_t)a * b >> 32); }
FAKE_FN unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
FAKE_FN long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
FAKE_FN unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned by) {
    return (unsigned)((((uint64_t)hi << 32 | lo) << (by & 31)) >> 32);
}
FAKE_FN unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned by) {
    return (unsigned)(((uint64_t)hi << 32 | lo) >> (by & 31));
}

#define FAKE_BITS(name, To, From) \
    FAKE_FN To name(From v) { \
        To r; \
        static_assert(sizeof r == sizeof v, "the same bits"); \
        memcpy(&r, &v, sizeof r); \
        return r; \
    }
FAKE_BITS(__float_as_int, int, float)
FAKE_BITS(__float_as_uint, unsigned, float)
FAKE_BITS(__int_as_float, float, int)
FAKE_BITS(__uint_as_float, float, unsigned)
FAKE_BITS(__double_as_longlong, long long, double)
FAKE_BITS(__longlong_as_double, double, long long)
FAKE_FN int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
FAKE_FN int __double2loint(double x) { return (int)__double_as_longlong(x); }
FAKE_FN double __hiloint2double(int hi, int lo) {
    return __longlong_as_double((long long)((uint64_t)(unsigned)hi << 32 | (unsigned)lo));
}

/* Conversions saturate on a card, and a NaN gives 0. */
#define FAKE_CONVERT(name, To, From, round, lo, hi) \
    FAKE_FN To name(From x) { \
        From r = round(x); \
        return r != r ? 0 : r <= (From)(lo) ? (To)(lo) : r >= (From)(hi) ? (To)(hi) : (To)r; \
    }
FAKE_CONVERT(__float2int_rn, int, float, rintf, INT32_MIN, INT32_MAX)
FAKE_CONVERT(__float2int_rz, int, float, truncf, INT32_MIN, INT32_MAX)
FAKE_CONVERT(__float2int_rd, int, float, floorf, INT32_MIN, INT32_MAX)
FAKE_CONVERT(__float2int_ru, int, float, ceilf, INT32_MIN, INT32_MAX)
FAKE_CONVERT(__float2uint_rn, unsigned, float, rintf, 0, UINT32_MAX)
FAKE_CONVERT(__float2uint_rz, unsigned, float, truncf, 0, UINT32_MAX)
FAKE_CONVERT(__float2ll_rn, long long, float, rintf, INT64_MIN, INT64_MAX)
FAKE_CONVERT(__float2ll_rz, long long, float, truncf, INT64_MIN, INT64_MAX)
FAKE_CONVERT(__double2int_rn, int, double, rint, INT32_MIN, INT32_MAX)
FAKE_CONVERT(__double2int_rz, int, double, trunc, INT32_MIN, INT32_MAX)
FAKE_CONVERT(__double2ll_rn, long long, double, rint, INT64_MIN, INT64_MAX)
FAKE_CONVERT(__double2ll_rz, long long, double, trunc, INT64_MIN, INT64_MAX)
FAKE_FN float __int2float_rn(int x) { return (float)x; }
FAKE_FN float __uint2float_rn(unsigned x) { return (float)x; }
FAKE_FN float __ll2float_rn(long long x) { return (float)x; }
FAKE_FN double __ll2double_rn(long long x) { return (double)x; }
FAKE_FN float __double2float_rn(double x) { return (float)x; }

/* Rounded on their own, never contracted; so is everything else here (-ffp-contract=off). */
FAKE_FN float __fadd_rn(float a, float b) { return a + b; }
FAKE_FN float __fsub_rn(float a, float b) { return a - b; }
FAKE_FN float __fmul_rn(float a, float b) { return a * b; }
FAKE_FN float __fdiv_rn(float a, float b) { return a / b; }
FAKE_FN float __frcp_rn(float a) { return 1 / a; }
FAKE_FN float __fsqrt_rn(float a) { return sqrtf(a); }
FAKE_FN float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
FAKE_FN double __dadd_rn(double a, double b) { return a + b; }
FAKE_FN double __dsub_rn(double a, double b) { return a - b; }
FAKE_FN double __dmul_rn(double a, double b) { return a * b; }
FAKE_FN double __ddiv_rn(double a, double b) { return a / b; }
FAKE_FN double __dsqrt_rn(double a) { return sqrt(a); }
FAKE_FN double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
FAKE_FN float __fdividef(float a, float b) { return a / b; }
FAKE_FN float fdividef(float a, float b) { return a / b; }
/* glibc has taken these names. */
#define __expf(x) expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) logf(x)
#define __log2f(x) log2f(x)
#define __log10f(x) log10f(x)
#define __powf(a, b) powf(a, b)
#define __sinf(x) sinf(x)
#define __cosf(x) cosf(x)
#define __tanf(x) tanf(x)
#define __sincosf(x, s, c) sincosf(x, s, c)
FAKE_FN float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }
FAKE_FN float rsqrtf(float x) { return 1 / sqrtf(x); }
FAKE_FN double rsqrt(double x) { return 1 / sqrt(x); }
FAKE_FN float rsqrt(float x) { return 1 / sqrtf(x); }
FAKE_FN float __frsqrt_rn(float x) { return (float)(1 / sqrt((double)x)); }
FAKE_FN float rcbrtf(float x) { return 1 / cbrtf(x); }
FAKE_FN double rcbrt(double x) { return 1 / cbrt(x); }
FAKE_FN double sinpi(double x) { return sin(M_PI * fmod(x, 2.0)); }
FAKE_FN double cospi(double x) { return cos(M_PI * fmod(x, 2.0)); }
FAKE_FN float sinpif(float x) { return (float)sinpi((double)x); }
FAKE_FN float cospif(float x) { return (float)cospi((double)x); }
FAKE_FN void sincospi(double x, double *s, double *c) { *s = sinpi(x), *c = cospi(x); }
FAKE_FN void sincospif(float x, float *s, float *c) { *s = sinpif(x), *c = cospif(x); }
FAKE_FN double norm3d(double a, double b, double c) { return sqrt(a * a + b * b + c * c); }

/* CUDA has min and max of mixed arguments in the global namespace; of floats they are fminf and fmaxf. */
#define FAKE_MINMAX(T) \
    FAKE_FN T min(T a, T b) { return b < a ? b : a; } \
    FAKE_FN T max(T a, T b) { return a < b ? b : a; }
FAKE_MINMAX(int)
FAKE_MINMAX(unsigned)
FAKE_MINMAX(long)
FAKE_MINMAX(unsigned long)
FAKE_MINMAX(long long)
FAKE_MINMAX(unsigned long long)
FAKE_FN float min(float a, float b) { return fminf(a, b); }
FAKE_FN float max(float a, float b) { return fmaxf(a, b); }
FAKE_FN double min(double a, double b) { return fmin(a, b); }
FAKE_FN double max(double a, double b) { return fmax(a, b); }

#define FAKE_MAKE(name, T) \
    FAKE_FN name##1 make_##name##1(T x) { return name##1{x}; } \
    FAKE_FN name##2 make_##name##2(T x, T y) { return name##2{x, y}; } \
    FAKE_FN name##3 make_##name##3(T x, T y, T z) { return name##3{x, y, z}; } \
    FAKE_FN name##4 make_##name##4(T x, T y, T z, T w) { return name##4{x, y, z, w}; }
FAKE_MAKE(char, signed char)
FAKE_MAKE(uchar, unsigned char)
FAKE_MAKE(short, short)
FAKE_MAKE(ushort, unsigned short)
FAKE_MAKE(int, int)
FAKE_MAKE(uint, unsigned)
FAKE_MAKE(longlong, long long)
FAKE_MAKE(ulonglong, unsigned long long)
FAKE_MAKE(float, float)
FAKE_MAKE(double, double)

#endif
