/* Steps of optimizers and clipping of gradients: one launch for up to 64 tensors of each list,
 * whose elements are divided into chunks. Limit: each list's bytes at the speed of memory, read,
 * and written where the step writes it. */
#include "kernels/common/optim_step.h"
#include "kernels/cuda/layout/copy.h"
#include "kernels/cuda/runtime/rows.cuh"

#define GP_PASTE2(a, b) a##_##b
#define GP_PASTE(a, b) GP_PASTE2(a, b)
#define RULE_FN __device__ static
#define T float
#define t f32
#include "kernels/common/optim_rules.h"
#undef T
#undef t
#define T double
#define t f64
#include "kernels/common/optim_rules.h"
#undef T
#undef t

enum { LISTS = 5, TENSORS = 64, CHUNK = 4096 };

/* A launch's tensors: together with a step they fit in the 4 KB of a kernel's parameters. */
typedef struct batch {
    char *p[LISTS][TENSORS];
    int64_t n[TENSORS];
    uint32_t first[TENSORS + 1]; /* chunk at which each begins */
    uint8_t dtype[LISTS][TENSORS];
    int count;
} batch;
static_assert(sizeof(batch) <= 4096 - 256, "a batch and a step are parameters of one kernel");
static_assert(GP_DTYPES <= UINT8_MAX, "dtypes are stored in bytes");

/* Updates one element of each list; k: values that are not in the step. */
#define RULE(name)                                                                                 \
    struct rule_##name {                                                                           \
        __device__ static void run(const step *s, double, float *const *x) {                       \
            name##_f32(s, x, 1);                                                                   \
        }                                                                                          \
        __device__ static void run(const step *s, double, double *const *x) {                      \
            name##_f64(s, x, 1);                                                                   \
        }                                                                                          \
    };
RULE(sgd)
RULE(adam)
RULE(rmsprop)
RULE(adagrad)
#undef RULE
#define RULE(name)                                                                                 \
    struct rule_##name {                                                                           \
        __device__ static void run(const step *, double k, float *const *x) {                      \
            name##_f32(&k, x, 1);                                                                  \
        }                                                                                          \
        __device__ static void run(const step *, double k, double *const *x) {                     \
            name##_f64(&k, x, 1);                                                                  \
        }                                                                                          \
    };
RULE(scale)
RULE(limit)
#undef RULE

/* The tensor that this block's chunk belongs to; the chunk's elements start at *from. */
__device__ static int tensor_of(const batch &b, int64_t *from) {
    int lo = 0, hi = b.count;
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (b.first[mid] <= blockIdx.x) lo = mid;
        else hi = mid;
    }
    *from = (int64_t)(blockIdx.x - b.first[lo]) * CHUNK;
    return lo;
}

/* GIVEN, WRITES: bit masks of the lists that are present, and of those that are written. */
template <class C, int D, int V, class R, int GIVEN, int WRITES>
static __global__ void update(batch b, step s, double k, const double *factor) {
    int64_t from;
    int u = tensor_of(b, &from);
    int64_t end = from + CHUNK < b.n[u] ? from + CHUNK : b.n[u];
    if (factor) k = *factor;
    if (factor && k == 1) return;
    for (int64_t i = from + threadIdx.x * V; i < end; i += GP_THREADS * V) {
        C v[LISTS][V];
#pragma unroll
        for (int j = 0; j < LISTS; j++)
            if (GIVEN >> j & 1)
                gp_fetch<C, D, V>(v[j], b.p[j][u] + i * gp_bytes_of((gp_dtype)b.dtype[j][u]),
                                  (gp_dtype)b.dtype[j][u]);
#pragma unroll
        for (int e = 0; e < V; e++) {
            C *x[LISTS];
#pragma unroll
            for (int j = 0; j < LISTS; j++) x[j] = GIVEN >> j & 1 ? &v[j][e] : NULL;
            R::run(&s, k, x);
        }
#pragma unroll
        for (int j = 0; j < LISTS; j++)
            if (GIVEN & WRITES & 1 << j)
                gp_store_vector<C, D, V>(b.p[j][u] + i * gp_bytes_of((gp_dtype)b.dtype[j][u]), v[j],
                                         (gp_dtype)b.dtype[j][u]);
    }
}

