/* Rows that groups of threads process together: vectors of 16 bytes, and sums over a group. */
#ifndef GP_CUDA_ROWS_CUH
#define GP_CUDA_ROWS_CUH

#include <type_traits>

#include "kernels/cuda/runtime/loop.cuh"

/* Kernels take the dtype of memory as a constant D where rows are vectors; GP_ANY: it is known at
 * run time, and elements are read one at a time. */
enum { GP_ANY = GP_DTYPES, GP_WARP = 32 };
/* Threads of the largest group. Its kernels declare it by __launch_bounds__: otherwise the compiler
 * may use more than the 64 registers available per thread, and the launch fails. */
enum { GP_GROUP_MAX = 1024 };

template <int D> struct gp_memory { typedef uint16_t type; };
template <> struct gp_memory<GP_f32> { typedef float type; };
template <> struct gp_memory<GP_f64> { typedef double type; };

/* V elements at p in compute type T: one of dtype dt where D is GP_ANY, else of D, one or 16 bytes
 * in all. */
template <class T, int D, int V>
__device__ static inline void gp_fetch(T (&v)[V], const char *p, gp_dtype dt) {
    if constexpr (D == GP_ANY) {
        v[0] = gp_load_as<T>(p, dt);
    } else {
        typedef typename gp_memory<D>::type M;
        gp_vector<M, V> raw = *(const gp_vector<M, V> *)p;
#pragma unroll
        for (int k = 0; k < V; k++) v[k] = gp_load_as<T>(&raw.v[k], (gp_dtype)D);
    }
}
template <class T, int D, int V>
__device__ static inline void gp_store_vector(char *p, const T (&v)[V], gp_dtype dt) {
    if constexpr (D == GP_ANY) {
        gp_store_as<T>(p, dt, v[0]);
    } else {
        gp_vector<typename gp_memory<D>::type, V> raw;
#pragma unroll
        for (int k = 0; k < V; k++) gp_store_as<T>(&raw.v[k], (gp_dtype)D, v[k]);
        *(gp_vector<typename gp_memory<D>::type, V> *)p = raw;
    }
}

/* Calls f(v, i, k) for a thread's vectors of a row of n elements, `step` bytes apart: those from
 * element i = from on, then every `apart`; k counts them. Several are read before the first is
 * used: a memory-bound thread needs that many bytes in flight. */
template <class T, int D, int V, class F>
__device__ static inline void gp_each(const char *x, int64_t step, gp_dtype dt, int64_t n,
                                      int64_t from, int64_t spacing, F f) {
    enum { AHEAD = D == GP_ANY ? 1 : V > 4 ? 2 : V == 1 ? 8 : 4 };
    for (int64_t i = from, k = 0; i < n; i += AHEAD * spacing, k += AHEAD) {
        T v[V];
        if constexpr (D == GP_ANY) {
            gp_fetch<T, D, V>(v, x + i * step, dt);
            f(v, i, k);
        } else {
            gp_vector<typename gp_memory<D>::type, V> raw[AHEAD];
#pragma unroll
            for (int a = 0; a < AHEAD; a++)
                if (i + a * spacing < n)
                    raw[a] =
                        *(const gp_vector<typename gp_memory<D>::type, V> *)(x + (i + a * spacing) *
                                                                                     step);
#pragma unroll
            for (int a = 0; a < AHEAD; a++) {
                if (i + a * spacing >= n) break;
#pragma unroll
                for (int j = 0; j < V; j++) v[j] = gp_load_as<T>(&raw[a].v[j], (gp_dtype)D);
                f(v, i + a * spacing, k + a);
            }
        }
    }
}

/* Calls fn<T, D>(...) where all rows are `same`, of dtype dt, else fn<T, GP_ANY>(...). */
#define GP_BY_ROW(same, dt, wide, fn, ...)                                                         \
    ((same) && (dt) == GP_f32    ? fn<float, GP_f32>(__VA_ARGS__)                                  \
     : (same) && (dt) == GP_f16  ? fn<float, GP_f16>(__VA_ARGS__)                                  \
     : (same) && (dt) == GP_bf16 ? fn<float, GP_bf16>(__VA_ARGS__)                                 \
     : (same) && (dt) == GP_f64  ? fn<double, GP_f64>(__VA_ARGS__)                                 \
     : (wide)                    ? fn<double, GP_ANY>(__VA_ARGS__)                                 \
                                 : fn<float, GP_ANY>(__VA_ARGS__))

