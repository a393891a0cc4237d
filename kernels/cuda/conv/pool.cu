/* Pooling: a thread for each output reads its window, one of 2 x 2 or 3 x 3 before it uses the
 * first element. Limit: the bytes of input and output at the memory's speed, of overlapping windows
 * at the caches'. cuDNN's pooling is not used: it gives no indices, and has no dilation, ceil_mode
 * or divisor. */
#include "kernels/cuda/conv/pool.cuh"

template <class T> struct pooling {
    gp_windows w;
    gp_plane in;
    gp_pixels outputs;
    char *out;
    gp_dtype dtype;
    int64_t size, *indices; /* of an output in bytes; NULL where not asked for */
    bool average;
    float lowest; /* -inf: below every element */
};

/* NaN wins, then the first of equal elements; an empty window gives -inf and index 0. */
template <class T> __global__ static void pool(pooling<T> p) {
    int64_t plane, y, x, i = gp_pixel(p.outputs, &plane, &y, &x), at = -1;
    if (i < 0) return;
    const char *in = gp_plane_at(p.in, plane);
    gp_span rows = gp_span_of(p.w, 0, y), cols = gp_span_of(p.w, 1, x);
    T best = p.average ? (T)0 : (T)p.lowest;
    for (int64_t r = rows.first; r < rows.last; r += p.w.dilation[0])
        for (int64_t c = cols.first; c < cols.last; c += p.w.dilation[1]) {
            T v = gp_plane_get<T>(p.in, in, r, c);
            if (p.average) best += v;
            else if (v > best || v != v || at < 0) best = v, at = r * p.w.in[1] + c;
        }
    T by = gp_divisor<T>(p.w, rows, cols);
    if (p.average) best = std::is_integral<T>::value && by == -1 ? 0 - best : best / by;
    gp_store_as<T>(p.out + i * p.size, p.dtype, best);
    if (p.indices) p.indices[i] = at + 1;
}

/* Windows of K x K adjacent elements, in 32 bits: of planes with one distance between them, and
 * rows without gaps. D: f32 or a 16-bit float. */
template <int D, int K, bool AVERAGE>
__global__ static void __launch_bounds__(GP_THREADS) pool_small(pooling<float> p) {
    typedef typename gp_memory<D>::type M;
    const int rows = (int)p.w.in[0], cols = (int)p.w.in[1], spacing = (int)p.in.row;
    uint32_t i = gp_element();
    if (i >= p.outputs.n) return;
    uint32_t line = gp_quotient(p.outputs.cols.by, i), x = i - line * p.outputs.cols.by.d,
             plane = gp_quotient(p.outputs.rows.by, line), y = line - plane * p.outputs.rows.by.d;
    int r = (int)y * (int)p.w.stride[0] - (int)p.w.pad[0],
        c = (int)x * (int)p.w.stride[1] - (int)p.w.pad[1], at = -1;
    const M *in = (const M *)p.in.data + plane * p.in.channel;
    float best = AVERAGE ? 0 : p.lowest;
    M raw[K * K] = {};
    bool inside[K * K];
#pragma unroll
    for (int k = 0; k < K * K; k++) {
        int row = r + k / K, col = c + k % K;
        inside[k] = (unsigned)row < (unsigned)rows && (unsigned)col < (unsigned)cols;
        if (inside[k]) raw[k] = in[row * spacing + col];
    }
#pragma unroll
    for (int k = 0; k < K * K; k++) {
        float v = gp_load_as<float>(&raw[k], (gp_dtype)D);
        if (AVERAGE) best += inside[k] ? v : 0;
        else if (inside[k] && (v > best || v != v || at < 0))
            best = v, at = (r + k / K) * cols + c + k % K;
    }
    if (AVERAGE) best /= gp_divisor<float>(p.w, gp_span_of(p.w, 0, y), gp_span_of(p.w, 1, x));
    gp_store_as<float>(p.out + (int64_t)i * (int64_t)sizeof(M), (gp_dtype)D, best);
    if (!AVERAGE && p.indices) p.indices[i] = at + 1;
}

