/* pad and roll: each element of the result is one of x, or a value. Limit: a read and a write of
 * each element at the speed of memory. */
#include "kernels/cuda/runtime/rows.cuh"

enum { AHEAD = 4 }; /* elements of a thread, which are all read before the first is written */

typedef enum mode { CONSTANT, REFLECT, REPLICATE, CIRCULAR } mode;

typedef struct padding {
    const char *x;
    char *out; /* contiguous */
    mode how;
    int ndim;
    int64_t numel, dim[GP_MAX_DIM], n[GP_MAX_DIM]; /* sizes of the result and of x */
    gp_wide_divider by[GP_MAX_DIM];                /* dim */
    int64_t before[GP_MAX_DIM]; /* elements padded before the first; negative: cut off */
    int64_t stride[GP_MAX_DIM]; /* of x, in bytes */
    uint64_t value;             /* for CONSTANT */
} padding;

/* The index in a dim of size n that position i (0 is the first element) maps to; -1: the value. */
__device__ static inline int64_t shown(mode how, int64_t i, int64_t n) {
    if (i >= 0 && i < n) return i;
    switch (how) {
    case REFLECT: return i < 0 ? -i : 2 * (n - 1) - i;
    case REPLICATE: return i < 0 ? 0 : n - 1;
    case CIRCULAR: return i < 0 ? i + n : i - n;
    default: return -1;
    }
}

/* Where element e of the result comes from; NULL: it is the value. */
__device__ static inline const char *source(const padding &p, int64_t e) {
    int64_t at = 0;
    for (int d = p.ndim - 1; d >= 0; d--) {
        int64_t i = e;
        e = gp_divide(p.by[d], &i);
        i = shown(p.how, i - p.before[d], p.n[d]);
        if (i < 0) return NULL;
        at += i * p.stride[d];
    }
    return p.x + at;
}

template <class E> static __global__ void show(padding p) {
    int64_t e = (int64_t)blockIdx.x * (AHEAD * GP_THREADS) + threadIdx.x;
    const char *from[AHEAD];
    E v[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
        int64_t at = e + k * GP_THREADS;
        from[k] = at < p.numel ? source(p, at) : NULL;
    }
#pragma unroll
    for (int k = 0; k < AHEAD; k++) v[k] = from[k] ? *(const E *)from[k] : (E)p.value;
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
        if (e + k * GP_THREADS < p.numel) ((E *)p.out)[e + k * GP_THREADS] = v[k];
}

template <class E> static bool run(const gp_call *c, padding *p) {
    auto kernel = show<E>;
    for (int d = 0; d < p->ndim; d++) p->by[d] = gp_divide_up_to(p->numel, p->dim[d]);
    return GP_LAUNCH(c, kernel, gp_blocks(p->numel, AHEAD * GP_THREADS), GP_THREADS, 0, *p);
}

static padding padding_of(const gp_array *out, const gp_array *x, mode how) {
    padding p = {};
    p.x = x->data, p.out = out->data, p.how = how, p.ndim = out->ndim, p.numel = out->numel;
    for (int d = 0; d < out->ndim; d++)
        p.dim[d] = out->dim[d], p.n[d] = x->dim[d], p.stride[d] = gp_step(x, d);
    return p;
}

/* Circular padding wraps only the elements that are kept: x is cut first. */
static void leave_out(padding *p) {
    for (int d = 0; d < p->ndim; d++) {
        int64_t after = p->dim[d] - p->n[d] - p->before[d],
                first = p->before[d] < 0 ? -p->before[d] : 0;
        p->x += first * p->stride[d];
        p->n[d] -= first + (after < 0 ? -after : 0);
        p->before[d] += first;
    }
}

/* A number as stored in dtype dt. */
static uint64_t bits_of(gp_scalar s, gp_dtype dt) {
    uint64_t v = 0;
    float f = gp_number_as<float>(s);
    double g = gp_number_as<double>(s);
    switch (dt) {
    case GP_f64: memcpy(&v, &g, 8); break;
    case GP_f32: memcpy(&v, &f, 4); break;
    case GP_f16:
    case GP_bf16: gp_scalar_store(dt, &v, s); break;
    case GP_bool: v = g != 0; break;
    default: v = (uint64_t)gp_number_as<int64_t>(s);
    }
    return v;
}

/* Arguments: x, the padding (for each dim: before, in the order of the dims), the mode, the
 * value. */
GP_C bool CUDA(pad)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0);
    int n;
    const int64_t *before = gp_ints(c, 1, &n);
    padding p = padding_of(out, x, (mode)c->arg[2].i);
    for (int d = 0; d < p.ndim; d++) p.before[d] = before[d];
    if (p.how == CIRCULAR) leave_out(&p);
    p.value = bits_of(gp_value_scalar(&c->arg[3]), (gp_dtype)out->dtype);
    return out->numel == 0 || GP_BY_SIZE(gp_dtype_sizes[out->dtype], run, c, &p);
}

/* Arguments: x, a shift for each dim, from 0 to below its size. Flattened: the shift of the
 * temporary. */
GP_C bool CUDA(roll)(const gp_call *c) {
    gp_array out = *gp_out(c, 0), x = *gp_in(c, 0);
    int n;
    const int64_t *shift = gp_ints(c, 1, &n);
    if (c->ntmp) {
        x = *c->tmpa[0];
        x.ndim = out.ndim = 1;
        x.dim[0] = out.dim[0] = x.numel, x.stride[0] = out.stride[0] = 1;
    }
    padding p = padding_of(&out, &x, CIRCULAR);
    for (int d = 0; d < p.ndim; d++) p.before[d] = shift[d];
    return out.numel == 0 || GP_BY_SIZE(gp_dtype_sizes[out.dtype], run, c, &p);
}
