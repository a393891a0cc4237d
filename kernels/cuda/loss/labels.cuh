/* Labels, and sums of losses and weights in a fixed order, shared by losses over classes. */
#ifndef GP_CUDA_LABELS_CUH
#define GP_CUDA_LABELS_CUH

#include "kernels/cuda/runtime/rows.cuh"
#include "tensor/ops/loss.h"

/* Labels count from 1; those equal to `ignore` are left out. */
typedef struct gp_labels {
    gp_dtype dtype;
    int64_t classes, ignore;
    gp_fault_at fault;
} gp_labels;

#define GP_LABEL_TEXTS(name)                                                                       \
    static const char *const texts_##name[] = {                                                    \
        #name ": label %lld in argument 'target' is not a class (labels count from 1: expected 1 " \
              "to %lld, or ignore_index, which is %lld; add 1 to labels that count from 0)"};

/* Label v, or the one at p, counted from 0; -1 where ignored, or bad. */
__device__ static inline int64_t gp_label(const gp_labels &l, int64_t v) {
    if (v == l.ignore) return -1;
    if ((uint64_t)v - 1 < (uint64_t)l.classes) return v - 1;
    gp_fault_note(l.fault, 1, v, l.classes, l.ignore);
    return -1;
}
__device__ static inline int64_t gp_label(const gp_labels &l, const char *p) {
    return gp_label(l, gp_load_as<int64_t>(p, l.dtype));
}

/* The weight of each class: data NULL for 1 each. */
typedef struct gp_class_weight {
    const char *data;
    int64_t step;
    gp_dtype dtype;
} gp_class_weight;
template <class T> __device__ static inline T gp_weight_of(const gp_class_weight &w, int64_t i) {
    return w.data ? gp_load_as<T>(w.data + i * w.step, w.dtype) : 1;
}
static inline gp_class_weight gp_class_weight_of(const gp_array *a) {
    gp_class_weight w = {NULL, 0, GP_f32};
    if (a) w.data = a->data, w.step = gp_step(a, 0), w.dtype = (gp_dtype)a->dtype;
    return w;
}

/* Stores the block's sums of two numbers in part[2 * blockIdx.x]; called by all of its GP_THREADS
 * threads. */
__device__ static inline void gp_add_block(double *part, double a, double b) {
    a = gp_group_reduce(a, GP_THREADS, gp_add()), b = gp_group_reduce(b, GP_THREADS, gp_add());
    if (threadIdx.x == 0) part[2 * blockIdx.x] = a, part[2 * blockIdx.x + 1] = b;
}

/* Threads of gp_add_parts, and parts of its chunks; the most parts that one block adds. */
enum { GP_PART_THREADS = 1024, GP_PART_MOST = 16 * GP_PART_THREADS };

/* A block of GP_PART_THREADS for each `chunk` parts, of which every step-th counts: their sums
 * become the first of them; of one block, with `out`, the reduced loss, and without it 1 over the
 * weight in part[0]. */
static __global__ void __launch_bounds__(GP_PART_THREADS)
    gp_add_parts(double *part, int64_t n, int64_t step, char *out, gp_dtype dt, bool mean) {
    double a = 0, b = 0;
    int64_t from = (int64_t)blockIdx.x * GP_PART_THREADS * step,
            end = gridDim.x == 1 ? n : from + GP_PART_THREADS * step;
#pragma unroll 4
    for (int64_t i = from + threadIdx.x * step; i < end && i < n; i += GP_PART_THREADS * step)
        a += part[2 * i], b += part[2 * i + 1];
    a = gp_group_reduce(a, GP_PART_THREADS, gp_add());
    b = gp_group_reduce(b, GP_PART_THREADS, gp_add());
    if (threadIdx.x) return;
    if (gridDim.x > 1) part[2 * from] = a, part[2 * from + 1] = b;
    else if (out) gp_store_as<double>(out, dt, mean ? a / b : a);
    else part[0] = 1 / b;
}

/* Adds n parts, which are overwritten, in one order: stores the loss, reduced, in out, or, with out
 * NULL, 1 over the weight in part[0]. Many are first added in chunks. */
static bool gp_sum_parts(const gp_call *c, double *part, int64_t n, char *out, gp_dtype dt,
                         bool mean) {
    int64_t step = 1;
    if (n > GP_PART_MOST) {
        if (!GP_LAUNCH(c, gp_add_parts, gp_blocks(n, GP_PART_THREADS), GP_PART_THREADS, 0, part, n,
                       step, (char *)NULL, dt, mean))
            return false;
        step = GP_PART_THREADS;
    }
    return GP_LAUNCH(c, gp_add_parts, 1, GP_PART_THREADS, 0, part, n, step, out, dt, mean);
}

#endif
