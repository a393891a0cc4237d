/* Reductions over any set of dims on a CUDA device: the kernels and the driver that pass every
 * layout and dtype to a reducer. Limit: reading memory once. The shapes alone decide the order of
 * combination, and nothing is added by atomics: the same numbers give the same bits.
 *
 * A reducer R has: T, the compute type of elements; Acc, an accumulator; start(Acc &); fold(Acc &,
 * T x, p, at) for element number `at` of those reduced into one; join(Acc &, const Acc &); and
 * finish(const Acc &, count, p, k, to, dt), which stores output k. p is a parameter of the op.
 * LEAN: elements are loaded only one at a time, which nvcc compiles in half the time. */
#ifndef GP_CUDA_REDUCE_CUH
#define GP_CUDA_REDUCE_CUH

#include <type_traits>

#include "kernels/cuda/runtime/loop.cuh"

/* ---- positions: as gp_loop's, for one array of any size ---- */

typedef struct gp_strided_offsets {
    int ndim;  /* 0: one position */
    bool wide; /* larger than 32-bit divisions allow */
    gp_divider by[GP_MAX_DIM];
    int64_t dim[GP_MAX_DIM], stride[GP_MAX_DIM]; /* the fastest first; bytes */
} gp_strided_offsets;

__device__ static inline int64_t gp_strided_offset(const gp_strided_offsets &s, int64_t i) {
    int64_t off = 0;
#pragma unroll 1
    for (int d = 0; d < s.ndim - 1; d++) {
        int64_t q = s.wide ? i / s.dim[d] : gp_quotient(s.by[d], (uint32_t)i);
        off += (i - q * s.dim[d]) * s.stride[d];
        i = q;
    }
    return s.ndim ? off + i * s.stride[s.ndim - 1] : off;
}

typedef struct gp_reduction {
    const char *x;
    char *out[2], *partial; /* partial: parts x outputs accumulators */
    uint8_t dtype, to[2];   /* of x in memory; of the results */
    int nout, parts, group; /* group: threads on one output; across columns */
    int fold;               /* rows of a folded row: short.cuh */
    int64_t count, outputs; /* elements reduced into one */
    int64_t pieces;         /* loads of them: vectors along rows, single elements down columns */
    int64_t width, step; /* columns: size of the kept dim that they run along; bytes between them;
                            short rows: rows of a block */
    gp_strided_offsets kept, red; /* columns: kept without that dim */
    double p;
} gp_reduction;

/* ---- loading: raw memory first, so that UNROLL loads overlap ---- */

template <class Type> struct gp_load_packed { /* elements of compute type, 16 bytes of them */
    typedef Type T;
    enum { MANY = 16 / sizeof(T), UNROLL = 4 };
    typedef gp_vector<T, MANY> Raw;
    __device__ static inline Raw load(const char *p, int) { return *(const Raw *)p; }
    __device__ static inline T number(const Raw &m, int j, int) { return m.v[j]; }
};
struct gp_load_halves { /* 16-bit floats, 16 bytes of them */
    typedef float T;
    enum { MANY = 8, UNROLL = 4 };
    typedef gp_vector<uint16_t, MANY> Raw;
    __device__ static inline Raw load(const char *p, int) { return *(const Raw *)p; }
    __device__ static inline float one(uint16_t v, int dt) {
        return dt == GP_f16 ? gp_f16_as_f32(v) : gp_bf16_as_f32(v);
    }
    __device__ static inline float number(const Raw &m, int j, int dt) { return one(m.v[j], dt); }
};
template <class Type> struct gp_load_single { /* one element of any dtype */
    typedef Type T;
    enum { MANY = 1, UNROLL = 4 };
    typedef T Raw;
    __device__ static inline Raw load(const char *p, int dt) {
        return gp_load_as<T>(p, (gp_dtype)dt);
    }
    __device__ static inline T number(const Raw &m, int, int) { return m; }
};

/* ---- kernels ---- */

/* What R's fold is given as p with the elements of the output whose first one is at `first`: the
 * op's parameter, unless a reducer says otherwise. */
template <class R> struct gp_fold_parameter {
    __device__ static inline double of(const gp_reduction &a, const char *) { return a.p; }
};

template <class R>
__device__ static inline void gp_reduced(const gp_reduction &a, int64_t o, int64_t part,
                                         const typename R::Acc &acc) {
    if (a.parts > 1) {
        ((typename R::Acc *)a.partial)[part * a.outputs + o] = acc;
        return;
    }
    for (int k = 0; k < a.nout; k++) {
        gp_dtype dt = (gp_dtype)a.to[k];
        R::finish(acc, (double)a.count, a.p, k, a.out[k] + o * gp_bytes_of(dt), dt);
    }
}

/* Combines the accumulators in `room` of groups of `group` threads, `step` apart; lane: a thread's
 * number in its group. The first of each group gets the result. */
