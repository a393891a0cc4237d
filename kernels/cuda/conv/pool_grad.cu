/* Gradients of pooling: a thread for each input sums over the windows that it is in; for max
 * pooling a thread for a few inputs, over those windows whose index names one. Where max pooling's
 * windows are not known, outputs are linked into a list for each input, which its thread then sums.
 * Sums are in the order of the outputs: the result is deterministic. Limit: the bytes of gradients,
 * indices and, with them, lists, at the memory's speed. */
#include "kernels/cuda/conv/pool.cuh"

template <class T> struct spreading {
    gp_windows w;
    gp_plane grad, at; /* at: the indices of the largest elements */
    gp_pixels inputs;
    char *out;
    gp_dtype dtype;
    int64_t size; /* bytes of an input */
};

/* The outputs of dim d whose windows contain input i: from lo to hi - 1, perhaps some that do
 * not. */
__device__ static void holders(const gp_windows &w, int d, int64_t i, int64_t *lo, int64_t *hi) {
    if (w.adaptive) {
        *lo = gp_quotient(w.by_in[d], i * w.out[d]);
        *hi = gp_quotient(w.by_in[d], (i + 1) * w.out[d] + w.in[d] - 1);
        return;
    }
    int64_t covered = w.dilation[d] * (w.kernel[d] - 1) + 1, from = i + w.pad[d] - covered + 1;
    *lo = from <= 0 ? 0 : gp_quotient(w.by_stride[d], from + w.stride[d] - 1);
    *hi = gp_quotient(w.by_stride[d], i + w.pad[d]) + 1;
    if (*hi > w.out[d]) *hi = w.out[d];
}

template <class T> __global__ static void averages(spreading<T> p) {
    int64_t plane, y, x, r0, r1, c0, c1, i = gp_pixel(p.inputs, &plane, &y, &x);
    if (i < 0) return;
    const char *grad = gp_plane_at(p.grad, plane);
    holders(p.w, 0, y, &r0, &r1);
    holders(p.w, 1, x, &c0, &c1);
    T sum = 0;
    for (int64_t r = r0; r < r1; r++)
        for (int64_t c = c0; c < c1; c++) {
            gp_span rows = gp_span_of(p.w, 0, r), cols = gp_span_of(p.w, 1, c);
            if (y < rows.first || y >= rows.last || x < cols.first || x >= cols.last) continue;
            sum += gp_plane_get<T>(p.grad, grad, r, c) / gp_divisor<T>(p.w, rows, cols);
        }
    gp_store_as<T>(p.out + i * p.size, p.dtype, sum);
}

/* The same in 32 bits: windows without gaps, of planes with one distance between them and rows
 * without gaps. D: f32 or a 16-bit float. */
typedef struct small_windows {
    int in[2], out[2], kernel[2], stride[2], pad[2], row; /* row: elements from one to the next */
    gp_divider by_stride[2], rows, cols;
    int64_t plane;        /* elements from one plane of the gradient to the next */
    float divisor, whole; /* divisor 0: the window's size; whole: 1 over that of a whole one */
    bool include_pad;
    uint32_t n;
} small_windows;

/* The windows of dim d that contain an input from i to j: from lo to hi - 1. */
__device__ static inline void small_holders(const small_windows &w, int d, int i, int j, int *lo,
                                            int *hi) {
    int from = i + w.pad[d] - w.kernel[d] + w.stride[d]; /* rounds up */
    *lo = from < w.stride[d] ? 0 : (int)gp_quotient(w.by_stride[d], (uint32_t)from);
    *hi = (int)gp_quotient(w.by_stride[d], (uint32_t)(j + w.pad[d])) + 1;
    if (*hi > w.out[d]) *hi = w.out[d];
}
/* What window o counts of dim d for its divisor. */
__device__ static inline int small_size(const small_windows &w, int d, int o) {
    int first = o * w.stride[d] - w.pad[d], last = first + w.kernel[d],
        end = w.in[d] + (w.include_pad ? w.pad[d] : 0);
    if (last > end) last = end;
    return last - (first < 0 && !w.include_pad ? 0 : first);
}

