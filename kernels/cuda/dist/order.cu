/* Floats as whole numbers of which the largest is the one wanted, the smallest or largest float:
 * NaN is above all, so that NCCL's max keeps it. */
#include "kernels/cuda/dist/order.h"
#include "kernels/cuda/sort/keys.cuh"

template <class U> __global__ static void encode(U *p, int64_t n, gp_dtype dt, bool least) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (i >= n) return;
    U key = (U)gp_key_at((const char *)(p + i), dt);
    p[i] = least && key != (U) ~(U)0 ? (U)~key : key;
}

template <class U, class F> __global__ static void decode(U *p, int64_t n, U sign, bool least) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (i >= n) return;
    U key = p[i];
    if (key == (U) ~(U)0) {
        ((F *)p)[i] = (F)NAN;
        return;
    }
    if (least) key = (U)~key;
    p[i] = key & sign ? key ^ sign : (U)~key;
}

GP_C bool gp_nccl_encode(const gp_call *c, const gp_array *x, bool least) {
    gp_dtype dt = (gp_dtype)x->dtype;
    unsigned blocks = gp_blocks(x->numel);
    return dt == GP_f64 ? GP_LAUNCH(c, encode<uint64_t>, blocks, GP_THREADS, 0, (uint64_t *)x->data,
                                    x->numel, dt, least)
                        : GP_LAUNCH(c, encode<uint32_t>, blocks, GP_THREADS, 0, (uint32_t *)x->data,
                                    x->numel, dt, least);
}

GP_C bool gp_nccl_decode(const gp_call *c, const gp_array *x, bool least) {
    unsigned blocks = gp_blocks(x->numel);
    return x->dtype == GP_f64 ? GP_LAUNCH(c, (decode<uint64_t, double>), blocks, GP_THREADS, 0,
                                          (uint64_t *)x->data, x->numel, (uint64_t)1 << 63, least)
                              : GP_LAUNCH(c, (decode<uint32_t, float>), blocks, GP_THREADS, 0,
                                          (uint32_t *)x->data, x->numel, (uint32_t)1 << 31, least);
}