template <class R>
__device__ static inline void gp_join_group(typename R::Acc *shared, int group, int lane,
                                            int step) {
    for (int d = group / 2; d > 0; d /= 2) {
        __syncthreads();
        if (lane < d) R::join(shared[threadIdx.x], shared[threadIdx.x + d * step]);
    }
}

/* Along rows: adjacent threads of a group take adjacent pieces of one output's elements. */
template <class R, class L>
__device__ static inline void gp_reduce_rows(const gp_reduction &a, const L &from) {
    typedef typename R::Acc Acc;
    enum { LANES = sizeof(Acc) <= 8 ? (int)L::MANY : 1 };
    GP_DYNAMIC_SHARED(Acc, shared);
    int lane = (int)threadIdx.x % a.group;
    int64_t unit = (int64_t)blockIdx.x * (GP_THREADS / a.group) + threadIdx.x / a.group;
    int64_t o = unit / a.parts, part = unit - o * a.parts;
    bool live = o < a.outputs;
    Acc acc[LANES];
#pragma unroll
    for (int j = 0; j < LANES; j++) R::start(acc[j]);
    int64_t i = a.pieces * part / a.parts + lane, to = live ? a.pieces * (part + 1) / a.parts : 0;
    const char *p = a.x + (live ? gp_strided_offset(a.kept, o) : 0);
    const auto with = gp_fold_parameter<R>::of(a, i < to ? p : nullptr);
    for (; i < to; i += a.group * L::UNROLL) {
        typename L::Raw v[L::UNROLL];
#pragma unroll
        for (int u = 0; u < L::UNROLL; u++)
            if (i + u * a.group < to)
                v[u] = from.load(p + gp_strided_offset(a.red, i + u * a.group), a.dtype);
#pragma unroll
        for (int u = 0; u < L::UNROLL; u++) {
            if (i + u * a.group >= to) break;
#pragma unroll
            for (int j = 0; j < L::MANY; j++)
                R::fold(acc[j % LANES], from.number(v[u], j, a.dtype), with,
                        (i + u * a.group) * L::MANY + j);
        }
    }
#pragma unroll
    for (int j = 1; j < LANES; j++) R::join(acc[0], acc[j]);
    shared[threadIdx.x] = acc[0];
    gp_join_group<R>(shared, a.group, lane, 1);
    if (live && lane == 0) gp_reduced<R>(a, o, part, shared[threadIdx.x]);
}
template <class R, class L>
__global__ static void __launch_bounds__(GP_THREADS) gp_rows_kernel(gp_reduction a) {
    gp_reduce_rows<R>(a, L());
}

/* Down columns: adjacent threads take adjacent outputs, `group` of them, and the rest of a block
 * the rows in turn. */
template <class R, class L>
__device__ static inline void gp_reduce_columns(const gp_reduction &a, const L &from) {
    typedef typename R::Acc Acc;
    enum { MANY = L::MANY, UNROLL = MANY > 4 ? 2 : (int)L::UNROLL }; /* as registers allow */
    GP_DYNAMIC_SHARED(Acc, shared);
    int x = (int)threadIdx.x % a.group, y = (int)threadIdx.x / a.group, rows = GP_THREADS / a.group;
    int64_t across = (int64_t)a.group * MANY, per_row = (a.width + across - 1) / across;
    int64_t unit = blockIdx.x / a.parts, part = blockIdx.x - unit * a.parts;
    int64_t outer = unit / per_row, col = (unit - outer * per_row) * across + x * MANY;
    bool live = col < a.width;
    Acc acc[MANY];
    int64_t i = a.pieces * part / a.parts + y, to = live ? a.pieces * (part + 1) / a.parts : 0;
    const char *p = a.x + gp_strided_offset(a.kept, outer) + (live ? col * a.step : 0);
    decltype(gp_fold_parameter<R>::of(a, p)) with[MANY];
#pragma unroll
    for (int j = 0; j < MANY; j++) {
        R::start(acc[j]);
        with[j] =
            gp_fold_parameter<R>::of(a, i < to ? p + j * gp_bytes_of((gp_dtype)a.dtype) : nullptr);
    }
    for (; i < to; i += rows * UNROLL) {
        typename L::Raw v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (i + u * rows < to)
                v[u] = from.load(p + gp_strided_offset(a.red, i + u * rows), a.dtype);
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            if (i + u * rows >= to) break;
#pragma unroll
            for (int j = 0; j < MANY; j++)
                R::fold(acc[j], from.number(v[u], j, a.dtype), with[j], i + u * rows);
        }
    }
