/* The kernels of programs: what the text of source.c is completed by, on the device, and the
 * arguments of its launches, on both sides. Limit: every byte of inputs and outputs once.
 *
 * A program P<V> is a struct of V elements: load(a, off) reads its inputs' elements, load_one(a,
 * off, j) those of element j, step(a, j, at) computes the outputs of element j, whose row-major
 * number is `at`, first(j) is the first of them, and store(a, at) writes V elements from that
 * number on. */
#ifndef GP_CUDA_PROGRAM_CUH
#define GP_CUDA_PROGRAM_CUH

#include "kernels/cuda/runtime/loop.cuh"

enum {
    GP_FUSED_INPUTS = 24,
    GP_FUSED_OUTPUTS = 4,
    GP_FUSED_NUMBERS = 80, /* of a program: number operands and parameters */
    GP_FUSED_VECTOR = 4    /* elements of a thread where the layouts allow it */
};

/* Arguments of a launch. Array 0 of the loop is the first output, which like all outputs is
 * contiguous; the inputs follow. */
typedef struct gp_fused {
    gp_loop<1 + GP_FUSED_INPUTS> l;
    char *out[GP_FUSED_OUTPUTS];
    int64_t first;                     /* number of the loop's first element */
    uint64_t seed, counter;            /* of random steps */
    bool one[GP_FUSED_INPUTS];         /* vectors: one element for all of a vector */
    bool vectors;                      /* a reduction: the loop's elements are vectors */
    uint64_t number[GP_FUSED_NUMBERS]; /* by their bits, in the type that a step takes */
} gp_fused;
static_assert(sizeof(gp_fused) <= 3200, "with a reduction's arguments, at most 4 KiB");

#ifdef __CUDACC_RTC__
#define GP_RNG_FN __device__ static inline
#include "tensor/rng.h"

#include "kernels/cuda/elementwise/math.cuh"
/* Makes their functions known to NVRTC before a program's text, a template, names them. */
static_assert(sizeof(gp_num<float>) == 4 && sizeof(gp_num<double>) == 8 &&
                  sizeof(gp_num<int32_t>) == 4 && sizeof(gp_num<int64_t>) == 8,
              "a number takes no more than its value");

template <class T> __device__ static inline T gp_number_at(const gp_fused &a, int i) {
    T v;
    memcpy(&v, &a.number[i], sizeof v);
    return v;
}

/* V elements of an input of type M in memory. */
template <class M, int V> struct gp_operand {
    gp_vector<M, V> each;
    __device__ inline void load(const char *p, bool one) {
        if (!one || V == 1) {
            each = *(const gp_vector<M, V> *)p;
            return;
        }
        M m = *(const M *)p;
#pragma unroll
        for (int j = 0; j < V; j++) each.v[j] = m;
    }
    __device__ inline void load_one(const char *p, int j) { each.v[j] = *(const M *)p; }
};

/* dropout's element, as its kernel computes it: 0 with chance p, else times s. */
template <class T>
__device__ static inline T gp_drop(const gp_fused &a, T x, float p, T s, int step, uint64_t at) {
    uint32_t w[4];
    gp_philox(a.seed, a.counter + (uint64_t)step, at / 4, w);
    uint32_t mine = at % 4 == 0 ? w[0] : at % 4 == 1 ? w[1] : at % 4 == 2 ? w[2] : w[3];
    return gp_uniform_f32(mine, 24) < p ? (T)0 : x * s;
}

/* Vector i of a's loop, computed. */
template <class P, int V>
__device__ static inline void gp_compute(const gp_fused &a, P &p, uint32_t i) {
    int64_t off[1 + GP_FUSED_INPUTS];
    gp_offsets(a.l, i, off);
    p.load(a, off);
#pragma unroll
    for (int j = 0; j < V; j++) p.step(a, j, (uint64_t)a.first + (uint64_t)i * V + j);
}

template <template <int> class P, int V>
__device__ static inline void gp_run_program(const gp_fused &a) {
    uint32_t i = gp_element();
    P<V> p;
    if (i >= a.l.numel) return;
    gp_compute<P<V>, V>(a, p, i);
    p.store(a, (uint64_t)a.first + (uint64_t)i * V);
}

/* Gives a reduction N elements of P's first output, of dtype DT and type M in memory, as if they
 * lay one after another from address 0 on. What is loaded are the inputs' elements, those of AHEAD
 * vectors before the first is computed. Type: what the reduction computes in. */
template <template <int> class P, class Type, class M, int DT, int N, int AHEAD>
struct gp_program_source {
    typedef Type T;
    enum { MANY = N, UNROLL = AHEAD };
    struct Raw {
        P<N> program;
        uint32_t at;
    };
    const gp_fused &a;
    __device__ inline Raw load(const char *p, int) const {
        int64_t off[1 + GP_FUSED_INPUTS];
        Raw raw;
        raw.at = (uint32_t)((uint64_t)p / sizeof(M));
        if (N == 1 || a.vectors) {
            gp_offsets(a.l, raw.at / N, off);
            raw.program.load(a, off);
            return raw;
        }
#pragma unroll
        for (int j = 0; j < N; j++) {
            gp_offsets(a.l, raw.at + j, off);
            raw.program.load_one(a, off, j);
        }
        return raw;
    }
    __device__ inline T number(Raw &raw, int j, int) const {
        raw.program.step(a, j, (uint64_t)raw.at + j);
        M m = raw.program.first(j);
        return gp_load_as<T>(&m, (gp_dtype)DT);
    }
};
#endif

#endif
