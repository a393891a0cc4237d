/* Writing at random addresses, in a fixed order: scatter, index_put, index_add and similar ops. The
 * addresses are sorted, which makes equal ones adjacent, and one thread writes each: the last
 * value, or the sum of all in order. A block writes an address that many share. Limit: the sort, a
 * block's where the indices of a line of the target fit it; and the bytes of values and target at
 * the speed of memory. */
#include "kernels/cuda/index/scatter.cuh"
#include "kernels/cuda/sort/cub.h"
#include "kernels/cuda/sort/network.cuh"

enum {
    MANY = 256, /* writes to one address that are worth a block */
    AHEAD = 4   /* values that a thread reads before it joins the first */
};

/* Sorted, or sorted within lines that share no address: keys are offsets from the target's first
 * element, of the writes by number; in elements, of 32 bits, where narrow, else in bytes. */
typedef struct writes {
    const void *keys;
    const uint32_t *at;
    int64_t n;
    bool narrow;
    int shift;     /* of a key to bytes */
    bool by_write; /* neighbouring threads have neighbouring writes, not elements of the rest */
    uint64_t none; /* the key of a write without a valid index */
    gp_scatter_op how;
    bool include_self;
    gp_dtype tt, vt;
    gp_loop<1> of;           /* values by the number of the write */
    gp_loop<2> rest;         /* target and values in the dims that are not indexed */
    gp_wide_divider by_fast; /* writes, or elements of the rest */
    const uint32_t *bad;     /* not 0: an index is bad, and nothing is written */
    uint32_t *many; /* the number of addresses left to blocks, then where their keys begin */
} writes;

/* ---- addresses ---- */

template <class K>
static __global__ void find_positions(gp_loop<2> l, gp_dim_index k, int shift, K *keys,
                                      uint32_t *at, int64_t first, uint64_t none) {
    uint32_t i = gp_element();
    int64_t off[2], to;
    if (i >= l.numel) return;
    gp_offsets(l, i, off);
    bool found = gp_index_offset(k, l.data[1] + off[1], &to);
    keys[first + i] = (K)(found ? (uint64_t)(off[0] + to) >> shift : none);
    at[first + i] = (uint32_t)(first + i);
}

/* Lines of `per` writes, a group of `slots` in the network; k's offsets are elements of a line of
 * the target, `step` bytes apart. */
typedef struct lines {
    uint32_t per, n, slots;
    int64_t step;
} lines;

/* Sorts each line by element. A number in the network: the element above the write's place. */
template <class C>
static __global__ void __launch_bounds__(GP_THREADS)
    sort_lines(gp_loop<2> l, gp_dim_index k, lines a, int shift, uint32_t *keys, uint32_t *at,
               uint32_t none) {
    __shared__ C shared[GP_NET_SHARED];
    const uint32_t threads = a.slots / GP_NET_EACH, group = threadIdx.x / threads,
                   me = threadIdx.x % threads, line = blockIdx.x * (GP_THREADS / threads) + group,
                   from = line < a.n ? line * a.per : 0;
    const char *index[GP_NET_EACH];
    int64_t off[2], i[GP_NET_EACH], to;
    C v[GP_NET_EACH];
#pragma unroll
    for (int e = 0; e < GP_NET_EACH; e++) {
        gp_offsets(l, from + (e * threads + me < a.per ? e * threads + me : 0), off);
        index[e] = l.data[1] + off[1];
    }
    gp_load_at<int64_t, GP_NET_EACH>(index, k.dtype, i);
#pragma unroll
    for (int e = 0; e < GP_NET_EACH; e++) {
        uint32_t position = e * threads + me;
        v[e] = (C) ~(C)0;
        if (position >= a.per || line >= a.n) continue;
        if (!gp_index_offset(k, i[e], &to)) to = k.size;
        v[e] = (C)((uint64_t)to << GP_NET_BITS | position);
    }
    gp_net_sort(v, shared, a.slots);
    if (line >= a.n) return;
    gp_offsets(l, from, off);
#pragma unroll
    for (int e = 0; e < GP_NET_EACH; e++) {
        uint32_t position = e * threads + me;
        if (position >= a.per) return;
        C one = gp_net_at(shared, group * a.slots + position);
        to = (int64_t)(one >> GP_NET_BITS);
        keys[from + position] = to == k.size ? none : (uint32_t)((off[0] + to * a.step) >> shift);
        at[from + position] = from + (uint32_t)(one & (GP_NET_ALL - 1));
    }
}