template <int D>
__global__ static void __launch_bounds__(GP_THREADS)
    averages_small(small_windows w, const char *grad, char *out) {
    typedef typename gp_memory<D>::type M;
    uint32_t i = gp_element();
    if (i >= w.n) return;
    uint32_t line = gp_quotient(w.cols, i), plane = gp_quotient(w.rows, line);
    int x = (int)(i - line * w.cols.d), y = (int)(line - plane * w.rows.d), r0, r1, c0, c1;
    const M *g = (const M *)grad + plane * w.plane;
    small_holders(w, 0, y, y, &r0, &r1);
    small_holders(w, 1, x, x, &c0, &c1);
    float sum = 0;
    for (int r = r0; r < r1; r++)
        for (int c = c0; c < c1; c++) {
            float v = gp_load_as<float>(g + r * w.row + c, (gp_dtype)D);
            int size = small_size(w, 0, r) * small_size(w, 1, c);
            if (w.divisor == 0 && size == w.kernel[0] * w.kernel[1]) sum += v * w.whole;
            else sum += v / (w.divisor != 0 ? w.divisor : (float)size);
        }
    gp_store_as<float>((M *)out + i, (gp_dtype)D, sum);
}

/* ---- by indices, in known windows ---- */

/* Notes index `to` of the output in row r and column c; `within`: it is in the plane, but not in
 * the output's window. */
__device__ static void note_index(gp_fault_at fault, bool within, int64_t to, int64_t inputs,
                                  int64_t output) {
    gp_fault_note(fault, within ? 2 : 1, to, within ? output : inputs);
}

/* Any windows and layouts. The first input of a window checks its index. */
template <class T> __global__ static void largest(spreading<T> p, gp_fault_at fault) {
    int64_t plane, y, x, r0, r1, c0, c1, i = gp_pixel(p.inputs, &plane, &y, &x);
    if (i < 0) return;
    const char *grad = gp_plane_at(p.grad, plane), *at = gp_plane_at(p.at, plane);
    const int64_t cols = p.w.in[1], inputs = p.w.in[0] * cols;
    holders(p.w, 0, y, &r0, &r1);
    holders(p.w, 1, x, &c0, &c1);
    T sum = 0;
    for (int64_t r = r0; r < r1; r++)
        for (int64_t c = c0; c < c1; c++) {
            int64_t to = gp_plane_get<int64_t>(p.at, at, r, c);
            if (to == y * cols + x + 1) sum += gp_plane_get<T>(p.grad, grad, r, c);
            gp_span rows = gp_span_of(p.w, 0, r), across = gp_span_of(p.w, 1, c);
            if (y != rows.first || x != across.first) continue;
            bool within = to >= 1 && to <= inputs;
            int64_t column = within ? to - 1 : 0, row = gp_divide(p.inputs.cols, &column);
            if (!within || row < y || row >= rows.last || column < x || column >= across.last ||
                (row - y) % p.w.dilation[0] || (column - x) % p.w.dilation[1])
                note_index(fault, within, to, inputs, r * p.w.out[1] + c + 1);
        }
    gp_store_as<T>(p.out + i * p.size, p.dtype, sum);
}

/* Checks the index of window (r, c), which begins at row y and column x of the image. */
__device__ static inline void check_small(const small_windows &w, int64_t to, int r, int c, int y,
                                          int x, gp_fault_at fault) {
    int inputs = w.in[0] * w.in[1];
    bool within = to >= 1 && to <= inputs;
    uint32_t at = within ? (uint32_t)to - 1 : 0, row = gp_quotient(w.cols, at);
    int down = (int)row - y, right = (int)(at - row * w.cols.d) - x,
        lost_rows = y - (r * w.stride[0] - w.pad[0]), lost_cols = x - (c * w.stride[1] - w.pad[1]);
    if (!within || down < 0 || down >= w.kernel[0] - lost_rows || right < 0 ||
        right >= w.kernel[1] - lost_cols)
        note_index(fault, within, to, inputs, (int64_t)r * w.out[1] + c + 1);
}

/* In 32 bits, V adjacent inputs of a row for each thread, which share what is computed for the row;
 * each index is read by fewer threads. at: without gaps. */