/* Whether rows of n elements of dtype dt, contiguous from p on, can be read as vectors. */
static inline bool gp_row_plain(const void *p, int64_t n, gp_dtype dt) {
    return gp_aligned(p, 16) && n * gp_dtype_sizes[dt] % 16 == 0;
}

/* Threads of a group for rows of n elements in vectors of V, of which a thread holds `each`: a
 * vector a thread in a warp's part, then more of them, then more warps. */
static inline int gp_group_threads(int64_t n, int V, int each) {
    int64_t vectors = (n + V - 1) / V;
    int group = 1;
    while (group < GP_WARP && group < vectors) group *= 2;
    while (group < GP_GROUP_MAX && vectors > (int64_t)each * group) group *= 2;
    return group;
}

/* Threads of a block of such groups. */
static inline int gp_group_block(int group) { return group > GP_THREADS ? group : (int)GP_THREADS; }

/* The number of this thread's group in the grid, where `group` divides the block: 32 bits hold the
 * number of a group where they do not hold that of a thread. */
__device__ static inline uint32_t gp_group_number(int group) {
    return blockIdx.x * (blockDim.x / (unsigned)group) + threadIdx.x / (unsigned)group;
}

struct gp_add {
    template <class T> __device__ T operator()(T a, T b) const { return a + b; }
};
struct gp_max {
    template <class T> __device__ T operator()(T a, T b) const { return b > a ? b : a; }
};

/* Combines v of adjacent lanes of a warp, a power of two of them, the same result in each. Called
 * by whole warps. */
template <class T, class F> __device__ static inline T gp_lanes_reduce(T v, int lanes, F join) {
    for (int d = lanes / 2; d > 0; d /= 2) v = join(v, __shfl_xor_sync(0xffffffffu, v, d));
    return v;
}

/* Combines v of all threads of a group, the same result in each, always in one order. Called by all
 * threads of the block. */
template <class T, class F> __device__ static T gp_group_reduce(T v, int group, F join) {
    __shared__ T shared[32];
    v = gp_lanes_reduce(v, group < GP_WARP ? group : (int)GP_WARP, join);
    if (group <= GP_WARP) return v;
    int warp = threadIdx.x / GP_WARP, many = group / GP_WARP, first = warp & -many;
    __syncthreads(); /* the last call's results have been read */
    if (threadIdx.x % GP_WARP == 0) shared[warp] = v;
    __syncthreads();
    v = shared[first];
    for (int k = 1; k < many; k++) v = join(v, shared[first + k]);
    return v;
}

/* a without dim d. */
static inline gp_array gp_without(const gp_array *a, int d) {
    gp_array r = *a;
    if (a->ndim == 0) return r;
    r.ndim--;
    if (a->dim[d]) r.numel /= a->dim[d];
    for (int i = d; i < r.ndim; i++) r.dim[i] = a->dim[i + 1], r.stride[i] = a->stride[i + 1];
    return r;
}
static inline int64_t gp_step(const gp_array *a, int d) { /* bytes between elements of dim d */
    return a->ndim ? a->stride[d] * (int64_t)gp_dtype_sizes[a->dtype] : 0;
}

/* i / n, in 32 bits where they suffice. */
__device__ static inline int64_t gp_divided(int64_t i, int64_t n) {
    return (i | n) >> 32 ? i / n : (int64_t)((uint32_t)i / (uint32_t)n);
}

/* One element of size bytes. */
__device__ static inline void gp_copy_element(char *to, const char *from, int size) {
    if (size == 4) *(uint32_t *)to = *(const uint32_t *)from;
    else if (size == 8) *(uint64_t *)to = *(const uint64_t *)from;
    else if (size == 2) *(uint16_t *)to = *(const uint16_t *)from;
    else *to = *from;
}

/* A contiguous array of a's dims, of dtype dt, at p. */
static inline gp_array gp_dense_over(const gp_array *a, gp_dtype dt, void *p) {
    gp_array r = *a;
    r.data = (char *)p, r.dtype = (uint8_t)dt, r.contiguous = true;
    int64_t step = 1;
    for (int d = r.ndim - 1; d >= 0; d--) r.stride[d] = step, step *= r.dim[d];
    return r;
}

#endif
