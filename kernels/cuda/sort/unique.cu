/* distinct, unique and unique_consecutive: one of each run of equal elements (or slices), the
 * inverse indices, and the runs' lengths. Limit: two reads of the elements; for slices and inverse
 * indices a scan of 8 bytes for each. */
#include "kernels/cuda/index/mask.cuh"
#include "kernels/cuda/layout/copy.h"
#include "kernels/cuda/sort/cub.h"

/* n contiguous rows of `width` elements; out: runs of them. */
typedef struct runs {
    const char *x;
    int64_t n, width, size, most; /* most: rows that fit in the output */
    bool exact;                   /* whether there must be exactly that many */
    gp_dtype dt;
    int64_t *at;          /* runs that begin before each row; NULL: not kept */
    const int64_t *total; /* all of them */
    const int64_t *order; /* where each row came from (from 1), or NULL */
    int64_t *inverse, *counts, *starts;
    gp_fault_at fault;
} runs;

/* As numbers: the zeros are equal, a NaN differs even from itself. */
__device__ static inline bool differ(const char *a, const char *b, gp_dtype dt) {
    switch (dt) {
    case GP_f64: return *(const double *)a != *(const double *)b;
    case GP_f32:
    case GP_f16:
    case GP_bf16: return gp_load_as<float>(a, dt) != gp_load_as<float>(b, dt);
    default: return gp_load_as<int64_t>(a, dt) != gp_load_as<int64_t>(b, dt);
    }
}

static __global__ void find_starts(runs r) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (i > r.n) return;
    bool starts = i == 0;
    const char *p = r.x + i * r.width * r.size;
    for (int64_t k = 0; i > 0 && i < r.n && k < r.width && !starts; k++, p += r.size)
        starts = differ(p - r.width * r.size, p, r.dt);
    r.at[i] = i < r.n && starts;
}

/* Runs are numbered from 1: the rows of run k have at[i + 1] == k. */
static __global__ void note_runs(runs r) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (i == 0 && r.exact && *r.total != r.most) gp_fault_note(r.fault, 1);
    if (i >= r.n) return;
    int64_t run = r.at[i + 1];
    if (run > r.most) return;
    if (run != r.at[i]) r.starts[run - 1] = i;
    if (run == *r.total && i == r.n - 1) r.starts[run] = r.n;
    if (r.inverse) r.inverse[r.order ? r.order[i] - 1 : i] = run;
}

static __global__ void count_runs(runs r) {
    int64_t k = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (k < r.most && k < *r.total) r.counts[k] = r.starts[k + 1] - r.starts[k];
}

/* Array 0: the output with its runs first; first: number of the part's first element. */
static __global__ void copy_rows(gp_loop<1> l, runs r, gp_wide_divider width, int64_t first) {
    uint32_t i = gp_element();
    int64_t off[1], at = first + i;
    if (i >= l.numel) return;
    int64_t run = gp_divide(width, &at);
    if (run >= *r.total) return;
    gp_offsets(l, i, off);
    gp_copy_element(l.data[0] + off[0], r.x + (r.starts[run] * r.width + at) * r.size, (int)r.size);
}

#define CHANGED(name)                                                                              \
    static const char *const texts_##name[] = {#name ": the tensor was changed while it was "      \
                                                     "used"};
CHANGED(unique)
CHANGED(unique_consecutive)

/* The output with dim d moved first. */
static gp_array fronted(const gp_array *out, int d) {
    gp_array r = *out;
    for (int i = d; i > 0; i--) r.dim[i] = out->dim[i - 1], r.stride[i] = out->stride[i - 1];
    r.dim[0] = out->dim[d], r.stride[0] = out->stride[d];
    return r;
}

/* ---- runs of elements, by a walk that keeps a bit for each ---- */

/* Tests whether an element begins a run: see gp_nonzero_test. */
struct begins_run {
    const char *x;
    gp_dtype dt;
    __device__ unsigned rounds(const gp_loop<2> &l, uint32_t first) const {
        const int size = gp_bytes_of(dt);
        return gp_compaction_rounds(l, size, first, [=, *this](uint64_t v, const char *p) {
            return p == x || differ(p - size, (const char *)&v, dt);
        });
    }
};

static __global__ void check_total(runs r) {
    if (*r.total != r.most) gp_fault_note(r.fault, 1);
}

template <class E> struct take_run {
    typedef E value;
    E *to;
    runs r;
    __device__ E read(int64_t, const char *p) const { return *(const E *)p; }
    __device__ void operator()(int64_t run, int64_t i, const char *, E v) const {
        if (run >= r.most) return;
        to[run] = v;
        if (!r.counts) return;
        r.starts[run] = i;
        if (run == *r.total - 1) r.starts[run + 1] = r.n;
    }
};
template <class E>
static bool list_runs(const gp_call *c, const gp_compaction *w, const runs *r, char *to) {
    return gp_compaction_run(c, w, take_run<E>{(E *)(void *)to, *r});
}

/* Whether walk_runs serves: elements whose own runs are not asked for. */
static bool walks(const runs *r, const gp_array *to) {
    return r->width == 1 && !r->inverse && to->ndim == 1 && to->stride[0] == 1;
}

/* x: r's elements as an array. */
static bool walk_begin(const gp_call *c, runs *r, const gp_array *x, gp_compaction *w) {
    gp_array line = *x;
    line.ndim = 1, line.dim[0] = r->n, line.stride[0] = 1, line.data = (char *)r->x;
    if (!gp_compaction_begin_by(c, w, &line, &line, begins_run{r->x, r->dt})) return false;
    r->total = w->before + w->blocks;
    if (r->counts && !(r->starts = (int64_t *)gp_cuda_scratch(c, (size_t)(r->most + 1) * 8)))
        return false;
    return true;
}

