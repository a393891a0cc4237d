/* Matrix products by a plain tiled kernel: integers, empty sums, and strides that no library
 * reads. */
#include "kernels/cuda/runtime/loop.cuh"
#include "kernels/cuda/matmul/matmul.h"

enum { TILE = 16 };

/* A block computes a tile of the result; its threads fetch a tile of a and one of b together, each
 * along the dim whose elements are closer. Integers wrap. */
template <class T> __global__ static void product(gp_product p, T alpha, T beta, int64_t across) {
    __shared__ T a[TILE][TILE + 1], b[TILE][TILE + 1];
    int x = threadIdx.x % TILE, y = threadIdx.x / TILE;
    int64_t row = blockIdx.x / across * TILE, col = blockIdx.x % across * TILE;
    int64_t size = p.size;
    bool a_turned = p.a_rs < p.a_cs, b_turned = p.b_rs < p.b_cs;
    int ax = a_turned ? y : x, ay = a_turned ? x : y, bx = b_turned ? y : x, by = b_turned ? x : y;
    for (int64_t at = blockIdx.y; at < p.batch; at += gridDim.y) {
        T sum = 0;
        for (int64_t k = 0; k < p.k; k += TILE) {
            bool in_a = row + ay < p.m && k + ax < p.k, in_b = k + by < p.k && col + bx < p.n;
            const char *pa =
                p.a + (at * p.a_batch + (row + ay) * p.a_rs + (k + ax) * p.a_cs) * size;
            const char *pb =
                p.b + (at * p.b_batch + (k + by) * p.b_rs + (col + bx) * p.b_cs) * size;
            a[ay][ax] = in_a ? gp_load_as<T>(pa, p.dtype) : (T)0;
            b[by][bx] = in_b ? gp_load_as<T>(pb, p.dtype) : (T)0;
            __syncthreads();
            for (int l = 0; l < TILE; l++) sum += a[y][l] * b[l][x];
            __syncthreads();
        }
        if (row + y >= p.m || col + x >= p.n) continue;
        char *o = p.out + (at * p.out_batch + (row + y) * p.ld + col + x) * p.to_size;
        T v = alpha * sum;
        if (beta != 0) v += beta * gp_load_as<T>(o, p.to);
        if (p.bias) v += gp_load_as<T>(p.bias + (col + x) * p.to_size, p.to);
        gp_store_as<T>(o, p.to, v);
    }
}

template <class T> static bool run(const gp_call *c, const gp_product *p) {
    int64_t across = (p->n + TILE - 1) / TILE, down = (p->m + TILE - 1) / TILE;
    if (across * down > INT32_MAX)
        return gp_fail("%s: a result of %lld x %lld is too large", c->op->name, (long long)p->m,
                       (long long)p->n);
    dim3 grid((unsigned)(across * down), (unsigned)(p->batch < 32768 ? p->batch : 32768));
    return GP_LAUNCH(c, product<T>, grid, TILE * TILE, 0, *p, gp_number_as<T>(p->alpha),
                     gp_number_as<T>(p->beta), across);
}

GP_C bool gp_cuda_plain_product(const gp_call *c, const gp_product *p) {
    return GP_BY_COMPUTE(p->dtype, run, c, p);
}
