/* Singular value decompositions of many small matrices by one-sided Jacobi, one block per matrix.
 * Columns are rotated against each other, two at a time, until all are orthogonal: then they are U
 * S, and the rotations are V. Source: Demmel and Veselic, "Jacobi's method is more accurate than
 * QR", 1992; the pairs of a round by the circle method of tournaments. Limit: each block is bound
 * by its multiprocessor's shared memory, with about 10 sweeps over n^2 / 2 pairs of columns, 7
 * reads and writes per element. */
#include "kernels/cuda/linalg/batch.h"

#include <float.h>

#include "kernels/cuda/runtime/rows.cuh"

enum { SWEEPS = 40, MOST = 256, WARP = 32 };

/* W: columns of length `len`, n of them from the matrix and up to `cols` in all (full_matrices); V:
 * n x n, columns dense. The matrix is taken by rows where it has fewer of these. If shared memory
 * cannot hold W or V, they are in scratch, in the second-level cache. */
template <class T> struct jacobi {
    T *a;
    T *w, *v; /* scratch; NULL: in shared memory */
    T *u, *s, *vh;
    int rows, cols, len, n, all; /* all: number of columns of W that are wanted */
    int urows, ucols, vrows;
    bool tall, vectors;
    gp_fault_at fault;
};

template <class T> struct number_of;
template <> struct number_of<float> {
    __device__ static float eps() { return FLT_EPSILON; }
    __device__ static float none() {
        return 1e-15f;
    } /* relative to the largest element: a smaller column is zero */
};
template <> struct number_of<double> {
    __device__ static double eps() { return DBL_EPSILON; }
    __device__ static double none() { return 1e-140; }
};

template <class T> __device__ static T warp_sum(T v) { return gp_lanes_reduce(v, WARP, gp_add()); }

/* The largest v of the block, for all its threads. */
template <class T> __device__ static T block_max(T v, T *parts) {
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    v = gp_lanes_reduce(v, WARP, gp_max());
    if (lane == 0) parts[warp] = v;
    __syncthreads();
    v = parts[0];
    for (int i = 1; i < warps; i++) v = parts[i] > v ? parts[i] : v;
    __syncthreads();
    return v;
}

/* Copies the matrix to W, divided by a power of two that makes its largest element about 1; returns
 * the exponent. *bad: an element is not finite, and W is 0. */
template <class T>
__device__ static int load(const jacobi<T> &j, const T *a, T *w, T *parts, bool *bad) {
    int numel = j.rows * j.cols, e = 0;
    T most = 0, broken = 0;
    for (int i = threadIdx.x; i < numel; i += blockDim.x) {
        T v = a[i] < 0 ? -a[i] : a[i];
        if (v - v != 0) broken = 1;
        else if (v > most) most = v;
    }
    *bad = block_max(broken, parts) > 0;
    most = block_max(most, parts);
    if (most > 0) e = ilogb(most);
    for (int i = threadIdx.x; i < numel; i += blockDim.x) {
        int row = i / j.cols, col = i % j.cols, at = j.tall ? col * j.len + row : i;
        w[at] = *bad ? (T)0 : scalbn(a[i], -e);
    }
    return e;
}

/* Rotates columns p and q of W (and V), by one warp. True if they were not orthogonal. */
template <class T>
__device__ static bool turn(const jacobi<T> &j, T *w, T *v, int p, int q, T tolerance, int *far) {
    int lane = threadIdx.x % WARP;
    T *a = w + p * j.len, *b = w + q * j.len, aa = 0, bb = 0, ab = 0;
    for (int i = lane; i < j.len; i += WARP) {
        T x = a[i], y = b[i];
        aa += x * x, bb += y * y, ab += x * y;
    }
    aa = warp_sum(aa), bb = warp_sum(bb), ab = warp_sum(ab);
    T size = ab < 0 ? -ab : ab, limit = tolerance * sqrt(aa) * sqrt(bb),
      least = number_of<T>::none() * number_of<T>::none();
    if (!(size > limit) || aa < least || bb < least) return false; /* a column below that is zero */
    if (lane == 0 && size > 100 * limit) *far = 1;
    T zeta = (bb - aa) / (2 * ab), z = zeta < 0 ? -zeta : zeta;
    T root = z < (T)1e9 ? sqrt(1 + z * z) : z; /* the same, and z * z would overflow */
    T t = (zeta < 0 ? -1 : 1) / (z + root), c = 1 / sqrt(1 + t * t), s = c * t;
    for (int i = lane; i < j.len; i += WARP) {
        T x = a[i], y = b[i];
        a[i] = c * x - s * y, b[i] = s * x + c * y;
    }
    if (!j.vectors) return true;
    a = v + p * j.n, b = v + q * j.n;
    for (int i = lane; i < j.n; i += WARP) {
        T x = a[i], y = b[i];
        a[i] = c * x - s * y, b[i] = s * x + c * y;
    }
    return true;
}

