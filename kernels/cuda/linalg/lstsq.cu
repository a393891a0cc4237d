/* Least squares through the singular value decomposition, whatever driver is asked for: x = V S^-1
 * U' b without the singular values below rcond times the largest. cuSOLVER has no gelsy, gelsd or
 * gelss; the solution of least norm is the same, and so is the rank except for values at the limit
 * itself. */
#include <float.h>

#include "kernels/cuda/linalg/batch.h"
#include "kernels/cuda/runtime/loop.cuh"
#include "kernels/cuda/matmul/matmul.h"

/* One thread per matrix: the number of singular values that count; full: all must (gels), else the
 * matrix is recorded. */
template <class T>
__global__ static void ranks(const T *s, int64_t count, int64_t k, T rcond, bool full,
                             int64_t *rank, int32_t *info) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (i >= count) return;
    int64_t n = 0;
    for (int64_t j = 0; j < k; j++) n += s[i * k + j] > rcond * s[i * k];
    if (rank) rank[i] = n;
    if (full && n < k) info[i] = 1;
}

/* Divides w (k x sides) of each matrix by its singular values; gives 0 where these do not count. */
template <class T>
__global__ static void divide(T *w, const T *s, int64_t n, int64_t k, int64_t sides, T rcond) {
    int64_t at = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (at >= n) return;
    int64_t j = at / sides % k, which = at / sides / k;
    T v = s[which * k + j];
    w[at] = v > rcond * s[which * k] ? w[at] / v : (T)0;
}

/* Sums of squares of the columns of left (m x sides). */
template <class T>
__global__ static void squares(T *to, const T *left, int64_t n, int64_t m, int64_t sides) {
    int64_t at = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (at >= n) return;
    T sum = 0;
    const T *p = left + at / sides * m * sides + at % sides;
    for (int64_t i = 0; i < m; i++) sum += p[i * sides] * p[i * sides];
    to[at] = sum;
}

/* The products of a batch of dense matrices: out (m x n) = alpha op(a) b + beta out; at: a is
 * stored k x m. */
static bool product(const gp_solver *r, int64_t m, int64_t n, int64_t k, const void *a, bool at,
                    const void *b, void *out, int64_t alpha, int64_t beta) {
    gp_product p = gp_product_of(r->dtype, m, n, k);
    p.batch = r->count;
    p.a = (const char *)a, p.b = (const char *)b, p.out = (char *)out;
    if (at) p.a_rs = 1, p.a_cs = m;
    p.a_batch = m * k, p.b_batch = k * n, p.out_batch = m * n;
    p.alpha.i = alpha, p.beta.i = beta;
    return gp_cuda_product(r->c, &p);
}

/* b - a x: the residuals are the squares of its columns. */
template <class T> static bool residuals(const gp_solver *r, void *b, const void *x) {
    const gp_array *out = gp_out(r->c, 1);
    void *a = gp_solver_load(r, gp_in(r->c, 0), false);
    return a && product(r, r->m, r->cols, r->n, a, false, x, b, -1, 1) &&
           GP_LAUNCH(r->c, squares<T>, gp_blocks(out->numel), GP_THREADS, 0, (T *)out->data,
                     (const T *)b, out->numel, (int64_t)r->m, (int64_t)r->cols);
}

template <class T> static bool solve(gp_solver *r, T rcond, bool gels, const char *const *texts) {
    static const char *const inner[] = {"linalg.lstsq: the input contains NaN or infinite elements",
                                        "linalg.lstsq: the iteration did not converge"};
    const gp_call *c = r->c;
    int64_t m = r->m, n = r->n, k = r->k, sides = r->cols, count = r->count;
    gp_svd d;
    memset(&d, 0, sizeof d);
    d.a = gp_solver_load(r, gp_in(c, 0), false);
    T *b = (T *)gp_solver_scratch(r, count * m * sides),
      *w = (T *)gp_solver_scratch(r, count * k * sides);
    d.u = gp_solver_scratch(r, count * m * k), d.vh = gp_solver_scratch(r, count * k * n);
    d.s = gp_out(c, 3)->numel ? (void *)gp_out(c, 3)->data : gp_solver_scratch(r, count * k);
    d.rows = r->m, d.cols = r->n, d.texts = inner;
    if (!d.a || !b || !w || !d.u || !d.vh || !d.s) return false;
    if (!gp_solver_rows(r, gp_in(c, 1), r->vectors, b) || !gp_solver_check(r, d.a, m, n, GP_ALL) ||
        !gp_solver_check(r, b, m, sides, GP_ALL) || !gp_cuda_svd(r, &d))
        return false;
    T *s = (T *)d.s, *x = (T *)gp_out(c, 0)->data;
    int64_t *rank = gels ? NULL : (int64_t *)(void *)gp_out(c, 2)->data;
    return GP_LAUNCH(c, ranks<T>, gp_blocks(count), GP_THREADS, 0, s, count, k, rcond, gels, rank,
                     r->info) &&
           product(r, k, sides, m, d.u, true, b, w, 1, 0) &&
           GP_LAUNCH(c, divide<T>, gp_blocks(count * k * sides), GP_THREADS, 0, w, s,
                     count * k * sides, k, sides, rcond) &&
           product(r, n, sides, k, d.vh, true, w, x, 1, 0) && (m <= n || residuals<T>(r, b, x)) &&
           gp_solver_report(r, texts);
}

/* Without rows or columns of a, x is 0, and the residuals are b. */
template <class T> static bool nothing(const gp_solver *r) {
    const gp_call *c = r->c;
    for (int o = 0; o < 4; o++) {
        const gp_array *a = gp_out(c, o);
        if (a->numel && !gp_solver_zero(r, a->data, a->numel * gp_dtype_sizes[a->dtype]))
            return false;
    }
    const gp_array *left = gp_out(c, 1);
    if (r->m <= r->n || !left->numel) return true;
    T *b = (T *)gp_solver_scratch(r, r->count * r->m * r->cols);
    return b && gp_solver_rows(r, gp_in(c, 1), r->vectors, b) &&
           GP_LAUNCH(c, squares<T>, gp_blocks(left->numel), GP_THREADS, 0, (T *)left->data, b,
                     left->numel, (int64_t)r->m, (int64_t)r->cols);
}

GP_C bool CUDA(linalg_lstsq)(const gp_call *c) {
    static const char *const full[] =
        GP_MATRIX_TEXTS("linalg.lstsq", "does not have full rank, which driver 'gels' needs"),
                             *const others[] = GP_MATRIX_TEXTS(
                                 "linalg.lstsq",
                                 "has singular values to which the iteration did not converge");
    gp_solver r;
    if (!gp_solver_equations(&r, c, true)) return false;
    if (r.count == 0) return true;
    if (r.k == 0) return r.wide ? nothing<double>(&r) : nothing<float>(&r);
    bool gels = !c->arg[3].s[4], given = c->arg[2].kind != GP_NONE;
    double most = r.m > r.n ? r.m : r.n, eps = r.wide ? DBL_EPSILON : FLT_EPSILON;
    double rcond = given && !gels ? c->arg[2].f : gels ? 8 * eps : eps * most;
    if (rcond < 0) rcond = eps; /* as in LAPACK: the machine's precision */
    return r.wide ? solve<double>(&r, rcond, gels, gels ? full : others)
                  : solve<float>(&r, (float)rcond, gels, gels ? full : others);
}
