/* sort, argsort, msort, topk and kthvalue: all lines at once, by a key that begins with the number
 * of the line. Limit: a pass over keys and indices per 8 bits of a key, or one in all where a line
 * fits a block; then elements are made from their keys.
 * Where few of many are wanted, one block per line first finds the last of them, a digit of its key
 * at a time: a read of the line per 8 bits, and one more. Of long lines a block keeps a part in
 * registers and finds its first ones, then those of the parts': one read of the line. */
#include "kernels/cuda/index/mask.cuh"
#include "kernels/cuda/layout/copy.h"
#include "kernels/cuda/sort/cub.h"
#include "kernels/cuda/sort/sort.cuh"
#include "tensor/ops/layout/layout.h"

/* The elements of x to be sorted: `per` of each line, numel in all. */
typedef struct part {
    uint32_t per, numel;
    bool chosen; /* `at` has their numbers; otherwise they are all elements */
} part;

/* Keys with the line's number above them, or, where both do not fit, without it. */
template <class K>
static __global__ void make_keys(gp_sort_lines s, part p, bool numbered, K *keys, uint32_t *at) {
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
    gp_divider by_count, by_n; /* count; elements of a line of x */
} wanted;

/* Stores element e, which is number i of the sorted ones, at p. */
__device__ static inline void write_value(const gp_sort_lines &s, uint32_t i, uint32_t e, char *p) {
    int64_t from[1];
    uint64_t bits;
    if (s.keys && gp_bits_of_key(gp_kept_key(s, i), s.dt, &bits)) {
        gp_copy_element(p, (const char *)&bits, (int)gp_bytes_of(s.dt));
        return;
    }
    gp_offsets(s.x, e, from);
    gp_copy_element(p, s.x.data[0] + from[0], (int)gp_bytes_of(s.dt));
}

/* Arrays: values, indices; either may be the other. */
static __global__ void __launch_bounds__(GP_THREADS)
    write_lines(gp_sort_lines s, gp_loop<2> out, wanted w, bool values, bool indices) {
    uint32_t o = gp_element();
    int64_t off[2];
    if (o >= out.numel) return;
    uint32_t line = gp_quotient(w.by_count, o), i = line * w.per + w.first + o - line * w.count,
             e = w.at[i];
    gp_offsets(out, o, off);
    if (values) write_value(s, i, e, out.data[0] + off[0]);
    if (indices) *(int64_t *)(out.data[1] + off[1]) = e - gp_quotient(w.by_n, e) * s.n + 1;
}

static bool sort_narrow(const gp_call *c, gp_sort_lines *s, part p, int bits, uint32_t **at) {
    uint32_t *keys = (uint32_t *)gp_cuda_scratch(c, (size_t)p.numel * 4);
    auto kernel = make_keys<uint32_t>;
    if (!keys || !GP_LAUNCH(c, kernel, gp_blocks(p.numel), GP_THREADS, 0, *s, p, true, keys, *at) ||
        !gp_cuda_sort32(c, &keys, at, p.numel, bits))
        return false;
    s->keys = keys, s->key_bytes = 4;
    return true;
}

