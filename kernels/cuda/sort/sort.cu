/* sort, argsort, msort, topk and kthvalue: all lines at once, by a key that begins with the number
 * of the line. Limit: a pass over keys and indices per 8 bits of a key; then elements are gathered.
 * Where few of many are wanted, one block per line first finds the last of them, a digit of its key
 * at a time: a read of the line per 8 bits, and one more. */
#include "kernels/cuda/index/mask.cuh"
#include "kernels/cuda/sort/cub.h"
#include "kernels/cuda/sort/sort.cuh"

/* The elements of x to be sorted: `per` of each line, numel in all. */
typedef struct part {
    uint32_t per, numel;
    bool chosen; /* `at` has their numbers; otherwise they are all elements */
} part;

/* Keys with the line's number above them, or, where both do not fit, without it. */
template <class K>
static __global__ void make_keys(gp_lines s, part p, bool numbered, K *keys, uint32_t *at) {
    uint32_t i = gp_element();
    int64_t off[1];
    if (i >= p.numel) return;
    gp_offsets(s.x, p.chosen ? at[i] : i, off);
    uint64_t key = gp_key_at(s.x.data[0] + off[0], s.dt) ^ s.flip;
    keys[i] = (K)(numbered && s.bits < 64 ? (uint64_t)(i / p.per) << s.bits | key : key);
    if (!p.chosen) at[i] = i;
}

static __global__ void line_keys(const uint32_t *at, uint32_t n, uint32_t numel, uint32_t *keys) {
    uint32_t i = gp_element();
    if (i < numel) keys[i] = at[i] / n;
}

/* Which of each sorted line's `per` elements are wanted: how many, and the first. */
typedef struct wanted {
    const uint32_t *at;
    uint32_t per, count, first;
} wanted;

/* Arrays: values, indices; either may be the other. */
static __global__ void write_lines(gp_lines s, gp_loop<2> out, wanted w, bool values,
                                   bool indices) {
    uint32_t o = gp_element();
    int64_t from[1], off[2];
    if (o >= out.numel) return;
    uint32_t e = w.at[o / w.count * w.per + w.first + o % w.count];
    gp_offsets(out, o, off);
    if (values) {
        gp_offsets(s.x, e, from);
        gp_copy_element(out.data[0] + off[0], s.x.data[0] + from[0], (int)gp_bytes_of(s.dt));
    }
    if (indices) *(int64_t *)(out.data[1] + off[1]) = e % s.n + 1;
}

static bool sort_narrow(const gp_call *c, const gp_lines *s, part p, int bits, uint32_t **at) {
    uint32_t *keys = (uint32_t *)gp_cuda_scratch(c, (size_t)p.numel * 4);
    auto kernel = make_keys<uint32_t>;
    return keys &&
           GP_LAUNCH(c, kernel, gp_blocks(p.numel), GP_THREADS, 0, *s, p, true, keys, *at) &&
           gp_cuda_sort32(c, &keys, at, p.numel, bits);
}

/* Keys of 64 bits have no space for the line: a second, stable sort brings lines together. */
static bool sort_wide(const gp_call *c, const gp_lines *s, part p, int line_bits, uint32_t **at) {
    uint32_t n = p.numel;
    bool room = s->bits + line_bits <= 64;
    uint64_t *keys = (uint64_t *)gp_cuda_scratch(c, (size_t)n * 8);
    auto kernel = make_keys<uint64_t>;
    if (!keys || !GP_LAUNCH(c, kernel, gp_blocks(n), GP_THREADS, 0, *s, p, room, keys, *at) ||
        !gp_cuda_sort64(c, &keys, at, n, room ? s->bits + line_bits : s->bits))
        return false;
    if (room) return true;
    uint32_t *by_line = (uint32_t *)gp_cuda_scratch(c, (size_t)n * 4);
    return by_line && GP_LAUNCH(c, line_keys, gp_blocks(n), GP_THREADS, 0, *at, s->n, n, by_line) &&
           gp_cuda_sort32(c, &by_line, at, n, line_bits);
}

/* a with dim d moved last. */
static gp_array turned(const gp_array *a, int d) {
    gp_array r = gp_without(a, d);
    if (a->ndim == 0) return r;
    r.dim[r.ndim] = a->dim[d], r.stride[r.ndim++] = a->stride[d];
    r.numel = a->numel;
    return r;
}

static bool sort_part(const gp_call *c, const gp_lines *s, part p, uint32_t **at) {
    int line_bits = gp_bits((uint64_t)(s->x.numel / s->n - 1));
    return s->bits + line_bits <= 32 ? sort_narrow(c, s, p, s->bits + line_bits, at)
                                     : sort_wide(c, s, p, line_bits, at);
}

static bool open_lines(const gp_call *c, const gp_array *x, int d, bool descending, gp_lines *s) {
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
    return true;
}

