/* nonzero, and the ops that move elements by a mask: masked_select, masked_put, masked_scatter.
 * Limits: the mask is read once and kept as bits, moved elements once, at the speed of memory. */
#include "kernels/cuda/index/mask.cuh"
#include "kernels/cuda/layout/copy.h"

/* The output was shaped by a count from the same memory; if that changed since, the kernel must not
 * write past `room` elements. */
typedef struct limit {
    const int64_t *total;
    int64_t expected;
    gp_fault_at fault;
} limit;

#define CHANGED(name)                                                                              \
    static const char *const texts_##name[] = {                                                    \
        #name ": the mask was changed while it was used: %lld true elements, then %lld"};
CHANGED(nonzero)
CHANGED(masked_select)

__device__ static inline bool fits(const limit &m, int64_t rank) {
    if (rank == 0 && *m.total != m.expected) gp_fault_note(m.fault, 1, m.expected, *m.total);
    return rank < m.expected;
}

static limit limit_of(const gp_call *c, const gp_compaction *w, int64_t expected,
                      const char *const *texts) {
    return limit{w->before + w->blocks, expected, gp_cuda_fault(c, texts, 1)};
}

/* Of what moves no elements. */
struct no_value {
    struct value {};
    __device__ value read(int64_t, const char *) const { return value(); }
};

/* ---- nonzero ---- */

struct list_positions : no_value {
    int64_t *to, dim[GP_MAX_DIM];
    int ndim;
    limit m;
    __device__ void operator()(int64_t rank, int64_t i, const char *, value) const {
        if (!fits(m, rank)) return;
        for (int d = ndim - 1; d > 0; d--) {
            int64_t q = gp_divided(i, dim[d]);
            to[rank * ndim + d] = i - q * dim[d] + 1;
            i = q;
        }
        if (ndim > 0) to[rank * ndim] = i + 1;
    }
};

GP_C bool CUDA(nonzero)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0);
    gp_compaction w;
    if (!gp_compaction_begin(c, &w, x, x)) return false;
    list_positions f;
    f.to = (int64_t *)out->data, f.ndim = x->ndim;
    f.m = limit_of(c, &w, out->dim[0], texts_nonzero);
    for (int d = 0; d < x->ndim; d++) f.dim[d] = x->dim[d];
    return gp_compaction_run(c, &w, f);
}

/* ---- masked_select ---- */

template <class E> struct select_element {
    typedef E value;
    E *to;
    limit m;
    __device__ E read(int64_t, const char *x) const { return *(const E *)x; }
    __device__ void operator()(int64_t rank, int64_t, const char *, E x) const {
        if (fits(m, rank)) to[rank] = x;
    }
};
template <class E>
static bool select(const gp_call *c, const gp_compaction *w, const gp_array *out) {
    limit m = limit_of(c, w, out->numel, texts_masked_select);
    return gp_compaction_run(c, w, select_element<E>{(E *)(void *)out->data, m});
}

/* a with the dims that both broadcast to: stride 0 where it is broadcast. */
static gp_array spread(const gp_array *a, const gp_array *b) {
    gp_array r = *a;
    int n = a->ndim > b->ndim ? a->ndim : b->ndim;
    r.ndim = (uint8_t)n, r.numel = 1;
    for (int d = 0; d < n; d++) {
        int i = d - (n - a->ndim), j = d - (n - b->ndim);
        int64_t da = i < 0 ? 1 : a->dim[i], db = j < 0 ? 1 : b->dim[j];
        r.stride[d] = da == 1 ? 0 : a->stride[i];
        r.dim[d] = da == 1 ? db : da;
        r.numel *= r.dim[d];
    }
    r.contiguous = false;
    return r;
}

GP_C bool CUDA(masked_select)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *mask = gp_in(c, 1), *out = gp_out(c, 0);
    gp_array tested = spread(mask, x), moved = spread(x, mask);
    gp_compaction w;
    if (tested.numel == 0) return true;
    if (!gp_compaction_begin(c, &w, &tested, &moved)) return false;
    return GP_BY_SIZE(gp_dtype_sizes[x->dtype], select, c, &w, out);
}

/* ---- masked_put ---- */

struct note_rank : no_value {
    int64_t *ranks; /* of each element of the mask; -1: false */
    __device__ void operator()(int64_t rank, int64_t i, const char *, value) const {
        ranks[i] = rank;
    }
};