/* The dims of a that an index addresses (or the others). */
static gp_array some_dims(const gp_index_dims *l, const gp_array *a, bool indexed) {
    gp_array r = *a;
    r.ndim = 0;
    for (int d = 0; d < l->ndim; d++) {
        if ((l->position[d] >= 0) != indexed) continue;
        r.dim[r.ndim] = a->dim[d];
        r.stride[r.ndim++] = a->stride[d];
    }
    gp_array_finish(&r);
    return r;
}

/* Bytes from the target's first element to its last; negative where strides are. */
static int64_t extent(const gp_array *a) {
    int64_t bytes = 0;
    for (int d = 0; d < a->ndim; d++) {
        if (a->stride[d] < 0) return -1;
        bytes += (a->dim[d] - 1) * a->stride[d];
    }
    return bytes * gp_dtype_sizes[a->dtype];
}

/* Whether the indices along lead's last dim choose within a line of the target, another one for
 * each of its other dims, and fit a block. */
static bool in_lines(const gp_array *lead, const gp_dim_index *k) {
    int last = lead->ndim - 1;
    if (last < 0 || k->ready || lead->stride[last] != 0 || lead->dim[last] > GP_NET_ALL)
        return false;
    for (int d = 0; d < last; d++)
        if (lead->stride[d] == 0 && lead->dim[d] > 1) return false;
    return lead->numel <= INT32_MAX;
}

static bool sort_in_lines(const gp_call *c, const gp_loop<2> &l, const gp_dim_index &k,
                          const writes *s, uint32_t per, uint32_t *keys, uint32_t *at) {
    gp_dim_index unit = k;
    lines a = {per, l.numel / per, gp_net_slots(per), k.step};
    unit.step = 1;
    auto kernel =
        gp_bits((uint64_t)k.size) + GP_NET_BITS <= 32 ? sort_lines<uint32_t> : sort_lines<uint64_t>;
    return GP_LAUNCH(c, kernel, gp_blocks(a.n, GP_NET_ALL / a.slots), GP_THREADS, 0, l, unit, a,
                     s->shift, keys, at, (uint32_t)s->none);
}

/* Both arrays have the indices' shape; keys and at: scratch memory of s->n each. */
template <class K>
static bool sort_all(const gp_call *c, const gp_array *const (&arrays)[2], const gp_dim_index &k,
                     writes *s) {
    auto find = find_positions<K>;
    K *keys = (K *)gp_cuda_scratch(c, (size_t)s->n * sizeof(K));
    uint32_t *at = keys ? (uint32_t *)gp_cuda_scratch(c, (size_t)s->n * 4) : NULL;
    gp_nest<2> nest = gp_nest_of<2>(arrays, true);
    bool ok = at != NULL;
    if constexpr (sizeof(K) == 4) {
        if (ok && in_lines(arrays[0], &k)) {
            s->keys = keys, s->at = at;
            uint32_t per = (uint32_t)arrays[0]->dim[arrays[0]->ndim - 1];
            return sort_in_lines(c, gp_loop_of(nest), k, s, per, keys, at);
        }
    }
    ok = ok && gp_nest_run(nest, [&](gp_loop<2> l, int64_t first) {
             return GP_LAUNCH(c, find, gp_blocks(l.numel), GP_THREADS, 0, l, k, s->shift, keys, at,
                              first, s->none);
         });
    if constexpr (sizeof(K) == 4) ok = ok && gp_cuda_sort32(c, &keys, &at, s->n, gp_bits(s->none));
    else ok = ok && gp_cuda_sort64(c, &keys, &at, s->n, gp_bits(s->none));
    s->keys = keys, s->at = at;
    return ok;
}

