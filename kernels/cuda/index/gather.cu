/* Reading at random addresses: gather, take, index and similar ops. Limit: the bytes of the output
 * at the speed of memory, and as many memory lines of x as the indices touch, or x once where the
 * rows that an index chooses from are divided into strips; rows of 16 bytes and more move in
 * vectors. */
#include "kernels/cuda/index/gather.cuh"
#include "kernels/cuda/layout/copy.h"
#include "kernels/cuda/sort/cub.h"

enum { EACH = 4 }; /* elements of a thread: their indices are read together, then they are */

template <class E>
static __global__ void __launch_bounds__(GP_THREADS) get(gp_loop<3> l, gp_dim_index k) {
    uint32_t first = blockIdx.x * (GP_THREADS * EACH) + threadIdx.x;
    int64_t off[EACH][3], v[EACH], at;
    const char *index[EACH];
    bool found[EACH];
    E e[EACH];
    if (first >= l.numel) return;
#pragma unroll
    for (int r = 0; r < EACH; r++) {
        uint32_t i = first + r * GP_THREADS;
        gp_offsets(l, i < l.numel ? i : first, off[r]);
        index[r] = l.data[2] + off[r][2];
    }
    gp_load_at<int64_t, EACH>(index, k.ready ? GP_i64 : k.dtype, v);
#pragma unroll
    for (int r = 0; r < EACH; r++) {
        found[r] = gp_index_offset(k, v[r], &at) && first + r * GP_THREADS < l.numel;
        if (found[r]) e[r] = *(const E *)(l.data[1] + off[r][1] + at);
    }
#pragma unroll
    for (int r = 0; r < EACH; r++)
        if (found[r]) *(E *)(l.data[0] + off[r][0]) = e[r];
}

/* Bytes of x that stay in a card's L2 while indices and results pass through it; elements of the
 * narrowest strip, and of the smallest launch for one. */
enum { IN_CACHE = 16 << 20, NARROW = 32, STRIP = 1 << 18 };

/* Neighbours along dim 0 each choose a row of x, so that a sector of memory serves one element and
 * is needed again by other rows of the output. Returns how many elements of dim 0 to process at a
 * time, so that it is still in the cache: all of them where that would not help. */
static int64_t strip_of(const gp_nest<3> *n, const gp_dim_index *k, int64_t size) {
    int64_t all = n->dim[0], rows = k->size;
    if (n->ndim < 2 || k->ready || n->stride[0][1] != size || n->stride[0][2] == 0 ||
        k->step < NARROW * size || rows <= 2 * IN_CACHE / (all * size))
        return all;
    int64_t strip = IN_CACHE / (rows * size) / NARROW * NARROW;
    return strip < 1 || strip * (n->numel / all) < STRIP ? all : strip;
}

template <class E>
static bool run_get(const gp_call *c, const gp_nest<3> *n, const gp_dim_index *k) {
    auto kernel = get<E>;
    int64_t strip = strip_of(n, k, sizeof(E));
    for (int64_t at = 0; at < n->dim[0] && n->numel; at += strip) {
        gp_nest<3> part = *n;
        part.dim[0] = strip < n->dim[0] - at ? strip : n->dim[0] - at;
        part.numel = n->numel / n->dim[0] * part.dim[0];
        for (int a = 0; a < 3; a++) part.data[a] += at * n->stride[0][a];
        auto launch = [&](gp_loop<3> l, int64_t) {
            uint32_t blocks = gp_blocks(l.numel, GP_THREADS * EACH);
            return GP_LAUNCH(c, kernel, blocks, GP_THREADS, 0, l, *k);
        };
        if (!gp_nest_run(part, launch)) return false;
    }
    return true;
}

/* Turns elements of `size` bytes into ones of `wide`, where the fastest dim is contiguous in both
 * arrays with one index and everything is a multiple of that. */
static bool widen(gp_nest<3> *n, const gp_dim_index *k, int64_t size, int64_t wide) {
    if (n->ndim < 1 || n->stride[0][0] != size || n->stride[0][1] != size || n->stride[0][2])
        return false;
    if (n->dim[0] * size % wide || k->step % wide || k->ready || n->numel == 0) return false;
    if (!gp_aligned(n->data[0], (size_t)wide) || !gp_aligned(n->data[1], (size_t)wide))
        return false;
    for (int d = 1; d < n->ndim; d++)
        if (n->stride[d][0] % wide || n->stride[d][1] % wide) return false;
    n->dim[0] = n->dim[0] * size / wide;
    n->numel = n->numel * size / wide;
    n->stride[0][0] = n->stride[0][1] = wide;
    return true;
}

