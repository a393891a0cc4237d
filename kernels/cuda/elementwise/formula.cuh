/* Formulas of elementwise ops on a CUDA device, their kernels' arguments and launch.
 *
 * A formula is a struct F made by GP_FORMULA: compute type F::T, type of its result F::R (uint8_t:
 * a bool), number of operands F::N, and operator()(const T *operands). */
#ifndef GP_CUDA_FORMULA_CUH
#define GP_CUDA_FORMULA_CUH

#include "kernels/cuda/runtime/loop.cuh"
#include "kernels/cuda/elementwise/math.cuh"

/* Where an operand's elements come from. */
typedef enum gp_operand_source {
    GP_EACH,          /* a value for each element */
    GP_ONE,           /* one for a whole row of the loop's fastest dim */
    GP_NUMBER_OPERAND /* a number argument */
} gp_operand_source;

/* How gp_element_kernel's threads share the elements. */
typedef enum gp_way {
    GP_APART,    /* a thread's are GP_THREADS apart */
    GP_ADJACENT, /* they are adjacent: an element of the loop is several, read at once */
    GP_TILES     /* a block's are a tile: elements of the loop are tiles */
} gp_way;

/* Arguments of a launch of a formula of N operands in compute type T, besides the loop, whose array
 * 0 is the result. */
template <int N, class T> struct gp_formula_args {
    T number[N], par[3];
    uint8_t source[N], dtype[1 + N]; /* dtypes in memory: of the result, then the operands */
    uint8_t size[N];                 /* bytes of an operand's element in memory */
    uint8_t way;                     /* of gp_element_kernel */
    uint8_t bytes[N], result_size;   /* adjacent: read at once; of the result's element */
    uint8_t turned[N];               /* tiles: whether the operand's memory runs down them */
    uint32_t side[2];                /* tiles: elements of the two dims that they divide */
    bool lowest;                     /* only the lowest bit of the result counts: ~ of bool */
    gp_fault_at fault;
};
template <class F> using gp_args_of = gp_formula_args<F::N, typename F::T>;

/* What reads, converts and writes knows N, T and the result's type alone: one for all formulas of
 * these types, which a compiler that does not optimise, as for the tests, makes once. */

/* A formula's kernels, of one type whatever the formula, so that one driver serves all. */
template <int N, class T> struct gp_formula_kernels {
    typedef void (*kernel)(gp_loop<1 + N>, gp_formula_args<N, T>);
    kernel vectors, halves, bytes, elements, turned; /* halves: of 2 bytes each; bytes: of one */
    bool truth;                                      /* the result is bool */
};

#define GP_FORMULA(name, type, result, nin, vars, y)                                               \
    struct name {                                                                                  \
        typedef type T;                                                                            \
        typedef result R;                                                                          \
        enum { N = nin };                                                                          \
        T par[3];                                                                                  \
        int fault;                                                                                 \
        __device__ R operator()(const T *u) {                                                      \
            vars gp_num<T> to = (y);                                                               \
            return (R)to.v;                                                                        \
        }                                                                                          \
    };

template <class F> __device__ static inline F gp_formula_of(const gp_args_of<F> &args) {
    F f;
    f.par[0] = args.par[0], f.par[1] = args.par[1], f.par[2] = args.par[2];
    f.fault = 0;
    return f;
}

/* Notes the faults of a thread's elements, if there were any. */
__device__ static inline void gp_formula_end(int fault, const gp_fault_at &at) {
    if (fault) gp_fault_note(at, fault & FAULT_DIV_ZERO ? 1 : fault & FAULT_NEG_POW ? 2 : 3);
}

/* Launches a block for every a_block elements of the loop. */
template <int N, class T>
static bool gp_run_kernel(const gp_call *c, typename gp_formula_kernels<N, T>::kernel kernel,
                          const gp_nest<1 + N> &n, const gp_formula_args<N, T> &a, int a_block) {
    return gp_nest_run(n, [&](const gp_loop<1 + N> &l, int64_t first) {
        return GP_LAUNCH(c, kernel, gp_blocks(l.numel, a_block), GP_THREADS, 0, l, a);
    });
}

#endif