static bool sort_positions(const gp_call *c, const gp_indexed *p, const gp_scatter_write *w,
                           writes *s) {
    gp_array x = gp_lay_x(&p->l, &w->target), index = gp_lay_index(p),
             lead = some_dims(&p->l, &x, true), ileads = some_dims(&p->l, &index, true);
    int size = gp_dtype_sizes[w->target.dtype];
    int64_t bytes = extent(&w->target);
    s->n = lead.numel;
    if (s->n >= UINT32_MAX)
        return gp_fail("%s: %lld indices are more than one call takes (4294967294)", c->op->name,
                       (long long)s->n);
    s->narrow = bytes >= 0 && bytes / size + 1 <= UINT32_MAX;
    s->none = s->narrow   ? (uint64_t)(bytes / size) + 1
              : bytes < 0 ? UINT64_MAX
                          : (uint64_t)bytes + 1;
    while (s->narrow && 1 << s->shift < size) s->shift++;
    const gp_array *const arrays[2] = {&lead, &ileads};
    return s->narrow ? sort_all<uint32_t>(c, arrays, p->over, s)
                     : sort_all<uint64_t>(c, arrays, p->over, s);
}

/* ---- one thread per address ---- */

__device__ static inline uint64_t key_at(const writes &s, int64_t i) {
    return s.narrow ? ((const uint32_t *)s.keys)[i] : ((const uint64_t *)s.keys)[i];
}

__device__ static inline bool begins(const writes &s, int64_t i) {
    uint64_t key = key_at(s, i);
    return key != s.none && (i == 0 || key_at(s, i - 1) != key);
}

/* The end of the writes that share the address of write i. */
__device__ static inline int64_t end_of(const writes &s, int64_t i) {
    int64_t lo = i, hi = s.n;
    uint64_t key = key_at(s, i);
    for (int64_t step = 1; lo + step < hi; step *= 2) {
        if (key_at(s, lo + step) != key) {
            hi = lo + step;
            break;
        }
        lo += step;
    }
    while (hi - lo > 1) {
        int64_t mid = lo + (hi - lo) / 2;
        if (key_at(s, mid) == key) lo = mid;
        else hi = mid;
    }
    return lo + 1;
}

/* Number i of all writes times element j of the rest. */
__device__ static inline bool element_of(const writes &s, int64_t *i, uint32_t *j) {
    int64_t e = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (s.rest.numel == 1) return *i = e, *j = 0, e < s.n;
    int64_t slow = gp_divide(s.by_fast, &e);
    *i = s.by_write ? e : slow, *j = (uint32_t)(s.by_write ? slow : e);
    return s.by_write ? slow < s.rest.numel : slow < s.n;
}

template <class E> static __global__ void write_last(writes s) {
    int64_t i, of[1], rest[2];
    uint32_t j;
    if (*s.bad || !element_of(s, &i, &j) || !begins(s, i)) return;
    gp_offsets(s.of, s.at[end_of(s, i) - 1], of);
    gp_offsets(s.rest, j, rest);
    *(E *)(s.rest.data[0] + (key_at(s, i) << s.shift) + rest[0]) =
        *(const E *)(s.of.data[0] + of[0] + rest[1]);
}

/* NaN wins, as in amin and amax. */
template <class T> __device__ static inline T join(gp_scatter_op how, T a, T b) {
    switch (how) {
    case GP_MUL: return a * b;
    case GP_MIN: return b < a || b != b ? b : a;
    case GP_MAX: return b > a || b != b ? b : a;
    default: return a + b;
    }
}

template <class T> __device__ static inline T floor_of(T s, T k) { return s / k - (s % k < 0); }
template <> __device__ inline float floor_of<float>(float s, float k) { return s / k; }
template <> __device__ inline double floor_of<double>(double s, double k) { return s / k; }

template <class T> __device__ static T value_of(const writes &s, int64_t i, const int64_t *rest) {
    int64_t of[1];
    gp_offsets(s.of, s.at[i], of);
    return gp_load_as<T>(s.of.data[0] + of[0] + rest[1], s.vt);
}

/* v with the values of writes k, k + step, … below end, in this order. */
template <class T>
__device__ static T join_values(const writes &s, T v, int64_t k, int64_t end, int64_t step,
                                const int64_t *rest) {
    for (; k < end; k += AHEAD * step) {
        T x[AHEAD];
#pragma unroll
        for (int a = 0; a < AHEAD; a++)
            if (k + a * step < end) x[a] = value_of<T>(s, k + a * step, rest);
#pragma unroll
        for (int a = 0; a < AHEAD; a++)
            if (k + a * step < end) v = join(s.how, v, x[a]);
    }
    return v;
}

