/* Our own kernels for batches of matrices: triangles, identities, permutations, determinants, and
 * the report of failures. */
#include "kernels/cuda/linalg/batch.h"

#include "kernels/cuda/runtime/rows.cuh"

/* ---- copies ---- */

/* n elements of matrices of rows x cols, row-major. */
struct elements {
    int64_t n;
    gp_wide_divider rows, cols;
};
static elements elements_of(const gp_solver *r, int64_t rows, int64_t cols) {
    int64_t n = r->count * rows * cols;
    return {n, gp_divide_up_to(n, rows), gp_divide_up_to(n, cols)};
}
/* The matrix, row and column of this thread's element `at`; false where it has none. */
__device__ static inline bool element(const elements &e, int64_t *at, int64_t *which, int64_t *i,
                                      int64_t *j) {
    *at = *j = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (*at >= e.n) return false;
    *i = gp_divide(e.cols, j);
    *which = gp_divide(e.rows, i);
    return true;
}

template <class T>
__global__ static void extract(T *out, const T *from, elements e, int64_t step, int64_t rs,
                               int64_t cs, gp_keep keep) {
    int64_t at, which, i, j;
    if (!element(e, &at, &which, &i, &j)) return;
    bool in = keep == GP_ALL || (keep == GP_UPPER ? j >= i : keep == GP_LOWER ? j <= i : j < i);
    T other = keep == GP_UNIT_LOWER && i == j ? (T)1 : (T)0;
    out[at] = in ? from[which * step + i * rs + j * cs] : other;
}

template <class T>
static bool run_extract(const gp_solver *r, void *out, const void *from, int64_t step, int64_t rows,
                        int64_t cols, int64_t rs, int64_t cs, gp_keep keep) {
    elements e = elements_of(r, rows, cols);
    return GP_LAUNCH(r->c, extract<T>, gp_blocks(e.n), GP_THREADS, 0, (T *)out, (const T *)from, e,
                     step, rs, cs, keep);
}
GP_C bool gp_solver_extract(const gp_solver *r, void *out, const void *from, int64_t step,
                            int64_t rows, int64_t cols, int64_t rs, int64_t cs, gp_keep keep) {
    return r->wide ? run_extract<double>(r, out, from, step, rows, cols, rs, cs, keep)
                   : run_extract<float>(r, out, from, step, rows, cols, rs, cs, keep);
}

template <class T> __global__ static void identity(T *out, elements e) {
    int64_t at, which, i, j;
    if (element(e, &at, &which, &i, &j)) out[at] = i == j ? (T)1 : (T)0;
}
template <class T>
static bool run_identity(const gp_solver *r, void *out, int64_t rows, int64_t cols) {
    elements e = elements_of(r, rows, cols);
    return GP_LAUNCH(r->c, identity<T>, gp_blocks(e.n), GP_THREADS, 0, (T *)out, e);
}
GP_C bool gp_solver_identity(const gp_solver *r, void *out, int64_t rows, int64_t cols) {
    return r->wide ? run_identity<double>(r, out, rows, cols)
                   : run_identity<float>(r, out, rows, cols);
}

/* ---- Q of QR ---- */

template <class T> __device__ static T warp_sum(T v) {
    return gp_lanes_reduce(v, GP_WARP, gp_add());
}

/* A block a matrix, a warp a column: from the last reflector I - tau v v' to the first, each is
 * applied to the columns after its own, which then becomes its own first column. v[j] is 1. Source:
 * LAPACK's org2r. Limit: the matrix from the first-level cache once a reflector. */