/* Checks every index once. */
static __global__ void check(gp_loop<1> l, gp_dim_index k) {
    uint32_t i = gp_element();
    int64_t off[1], at;
    if (i >= l.numel) return;
    gp_offsets(l, i, off);
    gp_index_offset(k, l.data[0] + off[0], &at);
}

bool gp_cuda_check_index(const gp_call *c, const gp_indexed *p) {
    const gp_array *const arrays[1] = {&p->index};
    return gp_nest_run(gp_nest_of<1>(arrays), [&](gp_loop<1> l, int64_t) {
        return GP_LAUNCH(c, check, gp_blocks(l.numel), GP_THREADS, 0, l, p->over);
    });
}

bool gp_cuda_gather(const gp_call *c, const gp_indexed *p, const gp_array *x, const gp_array *out) {
    if (out->numel == 0) return gp_cuda_check_index(c, p);
    gp_array to = gp_lay_flat(&p->l, out), from = gp_lay_x(&p->l, x), index = gp_lay_index(p);
    const gp_array *const arrays[3] = {&to, &from, &index};
    gp_nest<3> n = gp_nest_of<3>(arrays);
    int64_t size = gp_dtype_sizes[out->dtype];
    if (widen(&n, &p->over, size, 16)) return run_get<uint4>(c, &n, &p->over);
    return GP_BY_SIZE(size, run_get, c, &n, &p->over);
}

GP_INDEX_TEXTS(gather)
GP_INDEX_TEXTS(take)
GP_INDEX_TEXTS(take_along_dim)
GP_INDEX_TEXTS(index_select)
GP_INDEX_TEXTS(gather_nd)
GP_INDEX_TEXTS(index)

GP_C bool CUDA(gather)(const gp_call *c) {
    gp_indexed p;
    const gp_array *x = gp_in(c, 0);
    return gp_indexed_along(c, x, gp_in(c, 2), (int)c->arg[1].i - 1, texts_gather, &p) &&
           gp_cuda_gather(c, &p, x, gp_out(c, 0));
}

/* c->tmp[1] is x made contiguous; the output has the index's elements in its order. */
static bool gather_flat(const gp_call *c, const char *const *texts) {
    gp_indexed p;
    gp_array out = *gp_out(c, 0);
    const gp_array *index = gp_in(c, 1);
    gp_indexed_flat(c, c->tmpa[1], index, texts, &p);
    out.ndim = index->ndim;
    int64_t step = 1;
    for (int d = index->ndim - 1; d >= 0; step *= index->dim[d--])
        out.dim[d] = index->dim[d], out.stride[d] = step;
    return gp_cuda_gather(c, &p, c->tmpa[1], &out);
}

GP_C bool CUDA(take)(const gp_call *c) { return gather_flat(c, texts_take); }

GP_C bool CUDA(take_along_dim)(const gp_call *c) {
    gp_indexed p;
    if (c->ntmp > 1) return gather_flat(c, texts_take_along_dim);
    return gp_indexed_along(c, gp_in(c, 0), gp_in(c, 1), (int)c->arg[2].i - 1, texts_take_along_dim,
                            &p) &&
           gp_cuda_gather(c, &p, gp_in(c, 0), gp_out(c, 0));
}

GP_C bool CUDA(index_select)(const gp_call *c) {
    gp_indexed p;
    const gp_array *x = gp_in(c, 0);
    return gp_indexed_one(c, x, (int)c->arg[1].i - 1, texts_index_select, &p) &&
           gp_cuda_gather(c, &p, x, gp_out(c, 0));
}

GP_C bool CUDA(gather_nd)(const gp_call *c) {
    gp_indexed p;
    const gp_array *x = gp_in(c, 0);
    return gp_indexed_tuples(c, x, (int)c->arg[2].i, texts_gather_nd, &p) &&
           gp_cuda_gather(c, &p, x, gp_out(c, 0));
}

GP_C bool CUDA(index)(const gp_call *c) {
    gp_indexed p;
    const gp_array *x = gp_in(c, 0);
    return gp_indexed_by_list(c, x, 2, texts_index, &p) && gp_cuda_gather(c, &p, x, gp_out(c, 0));
}

/* ---- repeat_interleave ---- */

enum { NEGATIVE = 1, NO_SUM };
static const char *const texts_repeats[] = {
    "repeat_interleave: repeats has %lld at index %lld (expected 0 or more)",
    "repeat_interleave: the repeats do not add up to the output's size %lld"};