/* Sweeps until no pair is rotated. False without convergence. */
template <class T>
__device__ static bool sweeps(const jacobi<T> &j, T *w, T *v, int *turned, int *far) {
    int warp = threadIdx.x / WARP, warps = blockDim.x / WARP, even = j.n + j.n % 2;
    T tolerance = number_of<T>::eps() * sqrt((T)j.len);
    for (int sweep = 0; sweep < SWEEPS && j.n > 1; sweep++) {
        if (threadIdx.x == 0) *turned = *far = 0;
        __syncthreads();
        for (int round = 0; round < even - 1; round++) {
            for (int i = warp; i < even / 2; i += warps) {
                int p = i ? (round + i) % (even - 1) : even - 1,
                    q = (round + even - 1 - i) % (even - 1);
                if (p < q) {
                    int t = p;
                    p = q, q = t;
                }
                if (p < j.n && turn(j, w, v, q, p, tolerance, far) && threadIdx.x % WARP == 0)
                    *turned = 1;
            }
            __syncthreads();
        }
        bool more = *turned;
        __syncthreads();
        if (!more) return true;
    }
    return j.n < 2 || !*far;
}

/* The order of the columns, largest first, and their norms. */
template <class T>
__device__ static void order(const jacobi<T> &j, const T *w, T *sigma, int *rank_of) {
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    for (int col = warp; col < j.n; col += warps) {
        T sum = 0;
        for (int i = lane; i < j.len; i += WARP) sum += w[col * j.len + i] * w[col * j.len + i];
        sum = sqrt(warp_sum(sum));
        if (lane == 0) sigma[col] = sum > number_of<T>::none() ? sum : (T)0;
    }
    __syncthreads();
    for (int col = threadIdx.x; col < j.n; col += blockDim.x) {
        int before = 0;
        for (int k = 0; k < j.n; k++)
            before += sigma[k] > sigma[col] || (sigma[k] == sigma[col] && k < col);
        rank_of[col] = before;
    }
    __syncthreads();
}

/* Makes W's column `col` a unit vector orthogonal to the `have` columns in list: the unit vector
 * with the largest remainder, minus its projection on them, twice. left[i]: what is left of the
 * square of unit vector i. */
template <class T>
__device__ static void complete(const jacobi<T> &j, T *w, int col, const int *list, int have,
                                T *left, T *dots, T *parts) {
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    T *to = w + col * j.len, best = -1;
    for (int i = threadIdx.x; i < j.len; i += blockDim.x) best = left[i] > best ? left[i] : best;
    best = block_max(best, parts);
    int at = j.len;
    for (int i = j.len - 1; i >= 0; i--)
        if (left[i] == best) at = i;
    for (int i = threadIdx.x; i < j.len; i += blockDim.x) to[i] = i == at ? (T)1 : (T)0;
    __syncthreads();
    for (int again = 0; again < 2; again++) {
        for (int k = warp; k < have; k += warps) {
            T sum = 0;
            for (int i = lane; i < j.len; i += WARP) sum += w[list[k] * j.len + i] * to[i];
            sum = warp_sum(sum);
            if (lane == 0) dots[k] = sum;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < j.len; i += blockDim.x) {
            T v = to[i];
            for (int k = 0; k < have; k++) v -= dots[k] * w[list[k] * j.len + i];
            to[i] = v;
        }
        __syncthreads();
    }
    T sum = 0;
    for (int i = lane; i < j.len; i += WARP) sum += to[i] * to[i];
    T length = sqrt(warp_sum(sum));
    __syncthreads();
    for (int i = threadIdx.x; i < j.len; i += blockDim.x) {
        to[i] /= length;
        left[i] -= to[i] * to[i];
    }
    __syncthreads();
}

/* Normalises W's columns; those of norm 0, and those beyond the matrix's, are completed. list: W's
 * columns in the order of their singular values. */
template <class T>
__device__ static void make_units(const jacobi<T> &j, T *w, const T *sigma, const int *rank_of,
                                  int *list, T *left, T *dots, T *parts, int *count) {
    for (int at = threadIdx.x; at < j.n * j.len; at += blockDim.x) {
        T s = sigma[at / j.len];
        if (s > 0) w[at] /= s;
    }
    if (threadIdx.x == 0) *count = 0;
    __syncthreads();
    for (int col = threadIdx.x; col < j.n; col += blockDim.x) {
        list[rank_of[col]] = col;
        if (sigma[col] > 0) atomicAdd(count, 1);
    }
    for (int col = j.n + threadIdx.x; col < j.all; col += blockDim.x) list[col] = col;
    __syncthreads();
    int have = *count;
    if (have == j.all) return;
    for (int i = threadIdx.x; i < j.len; i += blockDim.x) {
        T rest = 1;
        for (int k = 0; k < have; k++) rest -= w[list[k] * j.len + i] * w[list[k] * j.len + i];
        left[i] = rest;
    }
    __syncthreads();
    for (; have < j.all; have++) complete(j, w, list[have], list, have, left, dots, parts);
}