/* Keys of 64 bits have no space for the line: a second, stable sort brings lines together. */
static bool sort_wide(const gp_call *c, gp_sort_lines *s, part p, int line_bits, uint32_t **at) {
    uint32_t n = p.numel;
    bool line_fits = s->bits + line_bits <= 64;
    uint64_t *keys = (uint64_t *)gp_cuda_scratch(c, (size_t)n * 8);
    auto kernel = make_keys<uint64_t>;
    if (!keys || !GP_LAUNCH(c, kernel, gp_blocks(n), GP_THREADS, 0, *s, p, line_fits, keys, *at) ||
        !gp_cuda_sort64(c, &keys, at, n, line_fits ? s->bits + line_bits : s->bits))
        return false;
    if (line_fits) s->keys = keys, s->key_bytes = 8;
    if (line_fits) return true;
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

static bool sort_part(const gp_call *c, gp_sort_lines *s, part p, uint32_t **at) {
    int line_bits = gp_bits((uint64_t)(s->x.numel / s->n - 1));
    if (!p.chosen && gp_cuda_short_lines(s)) return gp_cuda_sort_short(c, s, *at);
    return s->bits + line_bits <= 32 ? sort_narrow(c, s, p, s->bits + line_bits, at)
                                     : sort_wide(c, s, p, line_bits, at);
}

static bool open_lines(const gp_call *c, const gp_array *x, int d, bool descending,
                       gp_sort_lines *s) {
    if (x->numel > INT32_MAX)
        return gp_fail("%s: %lld elements are more than one call takes (2147483647)", c->op->name,
                       (long long)x->numel);
    gp_array xt = turned(x, d);
    const gp_array *const one[1] = {&xt};
    s->x = gp_loop_of(gp_nest_of<1>(one, true));
    s->dt = (gp_dtype)x->dtype;
    s->n = x->ndim ? (uint32_t)x->dim[d] : 1;
    s->step = gp_step(x, d), s->keys = NULL;
    s->bits = gp_key_bits(s->dt);
    s->flip = !descending ? 0 : s->bits == 64 ? UINT64_MAX : ((uint64_t)1 << s->bits) - 1;
    return true;
}

/* Whether to copy lines along d, for elements of a line are not adjacent: read or written where
 * they are, each costs a sector of memory. Not those whose copies would take gigabytes. */
static bool separate(const gp_array *a, int d) {
    return a->ndim > 1 && a->numel > a->dim[d] && a->dim[d] > 1 && a->stride[d] != 1 &&
           a->numel <= 1 << 28;
}

/* *to: scratch memory of a's shape and dtype, contiguous. */
static bool adjacent(const gp_call *c, const gp_array *a, gp_array *to) {
    int64_t step = 1;
    *to = *a;
    for (int d = a->ndim - 1; d >= 0; step *= a->dim[d--]) to->stride[d] = step;
    to->data = (char *)gp_cuda_scratch(c, (size_t)(a->numel * gp_dtype_sizes[a->dtype]));
    gp_array_finish(to);
    return to->data != NULL;
}

bool gp_cuda_sort_lines(const gp_call *c, const gp_array *x, int d, bool descending,
                        gp_sort_lines *s, uint32_t **at) {
    gp_array lines;
    if (separate(x, d)) {
        gp_array xt = turned(x, d);
        if (!adjacent(c, &xt, &lines) || !gp_cuda_copy_array(c, &lines, &xt)) return false;
        x = &lines, d = lines.ndim - 1;
    }
    *at = (uint32_t *)gp_cuda_scratch(c, (size_t)x->numel * 4);
    return *at && open_lines(c, x, d, descending, s) &&
           sort_part(c, s, part{s->n, s->x.numel, false}, at);
}

/* ---- few of many ---- */

enum { AHEAD = 4 }; /* elements that a thread reads before it uses the first */

/* The address of element number `from`, the first of a line. */
__device__ static inline const char *line_at(const gp_sort_lines &s, uint32_t from) {
    int64_t off[1];
    gp_offsets(s.x, from, off);
    return s.x.data[0] + off[0];
}

/* The keys of this thread's next AHEAD elements, GP_THREADS apart from `first` on, of a line;
 * returns how many there are. */
__device__ static inline int keys_ahead(const gp_sort_lines &s, const char *line, uint32_t first,
                                        uint64_t (&key)[AHEAD]) {
    const int size = gp_bytes_of(s.dt);
    int have = 0;
#pragma unroll
    for (int k = 0; k < AHEAD; k++) {
        uint32_t i = first + k * GP_THREADS + threadIdx.x;
        if (i >= s.n) break;
        key[k] = gp_bits_at(line + i * s.step, size), have = k + 1;
    }
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
        if (k < have) key[k] = gp_key_of(key[k], s.dt) ^ s.flip;
    return have;
}

/* Adds to *kth the digit of the element that `left` counts among those with its higher digits;
 * digits: how often each of the 256 occurs among those. *left becomes its number among those with
 * that digit. Called by the first warp. */
template <class K>
__device__ static inline void find_digit(const uint32_t *digits, uint32_t *left, K *kth,
                                         int shift) {
    int lane = (int)threadIdx.x;
    uint32_t sought = *left, all = 0, sum;
#pragma unroll
    for (int k = 0; k < 8; k++) all += digits[8 * lane + k];
    sum = all;
    for (int d = 1; d < 32; d *= 2) {
        uint32_t other = __shfl_up_sync(0xffffffffu, sum, d);
        if (lane >= d) sum += other;
    }
    __syncwarp(); /* all have read *left, which one of them writes */
    if (sum < sought || sum - all >= sought) return;
    sought -= sum - all;
    int k = 8 * lane;
    for (; digits[k] < sought; k++) sought -= digits[k];
    *left = sought, *kth |= (K)k << shift;
}

/* One block per line: stores the numbers of its first k elements by key in `to`, in their own order
 * (of equal ones the first in the line); `last`: only that of the k-th. */
static __global__ void __launch_bounds__(GP_THREADS)
    select_lines(gp_sort_lines s, uint32_t k, bool last, uint32_t *to) {
    __shared__ uint32_t digits[256], left;
    __shared__ uint64_t kth;
    uint32_t from = blockIdx.x * s.n, me = threadIdx.x;
    uint64_t known = 0, key[AHEAD];
    const char *line = line_at(s, from);
    if (me == 0) left = k, kth = 0;
    for (int shift = (s.bits - 1) / 8 * 8; shift >= 0; shift -= 8) {
        digits[me] = 0;
        __syncthreads();
        const uint64_t begin = kth;
        for (uint32_t first = 0; first < s.n; first += AHEAD * GP_THREADS) {
            int have = keys_ahead(s, line, first, key);
#pragma unroll
            for (int j = 0; j < AHEAD; j++) {
                if (j < have && (key[j] & known) == begin)
                    atomicAdd(&digits[key[j] >> shift & 255], 1u);
            }
        }
        __syncthreads();
        if (me < 32) find_digit(digits, &left, &kth, shift);
        known |= (uint64_t)255 << shift;
        __syncthreads();
    }
    uint32_t below = 0, equal = 0; /* before this round */
    const uint64_t sought = kth;
    for (uint32_t first = 0; first < s.n; first += AHEAD * GP_THREADS) {
        int have = keys_ahead(s, line, first, key);
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

/* ---- first ones of parts ---- */

/* Elements of a thread and of a part in registers, of as many bytes whatever the key's type. */
template <class K> struct in_part {
    enum { EACH = 128 / sizeof(K), ALL = GP_THREADS * EACH };
};

/* `per` elements of each line, those in `chosen` or all, are divided into `parts`, of each of which
 * the first k are wanted. */
typedef struct parts {
    uint32_t per, parts, k;
    const uint32_t *chosen;
} parts;

/* The bits of elements of type M at p, and from p on. */
template <class M, class K, int N>
__device__ static inline void bits_of(const char *const (&p)[N], K (&to)[N]) {
#pragma unroll
    for (int j = 0; j < N; j++) to[j] = *(const M *)p[j];
}

/* The keys of a thread's elements among m: element j of warp w is 32 * (w * N + j) + lane.
 * place(i): of element i in its line. Beyond m: the largest key. */
template <class K, int N, class F>
__device__ static inline void part_keys(const gp_sort_lines &s, const char *line, uint32_t m,
                                        F position_of, K (&key)[N]) {
    const uint32_t mine = threadIdx.x / 32 * 32 * N + threadIdx.x % 32;
    const char *p[N];
#pragma unroll
    for (int j = 0; j < N; j++)
        p[j] = line + position_of(mine + j * 32 < m ? mine + j * 32 : 0) * s.step;
    switch (gp_bytes_of(s.dt)) {
    case 8: bits_of<uint64_t>(p, key); break;
    case 4: bits_of<uint32_t>(p, key); break;
    case 2: bits_of<uint16_t>(p, key); break;
    default: bits_of<uint8_t>(p, key);
    }
    const K most = (K)(((uint64_t)2 << (s.bits - 1)) - 1);
#pragma unroll
    for (int j = 0; j < N; j++) {
        key[j] = (K)(gp_key_of(key[j], s.dt) ^ s.flip);
        if (mine + j * 32 >= m) key[j] = most;
    }
}

/* The k-th smallest of a block's keys; *left: its number among those that equal it, from 1. Called
 * by all threads. */
template <class K, int N>
__device__ static inline K kth_key(const K (&key)[N], int bits, uint32_t k, uint32_t *left) {
    __shared__ uint32_t digits[GP_THREADS], sought;
    __shared__ K kth;
    static_assert(GP_THREADS == 256, "a thread for each value of a digit");
    K known = 0;
    if (threadIdx.x == 0) sought = k, kth = 0;
    for (int shift = (bits - 1) / 8 * 8; shift >= 0; shift -= 8) {
        digits[threadIdx.x] = 0;
        __syncthreads();
        const K begin = kth;
#pragma unroll
        for (int j = 0; j < N; j++)
            if ((key[j] & known) == begin) atomicAdd(&digits[key[j] >> shift & 255], 1u);
        __syncthreads();
        if (threadIdx.x < 32) find_digit(digits, &sought, &kth, shift);
        known |= (K)255 << shift;
        __syncthreads();
    }
    *left = sought;
    return kth;
}

/* One block per part: stores the numbers of its first k elements, in their own order. */
template <class K, bool CHOSEN>
static __global__ void __launch_bounds__(GP_THREADS)
    select_parts(gp_sort_lines s, parts p, uint32_t *to) {
    enum { EACH = in_part<K>::EACH, WARPS = GP_THREADS / 32 };
    __shared__ uint32_t less[WARPS], same[WARPS];
    const uint32_t line = blockIdx.x / p.parts, part = blockIdx.x - line * p.parts,
                   warp = threadIdx.x / 32, lane = threadIdx.x % 32, before = (1u << lane) - 1,
                   first = (uint32_t)((uint64_t)p.per * part / p.parts),
                   end = (uint32_t)((uint64_t)p.per * (part + 1) / p.parts);
    const uint32_t *chosen = p.chosen + (CHOSEN ? line * p.per : 0);
    auto position_of = [&](uint32_t i) {
        return (int64_t)(CHOSEN ? chosen[first + i] - line * s.n : first + i);
    };
    K key[EACH];
    uint32_t left, l = 0, e = 0;
    part_keys(s, line_at(s, line * s.n), end - first, position_of, key);
    const K kth = kth_key(key, s.bits, p.k, &left);
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        l += __popc(__ballot_sync(0xffffffffu, key[j] < kth));
        e += __popc(__ballot_sync(0xffffffffu, key[j] == kth));
    }
    if (lane == 0) less[warp] = l, same[warp] = e;
    __syncthreads();
    l = e = 0;
    for (uint32_t w = 0; w < warp; w++) l += less[w], e += same[w];
    to += blockIdx.x * p.k;
#pragma unroll
    for (int j = 0; j < EACH; j++) {
        unsigned below = __ballot_sync(0xffffffffu, key[j] < kth),
                 equal = __ballot_sync(0xffffffffu, key[j] == kth);
        uint32_t mine = l + __popc(below & before), tie = e + __popc(equal & before);
        bool is = below >> lane & 1, ties = equal >> lane & 1 && tie < left;
        if (is || ties) {
            uint32_t i = 32 * (warp * EACH + j) + lane;
            to[mine + (tie < left ? tie : left)] = (uint32_t)position_of(i) + line * s.n;
        }
        l += __popc(below), e += __popc(equal);
    }
}

/* The first k elements of each line, found among those of its parts, and again until they are in
 * one part; sorted, in *at. */
template <class K>
static bool select_by_parts(const gp_call *c, gp_sort_lines *s, uint32_t k, uint32_t **at) {
    enum { ALL = in_part<K>::ALL };
    uint32_t lines = s->x.numel / s->n;
    parts p = {s->n, (s->n + ALL - 1) / ALL, k, NULL};
    for (;; p.per = p.parts * k, p.parts = (p.per + ALL - 1) / ALL) {
        auto kernel = p.chosen ? select_parts<K, true> : select_parts<K, false>;
        *at = (uint32_t *)gp_cuda_scratch(c, (size_t)lines * p.parts * k * 4);
        if (!*at || !GP_LAUNCH(c, kernel, lines * p.parts, GP_THREADS, 0, *s, p, *at)) return false;
        if (p.parts == 1) break;
        p.chosen = *at;
    }
    return sort_part(c, s, part{k, lines * k, true}, at);
}

/* Lines of several parts, where few of a part are wanted. */
static bool few_of_parts(const gp_sort_lines *s, int64_t k) {
    int64_t all = in_part<uint32_t>::ALL;
    if (s->bits > 32) all = in_part<uint64_t>::ALL;
    return s->n > all / 2 && k <= all / 16;
}

/* One block handles a line and reads it 5 to 9 times, so long lines must be enough for the whole
 * device; and sorting what was found must be worth it. */
static bool few_of_many(const gp_sort_lines *s, int64_t count, bool last) {
    uint32_t lines = s->x.numel / s->n;
    return s->n >= 512 && (last || count * 4 <= s->n) && (s->n <= 16384 || lines >= 256);
}

/* In place of all sorted lines: the first `count` of each, or the one at `first`. */
static bool select_part(const gp_call *c, gp_sort_lines *s, int64_t first, int64_t count,
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
static bool select_sorted(const gp_call *c, int d, bool descending, int64_t first, int64_t count,
                          const gp_array *values, const gp_array *indices) {
    const gp_array *x = gp_in(c, 0), *any = values ? values : indices;
    gp_sort_lines s;
    uint32_t *at;
    if (any->numel == 0) return true;
    gp_array v = any->ndim == x->ndim ? turned(any, d) : *any, ix = v;
    if (indices) ix = indices->ndim == x->ndim ? turned(indices, d) : *indices;
    const gp_array *const two[2] = {&v, &ix};
    if (!open_lines(c, x, d, descending, &s)) return false;
    uint32_t k = (uint32_t)(first + count);
    bool by_parts = few_of_parts(&s, first + count),
         few = !by_parts && few_of_many(&s, count, count == 1) && (first == 0 || count == 1);
    bool whole = !by_parts && !few && count == s.n;
    if (by_parts ? !(s.bits > 32 ? select_by_parts<uint64_t>(c, &s, k, &at)
                                 : select_by_parts<uint32_t>(c, &s, k, &at))
        : few    ? !select_part(c, &s, first, count, &at)
                 : !gp_cuda_sort_lines(c, x, d, descending, &s, &at))
        return false;
    bool copied[2] = {whole && values && separate(values, d),
                      whole && indices && separate(indices, d)};
    gp_array to[2] = {v, ix};
    if ((copied[0] && !adjacent(c, &to[0], &v)) || (copied[1] && !adjacent(c, &to[1], &ix)))
        return false;
    gp_loop<2> out = gp_loop_of(gp_nest_of<2>(two, true));
    wanted w = {at,
                by_parts ? k
                : few    ? (uint32_t)count
                         : s.n,
                (uint32_t)count,
                few ? 0 : (uint32_t)first,
                gp_divide_by((uint32_t)count),
                gp_divide_by(s.n)};
    return GP_LAUNCH(c, write_lines, gp_blocks(out.numel), GP_THREADS, 0, s, out, w, values != NULL,
                     indices != NULL) &&
           (!copied[0] || gp_cuda_copy_array(c, &to[0], &v)) &&
           (!copied[1] || gp_cuda_copy_array(c, &to[1], &ix));
}

static bool all_of(const gp_call *c, const gp_array *values, const gp_array *indices) {
    const gp_array *x = gp_in(c, 0);
    int d = (int)c->arg[1].i - 1;
    return select_sorted(c, d, gp_given(c, 2) && c->arg[2].i, 0, x->ndim ? x->dim[d] : 1, values,
                         indices);
}

GP_C bool CUDA(sort)(const gp_call *c) { return all_of(c, gp_out(c, 0), gp_out(c, 1)); }
GP_C bool CUDA(msort)(const gp_call *c) { return all_of(c, gp_out(c, 0), NULL); }
GP_C bool CUDA(argsort)(const gp_call *c) { return all_of(c, NULL, gp_out(c, 0)); }

/* Arguments: x, k, dim, largest. */
GP_C bool CUDA(topk)(const gp_call *c) {
    return select_sorted(c, (int)c->arg[2].i - 1, c->arg[3].i, 0, c->arg[1].i, gp_out(c, 0),
                         gp_out(c, 1));
}
GP_C bool CUDA(kthvalue)(const gp_call *c) {
    return select_sorted(c, (int)c->arg[2].i - 1, false, c->arg[1].i - 1, 1, gp_out(c, 0),
                         gp_out(c, 1));
}