/* v: `many` values combined. */
template <class T>
__device__ static void write_joined(const writes &s, char *to, T v, int64_t many) {
    if (s.include_self) v = join(s.how, gp_load_as<T>(to, s.tt), v);
    many += s.include_self;
    if (s.how == GP_MEAN && many > 1) v = floor_of(v, (T)many);
    gp_store_as<T>(to, s.tt, v);
}

/* Whether more than MANY writes begin at i, which a block joins: element 0 of the rest says so. */
__device__ static inline bool left_to_block(const writes &s, int64_t i, uint64_t key, uint32_t j) {
    if (i + MANY >= s.n || key_at(s, i + 1) != key || key_at(s, i + MANY) != key) return false;
    if (j == 0) s.many[1 + atomicAdd(s.many, 1u)] = (uint32_t)i;
    return true;
}

template <class T> static __global__ void write_sums(writes s) {
    int64_t i, rest[2];
    uint32_t j;
    if (*s.bad || !element_of(s, &i, &j) || !begins(s, i)) return;
    uint64_t key = key_at(s, i);
    if (left_to_block(s, i, key, j)) return;
    gp_offsets(s.rest, j, rest);
    char *to = s.rest.data[0] + (key << s.shift) + rest[0];
    int64_t end = end_of(s, i);
    if (s.include_self && s.how != GP_MEAN) { /* in order, starting with the target's own element */
        T v = gp_load_as<T>(to, s.tt);
        gp_store_as<T>(to, s.tt, join_values(s, v, i, end, 1, rest));
        return;
    }
    T v = value_of<T>(s, i, rest);
    write_joined(s, to, join_values(s, v, i + 1, end, 1, rest), end - i);
}

/* write_sums of sums that start with the target's own elements, of vectors of dtype D: the rest has
 * elements of 16 bytes. */
template <int D> static __global__ void write_vectors(writes s) {
    enum { V = D == GP_f32 ? 4 : 8, PAIR = 2 };
    int64_t i, rest[2], of[1];
    uint32_t j;
    if (*s.bad || !element_of(s, &i, &j) || !begins(s, i)) return;
    uint64_t key = key_at(s, i);
    if (left_to_block(s, i, key, j)) return;
    gp_offsets(s.rest, j, rest);
    char *to = s.rest.data[0] + (key << s.shift) + rest[0];
    const int64_t end = end_of(s, i);
    float sum[V];
    gp_load_some<float, V>(to, (gp_dtype)D, sum);
    for (; i < end; i += PAIR) {
        uint4 raw[PAIR];
        float v[V];
#pragma unroll
        for (int a = 0; a < PAIR; a++) {
            gp_offsets(s.of, s.at[i + a < end ? i + a : i], of);
            raw[a] = *(const uint4 *)(s.of.data[0] + of[0] + rest[1]);
        }
#pragma unroll
        for (int a = 0; a < PAIR; a++) {
            gp_load_some<float, V>(&raw[a], (gp_dtype)D, v);
#pragma unroll
            for (int k = 0; k < V; k++)
                if (i + a < end) sum[k] += v[k];
        }
    }
    gp_store_some<float, V>(to, (gp_dtype)D, sum);
}

/* Addresses that many writes share: threads of one x compute an element of the rest, those of one y
 * every n-th write. */
template <class T> static __global__ void write_joined_many(writes s) {
    __shared__ T shared[GP_THREADS];
    if (*s.bad) return;
    for (uint32_t u = blockIdx.x; u < *s.many; u += gridDim.x) {
        int64_t i = s.many[1 + u], end = end_of(s, i), rest[2];
        for (int64_t j0 = (int64_t)blockIdx.y * blockDim.x; j0 < s.rest.numel;
             j0 += (int64_t)gridDim.y * blockDim.x) {
            uint32_t j = (uint32_t)(j0 + threadIdx.x);
            bool live = j < s.rest.numel;
            gp_offsets(s.rest, live ? j : 0, rest);
            T v = value_of<T>(s, i + threadIdx.y, rest);
            v = join_values(s, v, i + threadIdx.y + blockDim.y, end, blockDim.y, rest);
            __syncthreads();
            shared[threadIdx.y * blockDim.x + threadIdx.x] = v;
            __syncthreads();
            if (threadIdx.y || !live) continue;
            for (unsigned k = 1; k < blockDim.y; k++)
                v = join(s.how, v, shared[k * blockDim.x + threadIdx.x]);
            write_joined(s, s.rest.data[0] + (key_at(s, i) << s.shift) + rest[0], v, end - i);
        }
    }
}

