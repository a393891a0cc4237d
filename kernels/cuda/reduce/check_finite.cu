/* check_finite: one launch for up to 64 tensors. A block that meets the exponent of a NaN or an
 * infinity in its tensor counts them all there, looks at the operands, and records a fault; only
 * the tensor's first such block does. Limit: one read of all tensors, which costs a launch and no
 * wait. */
#include "kernels/cuda/runtime/loop.cuh"

#include "tensor/ops/finite.h"

enum { TENSORS = 64 };

/* A launch's tensors, as parameters of the kernel. */
struct checked {
    const char *data[TENSORS];
    int64_t numel[TENSORS];
    uint32_t first[TENSORS + 1]; /* block at which each begins */
    uint8_t dtype[TENSORS];
    bool flat[TENSORS]; /* its elements are contiguous */
    int count;
};
static_assert(sizeof(checked) <= 4096 - 64, "they fit in a kernel's parameters");

/* A tensor's elements, wherever they are. */
struct words {
    const char *data;
    int ndim, dtype;
    int64_t numel, dim[GP_MAX_DIM], stride[GP_MAX_DIM]; /* numel 0: it is absent */
};
/* What a block needs of its tensor where that is not flat, or not finite; in pinned memory. */
struct subject {
    words of[1 + GP_CHECK_MOST]; /* from GP_CHECK_X on */
    int number;                  /* a number among the op's arguments is not finite */
    gp_fault_at fault;
};
static_assert(sizeof(subject) % sizeof(int) == 0, "it is copied as ints");

/* ---- elements as whole numbers ---- */

struct masks {
    unsigned long long exponent, mantissa;
    unsigned high; /* that of the exponent in an element's upper half */
    int size;      /* of an element */
};

__device__ static masks masks_of(int dtype) {
    if (dtype == GP_f16) return {0x7c00, 0x3ff, 0x7c00, 2};
    if (dtype == GP_bf16) return {0x7f80, 0x7f, 0x7f80, 2};
    if (dtype == GP_f32) return {0x7f800000, 0x7fffff, 0x7f800000, 4};
    return {0x7ff0000000000000, 0xfffffffffffff, 0x7ff00000, 8};
}

/* 0: the element at p is finite; 1: NaN; 2: infinite. */
__device__ static int kind_at(const char *p, const masks &m) {
    unsigned long long v = m.size == 2   ? *(const uint16_t *)p
                           : m.size == 4 ? *(const uint32_t *)p
                                         : *(const unsigned long long *)p;
    return (v & m.exponent) != m.exponent ? 0 : v & m.mantissa ? 1 : 2;
}

/* The same of element i. */
__device__ static int kind_of(const words &w, const masks &m, int64_t i) {
    const char *p = w.data;
    for (int d = 0; d < w.ndim - 1; d++) p += i % w.dim[d] * w.stride[d], i /= w.dim[d];
    return kind_at(p + i * w.stride[w.ndim - 1], m);
}

__device__ static bool meets(const masks &m, unsigned v) {
    return (v & m.high) == m.high || (m.size == 2 && (v >> 16 & m.high) == m.high);
}

__host__ __device__ static int64_t vectors_in(const char *data, int64_t numel, int size) {
    return (uintptr_t)data % sizeof(uint4) ? 0 : numel * size / (int64_t)sizeof(uint4);
}

/* Whether share t of `all` of n contiguous elements is not finite somewhere: in 16 bytes at a time
 * where they are aligned, the rest one by one. */
__device__ static bool flat_meets(const char *data, int64_t n, const masks &m, int64_t t,
                                  int64_t all) {
    bool bad = false, wide = m.size == 8;
    int64_t vectors = vectors_in(data, n, m.size);
    for (int64_t i = t; i < vectors; i += all) {
        uint4 v = ((const uint4 *)data)[i];
        bad |= meets(m, v.y) || meets(m, v.w) || (!wide && (meets(m, v.x) || meets(m, v.z)));
    }
    for (int64_t i = vectors * (int64_t)sizeof(uint4) / m.size + t; i < n; i += all)
        bad |= kind_at(data + i * m.size, m) != 0;
    return bad;
}

/* ---- the kernel ---- */

__device__ static void copy_subject(subject *to, const subject *from) {
    for (unsigned i = threadIdx.x; i < sizeof *to / sizeof(int); i += GP_THREADS)
        ((int *)to)[i] = ((const int *)from)[i];
    __syncthreads();
}

/* One block: counts s's elements, and records a fault unless an operand, or a number, brought all
 * of its infinities. */
