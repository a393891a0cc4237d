/* Loops over strided arrays on a CUDA device: an element's offset in each array from its number,
 * numbers of every dtype in memory as one of four compute types (f32, f64, i32, i64), and 16-byte
 * vectors. */
#ifndef GP_CUDA_LOOP_CUH
#define GP_CUDA_LOOP_CUH

#include <cuda_fp16.h>

#include "kernels/cuda/runtime/kernel.h"

enum { GP_THREADS = 256 }; /* of a block, unless another number is asked for */
static_assert(GP_THREADS % 32 == 0 && (GP_THREADS & (GP_THREADS - 1)) == 0 && GP_THREADS <= 1024,
              "a block is whole warps, and halves down to one thread");
#ifndef __CUDACC_RTC__
static_assert(sizeof(gp_value) == 16 && sizeof(gp_array) == 24 + 16 * GP_MAX_DIM,
              "calls and arrays are laid out as in C (tensor/op.c)");
#endif
static_assert(sizeof(__half) == 2 && sizeof(long long) == 8, "f16 and counters have C's sizes");
/* Dynamic shared memory that a launch may use without opting in: the kernel's own variables take a
 * little of the 48 KB. */
enum { GP_SHARED_MOST = 46 << 10 };

/* The dtype of the compute type for dt. */
static inline gp_dtype gp_compute_dtype(gp_dtype dt) {
    switch (dt) {
    case GP_f16:
    case GP_bf16:
    case GP_f32: return GP_f32;
    case GP_f64: return GP_f64;
    case GP_i64: return GP_i64;
    default: return GP_i32;
    }
}
template <class T> struct gp_memory_of;
template <> struct gp_memory_of<float> { static const gp_dtype dtype = GP_f32; };
template <> struct gp_memory_of<double> { static const gp_dtype dtype = GP_f64; };
template <> struct gp_memory_of<int32_t> { static const gp_dtype dtype = GP_i32; };
template <> struct gp_memory_of<int64_t> { static const gp_dtype dtype = GP_i64; };

/* Calls fn<T>(...) for the compute type T of dtype dt: GP_BY_COMPUTE(dt, fn, ...). */
#define GP_BY_COMPUTE(dt, fn, ...)                                                                 \
    (gp_compute_dtype(dt) == GP_f32   ? fn<float>(__VA_ARGS__)                                     \
     : gp_compute_dtype(dt) == GP_f64 ? fn<double>(__VA_ARGS__)                                    \
     : gp_compute_dtype(dt) == GP_i64 ? fn<int64_t>(__VA_ARGS__)                                   \
                                      : fn<int32_t>(__VA_ARGS__))
/* The same by the size of an element, for ops that only move elements: fn<uint8_t> …
 * fn<uint64_t>. */
#define GP_BY_SIZE(size, fn, ...)                                                                  \
    ((size) == 8   ? fn<uint64_t>(__VA_ARGS__)                                                     \
     : (size) == 4 ? fn<uint32_t>(__VA_ARGS__)                                                     \
     : (size) == 2 ? fn<uint16_t>(__VA_ARGS__)                                                     \
                   : fn<uint8_t>(__VA_ARGS__))

/* ---- numbers ---- */

__device__ static inline float gp_f16_as_f32(uint16_t h) {
    return __half2float(__ushort_as_half(h));
}
__device__ static inline uint16_t gp_f32_as_f16(float f) {
    return __half_as_ushort(__float2half_rn(f));
}
__device__ static inline float gp_bf16_as_f32(uint16_t h) {
    return __uint_as_float((uint32_t)h << 16);
}
__device__ static inline uint16_t gp_f32_as_bf16(float f) {
    uint32_t u = __float_as_uint(f);
    uint32_t rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return (uint16_t)(f != f ? (u >> 16 | 0x40) : rounded);
}

/* A float outside an integer's range is clamped, NaN becomes 0, as on the CPU; narrower integers
 * are truncated from an i64. */