/* ---- batches ---- */

/* The lists in a call's first arguments, as flat arrays: those with gaps are copied, and copied
 * back. */
typedef struct lists {
    const gp_call *c;
    int n, count, given; /* lists, tensors of each; bit mask of lists that are present */
    char **copy;         /* n * count addresses, NULL where a tensor is flat itself */
} lists;

static const gp_array *array_of(const lists *l, int j, int k) { return l->c->arg[j].arrays[k]; }

/* Whether tensor k of all lists has one dense order, so that elements can be processed in place. */
static bool flat(const lists *l, int k) {
    const gp_array *first = array_of(l, 0, k);
    bool all = true, same = true;
    int64_t end = 1;
    for (int j = 0; j < l->n; j++) {
        if (!(l->given >> j & 1)) continue;
        const gp_array *a = array_of(l, j, k);
        all = all && a->contiguous;
        for (int d = 0; d < a->ndim; d++) same = same && a->stride[d] == first->stride[d];
    }
    for (int d = 0; d < first->ndim; d++) {
        if (first->stride[d] < 0) same = false;
        end += (first->dim[d] - 1) * first->stride[d];
    }
    return all || (same && end == first->numel);
}

/* Memory for copies of what is not flat, in one block; filled. */
static bool open_lists(lists *l, const gp_call *c, int n) {
    size_t bytes = 0;
    *l = lists{c, n, c->arg[0].n, 0, NULL};
    for (int j = 0; j < n; j++) l->given |= (gp_given(c, j) ? 1 : 0) << j;
    size_t heads = (size_t)(n * l->count) * sizeof *l->copy;
    if (!(l->copy = (char **)gp_cuda_table(c, heads))) return false;
    memset(l->copy, 0, heads);
    for (int pass = 0; pass < 2; pass++) {
        char *room = pass && bytes ? (char *)gp_cuda_scratch(c, bytes) : NULL;
        if (pass && bytes && !room) return false;
        for (int k = 0; k < l->count && (!pass || bytes); k++) {
            if (flat(l, k)) continue;
            for (int j = 0; j < n; j++) {
                if (!(l->given >> j & 1)) continue;
                const gp_array *a = array_of(l, j, k);
                size_t size = (size_t)(a->numel * gp_dtype_sizes[a->dtype] + 255) / 256 * 256;
                if (!pass) {
                    bytes += size;
                    continue;
                }
                gp_array to =
                    gp_dense_over(a, (gp_dtype)a->dtype, l->copy[j * l->count + k] = room);
                room += size;
                if (!gp_cuda_copy_array(c, &to, a)) return false;
            }
        }
    }
    return true;
}

/* Copies written lists back. */
static bool close_lists(const lists *l, int writes) {
    for (int j = 0; j < l->n; j++)
        for (int k = 0; k < l->count; k++) {
            if (!(l->given & writes & 1 << j) || !l->copy[j * l->count + k]) continue;
            const gp_array *a = array_of(l, j, k);
            gp_array from = gp_dense_over(a, (gp_dtype)a->dtype, l->copy[j * l->count + k]);
            if (!gp_cuda_copy_array(l->c, a, &from)) return false;
        }
    return true;
}

static char *data_of(const lists *l, int j, int k) {
    char *copy = l->copy[j * l->count + k];
    return copy ? copy : array_of(l, j, k)->data;
}

typedef enum kind { VECTORS, NARROW, WIDE, KINDS } kind;

