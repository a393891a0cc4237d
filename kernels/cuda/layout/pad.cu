/* pad and roll: each element of the result is one of x, or a value. Limit: a read and a write of
 * each element at the speed of memory. */
#include "kernels/cuda/runtime/rows.cuh"

typedef enum mode { CONSTANT, REFLECT, REPLICATE, CIRCULAR } mode;

typedef struct padding {
    const char *x;
    char *out; /* contiguous */
    mode how;
    int ndim;
    int64_t numel, dim[GP_MAX_DIM], n[GP_MAX_DIM]; /* sizes of the result and of x */
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

template <class E> static __global__ void show(padding p) {
    int64_t e = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x, rest = e, at = 0;
    if (e >= p.numel) return;
    for (int d = p.ndim - 1; d >= 0; d--) {
        int64_t q = gp_divided(rest, p.dim[d]),
                i = shown(p.how, rest - q * p.dim[d] - p.before[d], p.n[d]);
        if (i < 0) {
            ((E *)p.out)[e] = (E)p.value;
            return;
        }
        at += i * p.stride[d];
        rest = q;
    }
    ((E *)p.out)[e] = *(const E *)(p.x + at);
}

template <class E> static bool run(const gp_call *c, const padding *p) {
    auto kernel = show<E>;
    return GP_LAUNCH(c, kernel, gp_blocks(p->numel), GP_THREADS, 0, *p);
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