template <class F> __device__ static inline int64_t gp_float_as_int(F v) {
    return v > (F)-0x1p63 && v < (F)0x1p63 ? (int64_t)v
           : v >= (F)0x1p63                ? INT64_MAX
           : v != v                        ? 0
                                           : INT64_MIN;
}
template <class T, class S> struct gp_cast_to {
    __device__ static inline T of(S v) { return (T)v; }
};
template <class T> struct gp_cast_to<T, float> {
    __device__ static inline T of(float v) { return (T)gp_float_as_int(v); }
};
template <class T> struct gp_cast_to<T, double> {
    __device__ static inline T of(double v) { return (T)gp_float_as_int(v); }
};
template <> struct gp_cast_to<float, float> {
    __device__ static inline float of(float v) { return v; }
};
template <> struct gp_cast_to<float, double> {
    __device__ static inline float of(double v) { return (float)v; }
};
template <> struct gp_cast_to<double, float> {
    __device__ static inline double of(float v) { return v; }
};
template <> struct gp_cast_to<double, double> {
    __device__ static inline double of(double v) { return v; }
};
/* Converts v to T, between any two of the compute types and the integers in memory. */
template <class T, class S> __device__ static inline T gp_cast(S v) {
    return gp_cast_to<T, S>::of(v);
}

/* The value that a 16-bit float is rounded from, once: see gp_f64_to_odd_f32. */
template <class S> __device__ static inline float gp_as_odd_f32(S v) { return gp_cast<float>(v); }
template <> __device__ inline float gp_as_odd_f32<double>(double d) {
    float f = (float)d;
    double size = d < 0 ? -d : d;
    uint32_t away = (f < 0 ? -f : f) > size, inexact = (double)f != d;
    return __uint_as_float((__float_as_uint(f) - away) | inexact);
}
template <> __device__ inline float gp_as_odd_f32<int32_t>(int32_t i) {
    return gp_as_odd_f32((double)i);
}
template <> __device__ inline float gp_as_odd_f32<int64_t>(int64_t i) {
    bool small = i >= -((int64_t)1 << 53) && i <= (int64_t)1 << 53;
    int64_t joined = (i >> 16) | ((i & 0xffff) != 0);
    return gp_as_odd_f32(small ? (double)i : (double)joined * 0x1p16);
}

/* Dtypes, their types in memory, and the conversions of m in memory to T and of v to memory. */
#define GP_MEMORY_CASES(CASE)                                                                      \
    CASE(GP_f32, float, gp_cast<T>(m), gp_cast<float>(v))                                          \
    CASE(GP_f64, double, gp_cast<T>(m), gp_cast<double>(v))                                        \
    CASE(GP_f16, uint16_t, gp_cast<T>(gp_f16_as_f32(m)), gp_f32_as_f16(gp_as_odd_f32(v)))          \
    CASE(GP_bf16, uint16_t, gp_cast<T>(gp_bf16_as_f32(m)), gp_f32_as_bf16(gp_as_odd_f32(v)))       \
    CASE(GP_i64, int64_t, (T)m, gp_cast<int64_t>(v))                                               \
    CASE(GP_i32, int32_t, (T)m, gp_cast<int32_t>(v))                                               \
    CASE(GP_i16, int16_t, (T)m, (int16_t)gp_cast<int64_t>(v))                                      \
    CASE(GP_i8, int8_t, (T)m, (int8_t)gp_cast<int64_t>(v))                                         \
    CASE(GP_u8, uint8_t, (T)m, (uint8_t)gp_cast<int64_t>(v))                                       \
    CASE(GP_bool, uint8_t, (T)(m != 0), (uint8_t)(v != 0))

/* Loads the element of dtype dt at p in compute type T, and stores it. All threads of a launch take
 * one branch. */
template <class T> __device__ static inline T gp_load_as(const void *p, gp_dtype dt) {
    switch (dt) {
#define GP_LOAD_CASE(DT, M, load, store)                                                           \
    case DT: {                                                                                     \
        M m = *(const M *)p;                                                                       \
        return load;                                                                               \
    }
        GP_MEMORY_CASES(GP_LOAD_CASE)
    default: return 0;
    }
}
template <class T> __device__ static inline void gp_store_as(void *p, gp_dtype dt, T v) {
    switch (dt) {
#define GP_STORE_CASE(DT, M, load, store)                                                          \
    case DT: *(M *)p = store; break;
        GP_MEMORY_CASES(GP_STORE_CASE)
    default: break;
    }
}
/* Whether the element at p is not zero; NaN counts as true. */
__device__ static inline bool gp_truth_at(const void *p, gp_dtype dt) {
    switch (dt) {
    case GP_f32: return *(const float *)p != 0;
    case GP_f64: return *(const double *)p != 0;
    case GP_f16:
    case GP_bf16: return (*(const uint16_t *)p & 0x7fff) != 0;
    case GP_i64: return *(const int64_t *)p != 0;
    case GP_i32: return *(const int32_t *)p != 0;
    case GP_i16: return *(const int16_t *)p != 0;
    default: return *(const uint8_t *)p != 0;
    }
}

