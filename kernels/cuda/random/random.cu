/* Random tensors: each element is a function of (seed, op counter, its row-major index), with the
 * CPU's bits (tensor/rng.h; compiled without contraction to fused multiply-add). Ten rounds of
 * Philox give four elements (two where they need 64 bits). Limit: writing them. */
#define GP_RNG_FN __device__ static inline
#include "kernels/cuda/runtime/loop.cuh"

#include "kernels/common/poisson.h"

/* Generators turn a counter's four words into EACH numbers. */
typedef struct draw {
    uint64_t seed, counter;
    double a, b;    /* low and width; mean and std; the chance of 0 */
    float a32, b32; /* the same, rounded */
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
        for (int k = 0; k < 4; k++) v[k] = gp_uniform_f32(w[k], d.bits) * d.b32 + d.a32;
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
        for (int k = 0; k < 4; k++) v[k] = v[k] * d.b32 + d.a32;
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

/* A part of the result, whose elements are numbered row-major from `first` on. line: it is adjacent
 * in memory, and what a thread makes is an aligned vector in it. */
typedef struct target {
    gp_loop<1> l;
    gp_dtype dt;
    int64_t first;
    bool line;
} target;

static target target_of(const gp_array *out, const gp_loop<1> &l, int64_t first, int each) {
    int size = gp_dtype_sizes[out->dtype];
    bool line = l.ndim == 1 && l.stride[0][0] == size && first % each == 0 &&
                gp_aligned(l.data[0], (size_t)(each * size));
    return {l, (gp_dtype)out->dtype, first, line};
}

/* Counters, or pairs of them, of a thread: of many more than a card has threads, several. */
enum { ROUNDS = 4, MANY = 1 << 20 };
static int rounds_of(int64_t blocks) { return blocks < MANY ? 1 : ROUNDS; }

/* Calls f(number) for each counter of this thread; the first one of all is `from`. */
template <class F> __device__ static inline void each_counter(uint64_t from, int rounds, F f) {
    uint64_t at = from + (uint64_t)blockIdx.x * (unsigned)rounds * GP_THREADS + threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < rounds; k++, at += GP_THREADS) f(at);
}

/* Makes the elements of counter `block`. */
template <class G>
__device__ static inline void make_elements(const target &t, const draw &d, uint64_t block) {
    int64_t at = (int64_t)(block * G::EACH) - t.first;
    uint32_t w[4];
    typename G::T v[G::EACH];
    if (at >= t.l.numel) return;
    gp_philox(d.seed, d.counter, block, w);
    G::make(d, w, v);
    if (t.line && at + G::EACH <= t.l.numel) {
        gp_store_some<typename G::T, G::EACH>(t.l.data[0] + at * gp_bytes_of(t.dt), t.dt, v);
        return;
    }
#pragma unroll
    for (int k = 0; k < G::EACH; k++) {
        int64_t off[1];
        if (at + k < 0 || at + k >= t.l.numel) continue;
        gp_offsets(t.l, (uint32_t)(at + k), off);
        gp_store_as<typename G::T>(t.l.data[0] + off[0], t.dt, v[k]);
    }
}

template <class G>
__global__ static void __launch_bounds__(GP_THREADS) random_kernel(target t, draw d, int rounds) {
    each_counter((uint64_t)t.first / G::EACH, rounds,
                 [&](uint64_t block) { make_elements<G>(t, d, block); });
}

template <class G> static bool generate(const gp_call *c, draw d) {
    const gp_array *out = gp_out(c, 0), *const arrays[1] = {out};
    d.seed = c->seed, d.counter = c->counter;
    return gp_nest_run(gp_nest_of(arrays, true), [&](const gp_loop<1> &l, int64_t first) {
        auto *kernel = random_kernel<G>;
        int64_t blocks = (first + l.numel - 1) / G::EACH - first / G::EACH + 1;
        int rounds = rounds_of(blocks);
        return GP_LAUNCH(c, kernel, gp_blocks(blocks, rounds * GP_THREADS), GP_THREADS, 0,
                         target_of(out, l, first, G::EACH), d, rounds);
    });
}