typedef struct rows {
    const int64_t *ranks, *total;
    int64_t have, part, step; /* rows of values; elements of one; bytes between them */
    int size;
    gp_fault_at fault;
} rows;

static const char *const texts_masked_put[] = {
    "masked_put: %lld values given for %lld true elements of the mask"};

/* Arrays: the output, and values broadcast over it but for the mask's dims. */
static __global__ void write_selected(gp_loop<2> l, rows r, int64_t first) {
    uint32_t i = gp_element();
    int64_t off[2];
    bool fit = r.have == 1 || *r.total == r.have;
    if (i == 0 && !fit) gp_fault_note(r.fault, 1, r.have, *r.total);
    if (i >= l.numel || !fit) return;
    int64_t rank = r.ranks[(first + i) / r.part];
    if (rank < 0) return;
    gp_offsets(l, i, off);
    gp_copy_element(l.data[0] + off[0], l.data[1] + off[1] + rank * r.step, r.size);
}

/* True element number k of the mask takes row k of values (or their only row). */
GP_C bool CUDA(masked_put)(const gp_call *c) {
    const gp_array *mask = gp_in(c, 1), *out = gp_out(c, 0), *v = gp_values(c, 2, 0);
    int rest = out->ndim - mask->ndim;
    gp_array value = *v, to = *out;
    gp_compaction w;
    if (out->data != gp_in(c, 0)->data && !gp_cuda_copy_array(c, out, gp_in(c, 0))) return false;
    bool many = v->ndim > rest;
    rows r = {NULL,
              NULL,
              many ? v->dim[0] : 1,
              1,
              0,
              gp_dtype_sizes[out->dtype],
              gp_cuda_fault(c, texts_masked_put, 1)};
    if (many && v->dim[0] != 1) r.step = v->stride[0] * r.size;
    value.ndim = to.ndim;
    for (int d = 0; d < to.ndim; d++) {
        int j = v->ndim - (to.ndim - d);
        bool own = d >= mask->ndim && j >= 0 && v->dim[j] != 1;
        value.dim[d] = to.dim[d], value.stride[d] = own ? v->stride[j] : 0;
        if (d >= mask->ndim) r.part *= to.dim[d];
    }
    if (!gp_compaction_begin(c, &w, mask, mask)) return false;
    int64_t *ranks = (int64_t *)gp_cuda_scratch(c, (size_t)mask->numel * 8);
    if (!ranks ||
        !gp_cuda_ok(c, cudaMemsetAsync(ranks, 0xff, (size_t)mask->numel * 8, gp_cuda_stream(c))))
        return false;
    note_rank note;
    note.ranks = ranks;
    r.ranks = ranks, r.total = w.before + w.blocks;
    const gp_array *const arrays[2] = {&to, &value};
    return gp_compaction_run(c, &w, note) &&
           gp_nest_run(gp_nest_of<2>(arrays, true), [&](gp_loop<2> l, int64_t first) {
               return GP_LAUNCH(c, write_selected, gp_blocks(l.numel), GP_THREADS, 0, l, r, first);
           });
}

/* ---- masked_scatter ---- */

static const char *const texts_masked_scatter[] = {
    "masked_scatter: source has %lld elements for %lld true ones of the mask"};

template <class E> struct deal {
    typedef E value;
    const E *from;
    const int64_t *total;
    int64_t have;
    gp_fault_at fault;
    __device__ E read(int64_t rank, const char *) const { return rank < have ? from[rank] : 0; }
    __device__ void operator()(int64_t rank, int64_t, char *x, E v) const {
        if (*total <= have) *(E *)x = v;
        else if (rank == 0) gp_fault_note(fault, 1, have, *total);
    }
};
template <class E>
static bool deal_out(const gp_call *c, const gp_compaction *w, const gp_array *source) {
    gp_fault_at fault = gp_cuda_fault(c, texts_masked_scatter, 1);
    return gp_compaction_run(
        c, w,
        deal<E>{(const E *)(void *)source->data, w->before + w->blocks, source->numel, fault});
}
/* The source is c->tmp[0], contiguous. */
GP_C bool CUDA(masked_scatter)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0), *source = c->tmpa[0];
    gp_array tested = spread(gp_in(c, 1), out);
    gp_compaction w;
    if (out->numel == 0) return true;
    if (out->data != x->data && !gp_cuda_copy_array(c, out, x)) return false;
    return gp_compaction_begin(c, &w, &tested, out) &&
           GP_BY_SIZE(gp_dtype_sizes[out->dtype], deal_out, c, &w, source);
}