#ifndef __CUDACC_RTC__
/* A number argument in compute type T, clamped to an integer type's range. */
template <class T> static inline T gp_number_as(gp_scalar s) {
    if (!s.is_float) return (T)s.i;
    int64_t end = s.f >= 0 ? INT64_MAX : s.f != s.f ? 0 : INT64_MIN;
    return (T)(s.f > -0x1p63 && s.f < 0x1p63 ? (int64_t)s.f : end);
}
/* One outside i32's range is clamped. */
template <> inline int32_t gp_number_as<int32_t>(gp_scalar s) {
    int64_t i = gp_number_as<int64_t>(s);
    return i > INT32_MAX ? INT32_MAX : i < INT32_MIN ? INT32_MIN : (int32_t)i;
}
template <> inline float gp_number_as<float>(gp_scalar s) {
    return s.is_float ? (float)s.f : (float)s.i;
}
template <> inline double gp_number_as<double>(gp_scalar s) {
    return s.is_float ? s.f : (double)s.i;
}
#endif

/* ---- 16 bytes at once ---- */

template <class M, int V> struct alignas(sizeof(M) * V) gp_vector { M v[V]; };
__host__ __device__ static inline bool gp_aligned(const void *p, size_t bytes) {
    return ((uintptr_t)p & (bytes - 1)) == 0;
}

/* gp_dtype_sizes, for kernels. */
__host__ __device__ static inline int gp_bytes_of(gp_dtype dt) {
    return dt == GP_f64 || dt == GP_i64                    ? 8
           : dt == GP_f32 || dt == GP_i32                  ? 4
           : dt == GP_f16 || dt == GP_bf16 || dt == GP_i16 ? 2
                                                           : 1;
}

/* The bits of an element of `size` bytes at p. Where they are converted later, all loads of a
 * thread are on their way together. */
__device__ static inline uint64_t gp_bits_at(const char *p, int size) {
    switch (size) {
    case 8: return *(const uint64_t *)p;
    case 4: return *(const uint32_t *)p;
    case 2: return *(const uint16_t *)p;
    default: return *(const uint8_t *)p;
    }
}

/* N contiguous elements of dtype dt at p, which is aligned to their size: in compute type T. */
template <class T, int N>
__device__ static inline void gp_load_some(const void *p, gp_dtype dt, T *to) {
    switch (dt) {
#define GP_LOAD_SOME(DT, M, load, store)                                                           \
    case DT: {                                                                                     \
        gp_vector<M, N> some = *(const gp_vector<M, N> *)p;                                        \
        for (int j = 0; j < N; j++) {                                                              \
            M m = some.v[j];                                                                       \
            to[j] = load;                                                                          \
        }                                                                                          \
        break;                                                                                     \
    }
        GP_MEMORY_CASES(GP_LOAD_SOME)
    default: break;
    }
}
/* The N elements of dtype dt at p[0], p[1] and so on: one choice by dtype, so that all loads are on
 * their way before the first is converted. */
template <class T, int N>
__device__ static inline void gp_load_at(const char *const *p, gp_dtype dt, T *to) {
    switch (dt) {
#define GP_LOAD_AT(DT, M, load, store)                                                             \
    case DT: {                                                                                     \
        M some[N];                                                                                 \
        for (int j = 0; j < N; j++) some[j] = *(const M *)p[j];                                    \
        for (int j = 0; j < N; j++) {                                                              \
            M m = some[j];                                                                         \
            to[j] = load;                                                                          \
        }                                                                                          \
        break;                                                                                     \
    }
        GP_MEMORY_CASES(GP_LOAD_AT)
    default: break;
    }
}
/* Those from p on, `step` bytes apart. */
template <class T, int N>
__device__ static inline void gp_load_apart(const char *p, int64_t step, gp_dtype dt, T *to) {
    const char *at[N];
    for (int j = 0; j < N; j++) at[j] = p + j * step;
    gp_load_at<T, N>(at, dt, to);
}
template <class T, int N>
__device__ static inline void gp_store_some(void *p, gp_dtype dt, const T *from) {
    switch (dt) {
#define GP_STORE_SOME(DT, M, load, store)                                                          \
    case DT: {                                                                                     \
        gp_vector<M, N> some;                                                                      \
        for (int j = 0; j < N; j++) {                                                              \
            T v = from[j];                                                                         \
            some.v[j] = store;                                                                     \
        }                                                                                          \
        *(gp_vector<M, N> *)p = some;                                                              \
        break;                                                                                     \
    }
        GP_MEMORY_CASES(GP_STORE_SOME)
    default: break;
    }
}