__device__ static void settle(const subject &s) {
    __shared__ unsigned long long many[2];
    __shared__ int first; /* the first operand that is not finite, from 1 */
    const words &x = s.of[GP_CHECK_X];
    masks m = masks_of(x.dtype);
    if (threadIdx.x == 0) many[0] = many[1] = 0, first = 0;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < x.numel; i += GP_THREADS)
        if (int k = kind_of(x, m, i)) atomicAdd(&many[k - 1], 1ull);
    for (int k = GP_CHECK_MOST; k > 0; k--) {
        masks of = masks_of(s.of[k].dtype);
        for (int64_t i = threadIdx.x; i < s.of[k].numel; i += GP_THREADS)
            if (kind_of(s.of[k], of, i)) first = k;
        __syncthreads();
    }
    int from = first ? first : s.number ? GP_CHECK_MOST + 1 : 0;
    if (threadIdx.x == 0 && (many[0] || !from))
        gp_fault_note(s.fault, from + 1, (long long)many[0], (long long)many[1]);
}

__device__ static int tensor_of(const checked &b) {
    int lo = 0, hi = b.count;
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (b.first[mid] <= blockIdx.x) lo = mid;
        else hi = mid;
    }
    return lo;
}

/* Whether this thread's share of tensor u is not finite somewhere; s: the tensor, if not flat. */
__device__ static bool share_meets(const checked &b, int u, const subject &s) {
    int64_t t = (int64_t)(blockIdx.x - b.first[u]) * GP_THREADS + threadIdx.x,
            all = (int64_t)(b.first[u + 1] - b.first[u]) * GP_THREADS;
    masks m = masks_of(b.dtype[u]);
    if (b.flat[u]) return flat_meets(b.data[u], b.numel[u], m, t, all);
    bool bad = false;
    for (int64_t i = t; i < b.numel[u]; i += all) bad |= kind_of(s.of[GP_CHECK_X], m, i) != 0;
    return bad;
}

/* Which block settles is decided in the last word of the tensor's own slot. */
static __global__ void look(checked b, const subject *subjects) {
    __shared__ int found;
    __shared__ subject s;
    int u = tensor_of(b);
    if (threadIdx.x == 0) found = 0;
    if (!b.flat[u]) copy_subject(&s, &subjects[u]);
    __syncthreads();
    if (share_meets(b, u, s)) found = 1;
    __syncthreads();
    gp_fault *fault = found ? subjects[u].fault.fault : NULL;
    __syncthreads();
    if (threadIdx.x == 0 && found) found = fault && !atomicExch_system((int *)&fault->v[2], 1);
    __syncthreads();
    if (!found) return;
    copy_subject(&s, &subjects[u]);
    settle(s);
}

/* ---- the launch ---- */

static void describe(words *w, const gp_array *x) {
    w->numel = 0;
    if (!x) return;
    const gp_array *const arrays[1] = {x};
    gp_nest<1> n = gp_nest_of<1>(arrays);
    w->data = x->data, w->dtype = x->dtype, w->ndim = n.ndim, w->numel = n.numel;
    for (int d = 0; d < n.ndim; d++) w->dim[d] = n.dim[d], w->stride[d] = n.stride[d][0];
}

/* Adds tensor k of c to b, as s. A thread reads 8 vectors, or elements; a tensor has at most 8
 * blocks for each multiprocessor. */
static bool add(const gp_call *c, int k, checked *b, subject *s, bool together) {
    enum { EACH = 8, A_PROCESSOR = 8 };
    const gp_finite_note *note = gp_finite_note_of(c, k);
    const char *const *texts = gp_finite_texts(c, k);
    if (!texts) return false;
    for (int i = 0; i <= GP_CHECK_MOST; i++) describe(&s->of[i], gp_check_array(c, i, k));
    s->number = note->number;
    s->fault = gp_cuda_fault_of(c, note->at, together, texts, 2 + GP_CHECK_MOST);
    const words *x = &s->of[GP_CHECK_X];
    int at = b->count++, size = gp_dtype_sizes[x->dtype];
    b->data[at] = x->data, b->numel[at] = x->numel, b->dtype[at] = (uint8_t)x->dtype;
    b->flat[at] = x->ndim == 1 && x->stride[0] == size;
    int64_t vectors = b->flat[at] ? vectors_in(x->data, x->numel, size) : 0;
    uint32_t blocks = gp_blocks(vectors ? vectors : x->numel, GP_THREADS * EACH),
             most = (uint32_t)(gp_cuda_sms(c) * A_PROCESSOR);
    b->first[at + 1] = b->first[at] + (blocks < most ? blocks : most);
    return true;
}

/* Tensors from … from + n - 1. */
static bool check(const gp_call *c, int from, int n) {
    checked b;
    subject *s = (subject *)gp_cuda_table(c, (size_t)n * sizeof *s);
    if (!s) return false;
    b.count = 0, b.first[0] = 0;
    for (int k = 0; k < n; k++)
        if (!add(c, from + k, &b, &s[k], n > 1)) return false;
    return GP_LAUNCH(c, look, b.first[n], GP_THREADS, 0, b, s);
}

/* Arguments: those of tensor/ops/finite.h. */
GP_C bool CUDA(check_finite)(const gp_call *c) {
    for (int from = 0, n = gp_check_count(c); from < n; from += TENSORS)
        if (!check(c, from, n - from < TENSORS ? n - from : TENSORS)) return false;
    return true;
}