static draw numbers(const gp_call *c, double a, double b) {
    gp_dtype dt = (gp_dtype)gp_out(c, 0)->dtype;
    draw d = {};
    d.a = a, d.b = b, d.a32 = (float)a, d.b32 = (float)b;
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

enum { CHANCES = 4 }; /* elements of a thread, of two counters */

/* Probabilities: a number for all, as the least multiple of 2^-53 that is not below it, or array 1.
 * The rest is as in target. */
typedef struct chances {
    gp_loop<2> l;
    gp_dtype to, from;
    int64_t first;
    bool given, line;
    uint64_t below;
    gp_fault_at fault;
} chances;

static bool is_line(const chances &k) {
    int to = gp_dtype_sizes[k.to], from = gp_dtype_sizes[k.from];
    return k.l.ndim == 1 && k.first % CHANCES == 0 && k.l.stride[0][0] == to &&
           gp_aligned(k.l.data[0], (size_t)(CHANCES * to)) &&
           (k.given ||
            (k.l.stride[0][1] == from && gp_aligned(k.l.data[1], (size_t)(CHANCES * from))));
}

/* 1 where a uniform number is below the probability p, or the given one. */
template <bool GIVEN>
__device__ static inline int32_t chance(const chances &c, uint64_t w, double p) {
    if (GIVEN) return w >> 11 < c.below;
    if (!(p >= 0 && p <= 1)) gp_fault_note(c.fault, 1);
    return gp_uniform_f64(w) < p;
}

/* Makes the elements of the pair of counters number `block`. */
template <bool GIVEN>
__device__ static inline void take_chances(const chances &c, const draw &d, uint64_t block) {
    int64_t at = (int64_t)(block * CHANCES) - c.first;
    uint32_t w[2 * CHANCES];
    if (at >= c.l.numel) return;
    gp_philox(d.seed, d.counter, block * 2, w);
    gp_philox(d.seed, d.counter, block * 2 + 1, w + CHANCES);
    if (c.line && at + CHANCES <= c.l.numel) {
        double p[CHANCES] = {};
        int32_t v[CHANCES];
        if (!GIVEN)
            gp_load_some<double, CHANCES>(c.l.data[1] + at * gp_bytes_of(c.from), c.from, p);
#pragma unroll
        for (int k = 0; k < CHANCES; k++) v[k] = chance<GIVEN>(c, wide(w, k), p[k]);
        gp_store_some<int32_t, CHANCES>(c.l.data[0] + at * gp_bytes_of(c.to), c.to, v);
        return;
    }
#pragma unroll
    for (int k = 0; k < CHANCES; k++) {
        int64_t off[2];
        if (at + k < 0 || at + k >= c.l.numel) continue;
        gp_offsets(c.l, (uint32_t)(at + k), off);
        double p = GIVEN ? 0 : gp_load_as<double>(c.l.data[1] + off[1], c.from);
        gp_store_as<int32_t>(c.l.data[0] + off[0], c.to, chance<GIVEN>(c, wide(w, k), p));
    }
}

template <bool GIVEN>
__global__ static void __launch_bounds__(GP_THREADS) chance_kernel(chances c, draw d, int rounds) {
    each_counter((uint64_t)c.first / CHANCES, rounds,
                 [&](uint64_t block) { take_chances<GIVEN>(c, d, block); });
}

/* One probability below 1 and a line of elements, both words of whose counters are below 2^32: what
 * does not depend on the counter is made once, and of a number's 64 bits the high 32, unless they
 * are those of the probability. */
typedef struct coins {
    char *to;
    uint64_t seed, counter, below, one; /* one: 1 in the result's dtype */
    uint32_t numel;
    uint32_t from, third, key[10][2]; /* the first counter; words of the second round */
    uint32_t word0, word2, word3;
    uint32_t high; /* of below's 53 bits */
} coins;

/* The first two rounds of Philox, as far as they are the same for all counters. */
static coins coins_of(const chances &k, const draw &d) {
    static const uint64_t by0 = 0xD2511F53u, by1 = 0xCD9E8D57u;
    coins f = {};
    f.to = k.l.data[0], f.numel = k.l.numel;
    f.seed = d.seed, f.counter = d.counter, f.below = k.below, f.high = (uint32_t)(k.below >> 21);
    f.from = (uint32_t)(k.first / CHANCES);
    f.one = k.to == GP_f32    ? 0x3f800000u
            : k.to == GP_f64  ? 0x3ffull << 52
            : k.to == GP_f16  ? 0x3c00u
            : k.to == GP_bf16 ? 0x3f80u
                              : 1;
    for (uint32_t r = 0; r < 10; r++) {
        f.key[r][0] = (uint32_t)d.seed + r * 0x9E3779B9u;
        f.key[r][1] = (uint32_t)(d.seed >> 32) + r * 0xBB67AE85u;
    }
    uint64_t p1 = by1 * (uint32_t)d.counter;
    uint64_t p0 = by0 * ((uint32_t)(p1 >> 32) ^ f.key[0][0]);
    f.third = (uint32_t)(d.counter >> 32) ^ f.key[0][1];
    f.word0 = (uint32_t)p1 ^ f.key[1][0];
    f.word2 = (uint32_t)(p0 >> 32) ^ f.key[1][1], f.word3 = (uint32_t)p0;
    return f;
}

/* Words 1 and 3 of counter lo, the high halves of its two numbers. */
__device__ static inline void high_words(const coins &f, uint32_t lo, uint32_t (&to)[2]) {
    const uint32_t by0 = 0xD2511F53u, by1 = 0xCD9E8D57u;
    uint64_t p = (uint64_t)by0 * lo, q = (uint64_t)by1 * ((uint32_t)(p >> 32) ^ f.third);
    uint32_t c0 = (uint32_t)(q >> 32) ^ f.word0, c1 = (uint32_t)q, c2 = (uint32_t)p ^ f.word2,
             c3 = f.word3;
#pragma unroll
    for (int r = 2; r < 9; r++) {
        uint64_t p0 = (uint64_t)by0 * c0, p1 = (uint64_t)by1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ f.key[r][0];
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ f.key[r][1];
        c1 = (uint32_t)p1, c3 = (uint32_t)p0;
    }
    to[0] = by1 * c2, to[1] = by0 * c0;
}

/* Elements of the pair of counters number `block`, of which bit k is that of element k. */
__attribute__((noinline)) __device__ static unsigned exact_coins(uint64_t seed, uint64_t counter,
                                                                 uint64_t below, uint32_t block) {
    uint32_t w[2 * CHANCES];
    unsigned bits = 0;
    gp_philox(seed, counter, (uint64_t)block * 2, w);
    gp_philox(seed, counter, (uint64_t)block * 2 + 1, w + CHANCES);
    for (int k = 0; k < CHANCES; k++) bits |= (unsigned)(wide(w, k) >> 11 < below) << k;
    return bits;
}

template <class M>
__global__ static void __launch_bounds__(GP_THREADS) coin_kernel(coins f, int rounds) {
    uint32_t at = blockIdx.x * (unsigned)rounds * GP_THREADS + threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < rounds; k++, at += GP_THREADS) {
        uint32_t h[2][2];
        gp_vector<M, CHANCES> v;
        const uint32_t first = at * CHANCES;
        if (first >= f.numel) return;
        high_words(f, (f.from + at) * 2, h[0]), high_words(f, (f.from + at) * 2 + 1, h[1]);
        bool same = false;
#pragma unroll
        for (int j = 0; j < CHANCES; j++) {
            v.v[j] = h[j / 2][j % 2] < f.high ? (M)f.one : (M)0;
            same = same || h[j / 2][j % 2] == f.high;
        }
        if (same) {
            unsigned bits = exact_coins(f.seed, f.counter, f.below, f.from + at);
#pragma unroll
            for (int j = 0; j < CHANCES; j++) v.v[j] = bits >> j & 1 ? (M)f.one : (M)0;
        }
        M *to = (M *)(void *)f.to + first;
        if (first + CHANCES <= f.numel) {
            *(gp_vector<M, CHANCES> *)(void *)to = v;
            continue;
        }
#pragma unroll
        for (int j = 0; j < CHANCES; j++)
            if (first + j < f.numel) to[j] = v.v[j];
    }
}