/* ---- positions ---- */

/* Division of n < 2^31 by a constant. Source: Granlund and Montgomery, "Division by invariant
 * integers using multiplication", 1994. */
typedef struct gp_divider {
    uint32_t d, magic, shift;
} gp_divider;
static inline gp_divider gp_divide_by(uint32_t d) {
    gp_divider v = {d, 0, 0};
    while (((uint64_t)1 << v.shift) < d) v.shift++;
    if (d == 0) d = v.d = 1; /* for an empty dim, which nothing is divided by */
    v.magic = (uint32_t)((((uint64_t)1 << 32) * (((uint64_t)1 << v.shift) - d)) / d + 1);
    return v;
}
__device__ static inline uint32_t gp_quotient(gp_divider v, uint32_t n) {
    return ((uint32_t)((uint64_t)n * v.magic >> 32) + n) >> v.shift;
}

/* Division of 0 <= n < most by d, with one multiplication where both have 31 bits. */
typedef struct gp_wide_divider {
    int64_t d;
    gp_divider by;
    bool wide;
} gp_wide_divider;
static inline gp_wide_divider gp_divide_up_to(int64_t most, int64_t d) {
    bool wide = most > (int64_t)1 << 31 || d >= (int64_t)1 << 31;
    gp_wide_divider v = {d, gp_divide_by(wide ? 1 : (uint32_t)d), wide};
    return v;
}
__device__ static inline int64_t gp_quotient(const gp_wide_divider &v, int64_t n) {
    return v.wide ? n / v.d : (int64_t)gp_quotient(v.by, (uint32_t)n);
}
/* n becomes the remainder. */
__device__ static inline int64_t gp_divide(const gp_wide_divider &v, int64_t *n) {
    int64_t q = gp_quotient(v, *n);
    *n -= q * v.d;
    return q;
}

/* N arrays of one shape for a kernel: its dims, the fastest first, and strides in bytes. Indices
 * have 32 bits; larger loops are launched in parts. */
template <int N> struct gp_loop {
    char *data[N];
    int ndim;       /* at least 1 */
    uint32_t numel; /* below 2^31 */
    gp_divider dim[GP_MAX_DIM];
    int64_t stride[GP_MAX_DIM][N];
};

/* The offset of element i in each array, in bytes from data. */
template <int N>
__device__ static inline void gp_offsets(const gp_loop<N> &l, uint32_t i, int64_t (&off)[N]) {
    for (int k = 0; k < N; k++) off[k] = 0;
#pragma unroll 1
    for (int d = 0; d < l.ndim - 1; d++) {
        uint32_t q = gp_quotient(l.dim[d], i), at = i - q * l.dim[d].d;
        for (int k = 0; k < N; k++) off[k] += at * l.stride[d][k];
        i = q;
    }
    for (int k = 0; k < N; k++) off[k] += i * l.stride[l.ndim - 1][k];
}

#ifndef __CUDACC_RTC__
/* The loop as the host plans it. Dims of size 1 are left out; dims that all arrays allow are
 * joined. */
template <int N> struct gp_nest {
    char *data[N];
    int ndim;
    int64_t numel, dim[GP_MAX_DIM], stride[GP_MAX_DIM][N];
};

template <int N> static void gp_nest_swap(gp_nest<N> *l, int a, int b) {
    int64_t t = l->dim[a];
    l->dim[a] = l->dim[b], l->dim[b] = t;
    for (int k = 0; k < N; k++)
        t = l->stride[a][k], l->stride[a][k] = l->stride[b][k], l->stride[b][k] = t;
}