template <class T>
__global__ static void form_q(T *all, const T *taus, int64_t step, int m, int q, int k) {
    T *a = all + blockIdx.x * step;
    const T *tau = taus + (int64_t)blockIdx.x * k;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    for (int c = k + warp; c < q; c += warps)
        for (int i = lane; i < m; i += 32) a[(int64_t)c * m + i] = i == c ? (T)1 : (T)0;
    for (int j = k - 1; j >= 0; j--) {
        T *v = a + (int64_t)j * m, f = tau[j];
        __syncthreads();
        for (int c = j + 1 + warp; c < q; c += warps) {
            T *x = a + (int64_t)c * m, sum = 0;
            for (int i = j + lane; i < m; i += 32) sum += (i == j ? (T)1 : v[i]) * x[i];
            sum = f * warp_sum(sum);
            for (int i = j + lane; i < m; i += 32) x[i] -= (i == j ? (T)1 : v[i]) * sum;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < m; i += blockDim.x)
            v[i] = i < j ? (T)0 : i == j ? 1 - f : -f * v[i];
    }
}
template <class T>
static bool run_form_q(const gp_solver *r, void *a, const void *tau, int64_t step, int q) {
    return GP_LAUNCH(r->c, form_q<T>, (unsigned)r->count, GP_THREADS, 0, (T *)a, (const T *)tau,
                     step, r->m, q, r->k);
}
GP_C bool gp_solver_form_q(const gp_solver *r, void *a, const void *tau, int64_t step, int q) {
    return r->wide ? run_form_q<double>(r, a, tau, step, q) : run_form_q<float>(r, a, tau, step, q);
}

/* ---- failures ---- */

/* The batch's dims, for naming one of its matrices. */
struct report_at {
    int n;
    int64_t dim[GP_MAX_DIM];
};

/* One block: the first matrix with a failure. Texts are chosen by the number of the batch's
 * dims. */
__global__ static void report(const int32_t *info, const int32_t *finite, int64_t count,
                              report_at at, gp_fault_at fault) {
    __shared__ unsigned long long first;
    if (threadIdx.x == 0) first = ~0ull;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < count; i += GP_THREADS)
        if (info[i] != 0 || (finite && finite[i])) {
            atomicMin(&first, (unsigned long long)i);
            break;
        }
    __syncthreads();
    if (threadIdx.x || first == ~0ull) return;
    int64_t v[3] = {0, 0, 0}, rest = (int64_t)first,
            kind = finite && finite[first] ? GP_WHICH_TEXTS : 0;
    int n = at.n <= 3 ? at.n : 4;
    if (n == 4) v[0] = rest + 1;
    for (int d = at.n - 1; d >= 0 && n < 4; d--) v[d] = rest % at.dim[d] + 1, rest /= at.dim[d];
    gp_fault_note(fault, (int)(1 + kind + n), v[0], v[1], v[2]);
}

GP_C bool gp_solver_report(const gp_solver *r, const char *const *texts) {
    report_at at;
    at.n = r->batch;
    for (int d = 0; d < r->batch; d++) at.dim[d] = r->dim[d];
    gp_fault_at fault = gp_cuda_fault(r->c, texts, 2 * GP_WHICH_TEXTS);
    return GP_LAUNCH(r->c, report, r->count ? 1 : 0, GP_THREADS, 0, r->info, r->finite, r->count,
                     at, fault);
}

__global__ static void flag(const int32_t *info, const int32_t *finite, int64_t count,
                            gp_fault_at fault) {
    for (int64_t i = threadIdx.x; i < count; i += GP_THREADS)
        if (info[i] != 0 || (finite && finite[i]))
            gp_fault_note(fault, finite && finite[i] ? 1 : 2);
}
GP_C bool gp_solver_flag(const gp_solver *r, const char *const *texts) {
    gp_fault_at fault = gp_cuda_fault(r->c, texts, 2);
    return GP_LAUNCH(r->c, flag, r->count ? 1 : 0, GP_THREADS, 0, r->info, r->finite, r->count,
                     fault);
}

/* ---- pivots ---- */

enum { SHARED_ROWS = 8192 }; /* of an order that is kept in shared memory */

/* A block for each matrix: row j of L U is row order[j] of x, so P, which is 0, gets a one at
 * (order[j], j). The exchanges come one after the other: in shared memory, where they fit. */
