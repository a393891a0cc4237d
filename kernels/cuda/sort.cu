/* sort, argsort, msort, topk and kthvalue: all lines at once, by a key that begins with the number
 * of the line. Limit: a pass over keys and places for each 8 bits of a key; then elements are
 * fetched from where they were. */
#include "kernels/cuda/radix.h"
#include "kernels/cuda/sort.cuh"

/* Keys with the line's number above them, or, where both have no room, without. */
template <class K>
static __global__ void make_keys(gp_lines s, bool numbered, K *keys, uint32_t *at) {
    uint32_t i = gp_element();
    int64_t off[1];
    if (i >= s.x.numel) return;
    gp_offsets(s.x, i, off);
    uint64_t key = gp_key_at(s.x.data[0] + off[0], s.dt) ^ s.flip;
    keys[i] = (K)(numbered && s.bits < 64 ? (uint64_t)(i / s.n) << s.bits | key : key);
    at[i] = i;
}

static __global__ void line_keys(const uint32_t *at, uint32_t n, uint32_t numel, uint32_t *keys) {
    uint32_t i = gp_element();
    if (i < numel) keys[i] = at[i] / n;
}

/* How many of each sorted line are wanted, and from which on. */
typedef struct wanted {
    const uint32_t *at;
    uint32_t count, first;
} wanted;

/* Arrays: values, indices; either may be the other. */
static __global__ void write_lines(gp_lines s, gp_loop<2> out, wanted w, bool values,
                                   bool indices) {
    uint32_t o = gp_element();
    int64_t from[1], off[2];
    if (o >= out.numel) return;
    uint32_t e = w.at[o / w.count * s.n + w.first + o % w.count];
    gp_offsets(out, o, off);
    if (values) {
        gp_offsets(s.x, e, from);
        gp_copy_element(out.data[0] + off[0], s.x.data[0] + from[0], (int)gp_bytes_of(s.dt));
    }
    if (indices) *(int64_t *)(out.data[1] + off[1]) = e % s.n + 1;
}

static bool sort_narrow(const gp_call *c, const gp_lines *s, int bits, uint32_t **at) {
    uint32_t *keys = (uint32_t *)gp_cuda_scratch(c, (size_t)s->x.numel * 4);
    auto kernel = make_keys<uint32_t>;
    return keys &&
           GP_LAUNCH(c, kernel, gp_blocks(s->x.numel), GP_THREADS, 0, *s, true, keys, *at) &&
           gp_cuda_sort32(c, &keys, at, s->x.numel, bits);
}

/* Keys of 64 bits leave no room for the line: a second, stable sort brings lines together. */
static bool sort_wide(const gp_call *c, const gp_lines *s, int line_bits, uint32_t **at) {
    uint32_t n = s->x.numel;
    bool room = s->bits + line_bits <= 64;
    uint64_t *keys = (uint64_t *)gp_cuda_scratch(c, (size_t)n * 8);
    auto kernel = make_keys<uint64_t>;
    if (!keys || !GP_LAUNCH(c, kernel, gp_blocks(n), GP_THREADS, 0, *s, room, keys, *at) ||
        !gp_cuda_sort64(c, &keys, at, n, room ? s->bits + line_bits : s->bits))
        return false;
    if (room) return true;
    uint32_t *by_line = (uint32_t *)gp_cuda_scratch(c, (size_t)n * 4);
    return by_line && GP_LAUNCH(c, line_keys, gp_blocks(n), GP_THREADS, 0, *at, s->n, n, by_line) &&
           gp_cuda_sort32(c, &by_line, at, n, line_bits);
}

/* a with dim d as its last one. */
static gp_array turned(const gp_array *a, int d) {
    gp_array r = gp_without(a, d);
    if (a->ndim == 0) return r;
    r.dim[r.ndim] = a->dim[d], r.stride[r.ndim++] = a->stride[d];
    r.numel = a->numel;
    return r;
}

bool gp_cuda_sort_lines(const gp_call *c, const gp_array *x, int d, bool descending, gp_lines *s,
                        uint32_t **at) {
    if (x->numel > INT32_MAX)
        return gp_fail("%s: %lld elements are more than one call takes (2147483647)", c->op->name,
                       (long long)x->numel);
    gp_array xt = turned(x, d);
    const gp_array *const one[1] = {&xt};
    s->x = gp_loop_of(gp_nest_of<1>(one, true));
    s->dt = (gp_dtype)x->dtype;
    s->n = x->ndim ? (uint32_t)x->dim[d] : 1;
    s->bits = gp_key_bits(s->dt);
    s->flip = !descending ? 0 : s->bits == 64 ? UINT64_MAX : ((uint64_t)1 << s->bits) - 1;
    int line_bits = gp_bits((uint64_t)(x->numel / s->n - 1));
    *at = (uint32_t *)gp_cuda_scratch(c, (size_t)x->numel * 4);
    if (!*at) return false;
    return s->bits + line_bits <= 32 ? sort_narrow(c, s, s->bits + line_bits, at)
                                     : sort_wide(c, s, line_bits, at);
}

/* Elements first … first + count of each sorted line along d, to values and indices (either may be
 * NULL), which have x's dims but `count` in d, or lack d where count is 1. */
static bool run(const gp_call *c, int d, bool descending, int64_t first, int64_t count,
                const gp_array *values, const gp_array *indices) {
    const gp_array *x = gp_in(c, 0), *any = values ? values : indices;
    gp_lines s;
    uint32_t *at;
    if (any->numel == 0) return true;
    gp_array v = any->ndim == x->ndim ? turned(any, d) : *any, ix = v;
    if (indices) ix = indices->ndim == x->ndim ? turned(indices, d) : *indices;
    const gp_array *const two[2] = {&v, &ix};
    if (!gp_cuda_sort_lines(c, x, d, descending, &s, &at)) return false;
    gp_loop<2> out = gp_loop_of(gp_nest_of<2>(two, true));
    wanted w = {at, (uint32_t)count, (uint32_t)first};
    return GP_LAUNCH(c, write_lines, gp_blocks(out.numel), GP_THREADS, 0, s, out, w, values != NULL,
                     indices != NULL);
}

static bool all_of(const gp_call *c, const gp_array *values, const gp_array *indices) {
    const gp_array *x = gp_in(c, 0);
    int d = (int)c->arg[1].i - 1;
    return run(c, d, gp_given(c, 2) && c->arg[2].i, 0, x->ndim ? x->dim[d] : 1, values, indices);
}

GP_C bool CUDA(sort)(const gp_call *c) { return all_of(c, gp_out(c, 0), gp_out(c, 1)); }
GP_C bool CUDA(msort)(const gp_call *c) { return all_of(c, gp_out(c, 0), NULL); }
GP_C bool CUDA(argsort)(const gp_call *c) { return all_of(c, NULL, gp_out(c, 0)); }

/* Arguments: x, k, dim, largest. */
GP_C bool CUDA(topk)(const gp_call *c) {
    return run(c, (int)c->arg[2].i - 1, c->arg[3].i, 0, c->arg[1].i, gp_out(c, 0), gp_out(c, 1));
}
GP_C bool CUDA(kthvalue)(const gp_call *c) {
    return run(c, (int)c->arg[2].i - 1, false, c->arg[1].i - 1, 1, gp_out(c, 0), gp_out(c, 1));
}
