/* Tensor creation: fill, full, zeros, ones, empty, eye, range, linspace and logspace; and tril and
 * triu, which keep a part of their input. Limit: writing every byte once. */
#include "kernels/cuda/layout/copy.h"
#include "kernels/cuda/runtime/loop.cuh"

/* ---- one value ---- */

template <class M>
__global__ static void __launch_bounds__(GP_THREADS) fill_kernel(gp_loop<1> l, M value) {
    uint32_t i = gp_element();
    int64_t off[1];
    if (i >= l.numel) return;
    gp_offsets(l, i, off);
    *(M *)(l.data[0] + off[0]) = value;
}

template <class M> static bool run_fill(const gp_call *c, const gp_nest<1> &n, const void *value) {
    M m;
    memcpy(&m, value, sizeof m);
    return gp_nest_run(n, [&](const gp_loop<1> &l, int64_t first) {
        auto *kernel = fill_kernel<M>;
        return GP_LAUNCH(c, kernel, gp_blocks(l.numel), GP_THREADS, 0, l, m);
    });
}

/* One row is filled 16 bytes at a time; its remainder, element by element. */
static bool fill_with(const gp_call *c, gp_scalar s) {
    const gp_array *out = gp_out(c, 0), *const arrays[1] = {out};
    int64_t size = gp_dtype_sizes[out->dtype];
    unsigned char value[16];
    if (out->numel == 0) return true;
    gp_scalar_store((gp_dtype)out->dtype, value, s);
    for (int64_t i = size; i < 16; i++) value[i] = value[i - size];
    gp_nest<1> n = gp_nest_of(arrays), rest;
    bool row = n.ndim == 1 && n.stride[0][0] == size && gp_aligned(n.data[0], 16);
    if (!row) return GP_BY_SIZE(size, run_fill, c, n, value);
    rest = n;
    n.numel = n.dim[0] = n.dim[0] * size / 16, n.stride[0][0] = 16;
    rest.data[0] += n.numel * 16;
    rest.numel = rest.dim[0] = rest.numel - n.numel * 16 / size;
    return run_fill<gp_vector<uint64_t, 2>>(c, n, value) &&
           GP_BY_SIZE(size, run_fill, c, rest, value);
}

static gp_scalar integer(int64_t i) {
    gp_scalar s = {false, {}};
    s.i = i;
    return s;
}

GP_C bool CUDA(fill)(const gp_call *c) { return fill_with(c, gp_value_scalar(&c->arg[1])); }
GP_C bool CUDA(full)(const gp_call *c) { return fill_with(c, gp_value_scalar(&c->arg[1])); }
GP_C bool CUDA(zeros)(const gp_call *c) { return fill_with(c, integer(0)); }
GP_C bool CUDA(ones)(const gp_call *c) { return fill_with(c, integer(1)); }
GP_C bool CUDA(empty)(const gp_call *c) { return true; }

/* ---- a number that depends on the element's index ---- */

typedef enum gp_series { EYE, RANGE, WHOLE_RANGE, SMALL_RANGE, LINSPACE, LOGSPACE } gp_series;

/* of: columns of eye; first and step of a range, as integers in an integer range (small: 32 bits
 * hold all of them); both ends, the step and the base of spaced numbers. */
typedef struct series {
    gp_series kind;
    double first, last, step, base;
    int64_t from, by, numel;
} series;

/* Computed from the nearer end, so that the numbers are symmetric and the last one exact. */
__device__ static double spaced_at(const series &s, int64_t i) {
    return i < (s.numel + 1) / 2 ? s.first + s.step * (double)i
                                 : s.last - s.step * (double)(s.numel - 1 - i);
}

enum { SOME = 4, VECTORS = 4 }; /* elements of a vector, vectors of a thread */

/* Stores value(0) … of a thread's elements at p: n of them, or SOME, in one vector where p is
 * aligned. */
template <class T, class F>
__device__ static inline void store_series(char *p, gp_dtype dt, int64_t n, F value) {
    T v[SOME];
    int size = gp_bytes_of(dt);
#pragma unroll
    for (int k = 0; k < SOME; k++) v[k] = value(k);
    if (n >= SOME && gp_aligned(p, (size_t)(SOME * size))) {
        gp_store_some<T, SOME>(p, dt, v);
        return;
    }
#pragma unroll
    for (int k = 0; k < SOME; k++)
        if (k < n) gp_store_as<T>(p + k * size, dt, v[k]);
}

/* Stores the vector that begins with element i, of which `left` are to be. POWERS: of LOGSPACE,
 * which takes many registers. */
template <bool POWERS>
__device__ static inline void store_from(char *p, gp_dtype dt, const series &s,
                                         const gp_wide_divider &columns, int64_t i, int64_t left) {
    if constexpr (POWERS) {
        store_series<double>(p, dt, left, [&](int k) { return pow(s.base, spaced_at(s, i + k)); });
    } else if (s.kind == EYE) {
        int64_t col = i, row = gp_divide(columns, &col);
        store_series<int32_t>(p, dt, left, [&](int) {
            bool one = row == col;
            if (++col == columns.d) row++, col = 0;
            return one;
        });
    } else if (s.kind == WHOLE_RANGE) {
        /* unsigned: a step of 2^63 - 1 may wrap before it reaches a value that i64 holds */
        store_series<int64_t>(p, dt, left, [&](int k) {
            return (int64_t)((uint64_t)s.from + (uint64_t)(i + k) * (uint64_t)s.by);
        });
    } else if (s.kind == SMALL_RANGE) {
        store_series<int32_t>(p, dt, left, [&](int k) {
            return (int32_t)((uint32_t)s.from + (uint32_t)(i + k) * (uint32_t)s.by);
        });
    } else if (s.kind == RANGE) {
        store_series<double>(p, dt, left,
                             [&](int k) { return s.first + (double)(i + k) * s.step; });
    } else {
        store_series<double>(p, dt, left, [&](int k) { return spaced_at(s, i + k); });
    }
}

