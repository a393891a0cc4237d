/* Sums and means of losses of 16-bit floats in one pass: each row of two or three operands in
 * loss.def, the third of which is a number. The order of addition is that of the same loss computed
 * in f32 and then reduced, and so are the bits. Limit: reading both arrays once. */
#include "kernels/cuda/elementwise/formula.cuh"
#include "kernels/cuda/fuse/fuse.h"
#include "kernels/cuda/reduce/reduce.cuh"

typedef struct pair {
    const char *a, *b;
    float number;
    uint8_t dtype;
    gp_fault_at fault;
} pair;

/* N losses by the formula F, as if they were f32 and lay one after another from address 0 on. */
template <class F, int N> struct losses_of {
    typedef float T;
    enum { MANY = N, UNROLL = 4 };
    struct Raw {
        gp_vector<uint16_t, N> a, b;
    };
    const pair &from;
    mutable F f;
    __device__ inline Raw load(const char *p, int) const {
        size_t at = (size_t)p / sizeof(float) * sizeof(uint16_t);
        return {*(const gp_vector<uint16_t, N> *)(from.a + at),
                *(const gp_vector<uint16_t, N> *)(from.b + at)};
    }
    __device__ inline float number(const Raw &raw, int j, int) const {
        float u[3] = {gp_load_halves::one(raw.a.v[j], from.dtype),
                      gp_load_halves::one(raw.b.v[j], from.dtype), from.number};
        return f(u);
    }
};

/* p: 1 for a mean. */
struct total {
    typedef float T;
    typedef float Acc;
    __device__ static inline void start(float &a) { a = 0; }
    __device__ static inline void fold(float &a, float x, double, int64_t) { a = a + x; }
    __device__ static inline void join(float &a, float b) { a = a + b; }
    __device__ static inline void finish(float a, double count, double mean, int, char *to,
                                         gp_dtype dt) {
        gp_store_as<float>(to, dt, mean ? a / (float)count : a);
    }
};

template <class F, int N>
__global__ static void __launch_bounds__(GP_THREADS) losses_kernel(gp_reduction a, pair from) {
    losses_of<F, N> source = {from, {}};
    gp_reduce_rows<total>(a, source);
    gp_formula_end(source.f.fault, from.fault);
}

#define AB const gp_num<T> a = u[0], b = u[1];
#define ABC const gp_num<T> a = u[0], b = u[1], c = u[2];
#define BINARY(n, types, y, ...) GP_FORMULA(formula_##n, float, float, 2, AB, y)
#define TERNARY(n, types, y, ...) GP_FORMULA(formula_##n, float, float, 3, ABC, y)
#define CUSTOM(...)
#include "tensor/ops/table/loss.def"
#undef BINARY
#undef TERNARY

/* By the row's number: kernels of vectors of four and of single elements, and the text of a
 * fault. */
typedef void (*kernel)(gp_reduction, pair);
typedef struct loss {
    int op;
    kernel vectors, singles;
    const char *fault[3];
} loss;
#define BINARY(n, ...)                                                                             \
    {OP_##n,                                                                                       \
     losses_kernel<formula_##n, 4>,                                                                \
     losses_kernel<formula_##n, 1>,                                                                \
     {"", "", #n ": a probability is not between 0 and 1"}},
#define TERNARY BINARY
static const loss table[] = {
#include "tensor/ops/table/loss.def"
};

static const loss *loss_of(int op) {
    for (const loss &l : table)
        if (l.op == op) return &l;
    return nullptr;
}

GP_C bool gp_loss_reduces(int op) { return loss_of(op) != nullptr; }

static bool launch(const gp_call *c, const gp_reducer_kernels *k, const void *number,
                   uint32_t blocks, const gp_reduction *a, int parts) {
    size_t shared = sizeof(float) * GP_THREADS;
    if (parts) return GP_LAUNCH(c, gp_parts_kernel<total>, blocks, GP_THREADS, shared, *a, parts);
    return GP_LAUNCH(c, (kernel)number, blocks, GP_THREADS, shared, *a, *(const pair *)k->program);
}

GP_C bool gp_loss_reduce(const gp_call *c, int op, const gp_array *a, const gp_array *b,
                         double number, bool mean) {
    const loss *l = loss_of(op);
    pair from = {a->data, b->data, (float)number, a->dtype, {}};
    if (c->op->fault) from.fault = gp_cuda_fault(c, l->fault, 3);
    gp_reducer_kernels k = {};
    typedef gp_reducer_kernels::kernel any;
    if (gp_aligned(a->data, 8) && gp_aligned(b->data, 8)) k.whole[0] = (any)(void *)l->vectors;
    k.single[0] = (any)(void *)l->singles;
    k.dtype = GP_f32, k.acc = sizeof(float);
    k.launch = launch, k.program = &from;
    gp_array x = {};
    x.dtype = GP_f32, x.ndim = 1, x.contiguous = true;
    x.dim[0] = x.numel = a->numel, x.stride[0] = 1;
    gp_reduction r = {};
    gp_reduce_split(&x, 1, &r);
    r.p = mean;
    return gp_reduce_run(c, &k, r);
}