enum { STRIP = 4 };
template <int D, int V>
__global__ static void __launch_bounds__(GP_THREADS)
    largest_small(small_windows w, gp_divider strips, const char *grad, const int64_t *at,
                  char *out, gp_fault_at fault) {
    typedef typename gp_memory<D>::type M;
    uint32_t i = gp_element();
    if (i >= w.n / V) return;
    uint32_t line = gp_quotient(strips, i), plane = gp_quotient(w.rows, line);
    const int x = (int)(i - line * strips.d) * V, y = (int)(line - plane * w.rows.d),
              first = y * w.in[1] + x + 1;
    int r0, r1, c0, c1;
    small_holders(w, 0, y, y, &r0, &r1);
    small_holders(w, 1, x, x + V - 1, &c0, &c1);
    const M *g = (const M *)grad + plane * w.plane;
    at += (int64_t)plane * w.out[0] * w.out[1];
    float sum[V] = {};
    for (int r = r0; r < r1; r++)
        for (int c = c0; c < c1; c++) {
            int64_t to = at[r * w.out[1] + c];
            float v = gp_load_as<float>(g + r * w.row + c, (gp_dtype)D);
            uint64_t own = (uint64_t)to - (uint64_t)first;
            uint32_t k = own < V ? (uint32_t)own : V;
#pragma unroll
            for (uint32_t j = 0; j < V; j++) sum[j] += k == j ? v : 0;
            int top = max(r * w.stride[0] - w.pad[0], 0), left = max(c * w.stride[1] - w.pad[1], 0);
            if (y == top && left >= x && left < x + V) check_small(w, to, r, c, y, left, fault);
        }
    gp_store_vector<float, D, V>((char *)((M *)out + (int64_t)i * V), sum, (gp_dtype)D);
}

/* ---- by indices alone ---- */

/* heads [plane][input] and next [plane][output] hold numbers of outputs, from 1. Exchanges build a
 * list in any order; it is read in increasing order, by finding the smallest number above the last.
 * Lists are as short as windows are small. */
__global__ static void link(gp_plane at, gp_pixels outputs, int64_t inputs, int32_t *heads,
                            int32_t *next, gp_fault_at fault) {
    int64_t plane, y, x, i = gp_pixel(outputs, &plane, &y, &x);
    if (i < 0) return;
    int64_t to = gp_plane_get<int64_t>(at, gp_plane_at(at, plane), y, x);
    next[i] = 0;
    if (to < 1 || to > inputs) {
        gp_fault_note(fault, 1, to, inputs);
        return;
    }
    next[i] = atomicExch(&heads[plane * inputs + to - 1], (int32_t)(y * outputs.cols.d + x) + 1);
}

template <class T>
__global__ static void follow(spreading<T> p, int64_t outputs, gp_wide_divider columns,
                              const int32_t *heads, const int32_t *next) {
    int64_t plane, y, x, i = gp_pixel(p.inputs, &plane, &y, &x);
    if (i < 0) return;
    const char *grad = gp_plane_at(p.grad, plane);
    T sum = 0;
    for (int32_t last = 0;;) {
        int32_t least = INT32_MAX;
        for (int32_t o = heads[i]; o > 0; o = next[plane * outputs + o - 1])
            if (o > last && o < least) least = o;
        if (least == INT32_MAX) break;
        x = least - 1, y = gp_divide(columns, &x);
        sum += gp_plane_get<T>(p.grad, grad, y, x);
        last = least;
    }
    gp_store_as<T>(p.out + i * p.size, p.dtype, sum);
}

/* ---- runs ---- */

template <class T> static spreading<T> spreading_of(const gp_call *c, const gp_pool *k) {
    const gp_array *out = gp_out(c, 0);
    spreading<T> p;
    memset(&p, 0, sizeof p);
    p.w = gp_windows_of(k);
    p.grad = gp_plane_of(gp_in(c, 0), k);
    p.inputs = gp_pixels_of(out->numel, p.w.in);
    p.out = out->data, p.dtype = (gp_dtype)out->dtype, p.size = gp_dtype_sizes[out->dtype];
    return p;
}

static bool zero(const gp_call *c, const gp_array *a) {
    size_t bytes = (size_t)a->numel * gp_dtype_sizes[a->dtype];
    return gp_cuda_ok(c, cudaMemsetAsync(a->data, 0, bytes, gp_cuda_stream(c)));
}