/* ---- launches ---- */

typedef void write_kernel(writes s);

/* A thread for each write and element of `over`. */
static bool run_each(const gp_call *c, const writes *s, const gp_nest<2> &over,
                     write_kernel *kernel) {
    writes w = *s;
    w.rest = gp_loop_of(over);
    uint32_t blocks = gp_blocks(w.n * over.numel);
    w.by_fast = gp_divide_up_to((int64_t)blocks * GP_THREADS, w.by_write ? w.n : over.numel);
    return GP_LAUNCH(c, kernel, blocks, GP_THREADS, 0, w);
}

template <class E> static bool run_last(const gp_call *c, const writes *s, const gp_nest<2> &over) {
    return run_each(c, s, over, write_last<E>);
}

/* wide: `over` is of vectors, which write_vectors takes. */
template <class T>
static bool run_sums(const gp_call *c, writes *s, const gp_nest<2> &over, bool wide) {
    size_t shared = (size_t)(s->n / MANY + 2) * 4;
    write_kernel *kernel = !wide             ? write_sums<T>
                           : s->tt == GP_f32 ? write_vectors<GP_f32>
                           : s->tt == GP_f16 ? write_vectors<GP_f16>
                                             : write_vectors<GP_bf16>;
    auto rest = write_joined_many<T>;
    if (!(s->many = (uint32_t *)gp_cuda_scratch(c, shared)) ||
        !gp_cuda_ok(c, cudaMemsetAsync(s->many, 0, 4, gp_cuda_stream(c))) ||
        !run_each(c, s, over, kernel))
        return false;
    if (s->n <= MANY) return true;
    uint32_t x = 1;
    while (x < 32 && x < s->rest.numel) x *= 2;
    uint32_t a = (uint32_t)(s->n / MANY), b = gp_blocks(s->rest.numel, x);
    dim3 grid(a < 1024 ? a : 1024, b < 64 ? b : 64), block(x, GP_THREADS / x);
    return GP_LAUNCH(c, rest, grid, block, 0, *s);
}

/* Every write has the same value: their order does not matter. */
template <class T> static __global__ void fill(gp_loop<2> l, gp_dim_index k, T v, gp_dtype dt) {
    uint32_t i = gp_element();
    int64_t off[2], at;
    if (i >= l.numel || *k.bad) return;
    gp_offsets(l, i, off);
    if (gp_index_offset(k, l.data[1] + off[1], &at)) gp_store_as<T>(l.data[0] + off[0] + at, dt, v);
}

template <class T>
static bool run_fill(const gp_call *c, const gp_indexed *p, const gp_scatter_write *w) {
    gp_array x = gp_lay_x(&p->l, &w->target), index = gp_lay_index(p);
    const gp_array *const arrays[2] = {&x, &index};
    T v = gp_number_as<T>(w->number);
    auto kernel = fill<T>;
    return gp_cuda_check_index(c, p) &&
           gp_nest_run(gp_nest_of<2>(arrays), [&](gp_loop<2> l, int64_t) {
               return GP_LAUNCH(c, kernel, gp_blocks(l.numel), GP_THREADS, 0, l, p->over, v,
                                (gp_dtype)w->target.dtype);
           });
}

/* A number as an array of one element on the device. */
template <class T> static __global__ void store_number(char *to, gp_dtype dt, T v) {
    gp_store_as<T>(to, dt, v);
}
template <class T>
static bool run_number(const gp_call *c, const gp_scatter_write *w, gp_array *a) {
    auto kernel = store_number<T>;
    memset(a, 0, sizeof *a);
    a->numel = 1, a->contiguous = true, a->dtype = w->target.dtype;
    if (gp_dtype_sizes[a->dtype] == 2 && gp_is_float((gp_dtype)a->dtype)) a->dtype = GP_f32;
    a->data = (char *)gp_cuda_scratch(c, 8);
    return a->data &&
           GP_LAUNCH(c, kernel, 1, 1, 0, a->data, (gp_dtype)a->dtype, gp_number_as<T>(w->number));
}

