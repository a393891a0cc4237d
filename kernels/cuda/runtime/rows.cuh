/* Rows that groups of threads process together: vectors of 16 bytes, sums over a group, and a row's
 * elements kept in shared memory while they are needed. */
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
                                      int64_t from, int64_t apart, F f) {
    enum { AHEAD = D == GP_ANY ? 1 : V > 4 ? 2 : V == 1 ? 8 : 4 };
    for (int64_t i = from, k = 0; i < n; i += AHEAD * apart, k += AHEAD) {
        T v[V];
        if constexpr (D == GP_ANY) {
            gp_fetch<T, D, V>(v, x + i * step, dt);
            f(v, i, k);
        } else {
            gp_vector<typename gp_memory<D>::type, V> raw[AHEAD];
#pragma unroll
            for (int a = 0; a < AHEAD; a++)
                if (i + a * apart < n)
                    raw[a] =
                        *(const gp_vector<typename gp_memory<D>::type, V> *)(x + (i + a * apart) *
                                                                                     step);
#pragma unroll
            for (int a = 0; a < AHEAD; a++) {
                if (i + a * apart >= n) break;
#pragma unroll
                for (int j = 0; j < V; j++) v[j] = gp_load_as<T>(&raw[a].v[j], (gp_dtype)D);
                f(v, i + a * apart, k + a);
            }
        }
    }
}

/* Calls f(x, y, i) for a thread's vectors of two rows, as gp_each does for one. */
template <class T, int D, int V, class F>
__device__ static inline void gp_each_two(const char *x, int64_t xstep, gp_dtype xt, const char *y,
                                          int64_t ystep, gp_dtype yt, int64_t n, int64_t from,
                                          int64_t apart, F f) {
    enum { AHEAD = D == GP_ANY ? 1 : V > 4 ? 2 : 4 };
    for (int64_t i = from; i < n; i += AHEAD * apart) {
        T v[V], u[V];
        if constexpr (D == GP_ANY) {
            gp_fetch<T, D, V>(v, x + i * xstep, xt), gp_fetch<T, D, V>(u, y + i * ystep, yt);
            f(v, u, i);
        } else {
            typedef gp_vector<typename gp_memory<D>::type, V> vector;
            vector some[AHEAD], more[AHEAD];
#pragma unroll
            for (int a = 0; a < AHEAD; a++) {
                if (i + a * apart >= n) break;
                some[a] = *(const vector *)(x + (i + a * apart) * xstep);
                more[a] = *(const vector *)(y + (i + a * apart) * ystep);
            }
#pragma unroll
            for (int a = 0; a < AHEAD; a++) {
                if (i + a * apart >= n) break;
#pragma unroll
                for (int j = 0; j < V; j++)
                    v[j] = gp_load_as<T>(&some[a].v[j], (gp_dtype)D),
                    u[j] = gp_load_as<T>(&more[a].v[j], (gp_dtype)D);
                f(v, u, i + a * apart);
            }
        }
    }
}

/* N vectors of a thread of a row that its group holds in registers, as they are in memory. */
template <class T, int D, int V, int N> struct gp_held {
    typedef typename std::conditional<D == GP_ANY, T, typename gp_memory<D>::type>::type M;
    gp_vector<M, V> raw[N];
    /* Reads those of a row of n elements that begin at `from` and are `apart` from each other, all
     * before the first is used; no value past the row's end. */
    __device__ inline void read(const char *x, int64_t step, gp_dtype dt, int n, int from,
                                int apart) {
        const char *at = x + from * step;
        int64_t next = apart * step;
        if constexpr (D == GP_ANY) {
            const char *p[N];
            T one[N];
            for (int k = 0; k < N; k++) p[k] = from + k * apart < n ? at + k * next : x;
            gp_load_at<T, N>(p, dt, one);
            for (int k = 0; k < N; k++) raw[k].v[0] = one[k];
        } else {
#pragma unroll
            for (int k = 0; k < N; k++)
                if (from + k * apart < n) raw[k] = *(const gp_vector<M, V> *)(at + k * next);
        }
    }
    __device__ inline T at(int k, int j) const {
        if constexpr (D == GP_ANY) return raw[k].v[j];
        else return gp_load_as<T>(&raw[k].v[j], (gp_dtype)D);
    }
};

/* Reads up to N elements of a column of n, those from i on that are blockDim.y apart, all before
 * the first is used; returns how many. */
template <class T, int D, int N>
__device__ static inline int gp_column_ahead(T (&v)[N], const char *x, int64_t step, gp_dtype dt,
                                             int64_t i, int64_t n) {
    int have = 0;
    if constexpr (D == GP_ANY) { /* the last one is read again where there are fewer */
        const char *at[N];
        int64_t from = i;
        for (int k = 0; k < N; k++, i += blockDim.y) {
            if (i < n) from = i, have = k + 1;
            at[k] = x + from * step;
        }
        gp_load_at<T, N>(at, dt, v);
    } else {
#pragma unroll
        for (int k = 0; k < N; k++) {
            T one[1];
            if (i + k * blockDim.y >= n) continue;
            gp_fetch<T, D, 1>(one, x + (i + k * blockDim.y) * step, dt);
            v[k] = one[0], have = k + 1;
        }
    }
    return have;
}