static bool is_small(const spreading<float> &p) {
    const int64_t most = INT32_MAX / 8;
    const gp_windows &w = p.w;
    bool flat = p.grad.image == p.grad.channels * p.grad.channel ||
                p.inputs.n == p.grad.channels * w.in[0] * w.in[1], /* one image */
        ok = flat && p.grad.channel >= 0 && p.grad.row >= 0 && (p.grad.col == 1 || w.out[1] == 1) &&
             p.grad.dtype == p.dtype && p.inputs.n <= most;
    for (int d = 0; d < 2; d++)
        ok = ok && (w.adaptive ? w.in[d] % w.out[d] == 0 : w.dilation[d] == 1) &&
             w.in[d] < 1 << 14 && w.out[d] < 1 << 14 && w.kernel[d] < 1 << 14 &&
             w.stride[d] < 1 << 14 && w.pad[d] < 1 << 14;
    return ok && w.out[0] * p.grad.row <= most;
}
static small_windows small_windows_of(const spreading<float> &p) {
    small_windows w = {};
    for (int d = 0; d < 2; d++) {
        w.in[d] = (int)p.w.in[d], w.out[d] = (int)p.w.out[d], w.kernel[d] = (int)p.w.kernel[d];
        w.stride[d] = (int)p.w.stride[d], w.pad[d] = (int)p.w.pad[d];
        /* windows that share a dim out evenly do not overlap */
        if (p.w.adaptive) w.kernel[d] = w.stride[d] = w.in[d] / w.out[d], w.pad[d] = 0;
        w.by_stride[d] = gp_divide_by((uint32_t)w.stride[d]);
    }
    w.rows = gp_divide_by((uint32_t)w.in[0]), w.cols = gp_divide_by((uint32_t)w.in[1]);
    w.row = (int)p.grad.row, w.plane = p.grad.channel, w.n = (uint32_t)p.inputs.n;
    w.divisor = (float)p.w.divisor, w.include_pad = p.w.include_pad;
    w.whole = 1 / ((float)w.kernel[0] * (float)w.kernel[1]);
    return w;
}
template <int D> static bool run_averages_small(const gp_call *c, const spreading<float> &p) {
    auto kernel = averages_small<D>;
    return GP_LAUNCH(c, kernel, gp_blocks(p.inputs.n), GP_THREADS, 0, small_windows_of(p),
                     p.grad.data, p.out);
}
template <int D, int V>
static bool run_strips(const gp_call *c, const spreading<float> &p, gp_fault_at fault) {
    auto kernel = largest_small<D, V>;
    return GP_LAUNCH(c, kernel, gp_blocks(p.inputs.n / V), GP_THREADS, 0, small_windows_of(p),
                     gp_divide_by((uint32_t)(p.w.in[1] / V)), p.grad.data,
                     (const int64_t *)p.at.data, p.out, fault);
}
template <int D>
static bool run_largest_small(const gp_call *c, const spreading<float> &p, gp_fault_at fault) {
    bool whole = p.w.in[1] % STRIP == 0 && gp_aligned(p.out, (size_t)(STRIP * p.size));
    return whole ? run_strips<D, STRIP>(c, p, fault) : run_strips<D, 1>(c, p, fault);
}

template <class T> static bool run_averages(const gp_call *c, const gp_pool *k) {
    spreading<T> p = spreading_of<T>(c, k);
    if constexpr (std::is_same<T, float>::value) {
        if (is_small(p) && p.dtype == GP_f32) return run_averages_small<GP_f32>(c, p);
        if (is_small(p) && p.dtype == GP_f16) return run_averages_small<GP_f16>(c, p);
        if (is_small(p) && p.dtype == GP_bf16) return run_averages_small<GP_bf16>(c, p);
    }
    return GP_LAUNCH(c, averages<T>, gp_blocks(p.inputs.n), GP_THREADS, 0, p);
}

template <class T>
static bool run_known(const gp_call *c, const spreading<T> &p, const char *const *texts) {
    const gp_array *at = gp_in(c, 1);
    gp_fault_at fault = gp_cuda_fault(c, texts, 2);
    if constexpr (std::is_same<T, float>::value) {
        bool small = at->dtype == GP_i64 && at->contiguous && is_small(p);
        if (small && p.dtype == GP_f32) return run_largest_small<GP_f32>(c, p, fault);
        if (small && p.dtype == GP_f16) return run_largest_small<GP_f16>(c, p, fault);
        if (small && p.dtype == GP_bf16) return run_largest_small<GP_bf16>(c, p, fault);
    }
    return GP_LAUNCH(c, largest<T>, gp_blocks(p.inputs.n), GP_THREADS, 0, p, fault);
}