template <class M> static bool run_coins(const gp_call *c, const coins &f) {
    auto *kernel = coin_kernel<M>;
    int64_t blocks = ((int64_t)f.numel + CHANCES - 1) / CHANCES;
    int rounds = rounds_of(blocks);
    return GP_LAUNCH(c, kernel, gp_blocks(blocks, rounds * GP_THREADS), GP_THREADS, 0, f, rounds);
}

/* Whether they can be made as coins. */
static bool are_coins(const chances &k) {
    return k.given && k.line && k.below < 1ull << 53 && (k.first + k.l.numel) / 2 + 2 < 1ll << 32;
}

GP_C bool CUDA(bernoulli)(const gp_call *c) {
    static const char *const texts[] = {"bernoulli: a probability in 'x' is not between 0 and 1"};
    const gp_array *out = gp_out(c, 0), *x = gp_in(c, 0), *const arrays[2] = {out, x};
    const gp_value *p = &c->arg[1];
    draw d = {};
    chances k = {};
    if (out->numel == 0) return true;
    d.seed = c->seed, d.counter = c->counter;
    k.to = (gp_dtype)out->dtype, k.from = (gp_dtype)x->dtype, k.given = gp_given(c, 1);
    if (k.given) k.below = (uint64_t)ceil(gp_number_as<double>(gp_value_scalar(p)) * 0x1p53);
    k.fault = gp_cuda_fault(c, texts, 1);
    auto *kernel = k.given ? chance_kernel<true> : chance_kernel<false>;
    return gp_nest_run(gp_nest_of(arrays, true), [&](const gp_loop<2> &l, int64_t first) {
        int64_t blocks = (first + l.numel - 1) / CHANCES - first / CHANCES + 1;
        k.l = l, k.first = first, k.line = is_line(k);
        if (are_coins(k)) return GP_BY_SIZE(gp_dtype_sizes[k.to], run_coins, c, coins_of(k, d));
        int rounds = rounds_of(blocks);
        return GP_LAUNCH(c, kernel, gp_blocks(blocks, rounds * GP_THREADS), GP_THREADS, 0, k, d,
                         rounds);
    });
}