bool gp_cuda_sort_lines(const gp_call *c, const gp_array *x, int d, bool descending, gp_lines *s,
                        uint32_t **at) {
    *at = (uint32_t *)gp_cuda_scratch(c, (size_t)x->numel * 4);
    return *at && open_lines(c, x, d, descending, s) &&
           sort_part(c, s, part{s->n, s->x.numel, false}, at);
}

/* ---- few of many ---- */

enum { AHEAD = 4 }; /* elements that a thread reads before it uses the first */

/* The keys of this thread's next AHEAD elements, GP_THREADS apart from `first` on, of the line that
 * begins at `from`; returns how many there are. */
__device__ static inline int keys_ahead(const gp_lines &s, uint32_t from, uint32_t first,
                                        uint64_t (&key)[AHEAD]) {
    const int size = gp_bytes_of(s.dt);
    int have = 0;
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
        uint32_t i = first + k * GP_THREADS + threadIdx.x;
        int64_t off[1];
        if (i >= s.n) break;
        gp_offsets(s.x, from + i, off);
        key[k] = gp_bits_at(s.x.data[0] + off[0], size), have = k + 1;
    }
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
        if (k < have) key[k] = gp_key_of(key[k], s.dt) ^ s.flip;
    return have;
}

/* One block per line: stores the numbers of its first k elements by key in `to`, in their own order
 * (of equal ones the first in the line); `last`: only that of the k-th. */
static __global__ void __launch_bounds__(GP_THREADS)
    select_lines(gp_lines s, uint32_t k, bool last, uint32_t *to) {
    __shared__ uint32_t digits[256], left;
    __shared__ uint64_t kth;
    uint32_t from = blockIdx.x * s.n, me = threadIdx.x;
    uint64_t known = 0, key[AHEAD];
    if (me == 0) left = k, kth = 0;
    for (int shift = (s.bits - 1) / 8 * 8; shift >= 0; shift -= 8) {
        digits[me] = 0;
        __syncthreads();
        const uint64_t begin = kth;
        for (uint32_t first = 0; first < s.n; first += AHEAD * GP_THREADS) {
            int have = keys_ahead(s, from, first, key);
#pragma unroll
            for (int j = 0; j < AHEAD; j++) {
                if (j < have && (key[j] & known) == begin)
                    atomicAdd(&digits[key[j] >> shift & 255], 1u);
            }
        }
        __syncthreads();
        if (me == 0) {
            uint32_t d = 0;
            for (; digits[d] < left; d++) left -= digits[d];
            kth |= (uint64_t)d << shift;
        }
        known |= (uint64_t)255 << shift;
        __syncthreads();
    }
    uint32_t below = 0, equal = 0; /* before this round */
    const uint64_t sought = kth;
    for (uint32_t first = 0; first < s.n; first += AHEAD * GP_THREADS) {
        int have = keys_ahead(s, from, first, key);
#pragma unroll
        for (int j = 0; j < AHEAD; j++) {
            uint32_t i = first + j * GP_THREADS + me;
            bool less = j < have && key[j] < sought, same = j < have && key[j] == sought;
            int all_less, all_same;
            uint32_t l = below + (uint32_t)gp_rank(less, &all_less),
                     e = equal + (uint32_t)gp_rank(same, &all_same);
            if (!last && (less || (same && e < left)))
                to[blockIdx.x * k + l + (e < left ? e : left)] = from + i;
            if (last && same && e == left - 1) to[blockIdx.x] = from + i;
            below += (uint32_t)all_less, equal += (uint32_t)all_same;
        }
    }
}

/* One block handles a line and reads it 5 to 9 times, so long lines must be enough for the whole
 * device; and sorting what was found must be worth it. */
static bool few_of_many(const gp_lines *s, int64_t count, bool last) {
    uint32_t lines = s->x.numel / s->n;
    return s->n >= 512 && (last || count * 4 <= s->n) && (s->n <= 16384 || lines >= 256);
}

/* In place of all sorted lines: the first `count` of each, or the one at `first`. */
static bool select_part(const gp_call *c, const gp_lines *s, int64_t first, int64_t count,
                        uint32_t **at) {
    uint32_t lines = s->x.numel / s->n;
    bool last = count == 1;
    *at = (uint32_t *)gp_cuda_scratch(c, (size_t)(lines * count) * 4);
    if (!*at ||
        !GP_LAUNCH(c, select_lines, lines, GP_THREADS, 0, *s, (uint32_t)(first + count), last, *at))
        return false;
    return last || sort_part(c, s, part{(uint32_t)count, (uint32_t)(lines * count), true}, at);
}

/* ---- calls ---- */

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
    if (!open_lines(c, x, d, descending, &s)) return false;
    bool few = few_of_many(&s, count, count == 1) && (first == 0 || count == 1);
    if (few ? !select_part(c, &s, first, count, &at)
            : !gp_cuda_sort_lines(c, x, d, descending, &s, &at))
        return false;
    gp_loop<2> out = gp_loop_of(gp_nest_of<2>(two, true));
    wanted w = {at, few ? (uint32_t)count : s.n, (uint32_t)count, few ? 0 : (uint32_t)first};
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
