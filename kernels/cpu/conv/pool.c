/* Pooling: an output row combines the rows of its window, tap by tap where windows are regular,
 * window by window where they are adaptive. Rows of one window combined as one are worth 3.0 at
 * adaptive_avg_pool2d of 56x56 to 1x1, 1.7 of 7x7 (one thread of an Emerald Rapids with AVX-512).
 */
#include "kernels/cpu/conv/pool.h"

#include <string.h>

#include "kernels/cpu/runtime/scratch.h"

/* JOINED: elements of a window's rows that are combined as
 * one. */
enum { LANES = 16, JOINED = 4096 };

typedef struct pool_job {
    gp_pool p;
    gp_plane_strides in;
    const gp_array *x, *out, *indices; /* indices: NULL where not asked for */
    gp_ctype ct;
    int64_t size; /* bytes of the compute type */
    bool average;
    _Atomic bool no_memory;
} pool_job;

/* An input row to be combined: its elements (dense, in compute type), the results so far, and the
 * index in the plane of the row's first element. Indices are integers as wide as the elements, for
 * vectorisation; -1: none yet. */
typedef struct fold {
    const void *row;
    void *acc, *at;
    int64_t position;
    const gp_window *columns; /* of each output; NULL: regular windows */
} fold;

/* ---- regular windows ---- */

/* One tap. NaN wins, then the first of equal elements. */
#define INLINE static inline __attribute__((always_inline))
#define T float
#define t f32
#define I int32_t
#include "kernels/cpu/conv/pool_taps.inc"
#define T double
#define t f64
#define I int64_t
#include "kernels/cpu/conv/pool_taps.inc"
#define T int64_t
#define t i64
#define I int64_t
#include "kernels/cpu/conv/pool_taps.inc"

/* ---- adaptive windows ---- */

#define T float
#define t f32
#define I int32_t
#include "kernels/cpu/conv/pool_windows.inc"
#define T double
#define t f64
#define I int64_t
#include "kernels/cpu/conv/pool_windows.inc"

/* ---- averages ---- */

/* Rounds integers towards 0, as PyTorch does. */
#define DIVIDE(T, t, quotient)                                                                     \
    static void divide_##t(T *restrict acc, const T *restrict by, int64_t n) {                     \
        for (int64_t o = 0; o < n; o++) acc[o] = quotient;                                         \
    }                                                                                              \
    static void divisors_##t(const gp_pool *p, int64_t rows, T *by) {                              \
        for (int64_t o = 0; o < p->out[2]; o++) {                                                  \
            gp_window w = gp_pool_window(p, 2, o);                                                 \
            int64_t n = p->divisor ? p->divisor : rows * gp_pool_extent(p, w);                     \
            by[o] = rows <= 0 || w.last <= w.first ? 1 : (T)n;                                     \
        }                                                                                          \
    }
DIVIDE(float, f32, acc[o] / by[o])
DIVIDE(double, f64, acc[o] / by[o])
DIVIDE(int64_t, i64,
       by[o] == -1 ? -acc[o] : acc[o] / by[o]) /* the smallest integer over -1 wraps */

void gp_pool_divisors(const gp_pool *p, gp_window rows, gp_ctype ct, void *divisor) {
    int64_t n = rows.last > rows.first ? gp_pool_extent(p, rows) : 0;
    if (ct == GP_CT_f32) divisors_f32(p, n, divisor);
    else if (ct == GP_CT_f64) divisors_f64(p, n, divisor);
    else divisors_i64(p, n, divisor);
}

/* ---- rows ---- */

/* The state before the first tap: 0, or below every number; no index yet. */
static void start(const pool_job *r, const fold *f) {
    int64_t n = r->p.out[2];
    for (int64_t o = 0; o < n; o++) {
        if (r->ct == GP_CT_f32) ((float *)f->acc)[o] = r->average ? 0 : -INFINITY;
        else ((double *)f->acc)[o] = r->average ? 0 : -INFINITY;
    }
    if (f->at) memset(f->at, 0xff, (size_t)(n * r->size));
}

/* Stores indices in the plane, counted from 1. */
static void store_positions(const pool_job *r, const fold *f, int64_t row) {
    int64_t n = r->p.out[2], *o = (int64_t *)(void *)r->indices->data + row * n;
    if (r->ct == GP_CT_f32)
        for (int64_t i = 0; i < n; i++) o[i] = ((const int32_t *)f->at)[i] + 1;
    else
        for (int64_t i = 0; i < n; i++) o[i] = ((const int64_t *)f->at)[i] + 1;
}

/* Scratch of a thread: an input row, the results, their indices or divisors, adaptive windows. */
static int64_t row_bytes(int64_t n, int64_t size) { return gp_whole_lines(n * size); }

/* Whether there is one window for all of a row, and rows are contiguous. Several are then combined
 * as one. */
static bool whole_rows(const pool_job *r) {
    return r->p.adaptive && r->p.out[2] == 1 && r->x->dtype == gp_ctype_dtype[r->ct] &&
           r->in.col == r->size && r->in.row == r->p.in[2] * r->size;
}

