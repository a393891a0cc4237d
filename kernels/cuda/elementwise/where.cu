/* where and masked_fill: each element from one of two operands, by a mask. Limit: reading the mask
 * and both operands and writing the result once. */
#include "kernels/cuda/runtime/loop.cuh"

/* Arrays of the loop: the result, the mask, a, b. */
typedef struct choice {
    uint8_t dtype, from[2]; /* of the result; of a and b in memory */
    bool number[2];         /* a number argument: its bits in the result's dtype */
    uint64_t bits[2];
    bool one[3]; /* vectors: mask, a, b hold one element per row */
} choice;

/* M: unsigned, of the result's size. */
template <class M>
__global__ static void __launch_bounds__(GP_THREADS) choose_kernel(gp_loop<4> l, choice c) {
    uint32_t i = gp_element();
    int64_t off[4];
    if (i >= l.numel) return;
    gp_offsets(l, i, off);
    int k = *(const uint8_t *)(l.data[1] + off[1]) ? 0 : 1;
    const char *p = k ? l.data[3] + off[3] : l.data[2] + off[2];
    gp_dtype to = (gp_dtype)c.dtype, from = (gp_dtype)c.from[k];
    char *o = l.data[0] + off[0];
    /* Operands of another dtype are converted through the result's compute type. */
    if (c.number[k]) *(M *)o = (M)c.bits[k];
    else if (from == to) *(M *)o = *(const M *)p;
    else if (to == GP_f64) gp_store_as<double>(o, to, gp_load_as<double>(p, from));
    else if (to == GP_i64) gp_store_as<int64_t>(o, to, gp_load_as<int64_t>(p, from));
    else if (to < GP_f16) gp_store_as<int32_t>(o, to, gp_load_as<int32_t>(p, from));
    else gp_store_as<float>(o, to, gp_load_as<float>(p, from));
}

template <class M, int V> __device__ static inline gp_vector<M, V> all_of(M m) {
    gp_vector<M, V> v;
#pragma unroll
    for (int j = 0; j < V; j++) v.v[j] = m;
    return v;
}

/* Elements of the loop are vectors of 16 bytes, all of the result's dtype. */
template <class M>
__global__ static void __launch_bounds__(GP_THREADS) choose_vectors(gp_loop<4> l, choice c) {
    enum { V = 16 / sizeof(M) };
    uint32_t i = gp_element();
    int64_t off[4];
    gp_vector<M, V> to, v[2];
    if (i >= l.numel) return;
    gp_offsets(l, i, off);
    const char *m = l.data[1] + off[1];
    gp_vector<uint8_t, V> mask =
        c.one[0] ? all_of<uint8_t, V>(*(const uint8_t *)m) : *(const gp_vector<uint8_t, V> *)m;
#pragma unroll
    for (int k = 0; k < 2; k++) {
        const char *p = l.data[2 + k] + off[2 + k];
        v[k] = c.number[k]    ? all_of<M, V>((M)c.bits[k])
               : c.one[1 + k] ? all_of<M, V>(*(const M *)p)
                              : *(const gp_vector<M, V> *)p;
    }
#pragma unroll
    for (int j = 0; j < V; j++) to.v[j] = mask.v[j] ? v[0].v[j] : v[1].v[j];
    *(gp_vector<M, V> *)(l.data[0] + off[0]) = to;
}

/* Whether rows can run by vectors; sets c->one for arrays that are constant along a row. */
static bool by_vectors(const gp_nest<4> &n, choice *c, int64_t size) {
    const int64_t many = 16 / size;
    if (n.stride[0][0] != size || n.dim[0] % many) return false;
    for (int k = 0; k < 4; k++) {
        int64_t each = k == 1 ? 1 : size, bytes = each * many;
        if (k >= 2 && !c->number[k - 2] && c->from[k - 2] != c->dtype) return false;
        if (k) c->one[k - 1] = n.stride[0][k] == 0;
        if (k && c->one[k - 1]) continue;
        if (n.stride[0][k] != each || !gp_aligned(n.data[k], (size_t)bytes)) return false;
        for (int d = 1; d < n.ndim; d++)
            if (n.stride[d][k] % bytes) return false;
    }
    return true;
}

template <class M> static bool select(const gp_call *c, gp_nest<4> n, choice k) {
    bool vectors = by_vectors(n, &k, sizeof(M));
    int64_t many = 16 / sizeof(M);
    if (vectors) {
        n.numel /= many, n.dim[0] /= many;
        for (int a = 0; a < 4; a++) n.stride[0][a] *= many;
    }
    auto *kernel = vectors ? choose_vectors<M> : choose_kernel<M>;
    return gp_nest_run(n, [&](const gp_loop<4> &l, int64_t first) {
        return GP_LAUNCH(c, kernel, gp_blocks(l.numel), GP_THREADS, 0, l, k);
    });
}

static bool choose(const gp_call *c, const gp_array *mask, const gp_value *a, const gp_value *b) {
    static const gp_array number = {NULL, 1, GP_u8, 0, true, {}, {}};
    const gp_array *out = gp_out(c, 0), *arrays[4] = {out, mask, &number, &number};
    const gp_value *v[2] = {a, b};
    choice k = {};
    if (out->numel == 0) return true;
    k.dtype = out->dtype;
    for (int i = 0; i < 2; i++) {
        k.number[i] = v[i]->kind == GP_NUMBER;
        if (k.number[i]) gp_scalar_store((gp_dtype)out->dtype, &k.bits[i], gp_value_scalar(v[i]));
        else arrays[2 + i] = v[i]->a, k.from[i] = v[i]->a->dtype;
    }
    gp_nest<4> n = gp_nest_of<4>(arrays);
    return GP_BY_SIZE(gp_dtype_sizes[out->dtype], select, c, n, k);
}

GP_C bool CUDA(where)(const gp_call *c) { return choose(c, gp_in(c, 0), &c->arg[1], &c->arg[2]); }
GP_C bool CUDA(masked_fill)(const gp_call *c) {
    return choose(c, gp_in(c, 1), &c->arg[2], &c->arg[0]);
}
