/* pad and roll: each element of the result is one of x, or a value. Limit: a read and a write of
 * each element at the speed of memory. */
#include "kernels/cuda/runtime/rows.cuh"

enum { AHEAD = 4 }; /* elements of a thread, which are all read before the first is written */
enum { NEAR_DIMS = 3, NEAR_BYTES = 16, NEAR_MOST = 8 }; /* of a thread of show_near */

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
template <class I> __device__ static inline I shown(mode how, I i, I n) {
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

/* ---- rows of the last dim, in 32 bits ---- */

/* Up to three dims, the fastest last; strides in bytes. */
typedef struct near_padding {
    const char *x;
    char *out;
    mode how;
    uint32_t numel;
    gp_divider by[NEAR_DIMS]; /* sizes of the result */
    int32_t n[NEAR_DIMS], before[NEAR_DIMS], stride[NEAR_DIMS];
    uint64_t value;
} near_padding;

/* Where row r of the result has its elements from; NULL: it is the value. */
__device__ static inline const char *row_source(const near_padding &p, uint32_t r) {
    uint32_t outer = gp_quotient(p.by[1], r);
    int32_t i = shown(p.how, (int32_t)outer - p.before[0], p.n[0]),
            j = shown(p.how, (int32_t)(r - outer * p.by[1].d) - p.before[1], p.n[1]);
    if (i < 0 || j < 0) return NULL;
    return p.x + (int64_t)i * p.stride[0] + (int64_t)j * p.stride[1];
}

/* A thread has V adjacent elements, of one row or the end of it and the beginning of the next. */
template <class E, int V>
static __global__ void __launch_bounds__(GP_THREADS) show_near(near_padding p) {
    uint32_t e = gp_element() * V;
    if (e >= p.numel) return;
    uint32_t row = gp_quotient(p.by[2], e);
    int32_t cols = (int32_t)p.by[2].d, col = (int32_t)(e - row * p.by[2].d);
    const char *own = row_source(p, row), *next = own;
    if (col + V > cols && e + V <= p.numel) next = row_source(p, row + 1);
    gp_vector<E, V> v;
#pragma unroll
    for (int k = 0; k < V; k++) {
        bool over = col + k >= cols;
        const char *from = over ? next : own;
        int32_t i = shown(p.how, col + k - (over ? cols : 0) - p.before[2], p.n[2]);
        bool have = from && i >= 0 && e + k < p.numel;
        v.v[k] = have ? *(const E *)(from + (int64_t)i * p.stride[2]) : (E)p.value;
    }
    E *to = (E *)p.out + e;
    if (e + V <= p.numel) {
        *(gp_vector<E, V> *)to = v;
        return;
    }
#pragma unroll
    for (int k = 0; k < V; k++)
        if (e + k < p.numel) to[k] = v.v[k];
}

/* p for show_near, whose threads have V elements of `size` bytes; false: it cannot do that. */
static bool make_near(const padding *p, int V, int size, near_padding *to) {
    const int64_t most = (int64_t)1 << 30;
    if (p->ndim < 1 || p->ndim > NEAR_DIMS || p->numel > most || p->dim[p->ndim - 1] < V ||
        !gp_aligned(p->out, (size_t)(V * size)))
        return false;
    *to = {};
    to->x = p->x, to->out = p->out, to->how = p->how, to->numel = (uint32_t)p->numel;
    to->value = p->value;
    for (int d = 0; d < NEAR_DIMS; d++) {
        int at = d - (NEAR_DIMS - p->ndim);
        int64_t n = at < 0 ? 1 : p->n[at], step = at < 0 ? 0 : p->stride[at];
        if (n > most || step > most || step < -most) return false;
        to->by[d] = gp_divide_by(at < 0 ? 1 : (uint32_t)p->dim[at]);
        to->n[d] = (int32_t)n, to->stride[d] = (int32_t)step;
        to->before[d] = at < 0 ? 0 : (int32_t)p->before[at];
    }
    return true;
}

/* ---- runs ---- */

static bool is_whole(const padding *p, int d) { return !p->before[d] && p->dim[d] == p->n[d]; }

/* Joins dims that keep all of x's elements to those before them, where x's memory allows. */
static void join(padding *p) {
    int n = 0;
    for (int d = 0; d < p->ndim; d++) {
        if (is_whole(p, d) && p->dim[d] == 1) continue;
        if (n && is_whole(p, n - 1) && is_whole(p, d) &&
            p->stride[n - 1] == p->n[d] * p->stride[d]) {
            p->dim[n - 1] *= p->dim[d], p->n[n - 1] *= p->n[d], p->stride[n - 1] = p->stride[d];
            continue;
        }
        p->dim[n] = p->dim[d], p->n[n] = p->n[d], p->stride[n] = p->stride[d];
        p->before[n++] = p->before[d];
    }
    p->ndim = n;
}

template <class E> static bool launch_pad(const gp_call *c, padding *p) {
    enum { FIT = NEAR_BYTES / sizeof(E), V = FIT < NEAR_MOST ? (int)FIT : (int)NEAR_MOST };
    near_padding near;
    auto kernel = show<E>;
    join(p);
    if (make_near(p, V, sizeof(E), &near)) {
        auto by_rows = show_near<E, V>;
        return GP_LAUNCH(c, by_rows, gp_blocks(p->numel, V * GP_THREADS), GP_THREADS, 0, near);
    }
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
    return out->numel == 0 || GP_BY_SIZE(gp_dtype_sizes[out->dtype], launch_pad, c, &p);
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
    return out.numel == 0 || GP_BY_SIZE(gp_dtype_sizes[out.dtype], launch_pad, c, &p);
}
