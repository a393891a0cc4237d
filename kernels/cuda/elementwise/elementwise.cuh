/* Elementwise ops on a CUDA device: the kernels and the driver that run a formula over any layout
 * and dtype. Limit: every byte of operands and result once, at the speed of memory. */
#ifndef GP_CUDA_ELEMENTWISE_CUH
#define GP_CUDA_ELEMENTWISE_CUH

#include "kernels/cuda/elementwise/elements.cuh"

/* ---- vectors ---- */

template <class T, class M> struct gp_in_memory { /* M is T, or the bits of a smaller dtype */
    __device__ static inline T get(M m, int dt) { return m; }
    __device__ static inline M store(T v, int dt) { return v; }
};
template <> struct gp_in_memory<float, uint16_t> {
    __device__ static inline float get(uint16_t m, int dt) {
        return dt == GP_f16 ? gp_f16_as_f32(m) : gp_bf16_as_f32(m);
    }
    __device__ static inline uint16_t store(float v, int dt) {
        return dt == GP_f16 ? gp_f32_as_f16(v) : gp_f32_as_bf16(v);
    }
};
template <> struct gp_in_memory<int32_t, uint16_t> { /* i16 */
    __device__ static inline int32_t get(uint16_t m, int dt) { return (int16_t)m; }
    __device__ static inline uint16_t store(int32_t v, int dt) { return (uint16_t)v; }
};
template <> struct gp_in_memory<int32_t, uint8_t> { /* i8, u8, bool */
    __device__ static inline int32_t get(uint8_t m, int dt) { return dt == GP_i8 ? (int8_t)m : m; }
    __device__ static inline uint8_t store(int32_t v, int dt) {
        return dt == GP_bool ? v != 0 : (uint8_t)v;
    }
};
template <class T> struct gp_in_memory<T, uint8_t> { /* a bool, as a result */
    __device__ static inline uint8_t store(uint8_t v, int dt) { return v; }
};

/* V elements of an operand as they are in memory, or the one for a whole row. They are not
 * converted yet, nor put into one register, so that all loads of a thread overlap. */
template <class M, int V> struct gp_raw_vectors {
    gp_vector<M, V> each;
    M one;
};
/* The vectors of a thread, GP_THREADS apart, and where their results go. */
template <int N, class T, class M, int V, int U>
__device__ static inline void gp_read_vectors(const gp_loop<1 + N> &l,
                                              const gp_formula_args<N, T> &a, uint32_t first,
                                              gp_raw_vectors<M, V> (&m)[U][N], char *(&to)[U]) {
#pragma unroll
    for (int r = 0; r < U; r++) {
        uint32_t i = first + r * GP_THREADS;
        int64_t off[1 + N];
        if (i >= l.numel) break;
        gp_offsets(l, i, off);
        to[r] = l.data[0] + off[0];
#pragma unroll
        for (int k = 0; k < N; k++) {
            const char *p = l.data[1 + k] + off[1 + k];
            if (a.source[k] == GP_EACH) m[r][k].each = *(const gp_vector<M, V> *)p;
            else if (a.source[k] == GP_ONE) m[r][k].one = *(const M *)p;
        }
    }
}
/* A vector of each operand in compute type. */
template <int N, class T, class M, int V>
__device__ static inline void gp_convert_vectors(const gp_formula_args<N, T> &a,
                                                 const gp_raw_vectors<M, V> (&m)[N], T (&u)[V][N]) {
    typedef gp_in_memory<T, M> memory;
#pragma unroll
    for (int k = 0; k < N; k++) {
        if (a.source[k] == GP_EACH) {
#pragma unroll
            for (int j = 0; j < V; j++) u[j][k] = memory::get(m[k].each.v[j], a.dtype[1 + k]);
            continue;
        }
        T one = a.source[k] == GP_ONE ? memory::get(m[k].one, a.dtype[1 + k]) : a.number[k];
#pragma unroll
        for (int j = 0; j < V; j++) u[j][k] = one;
    }
}
/* Writes a vector of results; M: the operands' type in memory. */
template <class T, class M, class R, int V, int N>
__device__ static inline void gp_write_vector(const gp_formula_args<N, T> &a, char *p,
                                              const R (&v)[V]) {
    typedef typename std::conditional<sizeof(R) == 1, uint8_t, M>::type W;
    gp_vector<W, V> to;
#pragma unroll
    for (int j = 0; j < V; j++) {
        R one = v[j];
        if (sizeof(M) == 1 && a.lowest) one = (int64_t)one & 1;
        to.v[j] = gp_in_memory<T, W>::store(one, a.dtype[0]);
    }
    *(gp_vector<W, V> *)p = to;
}