/* ---- poisson: rejection makes threads of a warp wait for the slowest. Limit: arithmetic ---- */

/* Element at of array 0, at the rate in array 1; as the CPU does it, in f64. */
__global__ static void __launch_bounds__(GP_THREADS)
    poisson_kernel(gp_loop<2> l, gp_dtype dt, int64_t first, draw d, gp_fault_at fault) {
    uint32_t at = gp_element();
    int64_t off[2];
    if (at >= l.numel) return;
    gp_offsets(l, at, off);
    double rate = gp_load_as<double>(l.data[1] + off[1], dt);
    if (!(rate >= 0 && rate < (double)INFINITY)) {
        gp_fault_note(fault, 1);
        return;
    }
    double v = gp_poisson(rate, d.seed, d.counter, (uint64_t)(first + at));
    gp_store_as<double>(l.data[0] + off[0], dt, v);
}

GP_C bool CUDA(poisson)(const gp_call *c) {
    static const char *const texts[] = {"poisson: a rate in 'x' is negative, infinite or NaN"};
    const gp_array *out = gp_out(c, 0), *const arrays[2] = {out, gp_in(c, 0)};
    draw d = {};
    if (out->numel == 0) return true;
    d.seed = c->seed, d.counter = c->counter;
    gp_fault_at fault = gp_cuda_fault(c, texts, 1);
    return gp_nest_run(gp_nest_of(arrays, true), [&](const gp_loop<2> &l, int64_t first) {
        return GP_LAUNCH(c, poisson_kernel, gp_blocks(l.numel), GP_THREADS, 0, l,
                         (gp_dtype)out->dtype, first, d, fault);
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