/* Turns elements of the rest into ones of 16 bytes where it is contiguous in target and values, and
 * every address is a multiple of that; of: values by write, lead: the dims that are indexed. */
static bool widen(gp_nest<2> *rest, const gp_nest<1> &of, const gp_array &lead,
                  const gp_dim_index &k) {
    enum { WIDE = 16 };
    int64_t size = gp_dtype_sizes[lead.dtype];
    if (rest->stride[0][0] != size || rest->stride[0][1] != size || k.ready) return false;
    bool fits = rest->dim[0] * size % WIDE == 0 && k.step % WIDE == 0;
    for (int a = 0; a < 2; a++) {
        fits = fits && gp_aligned(rest->data[a], WIDE);
        for (int d = 1; d < rest->ndim; d++) fits = fits && rest->stride[d][a] % WIDE == 0;
    }
    for (int d = 0; d < of.ndim; d++) fits = fits && of.stride[d][0] % WIDE == 0;
    for (int d = 0; d < lead.ndim; d++) fits = fits && lead.stride[d] * size % WIDE == 0;
    if (!fits) return false;
    rest->dim[0] = rest->dim[0] * size / WIDE, rest->numel = rest->numel * size / WIDE;
    rest->stride[0][0] = rest->stride[0][1] = WIDE;
    return true;
}

/* Finding p's addresses sets *p->over.bad for bad indices. */
static bool scatter(const gp_call *c, const gp_indexed *p, const gp_scatter_write *w) {
    gp_dtype dt = (gp_dtype)w->target.dtype, ct = gp_compute_dtype(dt);
    gp_array number;
    writes s = {};
    if (w->is_number && w->how == GP_ASSIGN) return GP_BY_COMPUTE(dt, run_fill, c, p, w);
    if (w->is_number && !GP_BY_COMPUTE(dt, run_number, c, w, &number)) return false;
    gp_array x = gp_lay_x(&p->l, &w->target),
             values = gp_lay_flat(&p->l, w->is_number ? &number : &w->values);
    if (x.numel == 0) return gp_cuda_check_index(c, p);
    gp_array of = some_dims(&p->l, &values, true), xr = some_dims(&p->l, &x, false),
             vr = some_dims(&p->l, &values, false);
    if (xr.numel > INT32_MAX || of.numel > INT32_MAX)
        return gp_fail("%s: indices or rows of more than 2147483647 elements", c->op->name);
    if (!sort_positions(c, p, w, &s)) return false;
    const gp_array *const one[1] = {&of}, *const two[2] = {&xr, &vr};
    gp_nest<1> by_write = gp_nest_of<1>(one, true);
    gp_nest<2> rest = gp_nest_of<2>(two), over = rest;
    s.of = gp_loop_of(by_write), s.rest = gp_loop_of(rest);
    s.bad = p->over.bad, s.how = w->how, s.include_self = w->include_self;
    s.tt = dt, s.vt = (gp_dtype)values.dtype;
    int64_t step = rest.stride[0][0];
    s.by_write = p->over.step > 0 && p->over.step < (step < 0 ? -step : step);
    bool sums = w->how == GP_ADD && w->include_self && ct == GP_f32 && s.vt == dt,
         wide = (sums || w->how == GP_ASSIGN) &&
                widen(&over, by_write, some_dims(&p->l, &x, true), p->over);
    if (w->how == GP_ASSIGN)
        return wide ? run_last<uint4>(c, &s, over)
                    : GP_BY_SIZE(gp_dtype_sizes[dt], run_last, c, &s, over);
    if (w->how == GP_MEAN && ct == GP_i32) ct = GP_i64;
    return GP_BY_COMPUTE(ct, run_sums, c, &s, over, wide);
}

bool gp_cuda_scatter(const gp_call *c, const gp_indexed *p, const gp_scatter_write *w) {
    gp_indexed q = *p;
    q.over.bad = (uint32_t *)gp_cuda_scratch(c, sizeof(uint32_t));
    return q.over.bad &&
           gp_cuda_ok(c, cudaMemsetAsync(q.over.bad, 0, sizeof(uint32_t), gp_cuda_stream(c))) &&
           scatter(c, &q, w);
}