/* U vectors of V elements per thread, GP_THREADS apart: enough loads in flight to hide the memory's
 * latency. Elements of the loop are vectors. */
template <class F, class M, int V, int U>
__global__ static void __launch_bounds__(GP_THREADS)
    gp_vector_kernel(gp_loop<1 + F::N> l, gp_args_of<F> a) {
    F f = gp_formula_of<F>(a);
    gp_raw_vectors<M, V> m[U][F::N];
    char *to[U];
    const uint32_t first = blockIdx.x * (GP_THREADS * U) + threadIdx.x;
    gp_read_vectors(l, a, first, m, to);
#pragma unroll
    for (int r = 0; r < U; r++) {
        typename F::T u[V][F::N];
        typename F::R v[V];
        if (first + r * GP_THREADS >= l.numel) break;
        gp_convert_vectors(a, m[r], u);
#pragma unroll
        for (int j = 0; j < V; j++) v[j] = f(u[j]);
        gp_write_vector<typename F::T, M>(a, to[r], v);
    }
    gp_formula_end(f.fault, a.fault);
}

/* ---- the driver ---- */

enum { GP_MAX_VECTORS = 2 };
/* The number of vectors of `size`-byte elements per thread, for a formula of n operands. */
constexpr int gp_vectors_each(int n, int size) { return n <= 2 && size > 2 ? GP_MAX_VECTORS : 1; }

/* Whether the loop can run by vectors of 16 bytes of `size`-byte elements, `to` bytes each in the
 * result. Rows must begin at multiples of a vector; a single row may end anywhere. */
template <int N, class T>
static bool gp_by_vectors(const gp_nest<1 + N> &l, gp_formula_args<N, T> *a, int size, int to) {
    const int V = 16 / size;
    if (l.stride[0][0] != to || (l.ndim > 1 && l.dim[0] % V) || l.dim[0] < V) return false;
    for (int k = 0; k <= N; k++) {
        int64_t bytes = k ? 16 : to * V;
        if (k && a->source[k - 1] == GP_NUMBER_OPERAND) continue;
        if (k && l.stride[0][k] == 0) {
            a->source[k - 1] = GP_ONE;
            continue;
        }
        if (k && l.stride[0][k] != size) return false;
        if (!gp_aligned(l.data[k], (size_t)bytes)) return false;
        for (int d = 1; d < l.ndim; d++)
            if (l.stride[d][k] % bytes) return false;
    }
    return true;
}

/* The remainder after the last vector is computed element by element. */
template <int N, class T>
static bool gp_run_vectors(const gp_call *c, const gp_formula_kernels<N, T> &f,
                           typename gp_formula_kernels<N, T>::kernel kernel, gp_nest<1 + N> n,
                           const gp_formula_args<N, T> &a, int size) {
    const int V = 16 / size;
    gp_nest<1 + N> rest = n;
    rest.numel = rest.dim[0] = n.dim[0] % V;
    n.numel /= V, n.dim[0] /= V;
    for (int k = 0; k <= N; k++) {
        rest.data[k] += n.dim[0] * V * n.stride[0][k];
        n.stride[0][k] *= V;
    }
    return gp_run_kernel<N, T>(c, kernel, n, a, GP_THREADS * gp_vectors_each(N, size)) &&
           (rest.numel == 0 ||
            gp_run_kernel<N, T>(c, f.elements, rest, a, GP_THREADS * gp_elements_each(N)));
}

/* A parameter of the call; an absent one is an infinite bound. */
template <class T> static T gp_parameter(const gp_call *c, int i, double absent) {
    gp_scalar s = {true, {absent}};
    if (gp_given(c, i)) {
        const gp_value *v = &c->arg[i];
        if (v->kind == GP_FLOAT || v->is_float) s.f = v->f;
        else s.is_float = false, s.i = v->i;
    }
    return gp_number_as<T>(s);
}

/* A number operand: integers outside T's range wrap. */
template <class T> static T gp_number_operand(const gp_value *v) {
    gp_scalar s = gp_value_scalar(v);
    return std::is_integral<T>::value ? (T)gp_number_as<int64_t>(s) : gp_number_as<T>(s);
}

/* Fills in arrays[1 …] and the kernel's description of them; returns the one dtype that all have
 * in memory, as does the result unless it is bool; -1 if they differ. */
