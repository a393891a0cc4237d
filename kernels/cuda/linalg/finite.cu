/* NaN and infinities in batches of matrices: found before a library's call, which may lose them,
 * and reported or made NaN in the results as on the CPU. All of it is queued. */
#include "kernels/cuda/linalg/batch.h"

#include <math.h>

#include "kernels/cuda/runtime/loop.cuh"

/* ---- search ---- */

/* n elements, matrices `step` apart. x - x is nonzero only for NaN and infinities. */
template <class T>
__global__ static void search(T *data, int64_t n, int64_t step, gp_wide_divider rows,
                              gp_wide_divider cols, gp_keep keep, gp_mark by, int32_t *bad) {
    int64_t j = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (j >= n) return;
    int64_t i = gp_divide(cols, &j), which = gp_divide(rows, &i);
    T *p = data + which * step + i * cols.d + j;
    if (by == GP_NAN_MATRICES ? *p == *p : *p - *p == 0) return;
    if (by != GP_NAN_MATRICES) *p = 0;
    if (keep == GP_ALL || (keep == GP_UPPER ? j >= i : j <= i))
        bad[by == GP_BAD_ROWS ? which * rows.d + i : which] = 1;
}

/* Zeros for `count` marks, unless there are some. */
static bool open_marks(const gp_solver *r, int32_t **marks, int64_t count) {
    if (*marks) return true;
    size_t bytes = (size_t)count * sizeof(int32_t);
    *marks = (int32_t *)gp_cuda_scratch(r->c, bytes);
    return *marks && gp_solver_zero(r, *marks, (int64_t)bytes);
}

static bool run_search(const gp_solver *r, void *data, int64_t step, int64_t rows, int64_t cols,
                       gp_keep keep, gp_mark by, int32_t *bad) {
    int64_t n = r->count * rows * cols;
    unsigned blocks = gp_blocks(n);
    gp_wide_divider by_rows = gp_divide_up_to(n, rows), by_cols = gp_divide_up_to(n, cols);
    return r->wide ? GP_LAUNCH(r->c, search<double>, blocks, GP_THREADS, 0, (double *)data, n, step,
                               by_rows, by_cols, keep, by, bad)
                   : GP_LAUNCH(r->c, search<float>, blocks, GP_THREADS, 0, (float *)data, n, step,
                               by_rows, by_cols, keep, by, bad);
}

GP_C bool gp_solver_check(gp_solver *r, void *data, int64_t rows, int64_t cols, gp_keep keep) {
    return open_marks(r, &r->finite, r->count) &&
           run_search(r, data, rows * cols, rows, cols, keep, GP_BAD_MATRICES, r->finite);
}

GP_C bool gp_solver_mark(gp_solver *r, void *data, int64_t step, int64_t rows, int64_t cols,
                         gp_mark by) {
    return open_marks(r, &r->spoilt, r->count * (by == GP_BAD_ROWS ? rows : 1)) &&
           run_search(r, data, step, rows, cols, GP_ALL, by, r->spoilt);
}

/* ---- results ---- */

template <class T>
__global__ static void spoil(T *out, int64_t each, int64_t count, const int32_t *spoilt,
                             int32_t *info) {
    int64_t at = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (at < count && spoilt[at]) info[at] = 0;
    if (at < count * each && spoilt[at / each]) out[at] = (T)NAN;
}
GP_C bool gp_solver_spoil(const gp_solver *r, void *out, int64_t each) {
    unsigned blocks = gp_blocks(r->count * (each > 1 ? each : 1));
    return r->wide ? GP_LAUNCH(r->c, spoil<double>, blocks, GP_THREADS, 0, (double *)out, each,
                               r->count, r->spoilt, r->info)
                   : GP_LAUNCH(r->c, spoil<float>, blocks, GP_THREADS, 0, (float *)out, each,
                               r->count, r->spoilt, r->info);
}

/* A block for each matrix; shared by its threads: the first of n for which `bad` holds, n if it
 * does for none. */
template <class F> __device__ static int64_t first_of(int64_t n, F bad) {
    __shared__ unsigned long long first;
    if (threadIdx.x == 0) first = (unsigned long long)n;
    __syncthreads();
    for (int64_t j = threadIdx.x; j < n; j += GP_THREADS)
        if (bad(j)) {
            atomicMin(&first, (unsigned long long)j);
            break;
        }
    __syncthreads();
    return (int64_t)first;
}

/* Column m - 1 of m rows has no reflection. */
template <class T>
__global__ static void spoil_qr(T *q, int64_t m, int64_t cols, T *R, int64_t rows, int64_t n,
                                const int32_t *spoilt) {
    int64_t low = m < n ? m : n;
    spoilt += blockIdx.x * n, R += blockIdx.x * rows * n;
    int64_t first = first_of(low, [=](int64_t j) { return spoilt[j] && j != m - 1; });
    for (int64_t at = threadIdx.x; at < rows * n; at += GP_THREADS) {
        int64_t i = at / n, j = at % n;
        if (i <= j && (spoilt[j] || (i >= first && j >= first))) R[at] = (T)NAN;
    }
    if (!q || first == low) return;
    q += blockIdx.x * m * cols;
    for (int64_t at = threadIdx.x; at < m * cols; at += GP_THREADS)
        if (at % cols >= first) q[at] = (T)NAN;
}
template <class T>
static bool run_spoil_qr(const gp_solver *r, void *q, int64_t cols, void *R, int64_t rows) {
    return GP_LAUNCH(r->c, spoil_qr<T>, (unsigned)r->count, GP_THREADS, 0, (T *)q, (int64_t)r->m,
                     cols, (T *)R, rows, (int64_t)r->n, r->spoilt);
}
GP_C bool gp_solver_spoil_qr(const gp_solver *r, void *q, int64_t cols, void *R, int64_t rows) {
    return r->wide ? run_spoil_qr<double>(r, q, cols, R, rows)
                   : run_spoil_qr<float>(r, q, cols, R, rows);
}

template <class T> __global__ static void nan_pivots(const T *a, int64_t n, int32_t *info) {
    a += blockIdx.x * n * n;
    int64_t first = first_of(n, [=](int64_t j) { return !(a[j * (n + 1)] == a[j * (n + 1)]); });
    int32_t *to = info + blockIdx.x;
    if (threadIdx.x == 0 && first < n && (*to == 0 || *to > first)) *to = (int32_t)(first + 1);
}
GP_C bool gp_solver_nan_pivots(const gp_solver *r, const void *a) {
    unsigned count = (unsigned)r->count;
    int64_t n = r->n;
    return r->wide ? GP_LAUNCH(r->c, nan_pivots<double>, count, GP_THREADS, 0, (const double *)a, n,
                               r->info)
                   : GP_LAUNCH(r->c, nan_pivots<float>, count, GP_THREADS, 0, (const float *)a, n,
                               r->info);
}
