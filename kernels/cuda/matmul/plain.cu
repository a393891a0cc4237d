/* Matrix products by a plain tiled kernel: integers, empty sums, and strides that no library
 * reads. */
#include "kernels/cuda/elementwise/math.cuh"
#include "kernels/cuda/runtime/loop.cuh"
#include "kernels/cuda/matmul/matmul.h"

enum { TILE = 16 };

/* A block computes a tile of the result, R x R elements of it each thread, TILE apart; its threads
 * fetch a tile of a and one of b together, each along the dim whose elements are closer. Integers
 * wrap. An element's sum has one order whatever R is. */
template <class T, int R>
__global__ static void __launch_bounds__(TILE *TILE)
    product(gp_product p, T alpha, T beta, int64_t across) {
    typedef typename gp_wrapping<T>::type U;
    __shared__ T a[R * TILE][TILE + 1], b[TILE][R * TILE + 1];
    int x = threadIdx.x % TILE, y = threadIdx.x / TILE;
    int64_t row = blockIdx.x / across * (R * TILE), col = blockIdx.x % across * (R * TILE);
    int64_t size = p.size;
    bool a_turned = p.a_rs < p.a_cs, b_turned = p.b_rs < p.b_cs;
    int ax = a_turned ? y : x, ay = a_turned ? x : y, bx = b_turned ? y : x, by = b_turned ? x : y;
    for (int64_t at = blockIdx.y; at < p.batch; at += gridDim.y) {
        U sum[R][R] = {};
        for (int64_t k = 0; k < p.k; k += TILE) {
            const char *pa[R], *pb[R]; /* the operand's first element in place of one beyond it */
            bool in_a[R], in_b[R];
            T va[R], vb[R];
#pragma unroll
            for (int i = 0; i < R; i++) {
                int64_t r = row + ay + i * TILE, c = col + bx + i * TILE;
                in_a[i] = r < p.m && k + ax < p.k, in_b[i] = k + by < p.k && c < p.n;
                pa[i] =
                    p.a + (in_a[i] ? at * p.a_batch + r * p.a_rs + (k + ax) * p.a_cs : 0) * size;
                pb[i] =
                    p.b + (in_b[i] ? at * p.b_batch + (k + by) * p.b_rs + c * p.b_cs : 0) * size;
            }
            gp_load_at<T, R>(pa, p.dtype, va);
            gp_load_at<T, R>(pb, p.dtype, vb);
#pragma unroll
            for (int i = 0; i < R; i++) {
                a[ay + i * TILE][ax] = in_a[i] ? va[i] : (T)0;
                b[by][bx + i * TILE] = in_b[i] ? vb[i] : (T)0;
            }
            __syncthreads();
            for (int l = 0; l < TILE; l++)
#pragma unroll
                for (int i = 0; i < R; i++)
#pragma unroll
                    for (int j = 0; j < R; j++)
                        sum[i][j] += (U)a[y + i * TILE][l] * (U)b[l][x + j * TILE];
            __syncthreads();
        }
#pragma unroll
        for (int i = 0; i < R; i++)
#pragma unroll
            for (int j = 0; j < R; j++) {
                int64_t r = row + y + i * TILE, c = col + x + j * TILE;
                if (r >= p.m || c >= p.n) continue;
                char *o = p.out + (at * p.out_batch + r * p.ld + c) * p.to_size;
                U v = (U)alpha * sum[i][j];
                if (beta != 0) v += (U)beta * (U)gp_load_as<T>(o, p.to);
                if (p.bias) v += (U)gp_load_as<T>(p.bias + c * p.to_size, p.to);
                gp_store_as<T>(o, p.to, (T)v);
            }
    }
}

template <class T, int R> static bool run_tiles(const gp_call *c, const gp_product *p) {
    enum { SIDE = R * TILE };
    int64_t across = (p->n + SIDE - 1) / SIDE, down = (p->m + SIDE - 1) / SIDE;
    if (across * down > INT32_MAX)
        return gp_fail("%s: a result of %lld x %lld is too large", c->op->name, (long long)p->m,
                       (long long)p->n);
    dim3 grid((unsigned)(across * down), (unsigned)(p->batch < 32768 ? p->batch : 32768));
    auto kernel = product<T, R>;
    return GP_LAUNCH(c, kernel, grid, TILE * TILE, 0, *p, gp_number_as<T>(p->alpha),
                     gp_number_as<T>(p->beta), across);
}

/* Large tiles where they are not mostly empty. */
template <class T> static bool multiply(const gp_call *c, const gp_product *p) {
    return p->m > 2 * TILE && p->n > 2 * TILE ? run_tiles<T, 4>(c, p) : run_tiles<T, 1>(c, p);
}

GP_C bool gp_cuda_plain_product(const gp_call *c, const gp_product *p) {
    return GP_BY_COMPUTE(p->dtype, multiply, c, p);
}