/* repeats: one for each of n, one for all (step 0), or a number. */
static __global__ void read_repeats(const char *reps, gp_dtype dt, int64_t step, int64_t number,
                                    int64_t *to, int64_t n, gp_fault_at fault) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (i > n) return;
    int64_t k = i == n ? 0 : reps ? gp_load_as<int64_t>(reps + i * step, dt) : number;
    if (k < 0) gp_fault_note(fault, NEGATIVE, k, i + 1);
    to[i] = k < 0 ? 0 : k;
}

/* table[j]: the offset of the index that output j repeats; before: prefix sums of repeats, n + 1 of
 * them. */
static __global__ void find_repeats(const int64_t *before, int64_t n, int64_t step, int64_t *table,
                                    int64_t m, gp_fault_at fault) {
    int64_t j = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x, lo = 0, hi = n;
    if (j == 0 && before[n] != m) gp_fault_note(fault, NO_SUM, m);
    if (j >= m) return;
    while (hi - lo > 1) { /* before[lo] <= j < before[hi] */
        int64_t mid = lo + (hi - lo) / 2;
        if (before[mid] <= j) lo = mid;
        else hi = mid;
    }
    table[j] = before[n] == m ? lo * step : -1;
}

static bool fill_repeats(const gp_call *c, int64_t n, int64_t step) {
    const gp_value *r = &c->arg[1];
    const gp_array *table = c->tmpa[0], *reps = r->kind == GP_NUMBER ? NULL : r->a;
    int64_t rstep = reps && reps->ndim && reps->dim[0] != 1
                        ? reps->stride[0] * gp_dtype_sizes[reps->dtype]
                        : 0,
            *before = (int64_t *)gp_cuda_scratch(c, (size_t)(n + 1) * 8);
    gp_fault_at fault = gp_cuda_fault(c, texts_repeats, 2);
    if (!before) return false;
    return GP_LAUNCH(c, read_repeats, gp_blocks(n + 1), GP_THREADS, 0, reps ? reps->data : NULL,
                     reps ? (gp_dtype)reps->dtype : GP_i64, rstep, r->i, before, n, fault) &&
           gp_cuda_scan(c, before, n + 1) &&
           GP_LAUNCH(c, find_repeats, gp_blocks(table->numel > 0 ? table->numel : 1), GP_THREADS, 0,
                     before, n, step, (int64_t *)table->data, table->numel, fault);
}

/* Each index `times` times: a copy of x with a dim of one element beside dim d. */
static bool repeat_each(const gp_call *c, const gp_array *x, int d, int64_t times) {
    gp_array to = *gp_out(c, 0), from = *x;
    int64_t step = 1;
    if (to.numel == 0) return true;
    to.ndim = from.ndim = x->ndim + 1;
    for (int i = from.ndim - 1; i > d; i--)
        from.dim[i] = x->dim[i - 1], from.stride[i] = x->stride[i - 1];
    from.dim[d] = x->dim[d], from.stride[d] = x->stride[d];
    from.dim[d + 1] = 1, from.stride[d + 1] = 0, from.contiguous = false;
    for (int i = to.ndim - 1; i >= 0; step *= to.dim[i--])
        to.dim[i] = i == d + 1 ? times : from.dim[i], to.stride[i] = step;
    return gp_cuda_copy_array(c, &to, &from);
}

GP_C bool CUDA(repeat_interleave)(const gp_call *c) {
    const gp_array *x = c->ntmp > 1 ? c->tmpa[1] : gp_in(c, 0);
    int d = (int)c->arg[2].i - 1;
    int64_t times = c->arg[1].kind == GP_NUMBER ? c->arg[1].i : -1;
    if (times >= 0 && x->ndim > 0 && x->ndim < GP_MAX_DIM && times * x->dim[d] == c->tmpa[0]->numel)
        return repeat_each(c, x, d, times);
    gp_indexed p = {};
    if (!fill_repeats(c, x->dim[d], x->stride[d] * gp_dtype_sizes[x->dtype])) return false;
    p.l.ndim = x->ndim;
    for (int i = 0; i < x->ndim; i++) {
        p.l.dim[i] = i == d ? c->tmpa[0]->numel : x->dim[i];
        p.l.x[i] = i == d ? 0 : x->stride[i];
        p.l.position[i] = i == d ? 0 : -1;
    }
    p.index = *c->tmpa[0], p.over.ready = true, p.ndim = 1;
    return gp_cuda_gather(c, &p, x, gp_out(c, 0));
}
