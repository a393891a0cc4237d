/* Scans along a dim: cumsum, cumprod, cummax, cummin, logcumsumexp. Sums and products whose
 * elements are of one dtype and adjacent are read once: tiles.cuh. Otherwise a warp takes a short
 * line; a longer one goes through a block 2048 elements at a time; of adjacent lines each has a
 * thread. Where that leaves the device idle, lines are divided into parts, which are read twice:
 * first for the totals before each. The division is the same on every device. Limit: that, and one
 * write. */
#include "kernels/cuda/scan/scan.h"

#include "kernels/cuda/scan/tiles.cuh"

#define GP_FN __device__ static inline

/* ---- combination: acc holds what came before, more what follows ---- */

/* An op without indices. ONCE: its lines may be those of tiles.cuh. SCALED: it has `times`. */
struct values {
    enum { ONCE = 0, SCALED = 0 };
    template <class A> GP_FN void store_index(A, char *) {}
};

/* T: compute type of elements. f32 and 16-bit floats are summed in f64. */
template <class Type> struct sums : values {
    enum { ONCE = 1 };
    typedef Type T;
    typedef Type Acc;
    GP_FN Acc start() { return 0; }
    GP_FN Acc of(T x, int64_t) { return x; }
    GP_FN Acc join(Acc a, Acc b) { return a + b; }
    GP_FN T value(Acc a) { return a; }
};
template <> __device__ inline int64_t sums<int64_t>::join(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

struct products : values {
    enum { ONCE = 1 };
    typedef int64_t T, Acc;
    GP_FN Acc start() { return 1; }
    GP_FN Acc of(T x, int64_t) { return x; }
    GP_FN Acc join(Acc a, Acc b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
    GP_FN T value(Acc a) { return a; }
};
/* m 2^e: the product of a part may overflow f64 where that of the whole does not. 1 <= |m| < 2 but
 * for 0, infinities and NaN, where e does not count. `times` leaves m as it comes: after four
 * narrow elements it is still a number of f64, between 2^-596 and 2^513, and `settled` puts it
 * right. */
struct scaled_products : values {
    enum { ONCE = 1, SCALED = 1 };
    typedef double T;
    struct Acc {
        double m;
        int64_t e;
    };
    /* 2^k. */
    GP_FN double power(int k) { return __hiloint2double((k + 1023) << 20, 0); }
    GP_FN Acc settled(Acc a) {
        int high = __double2hiint(a.m), e = high >> 20 & 0x7ff;
        if (e == 0 || e == 0x7ff) return a;
        Acc r = {__hiloint2double((high & (int)0x800fffff) | 0x3ff00000, __double2loint(a.m)),
                 a.e + (e - 1023)};
        return r;
    }
    GP_FN Acc times(Acc a, double x) {
        a.m *= x;
        return a;
    }
    GP_FN Acc of(double x, int64_t) {
        bool subnormal = fabs(x) < power(-1022);
        Acc a = {subnormal ? x * power(64) : x, subnormal ? -64 : 0};
        return settled(a);
    }
    GP_FN Acc start() {
        Acc a = {1, 0};
        return a;
    }
    GP_FN Acc join(Acc a, Acc b) {
        Acc r = {a.m * b.m, a.e + b.e};
        return settled(r);
    }
    /* In two steps, of which only the second may round: 2^e need not be a number of f64. */
    GP_FN T value(Acc a) {
        int e = a.e > 1700 ? 1700 : a.e < -1700 ? -1700 : (int)a.e, half = e >> 1;
        return a.m * power(half) * power(e - half);
    }
};

/* Of equal elements the last one counts, and of NaNs, which win. */
template <class Type, bool MIN> struct bests {
    enum { ONCE = 0 };
    typedef Type T;
    struct Acc {
        T best;
        int64_t at; /* from 1; 0: no element yet */
    };
    GP_FN Acc start() { return of(0, 0); }
    GP_FN Acc of(T x, int64_t at) {
        Acc a = {x, at};
        return a;
    }
    GP_FN Acc join(Acc a, Acc b) {
        bool take = (MIN ? b.best <= a.best : b.best >= a.best) || b.best != b.best;
        return b.at && (!a.at || take) ? b : a;
    }
    GP_FN T value(Acc a) { return a.best; }
    GP_FN void store_index(Acc a, char *to) { *(int64_t *)to = a.at; }
};

/* The largest element m, and the sum of exp(x - m). */
struct log_sums : values {
    typedef double T;
    struct Acc {
        double m, s;
    };
    GP_FN Acc start() {
        Acc a = {-INFINITY, 0};
        return a;
    }
    GP_FN Acc of(double x, int64_t) {
        Acc a = {x, 1};
        return a;
    }
    GP_FN Acc join(Acc a, Acc b) {
        double d = b.m == a.m ? 0 : b.m - a.m, e = exp(d <= 0 ? d : -d);
        Acc r = {d <= 0 ? a.m : b.m, d <= 0 ? a.s + b.s * e : a.s * e + b.s};
        return r;
    }
    GP_FN T value(Acc a) { return a.m + log(a.s); }
};

/* ---- kernels ---- */

enum {
    EACH = 8,
    CHUNK = GP_THREADS * EACH,
    PARTS = 1024,
    BLOCKS = 1024,
    WARP = 32,
    SHORT = 1024,     /* elements of a line for a warp */
    SHORT_LINES = 64, /* the fewest lines that have a warp each */
    TALL = 8,       /* parts of adjacent lines in a block, which then has as many lines as a warp */
    AHEAD = 8,      /* elements that a thread reads before it adds the first */
    LEAST_ROWS = 64 /* of a part of adjacent lines */
};

/* Where a part of a line begins: at a vector of EACH elements. */
__device__ static inline int64_t part_start(const gp_scan_job &s, int64_t part) {
    return part == s.parts ? s.n : s.n * part / s.parts / EACH * EACH;
}

/* Elements i … i + N - 1 of the line at p, of those below `to`: as a vector where they are one in
 * memory, and all before the first is converted. */
template <class S, int N>
__device__ static inline void read(const gp_scan_job &s, char *const *p, int64_t i, int64_t to,
                                   typename S::Acc (&v)[N]) {
    typename S::T x[N];
    const char *from = p[1] + i * s.step[1];
    int size = gp_bytes_of(s.from);
    if (i + N <= to && s.step[1] == size && gp_aligned(from, (size_t)(N * size))) {
        gp_load_some<typename S::T, N>(from, s.from, x);
    } else if (i + N <= to) {
        gp_load_apart<typename S::T, N>(from, s.step[1], s.from, x);
    } else {
#pragma unroll
        for (int k = 0; k < N; k++)
            x[k] = i + k < to ? gp_load_as<typename S::T>(from + k * s.step[1], s.from) : 0;
    }
#pragma unroll
    for (int k = 0; k < N; k++) v[k] = i + k < to ? S::of(x[k], i + k + 1) : S::start();
}
/* The same for results. */
template <class S, int N>
__device__ static inline void write(const gp_scan_job &s, char *const *p, int64_t i, int64_t to,
                                    const typename S::Acc (&v)[N]) {
    typename S::T x[N];
    char *into = p[0] + i * s.step[0];
    int size = gp_bytes_of(s.to);
#pragma unroll
    for (int k = 0; k < N; k++) x[k] = S::value(v[k]);
    if (i + N <= to && s.step[0] == size && gp_aligned(into, (size_t)(N * size))) {
        gp_store_some<typename S::T, N>(into, s.to, x);
    } else {
#pragma unroll
        for (int k = 0; k < N; k++)
            if (i + k < to) gp_store_as<typename S::T>(into + k * s.step[0], s.to, x[k]);
    }
#pragma unroll
    for (int k = 0; k < N; k++)
        if (i + k < to) S::store_index(v[k], p[2] + (i + k) * s.step[2]);
}

/* Called by all of the block: what precedes this thread's v in the chunk; *all becomes the chunk's
 * total. */
template <class S>
__device__ static inline typename S::Acc scan_block(typename S::Acc v, typename S::Acc *all) {
    __shared__ typename S::Acc shared[GP_THREADS];
    int t = (int)threadIdx.x;
    shared[t] = v;
    for (int d = 1; d < GP_THREADS; d *= 2) {
        __syncthreads();
        typename S::Acc before = shared[t < d ? 0 : t - d];
        __syncthreads();
        if (t >= d) shared[t] = S::join(before, shared[t]);
    }
    __syncthreads();
    typename S::Acc before = t ? shared[t - 1] : S::start();
    *all = shared[GP_THREADS - 1];
    __syncthreads();
    return before;
}

/* Blocks that a multiprocessor should have registers for: without spilling there are no more. */
template <class S> constexpr int blocks_of() {
    return sizeof(typename S::Acc) <= 8 ? 4 : sizeof(typename S::T) <= 4 ? 3 : 2;
}

/* One block per part of a line. first: only its total is wanted. */
template <class S>
__global__ static void __launch_bounds__(GP_THREADS, blocks_of<S>())
    line_kernel(gp_scan_job s, bool first) {
    typedef typename S::Acc Acc;
    uint32_t line = blockIdx.x / s.parts, part = blockIdx.x - line * s.parts;
    int64_t at = part_start(s, part), to = part_start(s, part + 1);
    Acc *total = (Acc *)s.totals + blockIdx.x, carry = S::start();
    char *p[3];
    gp_scan_line(s, line, p);
    if (!first && s.parts > 1) carry = *total;
    for (; at < to; at += CHUNK) {
        Acc v[EACH], all;
        int64_t i = at + (int64_t)threadIdx.x * EACH;
        read<S, EACH>(s, p, i, to, v);
#pragma unroll
        for (int k = 1; k < EACH; k++) v[k] = S::join(v[k - 1], v[k]);
        Acc before = S::join(carry, scan_block<S>(v[EACH - 1], &all));
        carry = S::join(carry, all);
        if (first) continue;
#pragma unroll
        for (int k = 0; k < EACH; k++) v[k] = S::join(before, v[k]);
        write<S, EACH>(s, p, i, to, v);
    }
    if (first && threadIdx.x == 0) *total = carry;
}

/* Turns totals into what comes before each part: one block per line. */
template <class S>
__global__ static void __launch_bounds__(GP_THREADS) before_kernel(gp_scan_job s) {
    typedef typename S::Acc Acc;
    Acc *total = (Acc *)s.totals + (int64_t)blockIdx.x * s.parts, carry = S::start(), all;
    for (int at = 0; at < s.parts; at += GP_THREADS) {
        int k = at + (int)threadIdx.x;
        Acc own = k < s.parts ? total[k] : S::start(), before = scan_block<S>(own, &all);
        if (k < s.parts) total[k] = S::join(carry, before);
        carry = S::join(carry, all);
    }
}

/* One warp per line, E adjacent elements per lane at a time. */
template <class S, int E>
__global__ static void __launch_bounds__(GP_THREADS) short_kernel(gp_scan_job s) {
    typedef typename S::Acc Acc;
    uint32_t line = blockIdx.x * (GP_THREADS / WARP) + threadIdx.x / WARP;
    int lane = (int)threadIdx.x % WARP;
    int64_t n = line < s.lines.numel ? s.n : 0;
    Acc carry = S::start();
    char *p[3];
    gp_scan_line(s, n ? line : 0, p);
    for (int64_t at = 0; at < s.n; at += WARP * E) {
        int64_t i = at + lane * E;
        Acc v[E];
        read<S, E>(s, p, i, n, v);
#pragma unroll
        for (int k = 1; k < E; k++) v[k] = S::join(v[k - 1], v[k]);
        Acc sum = v[E - 1];
        for (int d = 1; d < WARP; d *= 2) {
            Acc other = gp_lane_value(sum, d, true);
            if (lane >= d) sum = S::join(other, sum);
        }
        Acc before = gp_lane_value(sum, 1, true);
        before = S::join(carry, lane ? before : S::start());
        carry = S::join(carry, gp_lane_value(sum, WARP - 1, false));
#pragma unroll
        for (int k = 0; k < E; k++) v[k] = S::join(before, v[k]);
        write<S, E>(s, p, i, n, v);
    }
}

/* Adjacent lines: one thread per line and part. first: only the totals are wanted. */
template <class S>
__global__ static void __launch_bounds__(GP_THREADS) column_kernel(gp_scan_job s, bool first) {
    typedef typename S::Acc Acc;
    uint32_t line = blockIdx.x * blockDim.x + threadIdx.x;
    int part = (int)(blockIdx.y * blockDim.y + threadIdx.y);
    if (line >= s.lines.numel) return;
    int64_t i = s.n * part / s.parts, to = s.n * (part + 1) / s.parts;
    Acc *total = (Acc *)s.totals + (int64_t)line * s.parts + part, acc = S::start();
    char *p[3];
    gp_scan_line(s, line, p);
    if (!first && s.parts > 1) acc = *total;
    for (; i < to; i += AHEAD) {
        Acc v[AHEAD];
        read<S, AHEAD>(s, p, i, to, v);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) v[k] = acc = S::join(acc, v[k]);
        if (!first) write<S, AHEAD>(s, p, i, to, v);
    }
    if (first) *total = acc;
}

/* ---- the driver ---- */

/* Turns the totals of s.parts parts of each line, which `totals` queues, into what comes before. */
template <class S, class F> static bool find_totals(const gp_call *c, gp_scan_job *s, F totals) {
    auto *before = before_kernel<S>;
    int64_t lines = s->lines.numel;
    if (s->parts < 2) return true;
    s->totals = gp_cuda_scratch(c, (size_t)(lines * s->parts) * sizeof(typename S::Acc));
    return s->totals && totals() && GP_LAUNCH(c, before, (uint32_t)lines, GP_THREADS, 0, *s);
}

template <class S> static bool run_lines(const gp_call *c, gp_scan_job s) {
    int64_t lines = s.lines.numel, parts = BLOCKS / lines;
    if (parts > s.n / (4 * CHUNK)) parts = s.n / (4 * CHUNK);
    s.parts = parts < 2 ? 1 : parts > PARTS ? PARTS : (int)parts;
    uint32_t blocks = (uint32_t)(lines * s.parts);
    auto *line = line_kernel<S>;
    auto pass = [&](bool first) { return GP_LAUNCH(c, line, blocks, GP_THREADS, 0, s, first); };
    return find_totals<S>(c, &s, [&] { return pass(true); }) && pass(false);
}

template <class S> static bool run_short_lines(const gp_call *c, gp_scan_job s) {
    auto *kernel = s.n > 2 * WARP ? short_kernel<S, 4> : short_kernel<S, 1>;
    return GP_LAUNCH(c, kernel, gp_blocks(s.lines.numel, GP_THREADS / WARP), GP_THREADS, 0, s);
}

/* Adjacent lines: whole ones where there are enough of them. */
template <class S> static bool run_columns(const gp_call *c, gp_scan_job s) {
    int64_t lines = s.lines.numel, parts = (int64_t)BLOCKS * GP_THREADS / lines;
    if (parts > s.n / LEAST_ROWS) parts = s.n / LEAST_ROWS;
    if (parts > PARTS) parts = PARTS;
    parts = parts / TALL * TALL;
    s.parts = parts ? (int)parts : 1;
    unsigned tall = parts ? TALL : 1, wide = GP_THREADS / tall;
    dim3 grid(gp_blocks(lines, (int)wide), (unsigned)s.parts / tall);
    auto *column = column_kernel<S>;
    auto pass = [&](bool first) {
        return GP_LAUNCH(c, column, grid, dim3(wide, tall), 0, s, first);
    };
    return find_totals<S>(c, &s, [&] { return pass(true); }) && pass(false);
}

/* a without dim d. */
static gp_array without(const gp_array *a, int d) {
    gp_array r = *a;
    if (a->ndim == 0) return r;
    r.ndim--, r.numel = 1;
    for (int i = d; i < r.ndim; i++) r.dim[i] = a->dim[i + 1], r.stride[i] = a->stride[i + 1];
    for (int i = 0; i < r.ndim; i++) r.numel *= r.dim[i];
    return r;
}

/* The lines of n, which has the dims but that of s. */
template <class S> static bool run_all(const gp_call *c, const gp_nest<3> &n, gp_scan_job s) {
    return gp_nest_run(n, [&](const gp_loop<3> &l, int64_t first) {
        int64_t spacing = l.stride[0][1];
        s.lines = l;
        if constexpr (S::ONCE) {
            bool ok, known = gp_scan_once<S>(c, s, spacing, &ok);
            if (known) return ok;
        }
        if (l.numel >= WARP && spacing && spacing < s.step[1]) return run_columns<S>(c, s);
        return s.n <= SHORT && l.numel >= SHORT_LINES ? run_short_lines<S>(c, s)
                                                      : run_lines<S>(c, s);
    });
}

/* Arguments: x, a dim counted from 1. */
template <class S> static bool scan(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *whole[3] = {gp_out(c, 0), x, gp_out(c, c->nout == 2)};
    int d = (int)c->arg[1].i - 1;
    gp_array kept[3];
    const gp_array *const arrays[3] = {&kept[0], &kept[1], &kept[2]};
    gp_scan_job s = {};
    if (x->numel == 0) return true;
    s.to = (gp_dtype)whole[0]->dtype, s.from = (gp_dtype)x->dtype;
    s.n = x->ndim ? x->dim[d] : 1;
    for (int k = 0; k < 3; k++) {
        kept[k] = without(whole[k], d);
        s.step[k] = x->ndim ? whole[k]->stride[d] * gp_dtype_sizes[whole[k]->dtype] : 0;
    }
    return run_all<S>(c, gp_nest_of(arrays), s);
}

/* Each element is read before it is written, by the thread that writes it. */
GP_C bool gp_cuda_running_sums(const gp_call *c, double *x, int64_t rows, int64_t n) {
    gp_nest<3> nest = {};
    gp_scan_job s = {};
    s.to = s.from = GP_f64, s.n = n;
    nest.ndim = 1, nest.numel = nest.dim[0] = rows;
    for (int k = 0; k < 3; k++) nest.data[k] = (char *)x, nest.stride[0][k] = n * 8, s.step[k] = 8;
    return run_all<sums<double>>(c, nest, s);
}

GP_C bool CUDA(cumsum)(const gp_call *c) {
    bool floats = gp_is_float((gp_dtype)gp_out(c, 0)->dtype);
    return floats ? scan<sums<double>>(c) : scan<sums<int64_t>>(c);
}
GP_C bool CUDA(cumprod)(const gp_call *c) {
    return gp_is_float((gp_dtype)gp_out(c, 0)->dtype) ? scan<scaled_products>(c)
                                                      : scan<products>(c);
}
GP_C bool CUDA(logcumsumexp)(const gp_call *c) { return scan<log_sums>(c); }

template <class T> static bool most(const gp_call *c) { return scan<bests<T, false>>(c); }
template <class T> static bool least(const gp_call *c) { return scan<bests<T, true>>(c); }
GP_C bool CUDA(cummax)(const gp_call *c) {
    return GP_BY_COMPUTE((gp_dtype)gp_in(c, 0)->dtype, most, c);
}
GP_C bool CUDA(cummin)(const gp_call *c) {
    return GP_BY_COMPUTE((gp_dtype)gp_in(c, 0)->dtype, least, c);
}