#pragma unroll
    for (int j = 0; j < MANY; j++) {
        __syncthreads();
        shared[threadIdx.x] = acc[j];
        gp_join_group<R>(shared, rows, y, a.group);
        if (live && y == 0) gp_reduced<R>(a, outer * a.width + col + j, part, shared[threadIdx.x]);
    }
}
template <class R, class L>
__global__ static void __launch_bounds__(GP_THREADS) gp_columns_kernel(gp_reduction a) {
    gp_reduce_columns<R>(a, L());
}

/* Combines the parts of each output by a.group threads. */
template <class R> __device__ static inline void gp_reduce_parts(const gp_reduction &a, int parts) {
    typedef typename R::Acc Acc;
    GP_DYNAMIC_SHARED(Acc, shared);
    int lane = (int)threadIdx.x % a.group;
    int64_t o = (int64_t)blockIdx.x * (GP_THREADS / a.group) + threadIdx.x / a.group;
    Acc acc;
    R::start(acc);
#pragma unroll 4
    for (int i = lane; i < parts && o < a.outputs; i += a.group)
        R::join(acc, ((const Acc *)a.partial)[i * a.outputs + o]);
    shared[threadIdx.x] = acc;
    gp_join_group<R>(shared, a.group, lane, 1);
    if (lane == 0 && o < a.outputs) gp_reduced<R>(a, o, 0, shared[threadIdx.x]);
}
template <class R>
__global__ static void __launch_bounds__(GP_THREADS) gp_parts_kernel(gp_reduction a, int parts) {
    gp_reduce_parts<R>(a, parts);
}

#ifndef __CUDACC_RTC__
#include "kernels/cuda/reduce/short.cuh"

/* ---- the driver ---- */

/* One reducer's kernels, of one type whatever the reducer; [1]: down columns; [2], [3]: short rows
 * and narrow columns, where there are such. */
enum { GP_REDUCE_ROWS, GP_REDUCE_COLUMNS, GP_REDUCE_SHORT_ROWS, GP_REDUCE_NARROW_COLUMNS };
typedef struct gp_reducer_kernels {
    typedef void (*kernel)(gp_reduction);
    kernel whole[4], halves[4], single[2];
    void (*parts)(gp_reduction, int);
    gp_dtype dtype; /* of elements of compute type */
    int acc;        /* bytes of an accumulator */
    /* A program's, compiled later: launches one of its own kernels, of which those above are
     * numbers; nullptr: parts. Where launch is nullptr, these are launched. */
    bool (*launch)(const gp_call *c, const gp_reducer_kernels *k, const void *kernel,
                   uint32_t blocks, const gp_reduction *a, int parts);
    const void *program;
} gp_reducer_kernels;

/* Splits x's dims into kept and reduced ones, each joined where their memory allows; the reduced
 * ones in the order of their memory. */
void gp_reduce_split(const gp_array *x, uint64_t mask, gp_reduction *a);
/* Runs a's reduction; a's x, dtype, count, outputs, kept and red are as gp_reduce_split leaves
 * them. */
bool gp_reduce_run(const gp_call *c, const gp_reducer_kernels *k, gp_reduction a);

template <class R> static gp_reducer_kernels gp_kernels_of() {
    typedef typename R::T T;
    gp_reducer_kernels k = {};
    k.single[0] = gp_rows_kernel<R, gp_load_single<T>>,
    k.single[1] = gp_columns_kernel<R, gp_load_single<T>>;
    if constexpr (!R::LEAN)
        k.whole[0] = gp_rows_kernel<R, gp_load_packed<T>>,
        k.whole[1] = gp_columns_kernel<R, gp_load_packed<T>>,
        k.whole[2] = gp_short_kernel<R, gp_load_packed<T>>,
        k.whole[3] = gp_narrow_kernel<R, gp_load_packed<T>>;
    if constexpr (!R::LEAN && std::is_same<T, float>::value)
        k.halves[0] = gp_rows_kernel<R, gp_load_halves>,
        k.halves[1] = gp_columns_kernel<R, gp_load_halves>,
        k.halves[2] = gp_short_kernel<R, gp_load_halves>,
        k.halves[3] = gp_narrow_kernel<R, gp_load_halves>;
    k.parts = gp_parts_kernel<R>;
    k.dtype = gp_memory_of<T>::dtype;
    k.acc = sizeof(typename R::Acc);
    return k;
}

/* x over the dims of the mask, into the outputs of c. */
template <class R>
static bool gp_reduce_of(const gp_call *c, const gp_array *x, uint64_t mask, double p) {
    gp_reduction a = {};
    gp_reducer_kernels k = gp_kernels_of<R>();
    gp_reduce_split(x, mask, &a);
    a.p = p;
    return gp_reduce_run(c, &k, a);
}
/* Argument 0 of c over the dims in argument `dims`. */
template <class R> static bool gp_reduce(const gp_call *c, int dims, double p) {
    return gp_reduce_of<R>(c, gp_in(c, 0), (uint64_t)c->arg[dims].i, p);
}
#endif

#endif