static kind kind_of(const lists *l, int k) {
    bool vectors = true;
    if (array_of(l, 0, k)->dtype == GP_f64) return WIDE;
    for (int j = 0; j < l->n; j++)
        if (l->given >> j & 1)
            vectors = vectors && array_of(l, j, k)->dtype == GP_f32 &&
                      gp_aligned(data_of(l, j, k), 16) && array_of(l, j, k)->numel % 4 == 0;
    return vectors ? VECTORS : NARROW;
}

/* Calls launch(batch, kind) for batches that together have all tensors. */
template <class F> static bool each_batch(const lists *l, F launch) {
    for (int q = 0; q < KINDS; q++) {
        batch b = {};
        for (int k = 0; k <= l->count; k++) {
            if (b.count && (k == l->count || b.count == TENSORS)) {
                if (!launch(b, (kind)q)) return false;
                b = batch{};
            }
            if (k == l->count || array_of(l, 0, k)->numel == 0 || kind_of(l, k) != q) continue;
            b.n[b.count] = array_of(l, 0, k)->numel;
            b.first[b.count + 1] = b.first[b.count] + gp_blocks(b.n[b.count], CHUNK);
            for (int j = 0; j < l->n; j++) {
                if (!(l->given >> j & 1)) continue;
                b.p[j][b.count] = data_of(l, j, k);
                b.dtype[j][b.count] = array_of(l, j, k)->dtype;
            }
            b.count++;
        }
    }
    return true;
}

template <class R, int GIVEN, int WRITES>
static bool run_batches(const lists *l, const step &s, double k, const double *factor) {
    auto vectors = update<float, GP_f32, 4, R, GIVEN, WRITES>;
    auto narrow = update<float, GP_ANY, 1, R, GIVEN, WRITES>;
    auto wide = update<double, GP_ANY, 1, R, GIVEN, WRITES>;
    return each_batch(l,
                      [&](const batch &b, kind q) {
                          auto kernel = q == VECTORS ? vectors : q == NARROW ? narrow : wide;
                          return GP_LAUNCH(l->c, kernel, b.first[b.count], GP_THREADS, 0, b, s, k,
                                           factor);
                      }) &&
           close_lists(l, WRITES);
}

/* ---- the ops ---- */

GP_C bool CUDA(sgd_step)(const gp_call *c) {
    lists l;
    step s = sgd_of(c);
    if (!open_lists(&l, c, 3)) return false;
    return l.given == 7 ? run_batches<rule_sgd, 7, SGD_WRITES>(&l, s, 0, NULL)
                        : run_batches<rule_sgd, 3, SGD_WRITES>(&l, s, 0, NULL);
}

GP_C bool CUDA(adam_step)(const gp_call *c) {
    lists l;
    step s = adam_of(c);
    if (!open_lists(&l, c, 5)) return false;
    return l.given == 31 ? run_batches<rule_adam, 31, ADAM_WRITES>(&l, s, 0, NULL)
                         : run_batches<rule_adam, 15, ADAM_WRITES>(&l, s, 0, NULL);
}

GP_C bool CUDA(rmsprop_step)(const gp_call *c) {
    lists l;
    step s = rmsprop_of(c);
    if (!open_lists(&l, c, 5)) return false;
    switch (l.given) {
    case 31: return run_batches<rule_rmsprop, 31, RMSPROP_WRITES>(&l, s, 0, NULL);
    case 23: return run_batches<rule_rmsprop, 23, RMSPROP_WRITES>(&l, s, 0, NULL);
    case 15: return run_batches<rule_rmsprop, 15, RMSPROP_WRITES>(&l, s, 0, NULL);
    default: return run_batches<rule_rmsprop, 7, RMSPROP_WRITES>(&l, s, 0, NULL);
    }
}

GP_C bool CUDA(adagrad_step)(const gp_call *c) {
    lists l;
    step s = adagrad_of(c);
    return open_lists(&l, c, 3) && run_batches<rule_adagrad, 7, ADAGRAD_WRITES>(&l, s, 0, NULL);
}