template <int N, class T>
static int gp_operands(const gp_call *c, bool truth, const gp_array **arrays,
                       gp_formula_args<N, T> *a) {
    static const gp_array number = {NULL, 1, gp_memory_of<T>::dtype, 0, true, {}, {}};
    int dt = -1;
    bool same = true;
    for (int k = 0; k < N; k++) {
        const gp_value *v = &c->arg[k];
        arrays[1 + k] = &number;
        a->source[k] = v->kind == GP_NUMBER ? GP_NUMBER_OPERAND : GP_EACH;
        if (v->kind == GP_NUMBER) {
            a->number[k] = gp_number_operand<T>(v);
            continue;
        }
        arrays[1 + k] = v->a;
        a->dtype[1 + k] = v->a->dtype, a->size[k] = (uint8_t)gp_dtype_sizes[v->a->dtype];
        same = same && (dt < 0 || dt == v->a->dtype);
        dt = v->a->dtype;
    }
    return same && arrays[0]->dtype == (truth ? (int)GP_bool : dt) ? dt : -1;
}

/* Runs c by a formula's kernels. texts: messages for the row's faults, where it has any; nullptr:
 * it has none. */
template <int N, class T>
static bool gp_run_formula(const gp_call *c, const gp_formula_kernels<N, T> &f,
                           const char *const *texts) {
    const gp_array *arrays[1 + N] = {gp_out(c, 0)};
    gp_formula_args<N, T> a = {};
    if (arrays[0]->numel == 0) return true;
    int dt = gp_operands<N, T>(c, f.truth, arrays, &a), to = gp_dtype_sizes[arrays[0]->dtype];
    bool par = c->op->kind == GP_PARAM || c->op->kind == GP_GRAD;
    for (int i = 0; i < 3; i++)
        a.par[i] = par ? gp_parameter<T>(c, N + i, i ? INFINITY : -INFINITY) : (T)0;
    a.dtype[0] = arrays[0]->dtype;
    a.lowest = c->op->lowest_bit && c->compute == GP_bool;
    int fault = c->op->fault;
    if (texts && fault && (fault == GP_FAULT_CHANCE || std::is_integral<T>::value))
        a.fault = gp_cuda_fault(c, texts, 3);
    gp_nest<1 + N> n = gp_nest_of<1 + N>(arrays);
    /* Vectors need one dtype, which is computed in T. */
    bool one = dt >= 0 && gp_compute_dtype((gp_dtype)dt) == gp_memory_of<T>::dtype;
    int size = one ? gp_dtype_sizes[dt] : 0;
    auto kernel = size == 1 ? f.bytes : size == 2 ? f.halves : f.vectors;
    if (size && gp_by_vectors<N, T>(n, &a, size, to))
        return gp_run_vectors<N, T>(c, f, kernel, n, a, size);
    return gp_run_elements<N, T>(c, f, n, a, to, dt == gp_memory_of<T>::dtype);
}

template <class F> static bool gp_run(const gp_call *c, const char *const *texts) {
    typedef typename F::T T;
    gp_formula_kernels<F::N, T> f = {};
    f.vectors = gp_vector_kernel<F, T, 16 / sizeof(T), gp_vectors_each(F::N, sizeof(T))>;
    if constexpr (sizeof(T) == 4) f.halves = gp_vector_kernel<F, uint16_t, 8, 1>;
    if constexpr (std::is_same<T, int32_t>::value) f.bytes = gp_vector_kernel<F, uint8_t, 16, 1>;
    f.elements = gp_element_kernel<F, gp_elements_each(F::N)>, f.turned = gp_turned_kernel<F>;
    f.truth = !std::is_same<typename F::R, T>::value;
    return gp_run_formula<F::N, T>(c, f, texts);
}

struct gp_no_formula {}; /* ends the list of a row's formulas */
/* Runs c by that of the formulas F, Rest … that has its compute type; false with a message if
 * there is none. texts: as for gp_run_formula. */
template <class F, class... Rest>
static bool gp_run_row(const gp_call *c, const char *const *texts) {
    if constexpr (std::is_same<F, gp_no_formula>::value)
        return gp_fail("%s: no such dtype on CUDA", c->op->name);
    else if (gp_compute_dtype((gp_dtype)c->compute) == gp_memory_of<typename F::T>::dtype)
        return gp_run<F>(c, texts);
    else return gp_run_row<Rest...>(c, texts);
}

/* The compute types that a row's types need. */
#define EACH_FLOAT(M, ...) M(f32, float, __VA_ARGS__) M(f64, double, __VA_ARGS__)
#define EACH_FLOATS EACH_FLOAT
#define EACH_INTS(M, ...) M(i32, int32_t, __VA_ARGS__) M(i64, int64_t, __VA_ARGS__)
#define EACH_WHOLE EACH_INTS
#define EACH_REAL(M, ...) EACH_FLOAT(M, __VA_ARGS__) EACH_INTS(M, __VA_ARGS__)
#define EACH_ALL EACH_REAL

/* The formulas of a row, one for each compute type, as arguments of gp_run_row. */
#define GP_LISTED(t, T, name) formula_##name##_##t,

#endif