template <class T>
__global__ static void permute(T *p, const int32_t *pivots, int32_t *order, int64_t m, int64_t k) {
    __shared__ int32_t shared[SHARED_ROWS];
    p += blockIdx.x * m * m, pivots += blockIdx.x * k, order += blockIdx.x * m;
    int32_t *mine = m <= SHARED_ROWS ? shared : order;
    for (int64_t j = threadIdx.x; j < m; j += GP_THREADS) mine[j] = (int32_t)j;
    __syncthreads();
    if (threadIdx.x == 0)
#pragma unroll 8
        for (int64_t j = 0; j < k; j++) {
            int32_t other = pivots[j] - 1, was = mine[j];
            mine[j] = mine[other];
            mine[other] = was;
        }
    __syncthreads();
    for (int64_t j = threadIdx.x; j < m; j += GP_THREADS) p[mine[j] * m + j] = 1;
}
GP_C bool gp_solver_permutations(const gp_solver *r, void *p, const int32_t *pivots,
                                 int32_t *order) {
    int64_t m = r->m, k = r->k;
    unsigned n = (unsigned)r->count;
    if (!gp_solver_zero(r, p, r->count * m * m * r->size)) return false;
    return r->wide
               ? GP_LAUNCH(r->c, permute<double>, n, GP_THREADS, 0, (double *)p, pivots, order, m,
                           k)
               : GP_LAUNCH(r->c, permute<float>, n, GP_THREADS, 0, (float *)p, pivots, order, m, k);
}

/* A thread for each matrix, in the CPU's order. A zero pivot is not an error: det is 0. */
template <class T>
__global__ static void determinants(const T *a, const int32_t *pivots, int64_t count, int64_t n,
                                    T *to, T *log_to) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (i >= count) return;
    T det = 1, log_det = 0;
#pragma unroll 8 /* loads that overlap */
    for (int64_t j = 0; j < n; j++) {
        T u = a[i * n * n + j * (n + 1)];
        if (pivots[i * n + j] != j + 1) det = -det;
        if (log_to) {
            log_det += (T)log(fabs((double)u));
            u = u != u ? u : (T)((u > 0) - (u < 0));
        }
        det *= u;
    }
    to[i] = det;
    if (log_to) log_to[i] = log_det;
}
GP_C bool gp_solver_determinants(const gp_solver *r, const void *a, const int32_t *pivots,
                                 void *det, void *log_det) {
    unsigned n = gp_blocks(r->count);
    int64_t size = r->n;
    return r->wide ? GP_LAUNCH(r->c, determinants<double>, n, GP_THREADS, 0, (const double *)a,
                               pivots, r->count, size, (double *)det, (double *)log_det)
                   : GP_LAUNCH(r->c, determinants<float>, n, GP_THREADS, 0, (const float *)a,
                               pivots, r->count, size, (float *)det, (float *)log_det);
}

/* ---- eigenvectors ---- */

/* A pair begins at column j if an even number of columns before it have imaginary values. */
template <class T>
__global__ static void unpack(const T *v, const T *w, elements e, int64_t n, T *re, T *im) {
    int64_t at, which, i, j;
    if (!element(e, &at, &which, &i, &j)) return;
    const T *wi = w + which * 2 * n + n;
    v += which * n * n;
    int64_t before = 0;
    for (int64_t k = 0; wi[j] != 0 && k < j; k++) before += wi[k] != 0;
    bool pair = wi[j] != 0, second = pair && before % 2;
    re[at] = v[(second ? j - 1 : j) * n + i];
    im[at] = !pair ? (T)0 : second ? -v[j * n + i] : v[(j + 1) * n + i];
}
GP_C bool gp_solver_unpack(const gp_solver *r, const void *v, const void *w, void *re, void *im) {
    int64_t n = r->n;
    elements e = elements_of(r, n, n);
    unsigned blocks = gp_blocks(e.n);
    return r->wide ? GP_LAUNCH(r->c, unpack<double>, blocks, GP_THREADS, 0, (const double *)v,
                               (const double *)w, e, n, (double *)re, (double *)im)
                   : GP_LAUNCH(r->c, unpack<float>, blocks, GP_THREADS, 0, (const float *)v,
                               (const float *)w, e, n, (float *)re, (float *)im);
}
