/* Random tensors: each element is a function of (seed, op counter, its row-major index), with the
 * CPU's bits (tensor/rng.h; compiled without contraction to fused multiply-add). Ten rounds of
 * Philox give four elements (two where they need 64 bits). Limit: writing them. */
#define GP_RNG_FN __device__ static inline
#include "kernels/cuda/runtime/loop.cuh"
#include "tensor/rng.h"

/* Generators turn a counter's four words into EACH numbers. */
typedef struct draw {
    uint64_t seed, counter;
    double a, b; /* low and width; mean and std; the chance of 1 */
    int64_t low;
    uint64_t range;
    int bits; /* of a uniform number that fits the dtype */
} draw;

__device__ static inline uint64_t wide(const uint32_t *w, int k) {
    return w[2 * k] | (uint64_t)w[2 * k + 1] << 32;
}

struct uniform_f32 {
    typedef float T;
    enum { EACH = 4 };
    __device__ static void make(const draw &d, const uint32_t *w, float *v) {
        for (int k = 0; k < 4; k++) v[k] = gp_uniform_f32(w[k], d.bits) * (float)d.b + (float)d.a;
    }
};
struct uniform_f64 {
    typedef double T;
    enum { EACH = 2 };
    __device__ static void make(const draw &d, const uint32_t *w, double *v) {
        for (int k = 0; k < 2; k++) v[k] = gp_uniform_f64(wide(w, k)) * d.b + d.a;
    }
};
struct normal_f32 {
    typedef float T;
    enum { EACH = 4 };
    __device__ static void make(const draw &d, const uint32_t *w, float *v) {
        gp_normal_f32(w[0], w[1], v), gp_normal_f32(w[2], w[3], v + 2);
        for (int k = 0; k < 4; k++) v[k] = v[k] * (float)d.b + (float)d.a;
    }
};
struct normal_f64 {
    typedef double T;
    enum { EACH = 2 };
    __device__ static void make(const draw &d, const uint32_t *w, double *v) {
        gp_normal_f64(wide(w, 0), wide(w, 1), v);
        for (int k = 0; k < 2; k++) v[k] = v[k] * d.b + d.a;
    }
};
struct integers {
    typedef int64_t T;
    enum { EACH = 2 };
    __device__ static void make(const draw &d, const uint32_t *w, int64_t *v) {
        for (int k = 0; k < 2; k++) v[k] = gp_integer(wide(w, k), d.low, d.range);
    }
};

/* Elements of the loop are numbered row-major, the first is number `first`; a thread makes those of
 * one counter. */
template <class G>
__global__ static void __launch_bounds__(GP_THREADS)
    random_kernel(gp_loop<1> l, gp_dtype dt, int64_t first, draw d) {
    int64_t block = first / G::EACH + gp_element(), at = block * G::EACH - first;
    uint32_t w[4];
    typename G::T v[G::EACH];
    if (at >= l.numel) return;
    gp_philox(d.seed, d.counter, (uint64_t)block, w);
    G::make(d, w, v);
    int size = gp_bytes_of(dt);
    if (l.ndim == 1 && l.stride[0][0] == size && at >= 0 && at + G::EACH <= l.numel) {
        char *p = l.data[0] + at * size;
        if (gp_aligned(p, (size_t)(G::EACH * size))) {
            gp_store_some<typename G::T, G::EACH>(p, dt, v);
            return;
        }
    }
#pragma unroll
    for (int k = 0; k < G::EACH; k++) {
        int64_t off[1];
        if (at + k < 0 || at + k >= l.numel) continue;
        gp_offsets(l, (uint32_t)(at + k), off);
        gp_store_as<typename G::T>(l.data[0] + off[0], dt, v[k]);
    }
}

template <class G> static bool generate(const gp_call *c, draw d) {
    const gp_array *out = gp_out(c, 0), *const arrays[1] = {out};
    d.seed = c->seed, d.counter = c->counter;
    return gp_nest_run(gp_nest_of(arrays, true), [&](const gp_loop<1> &l, int64_t first) {
        auto *kernel = random_kernel<G>;
        int64_t blocks = (first + l.numel - 1) / G::EACH - first / G::EACH + 1;
        return GP_LAUNCH(c, kernel, gp_blocks(blocks), GP_THREADS, 0, l, (gp_dtype)out->dtype,
                         first, d);
    });
}

static draw numbers(const gp_call *c, double a, double b) {
    gp_dtype dt = (gp_dtype)gp_out(c, 0)->dtype;
    draw d = {};
    d.a = a, d.b = b;
    d.bits = dt == GP_f16 ? 11 : dt == GP_bf16 ? 8 : 24;
    return d;
}
static bool uniforms(const gp_call *c, double low, double width) {
    draw d = numbers(c, low, width);
    return gp_compute_dtype((gp_dtype)gp_out(c, 0)->dtype) == GP_f64 ? generate<uniform_f64>(c, d)
                                                                     : generate<uniform_f32>(c, d);
}
static bool normals(const gp_call *c, double mean, double std) {
    draw d = numbers(c, mean, std);
    return gp_compute_dtype((gp_dtype)gp_out(c, 0)->dtype) == GP_f64 ? generate<normal_f64>(c, d)
                                                                     : generate<normal_f32>(c, d);
}