static bool walk_runs(const gp_call *c, const runs *r, const gp_compaction *w, const gp_array *to) {
    if (r->exact && !GP_LAUNCH(c, check_total, 1, 1, 0, *r)) return false;
    return GP_BY_SIZE(r->size, list_runs, c, w, r, to->data) &&
           (!r->counts || GP_LAUNCH(c, count_runs, gp_blocks(r->most), GP_THREADS, 0, *r));
}

/* ---- runs of rows ---- */

/* Fills at, from where the runs of r's rows begin. */
static bool find_runs(const gp_call *c, runs *r) {
    r->at = (int64_t *)gp_cuda_scratch(c, (size_t)(r->n + 1 + r->most + 1) * 8);
    if (!r->at) return false;
    r->starts = r->at + r->n + 1, r->total = r->at + r->n;
    return GP_LAUNCH(c, find_starts, gp_blocks(r->n + 1), GP_THREADS, 0, *r) &&
           gp_cuda_scan(c, r->at, r->n + 1);
}

/* With the runs found: writes indices, counts, and rows to `to`. */
static bool write_runs(const gp_call *c, const runs *r, const gp_array *to) {
    if (!GP_LAUNCH(c, note_runs, gp_blocks(r->n), GP_THREADS, 0, *r)) return false;
    if (r->counts && !GP_LAUNCH(c, count_runs, gp_blocks(r->most), GP_THREADS, 0, *r)) return false;
    if (r->width == 0) return true;
    const gp_array *const one[1] = {to};
    gp_wide_divider width = gp_divide_up_to(to->numel, r->width);
    return gp_nest_run(gp_nest_of<1>(one, true), [&](gp_loop<1> l, int64_t first) {
        return GP_LAUNCH(c, copy_rows, gp_blocks(l.numel), GP_THREADS, 0, l, *r, width, first);
    });
}

/* tmp[0]: elements, or slices as rows; arguments inverse_at and the next: which others are wanted;
 * d: the dim of slices, or 0. */
static bool list_unique(const gp_call *c, const gp_array *order, int inverse_at, int d,
                        const char *const *texts) {
    const gp_array *x = c->tmpa[0], *out = gp_out(c, 0);
    gp_array to = fronted(out, d);
    int next = 1;
    runs r = {};
    r.x = x->data, r.n = x->dim[0], r.width = x->ndim > 1 ? x->dim[1] : 1, r.exact = true;
    r.dt = (gp_dtype)x->dtype, r.size = gp_dtype_sizes[r.dt], r.most = out->dim[d];
    r.order = order ? (const int64_t *)order->data : NULL;
    if (gp_given(c, inverse_at) && c->arg[inverse_at].i)
        r.inverse = (int64_t *)gp_out(c, next++)->data;
    if (gp_given(c, inverse_at + 1) && c->arg[inverse_at + 1].i)
        r.counts = (int64_t *)gp_out(c, next)->data;
    if (r.n == 0) return true;
    r.fault = gp_cuda_fault(c, texts, 1);
    gp_compaction w;
    if (walks(&r, &to)) return walk_begin(c, &r, x, &w) && walk_runs(c, &r, &w, &to);
    return find_runs(c, &r) && write_runs(c, &r, &to);
}

GP_C bool CUDA(msort)(const gp_call *c);
static __global__ void note_total(const int64_t *total, int64_t *found) { *found = *total; }

/* c->tmp[0] is x made contiguous. */
GP_C bool CUDA(distinct)(const gp_call *c) {
    const gp_array *x = c->tmpa[0];
    gp_array sorted = *x;
    gp_call sort = *c;
    runs r = {};
    r.n = r.most = x->numel, r.width = 1;
    r.dt = (gp_dtype)x->dtype, r.size = gp_dtype_sizes[r.dt];
    if (c->nout > 2) r.counts = (int64_t *)gp_out(c, 2)->data;
    if (!(sorted.data = (char *)gp_cuda_scratch(c, (size_t)(r.n * r.size)))) return false;
    r.x = sorted.data;
    sort.arg[0].a = x, sort.outa[0] = &sorted, sort.nargs = 2;
    sort.arg[1] = gp_value{};
    sort.arg[1].kind = GP_INT, sort.arg[1].i = 1;
    gp_compaction w;
    return CUDA(msort)(&sort) && walk_begin(c, &r, x, &w) &&
           GP_LAUNCH(c, note_total, 1, 1, 0, r.total, (int64_t *)gp_out(c, 1)->data) &&
           (r.n == 0 || walk_runs(c, &r, &w, gp_out(c, 0)));
}

/* Copies what distinct left: the elements and, if asked for, their counts. */
static bool list_distinct(const gp_call *c) {
    for (int i = 0; i < c->nout; i++) {
        gp_array front = *gp_out(c, i);
        front.data = c->tmpa[i]->data;
        if (!gp_cuda_copy_array(c, gp_out(c, i), &front)) return false;
    }
    return true;
}

GP_C bool CUDA(unique)(const gp_call *c) {
    if (!gp_given(c, 4) && !(gp_given(c, 2) && c->arg[2].i)) return list_distinct(c);
    return list_unique(c, c->ntmp > 1 ? c->tmpa[1] : NULL, 2,
                       gp_given(c, 4) ? (int)c->arg[4].i - 1 : 0, texts_unique);
}
GP_C bool CUDA(unique_consecutive)(const gp_call *c) {
    return list_unique(c, NULL, 1, gp_given(c, 3) ? (int)c->arg[3].i - 1 : 0,
                       texts_unique_consecutive);
}