/* U S Vh of a tall matrix is W, sigma and V'; of a wide one V, sigma and W'. */
template <class T>
__device__ static void store(const jacobi<T> &j, int64_t which, const T *w, const T *v,
                             const int *list) {
    T *u = j.u + which * j.urows * j.ucols, *vh = j.vh + which * j.vrows * j.cols;
    for (int i = threadIdx.x; i < j.urows * j.ucols; i += blockDim.x) {
        int row = i / j.ucols, col = list[i % j.ucols];
        u[i] = j.tall ? w[col * j.len + row] : v[col * j.n + row];
    }
    for (int i = threadIdx.x; i < j.vrows * j.cols; i += blockDim.x) {
        int col = i % j.cols, row = list[i / j.cols];
        vh[i] = j.tall ? v[row * j.n + col] : w[row * j.len + col];
    }
}

/* SHARED: W and V are in shared memory, which the compiler must know in order to emit loads of that
 * memory only. One block of 1024 threads per multiprocessor is enough: otherwise a thread has 32
 * registers, and they spill. */
template <class T, bool SHARED>
__global__ static void __launch_bounds__(1024, 1) decompose(jacobi<T> j) {
    GP_DYNAMIC_SHARED(T, shared);
    __shared__ T parts[WARP];
    __shared__ int flags[3];
    int64_t which = blockIdx.x;
    T *sigma = shared, *left = sigma + j.all, *dots = left + j.len;
    int *rank_of = (int *)(dots + j.all), *list = rank_of + j.all;
    T *rest = (T *)(list + j.all);
    T *w = SHARED || !j.w ? rest : j.w + which * j.all * j.len;
    T *v =
        SHARED || !j.v ? (!SHARED && j.w ? rest : rest + j.all * j.len) : j.v + which * j.n * j.n;
    bool bad;
    int e = load(j, j.a + which * j.rows * j.cols, w, parts, &bad);
    for (int i = threadIdx.x; j.vectors && i < j.n * j.n; i += blockDim.x)
        v[i] = i / j.n == i % j.n ? (T)1 : (T)0;
    __syncthreads();
    bool well = sweeps(j, w, v, &flags[0], &flags[1]);
    if (threadIdx.x == 0 && (bad || !well)) gp_fault_note(j.fault, bad ? 1 : 2);
    order(j, w, sigma, rank_of);
    for (int col = threadIdx.x; col < j.n; col += blockDim.x)
        j.s[which * j.n + rank_of[col]] = scalbn(sigma[col], e);
    if (!j.vectors) return;
    make_units(j, w, sigma, rank_of, list, left, dots, parts, &flags[2]);
    store(j, which, w, v, list);
}

/* ---- host side ---- */

static int64_t shared_limit() {
    int device = 0, bytes = 48 << 10;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) !=
            cudaSuccess)
        bytes = 48 << 10;
    return bytes - 2048; /* the kernel's own variables take a part of it */
}

template <class T> static bool decompose_batch(const gp_solver *r, const gp_svd *d) {
    jacobi<T> j;
    memset(&j, 0, sizeof j);
    j.a = (T *)d->a, j.u = (T *)d->u, j.s = (T *)d->s, j.vh = (T *)d->vh;
    j.rows = d->rows, j.cols = d->cols;
    j.tall = d->rows >= d->cols, j.vectors = d->u != NULL;
    j.len = j.tall ? d->rows : d->cols, j.n = j.tall ? d->cols : d->rows;
    j.all = d->full && j.vectors ? j.len : j.n;
    j.urows = j.rows, j.ucols = d->full ? j.rows : j.n, j.vrows = d->full ? j.cols : j.n;
    j.fault = gp_cuda_fault(r->c, d->texts, 2);
    int64_t size = sizeof(T), w = (int64_t)j.all * j.len * size,
            v = j.vectors ? (int64_t)j.n * j.n * size : 0, limit = shared_limit(),
            shared = (2 * j.all + j.len) * size + (2 * j.all + 4) * 4 + 16;
    if (shared + w <= limit) shared += w;
    else if (!(j.w = (T *)gp_cuda_scratch(r->c, (size_t)(r->count * w)))) return false;
    if (shared + v <= limit) shared += v;
    else if (!(j.v = (T *)gp_cuda_scratch(r->c, (size_t)(r->count * v)))) return false;
    int warps = (j.n + 1) / 2;
    warps = warps < 1 ? 1 : warps > 32 ? 32 : warps;
    auto kernel = j.w || j.v ? decompose<T, false> : decompose<T, true>;
    if (shared > GP_SHARED_MOST &&
        !gp_cuda_ok(r->c,
                    cudaFuncSetAttribute((const void *)kernel,
                                         cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared)))
        return false;
    return GP_LAUNCH(r->c, kernel, (unsigned)r->count, (unsigned)(warps * WARP), (size_t)shared, j);
}

GP_C bool gp_cuda_jacobi(const gp_solver *r, const gp_svd *d) {
    return r->wide ? decompose_batch<double>(r, d) : decompose_batch<float>(r, d);
}

/* A block takes a matrix: what is larger uses the device better with cuSOLVER. */
GP_C bool gp_cuda_jacobi_takes(int64_t rows, int64_t cols, int64_t count, bool full) {
    int64_t n = rows < cols ? rows : cols, len = rows < cols ? cols : rows;
    return n <= MOST && len <= 4 * MOST && count <= INT32_MAX && (!full || len <= MOST);
}