GP_C bool CUDA(rand)(const gp_call *c) { return uniforms(c, 0, 1); }
GP_C bool CUDA(rand_like)(const gp_call *c) { return uniforms(c, 0, 1); }
GP_C bool CUDA(uniform)(const gp_call *c) {
    return uniforms(c, c->arg[1].f, c->arg[2].f - c->arg[1].f);
}
GP_C bool CUDA(randn)(const gp_call *c) { return normals(c, 0, 1); }
GP_C bool CUDA(randn_like)(const gp_call *c) { return normals(c, 0, 1); }
GP_C bool CUDA(normal)(const gp_call *c) { return normals(c, c->arg[1].f, c->arg[2].f); }

GP_C bool CUDA(randint)(const gp_call *c) {
    draw d = {};
    d.low = c->arg[0].i, d.range = (uint64_t)c->arg[1].i - (uint64_t)d.low + 1;
    return generate<integers>(c, d);
}

/* ---- bernoulli ---- */

/* 1 where a uniform number is below the probability: d.a, or (given) the element of x itself. */
__global__ static void __launch_bounds__(GP_THREADS)
    chance_kernel(gp_loop<2> l, gp_dtype to, gp_dtype from, bool given, int64_t first, draw d,
                  gp_fault_at fault) {
    int64_t block = first / 2 + gp_element(), at = block * 2 - first;
    uint32_t w[4];
    if (at >= l.numel) return;
    gp_philox(d.seed, d.counter, (uint64_t)block, w);
    for (int k = 0; k < 2; k++) {
        int64_t off[2];
        if (at + k < 0 || at + k >= l.numel) continue;
        gp_offsets(l, (uint32_t)(at + k), off);
        double p = given ? d.a : gp_load_as<double>(l.data[1] + off[1], from);
        if (!(p >= 0 && p <= 1)) gp_fault_note(fault, 1);
        gp_store_as<int32_t>(l.data[0] + off[0], to, gp_uniform_f64(wide(w, k)) < p);
    }
}

GP_C bool CUDA(bernoulli)(const gp_call *c) {
    static const char *const texts[] = {"bernoulli: a probability in 'x' is not between 0 and 1"};
    const gp_array *out = gp_out(c, 0), *x = gp_in(c, 0), *const arrays[2] = {out, x};
    const gp_value *p = &c->arg[1];
    draw d = {};
    bool given = gp_given(c, 1);
    if (out->numel == 0) return true;
    d.seed = c->seed, d.counter = c->counter;
    if (given) d.a = p->kind == GP_NUMBER && !p->is_float ? (double)p->i : p->f;
    gp_fault_at fault = gp_cuda_fault(c, texts, 1);
    return gp_nest_run(gp_nest_of(arrays, true), [&](const gp_loop<2> &l, int64_t first) {
        int64_t blocks = (first + l.numel - 1) / 2 - first / 2 + 1;
        return GP_LAUNCH(c, chance_kernel, gp_blocks(blocks), GP_THREADS, 0, l,
                         (gp_dtype)out->dtype, (gp_dtype)x->dtype, given, first, d, fault);
    });
}

/* ---- dropout: rand's numbers decide which elements stay; its gradient draws them again ---- */

template <class T>
__global__ static void __launch_bounds__(GP_THREADS)
    drop_kernel(char *out, const char *x, gp_dtype dt, int64_t numel, draw d) {
    int64_t block = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x, at = block * 4;
    int size = gp_bytes_of(dt);
    uint32_t w[4];
    T v[4];
    if (at >= numel) return;
    int n = numel - at < 4 ? (int)(numel - at) : 4;
    size_t unit = (size_t)(4 * size);
    bool whole = n == 4 && gp_aligned(x, unit) && gp_aligned(out, unit);
    gp_philox(d.seed, d.counter, (uint64_t)block, w);
    if (whole) gp_load_some<T, 4>(x + at * size, dt, v);
    else {
#pragma unroll
        for (int k = 0; k < 4; k++) v[k] = k < n ? gp_load_as<T>(x + (at + k) * size, dt) : (T)0;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) v[k] = gp_uniform_f32(w[k], 24) < (float)d.a ? (T)0 : v[k] * (T)d.b;
    if (whole) gp_store_some<T, 4>(out + at * size, dt, v);
    else {
#pragma unroll
        for (int k = 0; k < 4;
             k++) /* a constant bound: indexing v by a variable would put it in memory */
            if (k < n) gp_store_as<T>(out + (at + k) * size, dt, v[k]);
    }
}

template <class T> static bool run_drop(const gp_call *c, const gp_array *x, draw d) {
    const gp_array *out = gp_out(c, 0);
    auto *kernel = drop_kernel<T>;
    return GP_LAUNCH(c, kernel, gp_blocks((out->numel + 3) / 4), GP_THREADS, 0, out->data, x->data,
                     (gp_dtype)x->dtype, out->numel, d);
}

/* Infer made x contiguous; out is, too, and has x's dtype. */
static bool drop(const gp_call *c, uint64_t seed, uint64_t counter) {
    draw d = {};
    d.seed = seed, d.counter = counter;
    d.a = c->arg[2].i ? c->arg[1].f : 0, d.b = 1 / (1 - d.a);
    return gp_out(c, 0)->dtype == GP_f64 ? run_drop<double>(c, c->tmpa[0], d)
                                         : run_drop<float>(c, c->tmpa[0], d);
}
GP_C bool CUDA(dropout)(const gp_call *c) { return drop(c, c->seed, c->counter); }
GP_C bool CUDA(dropout_grad)(const gp_call *c) {
    return drop(c, (uint64_t)c->arg[3].i, (uint64_t)c->arg[4].i);
}