/* Adaptive windows are those of a call that gives none. */
template <class T>
static bool run_indices(const gp_call *c, const gp_pool *k, const char *const *texts) {
    spreading<T> p = spreading_of<T>(c, k);
    const gp_array *g = gp_in(c, 0);
    p.at = gp_plane_of(gp_in(c, 1), k);
    if (!k->adaptive) return run_known(c, p, texts);
    int64_t inputs = p.w.in[0] * p.w.in[1], outputs = p.w.out[0] * p.w.out[1];
    if (outputs > INT32_MAX)
        return gp_fail("%s: planes of more than 2^31 - 1 elements", c->op->name);
    int32_t *heads = (int32_t *)gp_cuda_scratch(c, (size_t)p.inputs.n * 4),
            *next = (int32_t *)gp_cuda_scratch(c, (size_t)g->numel * 4);
    if (!heads || !next ||
        !gp_cuda_ok(c, cudaMemsetAsync(heads, 0, (size_t)p.inputs.n * 4, gp_cuda_stream(c))))
        return false;
    gp_fault_at fault = gp_cuda_fault(c, texts, 1);
    return GP_LAUNCH(c, link, gp_blocks(g->numel), GP_THREADS, 0, p.at,
                     gp_pixels_of(g->numel, p.w.out), inputs, heads, next, fault) &&
           GP_LAUNCH(c, follow<T>, gp_blocks(p.inputs.n), GP_THREADS, 0, p, outputs,
                     gp_divide_up_to(outputs, p.w.out[1]), (const int32_t *)heads,
                     (const int32_t *)next);
}

static bool spread(const gp_call *c, const gp_pool *k, const char *const *texts) {
    bool wide = gp_in(c, 0)->dtype == GP_f64;
    if (gp_out(c, 0)->numel == 0) return true;
    if (gp_in(c, 0)->numel == 0) return zero(c, gp_out(c, 0));
    if (texts) return wide ? run_indices<double>(c, k, texts) : run_indices<float>(c, k, texts);
    return wide ? run_averages<double>(c, k) : run_averages<float>(c, k);
}

/* ---- calls ---- */

static bool adaptive(const gp_call *c, const gp_shape *size, int rank, const char *const *texts) {
    const gp_array *g = gp_in(c, 0);
    gp_pool p;
    return gp_pool_read_adaptive(c, size, rank, g->dim + g->ndim - rank, rank, &p) &&
           spread(c, &p, texts);
}

/* The indices suffice where the windows are not known. */
static bool largest(const gp_call *c, int rank, const char *const *texts) {
    gp_shape size = gp_ints_shape(c, 2);
    gp_pool p;
    if (gp_out(c, 0)->numel == 0) return true;
    if (!gp_given(c, 3)) return adaptive(c, &size, rank, texts);
    return gp_pool_read_max(c, &size, rank, 3, &p) && spread(c, &p, texts);
}
#define TEXTS(op)                                                                                  \
    {                                                                                              \
        op ": index %lld is outside the image's plane of %lld elements",                           \
            op ": index %lld is outside the window of output %lld"                                 \
    }
GP_C bool CUDA(max_pool1d_grad)(const gp_call *c) {
    static const char *const texts[] = TEXTS("max_pool1d_grad");
    return largest(c, 1, texts);
}
GP_C bool CUDA(max_pool2d_grad)(const gp_call *c) {
    static const char *const texts[] = TEXTS("max_pool2d_grad");
    return largest(c, 2, texts);
}

static bool average(const gp_call *c, int rank) {
    gp_shape size = gp_ints_shape(c, 1);
    gp_pool p;
    return gp_pool_read_avg(c, &size, rank, 2, &p) && spread(c, &p, NULL);
}
GP_C bool CUDA(avg_pool1d_grad)(const gp_call *c) { return average(c, 1); }
GP_C bool CUDA(avg_pool2d_grad)(const gp_call *c) { return average(c, 2); }

static bool adaptive_average(const gp_call *c, int rank) {
    gp_shape size = gp_ints_shape(c, 1);
    return adaptive(c, &size, rank, NULL);
}
GP_C bool CUDA(adaptive_avg_pool1d_grad)(const gp_call *c) { return adaptive_average(c, 1); }
GP_C bool CUDA(adaptive_avg_pool2d_grad)(const gp_call *c) { return adaptive_average(c, 2); }
