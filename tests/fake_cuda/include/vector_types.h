/* The stand-in's vector types and qualifiers, for C and for C++ (tests/fake_cuda). */
#ifndef FAKE_VECTOR_TYPES_H
#define FAKE_VECTOR_TYPES_H

#include <stddef.h>
#include <stdint.h>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#ifdef __cplusplus
/* A block runs on one OS thread, block after block: what its threads share is that thread's own. As on a card it
 * keeps what the last block left. extern __shared__ has no counterpart: GP_DYNAMIC_SHARED of fake/launch.h. */
#define __shared__ static thread_local
#endif

#define FAKE_V1(name, T) typedef struct name##1 { T x; } name##1
#define FAKE_V2(name, T, A) typedef struct __align__(A) name##2 { T x, y; } name##2
#define FAKE_V3(name, T) typedef struct name##3 { T x, y, z; } name##3
#define FAKE_V4(name, T, A) typedef struct __align__(A) name##4 { T x, y, z, w; } name##4
#define FAKE_VECTORS(name, T, A2, A4) \
    FAKE_V1(name, T); FAKE_V2(name, T, A2); FAKE_V3(name, T); FAKE_V4(name, T, A4)
FAKE_VECTORS(char, signed char, 2, 4);
FAKE_VECTORS(uchar, unsigned char, 2, 4);
FAKE_VECTORS(short, short, 4, 8);
FAKE_VECTORS(ushort, unsigned short, 4, 8);
FAKE_VECTORS(int, int, 8, 16);
FAKE_VECTORS(uint, unsigned, 8, 16);
FAKE_VECTORS(long, long, 16, 16);
FAKE_VECTORS(ulong, unsigned long, 16, 16);
FAKE_VECTORS(longlong, long long, 16, 16);
FAKE_VECTORS(ulonglong, unsigned long long, 16, 16);
FAKE_VECTORS(float, float, 8, 16);
FAKE_VECTORS(double, double, 16, 16);

typedef struct dim3 {
    unsigned x, y, z;
#ifdef __cplusplus
    constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
    constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    constexpr operator uint3() const { return uint3{x, y, z}; }
#endif
} dim3;

#endif
