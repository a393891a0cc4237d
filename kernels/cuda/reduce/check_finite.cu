/* check_finite: a block that meets the exponent of a NaN or an infinity counts them all, looks at
 * the operands, and records a fault; only the first such block does. Limit: one read of x, which
 * costs a launch and no wait. */
#include "kernels/cuda/runtime/loop.cuh"

#include "tensor/ops/finite.h"

/* Elements as whole numbers: in 16 bytes at a time where they are contiguous, the rest one by
 * one. */
struct words {
    const char *data;
    int ndim, size;
    int64_t numel, vectors, dim[GP_MAX_DIM], stride[GP_MAX_DIM];
    unsigned long long exponent, mantissa; /* masks */
    unsigned high;                         /* that of the exponent in an element's upper half */
};
struct operands {
    words of[GP_CHECK_MOST]; /* numel 0: absent */
    bool number;             /* a number among the arguments is not finite */
};

static words words_of(const gp_array *x) {
    static const unsigned long long exponents[] = {0x7c00, 0x7f80, 0x7f800000, 0x7ff0000000000000},
                                    mantissas[] = {0x3ff, 0x7f, 0x7fffff, 0xfffffffffffff};
    words w = {};
    if (!x) return w;
    const gp_array *const arrays[1] = {x};
    gp_nest<1> n = gp_nest_of<1>(arrays);
    int k = x->dtype == GP_f16 ? 0 : x->dtype == GP_bf16 ? 1 : x->dtype == GP_f32 ? 2 : 3;
    w.data = x->data, w.size = gp_dtype_sizes[x->dtype], w.ndim = n.ndim, w.numel = n.numel;
    for (int d = 0; d < n.ndim; d++) w.dim[d] = n.dim[d], w.stride[d] = n.stride[d][0];
    w.exponent = exponents[k], w.mantissa = mantissas[k];
    w.high = (unsigned)(k == 3 ? w.exponent >> 32 : w.exponent);
    if (n.ndim == 1 && n.stride[0][0] == w.size && (uintptr_t)x->data % sizeof(uint4) == 0)
        w.vectors = n.numel * w.size / (int64_t)sizeof(uint4);
    return w;
}

/* 0: element i is finite; 1: NaN; 2: infinite. */
__device__ static int kind_of(const words &w, int64_t i) {
    const char *p = w.data;
    for (int d = 0; d < w.ndim - 1; d++) p += i % w.dim[d] * w.stride[d], i /= w.dim[d];
    p += i * w.stride[w.ndim - 1];
    unsigned long long v = w.size == 2   ? *(const uint16_t *)p
                           : w.size == 4 ? *(const uint32_t *)p
                                         : *(const unsigned long long *)p;
    return (v & w.exponent) != w.exponent ? 0 : v & w.mantissa ? 1 : 2;
}

__device__ static bool meets(const words &w, unsigned v) {
    return (v & w.high) == w.high || (w.size == 2 && (v >> 16 & w.high) == w.high);
}

/* Whether this thread's share of all threads of the grid is not finite somewhere. */
__device__ static bool meets_some(const words &w) {
    int64_t t = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x,
            all = (int64_t)gridDim.x * GP_THREADS;
    bool bad = false, wide = w.size == 8;
    for (int64_t i = t; i < w.vectors; i += all) {
        uint4 v = ((const uint4 *)w.data)[i];
        bad |= meets(w, v.y) || meets(w, v.w) || (!wide && (meets(w, v.x) || meets(w, v.z)));
    }
    for (int64_t i = w.vectors * (int64_t)sizeof(uint4) / w.size + t; i < w.numel; i += all)
        bad |= kind_of(w, i) != 0;
    return bad;
}

/* One block: counts x's elements, and records a fault unless an operand, or a number, brought all
 * of its infinities. */
__device__ static void settle(const words &x, const operands &o, gp_fault_at fault) {
    __shared__ unsigned long long many[2];
    __shared__ int first; /* the first operand that is not finite, from 1 */
    if (threadIdx.x == 0) many[0] = many[1] = 0, first = 0;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < x.numel; i += GP_THREADS)
        if (int k = kind_of(x, i)) atomicAdd(&many[k - 1], 1ull);
    for (int k = GP_CHECK_MOST - 1; k >= 0; k--) {
        for (int64_t i = threadIdx.x; i < o.of[k].numel; i += GP_THREADS)
            if (kind_of(o.of[k], i)) first = k + 1;
        __syncthreads();
    }
    int from = first ? first : o.number ? GP_CHECK_MOST + 1 : 0;
    if (threadIdx.x == 0 && (many[0] || !from))
        gp_fault_note(fault, from + 1, (long long)many[0], (long long)many[1]);
}

/* Which block settles is decided in the last word of the launch's own slot. */
static __global__ void look(words x, operands o, gp_fault_at fault) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (meets_some(x)) found = 1;
    __syncthreads();
    if (threadIdx.x == 0 && found)
        found = fault.fault && !atomicExch_system((int *)&fault.fault->v[2], 1);
    __syncthreads();
    if (found) settle(x, o, fault);
}

static bool check(const gp_call *c, int tensor) {
    enum { EACH = 8, A_PROCESSOR = 8 }; /* vectors of a thread; blocks */
    const char *const *texts = gp_finite_texts(c, tensor);
    if (!texts) return false;
    words x = words_of(gp_check_array(c, GP_CHECK_X, tensor));
    operands o;
    for (int k = 0; k < GP_CHECK_MOST; k++)
        o.of[k] = words_of(gp_check_array(c, GP_CHECK_OPERANDS + k, tensor));
    o.number = c->arg[GP_CHECK_NUMBER].i;
    int64_t loads = x.vectors ? x.vectors : x.numel;
    uint32_t blocks = gp_blocks(loads, GP_THREADS * EACH),
             most = (uint32_t)(gp_cuda_sms(c) * A_PROCESSOR);
    return GP_LAUNCH(c, look, blocks < most ? blocks : most, GP_THREADS, 0, x, o,
                     gp_cuda_fault(c, texts, 2 + GP_CHECK_MOST));
}

/* Arguments: those of tensor/ops/finite.h. A launch for each tensor. */
GP_C bool CUDA(check_finite)(const gp_call *c) {
    for (int k = 0, n = gp_check_count(c); k < n; k++)
        if (!check(c, k)) return false;
    return true;
}