template <int D, int K> static bool run_small(const gp_call *c, const pooling<float> &p) {
    auto *kernel = p.average ? pool_small<D, K, true> : pool_small<D, K, false>;
    return GP_LAUNCH(c, kernel, gp_blocks(p.outputs.n), GP_THREADS, 0, p);
}
template <int D> static bool run_small_of(const gp_call *c, const pooling<float> &p) {
    return p.w.kernel[0] == 2 ? run_small<D, 2>(c, p) : run_small<D, 3>(c, p);
}

static bool is_small(const pooling<float> &p, int rank) {
    const gp_windows &w = p.w;
    const int64_t most = INT32_MAX / 4;
    bool flat = p.in.image == p.in.channels * p.in.channel ||
                p.outputs.n == p.in.channels * w.out[0] * w.out[1]; /* one image */
    return rank == 2 && !w.adaptive && w.kernel[0] == w.kernel[1] &&
           (w.kernel[0] == 2 || w.kernel[0] == 3) && w.dilation[0] == 1 && w.dilation[1] == 1 &&
           flat && p.in.channel > 0 && p.in.col == 1 && p.in.row >= 0 && p.outputs.n <= most &&
           w.in[0] * w.in[1] <= most && w.in[0] * p.in.row <= most && p.in.dtype == p.dtype &&
           (w.in[0] + w.pad[0]) * 2 < most && (w.in[1] + w.pad[1]) * 2 < most &&
           w.stride[0] < most / (w.out[0] + 1) && w.stride[1] < most / (w.out[1] + 1);
}

/* Averages over large windows: a group of threads for each, which reads several elements before it
 * uses the first. */
enum { WIDE = 64, WIDEST = 1024, WIDE_AHEAD = 4 };
template <class T>
__global__ static void __launch_bounds__(GP_THREADS) pool_wide(pooling<T> p, int group) {
    int64_t i = gp_group_number(group), x = i < p.outputs.n ? i : 0,
            y = gp_divide(p.outputs.cols, &x), plane = gp_divide(p.outputs.rows, &y);
    int lane = (int)threadIdx.x & (group - 1);
    const char *in = gp_plane_at(p.in, plane);
    gp_span rows = gp_span_of(p.w, 0, y), cols = gp_span_of(p.w, 1, x);
    int64_t down = p.w.dilation[0], across = p.w.dilation[1],
            width = cols.last > cols.first ? gp_divided(cols.last - cols.first - 1, across) + 1 : 1,
            height = rows.last > rows.first && cols.last > cols.first
                         ? gp_divided(rows.last - rows.first - 1, down) + 1
                         : 0,
            r = gp_divided(lane, width), c = lane - r * width, row_step = gp_divided(group, width),
            col_step = group - row_step * width;
    in += (rows.first * p.in.row + cols.first * p.in.col) * p.in.size;
    down *= p.in.row * p.in.size, across *= p.in.col * p.in.size;
    T sum = 0;
    while (r < height) { /* a thread goes on to its next ones without a division */
        const char *at[WIDE_AHEAD];
        T v[WIDE_AHEAD];
        int have = 0;
#pragma unroll
        for (int a = 0; a < WIDE_AHEAD; a++) {
            have += r < height;
            at[a] = r < height ? in + r * down + c * across : in;
            r += row_step, c += col_step;
            if (c >= width) c -= width, r++;
        }
        gp_load_at<T, WIDE_AHEAD>(at, p.in.dtype, v);
#pragma unroll
        for (int a = 0; a < WIDE_AHEAD; a++) sum += a < have ? v[a] : (T)0;
    }
    sum = gp_group_reduce(sum, group, gp_add());
    if (lane || i >= p.outputs.n) return;
    T by = gp_divisor<T>(p.w, rows, cols);
    sum = std::is_integral<T>::value && by == -1 ? 0 - sum : sum / by;
    gp_store_as<T>(p.out + i * p.size, p.dtype, sum);
}