/* Arguments: grads, clip_value. */
GP_C bool CUDA(clip_grad_value)(const gp_call *c) {
    lists l;
    return open_lists(&l, c, 1) && run_batches<rule_limit, 1, 1>(&l, step{}, c->arg[1].f, NULL);
}

/* ---- clip_grad_norm ---- */

struct most_of {
    __device__ double operator()(double a, double b) const { return b <= a || a != a ? a : b; }
};

/* A chunk's sum of |x|^power, or its largest |x|; in f64. */
template <class C, int D, int V>
static __global__ void add_powers(batch b, double power, double *part) {
    int64_t from;
    int u = tensor_of(b, &from);
    int64_t end = from + CHUNK < b.n[u] ? from + CHUNK : b.n[u];
    double s = 0;
    for (int64_t i = from + threadIdx.x * V; i < end; i += GP_THREADS * V) {
        C v[V];
        gp_fetch<C, D, V>(v, b.p[0][u] + i * gp_bytes_of((gp_dtype)b.dtype[0][u]),
                          (gp_dtype)b.dtype[0][u]);
        for (int e = 0; e < V; e++) {
            double x = fabs((double)v[e]);
            if (power == 2) s += x * x;
            else if (isinf(power)) s = most_of()(s, x);
            else s += power == 1 ? x : pow(x, power);
        }
    }
    s = isinf(power) ? gp_group_reduce(s, GP_THREADS, most_of())
                     : gp_group_reduce(s, GP_THREADS, gp_add());
    if (threadIdx.x == 0) part[blockIdx.x] = s;
}

/* Stores the norm in out, and in part[0] the factor of the gradients: as in PyTorch max_norm /
 * (norm + 1e-6), at most 1. */
static __global__ void settle_norm(double *part, int64_t n, double power, double max_norm,
                                   char *out, gp_dtype dt) {
    double s = 0;
    bool most = isinf(power);
    for (int64_t i = threadIdx.x; i < n; i += GP_THREADS)
        s = most ? most_of()(s, part[i]) : s + part[i];
    s = most ? gp_group_reduce(s, GP_THREADS, most_of()) : gp_group_reduce(s, GP_THREADS, gp_add());
    if (threadIdx.x) return;
    s = most ? s : power == 2 ? sqrt(s) : pow(s, 1 / power);
    gp_store_as<double>(out, dt, s);
    double factor = max_norm / (s + 1e-6);
    part[0] = factor >= 1 ? 1 : factor;
}

/* Arguments: grads, max_norm, norm_type. An infinite max_norm only computes the norm. */
GP_C bool CUDA(clip_grad_norm)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0);
    double max_norm = c->arg[1].f, power = c->arg[2].f, *part;
    int64_t chunks = 0, at = 0;
    lists l;
    if (!open_lists(&l, c, 1)) return false;
    for (int k = 0; k < l.count; k++) chunks += gp_blocks(array_of(&l, 0, k)->numel, CHUNK);
    if (!(part = (double *)gp_cuda_scratch(c, (size_t)(chunks + 1) * sizeof *part))) return false;
    auto vectors = add_powers<float, GP_f32, 4>;
    auto narrow = add_powers<float, GP_ANY, 1>;
    auto wide = add_powers<double, GP_ANY, 1>;
    bool ok = each_batch(&l, [&](const batch &b, kind q) {
        auto kernel = q == VECTORS ? vectors : q == NARROW ? narrow : wide;
        double *to = part + at;
        at += b.first[b.count];
        return GP_LAUNCH(c, kernel, b.first[b.count], GP_THREADS, 0, b, power, to);
    });
    return ok &&
           GP_LAUNCH(c, settle_norm, 1, GP_THREADS, 0, part, chunks, power, max_norm, out->data,
                     (gp_dtype)out->dtype) &&
           (isinf(max_norm) || run_batches<rule_scale, 1, 1>(&l, step{}, 0, part));
}