template <int N> static bool gp_nest_can_coalesce(const gp_nest<N> *l, int inner, int outer) {
    for (int k = 0; k < N; k++)
        if (l->stride[outer][k] != l->stride[inner][k] * l->dim[inner]) return false;
    return true;
}

template <int N> static void gp_nest_coalesce(gp_nest<N> *l) {
    int n = 0;
    for (int d = 0; d < l->ndim; d++) {
        if (n && gp_nest_can_coalesce(l, n - 1, d)) {
            l->dim[n - 1] *= l->dim[d];
            continue;
        }
        l->dim[n] = l->dim[d];
        for (int k = 0; k < N; k++) l->stride[n][k] = l->stride[d][k];
        n++;
    }
    l->ndim = n;
}

/* arrays[1 …] are broadcast to arrays[0]'s shape. In the order of arrays[0]'s memory, or, where
 * elements are numbered (row_major), in the order of its dims. */
template <int N>
static gp_nest<N> gp_nest_of(const gp_array *const (&arrays)[N], bool row_major = false) {
    const gp_array *out = arrays[0];
    gp_nest<N> l;
    l.ndim = 0, l.numel = out->numel;
    for (int k = 0; k < N; k++) l.data[k] = arrays[k]->data;
    for (int i = out->ndim - 1; i >= 0; i--) {
        if (out->dim[i] == 1) continue;
        l.dim[l.ndim] = out->dim[i];
        for (int k = 0; k < N; k++) {
            const gp_array *a = arrays[k];
            int j = i - (out->ndim - a->ndim);
            int64_t size = gp_dtype_sizes[a->dtype];
            l.stride[l.ndim][k] = j < 0 || a->dim[j] == 1 ? 0 : a->stride[j] * size;
        }
        l.ndim++;
    }
    if (l.ndim == 0) {
        l.ndim = 1, l.dim[0] = out->numel;
        for (int k = 0; k < N; k++) l.stride[0][k] = 0;
        return l;
    }
    for (int i = 1; i < l.ndim && !row_major; i++)
        for (int j = i; j > 0; j--) {
            int64_t outer = l.stride[j][0], inner = l.stride[j - 1][0];
            if ((outer < 0 ? -outer : outer) >= (inner < 0 ? -inner : inner)) break;
            gp_nest_swap(&l, j - 1, j);
        }
    gp_nest_coalesce(&l);
    return l;
}

template <int N> static gp_loop<N> gp_loop_of(const gp_nest<N> &n) {
    gp_loop<N> l;
    l.ndim = n.ndim, l.numel = (uint32_t)n.numel;
    for (int k = 0; k < N; k++) l.data[k] = n.data[k];
    for (int d = 0; d < n.ndim; d++) {
        l.dim[d] = gp_divide_by((uint32_t)n.dim[d]);
        for (int k = 0; k < N; k++) l.stride[d][k] = n.stride[d][k];
    }
    return l;
}

/* Calls launch(gp_loop<N>, first) for parts of n below 2^31 elements, split along its slowest dim,
 * until one fails; first: the number of the part's first element. */
template <int N, class F> static bool gp_nest_run(gp_nest<N> n, F launch, int64_t first = 0) {
    const int64_t most = ((int64_t)1 << 31) - 1;
    if (n.numel == 0) return true;
    if (n.numel <= most) return launch(gp_loop_of(n), first);
    int last = n.ndim - 1;
    int64_t row = n.numel / n.dim[last], rows = n.dim[last];
    int64_t many = row <= most ? most / row : 1;
    for (int64_t at = 0; at < rows; at += many) {
        gp_nest<N> part = n;
        int64_t m = rows - at < many ? rows - at : many;
        part.dim[last] = m, part.numel = m * row;
        if (m == 1 && last > 0) part.ndim--;
        for (int k = 0; k < N; k++) part.data[k] += at * n.stride[last][k];
        if (!gp_nest_run(part, launch, first + at * row)) return false;
    }
    return true;
}

#endif
/* This thread's element of a part, and blocks for n of them. */
__device__ static inline uint32_t gp_element() { return blockIdx.x * GP_THREADS + threadIdx.x; }
static inline uint32_t gp_blocks(int64_t n, int64_t a_block = GP_THREADS) {
    return (uint32_t)((n + a_block - 1) / a_block);
}

#endif