/* Calls fn<T, D, V>(...) for dtype dt of a plain row, fn<T, D, 1>(...) where all rows are `same`,
 * of dt, or fn<T, GP_ANY, 1>(...). */
#define GP_BY_ROW(plain, same, dt, wide, fn, ...)                                                  \
    ((plain) && (dt) == GP_f32    ? fn<float, GP_f32, 4>(__VA_ARGS__)                              \
     : (plain) && (dt) == GP_f16  ? fn<float, GP_f16, 8>(__VA_ARGS__)                              \
     : (plain) && (dt) == GP_bf16 ? fn<float, GP_bf16, 8>(__VA_ARGS__)                             \
     : (plain) && (dt) == GP_f64  ? fn<double, GP_f64, 2>(__VA_ARGS__)                             \
     : (same) && (dt) == GP_f32   ? fn<float, GP_f32, 1>(__VA_ARGS__)                              \
     : (same) && (dt) == GP_f16   ? fn<float, GP_f16, 1>(__VA_ARGS__)                              \
     : (same) && (dt) == GP_bf16  ? fn<float, GP_bf16, 1>(__VA_ARGS__)                             \
     : (same) && (dt) == GP_f64   ? fn<double, GP_f64, 1>(__VA_ARGS__)                             \
     : (wide)                     ? fn<double, GP_ANY, 1>(__VA_ARGS__)                             \
                                  : fn<float, GP_ANY, 1>(__VA_ARGS__))

/* Whether rows of n elements of dtype dt, contiguous from p on, can be read as vectors. */
static inline bool gp_row_plain(const void *p, int64_t n, gp_dtype dt) {
    return gp_aligned(p, 16) && n * gp_dtype_sizes[dt] % 16 == 0;
}

/* How rows are divided: `group` threads (a power of two from 32 on) per row, threads / group rows
 * per block; kept: elements of a row's slot in shared memory, 0 where a row does not fit. */
typedef struct gp_group {
    int group, threads;
    int64_t kept;
    size_t shared;
} gp_group;

/* For rows of n elements, V at once, with `copies` kept, of size bytes; each: the vectors of a
 * thread where the largest group need not take more. */
static inline gp_group gp_group_of(int64_t n, int V, int copies, size_t size, int each = 4) {
    gp_group g = {GP_WARP, 0, 0, 0};
    int64_t pieces = (n + V - 1) / V;
    while (g.group < GP_GROUP_MAX && pieces > each * g.group) g.group *= 2;
    g.threads = g.group > 256 ? g.group : 256;
    g.kept = (pieces + g.group - 1) / g.group * g.group * V;
    size_t row = (size_t)(g.kept * copies) * size;
    while (g.threads > g.group && row * (size_t)(g.threads / g.group) > GP_SHARED_MOST)
        g.threads /= 2;
    g.shared = row * (size_t)(g.threads / g.group);
    if (g.shared > GP_SHARED_MOST) g.kept = 0, g.shared = 0;
    return g;
}
/* Whether the threads of a group have a row of n elements, V at once, in `each` vectors. */
static inline bool gp_group_holds(const gp_group *g, int64_t n, int V, int each) {
    return (n + V - 1) / V <= (int64_t)each * g->group;
}
static inline uint32_t gp_group_blocks(const gp_group *g, int64_t rows) {
    return gp_blocks(rows, g->threads / g->group);
}

/* The number of this thread's group in the grid, where `group` divides the block: 32 bits hold the
 * number of a group where they do not hold that of a thread. */
__device__ static inline uint32_t gp_group_number(int group) {
    return blockIdx.x * (blockDim.x / (unsigned)group) + threadIdx.x / (unsigned)group;
}

/* Adjacent elements of a thread are kept `group` apart, which avoids bank conflicts in a warp. */
template <class T> struct gp_row_cache {
    T *p;
    int group, lane;
    __device__ T &at(int64_t step, int V, int k) const { return p[(step * V + k) * group + lane]; }
};

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
    __shared__ T room[32];
    v = gp_lanes_reduce(v, GP_WARP, join);
    if (group == GP_WARP) return v;
    int warp = threadIdx.x / GP_WARP, many = group / GP_WARP, first = warp & -many;
    __syncthreads(); /* the last call's results have been read */
    if (threadIdx.x % GP_WARP == 0) room[warp] = v;
    __syncthreads();
    v = room[first];
    for (int k = 1; k < many; k++) v = join(v, room[first + k]);
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