/* Elements of a window, about. */
static int64_t window_of(const gp_windows &w) {
    if (!w.adaptive) return w.kernel[0] * w.kernel[1];
    return (w.in[0] / w.out[0]) * (w.in[1] / w.out[1]);
}
template <class T> static bool run_wide(const gp_call *c, const pooling<T> &p) {
    int group = window_of(p.w) < WIDEST ? (int)GP_WARP : (int)GP_THREADS;
    return GP_LAUNCH(c, pool_wide<T>, gp_blocks(p.outputs.n, GP_THREADS / group), GP_THREADS, 0, p,
                     group);
}

template <class T> static bool launch_pool(const gp_call *c, const gp_pool *k, bool average) {
    const gp_array *out = gp_out(c, 0);
    pooling<T> p;
    if (out->numel == 0) return true;
    p.w = gp_windows_of(k);
    p.in = gp_plane_of(gp_in(c, 0), k);
    p.out = out->data, p.dtype = (gp_dtype)out->dtype, p.average = average;
    p.outputs = gp_pixels_of(out->numel, p.w.out);
    p.size = gp_dtype_sizes[out->dtype];
    p.indices = c->nout > 1 ? (int64_t *)(void *)gp_out(c, 1)->data : NULL;
    p.lowest = -INFINITY;
    if constexpr (std::is_same<T, float>::value) {
        if (is_small(p, k->rank) && p.dtype == GP_f32) return run_small_of<GP_f32>(c, p);
        if (is_small(p, k->rank) && p.dtype == GP_f16) return run_small_of<GP_f16>(c, p);
        if (is_small(p, k->rank) && p.dtype == GP_bf16) return run_small_of<GP_bf16>(c, p);
    }
    if (average && window_of(p.w) >= WIDE) return run_wide(c, p);
    return GP_LAUNCH(c, pool<T>, gp_blocks(out->numel), GP_THREADS, 0, p);
}
/* Integers, as i64, for averages only. */
static bool either(const gp_call *c, const gp_pool *k, bool average) {
    int dt = gp_in(c, 0)->dtype;
    return dt == GP_f64   ? launch_pool<double>(c, k, average)
           : dt == GP_i64 ? launch_pool<int64_t>(c, k, average)
                          : launch_pool<float>(c, k, average);
}

/* ---- calls ---- */

static bool largest(const gp_call *c, int rank) {
    gp_shape x = gp_array_shape(gp_in(c, 0));
    gp_pool p;
    return gp_pool_read_max(c, &x, rank, 1, &p) && either(c, &p, false);
}
GP_C bool CUDA(max_pool1d)(const gp_call *c) { return largest(c, 1); }
GP_C bool CUDA(max_pool2d)(const gp_call *c) { return largest(c, 2); }

static bool average(const gp_call *c, int rank) {
    gp_shape x = gp_array_shape(gp_in(c, 0));
    gp_pool p;
    return gp_pool_read_avg(c, &x, rank, 1, &p) && either(c, &p, true);
}
GP_C bool CUDA(avg_pool1d)(const gp_call *c) { return average(c, 1); }
GP_C bool CUDA(avg_pool2d)(const gp_call *c) { return average(c, 2); }

static bool adaptive(const gp_call *c, int rank, bool of_average) {
    gp_shape x = gp_array_shape(gp_in(c, 0));
    gp_pool p;
    int n;
    const int64_t *out = gp_ints(c, 1, &n);
    return gp_pool_read_adaptive(c, &x, rank, out, n, &p) && either(c, &p, of_average);
}
GP_C bool CUDA(adaptive_avg_pool1d)(const gp_call *c) { return adaptive(c, 1, true); }
GP_C bool CUDA(adaptive_avg_pool2d)(const gp_call *c) { return adaptive(c, 2, true); }
GP_C bool CUDA(adaptive_max_pool1d)(const gp_call *c) { return adaptive(c, 1, false); }
GP_C bool CUDA(adaptive_max_pool2d)(const gp_call *c) { return adaptive(c, 2, false); }