template <bool POWERS>
__global__ static void __launch_bounds__(GP_THREADS)
    series_kernel(char *out, gp_dtype dt, series s, gp_wide_divider columns) {
    int64_t i = ((int64_t)blockIdx.x * VECTORS * GP_THREADS + threadIdx.x) * SOME;
#pragma unroll 1
    for (int k = 0; k < VECTORS && i < s.numel; k++, i += GP_THREADS * SOME)
        store_from<POWERS>(out + i * gp_bytes_of(dt), dt, s, columns, i, s.numel - i);
}

static bool run_series(const gp_call *c, series s) {
    const gp_array *out = gp_out(c, 0);
    bool powers = s.kind == LOGSPACE && s.base != 0; /* base 0: as on the CPU */
    auto *kernel = powers ? series_kernel<true> : series_kernel<false>;
    s.numel = out->numel;
    return GP_LAUNCH(c, kernel, gp_blocks(s.numel, GP_THREADS * SOME * VECTORS), GP_THREADS, 0,
                     out->data, (gp_dtype)out->dtype, s, gp_divide_up_to(s.numel, s.by));
}

static double as_double(const gp_value *v) { return v->is_float ? v->f : (double)v->i; }

GP_C bool CUDA(eye)(const gp_call *c) {
    series s = {};
    s.kind = EYE, s.by = gp_out(c, 0)->dim[1];
    return run_series(c, s);
}

GP_C bool CUDA(range)(const gp_call *c) {
    const gp_value *first = &c->arg[0], *step = &c->arg[2];
    series s = {};
    s.kind = first->is_float || step->is_float ? RANGE : WHOLE_RANGE;
    s.first = as_double(first), s.step = as_double(step);
    s.from = first->i, s.by = step->i;
    int64_t half = INT32_MAX / 2, n = gp_out(c, 0)->numel;
    if (s.kind == WHOLE_RANGE && n > 0 && n <= INT32_MAX && s.from >= -half && s.from <= half &&
        s.by >= -half / n && s.by <= half / n)
        s.kind = SMALL_RANGE;
    return run_series(c, s);
}

static bool spaced(const gp_call *c, gp_series kind, double base) {
    series s = {};
    int64_t numel = gp_out(c, 0)->numel;
    s.kind = kind, s.base = base;
    s.first = as_double(&c->arg[0]), s.last = as_double(&c->arg[1]);
    s.step = numel > 1 ? (s.last - s.first) / (double)(numel - 1) : 0;
    return run_series(c, s);
}
GP_C bool CUDA(linspace)(const gp_call *c) { return spaced(c, LINSPACE, 0); }
GP_C bool CUDA(logspace)(const gp_call *c) { return spaced(c, LOGSPACE, c->arg[3].f); }

/* ---- tril, triu ---- */

/* Row r of a matrix keeps columns from r + diagonal on (upper), or up to that one. Elements of the
 * loop are numbered row-major; columns and rows are those of its matrices. */
template <class M>
__global__ static void __launch_bounds__(GP_THREADS)
    triangle_kernel(gp_loop<2> l, gp_divider cols, gp_divider rows, int64_t first, int64_t diagonal,
                    bool upper) {
    uint32_t i = gp_element();
    int64_t off[2];
    if (i >= l.numel) return;
    gp_offsets(l, i, off);
    int64_t at = first + i, row = first ? at / cols.d : gp_quotient(cols, i);
    int64_t matrix = first ? row / rows.d : gp_quotient(rows, (uint32_t)row);
    int64_t col = at - row * cols.d, edge = row - matrix * rows.d + diagonal;
    M *d = (M *)(l.data[0] + off[0]);
    *d = (upper ? col >= edge : col <= edge) ? *(const M *)(l.data[1] + off[1]) : (M)0;
}

template <class M>
static bool run_triangle(const gp_call *c, const gp_nest<2> &n, int64_t rows, int64_t cols,
                         int64_t diagonal, bool upper) {
    return gp_nest_run(n, [&](const gp_loop<2> &l, int64_t first) {
        auto *kernel = triangle_kernel<M>;
        return GP_LAUNCH(c, kernel, gp_blocks(l.numel), GP_THREADS, 0, l,
                         gp_divide_by((uint32_t)cols), gp_divide_by((uint32_t)rows), first,
                         diagonal, upper);
    });
}

static bool keep_triangle(const gp_call *c, bool upper) {
    const gp_array *out = gp_out(c, 0), *const arrays[2] = {out, gp_in(c, 0)};
    int64_t limit = (int64_t)1 << 40, diagonal = gp_given(c, 1) ? c->arg[1].i : 0;
    diagonal = diagonal > limit ? limit : diagonal < -limit ? -limit : diagonal;
    if (out->numel == 0) return true;
    int64_t rows = out->dim[out->ndim - 2], cols = out->dim[out->ndim - 1];
    gp_nest<2> n = gp_nest_of(arrays, true);
    return GP_BY_SIZE(gp_dtype_sizes[out->dtype], run_triangle, c, n, rows, cols, diagonal, upper);
}

GP_C bool CUDA(tril)(const gp_call *c) { return keep_triangle(c, false); }
GP_C bool CUDA(triu)(const gp_call *c) { return keep_triangle(c, true); }