/* Output row `row` of all planes' rows. Windows that extend past the edge are clipped. */
static void one_row(const pool_job *r, int64_t row, char *scratch) {
    const gp_pool *p = &r->p;
    int64_t plane = row / p->out[1], in = row_bytes(p->in[2], r->size),
            out = row_bytes(p->out[2], r->size),
            osize = (int64_t)gp_dtype_size((gp_dtype)r->out->dtype);
    bool same = r->out->dtype == gp_ctype_dtype[r->ct];
    char *to = r->out->data + row * p->out[2] * osize;
    fold f = {.acc = same ? to : scratch + in, .at = r->indices ? scratch + in + out : NULL};
    if (p->adaptive) f.columns = (const gp_window *)(void *)(scratch + in + 2 * out);
    gp_window w = gp_pool_window(p, 1, row % p->out[1]);
    const char *from = gp_plane_at(&r->in, plane);
    start(r, &f);
    gp_window joined;
    bool whole = whole_rows(r);
    for (int64_t y = w.first, n = p->dilation[1]; y < w.last; y += n) {
        const char *src = from + y * r->in.row;
        if (whole) {
            n = w.last - y < 1 + JOINED / p->in[2] ? w.last - y : 1 + JOINED / p->in[2];
            joined = (gp_window){.last = n * p->in[2]};
            f.columns = &joined;
        }
        f.row = src;
        f.position = y * p->in[2];
        if (r->x->dtype != gp_ctype_dtype[r->ct] || r->in.col != r->size) {
            gp_load_fn((gp_dtype)r->x->dtype, r->ct)(scratch, src, r->in.col, p->in[2]);
            f.row = scratch;
        }
        if (p->adaptive) (r->ct == GP_CT_f32 ? windows_f32 : windows_f64)(r, &f);
        else (r->ct == GP_CT_f32 ? taps_f32 : r->ct == GP_CT_f64 ? taps_f64 : taps_i64)(r, &f);
    }
    if (r->average) {
        void *by = scratch + in + out;
        gp_pool_divisors(p, w, r->ct, by);
        if (r->ct == GP_CT_f32) divide_f32(f.acc, by, p->out[2]);
        else if (r->ct == GP_CT_f64) divide_f64(f.acc, by, p->out[2]);
        else divide_i64(f.acc, by, p->out[2]);
    }
    if (!same) gp_store_fn(r->ct, (gp_dtype)r->out->dtype)(to, osize, f.acc, p->out[2]);
    if (r->indices) store_positions(r, &f, row);
}

/* Output rows [begin, end). */
static void rows(void *ctx, int64_t begin, int64_t end) {
    pool_job *r = ctx;
    const gp_pool *p = &r->p;
    int64_t windows = row_bytes(p->in[2], r->size) + 2 * row_bytes(p->out[2], r->size),
            many = p->adaptive ? p->out[2] : 0;
    char *scratch = gp_scratch(GP_SCRATCH_PART, (size_t)windows + (size_t)many * sizeof(gp_window));
    if (!scratch) {
        r->no_memory = true;
        return;
    }
    for (int64_t o = 0; o < many; o++)
        ((gp_window *)(void *)(scratch + windows))[o] = gp_pool_window(p, 2, o);
    for (int64_t i = begin; i < end; i++) one_row(r, i, scratch);
}

/* x: planes of r->p; outputs are contiguous. */
static bool pool(const gp_call *c, pool_job *r) {
    const gp_pool *p = &r->p;
    r->out = gp_out(c, 0);
    if (r->out->numel == 0) return true;
    r->in = gp_pool_plane_strides(r->x, p);
    r->ct = gp_compute_type((gp_dtype)r->x->dtype);
    /* Planes too large for 32-bit indices are rare: they are computed in f64, whose indices are
     * 64-bit. */
    if (r->ct == GP_CT_f32 && p->in[1] * p->in[2] > INT32_MAX / 2) r->ct = GP_CT_f64;
    r->size = gp_ctype_size[r->ct];
    r->indices = c->nout > 1 ? gp_out(c, 1) : NULL;
    int64_t work = p->out[2] * p->kernel[1] * p->kernel[2] + 1;
    return gp_parallel_op(c, p->planes * p->out[1], 1 + GP_GRAIN / 2 / work, rows, r) &&
           (!r->no_memory || gp_fail("%s: out of memory", c->op->name));
}

/* ---- calls ---- */

static bool largest(const gp_call *c, int rank) {
    pool_job r = {.x = gp_in(c, 0)};
    gp_shape x = gp_array_shape(r.x);
    return gp_pool_read_max(c, &x, rank, 1, &r.p) && pool(c, &r);
}
bool CPU(max_pool1d)(const gp_call *c) { return largest(c, 1); }
bool CPU(max_pool2d)(const gp_call *c) { return largest(c, 2); }

static bool average(const gp_call *c, int rank) {
    pool_job r = {.x = gp_in(c, 0), .average = true};
    gp_shape x = gp_array_shape(r.x);
    return gp_pool_read_avg(c, &x, rank, 1, &r.p) && pool(c, &r);
}
bool CPU(avg_pool1d)(const gp_call *c) { return average(c, 1); }
bool CPU(avg_pool2d)(const gp_call *c) { return average(c, 2); }

/* Argument 1: the sizes of the output, one or two. */
static bool adaptive(const gp_call *c, int rank, bool of_average) {
    pool_job r = {.x = gp_in(c, 0), .average = of_average};
    gp_shape x = gp_array_shape(r.x);
    int n;
    const int64_t *out = gp_ints(c, 1, &n);
    return gp_pool_read_adaptive(c, &x, rank, out, n, &r.p) && pool(c, &r);
}
bool CPU(adaptive_avg_pool1d)(const gp_call *c) { return adaptive(c, 1, true); }
bool CPU(adaptive_avg_pool2d)(const gp_call *c) { return adaptive(c, 2, true); }
bool CPU(adaptive_max_pool1d)(const gp_call *c) { return adaptive(c, 1, false); }
bool CPU(adaptive_max_pool2d)(const gp_call *c) { return adaptive(c, 2, false); }
